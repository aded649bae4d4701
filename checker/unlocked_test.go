package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// An unlock without an answer is judged by what the server did, and its caller was not deceived.
func TestAnUnlockWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		inner, outer history.Outcome // what the server did; empty: nobody saw
		want         Status
	}{
		"each takes one hold back":         {history.Decremented, history.Released, Holds},
		"the server is not seen":           {"", "", Holds},
		"the inner one frees the lock":     {history.Released, history.NotHeld, Broken},
		"the outer one gives nothing back": {history.Decremented, history.NotHeld, Broken},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.take("c1:1", at(1), at(1)+2*lat, dog)
			s.take("c1:1", at(2), at(2)+2*lat, dog)
			for i, answer := range []history.Outcome{c.inner, c.outer} {
				op := s.unlock("c1:1", at(3+float64(i)), history.Unlocked)
				op.Evidence, op.Executed, op.Answer = history.Sent, 0, ""
				if answer != "" {
					op.Evidence, op.Executed, op.Answer = history.Executed, op.Call+lat, answer
				}
			}
			v := Judge(t.Context(), s.h, Options{})
			if r := v.Result(contract.Object); r.Status != c.want || v.Disagreement != "" {
				t.Errorf("%s: %s; want %s", r.Status, v.Explanation, c.want)
			}
		})
	}
}

// A lock that says nothing of an unlock keeps its errors to itself: a request that the server refused is no answer. Who says
// that it unlocked is held to it.
func TestAnUnlockThatSaysNothingAndDidNothing(t *testing.T) {
	for told, want := range map[history.Outcome]Status{history.OK: Holds, history.Released: Broken} {
		s := newScript()
		s.take("c1:1", at(1), at(1)+2*lat, 30)
		s.unlock("c1:1", at(2), told)
		op := &s.h.Ops[len(s.h.Ops)-1]
		op.Evidence, op.Executed, op.Answer, op.Until = history.Sent, 0, "", op.Return
		if r := Judge(t.Context(), s.h, Options{}).Result(contract.Object); r.Status != want {
			t.Errorf("told %s: %s; want %s", told, r.Status, want)
		}
	}
}

// Who is told nothing by an unlock counts its own calls: it works on under its outer hold, which the server has lost. Who is
// told that it holds nothing, and works on, has no excuse.
func TestWhoIsToldNothingBelievesInItsOuterHold(t *testing.T) {
	for told, want := range map[history.Outcome]RulingKind{history.OK: FailedAssumption, history.NotHeld: Defect} {
		s := newScript()
		s.take("c1:1", at(1), at(1.002), 0)
		s.take("c1:1", at(2), at(2.002), 0)
		s.event(history.Delete, at(3))
		s.unlock("c1:1", at(4), told).Answer = history.NotHeld
		s.read("c1:1", at(4.5), 0)
		s.take("c2:1", at(5), at(5.002), 0)
		s.read("c2:1", at(5.1), 0)
		s.write("c2:1", at(5.2), 1)
		s.write("c1:1", at(6), 1)
		s.unlock("c1:1", at(7), told).Answer = history.NotHeld
		s.unlock("c2:1", at(8), history.Released)
		v := verdict(t, s)
		found := v.Result(contract.Effect).Violations
		if len(found) != 1 || found[0].Ruling.Kind != want {
			t.Errorf("told %s: %+v; want %s", told, found, want)
		}
	}
}

// An attempt of a call gets the lock, its client gives it back, and another attempt fails. The call has failed rightly. What is not given
// back before it returns is an effect of a call that failed.
func TestACallThatFailsMayGiveBackWhatAnAttemptGot(t *testing.T) {
	for name, c := range map[string]struct {
		back time.Duration
		want []contract.Rule
	}{
		"within the call": {at(1.5), nil},
		"after it":        {at(2.5), []contract.Rule{contract.FailedIsVoid}},
	} {
		s := newScript()
		op := s.op("c1:1", history.TryLock, at(1), at(2), history.Failed)
		op.Lease, op.Evidence, op.Executed, op.Answer = dog, history.Executed, at(1.2), history.Acquired
		gives := s.op("c1:1", history.Unlock, c.back, c.back+2*lat, history.Released)
		gives.Aside = true
		s.h.Served = append(s.h.Served,
			history.Served{At: at(1.2), Sent: at(1.1), Got: at(1.3), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Before: key("", 0, 0), After: key("c1:1", 1, at(31.2))},
			history.Served{At: c.back + lat, Sent: c.back, Got: c.back + 2*lat, Client: "c1", Owner: "c1:1", Op: gives.ID, Lock: job, Before: key("c1:1", 1, at(31.2)), After: key("", 0, 0)})
		if got := rules(verdict(t, s), contract.Object); !slices.Equal(got, c.want) {
			t.Errorf("%s: broke %q, want %q", name, got, c.want)
		}
	}
}
