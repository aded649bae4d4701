package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// node is the interpreter of that name.
func node(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_NODE") == "1" {
			t.Fatal("HOLDFAST_REQUIRE_NODE=1, but no node is on PATH")
		}
		t.Skip("no node is on PATH")
	}
	return "node"
}

// mistake is planted in a worker: one text of its source is replaced by another.
type mistake struct{ old, new string }

// planted returns the file of a worker with a mistake; the zero mistake is none.
func (m mistake) planted(t *testing.T, worker string) string {
	t.Helper()
	source, err := os.ReadFile(worker)
	if err != nil {
		t.Fatal(err)
	}
	if m != (mistake{}) && strings.Count(string(source), m.old) != 1 {
		t.Fatalf("%s does not have one %q", worker, m.old)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(worker))
	if err := os.WriteFile(file, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Locks of other languages, each in processes of its own, are acquitted as they are. With a mistake they are
// convicted, and the story names the call that made it.
func TestForeignLocksAreJudgedByWhatTheyDo(t *testing.T) {
	interpreters := map[string]func(*testing.T) string{".mjs": node, ".py": python}
	const inNode, inPython = "../../examples/workers/node/worker.mjs", "../../examples/workers/python/reentrant.py"
	for _, c := range []struct {
		name, worker, plan string
		mistake            mistake
		tells              string // the story, WHO being the first holder; empty: no defect
	}{
		{name: "node", worker: inNode, plan: "taken-away"},
		{name: "node, whose unlock looks at no value", worker: inNode, plan: "taken-away",
			mistake: mistake{`redis.command("EVAL", unlockScript, 1, lock, owner)`, `redis.command("DEL", lock)`},
			tells:   "unlock by WHO"},
		{name: "node, whose watchdog looks at no value", worker: inNode, plan: "taken-away",
			mistake: mistake{`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`, `return redis.call('pexpire', KEYS[1], ARGV[2])`},
			tells:   "renew by WHO answered renewed, but the lock is held by"},
		{name: "python", worker: inPython, plan: "re-entered"},
		{name: "python, which counts no re-entry", worker: inPython, plan: "re-entered",
			mistake: mistake{`redis.call('hincrby', KEYS[1], ARGV[1], 1)`, `redis.call('hset', KEYS[1], ARGV[1], 1)`},
			tells:   "lock by c1:1"},
		{name: "python, whose unlock is always told that it was the last", worker: inPython, plan: "re-entered",
			mistake: mistake{`"notHeld" if left < 0 else "decremented" if left else "released"`, `"released"`},
			tells:   "unlock by c1:1 (operation 4) was told released"},
		{name: "python, whose unlock does not say whether it was the last", worker: inPython, plan: "re-entered",
			mistake: mistake{`"decremented" if left else "released"`, `"unlocked"`}},
		{name: "python, whose unlock is told that it gave back what it did not hold", worker: inPython, plan: "re-entered",
			mistake: mistake{`"notHeld" if left < 0 else "decremented" if left else "released"`, `"unlocked"`},
			tells:   "unlock by c1:1 (operation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			interpreter := interpreters[filepath.Ext(c.worker)](t)
			plan, err := filepath.Abs(filepath.Join("testdata", "foreign", c.plan+".json"))
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := run(t, t.TempDir(), "-plan", plan, "-world", "redis", "-timescale", "1/2",
				"-subject", "exec:"+interpreter+" "+c.mistake.planted(t, c.worker))
			story := strings.Join(strings.Fields(stdout), " ")
			if first := regexp.MustCompile(`(c[12]:1) gets order:42`).FindStringSubmatch(story); first != nil {
				c.tells = strings.ReplaceAll(c.tells, "WHO", first[1])
			}
			want := checker.ExitExpected
			if c.tells != "" {
				want = checker.ExitUnexpected
			}
			if code != want || !strings.Contains(story, c.tells) {
				t.Errorf("exit code %d, want %d and %q; stderr %q, stdout:\n%s", code, want, c.tells, stderr, stdout)
			}
		})
	}
}

// As they are, they are acquitted in every scenario that is about locks like them, and in drawn plans. That takes
// some minutes.
func TestForeignLocksAreAcquittedInEveryScenario(t *testing.T) {
	wantsWorkers(t)
	for _, worker := range []string{"../../examples/workers/node/worker.mjs", "../../examples/workers/python/reentrant.py"} {
		t.Run(filepath.Base(worker), func(t *testing.T) {
			t.Parallel()
			subject := "exec:" + interpreterOf(t, worker) + " " + worker
			what, runs := "all", "10"
			if testing.Short() {
				what, runs = "baseline,gc-pause,partition-holder,lost-acquire-reply,lost-unlock-reply,key-expiry,restart-empty,many-waiters,non-owner-unlock,holder-crash,dead-waiter-grant", "2"
			}
			stdout, stderr, code := run(t, ".", "-scenario", what, "-subject", subject, "-out", "none")
			all := regexp.MustCompile(`(?m)^(\d+) runs in .*: (\d+) as expected$`).FindStringSubmatch(stdout)
			if code != checker.ExitExpected || all == nil || all[1] != all[2] || len(all[1]) < 2 {
				t.Errorf("exit code %d, want %d, and tens of runs; stderr %q, stdout:\n%s", code, checker.ExitExpected, stderr, stdout)
			}
			stdout, stderr, code = run(t, ".", "explore", "-seed", "841000001", "-runs", runs, "-no-proof", "-out", "none", "-subject", subject)
			if code != checker.ExitExpected || !strings.Contains(stdout, "nothing that the lock claims was broken") || strings.Contains(stdout, "-timescale") {
				t.Errorf("exit code %d; stderr %q, stdout:\n%s", code, stderr, stdout)
			}
		})
	}
}

// Each of their mistakes shows in a scenario and in drawn plans, of which the stories name the call that made it.
func TestMistakesOfForeignLocksAreCaught(t *testing.T) {
	wantsWorkers(t)
	const inNode, inPython = "../../examples/workers/node/worker.mjs", "../../examples/workers/python/reentrant.py"
	for _, c := range []struct {
		name, worker    string
		mistake         mistake
		scenario, tells string
		faults, finds   string // of drawn plans
	}{
		{"node, whose unlock looks at no value", inNode,
			mistake{`redis.command("EVAL", unlockScript, 1, lock, owner)`, `redis.command("DEL", lock)`},
			"old-owner-unlock", "unlock by c1:1 answered released, but the lock is held by c2:1",
			"all", "only the holder's unlock frees the lock (foreign release, unlock)"},
		{"node, whose watchdog looks at no value", inNode,
			mistake{`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`, `return redis.call('pexpire', KEYS[1], ARGV[2])`},
			"key-expiry", "renew by c1:1 answered renewed, but the lock is held by c3:1",
			"expire-key", "only the holder's lease is renewed (unexplained, renew)"},
		{"python, which counts no re-entry", inPython,
			mistake{`redis.call('hincrby', KEYS[1], ARGV[1], 1)`, `redis.call('hset', KEYS[1], ARGV[1], 1)`},
			"baseline", "unlock by c1:1 answered released, but the lock is held 2 times by c1:1",
			"all", "one unlock gives back one hold (unexplained, unlock)"},
		{"python, whose unlock is always told that it was the last", inPython,
			mistake{`"notHeld" if left < 0 else "decremented" if left else "released"`, `"released"`},
			"baseline", "unlock by c1:1 answered released, but the lock is held 2 times by c1:1",
			"all", "one unlock gives back one hold (unexplained, unlock)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			subject := "exec:" + interpreterOf(t, c.worker) + " " + c.mistake.planted(t, c.worker)
			for tells, args := range map[string][]string{
				c.tells: {"-scenario", c.scenario, "-subject", subject, "-out", "none"},
				c.finds: {"explore", "-seed", "841000011", "-runs", "10", "-faults", c.faults, "-no-proof", "-out", "none", "-subject", subject},
			} {
				stdout, stderr, code := run(t, ".", args...)
				if code != checker.ExitUnexpected || !strings.Contains(strings.Join(strings.Fields(stdout), " "), tells) {
					t.Errorf("exit code %d, want %d and %q; stderr %q, stdout:\n%s", code, checker.ExitUnexpected, tells, stderr, stdout)
				}
			}
		})
	}
}

// wantsWorkers skips what takes minutes, unless it is asked for.
func wantsWorkers(t *testing.T) {
	t.Helper()
	if os.Getenv("HOLDFAST_REQUIRE_WORKERS") != "1" {
		t.Skip("HOLDFAST_REQUIRE_WORKERS=1 plays many runs with workers of other languages")
	}
	needsWarp(t)
}

// interpreterOf is what runs a worker.
func interpreterOf(t *testing.T, worker string) string {
	t.Helper()
	if filepath.Ext(worker) == ".py" {
		return python(t)
	}
	return node(t)
}
