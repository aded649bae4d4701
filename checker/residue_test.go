package checker

import (
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A lock that claims to leave nothing leaves no other key than its own, either.
func TestNoKeyIsLeftForEver(t *testing.T) {
	for _, tt := range []struct {
		name    string
		claims  bool
		kind    history.EventKind
		accused []contract.Guarantee
	}{
		{"there is none", true, "", nil},
		{"a record of a request", true, history.Residue, []contract.Guarantee{contract.Liveness}},
		{"of a lock that does not claim so", false, history.Residue, nil},
		{"a subscription is no key", true, history.Listening, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			s.take("c1:1", at(1), at(1.002), 0)
			s.unlock("c1:1", at(2), history.Released)
			if tt.claims {
				claiming(s, contract.LeavesNothing)
			}
			if tt.kind != "" {
				s.h.Events = append(s.h.Events, history.Event{At: at(9), Kind: tt.kind, Note: "record:{" + job + "}:c1:1"})
			}
			v := verdict(t, s)
			want(t, v, tt.accused...)
			for _, x := range v.Result(contract.Liveness).Violations {
				if x.Rule != contract.KeysHaveAnEnd || x.Lock != job || x.Ruling.Kind != Defect {
					t.Errorf("%s of %q: %s", x.Rule, x.Lock, x.Ruling.Kind)
				}
			}
		})
	}
}
