//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// What a killed run has left on somebody else's server is removed, and nothing else.
func TestCleanRemovesWhatRunsHaveLeft(t *testing.T) {
	s, url := theirs(t)
	ctx := t.Context()
	one, other := redisserver.RunName(), redisserver.RunName()
	theirs := []string{"holdfast:invoices:17", "holdfast:customerid:1", "holdfast:theirs:1", "holdfast", "order:42", one[:len(one)-1] + ":order:42"}
	for _, key := range append([]string{one + ":order:42", "{" + one + ":order:42}:fence", other + ":lock-1"}, theirs...) {
		if err := s.Client().Set(ctx, key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	t.Setenv("THEIR_REDIS", url)
	file := filepath.Join(dir, "url")
	if err := os.WriteFile(file, []byte(url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"-addr env:THEIR_REDIS -run " + other, "1 key of 1 run removed\n  " + other + "\n"},
		{"-addr env:THEIR_REDIS", "2 keys of 1 run removed\n  " + one + "\nnot removed, since these may be runs of an older simrun or keys of somebody else (-run NAME removes them):\n"},
		{"-addr file:" + file, "0 keys of 0 runs removed\nnot removed"},
		{"-addr " + url + " -run " + one, "0 keys of 0 runs removed\n"},
	} {
		stdout, stderr, code := run(t, dir, append([]string{"clean"}, strings.Fields(tt.args)...)...)
		if code != checker.ExitExpected || !strings.Contains(stdout, tt.want) || strings.Contains(stdout+stderr, secret) {
			t.Errorf("%s: exit code %d: %s%s", tt.args, code, stdout, stderr)
		}
	}
	if left := s.Client().Exists(ctx, theirs...).Val(); left != int64(len(theirs)) {
		t.Errorf("of %d keys of theirs %d are left", len(theirs), left)
	}
	// What a run of an older version has left is removed by its name.
	stdout, stderr, code := run(t, dir, "clean", "-addr", url, "-run", "holdfast:invoices", "-run", "holdfast:customerid")
	if left := s.Client().DBSize(ctx).Val(); code != checker.ExitExpected || !strings.Contains(stdout, "2 keys of 2 runs removed\n") || left != int64(len(theirs))-2 {
		t.Errorf("exit code %d, %d keys are left: %s%s", code, left, stdout, stderr)
	}
	for _, tt := range []struct{ args, want string }{
		{"clean", "say which server"}, {"clean -addr env:NO_SUCH", "no variable NO_SUCH"}, {"clean -addr file:no/such", "no such file"}, {"clean -addr http://h", "of another kind"}, {"clean -addr redis://h -run *", "a run is called holdfast:"},
		{"clean -addr redis://h -tls-ca x", "certificates are for rediss://"}, {"-scenario baseline -tls-ca x", "they go with -addr"},
	} {
		if _, stderr, code := run(t, dir, strings.Fields(tt.args)...); code != checker.ExitUsage || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", tt.args, code, stderr)
		}
	}
}

// Where keys cannot be looked for, somebody is told which stay.
func TestKeysThatCannotBeRemovedAreTold(t *testing.T) {
	t.Parallel()
	needRedis(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{Config: []string{`rename-command SCAN ""`}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range []string{"-scenario key-expiry -timescale 1/20 -out none", "soak -for 1s -clients 2 -locks 2 -out none", "clean"} {
		_, stderr, code := run(t, t.TempDir(), append(strings.Fields(args), "-addr", "redis://"+s.Addr())...)
		if code != checker.ExitHarness || !strings.Contains(stderr, "in their names may stay on the server: locks until their leases end") {
			t.Errorf("%s: exit code %d: %s", args, code, stderr)
		}
	}
}

func TestASecretWithoutAUserIsMasked(t *testing.T) {
	for _, addr := range []string{"redis://" + secret + "@127.0.0.1:1", "redis://u:" + secret + "@127.0.0.1:1"} {
		stdout, stderr, code := run(t, t.TempDir(), "-scenario", "baseline", "-runs", "2", "-addr", addr, "-timescale", "1/10")
		if code != checker.ExitHarness || strings.Contains(stdout+stderr, secret) {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
}

// A machine that has nothing left is no fault of the lock.
func TestASoakWithoutDescriptorsAccusesNobody(t *testing.T) {
	needRedis(t)
	cmd := exec.Command("sh", "-c", "ulimit -n 40; exec "+simrun+" soak -for 2s -out none")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != checker.ExitHarness || !strings.Contains(string(out), "32 clients are too many: 200 open files are needed, and this process may have 40 (ulimit -n)") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
