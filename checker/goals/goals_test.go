package goals_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func named(some []contract.Goal) (names []string) {
	for _, g := range some {
		names = append(names, g.Name)
	}
	return names
}

func TestEveryExemptionIsAGoal(t *testing.T) {
	all := goals.All()
	for _, e := range contract.Exemptions() {
		i := slices.IndexFunc(all, func(g contract.Goal) bool { return g.Name == e.Name })
		if i < 0 {
			t.Errorf("%s is none", e.Name)
			continue
		}
		v := &checker.Verdict{Results: []checker.Result{{Violations: []checker.Violation{{Ruling: checker.Ruling{Row: e.Name}}}}}}
		if got := goals.Reached(&history.History{}, v, nil); !slices.Equal(got, []string{e.Name}) {
			t.Errorf("a violation with the ruling %s reaches %v", e.Name, got)
		}
	}
	for row := range goals.Rows {
		if !slices.ContainsFunc(contract.Exemptions(), func(e contract.Exemption) bool { return e.Name == row }) {
			t.Errorf("there is no exemption %s any more", row)
		}
	}
}

func TestNamesAreChecked(t *testing.T) {
	reached := func(*history.History) bool { return true }
	all := named(goals.All())
	if slices.Sort(all); len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("two goals have one name")
	}
	for _, c := range []struct {
		own  []contract.Goal
		want string
	}{
		{nil, ""},
		{[]contract.Goal{{Name: "three-wait", Reached: reached}, {Name: "four-wait", Reached: reached}}, ""},
		{[]contract.Goal{{Name: "three wait", Reached: reached}}, "with dashes between"},
		{[]contract.Goal{{Name: "ten-wait", Reached: reached}}, "another one has that name"},
		{[]contract.Goal{{Name: "a", Reached: reached}, {Name: "a", Reached: reached}}, "another one has that name"},
		{[]contract.Goal{{Name: "a"}}, "does not say when"},
	} {
		if err := goals.Check(c.own); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", named(c.own), err)
		}
	}
	for _, g := range goals.All() {
		if g.Reached == nil != slices.ContainsFunc(contract.Exemptions(), func(e contract.Exemption) bool { return e.Name == g.Name }) {
			t.Errorf("%s: nobody says when it is reached, or two do", g.Name)
		}
	}
	v := &checker.Verdict{}
	if got := goals.Reached(&history.History{}, v, []contract.Goal{{Name: "mine", Reached: reached}}); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("a lock's own: %v", got)
	}
}

func TestWhatALockCanReach(t *testing.T) {
	of := func(effects []history.Effect, abilities ...string) []string {
		return named(goals.Reach{Has: func(a string) bool { return a == goals.Readable || slices.Contains(abilities, a) },
			Claims: func(c contract.Claim) bool { return slices.Contains(abilities, string(c)) }, Effects: effects}.Of(goals.All()))
	}
	every := append(append(history.Resends(), history.TouchesKey()...), history.ServerForgot, history.ClockMoved, history.TimersStopped)
	for _, c := range []struct {
		name string
		got  []string
		has  string
		not  string
	}{
		{"a mutex", of(every, "lock"), "acquire-takes holder-stopped sent-again", "renew-extends permits-taken told-of-loss majority-not-all forgot-unread"},
		{"without faults", of(nil, "lock", "watchdog"), "acquire-takes renew-extends lease-outlived", "holder-stopped sent-again grant-answered-late"},
		{"one that tells of a loss", of(every, "lock", "lost"), "told-of-loss", "lease-outlived"},
		{"an idempotent one", of(every, "lock", "idempotent"), "acquire-without-effect", "sent-again held-twice"},
		{"a semaphore", of(every, "semaphore", "counted"), "permits-taken message-missed", "acquire-takes lease-outlived"},
	} {
		for name := range strings.FieldsSeq(c.has) {
			if !slices.Contains(c.got, name) {
				t.Errorf("%s does not reach %s", c.name, name)
			}
		}
		for name := range strings.FieldsSeq(c.not) {
			if slices.Contains(c.got, name) {
				t.Errorf("%s reaches %s", c.name, name)
			}
		}
	}
	unread := named(goals.Reach{Has: func(a string) bool { return a == "lock" || a == goals.Unread }, Claims: func(contract.Claim) bool { return false }, Effects: every}.Of(goals.All()))
	if slices.Contains(unread, "acquire-takes") || slices.Contains(unread, "sent-again") || !slices.Contains(unread, "acquire-refused") || !slices.Contains(unread, "perhaps-sent-again") {
		t.Errorf("one whose keys nobody can read: %v", unread)
	}
	some := goals.Reach{Has: func(a string) bool { return a == "lock" || a == goals.Readable }, Claims: func(c contract.Claim) bool { return c == contract.Idempotent }, Effects: every, Forgets: true}
	if got := named(some.Of(goals.All())); !slices.Contains(got, "sent-again") {
		t.Error("one that is idempotent in some calls does not reach sent-again")
	}
}

