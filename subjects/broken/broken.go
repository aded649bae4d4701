// Package broken keeps locks that are broken on purpose: each is the reference lock with one small,
// realistic mistake, of generation latch unless the mistake needs another. A checker that has never
// been seen to refuse one of them is not tested.
//
// Mistakes in scripts are made on the way to the server, in a client between ([edit]): the lock itself is as shipped.
// Others are made in an adapter around it. It must not know how a lock is judged; what must catch
// each mistake is said by name.
//
// To add one: a line in [All], [Semaphores], [PermitSemaphores], [Latches] or [RWLocks].
package broken

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Lock is a broken lock.
type Lock struct {
	subjects.Subject
	Sound    string // the subject that the mistake was made in
	CaughtBy string // the guarantee that must be found broken
}

// All returns the broken locks.
func All() []Lock {
	return slices.Concat(basic(), inScripts(), inHardened(), inClients())
}

// basic are the mistakes that the checkers were written against.
func basic() []Lock {
	return []Lock{
		script("unlock-anybodys", "unlock does not ask who holds the lock", "object",
			"if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then\n  return nil\nend\n", ""),
		script("unlock-twice", "unlock takes back two holds", "object",
			"redis.call('hincrby', KEYS[1], ARGV[3], -1)", "redis.call('hincrby', KEYS[1], ARGV[3], -2)"),
		script("unlock-keeps-lease", "a partial unlock does not set the lease anew", "object",
			"  redis.call('pexpire', KEYS[1], ARGV[2])\n", ""),
		script("unlock-keeps-key", "the last unlock leaves the key", "object",
			"redis.call('del', KEYS[1])\n", ""),
		script("unlock-silent", "the release is not published", "liveness",
			"redis.call('publish', KEYS[2], ARGV[1])\n", ""),
		script("acquire-anyway", "acquire does not ask whether somebody holds the lock", "object",
			"if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then", "if true then"),
		script("acquire-never", "acquire says busy while the lock is free", "object",
			"if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then", "if false then"),
		script("reentry-keeps-lease", "re-entry does not set the lease anew", "object",
			"  redis.call('pexpire', KEYS[1], ARGV[1])\n  return nil", "  if redis.call('pttl', KEYS[1]) < 0 then\n    redis.call('pexpire', KEYS[1], ARGV[1])\n  end\n  return nil"),
		script("lease-short", "the key's time to live is half of the lease", "object",
			"redis.call('pexpire', KEYS[1], ARGV[1])\n  return nil", "redis.call('pexpire', KEYS[1], ARGV[1] / 2)\n  return nil"),
		script("lease-endless", "acquire sets no time to live", "object",
			"  redis.call('pexpire', KEYS[1], ARGV[1])\n  return nil", "  return nil"),
		script("renew-anybodys", "renewal does not ask who holds the lock", "object",
			"redis.pcall('hexists', KEYS[i], ARGV[i + 1]) == 1", "redis.call('exists', KEYS[i]) == 1"),
		script("renew-nothing", "renewal says that it renewed, and does not", "watchdog",
			"    redis.call('pexpire', KEYS[i], ARGV[1])\n", ""),
		scriptOf("rlock-hardened", "token-again", "a grant gets the token of the grant before it", "fencing",
			"answer = call('incr', KEYS[2])\n", "answer = tonumber(call('get', KEYS[2]) or call('incr', KEYS[2]))\n"),
		adapter("renew-for-ever", "renewal goes on after the unlock", "watchdog",
			func(l subjects.Lock, name string, e *env) subjects.Lock { return &immortal{mistake{Lock: l}, name, e} }),
		adapter("is-locked-lies", "isLocked always says no", "object",
			func(l subjects.Lock, _ string, _ *env) subjects.Lock { return &liar{mistake{Lock: l}} }),
	}
}

// base is the lock that most mistakes are made in.
const base = "rlock-latch"

// Everything returns the broken objects of all kinds, locks first, but for the locks of [Groups].
func Everything() []Lock {
	return slices.Concat(All(), Semaphores(), Latches(), RWLocks(), PermitSemaphores())
}

// Find returns the broken lock of that name, of [Everything] or of [Groups].
func Find(name string) (Lock, bool) {
	for _, l := range append(Everything(), Groups()...) {
		if l.Name == name {
			return l, true
		}
	}
	return Lock{}, false
}

func named(base, name, about string) subjects.Subject {
	s, ok := subjects.Find(base)
	if !ok {
		panic("no " + base)
	}
	s.Name, s.About = "broken-"+name, about
	s.Groups = nil // mistakes are made in single locks, but for those of Groups
	return s
}

// script is a lock in one of whose scripts old is replaced by new.
func script(name, about, caughtBy, old, new string) Lock {
	return scriptOf(base, name, about, caughtBy, old, new)
}

func scriptOf(base, name, about, caughtBy, old, new string) Lock {
	s := named(base, name, about)
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		made := &edit{inner: e.Redis, old: old, new: new, sources: map[string]string{}}
		shell := redis.NewClient(e.Redis.(*redis.Client).Options())
		shell.AddHook(made)
		e.Redis = shell
		c, err := open(e)
		if err != nil {
			return nil, errors.Join(err, shell.Close())
		}
		return &checkedClient{c, shell, made}, nil
	}
	return Lock{Subject: s, Sound: base, CaughtBy: caughtBy}
}

// edit is the hook of a client that hands its commands on to another, scripts with a part replaced.
// So the lock sees a client as any other, not a wrapped one, of which it could not know whether it
// has a single server behind it; and the world sees the commands that are sent. A script is known by
// its source once it was sent whole, which happens first, since the server never gets to know it by
// its digest.
type edit struct {
	inner    redis.UniversalClient
	old, new string

	mu      sync.Mutex
	sources map[string]string // by digest
	applied bool
}

