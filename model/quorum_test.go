package model

import (
	"errors"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// members is the state in which each member is held by the named owner, once, without end.
func members(owners ...string) QuorumState {
	var s QuorumState
	for i, o := range owners {
		if o != "" {
			s[i] = State{Owner: o, Count: 1, Earliest: Never, Latest: Never}
		}
	}
	return s
}

func twice(s QuorumState) QuorumState {
	for i := range s {
		s[i].Count *= 2
	}
	return s
}

// Both sides of every rule.
func TestQuorum(t *testing.T) {
	three, five := MultiLock(3), RedLock(5)
	call := func(kind history.Kind, owner string, out history.Outcome) history.Op {
		o := op(kind, owner, out)
		o.Lease = 0
		return o
	}
	for _, tt := range []struct {
		name string
		lock Quorum
		from QuorumState
		op   history.Op
		to   QuorumState
		rule contract.Rule
	}{
		{"all members free", three, members(), call(history.Lock, a, history.Acquired), members(a, a, a), ""},
		{"all or none: one is another's", three, members("", b), call(history.Lock, a, history.Acquired), QuorumState{}, contract.EnoughMembers},
		{"all or none: busy leaves nothing behind", three, members("", b), call(history.TryLock, a, history.Busy), members("", b), ""},
		{"busy though all are free", three, members(), call(history.TryLock, a, history.Busy), QuorumState{}, contract.BusyFewMembers},
		{"busy for its holder", three, members(a, a, a), call(history.TryLock, a, history.Busy), QuorumState{}, contract.BusyFewMembers},
		{"taken again", three, members(a, a, a), call(history.Lock, a, history.Acquired), twice(members(a, a, a)), ""},
		{"given back once", three, twice(members(a, a, a)), call(history.Unlock, a, history.Decremented), members(a, a, a), ""},
		{"given back", three, members(a, a, a), call(history.Unlock, a, history.Released), members(), ""},
		{"given back whole, but it was taken twice", three, twice(members(a, a, a)), call(history.Unlock, a, history.Released), QuorumState{}, contract.OneHoldAnUnlock},
		{"given back by another", three, members(a, a, a), call(history.Unlock, b, history.Released), QuorumState{}, contract.HolderHasEnough},
		{"given back with a member lost", three, members(a, "", a), call(history.Unlock, a, history.Released), QuorumState{}, contract.HolderHasEnough},
		{"refused with a member lost, the others freed", three, members(a, "", a), call(history.Unlock, a, history.NotHeld), members(), ""},
		{"refused, though held", three, members(a, a, a), call(history.Unlock, a, history.NotHeld), QuorumState{}, contract.NotHeldIsTrue},
		{"a quorum with two members another's", five, members(b, b), call(history.Lock, a, history.Acquired), members(b, b, a, a, a), ""},
		{"no quorum with three", five, members(b, b, b), call(history.Lock, a, history.Acquired), QuorumState{}, contract.EnoughMembers},
		{"no quorum, busy", five, members(b, b, b), call(history.TryLock, a, history.Busy), members(b, b, b), ""},
		{"split vote, busy for both", five, members(a, a, b, b, "x"), call(history.TryLock, a, history.Busy), members(a, a, b, b, "x"), ""},
		{"a quorum is given back", five, members(b, b, a, a, a), call(history.Unlock, a, history.Released), members(b, b), ""},
		{"an unknown attempt that got it", five, members(b), call(history.Lock, a, history.Unknown), members(b, a, a, a, a), ""},
		{"an unknown attempt that did not", three, members(b), call(history.Lock, a, history.Unknown), members(b), ""},
		{"an unknown unlock", three, members(a, a, a), call(history.Unlock, a, history.Unknown), members(), ""},
		{"a failed attempt", three, members(), call(history.Lock, a, history.Failed), members(), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.lock.Step(tt.from, tt.op)
			var illegal *MemberError
			switch {
			case tt.rule == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.rule == "" && got != tt.to:
				t.Errorf("became %+v, want %+v", got, tt.to)
			case tt.rule != "" && (!errors.As(err, &illegal) || illegal.Rule != tt.rule || illegal.Error() == ""):
				t.Errorf("%v, want rule %q", err, tt.rule)
			}
		})
	}
}

// A member that restarts empty lets a second owner have a quorum: the lock is right, and two hold it.
func TestQuorumLosesAMember(t *testing.T) {
	q := RedLock(5)
	s, err := q.Environment(members(a, a, a, b, b), 2, history.Event{Kind: history.Delete})
	if err != nil || s != members(a, a, "", b, b) {
		t.Fatalf("%v %v", s, err)
	}
	if s, err = q.Step(s, op(history.Lock, b, history.Acquired)); err != nil || s[2].Owner != b {
		t.Errorf("%v %v", s, err)
	}
	if _, err := q.Environment(members(a), 4, history.Event{Kind: history.Expire}); err == nil {
		t.Error("a free member expired")
	}
}
