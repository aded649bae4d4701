package model

import (
	"errors"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Both sides of what the kinds of lock have of their own.
func TestKinds(t *testing.T) {
	forever := func(owner string, count int64) State {
		return State{Owner: owner, Count: count, Earliest: Never, Latest: Never}
	}
	token := func(o history.Op, token int64) history.Op {
		o.Token = token
		return o
	}
	with := func(s State, token int64) State {
		s.Token = token
		return s
	}
	for _, tt := range []struct {
		name string
		kind Kind
		from State
		op   history.Op
		to   State
		rule contract.Rule
	}{
		{"a mutex is granted", Mutex, free, op(history.Lock, a, history.Acquired), forever(a, 1), ""},
		{"a mutex is granted to its holder", Mutex, forever(a, 1), op(history.Lock, a, history.Acquired), State{}, contract.NoReentry},
		{"a mutex is busy for its holder", Mutex, forever(a, 1), op(history.TryLock, a, history.Busy), forever(a, 1), ""},
		{"a mutex is granted to another", Mutex, forever(b, 1), op(history.Lock, a, history.Acquired), State{}, contract.OneHolder},
		{"a mutex's holder tries, and nobody hears", Mutex, forever(a, 1), op(history.Lock, a, history.Unknown), forever(a, 1), ""},
		{"a lock that is not reentrant is granted to its holder", Exclusive, forever(a, 1), op(history.Lock, a, history.Acquired), State{}, contract.NoReentry},
		{"a lock that is not reentrant is busy for its holder", Exclusive, forever(a, 1), op(history.TryLock, a, history.Busy), forever(a, 1), ""},
		{"a mutex is freed", Mutex, forever(a, 1), op(history.Unlock, a, history.Released), free, ""},
		{"a reentrant lock is granted again", Reentrant, forever(a, 1), op(history.Lock, a, history.Acquired), forever(a, 2), ""},
		{"a reentrant lock is busy for its holder", Reentrant, forever(a, 1), op(history.TryLock, a, history.Busy), State{}, contract.OwnerReenters},
		{"a lease lock has a deadline", Lease, free, op(history.Lock, a, history.Acquired), held(a, 1, 40*sec), ""},
		{"a renewal may shorten the lease", Lease, held(a, 1, 99*sec), op(history.Renew, a, history.Renewed), held(a, 1, 40*sec), ""},
		{"a renewal lengthens the lease of a lock that keeps the longest", Keeping, held(a, 1, 20*sec), op(history.Renew, a, history.Renewed), held(a, 1, 40*sec), ""},
		{"a renewal keeps a longer lease", Keeping, held(a, 1, 99*sec), op(history.Renew, a, history.Renewed), held(a, 1, 99*sec), ""},
		{"a renewal that nobody heard of keeps a longer lease", Keeping, held(a, 1, 99*sec), op(history.Renew, a, history.Unknown), held(a, 1, 99*sec), ""},
		{"a renewal may give a hold without an end one", Keeping, forever(a, 1), op(history.Renew, a, history.Renewed),
			State{Owner: a, Count: 1, Earliest: 40 * sec, Latest: Never}, ""},
		{"another's lease is not kept", Keeping, held(b, 1, 20*sec), op(history.Renew, a, history.Renewed), State{}, contract.HolderRenews},
		{"a re-entry asks for what the owner expects", Keeping, held(a, 1, 99*sec), op(history.TryLock, a, history.Acquired), held(a, 2, 40*sec), ""},
		{"a fenced grant has a larger token", Fenced, with(free, 4), token(op(history.Lock, a, history.Acquired), 6), with(held(a, 1, 40*sec), 6), ""},
		{"a fenced grant has the same token", Fenced, with(free, 4), token(op(history.Lock, a, history.Acquired), 4), State{}, contract.TokensIncrease},
		{"a fenced grant has no token", Fenced, with(free, 4), op(history.Lock, a, history.Acquired), State{}, contract.TokenGiven},
		{"a fenced re-entry keeps its token", Fenced, with(held(a, 1, 20*sec), 4), token(op(history.Lock, a, history.Acquired), 4), with(held(a, 2, 40*sec), 4), ""},
		{"a fenced re-entry has a new token", Fenced, with(held(a, 1, 20*sec), 4), token(op(history.Lock, a, history.Acquired), 5), with(held(a, 2, 40*sec), 5), ""},
		{"a fenced re-entry has an old token", Fenced, with(held(a, 1, 20*sec), 4), token(op(history.Lock, a, history.Acquired), 3), State{}, contract.TokensIncrease},
		{"tokens outlive holds", Fenced, with(held(a, 1, 20*sec), 4), op(history.Unlock, a, history.Released), with(free, 4), ""},
		{"an unknown grant takes a token", Fenced, with(free, 4), op(history.Lock, a, history.Unknown), with(held(a, 1, 40*sec), 5), ""},
		{"an unknown attempt on a held lock takes none", Fenced, with(held(b, 1, 40*sec), 4), op(history.Lock, a, history.Unknown), with(held(b, 1, 40*sec), 4), ""},
		{"a busy fenced lock grants nothing", Fenced, with(held(b, 1, 20*sec), 4), op(history.TryLock, a, history.Busy), with(held(b, 1, 20*sec), 4), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.kind.Step(tt.from, tt.op)
			var illegal *Illegal
			switch {
			case tt.rule == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.rule == "" && got != tt.to:
				t.Errorf("became %+v, want %+v", got, tt.to)
			case tt.rule != "" && (!errors.As(err, &illegal) || illegal.Rule != tt.rule):
				t.Errorf("%v, want rule %q", err, tt.rule)
			case tt.rule != "" && illegal.Error() == "":
				t.Error("no words")
			}
		})
	}
}

// Expiry and loss, by kind.
func TestKindsEnvironment(t *testing.T) {
	expire := history.Event{Kind: history.Expire, At: 10 * sec}
	if s, err := Reentrant.Environment(held(a, 1, Never), expire); err != nil || !s.Free() {
		t.Errorf("a lock without leases is lost when its key expires: %v %v", s, err)
	}
	if _, err := Lease.Environment(held(a, 1, Never), expire); err == nil {
		t.Error("a hold without end expired")
	}
	s := held(a, 1, 10*sec)
	s.Token = 7
	if s, err := Fenced.Environment(s, expire); err != nil || s != (State{Token: 7}) {
		t.Errorf("tokens outlive expiry: %v %v", s, err)
	}
}

func TestParseKind(t *testing.T) {
	for _, k := range Kinds() {
		if got, err := ParseKind(string(k)); got != k || err != nil {
			t.Errorf("%s: %s %v", k, got, err)
		}
	}
	if k, err := ParseKind(""); k != Lease || err != nil {
		t.Errorf("the default is %s, %v", k, err)
	}
	if _, err := ParseKind("semaphore"); err == nil {
		t.Error("an unknown kind was taken")
	}
}
