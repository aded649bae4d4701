package broken

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// mistake is a lock with a mistake in what its client does. What is nil is as it should be.
type mistake struct {
	subjects.Lock
	acquire func(ctx context.Context, owner string, r subjects.Request) subjects.Answer
	release func(ctx context.Context, owner string) subjects.Answer
	inspect func(ctx context.Context, question history.Kind, owner string) subjects.Answer
}

func (m *mistake) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	if m.acquire != nil {
		return m.acquire(ctx, owner, r)
	}
	return m.Lock.Acquire(ctx, owner, r)
}

func (m *mistake) Release(ctx context.Context, owner string) subjects.Answer {
	if m.release != nil {
		return m.release(ctx, owner)
	}
	return m.Lock.Release(ctx, owner)
}

func (m *mistake) Inspect(ctx context.Context, question history.Kind, owner string) subjects.Answer {
	if m.inspect != nil {
		return m.inspect(ctx, question, owner)
	}
	return m.Lock.(subjects.Inspector).Inspect(ctx, question, owner)
}

func (m *mistake) ForceRelease(ctx context.Context) subjects.Answer {
	return m.Lock.(subjects.ForceReleaser).ForceRelease(ctx)
}

// wrong makes an adapter from a function that fills in the mistake.
func wrong(name, about, caughtBy string, fill func(m *mistake, lock string, e *env)) Lock {
	return adapter(name, about, caughtBy, func(l subjects.Lock, lock string, e *env) subjects.Lock {
		m := &mistake{Lock: l}
		fill(m, lock, e)
		return m
	})
}

// inClients are mistakes of the client's side.
func inClients() []Lock {
	return append([]Lock{
		wrong("busy-is-acquired", "tryLock that did not get the lock says that it did", "object", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				a := m.Lock.Acquire(ctx, owner, r)
				if a.Outcome == history.Busy {
					a.Outcome = history.Acquired
				}
				return a
			}
		}),
		wrong("error-is-acquired", "an error of an acquiring call is taken for success", "object", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				a := m.Lock.Acquire(ctx, owner, r)
				if a.Err != nil {
					a = subjects.Answer{Outcome: history.Acquired}
				}
				return a
			}
		}),
		wrong("unlock-hides-loss", "an unlock that was refused says that it released", "object", func(m *mistake, _ string, _ *env) {
			m.release = func(ctx context.Context, owner string) subjects.Answer {
				a := m.Lock.Release(ctx, owner)
				if a.Outcome == history.NotHeld {
					a = subjects.Answer{Outcome: history.Released}
				}
				return a
			}
		}),
		wrong("unlock-all", "one unlock gives all holds back", "object", func(m *mistake, _ string, _ *env) {
			m.release = func(ctx context.Context, owner string) subjects.Answer {
				a := m.Lock.Release(ctx, owner)
				for a.Outcome == history.Decremented {
					a = m.Lock.Release(ctx, owner)
				}
				return a
			}
		}),
		wrong("unlock-not-awaited", "unlock returns before the server has heard of it", "object", func(m *mistake, _ string, e *env) {
			m.release = func(ctx context.Context, owner string) subjects.Answer {
				go m.Lock.Release(context.WithoutCancel(ctx), owner)
				return subjects.Answer{Outcome: history.Released}
			}
		}),
		wrong("waits-half", "tryLock waits half of what it should", "liveness", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				r.Wait /= 2
				return m.Lock.Acquire(ctx, owner, r)
			}
		}),
		wrong("waits-longer", "tryLock waits five seconds longer than it should", "liveness", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				if !r.Forever {
					r.Wait += 5 * time.Second
				}
				return m.Lock.Acquire(ctx, owner, r)
			}
		}),
		wrong("lease-ignored", "a lease that is asked for is not heeded: the watchdog renews", "object", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				r.Lease = 0
				return m.Lock.Acquire(ctx, owner, r)
			}
		}),
		wrong("lease-for-all", "a lock without a lease gets one of ten seconds, and no watchdog", "object", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				if r.Lease == 0 {
					r.Lease = 10 * time.Second
				}
				return m.Lock.Acquire(ctx, owner, r)
			}
		}),
		wrong("owner-is-the-client", "all threads of a client are one owner", "object", func(m *mistake, _ string, _ *env) {
			m.acquire = func(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
				return m.Lock.Acquire(ctx, firstThread(owner), r)
			}
			m.release = func(ctx context.Context, owner string) subjects.Answer {
				return m.Lock.Release(ctx, firstThread(owner))
			}
		}),
		wrong("unlock-for-the-first", "unlock is for the client's first thread, whoever calls", "object", func(m *mistake, _ string, _ *env) {
			m.release = func(ctx context.Context, owner string) subjects.Answer {
				return m.Lock.Release(ctx, firstThread(owner))
			}
		}),
		wrong("hold-count-lies", "holdCount is at most 1", "object", func(m *mistake, _ string, _ *env) {
			m.inspect = answering(m, history.HoldCount, func(n int64) int64 { return min(n, 1) })
		}),
		wrong("ttl-in-microseconds", "remainingTTL is off by a thousand", "object", func(m *mistake, _ string, _ *env) {
			m.inspect = answering(m, history.RemainingTTL, func(n int64) int64 {
				if n > 0 {
					n /= 1000
				}
				return n
			})
		}),
		wrong("is-held-by-anybody", "isHeldBy asks whether anybody holds the lock", "object", func(m *mistake, _ string, _ *env) {
			m.inspect = func(ctx context.Context, question history.Kind, owner string) subjects.Answer {
				if question == history.IsHeldBy {
					question = history.IsLocked
				}
				return m.Lock.(subjects.Inspector).Inspect(ctx, question, owner)
			}
		}),
	}, inWatchdogs()...)
}

