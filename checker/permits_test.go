package checker

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A poolScript writes a history of a semaphore by hand, with its server log. Calls come in the order of their
// execution, one lat before they return.
type poolScript struct {
	*script
	free *int64
}

func newPool(permits int64) *poolScript {
	p := &poolScript{script: newScript()}
	p.lock = "pool"
	p.h.Header.Subject, p.h.Header.Abilities = "rsemaphore-classic", []string{string(contract.Permits)}
	p.do("c0:1", history.TrySetPermits, permits, at(0), at(0.002), history.OK)
	return p
}

// do is a call that the server executes as it is told.
func (p *poolScript) do(owner string, kind history.Kind, n int64, call, ret time.Duration, out history.Outcome) *history.Op {
	op := p.op(owner, kind, call, ret, out)
	op.Value = n
	p.executed(op, ret-lat, out)
	return op
}

// executed has the server execute a call, once more if it has before, with an answer.
func (p *poolScript) executed(op *history.Op, at time.Duration, answer history.Outcome) {
	before := p.key()
	switch {
	case answer == history.Acquired:
		p.set(*p.free - op.Value)
	case answer == history.OK && op.Kind == history.TrySetPermits:
		p.set(op.Value)
	case op.Kind == history.DrainPermits:
		p.set(0)
	case answer == history.OK && (op.Kind == history.ReleasePermits || op.Kind == history.AddPermits):
		p.set(before.Number() + op.Value)
	}
	p.h.Served = append(p.h.Served, history.Served{At: at, Sent: max(op.Call, 0), Got: at + lat, Client: op.Client, Op: op.ID, Lock: p.lock,
		Before: before, After: p.key()})
}

func (p *poolScript) set(n int64) { p.free = &n }

func (p *poolScript) key() *history.KeyState { return &history.KeyState{Permits: p.free} }

func (p *poolScript) take(owner string, n int64, call, ret float64) *history.Op {
	return p.do(owner, history.AcquirePermits, n, at(call), at(ret), history.Acquired)
}

func (p *poolScript) give(owner string, n int64, call float64) *history.Op {
	return p.do(owner, history.ReleasePermits, n, at(call), at(call+0.002), history.OK)
}

func (p *poolScript) struck(kind, client string, when float64) *poolScript {
	p.fault(kind, client, at(when), 0)
	return p
}

func (p *poolScript) claiming(claims ...contract.Claim) *poolScript {
	claiming(p.script, claims...)
	if slices.Contains(claims, contract.Idempotent) {
		p.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.TrySetPermits, history.AcquirePermits, history.TryAcquirePermits, history.ReleasePermits}}}
	}
	return p
}

// shared is a pool of three permits with nothing wrong: c3 waits for what c1 has.
func shared() *poolScript {
	p := newPool(3)
	p.take("c1:1", 2, 1, 1.002)
	p.do("c2:1", history.TryAcquirePermits, 2, at(2), at(2.002), history.Busy)
	p.take("c2:1", 1, 3, 3.002)
	p.give("c1:1", 2, 5)
	p.take("c3:1", 2, 4, 5.01)
	p.give("c2:1", 1, 6)
	p.give("c3:1", 2, 7)
	return p
}

func TestASharedPoolHolds(t *testing.T) {
	v := verdict(t, shared().script)
	want(t, v)
	for _, g := range []contract.Guarantee{contract.Effect, contract.Fencing, contract.Watchdog} {
		if s := v.Result(g).Status; s != NotClaimed {
			t.Errorf("%s %s", g, s)
		}
	}
	if v.Object != "semaphore" {
		t.Errorf("what was judged is called %q", v.Object)
	}
	if by := v.Result(contract.Object).By; by != "witness replay, porcupine" {
		t.Errorf("object is judged by %q", by)
	}
	black := Judge(t.Context(), blind(shared().done()), Options{})
	want(t, black)
	if by := black.Result(contract.Object).By; by != "frontier checker, porcupine" {
		t.Errorf("of a black box object is judged by %q", by)
	}
}

func TestWrongAnswersOfASemaphoreAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		rule  contract.Rule
		wrong func(p *poolScript)
		seen  bool // by the server log alone
	}{
		"granted beyond what is free": {contract.PermitsAreFree, func(p *poolScript) { p.take("c4:1", 4, 10, 10.002) }, false},
		"refused though enough are free": {contract.PermitsAreFew, func(p *poolScript) {
			p.do("c4:1", history.TryAcquirePermits, 3, at(10), at(10.002), history.Busy)
		}, false},
		"set twice": {contract.SemaphoreSetOnce, func(p *poolScript) { p.do("c4:1", history.TrySetPermits, 3, at(10), at(10.002), history.OK) }, false},
		"given, and told that there is none": {contract.SemaphoreIsThere, func(p *poolScript) {
			p.do("c4:1", history.ReleasePermits, 1, at(10), at(10.002), history.NotHeld)
		}, false},
		"told otherwise than the server did": {contract.ToldTheTruth, func(p *poolScript) {
			op := p.op("c4:1", history.TryAcquirePermits, at(10), at(10.002), history.Busy)
			op.Value, op.Answer = 1, history.Acquired
			p.executed(op, at(10.001), history.Acquired)
		}, false},
		"failed, and took all the same": {contract.FailedIsVoid, func(p *poolScript) {
			op := p.op("c4:1", history.TryAcquirePermits, at(10), at(10.002), history.Failed)
			op.Value, op.Answer = 1, history.Acquired
			p.executed(op, at(10.001), history.Acquired)
		}, true},
		"answered without the server": {contract.AnswerHasRoot, func(p *poolScript) {
			op := p.op("c4:1", history.ReleasePermits, at(10), at(10.002), history.OK)
			op.Value, op.Evidence, op.Executed, op.Answer = 1, history.NotSent, 0, ""
		}, true},
		"took another number": {contract.KeyFits, func(p *poolScript) {
			p.take("c4:1", 1, 10, 10.002)
			p.set(1)
			p.h.Served[len(p.h.Served)-1].After = p.key()
		}, true},
		"given by the lock itself": {contract.AtMostOnce, func(p *poolScript) {
			op := p.give("c4", 1, 10)
			op.Aside = true
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := shared()
			c.wrong(p)
			v := verdict(t, p.script)
			if got := rules(v, contract.Object); !slices.Contains(got, c.rule) {
				t.Errorf("broken: %q, not %q", got, c.rule)
			}
			if v.Disagreement != "" {
				t.Error(v.Disagreement)
			}
			black := Judge(t.Context(), blind(p.done()), Options{})
			if s := black.Result(contract.Object).Status; (s == Broken) == c.seen {
				t.Errorf("what the clients were told alone %s", s)
			}
		})
	}
}

// lostMessage is a waiter that a message did not reach, while a permit was free from 5 s on, until it took it.
func lostMessage(taken float64) *poolScript {
	p := newPool(1)
	p.take("c1:1", 1, 1, 1.002)
	p.give("c1:1", 1, 5)
	p.take("c2:1", 1, 2, taken)
	p.give("c2:1", 1, taken+1)
	p.fault("drop-message", "c2", at(5), 0).On = "reply publish"
	return p
}

// leftToAnother is a waiter for one permit, whose client has another call that a message woke, and that gave up when its request was
// lost. The waiter took what was there at a time.
func leftToAnother(taken float64) *poolScript {
	p := newPool(3)
	p.take("c1:1", 3, 1, 1.002)
	p.give("c1:1", 2, 10)
	other := p.do("c2:2", history.TryAcquirePermits, 2, at(4), at(10.9), history.Busy)
	other.Wait = at(6.9)
	other.Executed = at(4.001) // before the message
	lost := p.fault("drop-message", "c2", at(10), 0)
	lost.On, lost.Op = "request acquire", other.ID
	p.take("c2:3", 1, 5, taken)
	p.give("c2:3", 1, taken+1)
	return p.claiming(contract.LooksAgain, contract.WakesByNeed)
}

// unequal is a waiter for one permit that waits beside it, since another thread of its client wants more.
func unequal(first int64, client string) *poolScript {
	p := newPool(3)
	p.take("c1:1", 3, 1, 1.002)
	p.give("c1:1", 1, 5)
	p.take("c2:2", 1, 4, 20)
	p.give("c2:2", 1, 21)
	p.give("c1:1", 2, 22)
	p.take(client+":1", first, 3, 22.01)
	p.give(client+":1", first, 23)
	return p
}

