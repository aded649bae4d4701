package evidence

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// An owner counts its own calls, of a lock whose unlock does not tell what is left: as long as it is known what they did.
func TestAnOwnerCountsItsOwnCalls(t *testing.T) {
	const ms = time.Millisecond
	got := func(at, lease time.Duration) history.Op {
		return history.Op{Kind: history.Lock, Call: at, Return: at + ms, Lease: lease, Outcome: history.Acquired}
	}
	gave := func(at time.Duration, outcome history.Outcome) history.Op {
		return history.Op{Kind: history.Unlock, Call: at, Return: at + ms, Outcome: outcome}
	}
	unheard := func(op history.Op, evidence history.Evidence) history.Op {
		op.Outcome, op.Evidence = history.Unknown, evidence
		return op
	}
	for _, tt := range []struct {
		name string
		ops  []history.Op
		want history.Outcome // of the last
	}{
		{"its only hold", []history.Op{got(1*ms, time.Second), gave(3*ms, history.OK)}, history.Released},
		{"it has none", []history.Op{gave(3*ms, history.OK)}, history.OK},
		{"one of two", []history.Op{got(1*ms, time.Second), got(3*ms, time.Second), gave(5*ms, history.OK)}, history.Decremented},
		{"the second of two", []history.Op{got(1*ms, time.Second), got(3*ms, time.Second), gave(5*ms, history.OK), gave(7*ms, history.OK)}, history.Released},
		{"its lease may be over", []history.Op{got(1*ms, 10*ms), got(30*ms, time.Second), gave(33*ms, history.OK)}, history.OK},
		{"its lease ends later", []history.Op{got(1*ms, 40*ms), got(30*ms, time.Second), gave(33*ms, history.OK)}, history.Decremented},
		{"an unlock before was not answered", []history.Op{got(1*ms, time.Second), got(3*ms, time.Second), unheard(gave(5*ms, history.OK), history.Sent), gave(7*ms, history.OK)}, history.OK},
		{"an unlock before was not sent", []history.Op{got(1*ms, time.Second), got(3*ms, time.Second), unheard(gave(5*ms, history.OK), history.NotSent), gave(7*ms, history.OK)}, history.Decremented},
		{"an acquire was not answered", []history.Op{got(1*ms, time.Second), unheard(got(3*ms, time.Second), history.Sent), gave(5*ms, history.OK)}, history.OK},
		{"and then it was told that it holds nothing", []history.Op{got(1*ms, time.Second), unheard(got(3*ms, time.Second), history.Sent), gave(5*ms, history.NotHeld), got(7*ms, time.Second), gave(9*ms, history.OK)}, history.Released},
	} {
		var c ownCount
		for i := range tt.ops {
			c.call(&tt.ops[i])
		}
		if got := tt.ops[len(tt.ops)-1].Outcome; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
