package broken

import (
	"context"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Semaphores returns the semaphores that are broken on purpose.
func Semaphores() []Lock {
	const classic, hardened = "rsemaphore-classic", "rsemaphore-hardened"
	return []Lock{
		scriptOf(classic, "permits-taken-anyway", "an acquire does not ask how many permits are free", "object",
			"if free and tonumber(free) >= tonumber(ARGV[1]) then", "if free then"),
		scriptOf(classic, "permits-last-refused", "an acquire that would leave no permit is refused", "object",
			"tonumber(free) >= tonumber(ARGV[1])", "tonumber(free) > tonumber(ARGV[1])"),
		scriptOf(classic, "permits-taken-one", "an acquire takes one permit, however many it asks for", "object",
			"redis.call('decrby', KEYS[1], ARGV[1])", "redis.call('decrby', KEYS[1], 1)"),
		scriptOf(classic, "permits-given-one", "a release gives one permit, however many it is called with", "object",
			"redis.call('publish', KEYS[2], redis.call('incrby', KEYS[1], ARGV[1]))", "redis.call('publish', KEYS[2], redis.call('incrby', KEYS[1], 1))"),
		scriptOf(classic, "permits-silent", "a release publishes nothing", "liveness",
			"redis.call('publish', KEYS[2], redis.call('incrby', KEYS[1], ARGV[1]))", "redis.call('incrby', KEYS[1], ARGV[1])"),
		scriptOf(classic, "permits-set-again", "trySetPermits sets the permits of a semaphore that is there", "object",
			"if redis.call('exists', KEYS[1]) == 1 then\n  return 0\nend\n", ""),
		scriptOf(hardened, "permits-unremembered", "an acquire is not remembered, so that a copy of it takes again", "object",
			"return answer(call('decrby', KEYS[1], ARGV[4]))", "return call('decrby', KEYS[1], ARGV[4])"),
		scriptOf(hardened, "permits-given-again", "a release is not remembered, so that a copy of it gives again", "object",
			"call('publish', ARGV[3], call('incrby', KEYS[1], ARGV[4]))\nreturn answer(1)", "call('publish', ARGV[3], call('incrby', KEYS[1], ARGV[4]))\nreturn 1"),
		scriptOf(hardened, "permits-cancel-keeps", "what gives an abandoned acquire back says that it did, and does not", "liveness",
			"  call('publish', ARGV[3], call('incrby', KEYS[1], ARGV[5]))\n", ""),
		scriptOf(hardened, "permits-cancel-gives", "what gives an abandoned acquire back does not ask whether it took anything", "object",
			"if last and string.sub(last, 1, 16) == ARGV[4] and tonumber(string.sub(last, 17)) >= 0\n  and call", "if call"),
		permitsMistake("permits-busy-is-acquired", "tryAcquire that got no permits says that it did", "object", func(m *permitMistake) {
			m.take = func(ctx context.Context, permits int64, r subjects.Request) subjects.Answer {
				a := m.Semaphore.Take(ctx, permits, r)
				if a.Outcome == history.Busy {
					a.Outcome = history.Acquired
				}
				return a
			}
		}),
		permitsMistake("permits-wait-half", "tryAcquire waits half of what it should", "liveness", func(m *permitMistake) {
			m.take = func(ctx context.Context, permits int64, r subjects.Request) subjects.Answer {
				r.Wait /= 2
				return m.Semaphore.Take(ctx, permits, r)
			}
		}),
		permitsMistake("permits-give-twice", "a release is called twice", "object", func(m *permitMistake) {
			m.give = func(ctx context.Context, permits int64) subjects.Answer {
				m.Semaphore.Give(ctx, permits)
				return m.Semaphore.Give(ctx, permits)
			}
		}),
		permitsMistake("permits-give-nothing", "a release of several permits says that it gave them, and forgets to", "object", func(m *permitMistake) {
			m.give = func(ctx context.Context, permits int64) subjects.Answer {
				if permits > 1 {
					return subjects.Answer{Outcome: history.OK}
				}
				return m.Semaphore.Give(ctx, permits)
			}
		}),
	}
}

// permitsMistake is the faithful semaphore with a mistake made around it.
func permitsMistake(name, about, caughtBy string, fill func(m *permitMistake)) Lock {
	return around("rsemaphore-classic", name, about, caughtBy, func(c subjects.Client) subjects.Client { return &permitClient{c, fill} })
}

type permitClient struct {
	subjects.Client
	fill func(m *permitMistake)
}

// Semaphore implements [subjects.Semaphores].
func (c *permitClient) Semaphore(name string) subjects.Semaphore {
	m := &permitMistake{Semaphore: c.Client.(subjects.Semaphores).Semaphore(name)}
	c.fill(m)
	return m
}

// permitMistake is a semaphore with a mistake in what its client does. What is nil is as it should be.
type permitMistake struct {
	subjects.Semaphore
	take func(ctx context.Context, permits int64, r subjects.Request) subjects.Answer
	give func(ctx context.Context, permits int64) subjects.Answer
}

func (m *permitMistake) Take(ctx context.Context, permits int64, r subjects.Request) subjects.Answer {
	if m.take != nil {
		return m.take(ctx, permits, r)
	}
	return m.Semaphore.Take(ctx, permits, r)
}

func (m *permitMistake) Give(ctx context.Context, permits int64) subjects.Answer {
	if m.give != nil {
		return m.give(ctx, permits)
	}
	return m.Semaphore.Give(ctx, permits)
}
