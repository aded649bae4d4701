package holdfast_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// What locks with one mistake did in the plans that were written for it (package broken), when those were not told of at first. Each history is
// judged from what was recorded, and accuses the lock. The plan corpus has the sound lock under the same plans. To add one: the lines of the
// run's history.jsonl and server.jsonl. More than one of a mistake have an @ in their names, after its own.
func TestWhatMistakesDidIsToldOf(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		mistake, _, _ := strings.Cut(name, "@")
		if _, known := broken.FindSourceMutant(mistake); !known {
			t.Errorf("%s is no mistake", name)
		}
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, err := history.Load(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if v := checker.Judge(t.Context(), evidence.Conclude(h), checker.Options{Unpredicted: true}); len(explore.Accuse(v)) == 0 {
				t.Errorf("nobody is accused: %s", v.Explanation)
			}
		})
	}
}

// The same histories do not accuse of the same if the lock does not claim what its mistake breaks, nor if the call was one that is exempt.
func TestWhatMistakesDidIsExemptedWithoutTheClaim(t *testing.T) {
	for name, without := range map[string]func(*history.History){
		"fortysix-unlock-not-begun-forgotten": unclaiming(contract.TakesBack),
		"fortysix-settles-once":               unclaiming(contract.TakesBack),
		"fortysix-unlock-not-begun-forgotten@called": func(h *history.History) {
			for i := range h.Ops {
				if h.Ops[i].Cancel == history.Ended { // its owner hears that nothing was given back, and may call again
					h.Ops[i].Cancel, h.Ops[i].Error = 0, "BUSY Redis is busy running a script."
				}
			}
		},
		"thirtytwo-confirmed-during-attempt@overlapping": unclaiming(contract.NoticesSilence),
		"fortyseven-settling-ends-with-lease": func(h *history.History) {
			for i := range h.Header.Idempotent { // a request comes later than the server knows it
				h.Header.Idempotent[i].For, h.Header.Idempotent[i].ForOnce = time.Minute, time.Minute
			}
		},
		"fortyseven-latch-round-without-end": func(h *history.History) {
			h.Faults = append(h.Faults, history.Fault{Index: len(h.Faults), Kind: "expire-key", Lock: "L", Hits: 1, From: 4 * time.Millisecond, To: 4 * time.Millisecond,
				Effects: []history.Effect{history.KeyExpired}})
		},
		"fortyseven-context-of-first-member": unclaiming(contract.HearsForce),
		"fortyseven-context-of-first-member@unconfirmed": unheard(func(r *history.Served) bool {
			return r.Step == history.StepSubscribe
		}),
		"fortyseven-group-refusal-unheard":       unheard(attempts),
		"fortyseven-late-refusal-unheard":        unheard(attempts),
		"fortyseven-group-late-refusal-unheard":  unheard(attempts),
		"fortyseven-sem-record-without-end":      unclaiming(contract.LeavesNothing),
		"fair-leaving-wakes-nobody@late-message": unclaiming(contract.LeavesLine),
	} {
		file := name
		if _, err := os.Stat("testdata/mistakes/" + file + ".jsonl"); err != nil {
			file, _, _ = strings.Cut(name, "@")
		}
		b, err := os.ReadFile("testdata/mistakes/" + file + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		accused := func(change func(*history.History)) (rules []contract.Rule) {
			h, err := history.Load(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			change(h)
			for _, a := range explore.Accuse(checker.Judge(t.Context(), evidence.Conclude(h), checker.Options{Unpredicted: true})) {
				rules = append(rules, a.Rule)
			}
			return rules
		}
		with, others := accused(func(*history.History) {}), accused(without)
		if len(with) == 0 || slices.ContainsFunc(others, func(r contract.Rule) bool { return slices.Contains(with, r) }) {
			t.Errorf("%s: accused of %q, and then of %q", name, with, others)
		}
	}
}

// unheard has a client hear nothing of some of its commands that were not granted.
func unheard(some func(*history.Served) bool) func(*history.History) {
	return func(h *history.History) {
		for i := range h.Served {
			if r := &h.Served[i]; r.Client == "c1" && some(r) {
				r.Got = 0
			}
		}
	}
}

// attempts are the attempts that found the lock with another owner.
func attempts(r *history.Served) bool {
	return r.Step == history.StepAcquire && r.Before != nil && len(r.Before.Holdings) > 0 && r.Before.Count(r.Owner) == 0
}

// unclaiming takes a claim away.
func unclaiming(claim contract.Claim) func(*history.History) {
	return func(h *history.History) {
		h.Header.Abilities = slices.DeleteFunc(h.Header.Abilities, func(a string) bool { return a == string(claim) })
	}
}
