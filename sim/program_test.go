package sim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// record runs the steps of one program.
func record(t *testing.T, s subjects.Subject, steps ...plan.Step) *history.History {
	t.Helper()
	p := &plan.Plan{Version: plan.Version, Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: steps}}}}}
	h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// leases runs the steps of one program, and returns its calls.
func leases(t *testing.T, s subjects.Subject, steps ...plan.Step) []history.Op {
	t.Helper()
	var ops []history.Op
	for _, op := range record(t, s, steps...).Ops {
		if op.Client == "c1" && (op.Kind.Acquires() || op.Kind == history.Unlock) {
			ops = append(ops, op)
		}
	}
	return ops
}

// idle is a lock whose first unlock is given up before it has sent anything.
type idle struct {
	subjects.Client
	done *bool
}

func (c idle) Lock(name string) subjects.Lock { return idleLock{c.Client.Lock(name), c.done} }

type idleLock struct {
	subjects.Lock
	done *bool
}

func (l idleLock) Release(ctx context.Context, owner string) subjects.Answer {
	if !*l.done {
		*l.done = true
		return subjects.Answer{Outcome: history.Failed, Err: context.DeadlineExceeded}
	}
	return l.Lock.Release(ctx, owner)
}

func take(lease time.Duration) plan.Step {
	return plan.Step{Do: plan.TryLock, Lock: "a", Lease: plan.Duration(lease)}
}

// Whose unlock was given up before it was sent still holds the lock, and a re-entry does not shorten the lease of
// that hold.
func TestAnUnlockThatWasNotSentLeavesItsHold(t *testing.T) {
	const second = time.Second
	s := subject(t, "rlock-hardened")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return idle{c, new(bool)}, err
	}
	unlock := plan.Step{Do: plan.Unlock, Lock: "a"}
	ops := leases(t, s, take(20*second), unlock, take(second), unlock, unlock)
	if len(ops) != 5 || ops[1].Outcome != history.Failed {
		t.Fatalf("the first unlock did not fail: %+v", ops)
	}
	if again := ops[2]; again.Lease != 20*second || again.Watchdog {
		t.Errorf("the re-entry: %+v", again)
	}
	if ops[3].Outcome != history.Decremented || ops[3].Lease != 20*second || ops[4].Outcome != history.Released {
		t.Errorf("%+v\n%+v", ops[3], ops[4])
	}
}

// A lock that keeps the longest lease keeps that of the hold. Of any other the lease of the re-entry replaces it, and
// the unlock sets what the hold had.
func TestAReentryWithAnotherLease(t *testing.T) {
	const second = time.Second
	for name, inside := range map[string]time.Duration{"rlock-hardened": 20 * second, "rlock-latch": 5 * second} {
		ops := leases(t, subject(t, name), take(20*second), take(5*second), plan.Step{Do: plan.Unlock, Lock: "a"}, plan.Step{Do: plan.Unlock, Lock: "a"})
		if len(ops) != 4 || ops[1].Lease != inside || ops[2].Outcome != history.Decremented || ops[2].Lease != 20*second {
			t.Errorf("%s: %+v", name, ops)
		}
	}
}

// counter is a client whose lock numbers each grant anew, also that of a re-entry.
type counter struct {
	subjects.Client
	last *int64
}

func (c counter) Lock(name string) subjects.Lock { return countingLock{c.Client.Lock(name), c.last} }

type countingLock struct {
	subjects.Lock
	last *int64
}

func (l countingLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	a := l.Lock.Acquire(ctx, owner, r)
	*l.last++
	a.Token = *l.last
	return a
}

// A re-entry may have a token of its own. Its owner holds the lock under it as before, and works on when it gives that hold back.
func TestAReentryWithATokenOfItsOwn(t *testing.T) {
	s := subject(t, "rlock-latch")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return counter{c, new(int64)}, err
	}
	unlock, works := plan.Step{Do: plan.Unlock, Lock: "a"}, plan.Step{Do: plan.Work, Lock: "a", For: plan.Duration(time.Second)}
	writes := 0
	for _, op := range record(t, s, take(20*time.Second), take(20*time.Second), works, unlock, works, unlock).Ops {
		if op.Kind == history.Write {
			writes++
		}
	}
	if writes != 2 {
		t.Errorf("it works %d times, want 2", writes)
	}
}

