package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

func TestFencing(t *testing.T) {
	grant := func(s *script, owner string, from float64, token int64) {
		s.take(owner, at(from), at(from+0.1), 0).Token = token
		s.unlock(owner, at(from+0.5), history.Released)
	}
	present := func(s *script, owner string, when float64, token int64, out history.Outcome) {
		op := s.write(owner, at(when), 1)
		op.Token, op.Outcome = token, out
	}
	tests := []struct {
		name  string
		write func(s *script)
		rules []contract.Rule
	}{
		{"increasing", func(s *script) { grant(s, "c1:1", 0, 1); grant(s, "c2:1", 1, 2); grant(s, "c1:1", 2, 7) }, nil},
		{"repeated", func(s *script) { grant(s, "c1:1", 0, 1); grant(s, "c2:1", 1, 1) }, []contract.Rule{contract.TokensIncrease}},
		{"reset", func(s *script) { grant(s, "c1:1", 0, 5); grant(s, "c2:1", 1, 1); grant(s, "c2:1", 2, 2) }, []contract.Rule{contract.TokensIncrease}},
		{"none", func(s *script) { grant(s, "c1:1", 0, 0) }, []contract.Rule{contract.TokenGiven}},
		{"none, of a grant whose caller was told busy", func(s *script) {
			s.take("c1:1", at(0), at(0.1), 0).Token = 0
			s.h.Ops[0].Outcome = history.Busy
		}, nil},
		{"re-entry keeps its token", func(s *script) {
			s.take("c1:1", at(0), at(0.1), 0).Token = 1
			s.take("c1:1", at(1), at(1.1), 0).Token = 1
		}, nil},
		{"re-entry takes a smaller token", func(s *script) {
			s.take("c1:1", at(0), at(0.1), 0).Token = 2
			s.take("c1:1", at(1), at(1.1), 0).Token = 1
		}, []contract.Rule{contract.TokensIncrease}},
		{"each lock has its own tokens", func(s *script) {
			grant(s, "c1:1", 0, 9)
			s.lock = "order:43"
			grant(s, "c1:1", 1, 1)
		}, nil},
		{"the resource refuses the stale and takes the fresh", func(s *script) {
			present(s, "c1:1", 1, 1, history.OK)
			present(s, "c2:1", 2, 2, history.OK)
			present(s, "c1:1", 3, 1, history.Rejected)
			present(s, "c2:1", 4, 2, history.OK)
		}, nil},
		{"the resource takes the stale", func(s *script) {
			present(s, "c2:1", 2, 2, history.OK)
			present(s, "c1:1", 3, 1, history.OK)
		}, []contract.Rule{contract.StaleRefused}},
		{"the resource refuses the fresh", func(s *script) {
			present(s, "c1:1", 1, 1, history.OK)
			present(s, "c2:1", 2, 2, history.Rejected)
		}, []contract.Rule{contract.FreshAccepted}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			s.h.Header.Abilities = append(s.h.Header.Abilities, "fencing")
			tt.write(s)
			v := verdict(t, s)
			if got := rules(v, contract.Fencing); !slices.Equal(got, tt.rules) || v.Result(contract.Fencing).Status != map[bool]Status{true: Holds, false: Broken}[len(tt.rules) == 0] {
				t.Errorf("%s: broke %q, want %q", v.Result(contract.Fencing).Status, got, tt.rules)
			}
			s.h.Header.Abilities = nil
			if r := verdict(t, s).Result(contract.Fencing); r.Status != NotClaimed {
				t.Errorf("a lock without tokens: %s", r.Status)
			}
			if r := Judge(t.Context(), s.done(), Options{Model: model.Fenced}).Result(contract.Fencing); (r.Status == Broken) != (len(tt.rules) > 0) {
				t.Errorf("judged as a fenced lock: %s", r.Status)
			}
		})
	}
}

