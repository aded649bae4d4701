package model

import (
	"fmt"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Kind names one of the specifications of a single lock, as `simrun check -model` takes it.
type Kind string

// The kinds of lock. All have the operations of [Step]; they differ in whether an owner may take
// the lock it holds, whether holds end by themselves, and whether grants are numbered.
const (
	Mutex     Kind = "mutex"      // an owner that holds the lock is refused it like everybody else; leases are not looked at
	Reentrant Kind = "reentrant"  // holds are counted; leases are not looked at
	Lease     Kind = "lease"      // the reentrant lease lock: [Step] and [Environment]
	Fenced    Kind = "fenced"     // a lease lock whose grants carry strictly increasing tokens
	Exclusive Kind = "exclusive"  // a lease lock that is not reentrant
	Keeping   Kind = "keeping"    // a lease lock whose renewals do not shorten the lease
	PerClient Kind = "per-client" // a lease lock that a client holds once for all its owners, who count their holds by themselves
	// ExclusivePerClient is a lease lock that a client holds for all its owners, and that is not reentrant.
	ExclusivePerClient Kind = "exclusive-per-client"
	// Anew is a lease lock that grants an owner anew what it holds: that counts nothing, and sets the lease. It may refuse its holder, too.
	Anew Kind = "anew"
)

// Kinds lists all kinds, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{Mutex, Reentrant, Lease, Fenced, Exclusive, Keeping, PerClient, ExclusivePerClient, Anew}
}

// ParseKind returns the kind of that name; the empty name is [Lease].
func ParseKind(name string) (Kind, error) {
	if name == "" {
		return Lease, nil
	}
	var all []string
	for _, k := range Kinds() {
		if name == string(k) {
			return k, nil
		}
		all = append(all, string(k))
	}
	return "", fmt.Errorf("unknown model %q; it must be one of %s", name, strings.Join(all, ", "))
}

// Leases reports whether holds of this kind of lock end with their leases.
func (k Kind) Leases() bool {
	return k == Lease || k == Fenced || k == Exclusive || k == Keeping || k == PerClient || k == ExclusivePerClient || k == Anew || k == ""
}

// Reenters reports whether an owner may take a lock of this kind that it holds.
func (k Kind) Reenters() bool { return k != Mutex && k != Exclusive && k != ExclusivePerClient }

// Counts reports whether a lock of this kind knows how often its holder holds it.
func (k Kind) Counts() bool { return k != PerClient && k != ExclusivePerClient }

// Holder is who holds a lock of this kind for an owner of a client.
func (k Kind) Holder(client, owner string) string {
	if !k.Counts() {
		return client
	}
	return owner
}

// Step is the operation step of a lock of kind k; see the function [Step], which is that of
// [Lease] and of the zero Kind.
func (k Kind) Step(s State, op history.Op) (State, error) {
	if !k.Counts() {
		if op.Kind == history.IsHeldBy || op.Kind == history.HoldCount {
			return s, nil // only their client knows what one of its owners holds
		}
		op.Owner = op.Client
	}
	if k == Anew && op.Outcome == history.Busy { // it may refuse its holder
		k = Exclusive
	}
	switch k {
	case Mutex, Reentrant:
		op.Lease = 0
	case Fenced:
		return fenced(s, op)
	case Keeping:
		next, err := Step(s, op)
		if err == nil && op.Kind == history.Renew && !s.Free() && next != s {
			next = kept(s, next)
		}
		return next, err
	case PerClient, Anew:
		next, err := Step(s, op)
		next.Count = min(next.Count, 1)
		return next, err
	}
	if !k.Reenters() && op.Kind.Acquires() && op.Outcome != history.Failed && !s.Free() && s.Owner == op.Owner {
		from, _ := when(op)
		switch {
		case op.Uncertain():
		case op.Outcome == history.Acquired:
			return s, &Illegal{Rule: contract.NoReentry, State: s, Op: op}
		case past(from, s.Latest): // busy shows it held
			return s, &Illegal{Rule: contract.NotAfterLease, State: s, Op: op}
		}
		return s, nil
	}
	return Step(s, op)
}

// kept is the state after a renewal that leaves a later deadline alone. No call asks for a hold without an end: who
// finds one may leave it so, or give it an end.
func kept(before, renewed State) State {
	if before.Earliest != Never {
		renewed.Earliest = max(renewed.Earliest, before.Earliest)
	}
	renewed.Latest = max(renewed.Latest, before.Latest)
	return renewed
}

// Environment is the step of a lock of kind k for something that is no operation.
func (k Kind) Environment(s State, e history.Event) (State, error) {
	switch {
	case !k.Leases() && e.Kind == history.Expire:
		e.Kind = history.Delete
	case !k.Leases() && e.Kind == history.Restore:
		e.Deadline = 0
	case !k.Leases() && e.Kind != history.Delete:
		return s, nil
	}
	if !k.Counts() && e.Kind == history.Restore {
		e.Owner, e.Count = k.Holder(e.Client, e.Owner), 1
	}
	if k == Anew {
		e.Count = min(e.Count, 1)
	}
	next, err := Environment(s, e)
	next.Token = s.Token // tokens outlive holds
	return next, err
}

// UnheardToken is the token of a grant that the server is known to have given, and that nobody was told.
const UnheardToken = -1

// fenced steps a lease lock, and then its token. A re-entry may keep the token of its hold or get
// a new one (Hazelcast and Redisson differ); a token may be skipped, since a call whose answer
// was lost may have taken it.
func fenced(s State, op history.Op) (State, error) {
	next, err := Step(s, op)
	if err != nil {
		return s, err
	}
	next.Token = s.Token
	if !op.Kind.Acquires() || next.Owner != op.Owner || op.Outcome == history.Failed ||
		next.Count == s.Count && s.Owner == next.Owner {
		return next, nil // it was granted nothing
	}
	least := s.Token + 1
	if !s.Free() {
		least = s.Token
	}
	switch {
	case op.Uncertain(), op.Token == UnheardToken:
		next.Token = least // the least it can have got leaves most open
	case op.Token == 0:
		return s, &Illegal{Rule: contract.TokenGiven, State: s, Op: op}
	case op.Token < least:
		return s, &Illegal{Rule: contract.TokensIncrease, State: s, Op: op}
	default:
		next.Token = op.Token
	}
	return next, nil
}
