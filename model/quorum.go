package model

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// MaxMembers is how many locks a [Quorum] lock may be made of.
const MaxMembers = history.MaxMembers

// Quorum is a lock made of several lease locks, taken as one atomic object: an owner has it while
// it has enough of the members. With Needed == Members it is a MultiLock, all or none; with a
// majority it is a RedLock.
type Quorum struct {
	Members int // 1 to MaxMembers
	Needed  int // how many members make a hold
}

// MultiLock is a lock of n members of which a hold needs all.
func MultiLock(n int) Quorum { return Quorum{Members: n, Needed: n} }

// RedLock is a lock of n members of which a hold needs more than half.
func RedLock(n int) Quorum { return Quorum{Members: n, Needed: n/2 + 1} }

// QuorumOf is the lock that a group is.
func QuorumOf(g history.Group) Quorum {
	if g.Kind == history.Red {
		return RedLock(len(g.Members))
	}
	return MultiLock(len(g.Members))
}

// QuorumState is the state of each member; the zero value is a free lock. States compare with ==.
type QuorumState [MaxMembers]State

// MemberError says that an answer of a [Quorum] lock is not legal. It is the only error type that
// its steps return, besides an [Illegal] of a member.
type MemberError struct {
	Rule   contract.Rule
	Op     history.Op
	Has    int // members that the owner holds
	Others int // members that others hold
	Needed int
}

func (e *MemberError) Error() string {
	return fmt.Sprintf("%s by %s answered %s, but it holds %d members and others hold %d, and a hold needs %d",
		e.Op.Kind, e.Op.Owner, e.Op.Outcome, e.Has, e.Others, e.Needed)
}

// Step returns the state after a lock, tryLock or unlock of the whole. A grant takes every member
// that can be had, which is at least as many as it needs. A refusal takes none: what an attempt
// took that did not get enough is given back within it. An unlock gives one hold of every member
// back; its answer is about the whole. An operation whose end is unknown is taken to have
// happened. Other operations, and [history.Failed] ones, change nothing.
func (q Quorum) Step(s QuorumState, op history.Op) (QuorumState, error) {
	if op.Outcome == history.Failed || !op.Kind.Acquires() && op.Kind != history.Unlock {
		return s, nil
	}
	has, others, last := 0, 0, true
	for _, m := range s[:q.Members] {
		switch {
		case m.Owner == op.Owner:
			has++
			last = last && m.Count == 1
		case !m.Free():
			others++
		}
	}
	can := q.Members-others >= q.Needed
	if op.Uncertain() {
		op.Outcome, op.Return = q.answer(op, has, can, last), 0
	}
	refuse := func(r contract.Rule) (QuorumState, error) {
		return s, &MemberError{Rule: r, Op: op, Has: has, Others: others, Needed: q.Needed}
	}
	switch op.Outcome {
	case history.Busy:
		if can {
			return refuse(contract.BusyFewMembers)
		}
		return s, nil
	case history.NotHeld:
		if has >= q.Needed {
			return refuse(contract.NotHeldIsTrue)
		}
	case history.Acquired:
		if !can {
			return refuse(contract.EnoughMembers)
		}
	default:
		switch {
		case has < q.Needed:
			return refuse(contract.HolderHasEnough)
		case (op.Outcome == history.Released) != last:
			return refuse(contract.OneHoldAnUnlock)
		}
	}
	for i := range s[:q.Members] {
		m := &s[i]
		switch {
		case op.Kind.Acquires() && (m.Free() || m.Owner == op.Owner):
			*m = leased(State{Owner: op.Owner, Count: m.Count + 1}, op)
		case op.Kind == history.Unlock && m.Owner == op.Owner:
			if m.Count--; m.Count == 0 {
				*m = State{}
			}
		}
	}
	return s, nil
}

// answer is what the lock says to op.
func (q Quorum) answer(op history.Op, has int, can, last bool) history.Outcome {
	switch {
	case op.Kind.Acquires() && can:
		return history.Acquired
	case op.Kind.Acquires():
		return history.Busy
	case has < q.Needed:
		return history.NotHeld
	case last:
		return history.Released
	}
	return history.Decremented
}

// Environment returns the state after something happened to one member: its key expired, was
// deleted, or was lost with its server.
func (q Quorum) Environment(s QuorumState, member int, e history.Event) (QuorumState, error) {
	next, err := Environment(s[member], e)
	if err != nil {
		return s, err
	}
	s[member] = next
	return s, nil
}