func TestOnePermitWasFree(t *testing.T) {
	for _, x := range verdict(t, unequal(3, "c2").script).Result(contract.Liveness).Violations {
		if x.Rule != contract.PermitsAreTaken {
			continue
		}
		if !strings.Contains(x.Text, "1 permit of pool was free, and") || !strings.Contains(x.Cause.Text, "that 1 permit was free woke") {
			t.Errorf("%s: %s", x.Text, x.Cause.Text)
		}
		return
	}
	t.Error("nobody waited in vain")
}

// refusedBefore is such a waiter, where the one that wants more called later, and was refused at 4.5 s. It was itself refused at a time.
func refusedBefore(itself float64) *poolScript {
	p, none := unequal(3, "c2"), int64(0)
	for i := range p.h.Ops {
		op := &p.h.Ops[i]
		if op.Kind != history.AcquirePermits || op.Client != "c2" {
			continue
		}
		when := itself
		if op.Owner == "c2:1" {
			op.Call, when = at(4.2), 4.5
		}
		p.h.Served = append(p.h.Served, history.Served{At: at(when) - lat, Sent: op.Call, Got: at(when), Client: "c2", Op: op.ID, Lock: p.lock,
			Before: &history.KeyState{Permits: &none}, After: &history.KeyState{Permits: &none}})
	}
	slices.SortFunc(p.h.Served, func(a, b history.Served) int { return int(a.At - b.At) })
	return p
}

// calledBefore is refusedBefore, where the one that wants more called first.
func calledBefore(itself float64) *poolScript {
	p := refusedBefore(itself)
	for i := range p.h.Ops {
		if op := &p.h.Ops[i]; op.Owner == "c2:1" && op.Kind == history.AcquirePermits {
			op.Call = at(3)
		}
	}
	return p
}

// dead is a client that has two permits of three when it ends so.
func dead(kind history.EventKind, gives bool) *poolScript {
	p := newPool(3)
	p.take("c1:1", 2, 1, 1.002)
	if gives {
		p.give("c1:1", 2, 2)
	}
	p.h.Events = append(p.h.Events, history.Event{Kind: kind, At: at(5), Client: "c1"})
	return p.struck("kill-client", "c1", 5)
}

// ghostPermits is an acquire of which its caller does not learn that it took two permits.
func ghostPermits(err string) *poolScript {
	p := newPool(3)
	op := p.take("c1:1", 2, 1, 6)
	op.Executed, op.Outcome, op.Error, op.Cancel = at(1.001), history.Unknown, err, 0
	p.h.Served[len(p.h.Served)-1].At = at(1.001)
	return p
}

func givenUpPermits() *poolScript {
	p := ghostPermits("context deadline exceeded")
	p.h.Ops[1].Cancel = at(5)
	return p
}

// copied is a call that takes effect once more.
func copiedPermits(kind history.Kind, answer history.Outcome) *poolScript {
	p := newPool(2)
	var op *history.Op
	if kind == history.ReleasePermits {
		p.take("c1:1", 2, 0.5, 0.502)
		op = p.give("c1:1", 2, 1)
	} else {
		op = p.take("c1:1", 1, 1, 1.002)
	}
	op.Return, op.Repeats = at(6.002), 1
	p.executed(op, at(6), answer)
	if kind == history.ReleasePermits {
		p.take("c2:1", 2, 7, 7.002)
		p.take("c3:1", 2, 8, 8.002)
	}
	return p
}

// A release that was repeated in the background may come itself when the key is gone, and make none: then the repetition was owed. One
// that gave something was not to be repeated.
func TestALateReleaseOfNothingWasRepeatedRightly(t *testing.T) {
	for answer, want := range map[history.Outcome][]contract.Rule{history.NotHeld: nil, history.OK: {contract.AtMostOnce}} {
		p := newPool(3).claiming(contract.Idempotent, contract.MadeBySet)
		p.take("c1:1", 2, 1, 1.002)
		op := p.op("c1:1", history.ReleasePermits, at(2), at(3), history.Unknown)
		op.Value, op.Evidence, op.Executed, op.Answer = 2, history.Executed, at(7), answer
		if answer == history.OK {
			p.executed(op, at(3.5), answer)
			op.Executed = at(3.5)
		}
		again := p.give("c1", 2, 5)
		again.Owner, again.Aside = "c1", true
		if answer == history.NotHeld {
			p.event(history.Delete, at(6)).Note = "deleted from outside"
			p.free = nil
			p.executed(op, at(7), answer)
		}
		if got := rules(verdict(t, p.script), contract.Object); !slices.Equal(got, want) {
			t.Errorf("%s: broke %q, want %q", answer, got, want)
		}
	}
}

