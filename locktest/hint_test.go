package locktest

import (
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// That a watchdog may have ended with its call is said only of an owner who never renewed the lock.
func TestAHintAboutTheContextOfACall(t *testing.T) {
	v := fault{Violation: checker.Violation{Lock: "a", Owners: []string{"c1:1"}}}
	renewal := history.Op{Kind: history.Renew, Lock: "a", Owner: "c1:1"}
	others, elsewhere := renewal, renewal
	others.Owner, elsewhere.Lock = "c2:1", "b"
	for _, tt := range []struct {
		op   history.Op
		want bool
	}{{renewal, true}, {others, false}, {elsewhere, false}, {history.Op{Kind: history.Lock, Lock: "a", Owner: "c1:1"}, false}} {
		if got := renewed(&history.History{Ops: []history.Op{tt.op}}, v); got != tt.want {
			t.Errorf("%+v: renewed: %v", tt.op, got)
		}
	}
}
