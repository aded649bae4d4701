package locktest_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/subjects"
)

// keepOut is one of the two locks of a read-write lock as [twoKeys] is, in which a writer that waits keeps new readers out: by a mark in a third key,
// which it sets anew whenever it asks, and takes away when it has the lock or leaves.
type keepOut struct {
	rdb    redis.UniversalClient
	keys   []string
	owner  string
	lease  time.Duration
	kept   time.Duration // of a mark
	write  bool
	claims bool
	bad    string // the mistake; "": none
}

// The mistakes.
const (
	marksOn    = "a grant leaves the mark"
	staysAhead = "who leaves does not take its mark away"
	marksNone  = "a writer that waits keeps nobody out"
	refusesOwn = "a reader is refused once, whoever waits"
)

const keepOutNow = twoKeysNow + `redis.call('zremrangebyscore', KEYS[3], '-inf', now)
`

var (
	keepOutRead = redis.NewScript(keepOutNow + `if redis.call('exists', KEYS[1]) == 1 then return 0 end
if redis.call('zcard', KEYS[3]) > 0 and not redis.call('zscore', KEYS[2], ARGV[1]) then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
return 1`)
	keepOutWrite = redis.NewScript(keepOutNow + `if redis.call('zcard', KEYS[2]) == 0 and redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
if ARGV[4] == '1' then redis.call('zrem', KEYS[3], ARGV[1]) end
return 1 end
if tonumber(ARGV[3]) > 0 then
redis.call('zadd', KEYS[3], now + ARGV[3], ARGV[1])
redis.call('pexpire', KEYS[3], ARGV[3])
end
return 0`)
)

func (l keepOut) Acquire(ctx context.Context, r locktest.Request) error {
	lease := cmp.Or(r.Lease, l.lease)
	refused := l.bad == refusesOwn
	if !l.write {
		return waits(ctx, r, func() (bool, error) {
			if refused {
				refused = false
				return false, nil
			}
			n, err := keepOutRead.Run(ctx, l.rdb, l.keys, l.owner, lease.Milliseconds()).Int()
			return n == 1, err
		})
	}
	kept, takesAway := l.kept, 1
	if l.bad == marksNone || !r.Forever && r.Wait == 0 {
		kept = 0
	}
	if l.bad == marksOn {
		takesAway = 0
	}
	err := waits(ctx, r, func() (bool, error) {
		n, err := keepOutWrite.Run(ctx, l.rdb, l.keys, l.owner, lease.Milliseconds(), kept.Milliseconds(), takesAway).Int()
		return n == 1, err
	})
	if err != nil && kept > 0 && l.bad != staysAhead {
		l.rdb.ZRem(context.WithoutCancel(ctx), l.keys[2], l.owner)
	}
	return err
}

func (l keepOut) Release(ctx context.Context) error {
	return twoKeys{rdb: l.rdb, keys: l.keys[:2], owner: l.owner, write: l.write}.Release(ctx)
}

func (l keepOut) Sharing() locktest.Sharing {
	return locktest.Sharing{WritersFirst: l.claims, MarkKept: l.kept}
}

func writersFirst(claims bool, bad string) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		return locktest.ReadWriteLocks(func(name, owner string) (read, write locktest.Lock) {
			l := keepOut{rdb: e.Redis, keys: []string{name + ":writer", name + ":readers", name + ":waiting"}, owner: owner, lease: e.WatchdogTimeout,
				kept: 10 * time.Second, claims: claims, bad: bad}
			w := l
			w.write = true
			return l, w
		}), nil
	}
}

func TestWritersFirst(t *testing.T) {
	drawn := 100
	if testing.Short() {
		drawn = 5
	}
	locktest.Run(t, writersFirst(true, ""), locktest.Drawn(drawn))
}

func TestWritersFirstExplored(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 10
	}
	locktest.Explore(t, writersFirst(true, ""), locktest.Runs(runs))
}

