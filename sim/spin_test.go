package sim

import (
	"testing"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/world"
)

// Who sends commands without a pause for a call that waits is the lock, also if its client does so by itself. For whom else, the run has failed.
func TestForWhomCommandsAreSentWithoutAPause(t *testing.T) {
	h := func(last history.Served) *history.History {
		return &history.History{
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: "a", Kind: history.Lock},
				{ID: 2, Client: "c2", Owner: "c2:1", Lock: "a", Kind: history.TryLock, Return: 5},
				{ID: 3, Client: "c2", Owner: "c2:2", Lock: "a", Kind: history.Lock},
				{ID: 4, Client: "c1", Owner: "c1:2", Lock: "a", Kind: history.Unlock},
			},
			Served: []history.Served{{Client: "c2", Owner: "c2:2", Lock: "a"}, last, {Client: "c3", Owner: "c3:1", Lock: "a"}},
		}
	}
	for _, tt := range []struct {
		name string
		spin world.SpinError
		last history.Served
		call int64
		by   string
	}{
		{"a call that waits", world.SpinError{Client: "c1", Call: 1}, history.Served{}, 1, ""},
		{"an unlock", world.SpinError{Client: "c1", Call: 4}, history.Served{}, 0, ""},
		{"a client for a call that waits", world.SpinError{Client: "c2"}, history.Served{Client: "c2", Owner: "c2:2", Lock: "a"}, 3, "c2"},
		{"a client for a call that has returned", world.SpinError{Client: "c2"}, history.Served{Client: "c2", Owner: "c2:1", Lock: "a"}, 0, ""},
		{"a client on another lock", world.SpinError{Client: "c2"}, history.Served{Client: "c2", Owner: "c2:2", Lock: "b"}, 0, ""},
		{"a client for nobody who is known", world.SpinError{Client: "c2"}, history.Served{Client: "c2", Lock: "a"}, 0, ""},
		{"a client of which the server saw nothing", world.SpinError{Client: "c4"}, history.Served{}, 0, ""},
	} {
		if call, by := waiterFor(h(tt.last), &tt.spin); call != tt.call || by != tt.by {
			t.Errorf("%s: call %d by %q, not %d by %q", tt.name, call, by, tt.call, tt.by)
		}
	}
}