// sidesOfPermits are the sides of the table's rows that semaphores have.
func sidesOfPermits() map[string][]side {
	took := func() *poolScript { return copiedPermits(history.AcquirePermits, history.Acquired) }
	gave := func() *poolScript { return copiedPermits(history.ReleasePermits, history.OK) }
	return map[string][]side{
		"waiter-hindered": {
			{contract.PermitsAreTaken, true, lostMessage(20).claiming(contract.LooksAgain)},
			{contract.PermitsAreTaken, false, lostMessage(50).claiming(contract.LooksAgain)}, // beyond watchdogTimeout
			{contract.PermitsAreTaken, true, leftToAnother(11.8)},
			{contract.PermitsAreTaken, false, leftToAnother(20)}, // the other one had given up
		},
		"message-missed": {
			{contract.PermitsAreTaken, true, lostMessage(50)},
			{contract.PermitsAreTaken, false, lostMessage(50).claiming(contract.LooksAgain)},
			{contract.PermitsAreTaken, false, func() *poolScript { p := lostMessage(50); p.h.Faults[0].Client = "c9"; return p }()},
		},
		"woke-another": {
			{contract.PermitsAreTaken, true, unequal(3, "c2")},
			{contract.PermitsAreTaken, false, unequal(3, "c3")}, // a message reaches every client
			{contract.PermitsAreTaken, false, unequal(1, "c2")}, // who could have taken it
			{contract.PermitsAreTaken, false, unequal(3, "c2").claiming(contract.WakesByNeed)},
			{contract.PermitsAreTaken, true, refusedBefore(4.6)},
			{contract.PermitsAreTaken, false, refusedBefore(4.4)},
			{contract.PermitsAreTaken, false, calledBefore(4.4)},
			{contract.PermitsAreTaken, true, calledBefore(4.6)},
		},
		"holder-died": {
			{contract.DeadPermits, true, dead(history.Died, false)},
			{contract.DeadPermits, false, func() *poolScript { p := dead(history.Died, false); p.h.Faults = nil; return p }()},
		},
		"not-told": {
			{contract.PermitsComeBack, true, ghostPermits("i/o timeout").struck("drop-message", "c1", 1)},
			{contract.PermitsComeBack, false, ghostPermits("i/o timeout")},
			{contract.PermitsComeBack, false, ghostPermits("i/o timeout").struck("drop-message", "c1", 1).claiming(contract.TakesBack)},
		},
		"given-up": {
			{contract.PermitsComeBack, true, givenUpPermits()},
			{contract.PermitsComeBack, false, givenUpPermits().claiming(contract.TakesBack)},
		},
		"sent-again": {
			{contract.AtMostOnce, true, took().struck("drop-message", "c1", 1)},
			{contract.AtMostOnce, false, took()},
			{contract.AtMostOnce, false, took().struck("drop-message", "c1", 1).claiming(contract.Idempotent)},
			{contract.AtMostOnce, true, giftCopied().struck("drop-message", "c1", 5)},
			{contract.AtMostOnce, false, giftCopied()},
			{contract.AtMostOnce, false, giftAnew().struck("drop-message", "c1", 6)}, // the message that was lost owes nothing
			{contract.AtMostOnce, false, giftCopied().struck("drop-message", "c1", 5).claiming(contract.Idempotent)},
		},
		"held-twice": {
			{contract.NoMoreOut, true, gave().struck("drop-message", "c1", 1)},
			{contract.NoMoreOut, false, gave()},
			{contract.NoMoreOut, false, gave().struck("drop-message", "c1", 1).claiming(contract.Idempotent)},
			{contract.PermitsComeBack, true, took().struck("drop-message", "c1", 1)},
			{contract.PermitsComeBack, false, took()},
			{contract.PermitsComeBack, false, took().struck("drop-message", "c1", 1).claiming(contract.Idempotent)},
		},
		"memory-lost": {
			{contract.AtMostOnce, true, givenTwice("failover")},
			{contract.AtMostOnce, false, givenTwice("")},
			{contract.AtMostOnce, false, givenTwice("slow-server").claiming(contract.Idempotent)},
			{contract.AtMostOnce, true, copiedLate("failover")},
			{contract.AtMostOnce, false, copiedLate("")},
		},
		"server-forgot": {
			{contract.NoMoreOut, true, forgotten(history.Failover, 1)},
			{contract.NoMoreOut, false, forgotten(history.Healed, 1)},
			{contract.NoMoreOut, false, forgotten(history.Failover, 2.5)}, // nothing was out
		},
		"key-touched": {
			{contract.NoMoreOut, true, forgotten(history.Delete, 1)},
			{contract.NoMoreOut, false, forgotten(history.Delete, 2.5)},
		},
	}
}

