package lockimpl_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// written counts the commands of those names that the client has sent since.
func (w *world) written(name string) (count func(command string) int) {
	counts := map[string]int{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge[name] = func(command []byte) fate {
		for _, word := range []string{"subscribe", "ping"} {
			counts[word] += bytes.Count(command, []byte("\r\n"+word+"\r\n"))
		}
		return arrives
	}
	return func(command string) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return counts[command]
	}
}

// A connection that drops what is sent on it, and does not end, is noticed by a ping: the waiter hears of the release in
// two intervals, and not only when the holder's lease would be over.
func TestADeafSubscriptionIsMadeAnew(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world) {
		for _, when := range []time.Duration{time.Second, 95 * time.Second} {
			a, b := w.client("a"), w.client("b")
			x := a.Lock("x")
			must(t, x.Lock(ctx, a.Owner(1), lockimpl.Lease(time.Hour)))
			start := time.Now()
			time.AfterFunc(when, func() { w.deafen("b") })
			time.AfterFunc(when+time.Second, func() { x.Unlock(ctx, a.Owner(1)) })
			must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
			between(t, when+time.Second, when+2*lockimpl.DefaultPingInterval+time.Second)(time.Since(start), nil)
			is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
			must(t, b.Close())
		}
	})
}

// One that is deaf from its first moment, and whose SUBSCRIBE was never answered, lasts one interval.
func TestASubscriptionThatIsNeverConfirmedIsMadeAnew(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		a, b := w.client("a"), w.client("b", func(o *lockimpl.Options) { o.SubscribeTimeout = time.Hour })
		must(t, a.Lock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(time.Hour)))
		w.mu.Lock()
		once := new(sync.Once)
		w.judge["b"] = func(command []byte) (f fate) {
			if bytes.Contains(command, []byte("\r\nsubscribe\r\n")) {
				once.Do(func() { f = vanishes })
			}
			return f
		}
		w.mu.Unlock()
		time.AfterFunc(2*time.Minute, func() { a.Lock("x").Unlock(ctx, a.Owner(1)) })
		start := time.Now()
		must(t, b.Lock("x").Lock(ctx, b.Owner(1)))
		is(t, 2*time.Minute)(time.Since(start), nil)
	})
}

// A connection that hears is asked every interval, and kept.
func TestPingsKeepASubscription(t *testing.T) {
	for _, pings := range []int{9, 0} {
		inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
			a, b := w.client("a"), w.client("b", func(o *lockimpl.Options) {
				if pings == 0 {
					o.PingInterval = -1
				}
			})
			must(t, a.Lock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(time.Hour)))
			written := w.written("b")
			is(t, false)(b.Lock("x").TryLock(ctx, b.Owner(1), lockimpl.Wait(9*lockimpl.DefaultPingInterval+time.Second)))
			time.Sleep(time.Hour) // a while after the call the subscription is gone
			if written("subscribe") != 1 || written("ping") != pings {
				t.Errorf("%d subscriptions and %d pings, not 1 and %d", written("subscribe"), written("ping"), pings)
			}
		})
	}
}

// tunnel hands on what comes to the address that it returns, until it swallows it: connections of before stay open, and
// nothing arrives on them any more; those of later work.
func tunnel(t *testing.T, to string) (addr string, swallow func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var generation atomic.Int64
	var work sync.WaitGroup
	pump := func(from, to net.Conn, born int64) {
		defer work.Done()
		defer to.Close()
		b := make([]byte, 4096)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			if generation.Load() == born {
				to.Write(b[:n])
			}
		}
	}
	work.Add(1)
	go func() {
		defer work.Done()
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			work.Add(2)
			go pump(near, far, generation.Load())
			go pump(far, near, generation.Load())
		}
	}()
	t.Cleanup(func() { listener.Close(); work.Wait() })
	return listener.Addr().String(), func() { generation.Add(1) }
}

func TestADeafSubscriptionIsMadeAnewOnARealServer(t *testing.T) {
	server := startServer(t, redisserver.Options{}).Addr()
	for _, protocol := range []int{2, 3} {
		addr, swallow := tunnel(t, server)
		holder, waiter := redis.NewClient(&redis.Options{Addr: server}), redis.NewClient(&redis.Options{
			Addr: addr, Protocol: protocol, ReadTimeout: time.Second, // what a machine with much else to do keeps, too
		})
		a, err := lockimpl.New(holder, lockimpl.Options{})
		must(t, err)
		b, err := lockimpl.New(waiter, lockimpl.Options{PingInterval: 100 * time.Millisecond})
		must(t, err)
		must(t, a.Lock("x").Lock(ctx, a.Owner(1), lockimpl.Lease(time.Hour)))
		got := make(chan error, 1)
		go func() { got <- b.Lock("x").Lock(ctx, b.Owner(1), lockimpl.Lease(time.Hour)) }()
		eventually(t, "the waiter has subscribed", func() error {
			n, err := holder.PubSubNumSub(ctx, "redisson_lock__channel:{x}").Result()
			if err == nil && n["redisson_lock__channel:{x}"] != 1 {
				err = io.EOF
			}
			return err
		})
		swallow()
		is(t, true)(a.Lock("x").Unlock(ctx, a.Owner(1)))
		select {
		case err := <-got:
			must(t, err)
		case <-time.After(30 * time.Second):
			t.Fatal("the waiter did not notice that its subscription is deaf")
		}
		is(t, true)(b.Lock("x").Unlock(ctx, b.Owner(1)))
		for _, c := range []io.Closer{a, b, holder, waiter} {
			must(t, c.Close())
		}
	}
}
