package external

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// bentObject is a client of an object that answers something else than the reference's, which it has.
type bentObject struct {
	subjects.Client
	bend func(kind history.Kind, do func() subjects.Answer) subjects.Answer
	half func(c subjects.ReadWriteLocks, writes bool, name string) subjects.Lock // nil: as the reference has it
}

// bentObjects are workers that serve objects, by name: what they are, and what is bent of each call.
var bentObjects = map[string]struct {
	of   string
	bend func(kind history.Kind, do func() subjects.Answer) subjects.Answer
	half func(c subjects.ReadWriteLocks, writes bool, name string) subjects.Lock
}{
	"takes what there is not": {"rsemaphore-classic", otherwise(history.TryAcquirePermits, history.Busy, history.Acquired), nil},
	"sets permits again":      {"rsemaphore-classic", otherwise(history.TrySetPermits, history.Rejected, history.OK), nil},
	"keeps permits":           {"rsemaphore-classic", instead(history.ReleasePermits, history.OK), nil},
	"hands out permits":       {"rsemaphore-classic", instead(history.AcquirePermits, history.Acquired), nil},
	"opens too soon":          {"rcountdownlatch-classic", otherwise(history.TryAwait, history.Busy, history.OK), nil},
	"gives a permit twice":    {"rpermitsemaphore-classic", otherwise(history.ReleasePermit, history.NotHeld, history.OK), nil},
	"keeps a permit":          {"rpermitsemaphore-classic", instead(history.ReleasePermit, history.OK), nil},
	"sets a total again":      {"rpermitsemaphore-classic", otherwise(history.TrySetTotal, history.Rejected, history.OK), nil},
	"updates nothing":         {"rpermitsemaphore-classic", instead(history.UpdateLease, history.OK), nil},
	"updates what is over":    {"rpermitsemaphore-classic", otherwise(history.UpdateLease, history.NotHeld, history.OK), nil},
	"one id for all":          {"rpermitsemaphore-classic", named("always-this"), nil},
	"no id":                   {"rpermitsemaphore-classic", named(""), nil},
	"hands out ids":           {"rpermitsemaphore-classic", invents, nil},
	"leases for ever, of ids": {"rpermitsemaphore-classic", nil, nil},
	"counts nothing":          {"rcountdownlatch-classic", instead(history.CountDown, history.OK), nil},
	"awaits nothing":          {"rcountdownlatch-classic", instead(history.Await, history.OK), nil},
	"adds nothing":            {"rsemaphore-classic", instead(history.AddPermits, history.OK), nil},
	"drains nothing":          {"rsemaphore-classic", instead(history.DrainPermits, history.OK), nil},
	"adds no id":              {"rpermitsemaphore-classic", instead(history.AddTotal, history.OK), nil},
	"deletes nothing":         {"rcountdownlatch-classic", instead(history.DeleteLatch, history.Released), nil},
	"forces nobody": {"rrwlock-classic", nil, func(c subjects.ReadWriteLocks, writes bool, name string) subjects.Lock {
		if writes {
			return forcesNobody{c.WriteLock(name)}
		}
		return forcesNobody{c.ReadLock(name)}
	}},
	"readers pass by":            {"rrwlock-classic", nil, lockOf},
	"keeps readers out":          {"rrwlock-classic", nil, marking(false)},
	"keeps readers out for ever": {"rrwlock-classic", nil, marking(true)},
	"readers exclude": {"rrwlock-classic", nil, func(c subjects.ReadWriteLocks, _ bool, name string) subjects.Lock {
		return c.WriteLock(name)
	}},
	"writers share": {"rrwlock-classic", nil, func(c subjects.ReadWriteLocks, _ bool, name string) subjects.Lock {
		return c.ReadLock(name)
	}},
}

// forcesNobody says that it frees who holds it, if anybody does, and does nothing.
type forcesNobody struct{ subjects.Lock }

func (l forcesNobody) ForceRelease(ctx context.Context) subjects.Answer {
	const another = "another:1"
	if a := l.Acquire(ctx, another, subjects.Request{}); a.Outcome == history.Acquired {
		l.Release(ctx, another)
		return subjects.Answer{Outcome: history.NotHeld}
	}
	return subjects.Answer{Outcome: history.Released}
}

