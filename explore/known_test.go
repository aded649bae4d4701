package explore

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Which calls each generation takes twice when they are sent again, and by what.
func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		lock  string
		kind  history.Kind
		fault string
		known bool
	}{
		{"rlock-classic", history.TryLock, "close-connection", true},
		{"rlock-classic", history.Unlock, "kill-connection", true},
		{"rlock-combined", history.Unlock, "restart", true},
		{"rlock-latch", history.Lock, "restart", true},
		{"rlock-latch", history.Unlock, "restart", false}, // its answer is remembered
		{"rlock-hardened", history.TryLock, "restart", false},
		{"rlock-classic", history.TryLock, "script-flush", false},
	} {
		s, _ := subjects.Find(tt.lock)
		says := Known(history.Op{Kind: tt.kind, Call: 1, Return: time.Second}, []history.Fault{{Kind: tt.fault}}, s)
		if (says != "") != tt.known {
			t.Errorf("%s of %s, struck by %s: %q", tt.kind, tt.lock, tt.fault, says)
		}
	}
}
