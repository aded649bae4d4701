package locktest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

const inChild = "HOLDFAST_LOCKTEST_CHILD"

// TestChild fails, in a process of its own.
func TestChild(t *testing.T) {
	if os.Getenv(inChild) == "" {
		t.Skip("it is run by TestAFailingRunTellsItsStory")
	}
	locktest.Run(t, adapt(brokenNamed(t, "broken-unlock-twice")), locktest.Only("baseline", "redlock-pause"), locktest.Drawn(0))
}

func TestAFailingRunTellsItsStory(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$", "-test.v")
	child.Env = append(os.Environ(), inChild+"=1", "TMPDIR="+t.TempDir())
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	const again = "HOLDFAST_SEED=1 HOLDFAST_DRAWN=0 go test -count=1 -run '^TestChild$/^object$/^baseline$' github.com/holdfast-sim/holdfast/locktest"
	for _, want := range []string{
		"--- FAIL: TestChild/object/baseline",
		"object broke in baseline: one unlock gives back one hold",
		`"do": "unlock"`,
		again,
		"--- PASS: TestChild/watchdog/baseline",
		"--- SKIP: TestChild/fencing/baseline",
		"the lock hands out no fencing tokens",
		"--- SKIP: TestChild/exclusion/redlock-pause",
		"the story is about a quorum of several servers, and the lock knows one server",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	files := reported(t, string(out))
	for _, path := range files {
		if _, err := os.Stat(path); err != nil { // after the test
			t.Error(err)
		}
	}
	table, err := os.ReadFile(filepath.Join(filepath.Dir(files[0]), "table.md"))
	if err != nil || !strings.Contains(string(table), "\n| baseline | **broken** | ✓ | ✓ | – | ✓ |") {
		t.Errorf("the table: %v\n%s", err, table)
	}
	repeat := exec.CommandContext(t.Context(), "sh", "-c", again)
	repeat.Env = child.Env
	if said, err := repeat.CombinedOutput(); !errors.As(err, &exit) || !strings.Contains(string(said), "--- FAIL: TestChild/object/baseline") ||
		!strings.Contains(string(said), "one unlock gives back one hold") {
		t.Errorf("run again: %v\n%s", err, said)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

func TestAProgramIsToldByAnError(t *testing.T) {
	folder := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "run", "./testdata/program", folder).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), " broke in "); n != 1 || !strings.Contains(string(out), "object broke in lost-unlock-reply: ") ||
		!strings.Contains(string(out), `again   locktest.Test(newLock, locktest.Only("lost-unlock-reply"), locktest.Seed(1), locktest.Drawn(3))`) {
		t.Errorf("%d failures:\n%s", n, out)
	}
	if _, err := os.Stat(filepath.Join(folder, "lost-unlock-reply-object.html")); err != nil {
		t.Error(err)
	}
	if err := locktest.Test(newRedislock); err == nil || !strings.Contains(err.Error(), "call Run") {
		t.Errorf("in a test: %v", err)
	}
}

// prefixed is a lock whose key is not its name.
func prefixed(e locktest.Env) (locktest.Client, error) {
	return locktest.Locks(func(name, _ string) locktest.Lock { return redisLock(e, "locks:"+name) }), nil
}

func TestAKeyThatIsNotTheName(t *testing.T) {
	// Its key is learned, and need not be told.
	key := locktest.Key(func(name string) string { return "locks:" + name })
	for _, told := range [][]locktest.Option{nil, {key}} {
		o := append(told, locktest.Only("baseline", "key-", "old-owner", "drawn-1"), locktest.Drawn(1))
		if err := locktest.Inside(t, prefixed, o...); err != nil {
			t.Error(err)
		}
	}
}

// claiming is redislock, which is said to be idempotent, and is not.
func claiming(e locktest.Env) (locktest.Client, error) {
	return locktest.Locks(func(name, _ string) locktest.Lock { return idempotent{redisLock(e, name)} }), nil
}

type idempotent struct{ locktest.Funcs }

func (idempotent) Idempotent() time.Duration { return 0 }

// A second effect is held against a lock that claims that there is none, and against no other.
func TestALockAnswersForCopiesIfItClaimsTo(t *testing.T) {
	only := locktest.Only("lost-unlock-reply")
	if err := locktest.Inside(t, newRedislock, only); err != nil {
		t.Errorf("without the claim: %v", err)
	}
	var f *locktest.Failure
	if err := locktest.Inside(t, claiming, only); !errors.As(err, &f) || f.Guarantee != "object" || f.Rule != string(contract.ToldTheTruth) {
		t.Errorf("with the claim: %v", err)
	}
}