// Who does not say that writers are first is accused of it, and who says so and does otherwise is accused, too.
func TestWhoIsNotWritersFirst(t *testing.T) {
	for _, c := range []struct {
		claims bool
		bad    string
		want   []string // guarantees and rules, one of which a story tells
	}{
		{false, "", []string{"object in"}},
		{true, marksOn, []string{"object in", "a free lock that somebody waits for"}},
		{true, staysAhead, []string{"a free lock that somebody waits for"}},
		{true, marksNone, []string{"no reader is let in before a writer"}},
		{true, refusesOwn, []string{"object in"}},
	} {
		t.Run(cmp.Or(c.bad, "no claim"), func(t *testing.T) {
			stories, err := locktest.Accused(t, writersFirst(c.claims, c.bad))
			all := strings.Join(stories, "\n")
			for _, want := range c.want {
				if err != nil || !strings.Contains(all, want) {
					t.Errorf("%v: none of %d stories tells %q", err, len(stories), want)
				}
			}
			if len(stories) > 0 {
				t.Log(stories[0])
			}
		})
	}
}

// keptHalf is one of the two locks of the reference, whose keys the harness reads, with a mark of writers that wait in front. Who has a hold already is
// let in.
type keptHalf struct {
	half
	rdb   redis.UniversalClient
	marks string
	write bool
	holds *keptHolds
}

// keptHolds are an owner's holds of the two locks: how often it has each, and what tells that this is over.
type keptHolds struct {
	count [2]int
	lost  [2]<-chan struct{}
}

func (k *keptHolds) any() bool {
	for i, n := range k.count {
		select {
		case <-k.lost[i]:
		default:
			if n > 0 {
				return true
			}
		}
	}
	return false
}

func (h keptHalf) of() int {
	if h.write {
		return 1
	}
	return 0
}

const keptFor = 10 * time.Second

func (h keptHalf) Acquire(ctx context.Context, r locktest.Request) (err error) {
	begun := time.Now()
	switch {
	case h.holds.any():
	case !h.write:
		err = waits(ctx, r, func() (bool, error) {
			n, err := keptOut.Run(ctx, h.rdb, []string{h.marks}).Int()
			return n == 0, err
		})
	case r.Forever || r.Wait > 0:
		if err = h.mark(ctx); err != nil {
			break
		}
		left, end := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(left)
			for {
				select {
				case <-end:
					return
				case <-time.After(keptFor / 4):
					h.mark(ctx)
				}
			}
		}()
		defer func() {
			close(end)
			<-left
			h.rdb.ZRem(context.WithoutCancel(ctx), h.marks, h.owner)
		}()
	}
	if err != nil {
		return err
	}
	if !r.Forever {
		r.Wait = max(0, r.Wait-time.Since(begun))
	}
	if err = h.half.Acquire(ctx, r); err == nil {
		h.holds.count[h.of()]++
		h.holds.lost[h.of()] = h.Lost()
	}
	return err
}

var (
	keptMark = redis.NewScript(`local time = redis.call('time')
redis.call('zadd', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return redis.call('pexpire', KEYS[1], ARGV[2])`)
	keptOut = redis.NewScript(`local time = redis.call('time')
redis.call('zremrangebyscore', KEYS[1], '-inf', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('zcard', KEYS[1])`)
)

func (h keptHalf) mark(ctx context.Context) error {
	return keptMark.Run(ctx, h.rdb, []string{h.marks}, h.owner, keptFor.Milliseconds()).Err()
}

func (h keptHalf) ReleaseOne(ctx context.Context) (bool, error) {
	last, err := h.half.ReleaseOne(ctx)
	h.holds.count[h.of()] = max(0, h.holds.count[h.of()]-1)
	return last, err
}

func (h keptHalf) Sharing() locktest.Sharing {
	s := h.half.Sharing()
	s.WritersFirst, s.MarkKept = true, keptFor
	return s
}

func keptReference(e locktest.Env) (locktest.Client, error) {
	c, err := subjects.AllRWLocks()[1].Open(e)
	if err != nil {
		return nil, err
	}
	return shared{locktest.ReadWriteLocks(func(name, owner string) (read, write locktest.Lock) {
		both, holds := c.(subjects.ReadWriteLocks), new(keptHolds)
		return keptHalf{half{both.ReadLock(name), owner}, e.Redis, name + ":marks", false, holds},
			keptHalf{half{both.WriteLock(name), owner}, e.Redis, name + ":marks", true, holds}
	}), c}, nil
}

func TestWritersFirstOfTheReference(t *testing.T) {
	stories, err := locktest.Accused(t, keptReference, locktest.Drawn(100))
	if err != nil {
		t.Fatal(err)
	}
	for _, story := range stories {
		t.Error(story)
	}
}