const s = time.Second

// key is a key that owners hold as often as they are named, until a time.
func key(until time.Duration, held ...string) *history.KeyState {
	k := &history.KeyState{Deadline: until}
	for _, owner := range held {
		if i := slices.IndexFunc(k.Holdings, func(h history.Holding) bool { return h.Owner == owner }); i >= 0 {
			k.Holdings[i].Count++
		} else {
			k.Holdings = append(k.Holdings, history.Holding{Owner: owner, Count: 1})
		}
	}
	if len(held) == 0 {
		k.Deadline = 0
	}
	return k
}

func permits(n int64) *history.KeyState { return &history.KeyState{Permits: &n} }

// left is the key of a latch, which is not there when its count is 0.
func left(n int64) *history.KeyState {
	if n == 0 {
		return &history.KeyState{}
	}
	return &history.KeyState{Left: &n}
}

// What an owner of a read-write lock does as a writer is told apart from what it does as a reader.
func TestBranchesOfOneOwnerThatReadsAndWrites(t *testing.T) {
	for _, c := range []struct {
		step          history.Step
		kind          history.Kind
		before, after *history.KeyState
		want          string
	}{
		{history.StepAcquire, history.TryWrite, key(30*s, "a"), key(30*s, "a"), "upgrade-refused"},
		{history.StepRelease, history.WriteUnlock, key(30*s, "a", "a:write"), key(30*s, "a"), "writer-downgrades"},
		{history.StepRelease, history.WriteUnlock, key(30*s, "a:write"), key(0), ""},
	} {
		h := &history.History{Ops: []history.Op{{ID: 1, Owner: "a:write", Client: "c1", Lock: "l", Kind: c.kind, Call: 1, Return: s, Evidence: history.Sent}},
			Served: []history.Served{{At: 2, Step: c.step, Op: 1, Owner: "a:write", Client: "c1", Lock: "l", Before: c.before, After: c.after, Got: 3}}}
		got := slices.DeleteFunc(goals.Reached(h, &checker.Verdict{}, nil), func(g string) bool { return strings.HasPrefix(g, "acquire-") || strings.HasPrefix(g, "release-") })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s from %v to %v: %q, want %q", c.kind, c.before, c.after, got, c.want)
		}
	}
}

