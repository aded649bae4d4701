package explore_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// here runs shards in this process, and fails once it has done enough of them.
type here struct {
	b       *bubble.Bubbles
	subject subjects.Subject
	most    int // shards; 0: no end
	done    int
}

var errEnough = errors.New("killed")

func (h *here) Slots() int { return 1 }
func (h *here) Run(_ context.Context, s explore.Shard) (explore.Report, error) {
	if h.done++; h.most > 0 && h.done > h.most {
		return explore.Report{}, errEnough
	}
	return explore.Do(h.b, h.subject, s), nil
}

func find(t testing.TB, name string) subjects.Subject {
	t.Helper()
	if l, ok := broken.Find(name); ok {
		return l.Subject
	}
	s, ok := subjects.Find(name)
	if !ok {
		t.Fatalf("no subject %s", name)
	}
	return s
}

func config(subject string) explore.Config {
	return explore.Config{Version: explore.Version, Subject: subject, Strategy: "uniform", Scope: scenarios.Whole()}
}

// without leaves out what may differ between two runs of one shard.
func without(r explore.Report) string {
	r.Wall = 0
	for i := range r.Samples {
		r.Samples[i].Wall = 0
		r.Samples[i].Verdict.Trace = "" // TestSameTrace of package sim has it
	}
	b, _ := json.Marshal(r)
	return string(b)
}

// A state file goes on where an earlier program stopped: both must mean the same by a seed.
func TestWhatASeedMeansHasAVersion(t *testing.T) {
	sum := sha256.New()
	for seed := range uint64(100) {
		sum.Write(scenarios.DrawnBy(seed, scenarios.Whole()).JSON())
	}
	const version, means = 3, "8522994bb69944dc"
	if got := hex.EncodeToString(sum.Sum(nil))[:16]; got != means || explore.Version != version {
		t.Errorf("seeds draw other plans than before, %s: raise Version, which is %d, and tell this test", got, explore.Version)
	}
}

func TestAShardComesOutTheSameTwice(t *testing.T) {
	for _, s := range explore.Strategies() {
		if s.Whole {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			shard := explore.Shard{Config: config("rlock-hardened"), From: 7, Runs: 8}
			shard.Config.Strategy = s.Name
			subject := find(t, "rlock-hardened")
			a, b := explore.Do(bubble.In(t), subject, shard), explore.Do(bubble.In(t), subject, shard)
			if without(a) != without(b) {
				t.Errorf("first\n%s\nthen\n%s", without(a), without(b))
			}
			if a.Runs != 8 || a.Ops == 0 || len(a.States) == 0 {
				t.Errorf("%d runs, %d operations, %d states", a.Runs, a.Ops, len(a.States))
			}
		})
	}
}

// A lock that is broken on purpose is found out, and the plan that shows it is the one of the seed.
func TestABrokenLockIsAccused(t *testing.T) {
	s := find(t, "broken-unlock-twice")
	search := explore.Search{Config: config(s.Name), Executor: &here{b: bubble.In(t), subject: s}, First: 1, UntilHit: true}
	total, err := search.Run(t.Context())
	if err != nil || len(total.Found) == 0 {
		t.Fatalf("found %v, %v", total.Found, err)
	}
	f := total.Found[0]
	r, err := explore.One(bubble.In(t), f.Plan, s, f.Seed)
	if err != nil || !r.Accuses(f.Cause()) {
		t.Errorf("seed %d alone: %v, %v", f.Seed, r.Accusations, err)
	}
	sound, _ := subjects.Find("rlock-latch")
	if r, err := explore.One(bubble.In(t), f.Plan, sound, f.Seed); err != nil || len(r.Accusations) > 0 {
		t.Errorf("the sound lock: %v, %v", r.Accusations, err)
	}
}

