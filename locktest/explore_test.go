package locktest_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/locktest/archetypes"
)

// TestExploreChild explores a broken lock, in a process of its own, and that has others.
func TestExploreChild(t *testing.T) {
	if os.Getenv(inChild) == "" {
		t.Skip("it is run by TestExploringFindsWhatIsBroken")
	}
	runs := 60
	if os.Getenv(inChild+"_FOREVER") != "" {
		runs = 1 << 40
	}
	opts := []locktest.Option{locktest.Runs(runs), ownGoal, neverGoal, locktest.Reports(os.Getenv(inChild))}
	if os.Getenv(inChild+"_NO_TIME") != "" {
		opts = append(opts, locktest.For(1))
	}
	if os.Getenv(inChild+"_FAILS") != "" {
		locktest.Explore(t, failing, opts...)
		return
	}
	locktest.Explore(t, adapt(brokenNamed(t, "broken-unlock-twice")), opts...)
}

// failing ends the process in some plans, and cannot be opened in others.
func failing(e locktest.Env) (locktest.Client, error) {
	switch {
	case e.ID != "c3":
	case e.WatchdogTimeout < 30*time.Second:
		return nil, errors.New("out of order")
	default:
		go panic("out of hand")
		<-make(chan int)
	}
	return archetypes.All()[0].New(e)
}

// Each kind of failure is told, by the seed of the run in which it came.
func TestExploringTellsEachKindOfFailure(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	explore := func(more ...string) string {
		child := exec.CommandContext(t.Context(), self, "-test.run=^TestExploreChild$")
		child.Env = append(append(os.Environ(), inChild+"="+t.TempDir(), inChild+"_FAILS=1"), more...)
		out, err := child.CombinedOutput()
		if err == nil {
			t.Fatalf("%s", out)
		}
		return string(out)
	}
	out := explore()
	for _, why := range []string{"the process of the run ended.*(?s:.*)panic: out of hand", "open .* for c3: out of order"} {
		seed := regexp.MustCompile(`first with seed (\d+): ` + why).FindStringSubmatch(out)
		if seed == nil {
			t.Errorf("%q is not told:\n%s", why, out)
		} else if one := explore("HOLDFAST_SEED="+seed[1], "HOLDFAST_RUNS=1"); !regexp.MustCompile(why).MatchString(one) {
			t.Errorf("run again, %q is not told:\n%s", why, one)
		}
	}
}

// Goals are declared in one line each.
var (
	ownGoal   = locktest.Goal("two-clients", "two clients asked for locks", func(h *history.History) bool { return len(h.Ops) > 1 && h.Ops[0].Client != h.Ops[1].Client })
	neverGoal = locktest.Goal("a-lease-of-a-year", "there was one", func(h *history.History) bool { return false })
)

func TestExploringFindsWhatIsBroken(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	explore := func(more ...string) string {
		child := exec.CommandContext(t.Context(), self, "-test.run=^TestExploreChild$")
		child.Env = append(append(os.Environ(), inChild+"="+t.TempDir()), more...)
		out, err := child.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	out := explore()
	cause := regexp.MustCompile(`--- FAIL: TestExploreChild/object-seed-(\d+) `).FindStringSubmatch(out)
	if cause == nil || !strings.Contains(out, "one unlock gives back one hold") || !strings.Contains(out, "locktest: 60 plans; something broke in ") {
		t.Fatal(out)
	}
	goals := regexp.MustCompile(`locktest: \d+ of \d+ goals reached; never (.*)`).FindStringSubmatch(out)
	if goals == nil || !strings.Contains(goals[1], "a-lease-of-a-year") || strings.Contains(goals[1], "two-clients") || strings.Contains(goals[1], "acquire-takes") {
		t.Errorf("the goals: %q", goals)
	}
	again := "HOLDFAST_SEED=" + cause[1] + " HOLDFAST_RUNS=1"
	if !strings.Contains(out, again+" go test -count=1 -run '^TestExploreChild$' github.com/holdfast-sim/holdfast/locktest\n") {
		t.Errorf("it does not say how to run it again:\n%s", out)
	}
	if strings.Contains(out, "-run '^TestExploreChild/") {
		t.Errorf("it runs again one of several causes of one run, rather than the test:\n%s", out)
	}
	for _, path := range reported(t, out) {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if out := explore(strings.Fields(again)...); !strings.Contains(out, "--- FAIL: "+strings.Fields(cause[0])[2]) || !strings.Contains(out, "locktest: 1 plans") {
		t.Errorf("run again, it is another story:\n%s", out)
	}
}

// A search that had no time for a plan says nothing of the lock, and does not pass.
func TestExploringNothingFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestExploreChild$")
	child.Env = append(os.Environ(), inChild+"="+t.TempDir(), inChild+"_NO_TIME=1")
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(string(out), "no plan was judged") {
		t.Errorf("%v: %s", err, out)
	}
}

// Who interrupts it has what was found by then, and so has whose test has little time left.
func TestExploringTellsWhatItFoundWhenItIsInterrupted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestExploreChild$", "-test.v")
	child.Env = append(os.Environ(), inChild+"="+t.TempDir(), inChild+"_FOREVER=1")
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if said.WriteString(lines.Text() + "\n"); strings.Contains(lines.Text(), "plans so far, a defect in ") {
			if err := child.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	err = child.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, want := range []string{" plans: it was told to end\n", "--- FAIL: TestExploreChild/object-seed-", "one unlock gives back one hold"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, said.String())
		}
	}
	if strings.Contains(said.String(), "runs failed") {
		t.Errorf("the interruption is told as a failure of the lock:\n%s", said.String())
	}
}

// reported are the files that a test has said it left.
func reported(t *testing.T, out string) (files []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)(?:report  |was run: )(\S+\.html)$`).FindAllStringSubmatch(out, -1) {
		files = append(files, m[1])
	}
	if len(files) < 2 || !filepath.IsAbs(files[0]) {
		t.Errorf("reports: %q", files)
	}
	return files
}
