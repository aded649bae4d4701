package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// A lock of each language, of the real library, speaks the protocol, and plays stories as its documentation and its
// known defects have them. To build the workers takes their registries, and minutes: so this is for whoever asks.
func TestLocksOfOtherLanguages(t *testing.T) {
	if os.Getenv("HOLDFAST_REQUIRE_WORKERS") != "1" {
		t.Skip("HOLDFAST_REQUIRE_WORKERS=1 builds the workers of other languages, and runs them")
	}
	needsWarp(t)
	for _, c := range []struct {
		lock    string
		stories map[string]string // by name: what breaks; what the lock has to answer for has a ! before it
	}{
		{"redisson-4.7.0", map[string]string{"gc-pause": "exclusion effect watchdog", "lost-acquire-reply": "", "batch-poison": "!exclusion !effect !watchdog", "inner-lease": "!object !exclusion !effect"}},
		{"redisson-4.7.0-master-slave", map[string]string{"lost-acquire-reply": "object"}},
		{"redisson-4.7.0-fair", map[string]string{"fair-order": "", "fair-interrupted-waiter": "liveness fairness", "fair-unequal-waits": "fairness"}},
		{"redisson-4.7.0-semaphore", map[string]string{"semaphore-baseline": "", "semaphore-canceled-acquire": "liveness", "semaphore-unequal-waiters": "liveness"}},
		{"redisson-4.7.0-permits", map[string]string{"permit-baseline": "", "permit-resend": "", "permit-delayed-release": "object", "permit-lost-message": "liveness",
			"permit-clock-ahead": "object exclusion"}},
		{"redisson-4.7.0-latch", map[string]string{"latch-baseline": "", "latch-lost-down-reply": "", "latch-deleted": "liveness"}},
		{"redisson-4.7.0-rw", map[string]string{"rw-baseline": "", "rw-read-unlock-kills-watchdog": "exclusion effect watchdog", "rw-downgrade-waiting-reader": "liveness",
			"rw-inner-lease": "!object !exclusion !effect", "rw-lease-stays": "!object liveness"}},
		{"redisson-3.36.0", map[string]string{"delayed-duplicate-unlock": "object exclusion effect"}},
		{"redis-py", map[string]string{"gc-pause": "exclusion effect", "lost-unlock-reply": "object", "holder-crash": ""}},
		{"redis-semaphore", map[string]string{"gc-pause": "watchdog", "lost-acquire-reply": "!liveness", "holder-crash": ""}},
	} {
		t.Run(c.lock, func(t *testing.T) {
			if !testing.Short() || !strings.HasPrefix(c.lock, "redisson-4.7.0-") {
				if stdout, stderr, code := run(t, ".", "worker-check", c.lock); code != checker.ExitExpected {
					t.Errorf("worker-check: exit code %d\n%s%s", code, stdout, stderr)
				}
			}
			for i, scenario := range slices.Sorted(maps.Keys(c.stories)) {
				if testing.Short() && i%3 != 0 {
					continue
				}
				want := c.stories[scenario]
				v := verdictOf(t, "-scenario", scenario, "-subject", c.lock)
				if got := brokenOf(v); got != want || v.World != "warp" {
					t.Errorf("%s in world %s: broken: %q, want %q", scenario, v.World, got, want)
				}
			}
		})
	}
}

// The port breaks what the real Redisson breaks, and answers for it likewise: in stories, and in plans that are about one
// of its defects each.
func TestThePortBreaksWhatTheRealRedissonBreaks(t *testing.T) {
	if os.Getenv("HOLDFAST_REQUIRE_WORKERS") != "1" {
		t.Skip("HOLDFAST_REQUIRE_WORKERS=1 builds the workers of other languages, and runs them")
	}
	needsWarp(t)
	for port, real := range map[string]string{"rlock-current": "redisson-4.7.0", "rlock-current-shared": "redisson-4.7.0-shared"} {
		for i, what := range [][]string{
			{"-scenario", "inner-lease"}, {"-scenario", "batch-poison"}, {"-scenario", "lease-mixing"}, {"-scenario", "canceled-waiter"},
			{"-scenario", "lost-acquire-reply"}, {"-scenario", "key-deleted"}, {"-scenario", "shared-handle"},
			{"-plan", "testdata/ported/inner-ends-renewal.json"}, {"-plan", "testdata/ported/stale-counts.json"},
			{"-plan", "testdata/ported/lapsed-lease.json"},
		} {
			if testing.Short() && i%4 != 0 {
				continue
			}
			got, want := brokenOf(verdictOf(t, append(what, "-subject", port)...)), brokenOf(verdictOf(t, append(what, "-subject", real)...))
			if got != want {
				t.Errorf("%s: %s breaks %q, and %s breaks %q", what[1], port, got, real, want)
			}
			t.Logf("%s: %s: %q", what[1], real, want)
		}
	}
}

// verdictOf runs what the words say.
func verdictOf(t *testing.T, words ...string) (v checker.Verdict) {
	t.Helper()
	stdout, stderr, code := run(t, ".", append(words, "-out", "none", "-json")...)
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("%s: exit code %d: %v\n%s%s", words, code, err, stdout, stderr)
	}
	return v
}

// brokenOf is what broke; what the lock has to answer for has a ! before it.
func brokenOf(v checker.Verdict) string {
	var all []string
	for _, r := range v.Results {
		if r.Status != checker.Broken {
			continue
		}
		name := string(r.Guarantee)
		if len(r.Defects()) > 0 {
			name = "!" + name
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}
