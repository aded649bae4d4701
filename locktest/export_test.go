package locktest

import (
	"testing"

	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// Inside is [Test] in a test.
func Inside(t *testing.T, newLock NewLock, opts ...Option) error {
	return test(bubble.In(t), newLock, optionsOf("lock", opts))
}
