package broken

import (
	"context"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// PermitSemaphores returns the permit semaphores that are broken on purpose.
func PermitSemaphores() []Lock {
	const classic, hardened = "rpermitsemaphore-classic", "rpermitsemaphore-hardened"
	return []Lock{
		scriptOf(classic, "leases-taken-anyway", "an acquire does not ask how many permits are free", "object",
			"if tonumber(call('get', KEYS[1]) or 0) >= 1 then", "if call('get', KEYS[1]) then"),
		scriptOf(classic, "leases-begin-over", "an acquire notes the caller's time as the end of the lease", "object",
			"call('zadd', KEYS[2], ARGV[2], ARGV[3])\n  local ttl", "call('zadd', KEYS[2], ARGV[1], ARGV[3])\n  local ttl"),
		scriptOf(classic, "leases-silent", "a release publishes nothing", "liveness",
			"call('publish', KEYS[3], call('incrby', KEYS[1], 1))", "call('incrby', KEYS[1], 1)"),
		scriptOf(classic, "leases-given-away", "a release forgets the permit, and gives nothing to the free ones", "object",
			"call('publish', KEYS[3], call('incrby', KEYS[1], 1))\n", ""),
		scriptOf(classic, "leases-late-is-ok", "a release of a permit whose lease is over says that it gave it", "object",
			"return tonumber(deadline) > tonumber(ARGV[1]) and 1 or 0", "return 1"),
		scriptOf(classic, "leases-update-unknown", "what sets the lease of a permit does not ask whether it is taken", "object",
			"if not call('zscore', KEYS[2], ARGV[3]) then\n  return 0\nend\n", ""),
		scriptOf(hardened, "leases-unremembered", "an acquire is not remembered, so that a copy of it sets the lease anew", "object",
			"return answer(n - 1)", "return n - 1"),
		scriptOf(hardened, "leases-never-over", "a permit whose lease is over stays taken", "liveness",
			"  call('zremrangebyscore', KEYS[1], '(0', string.format('%.0f', now))\n", ""),
		scriptOf(hardened, "leases-nearest-untold", "who has to wait is not told when a lease ends", "liveness",
			"return answer(n and nearest and -2 - (nearest - now) or -1)", "return answer(-1)"),
		scriptOf(hardened, "leases-update-nothing", "what sets the lease of a permit says that it did, and does not", "object",
			"call('zadd', KEYS[1], deadline(ARGV[4]), ARGV[5])\nreturn answer(1)", "return answer(1)"),
		leasesMistake("leases-give-forgets", "a release says that it gave the permit, and forgets to", "object", func(m *leaseMistake) {
			m.give = func(context.Context, string) subjects.Answer { return subjects.Answer{Outcome: history.OK} }
		}),
		leasesMistake("leases-wait-half", "tryAcquire waits half of what it should", "liveness", func(m *leaseMistake) {
			m.take = func(ctx context.Context, r subjects.Request) subjects.Answer {
				r.Wait /= 2
				return m.PermitSemaphore.Take(ctx, r)
			}
		}),
		leasesMistake("leases-dropped", "an acquire with a lease asks for none", "object", func(m *leaseMistake) {
			m.take = func(ctx context.Context, r subjects.Request) subjects.Answer {
				r.Lease = 0
				return m.PermitSemaphore.Take(ctx, r)
			}
		}),
	}
}

// leasesMistake is the faithful permit semaphore with a mistake made around it.
func leasesMistake(name, about, caughtBy string, fill func(m *leaseMistake)) Lock {
	return around("rpermitsemaphore-classic", name, about, caughtBy, func(c subjects.Client) subjects.Client { return &leaseClient{c, fill} })
}

type leaseClient struct {
	subjects.Client
	fill func(m *leaseMistake)
}

// PermitSemaphore implements [subjects.PermitSemaphores].
func (c *leaseClient) PermitSemaphore(name string) subjects.PermitSemaphore {
	m := &leaseMistake{PermitSemaphore: c.Client.(subjects.PermitSemaphores).PermitSemaphore(name)}
	c.fill(m)
	return m
}

// leaseMistake is a permit semaphore with a mistake in what its client does. What is nil is as it should be.
type leaseMistake struct {
	subjects.PermitSemaphore
	take func(ctx context.Context, r subjects.Request) subjects.Answer
	give func(ctx context.Context, permit string) subjects.Answer
}

func (m *leaseMistake) Take(ctx context.Context, r subjects.Request) subjects.Answer {
	if m.take != nil {
		return m.take(ctx, r)
	}
	return m.PermitSemaphore.Take(ctx, r)
}

func (m *leaseMistake) Give(ctx context.Context, permit string) subjects.Answer {
	if m.give != nil {
		return m.give(ctx, permit)
	}
	return m.PermitSemaphore.Give(ctx, permit)
}