// A search that is killed goes on where it was, also when half a line was written, and comes to what
// it would have come to at once.
func TestAKilledSearchGoesOn(t *testing.T) {
	s := find(t, "broken-acquire-never")
	name := filepath.Join(t.TempDir(), "state.jsonl")
	const runs = 60
	run := func(most int, kept bool) (explore.Total, int, error) {
		executor := &here{b: bubble.In(t), subject: s, most: most}
		search := explore.Search{Config: config(s.Name), Executor: executor, First: 1, Runs: runs}
		if kept {
			state, err := explore.OpenState(name, search.Config)
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			search.State = state
		}
		total, err := search.Run(t.Context())
		return total, executor.done, err
	}
	if _, _, err := run(1, true); !errors.Is(err, errEnough) {
		t.Fatalf("the first part: %v", err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"shard":{"from":26,"ru`)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	resumed, done, err := run(0, true)
	if err != nil || done != 2 { // of three shards
		t.Fatalf("%d shards were done, %v", done, err)
	}
	whole, _, err := run(0, false)
	if err != nil || without(resumed.Whole()) != without(whole.Whole()) || whole.Runs != runs {
		t.Errorf("%v, resumed\n%s\nat once\n%s", err, without(resumed.Whole()), without(whole.Whole()))
	}
	b, err := os.ReadFile(name)
	if err != nil || strings.Count(string(b), "\n") != 4 || !strings.HasSuffix(string(b), "}\n") {
		t.Errorf("the state file, %v:\n%.300s", err, b)
	}
	other := config("rlock-latch")
	if _, err := explore.OpenState(name, other); err == nil || !strings.Contains(err.Error(), "line 1: it is of another search") {
		t.Errorf("another search: %v", err)
	}
}

func TestASearchEndsByCountByTimeOrByTheFirstFailure(t *testing.T) {
	s := find(t, "broken-acquire-never")
	for _, c := range []struct {
		name   string
		search explore.Search
		runs   func(n int) bool
	}{
		{"count", explore.Search{Runs: 30}, func(n int) bool { return n == 30 }},
		{"time", explore.Search{For: time.Nanosecond}, func(n int) bool { return n == 0 }},
		{"first failure", explore.Search{UntilHit: true}, func(n int) bool { return n > 0 && n%explore.ShardRuns == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.search.Config, c.search.Executor, c.search.First = config(s.Name), &here{b: bubble.In(t), subject: s}, 1
			total, err := c.search.Run(t.Context())
			if err != nil || !c.runs(total.Runs) {
				t.Errorf("%d runs, %v", total.Runs, err)
			}
		})
	}
}

func TestSumKeepsTheFirstRunOfEachCauseWhateverTheOrder(t *testing.T) {
	a := explore.Accusation{Guarantee: checker.Object, Rule: "one"}
	b := explore.Accusation{Guarantee: checker.Effect, Rule: "two"}
	reports := []explore.Report{
		{Runs: 25, Accused: 3, Found: []explore.Found{{Accusation: a, Runs: 2, Seed: 30}, {Accusation: b, Runs: 1, Seed: 31}}},
		{Runs: 25, Accused: 1, Found: []explore.Found{{Accusation: a, Runs: 1, Seed: 3}}},
	}
	for range 2 {
		total := explore.Sum(reports)
		if total.Runs != 50 || total.Accused != 4 || len(total.Found) != 2 ||
			total.Found[0].Seed != 31 || total.Found[1].Seed != 3 || total.Found[1].Runs != 3 {
			t.Errorf("%+v", total.Report)
		}
		slices.Reverse(reports)
	}
}

// A seed means the same trace for ever, also where several goroutines of a client have equal timers: in some
// of these plans all connections break at once, and everybody dials again.
func TestDrawnPlansHaveOneTrace(t *testing.T) {
	uniform, _ := explore.FindStrategy("uniform")
	hardened := find(t, "rlock-hardened")
	for _, seed := range []uint64{1269, 2252, 2299, 2330, 1, 2, 3, 4, 5, 6, 7, 8} {
		scope := scenarios.Whole()
		first := ""
		for range 12 {
			h, err := sim.Run(bubble.In(t), uniform.Draw(seed, explore.ScopeFor(hardened, scope)), hardened, sim.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if first = cmp.Or(first, h.End.Trace); h.End.Trace != first {
				t.Fatalf("seed %d: two traces", seed)
			}
		}
	}
}

// Both sides: what is held against a lock, and what excuses it.
func TestAccuse(t *testing.T) {
	latch, classic, hardened := find(t, "rlock-latch"), find(t, "rlock-classic"), find(t, "rlock-hardened")
	blamed := checker.Cause{Faults: []int{0}}
	twice := checker.Violation{Ops: []int64{1}, Rule: checker.AtMostOnce, Cause: blamed}
	refused := func(op int64) checker.Violation { // an unlock that was told so 10 s (2) or 30 s (3) after it was done
		return checker.Violation{Ops: []int64{op}, Rule: checker.ToldTheTruth, Cause: blamed}
	}
	heard := func(to time.Duration) checker.Violation { // of a lock that was free for that long
		return checker.Violation{Ops: []int64{4}, Rule: checker.FreeIsTaken, From: time.Hour, To: to}
	}
	for _, c := range []struct {
		name    string
		lock    subjects.Subject
		g       checker.Guarantee
		x       checker.Violation
		fault   history.Fault
		accused bool
	}{
		{"object, no fault", latch, checker.Object, checker.Violation{}, history.Fault{Missed: true}, true},
		{"an assumption failed", latch, checker.Exclusion, checker.Violation{Cause: checker.Cause{Assumption: true}}, history.Fault{Missed: true}, false},
		{"exclusion, a lost message, a lock that does not tell", latch, checker.Exclusion, checker.Violation{From: time.Minute, To: time.Minute}, history.Fault{Kind: "drop-message", From: 30 * time.Second}, false},
		{"exclusion, a lost message, a lock that tells", hardened, checker.Exclusion, checker.Violation{From: time.Minute, To: time.Minute}, history.Fault{Kind: "drop-message", From: 30 * time.Second}, true},
		{"exclusion, a deleted key, and that is not the cause", hardened, checker.Exclusion, checker.Violation{From: time.Minute, To: time.Minute}, history.Fault{Kind: "delete-key", From: 30 * time.Second}, true},
		{"exclusion, another lock's key deleted", latch, checker.Exclusion, checker.Violation{Lock: "a", From: time.Minute, To: time.Minute}, history.Fault{Kind: "delete-key", Lock: "b", From: 30 * time.Second}, true},
		{"exclusion, a message lost long ago", latch, checker.Exclusion, checker.Violation{From: time.Hour, To: time.Hour}, history.Fault{Kind: "drop-message", From: 30 * time.Second}, true},
		{"exclusion, a message lost later", latch, checker.Exclusion, checker.Violation{From: time.Second, To: time.Second}, history.Fault{Kind: "drop-message", From: 30 * time.Second}, true},
		{"exclusion, one of the two stopped", latch, checker.Exclusion, checker.Violation{Owners: []string{"c1:1", "c2:1"}, From: time.Minute, To: time.Minute}, history.Fault{Kind: "pause-client", Client: "c1", From: 30 * time.Second}, false},
		{"exclusion, somebody else stopped", latch, checker.Exclusion, checker.Violation{Owners: []string{"c1:1", "c2:1"}, From: time.Minute, To: time.Minute}, history.Fault{Kind: "pause-client", Client: "c3", From: 30 * time.Second}, true},
		{"object, a lost message", hardened, checker.Object, checker.Violation{}, history.Fault{Kind: "drop-message"}, true},
		{"object, a server that forgets", hardened, checker.Object, checker.Violation{}, history.Fault{Kind: "restart", From: time.Second}, false},
		{"liveness, a lost message", hardened, checker.Liveness, checker.Violation{}, history.Fault{Kind: "drop-message"}, false},
		{"taken twice, a weakness", latch, checker.Object, twice, history.Fault{Kind: "drop-message"}, false},
		{"taken twice, by a fault that has no copy sent", latch, checker.Object, twice, history.Fault{Kind: "pause-watchdog"}, true},
		{"taken twice without a fault", latch, checker.Object, checker.Violation{Ops: []int64{1}, Rule: checker.AtMostOnce}, history.Fault{Kind: "drop-message"}, true},
		{"taken twice, no weakness", hardened, checker.Object, twice, history.Fault{Kind: "drop-message"}, true},
		{"failed, and a late copy ran, a weakness", latch, checker.Object, checker.Violation{Ops: []int64{1}, Rule: checker.FailedIsVoid, Cause: blamed}, history.Fault{Kind: "duplicate-message"}, false},
		{"failed, and a late copy ran, no weakness", hardened, checker.Object, checker.Violation{Ops: []int64{1}, Rule: checker.FailedIsVoid, Cause: blamed}, history.Fault{Kind: "duplicate-message"}, true},
		{"taken twice, after the server's clock jumped", hardened, checker.Object, checker.Violation{Ops: []int64{1}, Rule: checker.AtMostOnce, Cause: checker.Cause{Class: checker.DoubleExecution, Faults: []int{0}}}, history.Fault{Kind: "clock-jump"}, false},
		{"not heard of since a message was lost long ago, until the lease that was seen is over", latch, checker.Liveness, heard(time.Hour + 20*time.Second), history.Fault{Kind: "drop-message", On: "reply publish", Hits: 1}, false},
		{"not heard of for longer", latch, checker.Liveness, heard(time.Hour + 40*time.Second), history.Fault{Kind: "drop-message", On: "reply publish", Hits: 1}, true},
		{"not heard of, and what was lost long ago was no message", latch, checker.Liveness, heard(time.Hour + 20*time.Second), history.Fault{Kind: "drop-message", On: "reply acquire", Hits: 1}, true},
		{"unlocked twice, the second time after the latch was removed", latch, checker.Object, checker.Violation{Ops: []int64{2}, From: 12 * time.Second, Rule: checker.AtMostOnce, Cause: blamed}, history.Fault{Kind: "delay-message"}, false},
		{"unlocked twice, the second time when the latch was being removed", latch, checker.Object, checker.Violation{Ops: []int64{5}, From: 3 * time.Second, Rule: checker.AtMostOnce, Cause: blamed}, history.Fault{Kind: "delay-message"}, false},
		{"unlocked twice before the first was answered", latch, checker.Object, checker.Violation{Ops: []int64{5}, From: 1500 * time.Millisecond, Rule: checker.AtMostOnce, Cause: blamed}, history.Fault{Kind: "delay-message"}, true},
		{"unlocked twice, the second time when a copy's answer had come and the first's had not", latch, checker.Object, checker.Violation{Ops: []int64{6}, From: 12 * time.Second, Rule: checker.AtMostOnce, Cause: blamed}, history.Fault{Kind: "delay-message"}, false},
		{"unlocked twice, by copies of a request that had been refused", latch, checker.Object, checker.Violation{Ops: []int64{7}, From: 13 * time.Second, Rule: checker.AtMostOnce, Cause: blamed}, history.Fault{Kind: "delay-message"}, false},
		{"unlocked twice by one call", latch, checker.Object, checker.Violation{Ops: []int64{2}, From: 10 * time.Second, Rule: checker.AtMostOnce, Cause: blamed}, history.Fault{Kind: "delay-message"}, true},
		{"refused by a copy while the latch lives", latch, checker.Object, refused(2), history.Fault{Kind: "partition"}, true},
		{"refused by a copy after the latch", latch, checker.Object, refused(3), history.Fault{Kind: "partition"}, false},
		{"refused by a copy without a latch", classic, checker.Object, refused(2), history.Fault{Kind: "partition"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &history.History{Faults: []history.Fault{c.fault}, Ops: []history.Op{{ID: 1, Kind: history.Lock, Client: "c1", Owner: "c1:1"},
				{ID: 2, Kind: history.Unlock, Executed: time.Second, Return: 11 * time.Second},
				{ID: 3, Kind: history.Unlock, Executed: time.Second, Return: 31 * time.Second}, {ID: 4, Kind: history.Lock, Client: "c1"},
				{ID: 5, Kind: history.Unlock, Executed: time.Second, Return: 11 * time.Second}, {ID: 6, Kind: history.Unlock, Executed: time.Second, Return: 11 * time.Second},
				{ID: 7, Kind: history.Unlock, Executed: 12 * time.Second, Return: time.Second}},
				Served: []history.Served{{Op: 5, At: time.Second, Got: 2 * time.Second}, {Op: 6, At: time.Second, Got: time.Minute}, {Op: 4, At: time.Hour - time.Second, After: &history.KeyState{Deadline: time.Hour + 29*time.Second}}}}
			v := &checker.Verdict{Results: []checker.Result{{Guarantee: c.g, Status: checker.Broken, Violations: []checker.Violation{c.x}}}}
			if got := explore.Accuse(h, v, c.lock); (len(got) > 0) != c.accused {
				t.Errorf("accused: %v", got)
			}
		})
	}
}

// Whoever lost its hold unnoticed, by what a fault did, overlaps with one after the other.
func TestAccuseOfWhatBeganWithAFault(t *testing.T) {
	overlap := func(from time.Duration, cause string) checker.Violation {
		return checker.Violation{Rule: checker.OneBeliever, From: from, To: from + time.Second, Cause: checker.Cause{Text: cause}}
	}
	h := &history.History{Faults: []history.Fault{{Kind: "duplicate-message", From: 30 * time.Second}}}
	for cause, accused := range map[string]int{"the same": 0, "another": 1} {
		v := &checker.Verdict{Results: []checker.Result{{Guarantee: checker.Exclusion, Status: checker.Broken,
			Violations: []checker.Violation{overlap(time.Minute, "the same"), overlap(2*time.Minute, cause)}}}}
		if got := explore.Accuse(h, v, find(t, "rlock-latch")); len(got) != accused {
			t.Errorf("the cause is %s: accused %v", cause, got)
		}
	}
}

// A hold that was counted twice, of a lock that is known for it, lasts, and so does what comes of it.
func TestAccuseOfWhatWasCountedTwice(t *testing.T) {
	h := &history.History{Ops: []history.Op{
		{ID: 1, Kind: history.TryLock, Owner: "c1:1", Lock: "a", Repeats: 1},
		{ID: 2, Kind: history.Lock, Owner: "c1:1", Lock: "c", Outcome: history.Unknown, Answer: history.Acquired}, // nobody was told
		{ID: 3, Kind: history.Lock, Owner: "c1:1", Lock: "d", Outcome: history.Unknown, Answer: history.Busy},
	}}
	for _, c := range []struct {
		lock    string
		x       checker.Violation
		accused int
	}{
		{"rlock-latch", checker.Violation{Lock: "a", Owners: []string{"c1:1", "c2:1"}, From: time.Hour}, 0},
		{"rlock-latch", checker.Violation{Lock: "b", Owners: []string{"c1:1", "c2:1"}, From: time.Hour}, 1},
		{"rlock-latch", checker.Violation{Lock: "a", Owners: []string{"c2:1", "c3:1"}, From: time.Hour}, 1},
		{"rlock-hardened", checker.Violation{Lock: "a", Owners: []string{"c1:1", "c2:1"}, From: time.Hour}, 1},
		{"rlock-latch", checker.Violation{Lock: "c", Owners: []string{"c1:1", "c2:1"}, From: time.Hour}, 0},
		{"rlock-latch", checker.Violation{Lock: "d", Owners: []string{"c1:1", "c2:1"}, From: time.Hour}, 1},
		{"rlock-hardened", checker.Violation{Lock: "c", Owners: []string{"c1:1", "c2:1"}, From: time.Hour}, 1},
	} {
		v := &checker.Verdict{Results: []checker.Result{{Guarantee: checker.Exclusion, Status: checker.Broken, Violations: []checker.Violation{c.x}}}}
		if got := explore.Accuse(h, v, find(t, c.lock)); len(got) != c.accused {
			t.Errorf("%s, %+v: accused %v", c.lock, c.x, got)
		}
	}
}

// FuzzSoundLocks hunts with Go's own fuzzer: go test ./explore -fuzz SoundLocks.
func FuzzSoundLocks(f *testing.F) {
	f.Add([]byte("order:42"))
	f.Fuzz(func(t *testing.T, input []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) {
			s := rapid.SampledFrom(subjects.All()).Draw(rt, "lock")
			if s.External {
				rt.SkipNow()
			}
			p := scenarios.Draw(rt, explore.ScopeFor(s, scenarios.Whole()))
			seed := rapid.Uint64Range(1, 1000).Draw(rt, "seed")
			r, err := explore.One(bubble.In(t), p, s, seed)
			if err != nil {
				rt.Fatalf("harness: %v", err)
			}
			for _, a := range r.Accusations {
				rt.Logf("%s, seed %d, plan %s", s.Name, seed, p.JSON())
				rt.Errorf("%s", a.Cause())
			}
		})(t, input)
	})
}

func TestFaultlessRunsOfSoundLocksAccuseNobody(t *testing.T) {
	for _, s := range subjects.All() {
		if s.External {
			continue
		}
		scope := scenarios.Whole()
		scope.Faults = nil
		c := config(s.Name)
		c.Scope = scope
		for _, f := range explore.Do(bubble.In(t), s, explore.Shard{Config: c, From: 1, Runs: 20}).Found {
			t.Errorf("%s, seed %d: %s: %s", s.Name, f.Seed, f.Cause(), f.Text)
		}
	}
}
