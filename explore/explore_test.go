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

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
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
	s, ok := libraries.Find(name)
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
	const version, means = 12, "1edd0a08e5b647f2"
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
			state, err := explore.OpenState(name, search.Config, false)
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
	if _, err := explore.OpenState(name, other, false); err == nil || !strings.Contains(err.Error(), "line 1: it is of another search") {
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
	a := explore.Accusation{Guarantee: contract.Object, Rule: "one"}
	b := explore.Accusation{Guarantee: contract.Effect, Rule: "two"}
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
// Whoever lost its hold unnoticed, by what a fault did, overlaps with one after the other.
// A hold that was counted twice, of a lock that is known for it, lasts, and so does what comes of it.
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
