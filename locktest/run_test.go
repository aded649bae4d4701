package locktest_test

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/locktest"
)

// What the examples show.
func TestReferenceLock(t *testing.T) { locktest.Run(t, newReference, knownOfReference) }

func TestRedsync(t *testing.T) {
	locktest.Run(t, newRedsync, locktest.Lease(8*time.Second),
		locktest.Known("lost-unlock-reply", "object", "an unlock that is sent again is told that the lock has expired"))
}

func TestRedislock(t *testing.T) {
	locktest.Run(t, newRedislock,
		locktest.Known("lost-unlock-reply", "object", "a release that is sent again is told that the lock is not held"))
}

// Other client libraries connect by Env.Dial. redigo sends nothing again.
func TestRedsyncOverRedigo(t *testing.T) {
	locktest.Run(t, newRedsyncOverRedigo, locktest.Lease(8*time.Second))
}
