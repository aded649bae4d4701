package lockimpl

import (
	"fmt"
	"testing"
	"time"
)

// What a group remembers of owners that never come back does not grow with their number, and it forgets nobody who holds it.
func TestGroupForgetsOwnersThatNeverUnlock(t *testing.T) {
	var g groupHolds
	holder := Owner("holder")
	until := func(o Owner) time.Time {
		if o == holder {
			return time.Unix(1, 0)
		}
		return time.Time{}
	}
	g.granted(holder, false, nil, until)
	for i := range 1000 {
		g.granted(Owner(fmt.Sprint(i)), false, nil, until)
	}
	if len(g.m) > 200 {
		t.Errorf("%d owners are remembered", len(g.m))
	}
	if g.m[holder] == nil {
		t.Error("the holder is forgotten")
	}
}
