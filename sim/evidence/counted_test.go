package evidence

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Of two copies of a call one counted, and its client has the other's answer: the call took effect when it counted, whatever was told.
func TestACallCountsWithTheCopyThatCounted(t *testing.T) {
	const gate = "gate"
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	one := int64(1)
	row := func(op int64, ms, got int, text, reply string, before, after *int64) history.Served {
		return history.Served{At: at(ms), Sent: at(ms - 1), Got: at(got), Client: "c1", Op: op, Lock: gate, Step: history.StepSet, Text: text, Request: op,
			Reply: reply, Before: &history.KeyState{Left: before}, After: &history.KeyState{Left: after}}
	}
	h := &history.History{
		Ops: []history.Op{
			{ID: 1, Client: "c1", Owner: "c1:1", Lock: gate, Kind: history.TrySetCount, Value: 1, Call: at(1), Return: at(5), Outcome: history.OK, Evidence: history.Sent},
			{ID: 2, Client: "c1", Owner: "c1:2", Lock: gate, Kind: history.TrySetCount, Value: 1, Call: at(6), Return: at(40), Outcome: history.Rejected, Evidence: history.Sent},
			{ID: 3, Client: "c1", Owner: "c1:3", Lock: gate, Kind: history.CountDown, Call: at(6), Return: at(25), Outcome: history.OK, Evidence: history.Sent},
		},
		Served: []history.Served{
			row(1, 3, 5, "evalsha set", "1", nil, &one),
			row(2, 10, 40, "evalsha set", "0", &one, &one),
			row(3, 20, 25, "evalsha down", "0", &one, nil),
			row(2, 30, 0, "evalsha set", "1", nil, &one),
		}}
	for _, op := range Conclude(h).Ops {
		if op.ID == 2 && (op.Executed != at(30) || op.Answer != history.OK) {
			t.Errorf("it took effect at %s: %s", op.Executed, op.Answer)
		}
	}
}
