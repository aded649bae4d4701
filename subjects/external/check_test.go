package external

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// check runs some checks on a worker of this test binary, all of them if none are named.
func runChecks(t *testing.T, name string, l limits, names ...string) map[string]Result {
	t.Helper()
	return runChecksOf(t, history.ALock, name, l, names...)
}

// runChecksOf is the same of a worker that serves another object.
func runChecksOf(t *testing.T, object history.Object, name string, l limits, names ...string) map[string]Result {
	t.Helper()
	some := slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return c.of != nil && !slices.Contains(c.of, object) })
	if names != nil {
		some = slices.DeleteFunc(some, func(c check) bool {
			return !slices.Contains(append(names, "hello", "start"), c.name)
		})
	}
	results := map[string]Result{}
	passed := some.try(t.Context(), strings.Fields(worker(name)), redisURL(t), l, func(r Result) {
		if !passes(r.Status) && (r.Got == "") != (r.Status == NotReached) {
			t.Errorf("%+v", r)
		}
		results[r.Name] = r
	})
	for _, r := range results {
		if r.Status == Failed && passed {
			t.Errorf("%s passed, and %s failed", name, r.Name)
		}
	}
	if len(results) != len(some) {
		t.Errorf("%d results of %d checks", len(results), len(some))
	}
	return results
}

func passes(s Status) bool { return s == Passed || s == NotClaimed }

func TestAGoodWorkerPassesEveryCheck(t *testing.T) {
	t.Parallel()
	for name, r := range runChecks(t, "good", usual) {
		if want := map[bool]Status{true: NotClaimed, false: Passed}[name == string(contract.LocalHolds)]; r.Status != want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// So does one whose owners exclude each other within the process, whatever became of their leases.
func TestAWorkerWithLocalHoldsPasses(t *testing.T) {
	t.Parallel()
	if r := runChecks(t, "local", usual, "local-holds")["local-holds"]; r.Status != Passed {
		t.Errorf("%+v", r)
	}
}

// So does one that serves another object.
func TestGoodWorkersOfOtherObjectsPassEveryCheck(t *testing.T) {
	for _, is := range []history.Object{history.ASemaphore, history.ALatch, history.ARWLock, history.APermitSemaphore} {
		for _, s := range subjects.Of(is) {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				for name, r := range runChecksOf(t, is, "listed@"+s.Name, usual) {
					if !passes(r.Status) {
						t.Errorf("%s: %+v", name, r)
					}
				}
			})
		}
	}
}

// So does a fair lock.
func TestGoodFairWorkersPassEveryCheck(t *testing.T) {
	for _, s := range subjects.AllFairLocks() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for name, r := range runChecks(t, "listed@"+s.Name, usual) {
				if !passes(r.Status) {
					t.Errorf("%s: %+v", name, r)
				}
			}
		})
	}
}

// A machine that is late accuses no worker: what fails then is tried again, and is undecided in the end.
func TestALateMachineAccusesNoWorker(t *testing.T) {
	l := usual
	late := 2 * tardy
	l.late = func() func() time.Duration { return func() time.Duration { return late } }
	if r := runChecks(t, "lets everybody in", l, "threads")["threads"]; r.Status != Undecided || !strings.Contains(r.Got, "this machine was 200ms late") {
		t.Errorf("late: %+v", r)
	}
	late = tardy
	if r := runChecks(t, "lets everybody in", l, "threads")["threads"]; r.Status != Failed {
		t.Errorf("in time: %+v", r)
	}
	tried := 0 // the first of them says hello
	l.late = func() func() time.Duration {
		tried++
		n := tried
		return func() time.Duration { return max(0, 3-time.Duration(n)) * time.Second }
	}
	greets := check{name: "hello", run: hello, vital: true}
	once := check{name: "once", run: func(b *bench) error {
		if tried < 3 {
			return errors.New("too early")
		}
		return nil
	}}
	passed := table{greets, once}.try(t.Context(), strings.Fields(worker("good")), redisURL(t), l, func(r Result) {
		if r.Status != Passed {
			t.Errorf("%+v", r)
		}
	})
	if !passed || tried != 3 {
		t.Errorf("passed: %t, after %d tries", passed, tried)
	}
}

func TestWhatIsNotClaimedIsNotChecked(t *testing.T) {
	t.Parallel()
	results := runChecks(t, "modest", usual, "lock and unlock", "fencing", "cancel")
	for name, want := range map[string]Status{"lock and unlock": Passed, "fencing": NotClaimed, "cancel": Passed} {
		if got := results[name]; got.Status != want {
			t.Errorf("%+v; want %s", got, want)
		}
	}
}

func TestChecksFindWhatIsWrongWithALock(t *testing.T) {
	for _, c := range []struct{ name, check, want string }{
		{"lets everybody in", "threads", `a:2: tryLock of what another holds was answered "acquired"; right: "busy"`},
		{"lets everybody in", "processes", `b:1: tryLock of what another holds was answered "acquired"; right: "busy"`},
		{"waits, whatever was asked", "processes", `tryLock of what another holds was not answered within`},
		{"never waits", "lease", `lock, of what is free or soon free, was answered "busy"; right: "acquired"`},
		{"gives up early", "waiting", `; right: when that time is over`},
		{"leases for ever", "lease", `lock, of what is free or soon free, was not answered within`},
		{"leases for ever", "death", `was not answered within`},
		{"leases too short", "lease", `ms after another's with a lease of 400ms; right: not before that is over`},
		{"no watchdog", "watchdog", `was answered "acquired"; right: "busy"`},
		{"one token for all", "fencing", `the token 1 was granted after 1; right: a greater one`},
		{"polite to strangers", "not held", `a:1: unlock of what it does not hold was answered "released" (`},
		{"forces nothing", "force", `forceUnlock was answered "notHeld"; right: "released"`},
		{"counts badly", "inspect", `a:1: holdCount was answered with the value 1; right: 2`},
		{"deaf", "lost", `and it was not told; right: {"lost":`},
		{"lets its holder out", "reentrant", `was answered "busy"; right: "acquired"`},
		{"re-enters too short", "keeps-longest", `was answered "acquired"; right: "busy"`},
		{"leaves the lease", "unlock-sets-lease", `was answered "acquired"; right: "busy"`},
		{"apart within", "local-holds", `was answered "acquired"; right: "busy"`},
		{"mute", "lock and unlock", `tryLock of what is free was not answered within 2s; right: "acquired"`},
		{"dies when called", "lock and unlock", `it ended: exit status 2; it wrote to stderr "panic: out of cheese"`},
		{"does not end", "hello", `it did not end within 300ms of the end of its input`},
		{"cannot cancel", "cancel", `lock was cancelled, and not answered within 1s; right: "failed" or "unknown"`},
		{"needs Redis", "no Redis", `it ended: exit status 5`},
		{"talks to stderr", "end", `bytes to stderr; right: less than 1048576`},
	} {
		t.Run(c.name+"/"+c.check, func(t *testing.T) {
			t.Parallel()
			results := runChecks(t, c.name, exceeded(c.want), c.check)
			if got := results[c.check]; got.Status != Failed || !strings.Contains(got.Got, c.want) {
				t.Errorf("%+v\nwant %s", got, c.want)
			}
		})
	}
}

func TestAfterAVitalCheckFailedTheOthersAreNotReached(t *testing.T) {
	t.Parallel()
	results := runChecks(t, "dead", usual)
	for name, r := range results {
		if want := NotReached; name != "hello" && r.Status != want {
			t.Errorf("%+v; want %s", r, want)
		}
	}
}
