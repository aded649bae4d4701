package checker

import (
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// An unlock without an answer is judged by what the server did, and its caller was not deceived.
func TestAnUnlockWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		inner, outer history.Outcome // what the server did; empty: nobody saw
		want         Status
	}{
		"each takes one hold back":         {history.Decremented, history.Released, Holds},
		"the server is not seen":           {"", "", Holds},
		"the inner one frees the lock":     {history.Released, history.NotHeld, Broken},
		"the outer one gives nothing back": {history.Decremented, history.NotHeld, Broken},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.take("c1:1", at(1), at(1)+2*lat, dog)
			s.take("c1:1", at(2), at(2)+2*lat, dog)
			for i, answer := range []history.Outcome{c.inner, c.outer} {
				op := s.unlock("c1:1", at(3+float64(i)), history.Unlocked)
				op.Evidence, op.Executed, op.Answer = history.Sent, 0, ""
				if answer != "" {
					op.Evidence, op.Executed, op.Answer = history.Executed, op.Call+lat, answer
				}
			}
			v := Judge(t.Context(), s.h, Options{})
			if r := v.Result(contract.Object); r.Status != c.want || v.Disagreement != "" {
				t.Errorf("%s: %s; want %s", r.Status, v.Explanation, c.want)
			}
		})
	}
}
