package main

import (
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// On a real server only the key shows what a renewal did to its hold, and what a call did to the holds of others.
func TestReadWriteLocksOnARealServer(t *testing.T) {
	t.Parallel()
	needRedis(t)
	for _, of := range [][2]string{{"rw-zombie-reader", "rrwlock-classic"}, {"rw-read-unlock-kills-watchdog", "rrwlock-hardened"}} {
		t.Run(of[0], func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := run(t, t.TempDir(), "-scenario", of[0], "-subject", of[1], "-world", "redis", "-timescale", "1/4")
			if code != checker.ExitExpected {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