func TestEachBranchIsToldByWhatBecameOfTheKey(t *testing.T) {
	none := key(0)
	for _, c := range []struct {
		step          history.Step
		kind          history.Kind
		before, after *history.KeyState
		want          string
	}{
		{history.StepAcquire, history.Lock, none, key(30*s, "a"), "acquire-takes"},
		{history.StepAcquire, history.Lock, key(30*s, "a"), key(31*s, "a", "a"), "acquire-re-enters"},
		{history.StepAcquire, history.Lock, key(30*s, "b"), key(30*s, "b"), "acquire-refused"},
		{history.StepAcquire, history.Lock, none, none, "acquire-without-effect"},
		{history.StepAcquire, history.Lock, key(30*s, "a"), key(30*s, "a"), "acquire-without-effect"},
		{history.StepRelease, history.Unlock, key(30*s, "a"), none, "release-last"},
		{history.StepRelease, history.Unlock, key(30*s, "a", "a"), key(30*s, "a"), "release-one"},
		{history.StepRelease, history.Unlock, none, none, "release-of-nothing"},
		{history.StepRelease, history.Unlock, key(30*s, "b"), key(30*s, "b"), "release-of-others"},
		{history.StepRelease, history.Unlock, key(30*s, "a"), key(30*s, "a"), "release-without-effect"},
		{history.StepRenew, history.Renew, key(30*s, "a"), key(40*s, "a"), "renew-extends"},
		{history.StepRenew, history.Renew, key(30*s, "a"), key(30*s, "a"), "renew-keeps"},
		{history.StepRenew, history.Renew, none, none, "renew-of-nothing"},
		{history.StepRenew, history.Renew, key(30*s, "b"), key(30*s, "b"), "renew-of-others"},
		{history.StepForce, history.ForceUnlock, key(30*s, "b"), none, "force-frees"},
		{history.StepForce, history.ForceUnlock, none, none, "force-of-nothing"},
		{history.StepForce, history.ForceUnlock, key(30*s, "b"), key(30*s, "b"), "force-without-effect"},
		{history.StepSet, history.TrySetPermits, none, permits(3), "permits-set"},
		{history.StepSet, history.TrySetPermits, permits(3), permits(3), "permits-set-already"},
		{history.StepAcquire, history.AcquirePermits, permits(3), permits(1), "permits-taken"},
		{history.StepAcquire, history.AcquirePermits, permits(1), permits(1), "permits-too-few"},
		{history.StepAcquire, history.AcquirePermits, permits(0), permits(0), "permits-none"},
		{history.StepRelease, history.ReleasePermits, permits(0), permits(1), "permits-back"},
		{history.StepRelease, history.ReleasePermits, none, none, "permits-back-to-nothing"},
		{history.StepAcquire, history.TryRead, key(30*s, "b"), key(30*s, "a", "b"), "acquire-takes read-shared"},
		{history.StepAcquire, history.TryRead, key(30*s, "b:write"), key(30*s, "b:write"), "acquire-refused read-refused"},
		{history.StepAcquire, history.TryWrite, key(30*s, "b"), key(30*s, "b"), "acquire-refused write-refused"},
		{history.StepAcquire, history.TryRead, key(30*s, "a:write"), key(30*s, "a", "a:write"), "acquire-takes writer-reads"},
		{history.StepRelease, history.ReadUnlock, key(30*s, "a", "b"), key(30*s, "b"), "release-last reader-leaves-others"},
		{history.StepRelease, history.ReadUnlock, key(30*s, "a", "b"), none, "release-last reader-removes-others"},
		{history.StepSet, history.TrySetCount, left(0), left(3), "count-set"},
		{history.StepSet, history.TrySetCount, left(3), left(3), "count-set-already"},
		{history.StepRelease, history.CountDown, left(3), left(2), "counted-down"},
		{history.StepRelease, history.CountDown, left(1), left(0), "counted-to-zero"},
		{history.StepRelease, history.CountDown, left(0), left(0), "counted-at-zero"},
		{history.StepAdmin, history.Lock, none, key(30*s, "a"), ""},
	} {
		h := &history.History{Ops: []history.Op{{ID: 1, Owner: "a", Client: "c1", Lock: "l", Kind: c.kind, Call: 1, Return: s, Evidence: history.Sent}},
			Served: []history.Served{{At: 2, Step: c.step, Op: 1, Owner: "a", Client: "c1", Lock: "l", Before: c.before, After: c.after, Got: 3}}}
		if got := strings.Join(goals.Reached(h, &checker.Verdict{}, nil), " "); got != c.want {
			t.Errorf("%s from %v to %v: %q, want %q", c.step, c.before, c.after, got, c.want)
		}
		h.Served[0].Refused = true
		if got := goals.Reached(h, &checker.Verdict{}, nil); len(got) > 0 {
			t.Errorf("%s refused: %v", c.step, got)
		}
	}
}
