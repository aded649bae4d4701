//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// lonely is a folder for temporary files in which nothing may be left.
func lonely(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		empty := func() bool {
			left, err := os.ReadDir(dir)
			return err == nil && len(left) == 0
		}
		if !until(t, dir, 10*time.Second, empty) {
			left, err := os.ReadDir(dir)
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// soaking starts simrun soak, and returns when it has recorded so many bytes.
func soaking(t *testing.T, dir string, size int64, args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(simrun, append([]string{"soak", "-for", "1h", "-clients", "8", "-locks", "10", "-fault-every", "100ms"}, args...)...)
	cmd.Dir, out = dir, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	recorded := func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "simrun-out/soak/*/"+historyFile))
		if len(files) == 0 {
			return false
		}
		info, err := os.Stat(files[0])
		return err == nil && info.Size() >= size
	}
	if !until(t, dir, time.Minute, recorded) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("it records nothing:\n%s", out)
	}
	return cmd, out
}

// until waits for what another process does to the files in a folder, and reports whether it has come
// to hold within limit.
func until(t *testing.T, dir string, limit time.Duration, holds func() bool) bool {
	t.Helper()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	watch := func(dir string) { // what comes and goes meanwhile is no error
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = w.Add(path)
			}
			return nil
		})
	}
	watch(dir)
	over := time.NewTimer(limit)
	defer over.Stop()
	for !holds() {
		select {
		case e := <-w.Events:
			if e.Has(fsnotify.Create) {
				watch(e.Name)
			}
		case <-w.Errors: // too many events to list: something changed, in any case
		case <-over.C:
			return false
		}
	}
	return true
}

