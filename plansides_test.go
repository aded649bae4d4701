package holdfast_test

import (
	"os"
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// What acquits a lock in some plans of the corpus: without it the same run accuses the lock.
func TestWhatAcquitsInThePlanCorpusIsNeeded(t *testing.T) {
	for _, tt := range []struct {
		plan, subject string
		seed          uint64
		without       func(h *history.History)
		concluded     bool // what the server did is concluded again
	}{
		{"a-reentry-of-a-member-cuts-the-lease-of-its-group", "rlock-latch", 1300001747, func(h *history.History) { // it is no lock that may cut it
			h.Header.Abilities = append(h.Header.Abilities, string(contract.KeepsLongest))
		}, false},
		{"a-last-unlock-given-up-after-a-refused-renewal", "rrwlock-classic", 899977081, func(h *history.History) { // the client was not told of the loss
			h.Ops = slices.DeleteFunc(h.Ops, func(op history.Op) bool { return op.Kind.Renews() && op.Outcome == history.NotHeld })
		}, false},
		{"a-copied-read-unlock-is-told-what-the-first-was", "rrwlock-classic", 899957208, func(h *history.History) { // each is a request of its own
			for i := range h.Served {
				if r := &h.Served[i]; r.Step == history.StepRelease {
					r.Request = int64(1000 + i)
				}
			}
		}, true},
	} {
		b, err := os.ReadFile("testdata/plans/" + tt.plan + ".json")
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		subject, known := subjects.Find(tt.subject)
		if !known {
			t.Fatalf("%s is no subject", tt.subject)
		}
		h, err := sim.Run(bubble.In(t), p, subject, sim.Options{Seed: tt.seed})
		if err != nil {
			t.Fatal(err)
		}
		if v := checker.Judge(t.Context(), h, checker.Options{Unpredicted: true}); len(explore.Accuse(v)) > 0 {
			t.Errorf("%s: accused: %s", tt.plan, v.Explanation)
		}
		if tt.without(h); tt.concluded {
			h = evidence.Conclude(h)
		}
		if v := checker.Judge(t.Context(), h, checker.Options{Unpredicted: true}); len(explore.Accuse(v)) == 0 {
			t.Errorf("%s: nobody is accused without it: %s", tt.plan, v.Explanation)
		}
	}
}
