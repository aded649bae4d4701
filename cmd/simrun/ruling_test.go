package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// ruled is what a verdict says of a history: all of it but the proofs, which are of runs and not of a history,
// and how long it took.
func ruled(t *testing.T, v *checker.Verdict) string {
	t.Helper()
	type part struct {
		Guarantee  contract.Guarantee
		Status     checker.Status
		Violations []checker.Violation
	}
	var all []part
	for _, r := range v.Results {
		p := part{Guarantee: r.Guarantee, Status: r.Status}
		for _, x := range r.Violations {
			x.Proof = nil
			p.Violations = append(p.Violations, x)
		}
		all = append(all, p)
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// One history has one ruling, whoever asks: explore, a single run with proofs, one of several runs, "check" of the stored
// run, and the windows of a long history.
func TestOneHistoryHasOneRulingWhoeverAsks(t *testing.T) {
	t.Parallel()
	runs := 24
	if testing.Short() {
		runs = 12
	}
	locks := []string{"rlock-latch", "rlock-hardened", "redsync", "redislock-refresh", "broken-unlock-keeps-lease", "broken-acquire-anyway"}
	uniform, _ := explore.FindStrategy("uniform")
	dir, kinds := t.TempDir(), map[checker.RulingKind]int{}
	for i := range runs {
		name, seed := locks[i%len(locks)], uint64(8_500+i)
		s, ok := findSubject(name)
		if !ok {
			t.Fatalf("there is no lock %s", name)
		}
		p := uniform.Draw(seed, explore.ScopeFor(s, scenarios.Whole()))
		hunted, err := explore.One(bubble.In(t), p, s, seed)
		if err != nil {
			t.Fatalf("%s, seed %d: %v", name, seed, err)
		}
		want := ruled(t, hunted.Verdict)
		for _, r := range hunted.Verdict.Results {
			for _, x := range r.Violations {
				kinds[x.Ruling.Kind]++
			}
		}
		agrees := func(who string, v *checker.Verdict) {
			t.Helper()
			if got := ruled(t, v); got != want {
				t.Errorf("%s, seed %d: explore says\n%s\nand %s says\n%s", name, seed, want, who, got)
			}
		}

		file := filepath.Join(dir, fmt.Sprintf("%d.json", seed))
		if err := os.WriteFile(file, p.JSON(), 0o666); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, fmt.Sprint(seed))
		args := []string{"-plan", file, "-subject", name, "-seed", fmt.Sprint(seed), "-out", out, "-json"}
		agrees("a single run", spoken(t, dir, args...)[0])
		stored, err := filepath.Glob(filepath.Join(out, "*", "latest"))
		if err != nil || len(stored) != 1 {
			t.Fatalf("%v, %v", stored, err)
		}
		agrees("its verdict.json", verdictIn(t, stored[0]))
		agrees("check", spoken(t, dir, "check", "-json", stored[0])[0])
		h, err := loadHistory(t.Context(), os.DirFS(stored[0]), ".", mostRecords)
		if err != nil && !errors.Is(err, history.ErrTruncated) {
			t.Fatal(err)
		}
		agrees("the judge of what was read again", checker.Judge(context.Background(), h, judging(h)))
		agrees("the first of two runs", spoken(t, dir, append(args, "-runs", "2")...)[0])

		h.Served = nil // a soak, which is judged in windows, has no server log
		whole := checker.Judge(context.Background(), h, judging(h))
		parts, _, _ := checker.JudgeInWindows(t.Context(), h, judging(h))
		for _, r := range parts.Results {
			if len(r.Defects()) > 0 && len(whole.Result(r.Guarantee).Defects()) == 0 {
				t.Errorf("%s, seed %d: only windows accuse: %v", name, seed, r.Violations)
			}
		}
	}
	t.Log(kinds)
	for _, kind := range []checker.RulingKind{checker.Defect, checker.FailedAssumption, checker.KnownLimitation} {
		if kinds[kind] == 0 {
			t.Errorf("nothing was ruled %v: %v", kind, kinds)
		}
	}
}

// spoken runs simrun and returns the verdicts that it prints.
func spoken(t *testing.T, dir string, args ...string) (all []*checker.Verdict) {
	t.Helper()
	stdout, stderr, code := run(t, dir, args...)
	if code != checker.ExitExpected && code != checker.ExitUnexpected {
		t.Fatalf("%q: exit code %d, stderr %q", args, code, stderr)
	}
	for d := json.NewDecoder(bytes.NewReader([]byte(stdout))); d.More(); {
		v := &checker.Verdict{}
		if err := d.Decode(v); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Fatalf("%q: no verdict", args)
	}
	return all
}

func verdictIn(t *testing.T, dir string) *checker.Verdict {
	t.Helper()
	v, err := loadVerdict(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	return v
}