// otherwise answers calls of a kind otherwise.
func otherwise(of history.Kind, when, then history.Outcome) func(history.Kind, func() subjects.Answer) subjects.Answer {
	return func(kind history.Kind, do func() subjects.Answer) subjects.Answer {
		a := do()
		if kind == of && a.Outcome == when {
			a.Outcome = then
		}
		return a
	}
}

// instead answers calls of a kind and does nothing.
func instead(of history.Kind, then history.Outcome) func(history.Kind, func() subjects.Answer) subjects.Answer {
	return func(kind history.Kind, do func() subjects.Answer) subjects.Answer {
		if kind == of {
			return subjects.Answer{Outcome: then}
		}
		return do()
	}
}

// named names each permit alike.
func named(id string) func(history.Kind, func() subjects.Answer) subjects.Answer {
	return func(_ history.Kind, do func() subjects.Answer) subjects.Answer {
		a := do()
		if a.Outcome == history.Acquired {
			a.Permit = id
		}
		return a
	}
}

// invents hands out a permit where there is none.
func invents(kind history.Kind, do func() subjects.Answer) subjects.Answer {
	a := do()
	if kind == history.TryAcquirePermit && a.Outcome == history.Busy {
		a.Outcome, a.Permit = history.Acquired, "invented"
	}
	return a
}

func bentObjectBy(name string) (s subjects.Subject, ok bool) {
	b, ok := bentObjects[name]
	s, _ = subjects.Find(b.of)
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		if locks, shared := c.(subjects.ReadWriteLocks); shared {
			c = openRW{c, locks, e.Redis}
		}
		return bentObject{c, b.bend, b.half}, err
	}
	if slices.Contains([]string{"readers pass by", "keeps readers out", "keeps readers out for ever"}, name) {
		s.Abilities, s.PlaceKept = append(slices.Clone(s.Abilities), string(contract.WritersFirst)), 7*time.Second
	}
	return s, ok
}

// openRW is a client of read-write locks, and its Redis.
type openRW struct {
	subjects.Client
	subjects.ReadWriteLocks
	redis redis.UniversalClient
}

func lockOf(c subjects.ReadWriteLocks, writes bool, name string) subjects.Lock {
	if writes {
		return c.WriteLock(name)
	}
	return c.ReadLock(name)
}

// marking is a lock that keeps readers out while a writer waits, or from then on for ever.
func marking(on bool) func(c subjects.ReadWriteLocks, writes bool, name string) subjects.Lock {
	return func(c subjects.ReadWriteLocks, writes bool, name string) subjects.Lock {
		return marked{lockOf(c, writes, name), c.(openRW).redis, name + ":waiting", writes, on}
	}
}

type marked struct {
	subjects.Lock
	redis  redis.UniversalClient
	key    string
	writes bool
	on     bool
}

func (l marked) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	if l.writes && (r.Forever || r.Wait > 0) {
		l.redis.SAdd(ctx, l.key, owner)
		if !l.on {
			defer l.redis.SRem(context.WithoutCancel(ctx), l.key, owner)
		}
	}
	for end := time.Now().Add(r.Wait); !l.writes && l.redis.SCard(ctx, l.key).Val() > 0; {
		if !r.Forever && time.Now().After(end) {
			return subjects.Answer{Outcome: history.Busy}
		}
		select {
		case <-ctx.Done():
			return subjects.Answer{Outcome: history.Busy}
		case <-time.After(10 * time.Millisecond): // it polls
		}
	}
	return l.Lock.Acquire(ctx, owner, r)
}

func (c bentObject) Semaphore(name string) subjects.Semaphore {
	return bentSemaphore{c.Client.(subjects.Semaphores).Semaphore(name), c}
}

func (c bentObject) Latch(name string) subjects.Latch {
	return bentLatch{c.Client.(subjects.Latches).Latch(name), c}
}

