package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/redisserver/tlstest"
)

// Whole commands on a server that wants certificates on both sides, and whose user may touch our keys only.
func TestRunsOverTLSAsAUserWithRightsOfItsOwn(t *testing.T) {
	needRedis(t)
	cert, key := tlstest.Certificate(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{Second: "tls-port", Config: []string{
		"tls-cert-file " + cert, "tls-key-file " + key, "tls-ca-cert-file " + cert, "tls-auth-clients yes",
		"user locker on >" + secret + " ~*holdfast:* &*holdfast:* +@all -@dangerous +info +scan +client",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Little to do, and not at a fast pace: a machine with much else to do is not late then.
	plan := filepath.Join(t.TempDir(), "two.json")
	text := `{"version": 1, "name": "two", "clients": [
		{"name": "c1", "threads": [{"id": 1, "steps": [{"do": "lock", "lock": "l"}, {"do": "sleep", "for": "200ms"}, {"do": "unlock", "lock": "l"}]}]},
		{"name": "c2", "threads": [{"id": 1, "steps": [{"do": "lock", "lock": "l"}, {"do": "unlock", "lock": "l"}]}]}]}`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("rediss://locker:%s@localhost:%d", secret, s.SecondPort())
	t.Setenv("LOCK_REDIS", url)
	for _, tt := range []struct{ args, addr, want string }{
		{"-plan " + plan + " -timescale 1/4", url, "-tls-ca " + cert + " -tls-cert " + cert + " -tls-key " + key},
		{"-plan " + plan + " -subject rlock-hardened -timescale 1/4 -runs 4 -out none", "env:LOCK_REDIS", "4 as expected"},
		{"soak -for 1s -clients 2 -locks 2", url, "HOLDS"},
		{"clean", "env:LOCK_REDIS", "0 keys of 0 runs removed"},
	} {
		args := append(strings.Fields(tt.args), "-addr", tt.addr, "-tls-ca", cert, "-tls-cert", cert, "-tls-key", key)
		stdout, stderr, code := run(t, t.TempDir(), args...)
		if code != checker.ExitExpected || !strings.Contains(stdout, tt.want) || strings.Contains(stdout+stderr, secret) {
			t.Errorf("%s: exit code %d: %s%s", tt.args, code, stdout, stderr)
		}
	}
	// Without a certificate of its own, nobody is let in, and no lock is accused.
	stdout, stderr, code := run(t, t.TempDir(), "-plan", plan, "-addr", url, "-tls-ca", cert)
	if code != checker.ExitHarness || strings.Contains(stdout, "broken") || strings.Contains(stdout+stderr, secret) {
		t.Errorf("without a certificate: exit code %d: %s%s", code, stdout, stderr)
	}
}
