package broken

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Latches returns the latches that are broken on purpose.
func Latches() []Lock {
	const classic, hardened = "rcountdownlatch-classic", "rcountdownlatch-hardened"
	return []Lock{
		scriptOf(classic, "latch-down-twice", "a count-down counts two", "object",
			"redis.call('decr', KEYS[1])", "redis.call('decrby', KEYS[1], 2)"),
		scriptOf(classic, "latch-set-anyway", "trySetCount sets a count that is above 0", "object",
			"if redis.call('exists', KEYS[1]) == 1 then\n  return 0\nend\n", ""),
		scriptOf(classic, "latch-opens-at-one", "the last count-down but one deletes the latch", "object",
			"if count <= 0 then", "if count <= 1 then"),
		scriptOf(classic, "latch-silent", "a count-down to 0 publishes nothing", "liveness",
			"if count == 0 then\n  redis.call('publish', KEYS[2], '0')\nend\n", ""),
		scriptOf(classic, "latch-wrong-word", "a count-down to 0 publishes what a new count does", "liveness",
			"redis.call('publish', KEYS[2], '0')", "redis.call('publish', KEYS[2], '1')"),
		scriptOf(hardened, "latch-down-unremembered", "a count-down is not remembered, so that a copy of it counts again", "object",
			"return answer(call('decr', KEYS[1]))", "return call('decr', KEYS[1])"),
		scriptOf(hardened, "latch-set-unremembered", "trySetCount is not remembered, so that a copy of it is refused", "object",
			"call('publish', ARGV[3], '1')\nreturn answer(1)", "call('publish', ARGV[3], '1')\nreturn 1"),
		scriptOf(hardened, "latch-same-round", "a new count keeps the number of the round before", "liveness",
			"local round = math.max(now[1] * 1000000 + now[2], (call('get', KEYS[3]) or 0) + 1)",
			"local round = tonumber(call('get', KEYS[3]) or now[1] * 1000000 + now[2])"),
		latchMistakeIn("latch-time-is-zero", "tryAwait says that the count is 0 when its time is over", "object", func(m *latchMistake) {
			m.await = func(ctx context.Context, r subjects.Request) subjects.Answer {
				a := m.Latch.Await(ctx, r)
				if a.Outcome == history.Busy {
					a.Outcome = history.OK
				}
				return a
			}
		}),
		latchMistakeIn("latch-wait-half", "tryAwait waits half of what it should", "liveness", func(m *latchMistake) {
			m.await = func(ctx context.Context, r subjects.Request) subjects.Answer {
				r.Wait /= 2
				return m.Latch.Await(ctx, r)
			}
		}),
		latchMistakeIn("latch-down-again", "a count-down is called twice", "object", func(m *latchMistake) {
			m.down = func(ctx context.Context) subjects.Answer {
				m.Latch.Down(ctx)
				return m.Latch.Down(ctx)
			}
		}),
		latchMistakeIn("latch-down-forgotten", "a client's second count-down says that it counted, and does not", "object", func(m *latchMistake) {
			m.down = func(ctx context.Context) subjects.Answer {
				if m.downs.Add(1) == 2 {
					return subjects.Answer{Outcome: history.OK}
				}
				return m.Latch.Down(ctx)
			}
		}),
	}
}

// latchMistakeIn is the faithful latch with a mistake made around it.
func latchMistakeIn(name, about, caughtBy string, fill func(m *latchMistake)) Lock {
	return around("rcountdownlatch-classic", name, about, caughtBy, func(c subjects.Client) subjects.Client {
		return &latchClient{Client: c, fill: fill}
	})
}

type latchClient struct {
	subjects.Client
	fill  func(m *latchMistake)
	downs atomic.Int64 // how often it was asked to count down
}

// Latch implements [subjects.Latches].
func (c *latchClient) Latch(name string) subjects.Latch {
	m := &latchMistake{Latch: c.Client.(subjects.Latches).Latch(name), downs: &c.downs}
	c.fill(m)
	return m
}

// latchMistake is a latch with a mistake in what its client does. What is nil is as it should be.
type latchMistake struct {
	subjects.Latch
	downs *atomic.Int64
	await func(ctx context.Context, r subjects.Request) subjects.Answer
	down  func(ctx context.Context) subjects.Answer
}

func (m *latchMistake) Await(ctx context.Context, r subjects.Request) subjects.Answer {
	if m.await != nil {
		return m.await(ctx, r)
	}
	return m.Latch.Await(ctx, r)
}

func (m *latchMistake) Down(ctx context.Context) subjects.Answer {
	if m.down != nil {
		return m.down(ctx)
	}
	return m.Latch.Down(ctx)
}
