package model

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

const (
	sec = time.Second
	a   = "c1:1"
	b   = "c2:1"
)

// op is an operation that the server executed at 10 s.
func op(kind history.Kind, owner string, out history.Outcome) history.Op {
	return history.Op{ID: 1, Kind: kind, Owner: owner, Lease: 30 * sec, Call: 9 * sec, Return: 11 * sec, Outcome: out,
		Evidence: history.Executed, Executed: 10 * sec, Answer: out}
}

func query(kind history.Kind, owner string, value int64) history.Op {
	q := op(kind, owner, history.OK)
	q.Lease, q.Value = 0, value
	return q
}

// held is a hold whose deadline is known exactly.
func held(owner string, count int64, deadline time.Duration) State {
	return State{Owner: owner, Count: count, Earliest: deadline, Latest: deadline}
}

var free State

// Both sides of every rule: what the lock may answer in a state, and what not.
func TestStep(t *testing.T) {
	tests := []struct {
		name string
		from State
		op   history.Op
		to   State
		rule contract.Rule // broken by the answer; empty: legal
	}{
		{"free lock is granted", free, op(history.Lock, a, history.Acquired), held(a, 1, 40*sec), ""},
		{"own lock is granted again, its lease starts anew", held(a, 1, 20*sec), op(history.TryLock, a, history.Acquired), held(a, 2, 40*sec), ""},
		{"a re-entry may shorten the lease", held(a, 1, 99*sec), op(history.TryLock, a, history.Acquired), held(a, 2, 40*sec), ""},
		{"held lock is granted to another", held(b, 1, 20*sec), op(history.Lock, a, history.Acquired), State{}, contract.OneHolder},
		{"held lock is busy for another", held(b, 1, 20*sec), op(history.TryLock, a, history.Busy), held(b, 1, 20*sec), ""},
		{"free lock is busy", free, op(history.TryLock, a, history.Busy), State{}, contract.BusyWhileHeld},
		{"own lock is busy", held(a, 1, 20*sec), op(history.TryLock, a, history.Busy), State{}, contract.OwnerReenters},
		{"own lock is granted after its deadline", held(a, 1, 9*sec), op(history.Lock, a, history.Acquired), State{}, contract.NotAfterLease},
		{"busy after the deadline of the holder", held(b, 1, 9*sec), op(history.TryLock, a, history.Busy), State{}, contract.NotAfterLease},

		{"last hold is released", held(a, 1, 20*sec), op(history.Unlock, a, history.Released), free, ""},
		{"one of two holds is given back", held(a, 2, 20*sec), op(history.Unlock, a, history.Decremented), held(a, 1, 40*sec), ""},
		{"two holds are released by one unlock", held(a, 2, 20*sec), op(history.Unlock, a, history.Released), State{}, contract.OneHoldAnUnlock},
		{"the last hold is only decremented", held(a, 1, 20*sec), op(history.Unlock, a, history.Decremented), State{}, contract.OneHoldAnUnlock},
		{"another's lock is released", held(b, 1, 20*sec), op(history.Unlock, a, history.Released), State{}, contract.HolderReleases},
		{"another's lock is decremented", held(b, 2, 20*sec), op(history.Unlock, a, history.Decremented), State{}, contract.HolderReleases},
		{"a free lock is released", free, op(history.Unlock, a, history.Released), State{}, contract.HolderReleases},
		{"unlock of another's lock is refused", held(b, 1, 20*sec), op(history.Unlock, a, history.NotHeld), held(b, 1, 20*sec), ""},
		{"unlock of a free lock is refused", free, op(history.Unlock, a, history.NotHeld), free, ""},
		{"the holder's unlock is refused", held(a, 1, 20*sec), op(history.Unlock, a, history.NotHeld), State{}, contract.HolderNotRefused},
		{"released after the deadline", held(a, 1, 9*sec), op(history.Unlock, a, history.Released), State{}, contract.NotAfterLease},

		{"force frees another's lock", held(b, 3, 20*sec), op(history.ForceUnlock, a, history.Released), free, ""},
		{"force of a free lock says so", free, op(history.ForceUnlock, a, history.NotHeld), free, ""},
		{"force of a free lock says it freed it", free, op(history.ForceUnlock, a, history.Released), State{}, contract.ForceTellsTruth},
		{"force of a held lock says it was free", held(b, 1, 20*sec), op(history.ForceUnlock, a, history.NotHeld), State{}, contract.ForceTellsTruth},

		{"the holder renews", held(a, 2, 20*sec), op(history.Renew, a, history.Renewed), held(a, 2, 40*sec), ""},
		{"another renews", held(b, 1, 20*sec), op(history.Renew, a, history.Renewed), State{}, contract.HolderRenews},
		{"a free lock is renewed", free, op(history.Renew, a, history.Renewed), State{}, contract.HolderRenews},
		{"another's renewal is refused", held(b, 1, 20*sec), op(history.Renew, a, history.NotHeld), held(b, 1, 20*sec), ""},
		{"the holder's renewal is refused", held(a, 1, 20*sec), op(history.Renew, a, history.NotHeld), State{}, contract.RenewalNotDenied},
		{"renewed after the deadline", held(a, 1, 9*sec), op(history.Renew, a, history.Renewed), State{}, contract.NotAfterLease},

		{"isLocked: yes", held(b, 1, 20*sec), query(history.IsLocked, a, 1), held(b, 1, 20*sec), ""},
		{"isLocked: no, though held", held(b, 1, 20*sec), query(history.IsLocked, a, 0), State{}, contract.QueryTellsTruth},
		{"isLocked: yes, though free", free, query(history.IsLocked, a, 1), State{}, contract.QueryTellsTruth},
		{"isLocked: yes, after the deadline", held(b, 1, 9*sec), query(history.IsLocked, a, 1), State{}, contract.NotAfterLease},
		{"isHeldBy: yes", held(a, 1, 20*sec), query(history.IsHeldBy, a, 1), held(a, 1, 20*sec), ""},
		{"isHeldBy: yes, though another holds", held(b, 1, 20*sec), query(history.IsHeldBy, a, 1), State{}, contract.QueryTellsTruth},
		{"holdCount", held(a, 3, 20*sec), query(history.HoldCount, a, 3), held(a, 3, 20*sec), ""},
		{"holdCount of another's lock", held(b, 3, 20*sec), query(history.HoldCount, a, 0), held(b, 3, 20*sec), ""},
		{"holdCount, one off", held(a, 3, 20*sec), query(history.HoldCount, a, 2), State{}, contract.QueryTellsTruth},
		{"remainingTTL", held(b, 1, 20*sec), query(history.RemainingTTL, a, int64(10*sec)), held(b, 1, 20*sec), ""},
		{"remainingTTL, too long", held(b, 1, 20*sec), query(history.RemainingTTL, a, int64(11*sec)), State{}, contract.QueryTellsTruth},
		{"remainingTTL, too short", held(b, 1, 20*sec), query(history.RemainingTTL, a, int64(9*sec)), State{}, contract.QueryTellsTruth},
		{"remainingTTL: no key", free, query(history.RemainingTTL, a, -2), free, ""},
		{"remainingTTL: no key, though held", held(b, 1, 20*sec), query(history.RemainingTTL, a, -2), State{}, contract.QueryTellsTruth},
		{"remainingTTL: no expiry", held(b, 1, Never), query(history.RemainingTTL, a, -1), held(b, 1, Never), ""},
		{"remainingTTL: no expiry, though leased", held(b, 1, 20*sec), query(history.RemainingTTL, a, -1), State{}, contract.QueryTellsTruth},

		{"a failed call changes nothing", held(b, 1, 9*sec), op(history.Lock, a, history.Failed), held(b, 1, 9*sec), ""},
		{"nor does it on a free lock", free, op(history.Lock, a, history.Failed), free, ""},
		{"nor of one's own hold", held(a, 1, 20*sec), op(history.Unlock, a, history.Failed), held(a, 1, 20*sec), ""},
		{"a value of the resource is no sign of a hold", held(b, 1, 9*sec), query(history.Read, a, 7), held(b, 1, 9*sec), ""},
		{"reads of the resource are none of the lock's business", held(b, 1, 9*sec), op(history.Read, a, history.OK), held(b, 1, 9*sec), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.from
			got, err := Step(tt.from, tt.op)
			check(t, got, err, tt.to, tt.rule)
			if tt.from != before {
				t.Errorf("Step changed its argument to %v", tt.from)
			}
		})
	}
}

