package evidence

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A value that stands in two parts of a group is one request's. What an owner has by values of two requests is then no hold of the
// whole. Where each part has a value of its own, it is.
func TestOneHoldHasOneValueInAllPartsIfAnyHas(t *testing.T) {
	parts := []Part{{"s1", "a"}, {"s2", "a"}}
	row := func(p Part, value string) history.Served {
		return history.Served{Server: p.Server, Lock: p.Key, After: &history.KeyState{Deadline: time.Second, Holdings: []history.Holding{{Owner: "c1:1", Count: 1, Value: value}}}}
	}
	for _, c := range []struct {
		name  string
		rows  []history.Served
		parts []Part
		alike bool
	}{
		{"one value in two parts", []history.Served{row(parts[0], "v"), row(parts[1], "v")}, parts, true},
		{"each part has a value of its own", []history.Served{row(parts[0], "v"), row(parts[1], "w")}, parts, false},
		{"one value in one part, twice", []history.Served{row(parts[0], "v"), row(parts[0], "v")}, parts, false},
		{"one value in a part, and in another lock", []history.Served{row(parts[0], "v"), row(Part{"s3", "a"}, "v")}, parts, false},
		{"one key is no group", []history.Served{row(parts[0], "v"), row(parts[1], "v")}, parts[:1], false},
	} {
		l := &lock{name: "a", parts: c.parts, quorum: len(c.parts)}
		if l.alike = alike(&history.History{Served: c.rows}, l); l.alike != c.alike {
			t.Errorf("%s: alike: %v", c.name, l.alike)
		}
		state := map[Part]history.KeyState{parts[0]: *row(parts[0], "v").After, parts[1]: *row(parts[1], "w").After}
		if held := !l.whole(state).Absent(); held == c.alike {
			t.Errorf("%s: by values of two requests it is held: %v", c.name, held)
		}
		state[parts[1]] = *row(parts[1], "v").After
		if got := l.whole(state); got.Count("c1:1") != 1 {
			t.Errorf("%s: by values of one request: %+v", c.name, got)
		}
	}
}
