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

// A lock that nobody can read may be held by a call whose owner was never told so, as long as that lease lasts, if what the owner unlocked since named
// another value than the one that this call had drawn.
func TestALockThatNobodyCanReadMayBeHeldUntold(t *testing.T) {
	const other = "evalsha 2 job older"
	for _, tt := range []struct {
		name    string
		struck  bool    // the answer of the call was lost
		when    float64 // the refusal
		another bool    // was granted the lock between
		unlock  string  // the command of the owner's unlock; "": the log does not show it
		unread  bool
		defect  bool
	}{
		{"its answer was lost", true, 5, false, other, true, false},
		{"it was unlocked by the value that it had drawn", true, 5, false, "evalsha 2 job newer", true, true},
		{"nobody knows what was unlocked", true, 5, false, "", true, true},
		{"no fault struck it", false, 5, false, other, true, true},
		{"its lease is over", true, 40, false, other, true, true},
		{"another was granted the lock since", true, 5, true, other, true, true},
		{"of a lock that was looked at", true, 5, false, other, false, true},
	} {
		s := newScript()
		s.h.Header.Abilities = []string{"mutex"}
		if tt.unread {
			s.h.Header.Layout.Unknown = "nobody looked"
		}
		first := s.take("c1:1", at(0.1), at(0.2), 10*sec)
		gave := s.op("c1:1", history.Unlock, at(0.3), at(0.302), history.Released)
		lost := s.take("c1:1", at(1), at(2), 10*sec)
		lost.Outcome = history.Unknown
		if tt.struck {
			f := s.fault("drop-message", "c1", at(1.5), 0)
			f.On, f.Op = "reply acquire", lost.ID
		}
		gives := s.op("c1:1", history.Unlock, at(3), at(3.002), history.NotHeld)
		if tt.another {
			s.take("c2:1", at(3.5), at(3.502), 10*sec)
			s.op("c2:1", history.Unlock, at(4), at(4.002), history.Released)
		}
		s.op("c3:1", history.TryLock, at(tt.when), at(tt.when+0.002), history.Busy)
		h := blind(s.done())
		for _, r := range []struct {
			op   *history.Op
			at   float64
			text string
		}{{first, 0.15, "set job older nx px 10000"}, {gave, 0.301, "evalsha 2 job older"}, {lost, 1.5, "set job newer nx px 10000"}, {gives, 3.001, tt.unlock}} {
			if r.text != "" {
				h.Served = append(h.Served, history.Served{At: at(r.at), Sent: at(r.at) - ms, Client: "c1", Op: r.op.ID, Text: r.text})
			}
		}
		for i := range h.Ops {
			if h.Ops[i].ID == lost.ID {
				h.Ops[i].Evidence, h.Ops[i].Until = history.Sent, h.Ops[i].Return
			}
		}
		var of []Ruling
		for _, v := range Judge(t.Context(), h, Options{}).Result(contract.Object).Violations {
			if v.Rule == contract.BusyWhileHeld {
				of = append(of, v.Ruling)
			}
		}
		if len(of) != 1 || (of[0].Kind == Defect) != tt.defect {
			t.Errorf("%s: %v", tt.name, of)
		}
	}
}
