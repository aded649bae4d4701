package lockimpl_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// One random sequence of calls, step by step, in three places: a pure model, the scripts on
// miniredis and the scripts on a real redis-server. Answers must be equal, and remaining leases
// equal within ttlTolerance (on Redis they shrink while the test runs, on miniredis they do not).
//
// Where miniredis and Redis differ, as far as these scripts meet it: in miniredis keys age only
// when told to, PTTL of a lease cannot be less than it was set to until then, and an error inside a
// script has another text. No answer differs.

const ttlTolerance = 30 * time.Second // the leases drawn differ by more

// modelLock is the sequential specification: who holds the lock, and under which leases.
type modelLock struct {
	owner  lockimpl.Owner
	leases []time.Duration // one for each hold
	ttl    time.Duration
}

func (m *modelLock) tryLock(owner lockimpl.Owner, lease time.Duration, g lockimpl.Generation) bool {
	if len(m.leases) > 0 && m.owner != owner {
		return false
	}
	if g == lockimpl.Hardened { // a re-entry does not shorten
		for _, outer := range m.leases {
			lease = max(lease, outer)
		}
	}
	m.owner, m.leases, m.ttl = owner, append(m.leases, lease), lease
	return true
}

// unlock takes one hold back. With generation Current the lease of the RLock that it is called on is set, and not that of a hold.
func (m *modelLock) unlock(owner lockimpl.Owner, g lockimpl.Generation, object time.Duration) (released, held bool) {
	n := len(m.leases)
	if n == 0 || m.owner != owner {
		return false, false
	}
	m.leases = m.leases[:n-1]
	if n == 1 {
		return true, true
	}
	if m.ttl = m.leases[n-2]; g == lockimpl.Current {
		m.ttl = object
	}
	return false, true
}

func (m *modelLock) free() bool {
	was := len(m.leases) > 0
	m.leases = nil
	return was
}

func (m *modelLock) count(owner lockimpl.Owner) int64 {
	if m.owner != owner {
		return 0
	}
	return int64(len(m.leases))
}

// place is a server and two clients of it.
type place struct {
	name    string
	rdb     *redis.Client
	clients []*lockimpl.Client
	token   map[string]int64 // the highest seen of each lock
}

func TestModelMiniredisAndRedisAgree(t *testing.T) {
	real := realRedis(t)
	mini := miniredis.RunT(t)
	miniClient := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	t.Cleanup(func() { miniClient.Close() })
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { // -rapid.checks=N for more
				places := []*place{{name: "miniredis", rdb: miniClient}, {name: "redis", rdb: real}}
				for _, p := range places {
					p.token = map[string]int64{}
					if err := p.rdb.FlushAll(ctx).Err(); err != nil {
						t.Fatal(err)
					}
					for i := range 2 {
						c, err := lockimpl.New(p.rdb, lockimpl.Options{
							Generation: g, ID: fmt.Sprint("client", i), WatchdogTimeout: time.Hour,
						})
						if err != nil {
							t.Fatal(err)
						}
						defer c.Close()
						p.clients = append(p.clients, c)
					}
				}
				compare(t, g, places)
			})
		})
	}
}

func compare(t *rapid.T, g lockimpl.Generation, places []*place) {
	names := []string{"x", "{y}:z"}
	model := map[string]*modelLock{names[0]: {}, names[1]: {}}
	leases := []time.Duration{0, time.Minute, 10 * time.Minute, 3 * time.Hour}
	for range rapid.IntRange(1, 20).Draw(t, "steps") {
		op := rapid.SampledFrom([]string{"lock", "lock", "lock", "unlock", "unlock", "force", "expire",
			"multiLock", "multiUnlock"}).Draw(t, "op")
		name := rapid.SampledFrom(names).Draw(t, "lock")
		who := rapid.IntRange(0, 1).Draw(t, "client")
		owner := places[0].clients[who].Owner(int64(rapid.IntRange(1, 2).Draw(t, "thread")))
		lease := rapid.SampledFrom(leases).Draw(t, "lease")
		var opts []lockimpl.Option
		effective := time.Hour
		if lease > 0 {
			opts, effective = []lockimpl.Option{lockimpl.Lease(lease)}, lease
		}

		var want string
		m, other := model[names[0]], model[names[1]]
		switch op {
		case "lock":
			want = fmt.Sprint(model[name].tryLock(owner, effective, g))
		case "unlock":
			want = fmt.Sprint(model[name].unlock(owner, g, time.Hour)) // of a new RLock, as each call's is
		case "force":
			want = fmt.Sprint(model[name].free())
		case "expire":
			want = fmt.Sprint(model[name].free())
		case "multiLock":
			ok := true
			for _, l := range []*modelLock{m, other} {
				ok = ok && (len(l.leases) == 0 || l.owner == owner)
			}
			if ok {
				m.tryLock(owner, effective, g)
				other.tryLock(owner, effective, g)
			} else if g != lockimpl.Hardened && (len(m.leases) == 0 || m.owner == owner) {
				// Taken one by one: x was taken and given back, which sets its lease anew.
				m.tryLock(owner, effective, g)
				m.unlock(owner, g, effective)
			}
			want = fmt.Sprint(ok)
		case "multiUnlock":
			n := 0
			for _, l := range []*modelLock{m, other} {
				if _, held := l.unlock(owner, g, time.Hour); held {
					n++
				}
			}
			want = fmt.Sprint(n)
		}

		for _, p := range places {
			if got := p.do(t, op, name, names, who, owner, opts); got != want {
				t.Fatalf("%s of %s by %s on %s: %s, the model says %s", op, name, owner, p.name, got, want)
			}
			for name, m := range model {
				p.check(t, g, name, m, owner)
			}
		}
	}
}