func TestOnlyWhoDiesWithPermitsKeepsThem(t *testing.T) {
	// A client that gave its permits before it died, and one whose program ended with them, are no dead holders.
	for _, p := range []*poolScript{dead(history.Died, true), dead(history.Finished, false)} {
		if got := rules(verdict(t, p.script), contract.Liveness); len(got) > 0 {
			t.Errorf("broken: %q", got)
		}
	}
}

// givenTwice is a release that its client repeats by itself, and repeats once more, since a fault between may have undone the first.
func givenTwice(fault string) *poolScript {
	p := newPool(2)
	p.take("c1:1", 2, 1, 1.002)
	op := p.op("c1:1", history.ReleasePermits, at(2), at(3), history.Unknown)
	op.Value, op.Evidence, op.Executed, op.Answer = 1, history.NotSent, 0, ""
	for _, when := range []float64{5, 8} {
		again := p.give("c1", 1, when)
		again.Owner, again.Aside = "c1", true
	}
	if fault != "" {
		p.struck(fault, "", 6)
	}
	return p
}

// gift is a release by which a client gives back what a call of its took, whose caller gave it up.
func gift() (*poolScript, *history.Op) {
	p := newPool(3)
	op := p.take("c1:1", 1, 1, 1.002)
	op.Outcome, op.Error = history.Unknown, "context deadline exceeded"
	again := p.give("c1", 1, 5)
	again.Owner, again.Aside = "c1", true
	return p, again
}

// giftCopied is one that takes effect once more.
func giftCopied() *poolScript {
	p, again := gift()
	again.Return, again.Repeats = at(6.002), 1
	p.executed(again, at(6), history.OK)
	return p
}

// giftAnew is one that its client sends again by another request.
func giftAnew() *poolScript {
	p, _ := gift()
	again := p.give("c1", 1, 6)
	again.Owner, again.Aside = "c1", true
	return p
}

// copiedLate is a release that its client repeats by itself, and of which a copy takes effect later.
func copiedLate(fault string) *poolScript {
	p := newPool(3)
	p.take("c1:1", 3, 1, 1.002)
	again := p.give("c1", 1, 5)
	again.Owner, again.Aside = "c1", true
	op := p.give("c1:1", 1, 8)
	op.Call, op.Return, op.Outcome = at(2), at(3), history.Unknown
	if fault != "" {
		p.struck(fault, "", 6)
	}
	return p
}

// forgotten is a permit that is granted twice, the first time at some seconds. At 2 s the server forgot the first grant, or says so.
func forgotten(how history.EventKind, first float64) *poolScript {
	p := newPool(1)
	events := []history.Event{{Kind: how, At: at(2)}, {Kind: history.Restore, Lock: "pool", At: at(2), Count: 1}}
	if how == history.Delete {
		events[0].Lock = "pool"
	}
	take := func() { p.take("c1:1", 1, first, first+0.002) }
	if first < 2 {
		take()
	}
	p.h.Events = append(p.h.Events, events...)
	switch how {
	case history.Failover:
		p.struck("failover", "", 2)
	case history.Delete:
		p.struck("delete-key", "", 2)
	}
	p.set(1)
	if first > 2 {
		take()
		p.set(1)
	}
	p.take("c2:1", 1, 3, 3.002)
	return p
}

