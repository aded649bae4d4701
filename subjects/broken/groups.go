package broken

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Groups returns the locks whose groups are broken on purpose, while each member by itself is sound. Some are
// made by hand out of sound members, as users of a lock without groups make them ([Handmade]); others are
// edits of the scripts that take and give back all members at once.
func Groups() []Lock {
	const hardened = "rlock-hardened"
	return []Lock{
		byHand("group-keeps-members", "an attempt that finds a member busy keeps the members it has taken", "liveness",
			func(g *byHandLock) { g.keepsTaken = true }),
		byHand("group-unlock-forgets-last", "an unlock forgets the last member", "liveness",
			func(g *byHandLock) { g.leaves = 1 }),
		byHand("group-unlock-stops", "an unlock stops at the first member that it no longer holds", "liveness",
			func(g *byHandLock) { g.stopsAtLoss = true }),
		byHand("group-without-one", "a group is granted with one member missing", "object",
			func(g *byHandLock) { g.spares = 1 }),
		byHand("group-ignores-elapsed", "a grant does not look at how long the taking took", "object",
			func(g *byHandLock) { g.ignoresElapsed = true }),
		byHand("group-reenters-first", "a re-entry takes the first member only", "object",
			func(g *byHandLock) { g.reentersFirst = true }),
		byHand("group-lease-of-first", "only the first member gets the lease that was asked for", "object",
			func(g *byHandLock) { g.leasesFirst = true }),
		byHand("group-refuses-own", "a member that the owner holds already counts as busy", "object",
			func(g *byHandLock) { g.refusesOwn = true }),
		byHand("group-unlock-gives-all", "an unlock gives back all holds of each member", "object",
			func(g *byHandLock) { g.givesAll = true }),
		byHand("group-nested-is-last", "a nested unlock says that the group was released", "object",
			func(g *byHandLock) { g.saysReleased = true }),
		byHand("group-asks-rarely", "a waiter asks again every ten seconds, and hears of no release", "liveness",
			func(g *byHandLock) { g.poll = 10 * time.Second }),
		byHand("red-half-is-enough", "half of the members are a quorum", "object",
			func(g *byHandLock) { g.spares = 1 }),
		byHand("red-keeps-minority", "an attempt that did not get a quorum keeps what it got", "liveness",
			func(g *byHandLock) { g.keepsTaken = true }),
		byHand("red-unlocks-quorum", "an unlock stops when a quorum has been given back", "liveness",
			func(g *byHandLock) { g.unlocksQuorum = true }),
		grouped(scriptOf(hardened, "all-but-last-lease", "the script that takes all members sets no lease on the last", "object",
			"  call('pexpire', lock, ARGV[1] + more)\n", "  if i < n or n == 1 then\n    call('pexpire', lock, ARGV[1] + more)\n  end\n")),
		grouped(scriptOf(hardened, "all-but-last-taken", "the script that takes all members leaves out the last", "object",
			"  call('hincrby', lock, ARGV[2], 1)\n  call('pexpire'", "  if i < n or n == 1 then\n    call('hincrby', lock, ARGV[2], 1)\n  end\n  call('pexpire'")),
		grouped(scriptOf(hardened, "all-if-first-is-free", "the script that takes all members looks only at the first", "object",
			"  if ttls[i] ~= -2 and call('hexists', lock, ARGV[2]) == 0 then", "  if i == 1 and ttls[i] ~= -2 and call('hexists', lock, ARGV[2]) == 0 then")),
		grouped(scriptOf(hardened, "all-but-last-given", "the script that gives all members back leaves out the last", "liveness",
			"for i = 1, #KEYS / 3 do\n  local lock, record = KEYS[3 * i - 2], KEYS[3 * i]\n  local holds", "for i = 1, math.max(#KEYS / 3 - 1, 1) do\n  local lock, record = KEYS[3 * i - 2], KEYS[3 * i]\n  local holds")),
		grouped(scriptOf(hardened, "all-released-silently", "the script that gives all members back publishes nothing", "liveness",
			"    call('publish', KEYS[3 * i - 1], '0')\n", "")),
	}
}

// grouped is a broken lock that makes groups as its sound one does.
func grouped(l Lock) Lock {
	sound, _ := subjects.Find(l.Sound)
	l.Groups = sound.Groups
	return l
}

// Handmade is a lock whose groups are made by hand, without a mistake: what the mistakes are made in.
func Handmade() subjects.Subject { return byHand("by-hand", "groups made by hand", "", nil).Subject }

// byHand is a lock whose groups are made by hand, with a mistake.
func byHand(name, about, caughtBy string, fill func(g *byHandLock)) Lock {
	l := Lock{Subject: named("rlock-hardened", name, about), Sound: "rlock-hardened", CaughtBy: caughtBy}
	l = grouped(l)
	l.Abilities = slices.DeleteFunc(slices.Clone(l.Abilities), func(a string) bool { return a == "lost" }) // of the whole nobody tells
	open := l.Open
	l.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return byHandClient{c, e, fill}, nil
	}
	return l
}

