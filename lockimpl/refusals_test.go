package lockimpl_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What is refused before anything is sent is so by every operation, and writes nothing.
func TestBadArgumentsOfEveryOperation(t *testing.T) {
	operations := map[string]func(c *lockimpl.Client, name string, o lockimpl.Owner) error{
		"Lock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error { return c.Lock(name).Lock(ctx, o) },
		"TryLock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			return errOf(c.Lock(name).TryLock(ctx, o))
		},
		"Unlock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			return errOf(c.Lock(name).Unlock(ctx, o))
		},
		"ForceUnlock": func(c *lockimpl.Client, name string, _ lockimpl.Owner) error {
			return errOf(c.Lock(name).ForceUnlock(ctx))
		},
		"IsLocked": func(c *lockimpl.Client, name string, _ lockimpl.Owner) error {
			return errOf(c.Lock(name).IsLocked(ctx))
		},
		"IsHeldBy": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			return errOf(c.Lock(name).IsHeldBy(ctx, o))
		},
		"HoldCount": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			return errOf(c.Lock(name).HoldCount(ctx, o))
		},
		"RemainingTTL": func(c *lockimpl.Client, name string, _ lockimpl.Owner) error {
			return errOf(c.Lock(name).RemainingTTL(ctx))
		},
		"MultiLock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			m, err := lockimpl.NewMultiLock(c.Lock("good"), c.Lock(name))
			return errors.Join(err, m.Lock(ctx, o))
		},
		"MultiUnlock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			m, err := lockimpl.NewMultiLock(c.Lock("good"), c.Lock(name))
			return errors.Join(err, errOf(m.Unlock(ctx, o)))
		},
		"RedLock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			r, err := lockimpl.NewRedLock(c.Lock(name))
			return errors.Join(err, r.Lock(ctx, o))
		},
		"RedUnlock": func(c *lockimpl.Client, name string, o lockimpl.Owner) error {
			r, err := lockimpl.NewRedLock(c.Lock(name))
			return errors.Join(err, errOf(r.Unlock(ctx, o)))
		},
	}
	ownerless := []string{"ForceUnlock", "IsLocked", "RemainingTTL"}
	eachGeneration(t, func(t *testing.T, w *world) {
		open, closed := w.client("open"), w.client("closed")
		must(t, closed.Close())
		for op, call := range operations {
			check := func(what string, err, want error) {
				t.Helper()
				var e *lockimpl.Error
				if !errors.Is(err, want) || !errors.As(err, &e) || lockimpl.OutcomeUnknown(err) {
					t.Errorf("%s, %s: got %v", op, what, err)
				}
			}
			for _, name := range []string{"", "a{b", "a}b", "{}"} {
				check(fmt.Sprintf("name %q", name), call(open, name, "o:1"), lockimpl.ErrBadName)
			}
			check("closed client", call(closed, "x", "o:1"), lockimpl.ErrClosed)
			if !strings.Contains(strings.Join(ownerless, " "), op) {
				check("no owner", call(open, "x", ""), lockimpl.ErrBadOwner)
			}
		}
		l := open.Lock("x")
		for what, err := range map[string]error{
			"TryLock's lease": errOf(l.TryLock(ctx, "o:1", lockimpl.Lease(-1))),
			"multi's lease":   multi(t, l).Lock(ctx, "o:1", lockimpl.Lease(0)),
		} {
			if !errors.Is(err, lockimpl.ErrBadLease) {
				t.Errorf("%s: got %v", what, err)
			}
		}
		if err := errOf(l.TryLock(ctx, "o:1", lockimpl.Wait(-1))); !errors.Is(err, lockimpl.ErrBadWait) {
			t.Errorf("got %v", err)
		}
		if keys := w.server.Keys(); len(keys) != 0 {
			t.Errorf("keys written: %q", keys)
		}
	})
}