// TestCheckersOfPermitsAgree holds the replay of the server's order against porcupine, on random histories that are
// sound, and on such with one answer that may be wrong.
func TestCheckersOfPermitsAgree(t *testing.T) {
	broken := 0
	for seed := range uint64(*familyRuns) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := randomPool(r)
		h := p.done()
		if v := Judge(t.Context(), h, Options{}); v.Disagreement != "" || v.Result(contract.Object).Status != Holds || v.Result(contract.Exclusion).Status != Holds {
			t.Fatalf("seed %d: a sound history is refused: %s %s", seed, v.Disagreement, v.Explanation)
		}
		if v := Judge(t.Context(), blind(h), Options{}); v.Result(contract.Object).Status != Holds || v.Result(contract.Exclusion).Status != Holds {
			t.Fatalf("seed %d: a sound black box is refused: %s", seed, v.Explanation)
		}
		op := &h.Ops[r.IntN(len(h.Ops))]
		other := map[history.Outcome]history.Outcome{history.Acquired: history.Busy, history.Busy: history.Acquired, history.Rejected: history.OK}[op.Outcome]
		if op.Kind == history.ReleasePermits || other == "" {
			continue
		}
		op.Outcome, op.Answer = other, other
		for i := range h.Served {
			h.Served[i].Before, h.Served[i].After = nil, nil // or the key alone shows it
		}
		v := Judge(t.Context(), h, Options{})
		if v.Disagreement != "" {
			t.Fatalf("seed %d: %s", seed, v.Disagreement)
		}
		if v.Result(contract.Object).Status == Broken {
			broken++
		}
		if black := Judge(t.Context(), blind(h), Options{}); black.Result(contract.Object).Status == Broken && v.Result(contract.Object).Status != Broken {
			t.Fatalf("seed %d: what clients were told is refused, and the server's order is not", seed)
		}
	}
	if broken < 100 {
		t.Errorf("only %d wrong answers were found", broken)
	}
}

// randomPool is a sound history: calls overlap, and each takes effect at some moment of its own.
func randomPool(r *rand.Rand) *poolScript {
	p := newPool(1 + r.Int64N(4))
	busy := map[int]float64{} // owners, until when
	now := 1.0
	for range 5 + r.IntN(30) {
		now += 0.01
		who := r.IntN(4)
		owner := []string{"c1:1", "c1:2", "c2:1", "c3:1"}[who]
		call := max(busy[who]+0.001, now-0.2*r.Float64())
		ret := max(now, call) + 0.002
		n, kind, out := 1+r.Int64N(3), history.TryAcquirePermits, history.Busy
		switch {
		case r.IntN(3) == 0:
			kind, out = history.ReleasePermits, history.OK
		case r.IntN(12) == 0:
			kind, out = history.TrySetPermits, history.Rejected
		case *p.free >= n:
			out = history.Acquired
		}
		p.do(owner, kind, n, at(call), at(ret), out)
		last := &p.h.Ops[len(p.h.Ops)-1]
		last.Return += time.Duration(r.IntN(100)) * ms
		busy[who], now = last.Return.Seconds(), max(now, ret)
	}
	return p
}

// A copy of a request may take the permit again whose id its client drew: then it is out though its lease was over.
func TestACopyMayTakeThePermitThatItNames(t *testing.T) {
	for _, copied := range []bool{true, false} {
		set, take, give := told("a", history.TrySetTotal, 1, 2, 0, history.OK), told("a", history.AcquirePermit, 3, 5, 150*ms, history.Acquired),
			told("a", history.ReleasePermit, 1200, 1202, 0, history.OK)
		set.Value, take.Token, give.Token = 3, 7, 7
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms, Abilities: []string{string(contract.Permits), string(contract.PermitLeases)},
			Layout: history.Layout{Unknown: "nobody looked"}}, Ops: []history.Op{set, take, give}}
		for i := range h.Ops {
			h.Ops[i].ID = int64(i + 1)
		}
		if copied {
			h.Faults = []history.Fault{{Kind: "duplicate-message", Client: "a", Effects: []history.Effect{history.MessageCopied}, From: 4 * ms, To: 1100 * ms, Hits: 1, On: "request acquire", Op: 2}}
			for _, when := range []time.Duration{4 * ms, 1100 * ms} {
				h.Served = append(h.Served, history.Served{At: when, Sent: 4 * ms, Client: "a", Op: 2, Request: 1, Step: history.StepAcquire, Text: "take seven"})
			}
		}
		r := Judge(t.Context(), h, Options{}).Result(contract.Object)
		if r.Status != Broken || len(r.Defects()) > 0 == copied {
			t.Errorf("its request was copied %v: %+v", copied, r)
		}
	}
}