func TestWhatIsKnownMustBeSo(t *testing.T) {
	only := locktest.Only("lost-unlock-reply", "baseline")
	known := locktest.Known("lost-unlock-reply", "object", "known")
	if err := locktest.Inside(t, claiming, only, known); err != nil {
		t.Error(err)
	}
	if err := locktest.Inside(t, claiming, only, known, locktest.Known("baseline", "exclusion", "no reason")); err == nil ||
		!strings.Contains(err.Error(), "and holds: take it off the list") {
		t.Errorf("what is said to break holds: %v", err)
	}
	if err := locktest.Inside(t, newRedislock, only, known); err == nil ||
		!strings.Contains(err.Error(), "sent-again") || !strings.Contains(err.Error(), "take it off the list") {
		t.Errorf("what is said to break is not the lock's fault: %v", err)
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	for want, option := range map[string]locktest.Option{
		`Only("key-expiri")`:                   locktest.Only("baseline", "key-expiri"),
		`Except("basline")`:                    locktest.Except("basline"),
		`Known("key-expire", "object", ...)`:   locktest.Known("key-expire", "object", "a reason"),
		`Known("key-expiry", "mutual", ...)`:   locktest.Known("key-expiry", "mutual", "a reason"),
		"Only and Except leave nothing to run": locktest.Except("a", "e", "i", "o", "u"),
	} {
		if err := locktest.Inside(t, newRedislock, option); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", want, err)
		}
	}
	known := locktest.Known("drawn-1000", "object", "of a night with more plans")
	if err := locktest.Inside(t, newRedislock, locktest.Only("baseline", "drawn-1"), locktest.Except("base"), known, locktest.Drawn(1)); err != nil {
		t.Error(err)
	}
}

func TestKeptPlansAreRun(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("testdata/locktest", 0o777); err != nil {
		t.Fatal(err)
	}
	keep := func(text string) {
		if err := os.WriteFile("testdata/locktest/found.json", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	keep(`{"version": 1, "clients": [{"name": "c1", "threads": [{"id": 1, "steps": [{"do": "lock", "lock": "a"}, {"do": "unlock", "lock": "a"}]}]}]}`)
	twice := adapt(brokenNamed(t, "broken-unlock-twice"))
	if err := locktest.Inside(t, newRedislock, locktest.Only("found")); err != nil {
		t.Error(err)
	}
	keep(`{"version": 1, "clients": [{"name": "c1", "threads": [{"id": 1, "steps": [{"do": "lock", "lock": "a"},
		{"do": "lock", "lock": "a"}, {"do": "lock", "lock": "a"}, {"do": "unlock", "lock": "a"}]}]}]}`)
	var f *locktest.Failure
	if err := locktest.Inside(t, twice, locktest.Only("found")); !errors.As(err, &f) || f.Scenario != "found" {
		t.Errorf("the kept plan: %v", err)
	}
	keep(`{"version": 1, "clients": []}`)
	if err := locktest.Inside(t, newRedislock); err == nil || !strings.Contains(err.Error(), "found.json") {
		t.Errorf("a kept plan that makes no sense: %v", err)
	}
}

func TestTheEnvironmentOverrules(t *testing.T) {
	for name, text := range map[string]string{"HOLDFAST_SEED": "today", "HOLDFAST_DRAWN": "-1"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, text)
			if err := locktest.Inside(t, newRedislock, locktest.Only("none")); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Setenv("HOLDFAST_SEED", "7")
	t.Setenv("HOLDFAST_DRAWN", "2")
	known := locktest.Known("drawn-2", "object", "it is run") // and holds, which tells that it was
	if err := locktest.Inside(t, newRedislock, known, locktest.Only("drawn-"), locktest.Drawn(0)); err == nil || !strings.Contains(err.Error(), "drawn-2") {
		t.Errorf("%v", err)
	}
}

// useless never gets the lock.
type useless struct{}

func (useless) Acquire(context.Context, locktest.Request) error { return errors.New("no luck") }
func (useless) Release(context.Context) error                   { return nil }

func TestALockThatDoesNothingIsRefusedAtOnce(t *testing.T) {
	for name, newLock := range map[string]locktest.NewLock{
		"no luck": func(locktest.Env) (locktest.Client, error) {
			return locktest.Locks(func(_, _ string) locktest.Lock { return useless{} }), nil
		},
		"out of order": func(locktest.Env) (locktest.Client, error) { return nil, errors.New("out of order") },
		"no client":    func(locktest.Env) (locktest.Client, error) { return nil, nil },
	} {
		if err := locktest.Inside(t, newLock); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