func TestSoakLeavesAReportAndAHistoryThatCheckJudges(t *testing.T) {
	needRedis(t)
	lonely(t)
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "soak", "-for", "2s", "-clients", "8", "-locks", "10", "-fault-every", "100ms")
	if code != checker.ExitExpected || !strings.Contains(stdout, "every guarantee that the lock claims held") || !strings.Contains(stdout, "a second;") {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	latest := filepath.Join(dir, "simrun-out/soak/latest")
	page, err := os.ReadFile(filepath.Join(latest, reportFile))
	if err != nil || !strings.Contains(string(page), "How it went") || !strings.Contains(string(page), "clients that died") {
		t.Errorf("the report: %v", err)
	}
	if _, err := os.Stat(filepath.Join(latest, partFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s, though nothing broke: %v", partFile, err)
	}
	if _, err := os.Stat(filepath.Join(latest, verdictFile)); err != nil {
		t.Error(err)
	}
	if stdout, stderr, code := run(t, dir, "check", latest); code != checker.ExitExpected {
		t.Errorf("check: exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// What a soak excuses, since no lease lock can keep it, check excuses, and nothing else.
func TestCheckExcusesWhatASoakDoes(t *testing.T) {
	ms := time.Millisecond
	o, err := parseSoak(nil)
	if err != nil {
		t.Fatal(err)
	}
	records := []any{o.Header(nil),
		history.Op{ID: 1, Client: "a", Owner: "a", Lock: "l", Kind: history.TryLock, Lease: time.Second, Call: 1 * ms, Return: 2 * ms, Outcome: history.Acquired, Token: 1},
		history.Op{ID: 2, Client: "b", Owner: "b", Lock: "l", Kind: history.TryLock, Lease: time.Second, Call: 7 * ms, Return: 8 * ms, Outcome: history.Acquired, Token: 2},
		history.Op{ID: 3, Client: "a", Owner: "a", Lock: "l", Kind: history.Unlock, Call: 20 * ms, Return: 21 * ms, Outcome: history.NotHeld},
		history.Op{ID: 4, Client: "b", Owner: "b", Lock: "l", Kind: history.Unlock, Call: 22 * ms, Return: 23 * ms, Outcome: history.Released},
	}
	excuse := []any{
		history.Fault{Index: 0, Kind: "delete-key", Lock: "l", From: 3 * ms, To: 5 * ms},
		history.Event{At: 5 * ms, Since: 3 * ms, Kind: history.Delete, Lock: "l"},
	}
	for _, tt := range []struct {
		records []any
		code    int
		want    string
	}{
		{append(records, excuse...), checker.ExitExpected, "each by what breaks it for every lease lock"},
		{records, checker.ExitUnexpected, "exclusion"},
	} {
		var text bytes.Buffer
		for _, r := range tt.records {
			if err := history.Encode(&text, r); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, historyFile), text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		// The page shows the part in which it broke, whoever draws it.
		const part = "those of the first part of the run in which something broke"
		if _, stderr, code := run(t, dir, "report", historyFile); code != tt.code || !strings.Contains(stderr, "incomplete") {
			t.Errorf("report: exit code %d, not %d\n%s", code, tt.code, stderr)
		}
		page, err := os.ReadFile(filepath.Join(dir, reportFile))
		if err != nil || !strings.Contains(string(page), part) || !strings.Contains(string(page), "What happened, to scale") {
			t.Errorf("the page does not show what broke: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, partFile)); err != nil {
			t.Error(err)
		}
		if stored := filepath.Join(dir, "shelf/soak/20261121T000000Z-1"); os.MkdirAll(stored, 0o777) != nil || os.WriteFile(filepath.Join(stored, historyFile), text.Bytes(), 0o666) != nil {
			t.Fatal("the shelf cannot be filled")
		}
		s := startServe(t, dir, "-addr", "127.0.0.1:0", "-out", "shelf")
		for _, path := range []string{"/runs/soak/20261121T000000Z-1/report.html", "/runs/soak/20261121T000000Z-1/recheck"} {
			if r, body := s.get(path); r.StatusCode != http.StatusOK || strings.Contains(body, part) == strings.HasSuffix(path, "recheck") {
				t.Errorf("%s: %s", path, r.Status)
			}
		}
		if stdout, stderr, code := run(t, dir, "check", historyFile); code != tt.code || !strings.Contains(strings.Join(strings.Fields(stdout), " "), tt.want) {
			t.Errorf("exit code %d, not %d\n%s\n%s", code, tt.code, stdout, stderr)
		}
	}
}

// What a lock is documented to get wrong is told as that, by whoever judges, and of no other lock.
func TestCheckKnowsTheLimitationsOfALock(t *testing.T) {
	ms := time.Millisecond
	for lock, code := range map[string]int{"rlock-latch": checker.ExitExpected, "rlock-hardened": checker.ExitUnexpected} {
		o, err := parseSoak([]string{"-subject", lock})
		if err != nil {
			t.Fatal(err)
		}
		header := o.Header(nil)
		var text bytes.Buffer
		for _, r := range []any{header,
			history.Op{ID: 1, Client: "a", Owner: "a", Lock: "l", Kind: history.TryLock, Lease: time.Second, Call: 1 * ms, Return: 9 * ms, Outcome: history.Acquired, Token: 1},
			history.Op{ID: 2, Client: "a", Owner: "a", Lock: "l", Kind: history.Unlock, Call: 20 * ms, Return: 21 * ms, Outcome: history.Decremented},
			history.Fault{Kind: "restart", Step: "all", Effects: history.EffectsOf("restart", "all"), From: 3 * ms, To: 8 * ms},
		} {
			if err := history.Encode(&text, r); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, historyFile), text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"check", "report"} {
			stdout, stderr, got := run(t, dir, command, historyFile)
			if says := strings.Contains(strings.Join(strings.Fields(stdout), " "), "It is known that this lock does not promise that: Redisson #7367"); got != code || says != (code == checker.ExitExpected) {
				t.Errorf("%s of %s: exit code %d, not %d\n%s\n%s", command, lock, got, code, stdout, stderr)
			}
		}
	}
}

// So do a soak that judged nothing, and one that was killed.
func TestSoakAndCheckSayTheSame(t *testing.T) {
	needRedis(t)
	lonely(t)
	dir := t.TempDir()
	args := []string{"soak", "-for", "2s", "-clients", "8", "-locks", "2", "-lease", "300ms", "-fault-every", "200ms"}
	// Whether all of the faults, so close together, are excused is not the question here, nor whether
	// the checkers' time was enough.
	stdout, stderr, said := run(t, dir, append(slices.Clone(args), "-faults", "all")...)
	if said > checker.ExitUndecided {
		t.Fatalf("exit code %d\n%s\n%s", said, stdout, stderr)
	}
	latest := filepath.Join(dir, "simrun-out/soak/latest")
	text, err := os.ReadFile(filepath.Join(latest, verdictFile))
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := run(t, dir, "check", "-json", latest)
	var soaked, checked checker.Verdict
	if err := errors.Join(json.Unmarshal(text, &soaked), json.Unmarshal([]byte(stdout), &checked)); err != nil || code > checker.ExitUndecided {
		t.Fatalf("the soak: exit code %d; check: exit code %d, %v\n%s", said, code, err, stderr)
	}
	decided := true
	for _, g := range contract.Guarantees() {
		a, b := soaked.Result(g), checked.Result(g)
		if a.Status == checker.Undecided || b.Status == checker.Undecided {
			decided = false
		} else if a.Status != b.Status || a.Expected != b.Expected {
			t.Errorf("%s: the soak says %s, expected %q, and check %s, expected %q", g, a.Status, a.Expected, b.Status, b.Expected)
		}
	}
	if decided && code != said {
		t.Errorf("the soak ends with exit code %d, check with %d", said, code)
	}

	stdout, stderr, code = run(t, dir, append(args, "-judge=false")...)
	if code != checker.ExitExpected || !strings.Contains(stdout, "judge   ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if stdout, stderr, code := run(t, dir, "check", latest); code != checker.ExitExpected {
		t.Errorf("check of what was not judged: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	cmd, _ := soaking(t, t.TempDir(), 300_000)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	files, _ := filepath.Glob(filepath.Join(cmd.Dir, "simrun-out/soak/*/"+historyFile))
	if stdout, stderr, code := run(t, dir, "check", files[0]); code != checker.ExitExpected {
		t.Errorf("check of what a kill left: exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestSoakThatIsKilledLeavesAHistoryThatCheckJudges(t *testing.T) {
	needRedis(t)
	lonely(t)
	dir := t.TempDir()
	cmd, _ := soaking(t, dir, 300_000)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	files, _ := filepath.Glob(filepath.Join(dir, "simrun-out/soak/*/"+historyFile))
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// Whatever a kill cuts off, the rest is judged.
	for _, cut := range []int{0, 1, 30} {
		if err := os.WriteFile(files[0], text[:len(text)-cut], 0o666); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := run(t, dir, "check", files[0])
		if code != checker.ExitExpected {
			t.Errorf("cut by %d bytes: exit code %d\n%s\n%s", cut, code, stdout, stderr)
		}
		whole := text[len(text)-cut-1] == '\n'
		if told := strings.Contains(stderr, "the last line is cut off; the rest is judged"); told == whole {
			t.Errorf("cut by %d bytes: %q", cut, stderr)
		}
	}
}

// What simrun report draws of a soak's history is the soak's own page, with the same numbers.
func TestReportDrawsASoaksPage(t *testing.T) {
	needRedis(t)
	lonely(t)
	dir := t.TempDir()
	first, stderr, code := run(t, dir, "soak", "-for", "2s", "-clients", "8", "-locks", "10", "-fault-every", "100ms")
	if code != checker.ExitExpected {
		t.Fatalf("exit code %d\n%s\n%s", code, first, stderr)
	}
	latest := filepath.Join(dir, "simrun-out/soak/latest")
	page := filepath.Join(latest, reportFile)
	number := regexp.MustCompile(`<dt>([^<]*)</dt><dd><bdi>([^<]*)</bdi></dd>`)
	var was string
	for _, verdict := range []bool{true, false} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if was == "" {
			was = string(text)
		}
		if !verdict {
			if err := os.Remove(filepath.Join(latest, verdictFile)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(page); err != nil {
			t.Fatal(err)
		}
		again, stderr, code := run(t, dir, "report", filepath.Join(latest, historyFile))
		if code != checker.ExitExpected || stderr != "" {
			t.Fatalf("exit code %d\n%s\n%s", code, again, stderr)
		}
		for _, what := range []string{"  calls ", "  faults "} { // latencies are not quite the same
			line := regexp.MustCompile("(?m)^" + what + ".*$")
			if a, b := line.FindString(first), line.FindString(again); a != b || a == "" {
				t.Errorf("the soak says %q, and the report %q", a, b)
			}
		}
		text, err = os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), "How it went") || !strings.Contains(string(text), "The course of the run") {
			t.Errorf("the page is none of a soak: %v", err)
		}
		if strings.Contains(string(text), "the run was killed") {
			t.Error("the page says that the run was killed")
		}
		here := map[string]string{}
		for _, n := range number.FindAllStringSubmatch(string(text), -1) {
			here[n[1]] = n[2]
		}
		for _, n := range number.FindAllStringSubmatch(was, -1) {
			none := n[2] == "0" && here[n[1]] == "" // a kind of fault that did not strike
			if latency := n[1] == "tryLock" || n[1] == "unlock"; !latency && !none && here[n[1]] != n[2] {
				t.Errorf("%s is %q on the soak's page, %q on the report's", n[1], n[2], here[n[1]])
			}
		}
		if len(here) < 10 {
			t.Errorf("%d numbers", len(here))
		}
	}
}

func TestReportDrawsThePageOfASoakThatWasKilled(t *testing.T) {
	needRedis(t)
	cmd, _ := soaking(t, t.TempDir(), 300_000)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	files, _ := filepath.Glob(filepath.Join(cmd.Dir, "simrun-out/soak/*/"+historyFile))
	stdout, stderr, code := run(t, cmd.Dir, "report", files[0])
	if code != checker.ExitExpected || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "incomplete") {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(files[0]), reportFile))
	if err != nil || !strings.Contains(string(text), "How it went") || !strings.Contains(string(text), "none: the run was killed") {
		t.Errorf("the page is none of a soak that was killed: %v", err)
	}
	if v, err := loadVerdict(os.DirFS(filepath.Dir(files[0])), "."); err != nil || v == nil || v.Ops == 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestSoakThatIsInterruptedIsJudged(t *testing.T) {
	needRedis(t)
	lonely(t)
	dir := t.TempDir()
	cmd, out := soaking(t, dir, 100_000)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != checker.ExitUndecided {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"soak: interrupted after ", "every guarantee that the lock claims held"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// Nothing that a soak prints or writes tells the password of the server that it is given.
func TestSoakOnAServerOfTheUsers(t *testing.T) {
	needRedis(t)
	const password = "pa55word"
	s, err := redisserver.Start(t.Context(), redisserver.Options{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Client().Set(t.Context(), "mine", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "soak", "-for", "1s", "-clients", "4", "-locks", "4", "-fault-every", "100ms", "-addr", "redis://:"+password+"@"+s.Addr())
	if code != checker.ExitExpected {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	told := stdout + stderr
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		text, err := os.ReadFile(file)
		told += string(text)
		return err
	})
	if err != nil || strings.Contains(told, password) || !strings.Contains(told, "redis://:***@"+s.Addr()) {
		t.Errorf("the password is told: %v, or the address is not, %v", strings.Contains(told, password), err)
	}
	if keys, err := s.Client().Keys(t.Context(), "*").Result(); len(keys) != 1 || err != nil {
		t.Errorf("keys %q, %v", keys, err)
	}
}

// A soak that was killed leaves keys on a server of the user's, but none for ever.
func TestKeysOfASoakThatIsKilledHaveAnEnd(t *testing.T) {
	needRedis(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cmd, _ := soaking(t, t.TempDir(), 200_000, "-addr", "redis://"+s.Addr())
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	keys, err := s.Client().Keys(t.Context(), "*holdfast:*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for _, key := range keys {
		if ttl, err := s.Client().TTL(t.Context(), key).Result(); ttl == -1 || ttl > 24*time.Hour || err != nil {
			t.Errorf("%s ends in %v, %v", key, ttl, err)
		}
	}
}

func TestSoakJSONIsTheVerdict(t *testing.T) {
	needRedis(t)
	stdout, stderr, code := run(t, t.TempDir(), "soak", "-for", "1s", "-clients", "4", "-faults", "none", "-json", "-out", "none")
	var v checker.Verdict
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != checker.ExitExpected || v.Ops == 0 || v.Code() != 0 {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
}

func TestSoakRefusesBadInput(t *testing.T) {
	needRedis(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{Password: "pa55word"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url := "redis://" + s.Addr()
	tests := []struct {
		args string
		code int
		want string
	}{
		{"-for 10ms", checker.ExitUsage, "-for 10ms: must be at least 1s"},
		{"-clients 0", checker.ExitUsage, "-clients 0: must be from 1 to 1000"},
		{"-locks 0", checker.ExitUsage, "-locks 0: must be from 1"},
		{"-lease 1ms", checker.ExitUsage, "-lease 1ms: must be from 200ms"},
		{"-fault-every 0", checker.ExitUsage, "-fault-every 0s: must be at least 1ms"},
		{"-world sim", checker.ExitUsage, "-world sim: a soak runs in real time"},
		{"-subject rlock-hardend", checker.ExitUsage, "did you mean rlock-hardened?"},
		{"-subject redisson-4.7.0", checker.ExitUsage, "it lives in processes of its own, and a soak is for locks in this program"},
		{"-faults partitoin", checker.ExitUsage, "did you mean partition?"},
		{"-faults none,partition", checker.ExitUsage, `unknown fault "none"`},
		{"-fro 1s", checker.ExitUsage, "did you mean -for?"},
		{"stray", checker.ExitUsage, `stray argument "stray"`},
		{"-addr " + url + " -faults pause-server", checker.ExitUsage, "strikes more than the run's own keys"},
		{"-addr " + url + " -allow-destructive -faults restart", checker.ExitUsage, "it takes the server away, which only one that is started here can be: leave out -addr"},
		{"-judge=false -out none", checker.ExitUsage, "-judge=false leaves a history and no verdict"},
		{"-addr " + url, checker.ExitHarness, "the server wants a password"},
		{"-addr redis://:pa55wort@" + s.Addr(), checker.ExitHarness, "refuses this user or password"},
		{"-addr http://u:pa55word@h", checker.ExitUsage, "it must be redis://user:password@host:port/db"},
		{"-out " + filepath.Join(os.DevNull, "x"), checker.ExitUsage, "not a directory"},
	}
	for _, tt := range tests {
		stdout, stderr, code := run(t, t.TempDir(), append([]string{"soak", "-for", "1s"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("soak %s: exit code %d, %q, %q", tt.args, code, stdout, stderr)
		}
		if strings.Contains(stderr, "pa55") {
			t.Errorf("soak %s tells a password: %s", tt.args, stderr)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, stderr, code := run(t, t.TempDir(), "soak"); code != checker.ExitHarness || !strings.Contains(stderr, "no redis-server on PATH: install it") || !strings.Contains(stderr, "-addr") {
		t.Errorf("without redis-server: exit code %d, %s", code, stderr)
	}
}

// A password of a user who may not do everything, and what is asked for on a server of the user's,
// only if he says so.
func TestSoakDestroysOnlyWhenAllowed(t *testing.T) {
	needRedis(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	script, err := s.Client().ScriptLoad(t.Context(), "return 1").Result()
	if err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		known, err := s.Client().ScriptExists(t.Context(), script).Result()
		if err != nil {
			t.Fatal(err)
		}
		return known[0]
	}
	args := []string{"soak", "-for", "1s", "-clients", "2", "-fault-every", "20ms", "-out", "none", "-addr", "redis://" + s.Addr()}
	for _, allowed := range []bool{false, true} {
		if allowed {
			args = append(args, "-allow-destructive", "-faults", "script-flush")
		}
		stdout, stderr, code := run(t, t.TempDir(), args...)
		if code != checker.ExitExpected || there() == allowed {
			t.Errorf("allowed %v: exit code %d, script there %v\n%s\n%s", allowed, code, there(), stdout, stderr)
		}
	}
	if n := s.Client().DBSize(t.Context()); n.Val() != 0 || n.Err() != nil && !errors.Is(n.Err(), redis.Nil) {
		t.Error(fmt.Sprint(n))
	}
}

// What a soak counts fits a terminal of 80 columns, however much it was.
func TestWhatASoakCountsFitsATerminal(t *testing.T) {
	r := &soak.Result{Calls: 123456789, Granted: 123456789, Busy: 12345678, Failed: 1234567, Unknown: 1234567, Faults: 12345}
	text := counts(r)
	for line := range strings.Lines(text) {
		if len(line) > wide+1 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if got, want := strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(r.Text(reports.Thousands)), " "); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
