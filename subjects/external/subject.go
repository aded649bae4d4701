package external

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Prefix is what the names of these subjects begin with; the command follows.
const Prefix = "exec:"

// Subject is the lock that a command's processes speak for: "exec:" and a program with its arguments,
// separated by spaces. It starts one, to hear what the lock claims, and ends it; ctx bounds only that. Each client that is
// opened is a process of its own, and a [subjects.Process]; it ends with this process at the latest.
//
// A worker that breaks the protocol, or ends before it is told to, fails its client: the error goes to
// Env.Fail, and the client's calls end Unknown, or Failed if they were not made yet.
func Subject(ctx context.Context, name string) (subjects.Subject, error) {
	return subject(ctx, name, strings.Fields(strings.TrimPrefix(name, Prefix)), usual)
}

// Program is the same for a program with its arguments, under a name of its own.
func Program(ctx context.Context, name string, words []string) (subjects.Subject, error) {
	return subject(ctx, name, words, usual)
}

func subject(ctx context.Context, name string, words []string, l limits) (subjects.Subject, error) {
	c, err := dial(ctx, words, nil, l)
	if err != nil {
		return subjects.Subject{}, err
	}
	if err := c.Close(); err != nil {
		return subjects.Subject{}, err
	}
	claimed := c.hello.Abilities
	can := slices.DeleteFunc(slices.Clone(claimed), func(a string) bool { return a == cancels })
	object := c.hello.Object
	switch being, is := beings[object]; {
	case is:
		can = append([]string{string(being)}, can...)
	case len(can) == 0:
		can = []string{string(contract.Mutex)}
	}
	s := subjects.Subject{
		Name: name, About: c.hello.Name + " " + c.hello.Version, External: true,
		Object:     object,
		Abilities:  can,
		Idempotent: c.hello.Idempotent,
		RenewPart:  c.hello.RenewPart, AnswerTimeout: c.hello.AnswerTimeout,
		Patient: !slices.Contains(claimed, cancels),
		Resends: c.hello.Hello < 2, // it is not told what a plan says
		Open: func(e subjects.Env) (subjects.Client, error) {
			if e.Addr == "" {
				return nil, fmt.Errorf("worker %q: there is no server that a process could dial in this world", strings.Join(words, " "))
			}
			c, err := dial(context.Background(), words, &e, l)
			if err != nil {
				return nil, err
			}
			if !slices.Equal(c.hello.Abilities, claimed) {
				c.fail("its hello claims %q, and that of another process of it %q", c.hello.Abilities, claimed)
			} else if c.hello.Object != object {
				c.fail("its hello has the object %q, and that of another process of it %q", c.hello.Object, object)
			} else if err = c.start(); err == nil {
				return c, nil
			}
			if failed := c.Close(); err == nil {
				err = failed
			}
			return nil, err
		},
	}
	if q := c.hello.Queue; q != nil {
		s.Layout.Queue, s.Layout.QueuePrefix, s.PlaceKept, s.PlacePart = q.Key, q.Prefix, q.Kept, q.KeptPart
	}
	if kept := c.hello.MarkKept; kept > 0 {
		s.PlaceKept = kept
	}
	s.Layout.Round = c.hello.Round
	s.Layout.Taken, s.Layout.Absolute = c.hello.Taken, c.hello.Taken != ""
	return s, nil
}

// Lock implements [subjects.Client].
func (c *client) Lock(name string) subjects.Lock {
	l := lock{c: c, name: name}
	force, inspect := slices.Contains(c.hello.Abilities, "force"), slices.Contains(c.hello.Abilities, "inspect")
	switch {
	case force && inspect:
		return struct {
			lock
			forcer
			inspector
		}{l, forcer{l}, inspector{l}}
	case force:
		return struct {
			lock
			forcer
		}{l, forcer{l}}
	case inspect:
		return struct {
			lock
			inspector
		}{l, inspector{l}}
	}
	return l
}

// lock is a lock, or one of the two of a read-write lock.
type lock struct {
	c      *client
	name   string
	object history.Object
	writes bool // it is the write lock
}

// holder is what an owner is called as a holder of the lock.
func (l lock) holder(owner string) string {
	if l.writes {
		return history.WriterOf(owner)
	}
	return owner
}

// asks is a request for the lock, of a kind that is a lock's.
func (l lock) asks(kind history.Kind, owner string) request {
	return request{Kind: kind.As(l.object, l.holder(owner)), Lock: l.name, Owner: owner}
}

func (l lock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	req := l.asks(history.TryLock, owner)
	req.Wait, req.Lease = r.Wait, r.Lease
	if r.Forever {
		req = l.asks(history.Lock, owner)
		req.Lease = r.Lease
	}
	if r.Lease == 0 {
		req.Lease, req.Watchdog = l.c.env.WatchdogTimeout, l.c.hello.Hello > 1 || slices.Contains(l.c.hello.Abilities, "watchdog")
	}
	return l.c.do(ctx, req)
}

func (l lock) Release(ctx context.Context, owner string) subjects.Answer {
	return l.c.do(ctx, l.asks(history.Unlock, owner))
}

// Lost implements [subjects.Loser].
func (l lock) Lost(owner string) <-chan struct{} {
	if !slices.Contains(l.c.hello.Abilities, "lost") {
		return nil
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if held := l.c.holds[hold{l.name, l.holder(owner)}]; held != nil {
		return held.lost
	}
	over := make(chan struct{})
	close(over)
	return over
}

type forcer struct{ l lock }

func (f forcer) ForceRelease(ctx context.Context) subjects.Answer {
	return f.l.c.do(ctx, request{Kind: history.ForceUnlock.As(f.l.object, f.l.holder("")), Lock: f.l.name})
}

type inspector struct{ l lock }

func (i inspector) Inspect(ctx context.Context, question history.Kind, owner string) subjects.Answer {
	return i.l.c.do(ctx, request{Kind: question, Lock: i.l.name, Owner: owner})
}

var _ interface {
	subjects.Client
	subjects.Process
	subjects.Namer
	subjects.Semaphores
	subjects.PermitSemaphores
	subjects.Latches
	subjects.ReadWriteLocks
} = (*client)(nil)

var _ subjects.Loser = lock{}