// A replica that is behind knows an older counter: what repeats a token then is no defect.
func TestATokenRepeatedAfterAFailover(t *testing.T) {
	s := newScript()
	s.h.Header.Abilities = append(s.h.Header.Abilities, "fencing")
	s.take("c1:1", at(0), at(0.1), 0).Token = 1
	s.unlock("c1:1", at(1), history.Released)
	s.event(history.Failover, at(2)).Lock = ""
	s.take("c2:1", at(3), at(3.1), 0).Token = 1
	s.unlock("c2:1", at(4), history.Released)
	v := verdict(t, s).Result(contract.Fencing).Violations
	if len(v) != 1 || v[0].Cause.Class != contract.ReplicaBehind || v[0].Ruling.Kind == Defect {
		t.Errorf("%+v", v)
	}
}

// A re-entry has the token of its grant: the counter that was lost in between explains what comes after it.
func TestATokenIsOfTheTimeOfItsGrant(t *testing.T) {
	for _, lost := range []bool{true, false} {
		s := newScript()
		s.h.Header.Abilities = append(s.h.Header.Abilities, "fencing")
		s.take("c1:1", at(0), at(0.1), 0).Token = 3
		if lost {
			s.fault("delete-key", "", at(2), at(2)).Lock = ""
		}
		s.take("c1:1", at(3), at(3.1), 0).Token = 3
		s.op("c1:1", history.Unlock, at(4), at(4.1), history.Decremented)
		s.unlock("c1:1", at(5), history.Released)
		s.take("c2:1", at(6), at(6.1), 0).Token = 2
		s.unlock("c2:1", at(7), history.Released)
		v := verdict(t, s).Result(contract.Fencing).Violations
		if len(v) != 1 || (v[0].Ruling.Kind == Defect) == lost {
			t.Errorf("the counter was lost: %t, but %+v", lost, v)
		}
	}
}

// Where there are groups, tokens are those of their members and of other locks. A group has none.
func TestTokensWhereThereAreGroups(t *testing.T) {
	for name, second := range map[string]int64{"that increase": 8, "that fall": 6} {
		s := claiming(newScript(), contract.Fences)
		s.h.Header.Groups = []history.Group{{Name: "both", Kind: history.Multi, Members: []string{job, "other"}}}
		grant := func(owner string, from time.Duration, token int64) {
			s.take(owner, from, from+2*ms, at(30)).Token = token
			s.op(owner, history.Unlock, from+at(1), from+at(1)+2*ms, history.Released)
		}
		grant("c1:1", at(0), 7)
		grant("c2:1", at(5), second)
		s.lock = "both"
		s.take("c1:1", at(10), at(10.002), at(30))
		s.op("c1:1", history.Unlock, at(11), at(11.002), history.Released)
		if r := verdict(t, s).Result(contract.Fencing); (r.Status == Broken) != (second < 7) || len(r.Violations) > 1 {
			t.Errorf("tokens %s: %s %+v", name, r.Status, r.Violations)
		}
	}
}

// Who does not know whether it gave a lock back may hold it still: then it gets the token that it had. Nobody saw the server.
func TestATokenMayBeThatOfAHoldWhoseUnlockWasNotAnswered(t *testing.T) {
	got := func(owner string, at int, token int64) history.Op {
		op := told(owner, history.TryLock, at, at+1, time.Second, history.Acquired)
		op.Token = token
		return op
	}
	for _, tt := range []struct {
		name   string
		unlock history.Outcome
		ops    []history.Op
		want   Status
	}{
		{"the same hold", history.Unknown, []history.Op{got("a", 5, 1)}, Holds},
		{"another hold", history.Unknown, []history.Op{got("a", 5, 2)}, Holds},
		{"it was given back", history.Released, []history.Op{got("a", 5, 1)}, Broken},
		{"another owner's", history.Unknown, []history.Op{got("b", 5, 1)}, Broken},
		{"another owner had it meanwhile", history.Unknown, []history.Op{got("b", 5, 2), told("b", history.Unlock, 7, 8, 0, history.Released), got("a", 9, 1)}, Broken},
	} {
		unlock := told("a", history.Unlock, 3, 4, 0, tt.unlock)
		if tt.unlock == history.Unknown {
			unlock.Evidence = history.Sent
		}
		ops := append([]history.Op{got("a", 1, 1), unlock}, tt.ops...)
		if r := unseen([]string{"fencing", "reentrant"}, nil, ops...).Result(contract.Fencing); r.Status != tt.want {
			t.Errorf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
	}
}
