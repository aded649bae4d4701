package subjects

import (
	"context"
	"slices"
	"sync"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// Ported returns locks that are ported with their defects. Scenarios expect nothing of them in particular: what a
// defect breaks is told as one, as with the original.
func Ported() []Subject {
	return []Subject{
		rlockCurrent("rlock-current", "Redisson 3.44 to 4.7, defects of lease and watchdog included; each thread has an RLock of its own", false),
		rlockCurrent("rlock-current-shared", "the same, all threads of a process sharing one RLock", true),
	}
}

// rlockCurrent is the reference lock of generation [lockimpl.Current], whose RLocks are either a thread's own, or shared.
// It has the limitations that the real one has.
func rlockCurrent(name, about string, shared bool) Subject {
	s := rlock(lockimpl.Current, about)
	s.Name, s.Groups = name, nil
	// A round of renewals begins a third of the lease after the one before has ended.
	s.Abilities = slices.DeleteFunc(s.Abilities, func(a string) bool { return a == string(contract.Steady) })
	s.Limitations = append(s.Limitations, history.Limitation{Rule: string(contract.NoRenewalAfter), Calls: unlocks,
		Source: "Redisson's RenewalTask: an unlock does not call off a renewal that has begun"})
	open := s.Open
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return &objectsClient{rlockClient: c.(rlockClient), shared: shared, locks: map[objectKey]*lockimpl.RLock{}}, nil
	}
	return s
}

// objectsClient keeps its RLocks, as a program does that asks for each once.
type objectsClient struct {
	rlockClient
	shared bool

	mu    sync.Mutex
	locks map[objectKey]*lockimpl.RLock
}

type objectKey struct{ owner, name string }

func (c *objectsClient) Lock(name string) Lock { return objectLock{c, name} }

// objectLock is the lock of a name, by whichever RLock is its caller's.
type objectLock struct {
	c    *objectsClient
	name string
}

func (l objectLock) of(owner string) rlockLock {
	if l.c.shared {
		owner = ""
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	key := objectKey{owner, l.name}
	if l.c.locks[key] == nil {
		l.c.locks[key] = l.c.c.Lock(l.name)
	}
	return rlockLock{l.c.locks[key]}
}

func (l objectLock) Acquire(ctx context.Context, owner string, r Request) Answer {
	return l.of(owner).Acquire(ctx, owner, r)
}

func (l objectLock) Release(ctx context.Context, owner string) Answer {
	return l.of(owner).Release(ctx, owner)
}

func (l objectLock) ForceRelease(ctx context.Context) Answer { return l.of("").ForceRelease(ctx) }

func (l objectLock) Inspect(ctx context.Context, question history.Kind, owner string) Answer {
	return l.of(owner).Inspect(ctx, question, owner)
}