func check(t *testing.T, got State, err error, want State, rule contract.Rule) {
	t.Helper()
	var e *Illegal
	switch {
	case rule == "" && err != nil:
		t.Errorf("refused: %v", err)
	case rule == "" && got != want:
		t.Errorf("next state %+v, want %+v", got, want)
	case rule != "" && err == nil:
		t.Errorf("accepted, next state %+v", got)
	case rule != "" && (!errors.As(err, &e) || e.Rule != rule):
		t.Errorf("refused by the wrong rule: %v", err)
	}
}

func TestIllegalSpeaksInWords(t *testing.T) {
	step := func(s State, o history.Op) error { _, err := Step(s, o); return err }
	happen := func(s State, e history.Event) error { _, err := Environment(s, e); return err }
	for want, err := range map[string]error{
		"unlock by c2:1 answered released, but the lock is held by c1:1":         step(held(a, 1, 20*sec), op(history.Unlock, b, history.Released)),
		"unlock by c1:1 answered released, but the lock is held 2 times by c1:1": step(held(a, 2, 20*sec), op(history.Unlock, a, history.Released)),
		"tryLock by c1:1 answered busy, but the lock is free":                    step(free, op(history.TryLock, a, history.Busy)),
		"holdCount by c1:1 answered 3, but the lock is held by c1:1":             step(held(a, 1, 20*sec), query(history.HoldCount, a, 3)),
		"the key expired at 5.000 s, but the lease of c1:1 lasts until 20.000 s": happen(held(a, 1, 20*sec), history.Event{Kind: history.Expire, At: 5 * sec}),
		"the key expired at 5.000 s, but the lease of c1:1 lasts for ever":       happen(held(a, 1, Never), history.Event{Kind: history.Expire, At: 5 * sec}),
		"the key expired at 5.000 s, but the lock is free":                       happen(free, history.Event{Kind: history.Expire, At: 5 * sec}),
		"the key was still there at 25.000 s, but the lease of c1:1 had ended by 20.000 s": happen(held(a, 1, 20*sec),
			history.Event{Kind: history.Leftover, At: 25 * sec}),
		"tryLock by c2:1 answered busy at 10.000 s, but the lease of c1:1 had ended by 9.000 s and nothing removed the key": step(held(a, 1, 9*sec),
			op(history.TryLock, b, history.Busy)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	expire := func(at time.Duration) history.Event { return history.Event{Kind: history.Expire, At: at} }
	loose := State{Owner: a, Count: 1, Earliest: 18 * sec, Latest: 22 * sec}
	tests := []struct {
		name  string
		from  State
		event history.Event
		to    State
		rule  contract.Rule
	}{
		{"expires at its deadline", held(a, 1, 20*sec), expire(20 * sec), free, ""},
		{"expires within the granularity of deadlines", held(a, 1, 20*sec), expire(20*sec - Granularity), free, ""},
		{"expires before its deadline", held(a, 2, 20*sec), expire(19 * sec), State{}, contract.NotBeforeLease},
		{"expires when it may have to", loose, expire(18 * sec), free, ""},
		{"expires before it may", loose, expire(17 * sec), State{}, contract.NotBeforeLease},
		{"expires though it has no deadline", held(a, 1, Never), expire(99 * sec), State{}, contract.NotBeforeLease},
		{"expires though free", free, expire(20 * sec), State{}, contract.ExpiryOfAHold},
		{"deleted before its deadline", held(a, 2, 20*sec), history.Event{Kind: history.Delete, At: sec}, free, ""},
		{"deleted though free", free, history.Event{Kind: history.Delete, At: sec}, free, ""},
		{"TTL forced", held(a, 2, 20*sec), history.Event{Kind: history.ForceTTL, At: sec, Deadline: 2 * sec}, held(a, 2, 2*sec), ""},
		{"TTL removed", held(a, 2, 20*sec), history.Event{Kind: history.ForceTTL, At: sec}, held(a, 2, Never), ""},
		{"restored", held(b, 1, 20*sec), history.Event{Kind: history.Restore, At: sec, Owner: a, Count: 2, Deadline: 2 * sec}, held(a, 2, 2*sec), ""},
		{"restored though free", free, history.Event{Kind: history.Restore, At: sec, Owner: a, Count: 1}, held(a, 1, Never), ""},
		{"TTL forced though free", free, history.Event{Kind: history.ForceTTL, At: sec, Deadline: 2 * sec}, free, ""},
		{"the server's clock jumps forward", held(a, 1, 20*sec), history.Event{Kind: history.ClockJump, At: sec, By: 5 * sec}, held(a, 1, 15*sec), ""},
		{"a clock jump leaves what has no deadline", held(a, 1, Never), history.Event{Kind: history.ClockJump, At: sec, By: 5 * sec}, held(a, 1, Never), ""},
		{"a clock jump leaves a free lock free", free, history.Event{Kind: history.ClockJump, At: sec, By: 5 * sec}, free, ""},
		{"left over before its deadline", held(a, 1, 20*sec), history.Event{Kind: history.Leftover, At: 19 * sec}, held(a, 1, 20*sec), ""},
		{"left over after its deadline", held(a, 1, 20*sec), history.Event{Kind: history.Leftover, At: 21 * sec}, State{}, contract.NotAfterLease},
		{"the death of a client is no matter of the lock", held(a, 1, 20*sec), history.Event{Kind: history.Died, At: sec}, held(a, 1, 20*sec), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Environment(tt.from, tt.event)
			check(t, got, err, tt.to, tt.rule)
		})
	}
}

func TestDeadlineIsAsWideAsTheKnowledge(t *testing.T) {
	exact := op(history.Lock, a, history.Acquired)
	seen := exact
	seen.Evidence = history.NoEvidence
	pending := seen
	pending.Return, pending.Outcome = 0, ""
	gaveUp := seen
	gaveUp.Outcome = history.Unknown
	unleased := exact
	unleased.Lease = 0
	for name, tt := range map[string]struct {
		op               history.Op
		earliest, latest time.Duration
	}{
		"executed":                           {exact, 40 * sec, 40 * sec},
		"seen by the client":                 {seen, 39 * sec, 41 * sec},
		"pending":                            {pending, 39 * sec, Never},
		"unknown: may come after its return": {gaveUp, 39 * sec, Never},
		"no lease":                           {unleased, Never, Never},
	} {
		got, err := Step(free, tt.op)
		if err != nil || got != (State{Owner: a, Count: 1, Earliest: tt.earliest, Latest: tt.latest}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A call whose end nobody knows may have had whatever answer the state gives, and is never
// refused.
func TestUncertainCallsTakeWhateverAnswerThereIs(t *testing.T) {
	for _, tt := range []struct {
		kind  history.Kind
		from  State
		owner string
		count int64
	}{
		{history.Lock, free, a, 1},
		{history.Lock, held(a, 1, 20*sec), a, 2},
		{history.Lock, held(b, 1, 20*sec), b, 1},
		{history.Unlock, held(a, 2, 20*sec), a, 1},
		{history.Unlock, held(a, 1, 20*sec), "", 0},
		{history.Unlock, held(b, 1, 20*sec), b, 1},
		{history.Unlock, free, "", 0},
		{history.ForceUnlock, held(b, 1, 20*sec), "", 0},
		{history.ForceUnlock, free, "", 0},
		{history.Renew, held(b, 1, 20*sec), b, 1},
		{history.Renew, held(a, 1, 20*sec), a, 1},
		{history.IsLocked, held(b, 1, 20*sec), b, 1},
		{history.HoldCount, held(a, 2, 20*sec), a, 2},
		{history.Lock, held(b, 1, 5*sec), b, 1}, // its deadline is past, but who knows when this came
	} {
		o := op(tt.kind, a, history.Unknown)
		o.Evidence = history.NoEvidence
		got, err := Step(tt.from, o)
		if err != nil || got.Owner != tt.owner || got.Count != tt.count {
			t.Errorf("%s on %v: %+v, %v", tt.kind, tt.from, got, err)
		}
	}
}

// A jump of the server's clock may end a lease before the run began, by what the clock says since: that is no time to tell.
func TestALeaseThatAJumpEndedIsToldWithoutATime(t *testing.T) {
	for _, tt := range []struct {
		latest time.Duration
		says   string
	}{{-sec, "had ended when the server's clock jumped"}, {sec, "had ended by 1.000 s"}} {
		err := &Illegal{Rule: contract.NotAfterLease, State: State{Owner: a, Count: 1, Latest: tt.latest}, Op: op(history.Unlock, a, history.Released)}
		if !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q", tt.latest, err)
		}
	}
}
