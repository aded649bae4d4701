package locktest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

// registry is a client whose locks have one value for all its owners, who exclude each other within the process first. Inner holds are counted there.
type registry struct {
	rdb   redis.UniversalClient
	id    string
	lease time.Duration
	local bool   // its locks say so
	own   bool   // each owner has a value of its own
	once  bool   // an owner that has a lock is granted it anew, which counts nothing
	wrong string // what it does wrong

	mu    sync.Mutex
	owner map[string]string // that has a lock within the process
	holds map[string]int
}

type registered struct {
	*registry
	name, by string
}

// claimed is one that says that owners exclude each other within the process.
type claimed struct{ *registered }

func (claimed) LocalHolds() {}

func (r *registry) Lock(name, owner string) locktest.Lock {
	l := &registered{r, name, owner}
	if r.local {
		return claimed{l}
	}
	return l
}

// value is what stands for an owner: its client, unless each is to have one of its own.
func (l *registered) value() string {
	if l.own {
		return l.by
	}
	return l.id
}

// enters has an owner have a lock within the process, unless another has it.
func (l *registered) enters() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner[l.name] != "" && l.owner[l.name] != l.by && l.wrong != "lets all in" {
		return false
	}
	l.owner[l.name] = l.by
	if l.holds[l.name]++; l.once {
		l.holds[l.name] = 1
	}
	return true
}

// leaves gives one hold back, and says whether that was the last; ok is false if the owner has none.
func (l *registered) leaves() (last, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner[l.name] != l.by {
		return false, false
	}
	if l.holds[l.name]--; l.holds[l.name] > 0 {
		return false, true
	}
	delete(l.owner, l.name)
	return true, true
}

var (
	takeRegistered = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`)
	giveAnyones    = redis.NewScript(`return redis.call('del', KEYS[1])`)
	giveRegistered = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0`)
)

func (l *registered) Acquire(ctx context.Context, r locktest.Request) error {
	lease := l.lease
	if r.Lease > 0 {
		lease = r.Lease
	}
	for began := time.Now(); ; {
		if l.enters() {
			got, err := takeRegistered.Run(ctx, l.rdb, []string{l.name}, l.value(), lease.Milliseconds()).Int()
			if err == nil && got == 1 {
				return nil
			}
			l.leaves()
			if err != nil {
				return err
			}
		}
		if !r.Forever && time.Since(began) >= r.Wait {
			return locktest.ErrBusy
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(locktest.ErrFailed, ctx.Err())
		}
	}
}

func (l *registered) Release(ctx context.Context) error {
	_, err := l.ReleaseOne(ctx)
	return err
}

func (l *registered) ReleaseOne(ctx context.Context) (last bool, err error) {
	l.mu.Lock()
	inner := l.owner[l.name] == l.by && l.holds[l.name] > 1
	l.mu.Unlock()
	if inner {
		l.leaves()
		if l.wrong == "gives inner holds back" {
			return false, giveRegistered.Run(ctx, l.rdb, []string{l.name}, l.value()).Err()
		}
		return false, nil
	}
	if l.mu.Lock(); l.owner[l.name] != l.by {
		l.mu.Unlock()
		return false, locktest.ErrNotHeld
	}
	l.mu.Unlock()
	give := giveRegistered
	if l.wrong == "gives back what is another's" {
		give = giveAnyones
	}
	n, err := give.Run(ctx, l.rdb, []string{l.name}, l.value()).Int()
	if n > 0 || l.wrong != "keeps what is over" {
		l.leaves()
	}
	if err == nil && n == 0 {
		return false, locktest.ErrNotHeld
	}
	return true, err
}

func newRegistry(local bool, wrong string) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) { return registryOf(e, local, wrong), nil }
}

func registryOf(e locktest.Env, local bool, wrong string) *registry {
	return &registry{rdb: e.Redis, id: e.ID, lease: e.WatchdogTimeout, local: local, wrong: wrong, owner: map[string]string{}, holds: map[string]int{}}
}

func onceOf(e locktest.Env) *registry {
	r := registryOf(e, true, "")
	r.once = true
	return r
}

// once is a lock of a registry that is not reentrant.
type once struct{ l *registered }

func (o once) Acquire(ctx context.Context, r locktest.Request) error { return o.l.Acquire(ctx, r) }
func (o once) Release(ctx context.Context) error                     { return o.l.Release(ctx) }
func (once) LocalHolds()                                             {}

type onces struct{ *registry }

func (o onces) Lock(name, owner string) locktest.Lock {
	return once{&registered{o.registry, name, owner}}
}

// locals are sound locks whose owners exclude each other within their process, and why they are judged by their answers alone.
var locals = map[string]struct {
	new locktest.NewLock
	why string
}{
	"a value for each client": {newRegistry(true, ""), "counts how often its holder holds it"},
	"a value for each client, not reentrant": {func(e locktest.Env) (locktest.Client, error) { return onces{onceOf(e)}, nil },
		"is the same for all owners of a client"},
	"a value for each owner, not reentrant": {func(e locktest.Env) (locktest.Client, error) {
		r := onceOf(e)
		r.own = true
		return onces{r}, nil
	}, ""},
}

// No drawn plan has such a lock accused of what a copy of one owner's request does to another, or of what only the process knows.
func TestLocksThatExcludeWithinTheirProcessAreNotAccused(t *testing.T) {
	runs := 75
	if testing.Short() {
		runs = 10
	}
	for name, of := range locals {
		t.Run(name, func(t *testing.T) {
			locktest.Explore(t, of.new, locktest.Runs(runs), locktest.Reports(t.TempDir()))
		})
	}
}

// Nothing that a lock's keys say is taken for an owner's that is its client's.
func TestTheProbeTellsClientsFromOwners(t *testing.T) {
	for name, of := range locals {
		l, err := locktest.Learned(t, of.new)
		if err != nil || !strings.Contains(l.Unknown, of.why) || (of.why == "") != (l.Unknown == "") {
			t.Errorf("%s: %q, %v", name, l.Unknown, err)
		}
	}
}

// Nor is any of its mistakes overlooked.
func TestMistakesOfLocksThatExcludeWithinTheirProcessAreCaught(t *testing.T) {
	for wrong, guarantee := range map[string]contract.Guarantee{"lets all in": contract.Exclusion, "gives inner holds back": contract.Exclusion,
		"gives back what is another's": contract.Exclusion, "keeps what is over": contract.Liveness} {
		stories, err := locktest.Accused(t, newRegistry(true, wrong), locktest.Drawn(60))
		t.Logf("%s: %d %v", wrong, len(stories), err)
		if len(stories) == 0 || !strings.Contains(strings.Join(stories, "\n"), string(guarantee)) {
			t.Errorf("%s: no story tells that %s broke: %v", wrong, guarantee, err)
		}
	}
}

// A lock that excludes within the process first is judged by what it says of that: another thread waits there while a lease is over, and an inner
// release answers without the server. One that does not say so is accused of both.
func TestALockMayExcludeWithinItsProcess(t *testing.T) {
	for name, guarantee := range map[string]string{"shared-handle": "liveness", "lease-mixing": "object"} {
		if err := locktest.Inside(t, newRegistry(true, ""), locktest.Only(name), locktest.Drawn(0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var f *locktest.Failure
		if err := locktest.Inside(t, newRegistry(false, ""), locktest.Only(name), locktest.Drawn(0)); !errors.As(err, &f) || string(f.Guarantee) != guarantee {
			t.Errorf("%s, of one that does not say so: %v", name, err)
		}
	}
}