func (e *edit) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e *edit) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		e.edit(cmd)
		return e.inner.Process(ctx, cmd)
	}
}

func (e *edit) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		_, err := e.inner.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, cmd := range cmds {
				e.edit(cmd)
				_ = p.Process(ctx, cmd) // only queues it
			}
			return nil
		})
		return err
	}
}

// edit edits a script's source; all else is as it was.
func (e *edit) edit(cmd redis.Cmder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	args := cmd.Args()
	switch args[0] {
	case "evalsha":
		if source, ok := e.sources[args[1].(string)]; ok {
			args[0], args[1] = "eval", source
		}
	case "eval":
		source := args[1].(string)
		if strings.Contains(source, e.old) {
			e.applied = true
		}
		edited := strings.Replace(source, e.old, e.new, 1)
		e.sources[digest(source)] = edited
		args[1] = edited
	}
}

func digest(source string) string { return redis.NewScript(source).Hash() }

// Applied reports whether the mistake was made at all.
func (e *edit) Applied() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.applied
}

// checkedClient shows whether its mistake was made.
type checkedClient struct {
	subjects.Client
	shell *redis.Client
	edit  *edit
}

// All implements [subjects.MultiLocker] for the mistakes of [Groups].
func (c *checkedClient) All(locks []subjects.Lock) (subjects.Lock, error) {
	return c.Client.(subjects.MultiLocker).All(locks)
}

// Quorum implements [subjects.MultiLocker].
func (c *checkedClient) Quorum(locks []subjects.Lock) (subjects.Lock, error) {
	return c.Client.(subjects.MultiLocker).Quorum(locks)
}

// Semaphore implements [subjects.Semaphores] for the mistakes of [Semaphores].
func (c *checkedClient) Semaphore(name string) subjects.Semaphore {
	return c.Client.(subjects.Semaphores).Semaphore(name)
}

// Latch implements [subjects.Latches] for the mistakes of [Latches].
func (c *checkedClient) Latch(name string) subjects.Latch {
	return c.Client.(subjects.Latches).Latch(name)
}

// PermitSemaphore implements [subjects.PermitSemaphores] for the mistakes of [PermitSemaphores].
func (c *checkedClient) PermitSemaphore(name string) subjects.PermitSemaphore {
	return c.Client.(subjects.PermitSemaphores).PermitSemaphore(name)
}

// ReadLock implements [subjects.ReadWriteLocks] for the mistakes of [RWLocks].
func (c *checkedClient) ReadLock(name string) subjects.Lock {
	return c.Client.(subjects.ReadWriteLocks).ReadLock(name)
}

// WriteLock implements [subjects.ReadWriteLocks] for the mistakes of [RWLocks].
func (c *checkedClient) WriteLock(name string) subjects.Lock {
	return c.Client.(subjects.ReadWriteLocks).WriteLock(name)
}

func (c *checkedClient) Close() error { return errors.Join(c.Client.Close(), c.shell.Close()) }

// Applied reports whether a client of a [Lock] has made its mistake; one that is made nowhere proves
// nothing.
func Applied(c subjects.Client) bool {
	k, ok := c.(*checkedClient)
	return !ok || k.edit.Applied()
}

// env is what an adapter needs of its client.
type env struct {
	subjects.Env
	ctx  context.Context
	stop context.CancelFunc
}

// adapter is a lock with a mistake made around it.
func adapter(name, about, caughtBy string, wrap func(l subjects.Lock, name string, e *env) subjects.Lock) Lock {
	s := named(base, name, about)
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		around := &env{Env: e}
		around.ctx, around.stop = context.WithCancel(context.Background())
		return &adapted{c, around, wrap}, nil
	}
	return Lock{Subject: s, Sound: base, CaughtBy: caughtBy}
}

type adapted struct {
	subjects.Client
	env  *env
	wrap func(l subjects.Lock, name string, e *env) subjects.Lock
}

func (c *adapted) Lock(name string) subjects.Lock { return c.wrap(c.Client.Lock(name), name, c.env) }

func (c *adapted) Close() error {
	c.env.stop()
	return c.Client.Close()
}

// around is an object with a mistake made in a client around its own.
func around(base, name, about, caughtBy string, wrap func(subjects.Client) subjects.Client) Lock {
	s := named(base, name, about)
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
	return Lock{Subject: s, Sound: base, CaughtBy: caughtBy}
}

// immortal renews after an unlock as before it.
type immortal struct {
	mistake
	name string
	env  *env
}

func (l *immortal) Release(ctx context.Context, owner string) subjects.Answer {
	a := l.Lock.Release(ctx, owner)
	go func() {
		for {
			t := time.NewTimer(l.env.WatchdogTimeout / 3)
			select {
			case <-t.C:
			case <-l.env.ctx.Done():
				t.Stop()
				return
			}
			// One who holds nothing changes nothing by this, but says that it still believes.
			l.env.Redis.Eval(l.env.ctx, "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0",
				[]string{l.name}, owner, l.env.WatchdogTimeout.Milliseconds())
		}
	}()
	return a
}

// liar answers that nobody holds the lock.
type liar struct{ mistake }

func (l *liar) Inspect(ctx context.Context, question history.Kind, owner string) subjects.Answer {
	a := l.Lock.(subjects.Inspector).Inspect(ctx, question, owner)
	if question == history.IsLocked {
		a.Value = 0
	}
	return a
}
