package lockimpl_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// Clients of any two generations exclude each other, wake each other and refuse each other.
func TestGenerationsShareALock(t *testing.T) {
	for _, one := range generations {
		for _, other := range generations {
			t.Run(string(one)+" and "+string(other), func(t *testing.T) {
				inBubble(t, one, func(t *testing.T, w *world) {
					a := w.client("a")
					b := w.client("b", func(o *lockimpl.Options) { o.Generation = other })
					must(t, a.Lock("x").Lock(ctx, a.Owner(1)))
					is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1)))
					if _, err := b.Lock("x").Unlock(ctx, b.Owner(1)); !errors.Is(err, lockimpl.ErrNotHeld) {
						t.Fatal(err)
					}
					time.AfterFunc(5*time.Second, func() { a.Lock("x").Unlock(ctx, a.Owner(1)) })
					start := time.Now()
					must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
					if d := time.Since(start); d != 5*time.Second {
						t.Fatalf("woken after %v", d)
					}
					is(t, false)(a.Lock("x").TryLock(ctx, a.Owner(1)))
					is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
					is(t, true)(a.Lock("x").TryLock(ctx, a.Owner(1)))
				})
			})
		}
	}
}

// What is on the server, to the letter: other implementations rely on it.
func TestWireFormat(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		c := w.client("8743c9c0-0795-4907-87fd-6c719a6b4586")
		o := c.Owner(17)
		if o != "8743c9c0-0795-4907-87fd-6c719a6b4586:17" {
			t.Fatal(o)
		}
		for name, channel := range map[string]string{
			"order": "redisson_lock__channel:{order}", "a{b}c": "redisson_lock__channel:a{b}c",
		} {
			l := c.Lock(name)
			must(t, l.Lock(ctx, o))
			must(t, l.Lock(ctx, o))
			if hash := w.admin.HGetAll(ctx, name).Val(); len(hash) != 1 || hash[string(o)] != "2" {
				t.Fatal(hash)
			}
			sub := w.admin.Subscribe(ctx, channel)
			_, err := sub.Receive(ctx)
			must(t, err)
			is(t, false)(l.Unlock(ctx, o))
			is(t, true)(l.Unlock(ctx, o))
			message, err := sub.ReceiveMessage(ctx)
			must(t, err)
			if message.Payload != "0" {
				t.Fatal(message)
			}
			must(t, sub.Close())
		}
	})
}

// story is a short life on a real server: contention, re-entry, both kinds of lease, script flush.
func story(t *testing.T, rdb redis.UniversalClient, g lockimpl.Generation, name string) {
	t.Helper()
	open := func() *lockimpl.Client {
		c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := open(), open()
	for range 3 {
		must(t, a.Lock(name).Lock(ctx, a.Owner(1)))
		must(t, a.Lock(name).Lock(ctx, a.Owner(1), lockimpl.Lease(time.Minute)))
		is(t, false)(b.Lock(name).TryLock(ctx, b.Owner(1)))
		got := make(chan error)
		go func() { got <- b.Lock(name).Lock(ctx, b.Owner(1)) }()
		is(t, false)(a.Lock(name).Unlock(ctx, a.Owner(1)))
		must(t, rdb.ScriptFlush(ctx).Err())
		is(t, true)(a.Lock(name).Unlock(ctx, a.Owner(1)))
		must(t, <-got)
		is(t, true)(b.Lock(name).IsHeldBy(ctx, b.Owner(1)))
		is(t, true)(b.Lock(name).Unlock(ctx, b.Owner(1)))
	}
	locks := locksOf(a, name, name+":2", name+":3")
	m := multi(t, locks...)
	must(t, m.Lock(ctx, a.Owner(2)))
	is(t, 3)(m.Unlock(ctx, a.Owner(2)))
	is(t, true)(a.Lock(name).TryLock(ctx, a.Owner(3)))
	is(t, true)(b.Lock(name).ForceUnlock(ctx))
}

func TestRealServerWithBothProtocols(t *testing.T) {
	addr := startServer(t, redisserver.Options{}).Addr()
	for _, g := range generations {
		for _, protocol := range []int{2, 3} {
			t.Run(fmt.Sprint(g, " RESP", protocol), func(t *testing.T) {
				rdb := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol})
				defer rdb.Close()
				story(t, rdb, g, "lock")
			})
		}
	}
}

// go-redis can put the commands of concurrent callers into common pipelines.
func TestOverAutomaticPipelines(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: startServer(t, redisserver.Options{}).Addr()})
	defer rdb.Close()
	batching, err := rdb.AutoPipeline()
	must(t, err)
	for _, g := range generations {
		t.Run(string(g), func(t *testing.T) {
			story(t, batching, g, "lock")
			c, err := lockimpl.New(batching, lockimpl.Options{Generation: g})
			must(t, err)
			defer c.Close()
			each(32, func(i int) {
				l, o := c.Lock(fmt.Sprint("lock", i%8)), c.Owner(int64(i))
				for range 50 {
					if err := l.Lock(ctx, o); err != nil {
						t.Error(err)
					}
					if released, err := l.Unlock(ctx, o); !released || err != nil {
						t.Error(released, err)
					}
				}
			})
		})
	}
}