// do makes the call and puts its answer into the model's words.
func (p *place) do(t *rapid.T, op, name string, names []string, who int, owner lockimpl.Owner,
	opts []lockimpl.Option) string {
	c := p.clients[who]
	l := c.Lock(name)
	m, err := lockimpl.NewMultiLock(c.Lock(names[0]), c.Lock(names[1]))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	switch op {
	case "lock":
		var ok bool
		ok, err = l.TryLock(ctx, owner, opts...)
		got = fmt.Sprint(ok)
	case "unlock":
		var released bool
		released, err = l.Unlock(ctx, owner)
		got = fmt.Sprint(released, !errors.Is(err, lockimpl.ErrNotHeld))
	case "force":
		var freed bool
		freed, err = l.ForceUnlock(ctx)
		got = fmt.Sprint(freed)
	case "expire":
		var gone bool
		gone, err = p.rdb.PExpire(ctx, name, 0).Result()
		got = fmt.Sprint(gone)
	case "multiLock":
		var ok bool
		ok, err = m.TryLock(ctx, owner, opts...)
		got = fmt.Sprint(ok)
	case "multiUnlock":
		var n int
		n, err = m.Unlock(ctx, owner)
		got = fmt.Sprint(n)
	}
	if err != nil && !errors.Is(err, lockimpl.ErrNotHeld) {
		t.Fatalf("%s on %s: %v", op, p.name, err)
	}
	return got
}

// check compares what can be seen of the lock.
func (p *place) check(t *rapid.T, g lockimpl.Generation, name string, m *modelLock, owner lockimpl.Owner) {
	c := p.clients[0]
	l := c.Lock(name)
	if locked, err := l.IsLocked(ctx); err != nil || locked != (len(m.leases) > 0) {
		t.Fatalf("%s is locked on %s: %v, %v; model: %d holds", name, p.name, locked, err, len(m.leases))
	}
	for _, o := range []lockimpl.Owner{owner, m.owner} {
		if o == "" {
			continue
		}
		if count, err := l.HoldCount(ctx, o); err != nil || count != m.count(o) {
			t.Fatalf("%s has %d holds of %s on %s, %v; model: %d", o, count, name, p.name, err, m.count(o))
		}
		if held, err := l.IsHeldBy(ctx, o); err != nil || held != (m.count(o) > 0) {
			t.Fatalf("%s is held by %s on %s: %v, %v", name, o, p.name, held, err)
		}
	}
	want := lockimpl.TTLNoKey
	if len(m.leases) > 0 {
		want = m.ttl
	}
	ttl, err := l.RemainingTTL(ctx)
	if err != nil || ttl > want || want-ttl > ttlTolerance {
		t.Fatalf("%s ends in %v on %s, %v; model: %v", name, ttl, p.name, err, want)
	}
	if g != lockimpl.Hardened || len(m.leases) == 0 {
		return
	}
	for _, c := range p.clients {
		if token, ok := c.Lock(name).Token(m.owner); ok {
			if token < p.token[name] {
				t.Fatalf("token %d of %s on %s, after %d", token, name, p.name, p.token[name])
			}
			p.token[name] = token
		}
	}
}
