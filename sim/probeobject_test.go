package sim_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/subjects"
)

// elsewhere are clients that put something before the names of their objects.
type elsewhere struct{ subjects.Client }

func (c elsewhere) Semaphore(name string) subjects.Semaphore {
	return c.Client.(subjects.Semaphores).Semaphore("app:" + name)
}

func (c elsewhere) PermitSemaphore(name string) subjects.PermitSemaphore {
	return c.Client.(subjects.PermitSemaphores).PermitSemaphore("app:" + name)
}

func (c elsewhere) Latch(name string) subjects.Latch {
	return c.Client.(subjects.Latches).Latch("app:" + name)
}

func (c elsewhere) ReadLock(name string) subjects.Lock {
	return c.Client.(subjects.ReadWriteLocks).ReadLock("app:" + name)
}

func (c elsewhere) WriteLock(name string) subjects.Lock {
	return c.Client.(subjects.ReadWriteLocks).WriteLock("app:" + name)
}

// An object that is kept as Redisson keeps it is known to be, and of a read-write lock what renews it. Another is refused.
func TestAnObjectIsProbed(t *testing.T) {
	for object, want := range map[history.Object]string{
		history.ASemaphore:       `after tryAcquirePermits the key that is named like the semaphore has nothing; right: the number that is left`,
		history.ALatch:           `after countDown the key that is named like the latch has nothing; right: the number that is left`,
		history.APermitSemaphore: `after tryAcquirePermit of one of 3 permits the permit semaphore shows 0 free and 0 taken; right: 2 free and 1 taken`,
		history.ARWLock:          `after writeLock the key that is named like the read-write lock has nothing; right: a hash with the field mode, and one field for its holder`,
	} {
		for _, s := range subjects.Of(object) {
			t.Run(s.Name, func(t *testing.T) {
				layout, err := sim.Probe(bubble.In(t), s, sim.Options{Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				renews := slices.Contains(slices.Collect(maps.Values(layout.Roles)), history.StepRenew)
				if layout.Unknown != "" || layout.Round != s.Layout.Round || layout.Taken != s.Layout.Taken || layout.Absolute != s.Layout.Absolute || renews != (object == history.ARWLock) {
					t.Errorf("%+v", layout)
				}
				open := s.Open
				s.Open = func(e subjects.Env) (subjects.Client, error) {
					c, err := open(e)
					return elsewhere{c}, err
				}
				if _, err := sim.Probe(bubble.In(t), s, sim.Options{Seed: 1}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %s", err, want)
				}
			})
		}
	}
}

// bentPermits are clients of permit semaphores that take otherwise than they are asked, or tell otherwise.
type bentPermits struct {
	subjects.Client
	take func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer
}

func (c bentPermits) PermitSemaphore(name string) subjects.PermitSemaphore {
	s := c.Client.(subjects.PermitSemaphores).PermitSemaphore(name)
	return bentPermit{s, s.(subjects.Resizer), c}
}

type bentPermit struct {
	subjects.PermitSemaphore
	subjects.Resizer
	c bentPermits
}

func (s bentPermit) Take(ctx context.Context, r subjects.Request) subjects.Answer {
	return s.c.take(ctx, s.PermitSemaphore, r)
}

// A permit semaphore of which the server log would read something else than its callers are told is refused.
func TestAPermitSemaphoreIsReadAsItsCallersAreTold(t *testing.T) {
	const taken = "after tryAcquirePermit of one of 3 permits the permit semaphore shows "
	honest := func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer {
		return s.Take(ctx, r)
	}
	for name, c := range map[string]struct {
		taken string
		take  func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer
		want  string
	}{
		"as it is":    {"{*}:timeout", honest, ""},
		"one key":     {"", honest, taken + "0 free and 0 taken;"},
		"another key": {"{*}:deadlines", honest, taken + "2 free and 0 taken;"},
		"another id": {"{*}:timeout", func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer {
			a := s.Take(ctx, r)
			a.Permit = "permit:" + a.Permit
			return a
		}, taken + "2 free and 1 taken, by another id than its caller was told;"},
		"another lease": {"{*}:timeout", func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer {
			r.Lease *= 2
			return s.Take(ctx, r)
		}, taken + "2 free and 1 taken, until 33.9"},
		"no lease": {"{*}:timeout", func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer {
			r.Lease = 0
			return s.Take(ctx, r)
		}, taken + "2 free and 1 taken, for ever;"},
		"two permits": {"{*}:timeout", func(ctx context.Context, s subjects.PermitSemaphore, r subjects.Request) subjects.Answer {
			s.Take(ctx, r)
			return s.Take(ctx, r)
		}, taken + "1 free and 2 taken;"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := subjects.Find("rpermitsemaphore-classic")
			s.Layout.Taken = c.taken
			open := s.Open
			s.Open = func(e subjects.Env) (subjects.Client, error) {
				real, err := open(e)
				return bentPermits{real, c.take}, err
			}
			_, err := sim.Probe(bubble.In(t), s, sim.Options{Seed: 1})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}
