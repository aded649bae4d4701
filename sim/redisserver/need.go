package redisserver

import (
	"os"
	"os/exec"
	"testing"
)

// Need has a test go on only if there is a redis-server on PATH. Without one it is skipped, or it fails
// if HOLDFAST_REQUIRE_REDIS is set, as where skipping would hide that nothing was tested.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	} else if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
		t.Fatalf("HOLDFAST_REQUIRE_REDIS is set: %v", err)
	}
	t.Skip("no redis-server on PATH (Debian: apt-get install redis-server)")
}