func (c bentObject) ReadLock(name string) subjects.Lock {
	return c.half(c.Client.(subjects.ReadWriteLocks), false, name)
}

func (c bentObject) WriteLock(name string) subjects.Lock {
	return c.half(c.Client.(subjects.ReadWriteLocks), true, name)
}

type bentSemaphore struct {
	subjects.Semaphore
	c bentObject
}

func (s bentSemaphore) Set(ctx context.Context, n int64) subjects.Answer {
	return s.c.bend(history.TrySetPermits, func() subjects.Answer { return s.Semaphore.Set(ctx, n) })
}

func (s bentSemaphore) Take(ctx context.Context, n int64, r subjects.Request) subjects.Answer {
	kind := history.TryAcquirePermits
	if r.Forever {
		kind = history.AcquirePermits
	}
	return s.c.bend(kind, func() subjects.Answer { return s.Semaphore.Take(ctx, n, r) })
}

func (s bentSemaphore) Give(ctx context.Context, n int64) subjects.Answer {
	return s.c.bend(history.ReleasePermits, func() subjects.Answer { return s.Semaphore.Give(ctx, n) })
}

func (s bentSemaphore) Add(ctx context.Context, n int64) subjects.Answer {
	return s.c.bend(history.AddPermits, func() subjects.Answer { return s.Semaphore.(subjects.Resizer).Add(ctx, n) })
}

func (s bentSemaphore) Drain(ctx context.Context) subjects.Answer {
	return s.c.bend(history.DrainPermits, func() subjects.Answer { return s.Semaphore.(subjects.Drainer).Drain(ctx) })
}

func (c bentObject) PermitSemaphore(name string) subjects.PermitSemaphore {
	return bentPermits{c.Client.(subjects.PermitSemaphores).PermitSemaphore(name), c}
}

type bentPermits struct {
	subjects.PermitSemaphore
	c bentObject
}

func (s bentPermits) bend(kind history.Kind, do func() subjects.Answer) subjects.Answer {
	if s.c.bend == nil {
		return do()
	}
	return s.c.bend(kind, do)
}

func (s bentPermits) Set(ctx context.Context, n int64) subjects.Answer {
	return s.bend(history.TrySetTotal, func() subjects.Answer { return s.PermitSemaphore.Set(ctx, n) })
}

func (s bentPermits) Add(ctx context.Context, n int64) subjects.Answer {
	return s.bend(history.AddTotal, func() subjects.Answer { return s.PermitSemaphore.(subjects.Resizer).Add(ctx, n) })
}

func (s bentPermits) Take(ctx context.Context, r subjects.Request) subjects.Answer {
	kind := history.TryAcquirePermit
	if r.Forever {
		kind = history.AcquirePermit
	}
	if s.c.bend == nil { // it forgets the lease
		r.Lease = 0
	}
	return s.bend(kind, func() subjects.Answer { return s.PermitSemaphore.Take(ctx, r) })
}

func (s bentPermits) Give(ctx context.Context, permit string) subjects.Answer {
	return s.bend(history.ReleasePermit, func() subjects.Answer { return s.PermitSemaphore.Give(ctx, permit) })
}

func (s bentPermits) Update(ctx context.Context, permit string, lease time.Duration) subjects.Answer {
	return s.bend(history.UpdateLease, func() subjects.Answer { return s.PermitSemaphore.Update(ctx, permit, lease) })
}

type bentLatch struct {
	subjects.Latch
	c bentObject
}

func (l bentLatch) Down(ctx context.Context) subjects.Answer {
	return l.c.bend(history.CountDown, func() subjects.Answer { return l.Latch.Down(ctx) })
}

func (l bentLatch) Delete(ctx context.Context) subjects.Answer {
	return l.c.bend(history.DeleteLatch, func() subjects.Answer { return l.Latch.(subjects.Deleter).Delete(ctx) })
}

func (l bentLatch) Await(ctx context.Context, r subjects.Request) subjects.Answer {
	kind := history.TryAwait
	if r.Forever {
		kind = history.Await
	}
	return l.c.bend(kind, func() subjects.Answer { return l.Latch.Await(ctx, r) })
}