func firstThread(owner string) string {
	client, _, _ := strings.Cut(owner, ":")
	return client + ":1"
}

// answering changes the answers to one question.
func answering(m *mistake, what history.Kind, change func(int64) int64) func(context.Context, history.Kind, string) subjects.Answer {
	return func(ctx context.Context, question history.Kind, owner string) subjects.Answer {
		a := m.Lock.(subjects.Inspector).Inspect(ctx, question, owner)
		if question == what && a.Outcome == history.OK {
			a.Value = change(a.Value)
		}
		return a
	}
}

// inWatchdogs are mistakes in the timing of renewals.
func inWatchdogs() []Lock {
	return []Lock{
		timed("renew-once", "the watchdog renews once", func(n int, d time.Duration) (time.Duration, bool) { return d, n < 1 }),
		timed("renew-late", "the watchdog renews when nearly all of the lease is over", func(_ int, d time.Duration) (time.Duration, bool) { return d * 28 / 10, true }),
		timed("renew-too-late", "the watchdog renews after the lease's end", func(_ int, d time.Duration) (time.Duration, bool) { return d * 31 / 10, true }),
		timed("renew-never", "the watchdog never renews", func(_ int, d time.Duration) (time.Duration, bool) { return d, false }),
	}
}

// timed is a lock whose watchdog's timers come at other times, or not at all: n counts those started
// so far.
func timed(name, about string, when func(n int, d time.Duration) (time.Duration, bool)) Lock {
	s := named(base, name, about)
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		e.Scheduler = &clock{Scheduler: e.Scheduler, when: when}
		return open(e)
	}
	return Lock{Subject: s, Sound: base, CaughtBy: "watchdog"}
}

type clock struct {
	subjects.Scheduler
	when func(n int, d time.Duration) (time.Duration, bool)

	mu sync.Mutex
	n  int
}

func (c *clock) AfterFunc(d time.Duration, f func()) subjects.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, runs := c.when(c.n, d)
	c.n++
	if !runs {
		f = func() {}
	}
	return c.Scheduler.AfterFunc(d, f)
}
