package checker

import (
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A group of which a member was gone before the last was granted: who took that away answers for it.
func TestAMemberIsGoneBeforeTheGroupIsWhole(t *testing.T) {
	own := func(more func(s *groupScript, op *history.Op)) func(s *groupScript) {
		return func(s *groupScript) {
			op := s.op("x:1", history.Unlock, at(0.1), at(0.2), history.Unknown)
			op.Evidence = history.Sent
			more(s, op)
			s.set(op, "a", at(2), 0, 0)
		}
	}
	givenUp := own(func(_ *groupScript, op *history.Op) { op.Cancel, op.Error = at(0.1), "context deadline exceeded" })
	unanswered := own(func(s *groupScript, _ *history.Op) {
		s.fault("drop-message", "x", at(0.1), at(0.1)).On = "reply release"
	})
	// The client gives an earlier attempt of the same call back, while that asks again.
	attempt := func(fault bool) func(s *groupScript) {
		return func(s *groupScript) {
			op := s.op("x:1", history.Unlock, at(1.9), at(2.1), history.Released)
			op.Aside = true
			s.set(op, "a", at(2), 0, 0)
			if fault {
				s.fault("partition", "x", at(0.5), at(1.8))
			}
		}
	}
	outside := func(fault string) func(s *groupScript) {
		return func(s *groupScript) {
			s.set(&history.Op{Client: "faults"}, "a", at(2), 0, 0)
			s.h.Served[len(s.h.Served)-1].Step = history.StepAdmin
			if fault != "" {
				s.fault(fault, "", at(2), at(2)).Lock = "a"
			}
		}
	}
	foreign := func(s *groupScript) {
		s.set(s.op("y:1", history.Unlock, at(1.9), at(2.1), history.NotHeld), "a", at(2), 0, 0)
	}
	const failed = string(FailedAssumption)
	for _, tt := range []struct {
		name     string
		gone     func(s *groupScript)
		watchdog bool
		claims   []contract.Claim
		want     string
	}{
		{"by an unlock that its owner had given up", givenUp, true, nil, failed + "given-up-late"},
		{"by an unlock that its owner had given up, of a lock that takes back", givenUp, true, []contract.Claim{contract.TakesBack}, defect},
		{"by an unlock that was not answered", unanswered, true, nil, failed + "unlocked-late"},
		{"by an unlock that ended unknown for no reason", own(func(*groupScript, *history.Op) {}), true, nil, defect},
		{"by what gave an earlier attempt back, which a fault held up", attempt(true), true, nil, failed + "unlocked-late"},
		{"by what gave an earlier attempt back, for no reason", attempt(false), true, nil, defect},
		{"by an unlock of another owner", foreign, true, nil, defect},
		{"by a fault", outside("delete-key"), true, nil, failed + "key-touched"},
		{"its lease was over, which was asked for", func(*groupScript) {}, false, nil, failed + "lease-outlived"},
		{"its lease was over, which was to be renewed", func(*groupScript) {}, true, nil, defect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newGroupScript(history.Multi, "a", "b")
			claiming(s.script, tt.claims...)
			op := s.op("x:1", history.Lock, at(0.3), at(3), history.Acquired)
			op.Lease, op.Watchdog, op.Executed = 30*sec, tt.watchdog, at(2.9)
			s.set(op, "a", at(0.9), 1, at(2.5))
			tt.gone(s)
			op = &s.h.Ops[0]
			for i := range s.h.Ops {
				if s.h.Ops[i].Kind == history.Lock {
					op = &s.h.Ops[i]
				}
			}
			s.set(op, "b", at(2.9), 1, at(32.9))
			e := s.event(history.Delete, at(2.9)+1)
			e.Concluded = true
			other := s.take("y:1", at(5), at(5.2), 30*sec)
			s.set(other, "a", at(5.1), 1, at(35.1))
			s.unlock("y:1", at(7), history.Released)
			s.unlock("x:1", at(9), history.NotHeld)
			if got := ruledOn(t, s.script, contract.OneBeliever); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
