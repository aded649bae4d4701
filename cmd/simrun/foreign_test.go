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

// Explore draws plans for them, too, and finds the mistake.
func TestForeignLocksAreExplored(t *testing.T) {
	needsWarp(t)
	interpreter := python(t)
	for _, c := range []struct {
		name    string
		mistake mistake
		code    int
		says    string
	}{
		{"as it is", mistake{}, checker.ExitExpected, "nothing that the lock claims was broken"},
		{"it gives back nothing", mistake{"redis.call('hincrby', KEYS[1], ARGV[1], -1)", "0"}, checker.ExitUnexpected, "one unlock gives back one hold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := run(t, t.TempDir(), "explore", "-seed", "5", "-runs", "1", "-no-proof",
				"-subject", "exec:"+interpreter+" "+c.mistake.planted(t, "../../examples/workers/python/reentrant.py"))
			if code != c.code || !strings.Contains(stdout, c.says) || strings.Contains(stdout, "-timescale") {
				t.Errorf("exit code %d, want %d and %q; stderr %q, stdout:\n%s", code, c.code, c.says, stderr, stdout)
			}
		})
	}
}