// What a real server refuses, as it words it, takes no lock, nor part of one.
func TestARealServersRefusalsTakeNothing(t *testing.T) {
	rdb := realRedis(t)
	set := func(t *testing.T, key, value string) {
		t.Helper()
		must(t, rdb.ConfigSet(ctx, key, value).Err())
	}
	refusals := []struct {
		prefix          string
		begin, relieved func(t *testing.T)
	}{
		{"OOM", func(t *testing.T) { set(t, "maxmemory", "1") }, func(t *testing.T) { set(t, "maxmemory", "0") }},
		{"READONLY", func(t *testing.T) { must(t, rdb.ReplicaOf(ctx, "127.0.0.1", "1").Err()) },
			func(t *testing.T) { must(t, rdb.ReplicaOf(ctx, "NO", "ONE").Err()) }},
		{"MISCONF", func(t *testing.T) {
			// A snapshot that cannot be written has the server refuse to write anything.
			must(t, os.RemoveAll(rdb.ConfigGet(ctx, "dir").Val()["dir"]))
			must(t, rdb.Set(ctx, "changed", 1, time.Minute).Err())
			set(t, "save", "3600 1")
			eventually(t, "the snapshot fails", func() error {
				rdb.BgSave(ctx) // refused while the one before is under way
				if info := rdb.Info(ctx, "persistence").Val(); !strings.Contains(info, "rdb_last_bgsave_status:err") {
					return errors.New(info)
				}
				return nil
			})
		}, func(t *testing.T) { set(t, "save", "") }},
		{"NOAUTH", func(t *testing.T) { set(t, "requirepass", "secret") }, nil}, // last: for new connections only
	}
	for _, r := range refusals {
		t.Run(r.prefix, func(t *testing.T) {
			for _, g := range generations {
				one := redis.NewClient(&redis.Options{Addr: rdb.Options().Addr, MaxRetries: -1})
				defer one.Close()
				c, err := lockimpl.New(one, lockimpl.Options{Generation: g})
				must(t, err)
				defer c.Close()
				if r.prefix != "NOAUTH" {
					is(t, true)(c.Lock("x").TryLock(ctx, c.Owner(1))) // the scripts are known
					is(t, true)(c.Lock("x").Unlock(ctx, c.Owner(1)))
				}
				r.begin(t)
				lockErr := c.Lock("x").Lock(ctx, c.Owner(1))
				multiErr := multi(t, locksOf(c, "x", "y")...).Lock(ctx, c.Owner(1))
				n, err := rdb.Exists(ctx, "x", "y").Result()
				if r.relieved != nil {
					r.relieved(t)
				}
				for _, err := range []error{lockErr, multiErr} {
					var e *lockimpl.Error
					// Who is not authenticated may not even send many arguments.
					prefixed := redis.HasErrorPrefix(err, r.prefix) || r.prefix == "NOAUTH" && redis.HasErrorPrefix(err, "Protocol error: unauthenticated")
					if !prefixed || !errors.As(err, &e) || lockimpl.OutcomeUnknown(err) {
						t.Errorf("%s: got %v", g, err)
					}
				}
				if n != 0 || err != nil {
					t.Errorf("%s: %d locks, %v", g, n, err)
				}
			}
		})
	}
}

// A refused unlock of a re-entry leaves the server one hold too many, whose lease is renewed with the one that remains: it is given back
// although the owner asks for nothing more.
func TestRefusedUnlockOfAReEntryIsMadeGood(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a := w.client("a")
		o := a.Owner(1)
		one, two := a.Lock("x"), a.Lock("y")
		m, err := lockimpl.NewMultiLock(one, two)
		must(t, err)
		for range 2 {
			must(t, m.Lock(ctx, o))
		}
		w.server.SetError("LOADING Redis is loading the dataset in memory")
		if _, err := m.Unlock(ctx, o); err == nil {
			t.Fatal("the unlock was not refused")
		}
		w.server.SetError("")
		time.Sleep(time.Minute) // the leases were renewed meanwhile
		for _, l := range []*lockimpl.RLock{one, two} {
			is(t, int64(1))(l.HoldCount(ctx, o))
		}
		must(t, errOf(m.Unlock(ctx, o)))
		for _, l := range []*lockimpl.RLock{one, two} {
			is(t, int64(0))(l.HoldCount(ctx, o))
		}
	})
}
