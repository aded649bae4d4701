package checker

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A client that settles by itself what its calls left may do so while its owner gives the same back. Then the unlock found nothing, and its hold has
// ended under it all the same. Before the unlock was called it is another matter, and so of a client that promises nothing of the kind.
func TestAHoldMayBeGivenBackByItsClientWhileItsOwnerDoes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		gave   float64 // when the client did, by itself, in s
		claims bool
		broken bool
	}{
		{"while the unlock is under way", 2.03, true, false},
		{"before it was called", 1.9, true, true},
		{"by a lock that promises nothing of it", 2.03, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			s.take("c1:1", at(0), at(1), 0)
			aside := s.unlock("c1:1", at(tt.gave), history.Released)
			aside.Aside = true
			op := s.op("c1:1", history.Unlock, at(2), at(2.1), history.Released)
			op.Evidence, op.Executed, op.Answer = history.Executed, at(2.08), history.NotHeld
			h := s.done()
			h.Header.Abilities = []string{"reentrant"}
			if tt.claims {
				h.Header.Abilities = append(h.Header.Abilities, string(contract.TakesBack))
			}
			v := Judge(context.Background(), h, Options{})
			if is := slices.Contains(rules(v, contract.Object), contract.ToldTheTruth); is != tt.broken {
				t.Errorf("%v", v.Result(contract.Object).Violations)
			}
		})
	}
}
