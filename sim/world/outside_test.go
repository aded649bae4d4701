package world

import (
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// A command that names the value of an owner who makes no call is another's who asks, if calls have asked by such commands, nobody holds the lock by
// that value, and one owner asks.
func TestAValueMayStandForAllOwnersOfAClient(t *testing.T) {
	const key, value = "locks:a", "process-1"
	args := []string{"evalsha", "0123456789abcdef0123456789abcdef01234567", "1", key, value}
	ask := history.Op{ID: 3, Client: "c1", Owner: "c1:2", Lock: key, Kind: history.Lock}
	other, unlock := ask, ask
	other.ID, other.Owner = 4, "c1:3"
	unlock.ID, unlock.Kind = 5, history.Unlock
	for _, tt := range []struct {
		name  string
		calls []history.Op
		asked bool // by such a command, before
		held  bool // by that value
		want  int64
	}{
		{"another asks", []history.Op{ask}, true, false, 3},
		{"another asks, and gives back", []history.Op{unlock, ask}, true, false, 3},
		{"the value has the lock, which may be renewed", []history.Op{ask}, true, true, 0},
		{"no call has asked so", []history.Op{ask}, false, false, 0},
		{"two ask", []history.Op{ask, other}, true, false, 0},
		{"nobody asks", []history.Op{unlock}, true, false, 0},
	} {
		w, s := &World{}, &server{keys: []string{key}, lockOf: map[string]string{key: key}, state: map[string]history.KeyState{}}
		w.outside.asking = map[string]bool{Shape(args): tt.asked}
		took := history.KeyState{Holdings: []history.Holding{{Owner: value, Count: 1}}}
		s.names.Learn(s.part(key), history.Op{Kind: history.Lock, Owner: "c1:1"}, history.Served{Op: 1, Client: "c1"}, history.KeyState{}, took, func(string) (string, bool) { return "", false })
		if tt.held {
			s.state[key] = took
		}
		got := int64(0)
		if calls := w.anothers(tt.calls, s, args, "c1:1"); len(calls) > 0 {
			got = calls[0].ID
		}
		if got != tt.want {
			t.Errorf("%s: call %d, want %d", tt.name, got, tt.want)
		}
	}
}