type byHandClient struct {
	subjects.Client
	env  subjects.Env
	fill func(g *byHandLock)
}

func (c byHandClient) All(locks []subjects.Lock) (subjects.Lock, error) {
	return c.group(locks, len(locks)), nil
}

func (c byHandClient) Quorum(locks []subjects.Lock) (subjects.Lock, error) {
	return c.group(locks, len(locks)/2+1), nil
}

func (c byHandClient) group(locks []subjects.Lock, needed int) subjects.Lock {
	g := &byHandLock{members: locks, needed: needed, poll: 50 * time.Millisecond, env: c.env, holds: map[string]int{}}
	if c.fill != nil {
		c.fill(g)
	}
	return g
}

// byHandLock is a group of locks that are taken one after the other, and its mistakes.
type byHandLock struct {
	members []subjects.Lock
	needed  int
	poll    time.Duration // how long a waiter waits before it asks again
	env     subjects.Env

	keepsTaken, stopsAtLoss, ignoresElapsed, reentersFirst, leasesFirst, refusesOwn, givesAll, saysReleased, unlocksQuorum bool

	leaves int // members that an unlock leaves out
	spares int // members that a grant can do without

	mu    sync.Mutex
	holds map[string]int // by owner
}

var (
	errNotEnough = errors.New("too few members could be had")
	errTooLate   = errors.New("taking the members took longer than their leases")
)

func (g *byHandLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	for began := time.Now(); ; {
		a := g.attempt(ctx, owner, r)
		if a.Outcome == history.Acquired || !errors.Is(a.Err, errNotEnough) || !r.Forever && time.Since(began)+g.poll > r.Wait {
			return a
		}
		timer := time.NewTimer(g.poll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return subjects.Answer{Outcome: history.Unknown, Err: ctx.Err()}
		}
	}
}

func (g *byHandLock) attempt(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	g.mu.Lock()
	again := g.holds[owner] > 0
	g.mu.Unlock()
	lease := r.Lease
	if lease == 0 {
		lease = g.env.WatchdogTimeout
	}
	began := time.Now()
	var taken []subjects.Lock
	var failed error
	for i, m := range g.members {
		one := subjects.Request{Lease: r.Lease}
		if g.leasesFirst && i > 0 {
			one.Lease = 0
		}
		if g.refusesOwn && m.(subjects.Inspector).Inspect(ctx, history.IsHeldBy, owner).Value == 1 {
			break
		}
		switch a := m.Acquire(ctx, owner, one); {
		case a.Outcome == history.Acquired:
			taken = append(taken, m)
		case a.Err != nil:
			failed = a.Err
		}
		if missing := i + 1 - len(taken); missing > len(g.members)-g.needed+g.spares || g.reentersFirst && again {
			break // it cannot be had any more
		}
	}
	late := !g.ignoresElapsed && time.Since(began) >= lease
	if (len(taken) >= g.needed-g.spares || g.reentersFirst && again) && !late {
		g.mu.Lock()
		g.holds[owner]++
		g.mu.Unlock()
		return subjects.Answer{Outcome: history.Acquired}
	}
	if !g.keepsTaken {
		for _, m := range taken {
			m.Release(context.WithoutCancel(ctx), owner)
		}
	}
	switch {
	case late:
		return subjects.Answer{Outcome: history.Unknown, Err: errTooLate}
	case failed != nil:
		return subjects.Answer{Outcome: history.Unknown, Err: failed}
	case g.needed < len(g.members):
		return subjects.Answer{Outcome: history.Unknown, Err: errNotEnough}
	}
	return subjects.Answer{Outcome: history.Failed, Err: errNotEnough}
}

func (g *byHandLock) Release(ctx context.Context, owner string) subjects.Answer {
	g.mu.Lock()
	g.holds[owner] = max(g.holds[owner]-1, 0)
	g.mu.Unlock()
	released, held, lost, silent := 0, 0, 0, 0
	var failed error
	for i, m := range g.members {
		if len(g.members)-i <= g.leaves && i > 0 {
			released++ // or so it says
			continue
		}
		a := m.Release(ctx, owner)
		for g.givesAll && a.Outcome == history.Decremented {
			a = m.Release(ctx, owner)
		}
		switch a.Outcome {
		case history.Released:
			released++
		case history.Decremented:
			held++
		case history.NotHeld:
			lost++
		default:
			silent++
			failed = a.Err
		}
		if g.stopsAtLoss && lost > 0 || g.unlocksQuorum && released >= g.needed {
			break
		}
	}
	switch {
	case g.saysReleased && held >= g.needed:
		return subjects.Answer{Outcome: history.Released}
	case held >= g.needed:
		return subjects.Answer{Outcome: history.Decremented}
	case released+held >= g.needed && held+silent < g.needed:
		return subjects.Answer{Outcome: history.Released, Err: failed}
	case lost == len(g.members):
		return subjects.Answer{Outcome: history.NotHeld}
	}
	return subjects.Answer{Outcome: history.Unknown, Err: failed}
}
