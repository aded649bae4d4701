package lockimpl_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// What the tests of objects other than RLock have in common.

// forms is one faithful generation and Hardened: those objects have no others.
var forms = []lockimpl.Generation{lockimpl.Latch, lockimpl.Hardened}

func eachForm(t *testing.T, f func(t *testing.T, w *world)) {
	for _, g := range forms {
		t.Run(string(g), func(t *testing.T) { inBubble(t, g, f) })
	}
}

// eachServer runs f on a miniredis and on a redis-server, for each form.
func eachServer(t *testing.T, f func(t *testing.T, rdb *redis.Client, g lockimpl.Generation)) {
	mini := miniredis.RunT(t)
	onMini := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	t.Cleanup(func() { onMini.Close() })
	for _, g := range forms {
		t.Run("miniredis "+string(g), func(t *testing.T) { f(t, onMini, g) })
	}
	t.Run("redis", func(t *testing.T) {
		rdb := realRedis(t)
		for _, g := range forms {
			t.Run(string(g), func(t *testing.T) { f(t, rdb, g) })
		}
	})
}

// drawn has rapid draw runs on an empty server, with two clients.
func drawn(t *testing.T, rdb *redis.Client, g lockimpl.Generation, run func(t *rapid.T, clients []*lockimpl.Client)) {
	rapid.Check(t, func(t *rapid.T) {
		if err := rdb.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		var clients []*lockimpl.Client
		for i := range 2 {
			c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g, ID: fmt.Sprint("client", i), WatchdogTimeout: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			clients = append(clients, c)
		}
		run(t, clients)
	})
}

// asked is an operation as a model takes it, by an owner, with what came of it.
func asked(kind history.Kind, owner lockimpl.Owner, value int64, out history.Outcome) history.Op {
	return history.Op{Kind: kind, Owner: string(owner), Value: value, Outcome: out, Call: time.Second, Return: 2 * time.Second}
}

// either is one outcome or the other.
func either(ok bool, yes, no history.Outcome) history.Outcome {
	if ok {
		return yes
	}
	return no
}

// listening counts the subscribers of a channel.
func (w *world) listening(channel string) int64 {
	w.t.Helper()
	counts, err := w.admin.PubSubNumSub(ctx, channel).Result()
	must(w.t, err)
	return counts[channel]
}

// atRest fails unless nothing is left of calls that have ended: no goroutine, no subscription, and no key
// without an end but those named.
func (w *world) atRest(channel string, lasting ...string) {
	w.t.Helper()
	time.Sleep(2 * time.Second) // subscriptions linger
	synctest.Wait()
	if n := w.listening(channel); n != 0 {
		w.t.Errorf("%d subscribers of %s", n, channel)
	}
	if stacks := goroutines(); len(stacks) != 0 {
		w.t.Errorf("goroutines:\n%s", strings.Join(stacks, "\n\n"))
	}
	for _, key := range w.server.Keys() {
		if w.server.TTL(key) == 0 && !slices.Contains(lasting, key) {
			w.t.Errorf("key %s has no end", key)
		}
	}
}

// refused fails unless err is an Error around want, of which it is known that nothing happened.
func refused(t *testing.T, err, want error) {
	t.Helper()
	var e *lockimpl.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || lockimpl.OutcomeUnknown(err) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// soon waits for a result, for as long as that takes in a bubble.
func soon[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	synctest.Wait()
	return result
}

// pending fails if there is a result.
func pending[T any](t *testing.T, result <-chan T) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-result:
		t.Fatalf("returned %v", r)
	default:
	}
}