func TestChecksFindWhatIsWrongWithAnObject(t *testing.T) {
	for _, c := range []struct{ name, check, want string }{
		{"takes what there is not", "permits", `b:1: tryAcquirePermits was answered "acquired"; right: "busy"`},
		{"takes what there is not", "processes", `b:1: tryAcquirePermits of what another holds was answered "acquired"; right: "busy"`},
		{"sets permits again", "permits", `b:1: trySetPermits was answered "ok"; right: "rejected"`},
		{"keeps permits", "permits", `b:1: tryAcquirePermits was answered "busy"; right: "acquired"`},
		{"hands out permits", "waiting", `acquirePermits was answered "acquired" while there is nothing to be had`},
		{"gives a permit twice", "permits", `a:1: releasePermit was answered "ok" (`},
		{"gives a permit twice", "lease", `a:1: releasePermit of what it does not hold was answered "ok" (`},
		{"keeps a permit", "permits", `a:1: releasePermit was answered "ok"; right: "notHeld"`},
		{"keeps a permit", "processes", `b:1: tryAcquirePermit of what is free was answered "busy"; right: "acquired"`},
		{"sets a total again", "permits", `b:1: trySetTotal was answered "ok"; right: "rejected"`},
		{"updates nothing", "update", `b:1: tryAcquirePermit was answered "acquired"; right: "busy"`},
		{"updates what is over", "update", `a:1: updateLease was answered "ok" (`},
		{"one id for all", "permits", `b:1: two permits that are taken have the id "always-this"; right: one each`},
		{"no id", "permits", `it acquired a permit without its id (permit)`},
		{"hands out ids", "permits", `a:1: tryAcquirePermit was answered "acquired"; right: "busy"`},
		{"hands out ids", "waiting", `tryAcquirePermit, for 400ms, of what another holds was answered "acquired"; right: "busy"`},
		{"leases for ever, of ids", "lease", `acquirePermit, of what is free or soon free, was not answered within`},
		{"leases for ever, of ids", "death", `acquirePermit, of what is free or soon free, was not answered within`},
		{"opens too soon", "count", `b:1: tryAwait was answered "ok"; right: "busy"`},
		{"counts nothing", "count", `b:1: tryAwait was answered "busy"; right: "ok"`},
		{"awaits nothing", "awaiting", `await was answered "acquired" while there is nothing to be had`},
		{"adds nothing", "resizes", `b:1: tryAcquirePermits was answered "busy"; right: "acquired"`},
		{"drains nothing", "resizes", `a:1: drainPermits was answered with the value 0; right: 1`},
		{"adds no id", "resizes", `b:1: tryAcquirePermit of what is free was answered "busy"; right: "acquired"`},
		{"deletes nothing", "deletes", `a:1: tryAwait was answered "busy"; right: "ok"`},
		{"forces nobody", "force", `a:2: forceWrite was answered "released"; right: "notHeld"`},
		{"readers pass by", "writers-first", `b:2: tryRead of what another holds was answered "acquired"; right: "busy"`},
		{"keeps readers out for ever", "writers-first", `a:1: tryRead of what is free was answered "busy"; right: "acquired"`},
		{"readers exclude", "readers", `b:1: tryRead of what is free was answered "busy"; right: "acquired"`},
		{"writers share", "readers", `a:2: tryWrite of what another holds was answered "acquired"; right: "busy"`},
	} {
		t.Run(c.name+"/"+c.check, func(t *testing.T) {
			t.Parallel()
			s, _ := bentObjectBy(c.name)
			results := runChecksOf(t, s.Object, c.name, exceeded(c.want), c.check)
			if got := results[c.check]; got.Status != Failed || !strings.Contains(got.Got, c.want) {
				t.Errorf("%+v\nwant %s", got, c.want)
			}
		})
	}
}

