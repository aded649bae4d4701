package reports

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// The lane of a counted object says how many are free, or left, in words.
func TestALaneSaysHowManyAreFree(t *testing.T) {
	many, few := int64(12345), int64(3)
	for _, tt := range []struct {
		kind  history.Kind
		state history.KeyState
		want  string
	}{
		{history.TrySetPermits, history.KeyState{Permits: &many}, "12,345 free"},
		{history.TrySetCount, history.KeyState{Left: &few}, "3 left"},
	} {
		h := &history.History{Ops: []history.Op{{ID: 1, Lock: "x", Kind: tt.kind}}}
		l := numberLane(h, "x", []segment{{0, time.Second, tt.state}})
		if len(l.Items) != 1 || l.Items[0].Label != tt.want {
			t.Errorf("%s: %+v, want %q", tt.kind, l.Items, tt.want)
		}
	}
}
