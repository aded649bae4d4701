package external

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// bent is a lock that does something else than the reference lock, which it has.
type bent struct {
	whole
	bend bend
	name string
}

// whole is all that the reference lock can do.
type whole interface {
	subjects.Lock
	subjects.ForceReleaser
	subjects.Inspector
	subjects.Loser
}

// bend changes what a call asks, or what it is answered.
type bend struct {
	request func(r *subjects.Request)
	answer  func(op history.Kind, a *subjects.Answer)
	of      string   // another generation
	can     []string // what it claims; default what the lock does
	deaf    bool     // to losses
	once    bool     // the holder is not let in again
	patient bool     // does not heed the end of its context
	fragile bool     // dies without Redis
	local   *inProcess
}

// bends are the locks by name; "good" is the reference lock.
var bends = map[string]bend{
	"good": {},
	"lets everybody in": {answer: func(_ history.Kind, a *subjects.Answer) {
		if a.Outcome == history.Busy {
			a.Outcome, a.Token = history.Acquired, 1
		}
	}},
	"waits, whatever was asked": {request: func(r *subjects.Request) { r.Forever = true }},
	"never waits":               {request: func(r *subjects.Request) { r.Forever, r.Wait = false, 0 }},
	"leases for ever":           {request: func(r *subjects.Request) { r.Lease = time.Hour }},
	"leases too short": {request: func(r *subjects.Request) {
		if r.Lease < long {
			r.Lease /= 4
		}
	}},
	"no watchdog": {request: func(r *subjects.Request) {
		if r.Lease == 0 {
			r.Lease = checkWatchdog
		}
	}},
	"one token for all": {answer: func(_ history.Kind, a *subjects.Answer) { a.Token = min(a.Token, 1) }},
	"polite to strangers": {answer: func(op history.Kind, a *subjects.Answer) {
		if op == history.Unlock && a.Outcome == history.NotHeld {
			a.Outcome = history.Released
		}
	}},
	"forces nothing": {answer: func(op history.Kind, a *subjects.Answer) {
		if op == history.ForceUnlock {
			a.Outcome = history.NotHeld
		}
	}},
	"counts badly": {answer: func(op history.Kind, a *subjects.Answer) {
		if op == history.HoldCount {
			a.Value = 1
		}
	}},
	"gives up early": {request: func(r *subjects.Request) {
		if r.Wait > 0 {
			r.Wait = 50 * time.Millisecond
		}
	}},
	"modest": {can: []string{"reentrant"}},
	"deaf":   {deaf: true},
	"void unlock": {answer: func(op history.Kind, a *subjects.Answer) {
		if op == history.Unlock && a.Err == nil {
			a.Outcome = history.Unlocked
		}
	}},
	"lets its holder out": {once: true},
	"re-enters too short": {of: "rlock-latch", can: []string{"reentrant", "keeps-longest"}},
	"leaves the lease":    {of: "broken-unlock-keeps-lease", can: []string{"reentrant", "unlock-sets-lease"}},
	"apart within":        {of: "rlock-latch", can: []string{"reentrant", "local-holds"}},
	"local":               {of: "rlock-latch", can: []string{"reentrant", "local-holds"}, local: &inProcess{by: map[string]string{}}},
	"needs Redis":         {fragile: true},
	"talks to stderr": {answer: func(history.Kind, *subjects.Answer) {
		os.Stderr.Write(make([]byte, 1<<20))
	}},
	"cannot cancel": {patient: true},
}

// inProcess are the owners of a process that have locks, by these.
type inProcess struct {
	mu    sync.Mutex
	by    map[string]string
	freed chan struct{} // closed when one of the locks is free again
}

// take has an owner have a lock, unless another owner of the process has it; it waits for that for so long.
func (l *inProcess) take(ctx context.Context, lock, owner string, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		l.mu.Lock()
		if l.by[lock] == "" || l.by[lock] == owner {
			l.by[lock] = owner
			l.mu.Unlock()
			return true
		}
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (l *inProcess) give(lock, owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[lock] != owner {
		return
	}
	delete(l.by, lock)
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

func bentBy(b bend) subjects.Subject {
	s := reference()
	if b.of != "" {
		var ok bool
		if s, ok = libraries.Find(b.of); !ok {
			l, _ := broken.Find(b.of)
			s = l.Subject
		}
	}
	if b.can != nil {
		s.Abilities, s.Idempotent = b.can, nil
	}
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		if b.fragile && e.Redis.Ping(context.Background()).Err() != nil {
			os.Exit(5)
		}
		c, err := open(e)
		return bentClient{c, b}, err
	}
	return s
}

type bentClient struct {
	subjects.Client
	bend bend
}

func (c bentClient) Lock(name string) subjects.Lock {
	return bent{c.Client.Lock(name).(whole), c.bend, name}
}

func (l bent) told(op history.Kind, a subjects.Answer) subjects.Answer {
	if l.bend.answer != nil {
		l.bend.answer(op, &a)
	}
	return a
}

func (l bent) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	if l.bend.once && l.Inspect(ctx, history.IsHeldBy, owner).Value == 1 {
		return subjects.Answer{Outcome: history.Busy}
	}
	if l.bend.patient {
		ctx = context.WithoutCancel(ctx)
	}
	if l.bend.request != nil {
		l.bend.request(&r)
	}
	if in := l.bend.local; in != nil {
		wait := r.Wait
		if r.Forever {
			wait = time.Hour
		}
		if !in.take(ctx, l.name, owner, wait) {
			return subjects.Answer{Outcome: history.Busy}
		}
		a := l.whole.Acquire(ctx, owner, r)
		if a.Outcome != history.Acquired {
			in.give(l.name, owner)
		}
		return a
	}
	return l.told(history.Lock, l.whole.Acquire(ctx, owner, r))
}

func (l bent) Release(ctx context.Context, owner string) subjects.Answer {
	if in := l.bend.local; in != nil {
		defer in.give(l.name, owner)
	}
	return l.told(history.Unlock, l.whole.Release(ctx, owner))
}

func (l bent) ForceRelease(ctx context.Context) subjects.Answer {
	return l.told(history.ForceUnlock, l.whole.ForceRelease(ctx))
}

func (l bent) Inspect(ctx context.Context, question history.Kind, owner string) subjects.Answer {
	return l.told(question, l.whole.Inspect(ctx, question, owner))
}

func (l bent) Lost(owner string) <-chan struct{} {
	if l.bend.deaf {
		return nil
	}
	return l.whole.Lost(owner)
}
