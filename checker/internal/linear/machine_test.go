package linear

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// The machine that searches step says of every state and every action what package model says.
func TestMachineIsTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	owners := []string{"", "a", "b"}
	kinds := []history.Kind{history.Lock, history.TryLock, history.Unlock, history.ForceUnlock, history.Renew,
		history.IsLocked, history.IsHeldBy, history.HoldCount, history.RemainingTTL}
	outcomes := []history.Outcome{history.Acquired, history.Busy, history.Decremented, history.Released, history.NotHeld,
		history.Renewed, history.OK, history.Unknown}
	events := []history.EventKind{history.Expire, history.Delete, history.ForceTTL, history.Restore, history.ClockJump, history.Leftover}
	moment := func() time.Duration { return time.Duration(r.IntN(30)) * time.Millisecond }
	legal := map[bool]int{}
	for range 300000 {
		kind := model.Kinds()[r.IntN(len(model.Kinds()))]
		m := machineOf(kind)
		var from model.State
		if r.IntN(3) > 0 {
			from = model.State{Owner: owners[1+r.IntN(2)], Count: 1 + r.Int64N(3), Earliest: model.Never, Latest: model.Never}
			if !kind.Counts() || kind == model.Anew {
				from.Count = 1
			}
			if r.IntN(3) > 0 && kind.Leases() {
				from.Earliest = moment()
				from.Latest = from.Earliest + time.Duration(r.IntN(4))*time.Millisecond
			}
		}
		if kind == model.Fenced {
			from.Token = r.Int64N(4)
		}
		number := func(s model.State) state {
			st := state{count: int32(s.Count), early: int64(s.Earliest), late: int64(s.Latest), token: s.Token}
			for i, o := range owners {
				if s.Owner == o {
					st.owner = int32(i)
				}
			}
			return st
		}
		var a action
		var next model.State
		var err error
		ok := false
		if r.IntN(4) == 0 {
			e := history.Event{At: moment(), Kind: events[r.IntN(len(events))], By: moment(), Deadline: moment(), Owner: owners[1+r.IntN(2)], Count: 1 + r.Int64N(3)}
			e.Client = e.Owner
			a, ok = eventAction(&e, kind, func(o string) int32 { return number(model.State{Owner: o}).owner })
			if e.Kind == history.Delete {
				e.At = 0
			}
			next, err = kind.Environment(from, e)
		} else {
			op := history.Op{Kind: kinds[r.IntN(len(kinds))], Outcome: outcomes[r.IntN(len(outcomes))], Owner: owners[1+r.IntN(2)],
				Call: moment(), Value: r.Int64N(4), Token: r.Int64N(5)}
			if !op.Kind.Allows(op.Outcome) || op.Kind == history.Unlock && op.Outcome == history.OK { // see answered
				continue
			}
			op.Client, op.Return = op.Owner, op.Call+moment()+1
			if r.IntN(2) == 0 && kind.Leases() {
				op.Lease = moment()
			}
			if op.Kind == history.RemainingTTL {
				op.Value = r.Int64N(int64(30*time.Millisecond)) - 2
			}
			if op.Outcome != history.Unknown && r.IntN(2) == 0 {
				op.Evidence, op.Answer, op.Executed = history.Executed, op.Outcome, op.Call
			}
			a, ok = opAction(&op, kind)
			a.owner = number(model.State{Owner: op.Owner}).owner
			next, err = kind.Step(from, op)
		}
		if !ok {
			if err != nil || next != from {
				t.Fatalf("%s: left out, but the model says %v of %+v", kind, err, from)
			}
			continue
		}
		got, fine := m.step(number(from), &a)
		if fine != (err == nil) || fine && got != number(next) {
			t.Fatalf("%s: from %+v by %+v: the machine says %v %+v, the model %v %+v", kind, from, a, fine, got, err, next)
		}
		legal[fine]++
	}
	if legal[true] < 1000 || legal[false] < 1000 {
		t.Errorf("legal and illegal: %v", legal)
	}
}
