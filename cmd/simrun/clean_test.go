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
	for _, key := range []string{"holdfast:abcdefgh:order:42", "{holdfast:abcdefgh:order:42}:fence", "holdfast:abcdefghij:lock-1", "holdfast:theirs:1", "holdfast", "order:42"} {
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
	for i, addr := range []string{"env:THEIR_REDIS", "file:" + file, url} {
		stdout, stderr, code := run(t, dir, "clean", "-addr", addr)
		want := "3 keys of 2 runs removed"
		if i > 0 {
			want = "0 keys of 0 runs removed"
		}
		if code != checker.ExitExpected || !strings.Contains(stdout, want) || strings.Contains(stdout+stderr, secret) {
			t.Errorf("%s: exit code %d: %s%s", addr, code, stdout, stderr)
		}
	}
	if left := s.Client().DBSize(ctx).Val(); left != 3 {
		t.Errorf("%d keys are left", left)
	}
	for _, tt := range []struct{ args, want string }{
		{"clean", "say which server"}, {"clean -addr env:NO_SUCH", "no variable NO_SUCH"}, {"clean -addr file:no/such", "no such file"}, {"clean -addr http://h", "of another kind"},
		{"clean -addr redis://h -tls-ca x", "certificates are for rediss://"}, {"-scenario baseline -tls-ca x", "they go with -addr"},
	} {
		if _, stderr, code := run(t, dir, strings.Fields(tt.args)...); code != checker.ExitUsage || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", tt.args, code, stderr)
		}
	}
}

// Where keys cannot be looked for, somebody is told which stay.
func TestKeysThatCannotBeRemovedAreTold(t *testing.T) {
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