// crier is a client whose lock tells of a loss as soon as its owner gives it back.
type crier struct {
	subjects.Client
	lost *chan struct{}
}

func (c crier) Lock(name string) subjects.Lock { return cryingLock{c.Client.Lock(name), c.lost} }

type cryingLock struct {
	subjects.Lock
	lost *chan struct{}
}

func (l cryingLock) Lost(string) <-chan struct{} {
	*l.lost = make(chan struct{})
	return *l.lost
}

func (l cryingLock) Release(ctx context.Context, owner string) subjects.Answer {
	select {
	case <-*l.lost:
	default:
		close(*l.lost)
	}
	return l.Lock.Release(ctx, owner)
}

// What a lock tells its owner within the unlock of its last hold is none of the hold's losses, and is recorded as what it is.
func TestALossThatIsToldWithinAnUnlock(t *testing.T) {
	s := subject(t, "rlock-hardened")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return crier{c, new(chan struct{})}, err
	}
	unlock := plan.Step{Do: plan.Unlock, Lock: "a"}
	for want, steps := range map[history.EventKind][]plan.Step{
		history.LostGiving: {take(0), unlock},
		history.Lost:       {take(0), take(0), unlock, unlock}, // a hold is left of which it is told
	} {
		var told []history.EventKind
		for _, e := range record(t, s, steps...).Events {
			if e.Owner == "c1:1" {
				told = append(told, e.Kind)
			}
		}
		if !slices.Equal(told, []history.EventKind{want}) {
			t.Errorf("told %q, expected %q", told, want)
		}
	}
}

// deaf is a client whose lock gives a context for work that no loss ends.
type deaf struct{ subjects.Client }

func (c deaf) Lock(name string) subjects.Lock { return deafLock{c.Client.Lock(name)} }

type deafLock struct{ subjects.Lock }

func (l deafLock) Lost(owner string) <-chan struct{} { return l.Lock.(subjects.Loser).Lost(owner) }

func (l deafLock) HoldContext(parent context.Context, _ string) (context.Context, context.CancelFunc) {
	return context.WithCancel(parent)
}

// Who works under the context of a hold is told of its loss when that context is over, or else when the work is.
func TestWhoWorksUnderAContextLooksAtNothingElse(t *testing.T) {
	const second = time.Second
	sound, never := subject(t, "rlock-hardened"), subject(t, "rlock-hardened")
	open := never.Open
	never.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return deaf{c}, err
	}
	for _, c := range []struct {
		s        subjects.Subject
		from, to time.Duration
	}{{sound, 1900 * time.Millisecond, 2 * second}, {never, 5 * second, 5100 * time.Millisecond}} {
		h := record(t, c.s, take(2*second), plan.Step{Do: plan.Work, Lock: "a", For: plan.Duration(5 * second)})
		var told []time.Duration
		for _, e := range h.Events {
			if e.Kind == history.Lost && e.Owner == "c1:1" {
				told = append(told, e.At)
			}
		}
		if len(told) != 1 || told[0] < c.from || told[0] > c.to {
			t.Errorf("told at %v, expected between %v and %v", told, c.from, c.to)
		}
	}
}

// A run that has more messages than it may ends with an error; one that has no more does not.
func TestMostMessages(t *testing.T) {
	p := &plan.Plan{Version: plan.Version, Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{take(0)}}}}}}
	s := subject(t, "rlock-classic")
	whole, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most int
		err  error
	}{{whole.End.Messages, nil}, {whole.End.Messages / 2, sim.ErrTooMany}} {
		h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1, Most: c.most})
		if !errors.Is(err, c.err) || c.err == nil && h.End.Trace != whole.End.Trace {
			t.Errorf("with %d messages of %d: %v", c.most, whole.End.Messages, err)
		}
	}
}
