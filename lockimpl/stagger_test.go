package lockimpl_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

const hold = 100 * time.Millisecond

// crowd is clients that wait for x, hold it for a tenth of a second and wait again, rounds times each.
func crowd(t *testing.T, w *world, clients, rounds int) (done func()) {
	var running atomic.Int64
	for i := range clients {
		name := fmt.Sprint("crowd", i)
		c := w.client(name)
		running.Add(1)
		go func() {
			defer running.Add(-1)
			for range rounds {
				if err := c.Lock("x").Lock(ctx, c.Owner(1)); err != nil {
					return // cut off by the test
				}
				time.Sleep(hold)
				if _, err := c.Lock("x").Unlock(ctx, c.Owner(1)); err != nil {
					return
				}
			}
		}()
	}
	return func() {
		for running.Load() > 0 {
			time.Sleep(time.Second)
		}
	}
}

func TestAReleaseDoesNotMakeEveryProcessTry(t *testing.T) {
	const clients, rounds = 16, 20
	attempts := map[lockimpl.Generation]int{}
	for _, g := range []lockimpl.Generation{lockimpl.Latch, lockimpl.Hardened} {
		t.Run(string(g), func(t *testing.T) {
			inBubble(t, g, func(t *testing.T, w *world) {
				start := time.Now()
				done := crowd(t, w, clients, rounds)
				var calls []func() [][]byte
				for i := range clients {
					calls = append(calls, w.fates(fmt.Sprint("crowd", i)))
				}
				done()
				// Nobody sleeps to a lease's end: a hand-off takes no time to speak of.
				if d := time.Since(start); d > clients*rounds*hold+5*time.Second {
					t.Fatalf("%d holds took %v", clients*rounds, d)
				}
				for _, made := range calls {
					attempts[g] += len(made())
				}
			})
		})
	}
	h, l := attempts[lockimpl.Hardened], attempts[lockimpl.Latch]
	t.Logf("%d script calls for %d holds; without staggering %d", h, clients*rounds, l)
	if h > l*2/3 {
		t.Fatal("too many")
	}
}

func TestAnyProcessMayDieWhileAllWait(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		const clients = 12
		done := crowd(t, w, clients, 20)
		time.Sleep(10*time.Second + hold/2)
		for i := range clients - 2 { // the present holder, perhaps, and ten that wait
			w.cut(fmt.Sprint("crowd", i))
		}
		start := time.Now()
		c := w.client("late")
		must(t, c.Lock("x").Lock(ctx, c.Owner(1)))
		if d := time.Since(start); d > 35*time.Second { // a lease, and some holds
			t.Fatalf("after %v", d)
		}
		is(t, true)(c.Lock("x").Unlock(ctx, c.Owner(1)))
		done()
	})
}

func TestAFewProcessesHaveNothingToSayToEachOther(t *testing.T) {
	inBubble(t, lockimpl.Hardened, func(t *testing.T, w *world) {
		sub := w.admin.Subscribe(ctx, "redisson_lock__channel:{x}")
		defer sub.Close()
		done := crowd(t, w, 3, 10)
		for releases := 0; releases < 30; releases++ {
			message, err := sub.ReceiveMessage(ctx)
			must(t, err)
			if message.Payload != "0" {
				t.Fatalf("message %q", message.Payload)
			}
		}
		done()
	})
}
