package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

func TestWithoutReentriesTheirUnlocksGoToo(t *testing.T) {
	program := func(words ...string) *plan.Plan {
		var steps []plan.Step
		for i := 0; i < len(words); i += 2 {
			steps = append(steps, plan.Step{Do: plan.Action(words[i]), Lock: words[i+1]})
		}
		return &plan.Plan{Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: steps}}}}}
	}
	tests := []struct {
		from, to *plan.Plan
		needs    []string
	}{
		{program("lock", "a", "work", "a", "unlock", "a"), program("lock", "a", "work", "a", "unlock", "a"), []string{plan.NeedsLock}},
		{program("lock", "a", "tryLock", "a", "work", "a", "unlock", "a", "unlock", "a", "lock", "a"),
			program("lock", "a", "work", "a", "unlock", "a", "lock", "a"), []string{plan.NeedsLock, plan.NeedsReentrant}},
		{program("lock", "a", "lock", "b", "lock", "a", "unlock", "a", "unlock", "b", "unlock", "a"),
			program("lock", "a", "lock", "b", "unlock", "b", "unlock", "a"), []string{plan.NeedsLock, plan.NeedsReentrant}},
		{program("unlock", "a", "lock", "a", "holdCount", "a"), program("unlock", "a", "lock", "a"), []string{plan.NeedsLock, plan.NeedsInspect}},
	}
	for i, tt := range tests {
		if got := tt.from.Needs(); !slices.Equal(got, tt.needs) {
			t.Errorf("%d needs %q, not %q", i, got, tt.needs)
		}
		before := string(tt.from.JSON())
		got := tt.from.Without(plan.NeedsReentrant).Without(plan.NeedsInspect)
		if string(got.JSON()) != string(tt.to.JSON()) {
			t.Errorf("%d: %s", i, got.JSON())
		}
		if string(tt.from.JSON()) != before {
			t.Errorf("%d was changed", i)
		}
	}
}

// A step on a semaphore that is wrong by itself, or with another step or a fault, is refused with its place.
func TestStepsOnSemaphoresAreChecked(t *testing.T) {
	good := `{"do":"trySetPermits","lock":"s","permits":2},{"do":"tryAcquirePermits","lock":"s","permits":1,"wait":"1s","cancel":"2s"},{"do":"releasePermits","lock":"s","permits":1}`
	for steps, want := range map[string]string{
		good:                                   "",
		`{"do":"acquirePermits","lock":"s"}`:   "plan: $.clients[0].threads[0].steps[0].permits: 0 must be from 1 to 2147483647",
		`{"do":"acquirePermits","permits":1}`:  "plan: $.clients[0].threads[0].steps[0].lock: acquirePermits needs a lock",
		`{"do":"lock","lock":"s","permits":1}`: "plan: $.clients[0].threads[0].steps[0].permits: lock takes none",
		good + `,{"do":"unlock","lock":"s"}`:   `plan: $.clients[0].threads[0].steps[3].lock: unlock is on a lock, and "s" is a semaphore by a step before it`,
		`{"do":"acquirePermits","lock":"s","permits":1,"wait":"1s"}`:                                 "plan: $.clients[0].threads[0].steps[0].wait: acquirePermits takes none",
		`{"do":"acquirePermits","lock":"s","permits":1,"lease":"1s"}`:                                "plan: $.clients[0].threads[0].steps[0].lease: acquirePermits takes none",
		good + `]}]}],"faults":[{"kind":"overwrite-key","lock":"s","from":"1s"}],"x":[{"y":[{"z":[0`: `plan: $.faults[0].lock: overwrite-key strikes locks, and "s" is a semaphore`,
	} {
		text := `{"version":1,"clients":[{"name":"c1","threads":[{"id":1,"steps":[` + steps + `]}]}]}`
		if i := strings.Index(text, `,"x":`); i > 0 {
			text = text[:i] + "}"
		}
		p, err := plan.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := p.Check(fault.Needs()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, not %q", steps, got, want)
		}
	}
	p := &plan.Plan{Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{{Do: plan.AcquirePermits, Lock: "s", Permits: 1}}}}}}}
	if got := p.Needs(); !slices.Equal(got, []string{plan.NeedsSemaphore}) {
		t.Errorf("needs %q", got)
	}
}