// Who keeps readers out for a writer as long as that waits keeps what it claims, and says for how long a mark is kept.
func TestAWorkerWhoseWritersAreFirst(t *testing.T) {
	s, _ := bentObjectBy("keeps readers out")
	for name, r := range runChecksOf(t, s.Object, "keeps readers out", usual, "writers-first", "readers", "waiting") {
		if !passes(r.Status) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	got, err := Subject(t.Context(), Prefix+worker("keeps readers out"))
	if err != nil || !got.Can(string(contract.WritersFirst)) || got.PlaceKept != 7*time.Second {
		t.Errorf("%q, kept for %v: %v", got.Abilities, got.PlaceKept, err)
	}
	for _, hello := range []message{
		{Hello: 2, Name: "a", Version: "1", MarkKept: time.Second},
		{Hello: 2, Name: "a", Version: "1", Abilities: []string{"writers-first"}, MarkKept: -1},
		{Hello: 1, Name: "a", Version: "1", Abilities: []string{"writers-first"}, MarkKept: time.Second},
	} {
		if err := checkHello(hello); err == nil {
			t.Errorf("%+v is taken for right", hello)
		}
	}
}

// What a worker serves its hello says, and what it claims besides is claimed of that.
func TestAHelloSaysWhatIsServed(t *testing.T) {
	for name, want := range map[string][]string{
		"rsemaphore-classic":        {"permits", "resizes", "any-lease"},
		"rsemaphore-hardened":       {"permits", "resizes", "any-lease", "takes-back", "idempotent", "looks-again", "wakes-by-need", "made-by-set", "returns-unanswered", "leaves-nothing"},
		"rcountdownlatch-hardened":  {"count-down", "deletes", "takes-back", "idempotent", "looks-again", "rounds", "tells-deletion", "leaves-nothing", "returns-unanswered"},
		"rpermitsemaphore-classic":  {"permit-leases", "resizes", "any-lease"},
		"rpermitsemaphore-hardened": {"permit-leases", "resizes", "any-lease", "takes-back", "idempotent", "looks-again", "server-clock", "one-key", "returns-unanswered", "leaves-nothing"},
		"rrwlock-classic":           {"read-write", "reentrant", "watchdog", "idempotent", "force", "waits", "any-lease", "steady", "leaves-nothing"},
	} {
		s, err := Subject(t.Context(), Prefix+worker("listed@"+name))
		if err != nil {
			t.Fatal(err)
		}
		real, _ := subjects.Find(name)
		if got := strings.Join(s.Abilities, " "); got != strings.Join(want, " ") || s.Object != real.Object || !reflect.DeepEqual(s.Layout, real.Layout) {
			t.Errorf("%s: a %s that claims %s, with the layout %+v; want %q and %+v", name, s.Object, got, s.Layout, want, real.Layout)
		}
	}
}

// Who is told of a loss may have a write lock and a read lock, which are two holds.
func TestAReadersHoldIsNotAWritersHold(t *testing.T) {
	c, _, err := open(t, "listed@rrwlock-hardened", usual)
	if err != nil {
		t.Fatal(err)
	}
	rw, me := c.(subjects.ReadWriteLocks), c.Owner(1)
	for _, half := range []subjects.Lock{rw.WriteLock("l"), rw.ReadLock("l")} {
		if a := half.Acquire(t.Context(), me, subjects.Request{}); a.Outcome != history.Acquired {
			t.Fatalf("%+v", a)
		}
	}
	writes, reads := rw.WriteLock("l").(subjects.Loser).Lost(me), rw.ReadLock("l").(subjects.Loser).Lost(me)
	if a := rw.WriteLock("l").Release(t.Context(), me); a.Outcome != history.Released {
		t.Errorf("the write lock's release: %+v", a)
	}
	select {
	case <-reads:
		t.Error("the read lock is lost with the write lock")
	case <-writes:
		t.Error("what was given back is lost")
	default:
	}
	if a := rw.WriteLock("l").Acquire(t.Context(), me, subjects.Request{}); a.Outcome != history.Rejected {
		t.Errorf("who reads asks to write: %+v", a)
	}
	c.(*client).hello.Abilities = []string{"lost"}
	c.(*client).mu.Lock()
	err = c.(*client).lost(message{Lost: "l", Owner: me})
	c.(*client).mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	<-reads
}
