package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

var needRedis = redisserver.Need

// password is one that stands out wherever it turns up.
const secret = "open-sesame-1001"

// theirs starts a server that is, to simrun, not ours, and wants a password.
func theirs(t *testing.T) (s *redisserver.Server, url string) {
	t.Helper()
	needRedis(t)
	s, err := redisserver.Start(context.Background(), redisserver.Options{Password: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, "redis://:" + secret + "@" + s.Addr() + "/0"
}

func TestAServerOfSomebodyElseIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	s, url := theirs(t)
	ctx := context.Background()
	if err := s.Client().Set(ctx, "order:42", "theirs", 0).Err(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-scenario", "key-expiry", "-addr", url, "-timescale", "1/20"},
		{"-scenario", "non-owner-unlock", "-runs", "2", "-addr=" + url, "-timescale", "1/20", "-junit", "junit.xml"},
	} {
		stdout, stderr, code := run(t, dir, args...)
		if code != checker.ExitExpected && code != checker.ExitUnexpected { // that is for machines that are in time
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, secret) {
			t.Errorf("the password is printed:\n%s%s", stdout, stderr)
		}
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the password is in %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := s.Client().Keys(ctx, "*").Result()
	if err != nil || len(keys) != 1 || keys[0] != "order:42" {
		t.Errorf("keys afterwards: %q, %v", keys, err)
	}
	if value := s.Client().Get(ctx, "order:42").Val(); value != "theirs" {
		t.Errorf("their key is now %q", value)
	}
}

func TestWhatASomebodyElsesServerIsSpared(t *testing.T) {
	_, url := theirs(t)
	for _, c := range []struct {
		scenario, want string
		code           int
	}{
		{"script-flush", "-allow-destructive permits it", checker.ExitUsage},
		{"restart-empty", "needs a server process of our own", checker.ExitUsage},
		{"redlock-pause", "5 servers", checker.ExitUsage},
		{"failover-async", "replicas", checker.ExitUsage},
	} {
		_, stderr, code := run(t, t.TempDir(), "-scenario", c.scenario, "-addr", url)
		if code != c.code || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, secret) {
			t.Errorf("%s: exit code %d: %s", c.scenario, code, stderr)
		}
	}
	for _, addr := range []string{strings.Replace(url, secret, "wrong-"+secret, 1), "redis://:" + secret + "@127.0.0.1:1/0"} {
		_, stderr, code := run(t, t.TempDir(), "-scenario", "baseline", "-addr", addr)
		if code != checker.ExitHarness || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, secret) {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
}

func TestWithoutARedisServerOneLineSaysHowToGetOne(t *testing.T) {
	cmd := exec.Command(simrun, "-scenario", "baseline", "-world", "redis", "-out", "none")
	cmd.Env = []string{"PATH=" + t.TempDir()}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != checker.ExitHarness || !strings.Contains(stderr.String(), "apt install redis-server") || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

func TestATimescaleIsARatio(t *testing.T) {
	for text, want := range map[string]string{"1/10": "1/10", "0.1": "1/10", "1": "1", "0.3": "0.3", "2": "2", "1/1000": "1/1000"} {
		var s scale
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%s: %s, %v", text, &s, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1/0", "NaN", "1/2/3", "fast", "1/10000", "inf"} {
		var s scale
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %s", text, &s)
		}
	}
}

// A lock in a process of its own: it is stopped for longer than its lease, and what it then believes
// is not so.
func TestASubjectInAProcessOfItsOwn(t *testing.T) {
	needRedis(t)
	worker := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", worker, "../../examples/workers/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stdout, stderr, _ := run(t, t.TempDir(), "-scenario", "gc-pause", "-subject", "exec:"+worker, "-world", "redis", "-timescale", "1/10", "-json")
	var v checker.Verdict
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	status := map[contract.Guarantee]checker.Status{}
	for _, r := range v.Results {
		status[r.Guarantee] = r.Status
	}
	if status[contract.Object] != checker.Holds || status[contract.Exclusion] != checker.Broken {
		t.Errorf("object %v, exclusion %v\n%s%s", status[contract.Object], status[contract.Exclusion], stdout, stderr)
	}
}
