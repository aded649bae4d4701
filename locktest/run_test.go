package locktest_test

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/locktest"
)

// What the examples show.
func TestReferenceLock(t *testing.T) { locktest.Run(t, newReference) }

func TestRedsync(t *testing.T) {
	locktest.Run(t, newRedsync, locktest.Lease(8*time.Second))
}

func TestRedislock(t *testing.T) { locktest.Run(t, newRedislock) }

// Other client libraries connect by Env.Dial. redigo sends nothing again.
func TestRedsyncOverRedigo(t *testing.T) {
	locktest.Run(t, newRedsyncOverRedigo, locktest.Lease(8*time.Second))
}
