package evidence_test

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/evidence"
)

func TestTheWholeOfAGroup(t *testing.T) {
	free := history.KeyState{}
	held := func(deadline time.Duration, holdings ...history.Holding) history.KeyState {
		return history.KeyState{Holdings: holdings, Deadline: deadline}
	}
	a, a2, b := history.Holding{Owner: "a", Count: 1}, history.Holding{Owner: "a", Count: 2}, history.Holding{Owner: "b", Count: 1}
	for _, c := range []struct {
		name    string
		members []history.KeyState
		quorum  int
		want    history.KeyState
	}{
		{"too few", []history.KeyState{held(5, a), free, free}, 2, free},
		{"enough", []history.KeyState{held(5, a), held(4, a), free}, 2, held(4, a)},
		{"the members held longest count", []history.KeyState{held(3, a), held(5, a), held(4, a)}, 2, held(4, a)},
		{"a member without an end is held longest", []history.KeyState{held(0, a), held(5, a), held(4, a)}, 2, held(5, a)},
		{"enough members without an end", []history.KeyState{held(0, a), held(0, a), held(4, a)}, 2, held(0, a)},
		{"the members held most often count", []history.KeyState{held(5, a2), held(5, a), held(5, a2)}, 2, held(5, a2)},
		{"another owner's member is none", []history.KeyState{held(5, a2), held(5, a), held(9, b)}, 2, held(5, a)},
		{"all are needed", []history.KeyState{held(5, a), held(3, a2)}, 2, held(3, a)},
		{"two owners share it", []history.KeyState{held(5, b, a), held(4, b, a)}, 2, held(4, a, b)},
	} {
		if got := evidence.Whole(c.members, c.quorum); !got.Equal(c.want) {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
}
