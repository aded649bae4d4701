package checker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A gateScript writes a history of a latch by hand, with its server log.
type gateScript struct {
	*script
	left *int64
}

func newGate(count int64) *gateScript {
	g := &gateScript{script: newScript()}
	g.lock = "gate"
	g.h.Header.Subject, g.h.Header.Abilities = "rcountdownlatch-classic", []string{string(contract.CountsDown)}
	g.set("c0:1", count, 0)
	return g
}

// do is a call that the server executes as it is told, one lat before it returns.
func (g *gateScript) do(owner string, kind history.Kind, n int64, call, ret time.Duration, out history.Outcome) *history.Op {
	op := g.op(owner, kind, call, ret, out)
	op.Value = n
	g.executed(op, ret-lat, out)
	return op
}

// executed has the server execute a command of a call. One that awaits changes nothing, and is no evidence.
func (g *gateScript) executed(op *history.Op, at time.Duration, answer history.Outcome) {
	before := g.key()
	switch {
	case op.Kind.Awaits():
		op.Evidence, op.Executed, op.Answer = history.Sent, 0, ""
	case answer == history.OK && op.Kind == history.TrySetCount:
		n := op.Value
		g.left = &n
	case op.Kind == history.DeleteLatch:
		g.left = nil
	case answer == history.OK && before.Number() > 1:
		n := before.Number() - 1
		g.left = &n
	case answer == history.OK:
		g.left = nil
	}
	g.h.Served = append(g.h.Served, history.Served{At: at, Sent: max(op.Call, 0), Got: at + lat, Client: op.Client, Op: op.ID, Lock: g.lock,
		Before: before, After: g.key()})
}

func (g *gateScript) key() *history.KeyState { return &history.KeyState{Left: g.left} }

func (g *gateScript) set(owner string, n int64, call float64) *history.Op {
	return g.do(owner, history.TrySetCount, n, at(call), at(call+0.002), history.OK)
}

func (g *gateScript) down(owner string, call float64) *history.Op {
	return g.do(owner, history.CountDown, 0, at(call), at(call+0.002), history.OK)
}

// await is one that returns at a time, having looked once when it was called.
func (g *gateScript) await(owner string, call, ret float64) *history.Op {
	op := g.op(owner, history.Await, at(call), at(ret), history.OK)
	op.Evidence, op.Executed, op.Answer = history.Sent, 0, ""
	g.h.Served = append(g.h.Served, history.Served{At: at(call + 0.001), Sent: at(call), Got: at(call + 0.002), Client: op.Client, Op: op.ID, Lock: g.lock,
		Before: g.key(), After: g.key()})
	return op
}

func (g *gateScript) struck(kind, client string, when float64) *gateScript {
	g.fault(kind, client, at(when), 0)
	return g
}

func (g *gateScript) claiming(claims ...contract.Claim) *gateScript {
	claiming(g.script, claims...)
	if slices.Contains(claims, contract.Idempotent) {
		g.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.TrySetCount, history.CountDown}}}
	}
	return g
}

// rounds is a latch with nothing wrong: two rounds, and waiters of both.
func rounds() *gateScript {
	g := newGate(2)
	g.await("c3:1", 1, 5.003)
	g.do("c4:1", history.TryAwait, 0, at(2), at(2.002), history.Busy)
	g.down("c1:1", 4)
	g.down("c2:1", 5)
	g.set("c1:1", 1, 6)
	g.await("c3:1", 7, 8.003)
	g.down("c2:1", 8)
	g.down("c2:1", 9) // of nothing
	slices.SortStableFunc(g.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
	return g
}

func TestALatchOfTwoRoundsHolds(t *testing.T) {
	v := verdict(t, rounds().script)
	want(t, v)
	for _, g := range []contract.Guarantee{contract.Effect, contract.Fencing, contract.Watchdog} {
		if s := v.Result(g).Status; s != NotClaimed {
			t.Errorf("%s %s", g, s)
		}
	}
	if v.Object != "latch" {
		t.Errorf("what was judged is called %q", v.Object)
	}
	if by := v.Result(contract.Object).By; by != "witness replay, porcupine" {
		t.Errorf("object is judged by %q", by)
	}
	want(t, Judge(t.Context(), blind(rounds().done()), Options{}))
}

func TestWrongAnswersOfALatchAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		rule  contract.Rule
		wrong func(g *gateScript)
		seen  bool // by the server log alone
	}{
		"set while it counts":       {contract.LatchSetAtZero, func(g *gateScript) { g.set("c4:1", 2, 10); g.set("c4:1", 2, 11) }, false},
		"refused though it is at 0": {contract.LatchSetAtZero, func(g *gateScript) { g.do("c4:1", history.TrySetCount, 2, at(10), at(10.002), history.Rejected) }, false},
		"passed above 0":            {contract.ReturnsAtZero, func(g *gateScript) { g.set("c4:1", 2, 10); g.await("c3:1", 11, 12) }, false},
		"gave up at 0":              {contract.TimeIsUpAbove, func(g *gateScript) { g.do("c4:1", history.TryAwait, 0, at(10), at(10.002), history.Busy) }, false},
		"gave up by what it knew when it began to wait": {contract.TimeIsUpAbove, func(g *gateScript) {
			g.set("c4:1", 1, 10)
			op := g.await("c3:1", 11, 31)
			op.Kind, op.Wait, op.Outcome = history.TryAwait, 20*sec, history.Busy
			g.down("c4:1", 15)
		}, true},
		"gave up though it was counted down": {contract.TimeIsUpAbove, func(g *gateScript) {
			g.set("c4:1", 1, 10)
			op := g.await("c3:1", 11, 31)
			op.Kind, op.Wait, op.Outcome = history.TryAwait, 20*sec, history.Busy
			g.down("c4:1", 15)
			g.event(history.Delete, at(9)) // before
		}, true},
		"answered without the server": {contract.AnswerHasRoot, func(g *gateScript) {
			op := g.op("c4:1", history.CountDown, at(10), at(10.002), history.OK)
			op.Evidence, op.Executed, op.Answer = history.NotSent, 0, ""
		}, true},
		"counted by two": {contract.KeyFits, func(g *gateScript) {
			g.set("c4:1", 3, 10)
			g.down("c1:1", 11)
			n := int64(1)
			g.left = &n
			g.h.Served[len(g.h.Served)-1].After = g.key()
		}, true},
		"counted by the lock itself": {contract.AtMostOnce, func(g *gateScript) {
			g.set("c4:1", 3, 10)
			g.down("c1", 11).Aside = true
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := rounds()
			c.wrong(g)
			v := verdict(t, g.script)
			if got := rules(v, contract.Object); !slices.Contains(got, c.rule) {
				t.Errorf("broken: %q, not %q", got, c.rule)
			}
			if v.Disagreement != "" {
				t.Error(v.Disagreement)
			}
			black := Judge(t.Context(), blind(g.done()), Options{})
			if s := black.Result(contract.Object).Status; (s == Broken) == c.seen {
				t.Errorf("what the clients were told alone %s", s)
			}
		})
	}
}

// asleep is a waiter that a message of zero at 5 s did not reach, until it returned.
func asleep(returned float64) *gateScript {
	g := newGate(1)
	g.await("c2:1", 2, returned)
	g.down("c1:1", 5)
	return g
}

// lostZero is the same, where the message was lost.
func lostZero(returned float64) *gateScript {
	g := asleep(returned)
	g.fault("drop-message", "c2", at(5), 0).On = "reply publish"
	return g
}

// lostZeroAndSetAgain is one of which its waiter misses the message, and that is set again after some time.
func lostZeroAndSetAgain(set float64) *gateScript {
	g := lostZero(60)
	g.set("c1:1", 1, set)
	return g
}

// goneUnheard is a waiter whose latch is deleted at 5 s, which returns at a time.
func goneUnheard(returned float64) *gateScript {
	g := newGate(1)
	g.await("c2:1", 2, returned)
	g.left = nil
	g.h.Events = append(g.h.Events, history.Event{Kind: history.Delete, Lock: "gate", At: at(5)})
	f := g.fault("delete-key", "", at(5), 0)
	f.Lock, f.Hits = "gate", 1
	return g
}

// goneAndSetAgain is a latch whose key goes, of which its waiter hears nothing, and that is set again after some time.
func goneAndSetAgain(set float64) *gateScript {
	g := goneUnheard(50)
	g.left = nil
	g.set("c1:1", 1, set)
	return g
}

// nextRound is a waiter that sleeps through the end of its round at 5 s, to the end of the next, if it looked before.
func nextRound(called float64) *gateScript {
	g := newGate(1)
	if called < 5 {
		g.await("c2:1", called, 20.003)
	}
	g.down("c1:1", 5)
	g.set("c1:1", 1, 5.1)
	if called > 5 {
		g.await("c2:1", called, 20.003)
	}
	g.down("c1:1", 20)
	return g
}

// roundComesBack is a waiter that sleeps on when its round ends at 5 s. A failover, or a call, sets the count to 1 again, and then the key is deleted.
func roundComesBack(failover bool) *gateScript {
	g := newGate(1)
	g.await("c2:1", 2, 50)
	g.down("c1:1", 5)
	one := int64(1)
	if failover {
		g.left = &one
		g.h.Events = append(g.h.Events, history.Event{Kind: history.Failover, At: at(5.1)}, history.Event{Kind: history.Restore, Lock: "gate", At: at(5.1), Count: 1})
		g.struck("failover", "", 5.1)
	} else {
		g.set("c1:1", 1, 5.1)
	}
	g.left = nil
	g.h.Events = append(g.h.Events, history.Event{Kind: history.Delete, Lock: "gate", At: at(6)})
	f := g.fault("delete-key", "", at(6), 0)
	f.Lock, f.Hits = "gate", 1
	return g.claiming(contract.Rounds)
}

// passedAbove is a waiter that returns though the count is above 0, when the server failed over, or something else happened.
func passedAbove(how history.EventKind) *gateScript {
	g := newGate(2)
	g.await("c3:1", 1, 3)
	g.h.Events = append(g.h.Events, history.Event{Kind: how, At: at(2)})
	if how == history.Failover {
		g.fault("failover", "", at(2), 0)
	}
	return g
}

// spinning is a call that waits for a count, sends commands without a pause, and has the run stopped.
func spinning(again bool) *gateScript {
	g := newGate(1)
	op := g.await("c2:1", 2, 20)
	op.Return, op.Outcome, op.Executed, op.Evidence, op.Answer = 0, "", 0, history.Sent, ""
	id := op.ID
	if again {
		g.down("c1:1", 5)
		g.set("c1:1", 1, 5.1)
	}
	g.h.End = &history.End{At: at(20), Spin: &history.Spin{Op: id, Commands: 10_000, Within: at(12), Last: "get gate"}}
	return g
}

// spinningLater is one that does so when the latch has been set again, while a fault holds up a message from a time on.
func spinningLater(on string, since float64) *gateScript {
	g := newGate(1)
	g.down("c1:1", 5)
	g.set("c1:1", 1, 5.1)
	op := g.await("c2:1", 6, 20)
	op.Return, op.Outcome = 0, ""
	g.fault("delay-message", "c2", at(since), at(8)).On = on
	g.h.End = &history.End{At: at(20), Spin: &history.Spin{Op: op.ID, Commands: 10_000, Within: at(12), Last: "get gate"}}
	return g
}

// countedTwiceByACopy is a count-down that takes effect once more, before which nobody else has counted.
func countedTwiceByACopy() *gateScript {
	g := newGate(2)
	op := g.down("c1:1", 1)
	op.Return, op.Repeats = at(6.002), 1
	g.executed(op, at(6), history.OK)
	g.await("c3:1", 7, 7.002)
	return g
}

// ghostDown is a count-down of which its caller does not learn that it did not come.
func ghostDown(err string) *gateScript {
	g := newGate(1)
	op := g.op("c1:1", history.CountDown, at(1), at(6), history.Unknown)
	op.Evidence, op.Executed, op.Answer, op.Error = history.NotSent, 0, "", err
	return g
}

// repeatedDown is a count-down that its client repeats for a minute, twice as long as the server remembers it, and that it cannot send until a time.
func repeatedDown(until float64) *gateScript {
	g := ghostDown("i/o timeout").claiming(contract.TakesBack)
	g.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.CountDown}, For: at(30)}}
	g.fault("partition", "c1", at(0.5), at(until))
	g.event(history.Healed, at(200))
	return g
}

func givenUpDown() *gateScript {
	g := ghostDown("context deadline exceeded")
	g.h.Ops[1].Cancel = at(5)
	return g
}

// forgottenDown is a count-down that the server forgot, or says so.
func forgottenDown(how history.EventKind) *gateScript {
	g := newGate(2)
	g.down("c1:1", 1)
	two := int64(2)
	g.left = &two
	g.h.Events = append(g.h.Events, history.Event{Kind: how, At: at(2)}, history.Event{Kind: history.Restore, Lock: "gate", At: at(2), Count: 2})
	if how == history.Failover {
		g.struck("failover", "", 2)
	}
	g.down("c2:1", 3)
	return g
}

// sidesOfLatches are the sides of the table's rows that latches have.
func sidesOfLatches() map[string][]side {
	return map[string][]side{
		"waiter-hindered": {
			{contract.AwaitReturns, true, lostZero(20).claiming(contract.LooksAgain)},
			{contract.AwaitReturns, false, lostZero(50).claiming(contract.LooksAgain)}, // beyond watchdogTimeout
		},
		"message-missed": {
			{contract.AwaitReturns, true, lostZero(50)},
			{contract.AwaitReturns, true, goneUnheard(50)},
			{contract.AwaitReturns, false, asleep(50)},
			{contract.AwaitReturns, false, lostZero(50).claiming(contract.LooksAgain)},
			{contract.AwaitReturns, false, goneUnheard(50).claiming(contract.LooksAgain)},
		},
		"unannounced": {
			{contract.AwaitReturns, true, goneUnheard(20).claiming(contract.LooksAgain)},
			{contract.AwaitReturns, false, goneUnheard(50).claiming(contract.LooksAgain)},
		},
		"set-again": {
			{contract.AwaitReturns, true, nextRound(2)},
			{contract.AwaitReturns, false, nextRound(2).claiming(contract.Rounds)},
			{contract.AwaitReturns, true, goneAndSetAgain(20).claiming(contract.LooksAgain)},
			{contract.AwaitReturns, false, goneAndSetAgain(45).claiming(contract.LooksAgain)}, // when it had had the time to look
			{contract.AwaitReturns, false, goneAndSetAgain(20).claiming(contract.LooksAgain, contract.Rounds)},
			{contract.AwaitReturns, true, lostZeroAndSetAgain(20).claiming(contract.LooksAgain)},
			{contract.AwaitReturns, false, lostZeroAndSetAgain(45).claiming(contract.LooksAgain)},
			{contract.AwaitReturns, false, lostZeroAndSetAgain(20).claiming(contract.LooksAgain, contract.Rounds)},
			{contract.WaitsQuietly, true, spinning(true)},
			{contract.WaitsQuietly, false, spinning(false)},
			{contract.WaitsQuietly, false, spinning(true).claiming(contract.Rounds)},
			{contract.WaitsQuietly, true, spinningLater("reply publish", 5)},
			{contract.WaitsQuietly, false, spinningLater("reply query", 5)},
			{contract.WaitsQuietly, false, spinningLater("reply publish", 5.2)}, // what it held up was of the new round
		},
		"latch-deleted": {
			{contract.AwaitReturns, true, deletedUnheard()},
			{contract.AwaitReturns, false, deletedUnheard().claiming(contract.TellsDeletion)},
			{contract.AwaitReturns, false, asleep(50)},
		},
		"sent-again": {
			{contract.AtMostOnce, true, countedTwiceByACopy().struck("drop-message", "c1", 1)},
			{contract.AtMostOnce, false, countedTwiceByACopy()},
			{contract.AtMostOnce, false, countedTwiceByACopy().struck("drop-message", "c1", 1).claiming(contract.Idempotent)},
		},
		"held-twice": {
			{contract.PassesCounted, true, countedTwiceByACopy().struck("drop-message", "c1", 1)},
			{contract.PassesCounted, false, countedTwiceByACopy()},
			{contract.PassesCounted, false, countedTwiceByACopy().struck("drop-message", "c1", 1).claiming(contract.Idempotent)},
		},
		"not-told": {
			{contract.DownsCount, true, ghostDown("i/o timeout").struck("drop-message", "c1", 1)},
			{contract.DownsCount, false, ghostDown("i/o timeout")},
			{contract.DownsCount, false, ghostDown("i/o timeout").struck("drop-message", "c1", 1).claiming(contract.TakesBack)},
		},
		"held-again": {
			{contract.ReturnsAtZero, true, passedAbove(history.Failover)},
			{contract.ReturnsAtZero, false, passedAbove(history.Finished)},
		},
		"repeated-in-vain": {
			{contract.DownsCount, true, repeatedDown(70)},
			{contract.DownsCount, false, repeatedDown(30)},
			{contract.DownsCount, false, func() *gateScript { g := repeatedDown(70); g.h.Header.Idempotent = nil; return g }()},
		},
		"given-up": {
			{contract.DownsCount, true, givenUpDown()},
			{contract.DownsCount, false, givenUpDown().claiming(contract.TakesBack)},
		},
		"server-forgot": {
			{contract.AwaitReturns, true, roundComesBack(true)},
			{contract.AwaitReturns, false, roundComesBack(false)},
			{contract.DownsCount, true, forgottenDown(history.Failover)},
			{contract.DownsCount, false, forgottenDown(history.Healed)},
		},
	}
}

// A copy of a delete that was refused at first deletes the latch, whatever its caller was told.
func TestAFailedDeleteThatWasExecutedOpensTheLatch(t *testing.T) {
	for _, executed := range []bool{true, false} {
		g := newGate(2)
		op := g.op("c1:1", history.DeleteLatch, at(1), at(1.004), history.Failed)
		op.Error = "OOM"
		if executed {
			g.executed(op, at(1.002), history.Released)
		} else {
			op.Evidence = history.NotSent
			g.left = nil // by nothing that anybody did
		}
		g.await("c3:1", 2, 2.002)
		v := Judge(t.Context(), g.done(), Options{})
		if broke := v.Result(contract.Exclusion).Status == Broken; broke == executed {
			t.Errorf("executed %t: exclusion %s: %s", executed, v.Result(contract.Exclusion).Status, v.Result(contract.Exclusion).Summary)
		}
	}
}

func TestWhoComesAfterTheEndOfARoundIsOfTheNext(t *testing.T) {
	if got := rules(verdict(t, nextRound(6).script), contract.Liveness); len(got) > 0 {
		t.Errorf("broken: %q", got)
	}
}

// TestCheckersOfLatchesAgree holds the replay of the server's order against porcupine, on random histories that are
// sound, and on such with one answer that may be wrong.
func TestCheckersOfLatchesAgree(t *testing.T) {
	if broken := latchesAgree(t, uint64(*familyRuns)); broken < 100 {
		t.Errorf("only %d wrong answers were found", broken)
	}
}

func latchesAgree(t *testing.T, seeds uint64) (broken int) {
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		h := randomGate(r).done()
		if v := Judge(t.Context(), h, Options{}); v.Disagreement != "" || v.Result(contract.Object).Status != Holds || v.Result(contract.Exclusion).Status != Holds {
			t.Fatalf("seed %d: a sound history is refused: %s %s", seed, v.Disagreement, v.Explanation)
		}
		if v := Judge(t.Context(), blind(h), Options{}); v.Result(contract.Object).Status != Holds || v.Result(contract.Exclusion).Status != Holds {
			t.Fatalf("seed %d: a sound black box is refused: %s", seed, v.Explanation)
		}
		op := &h.Ops[r.IntN(len(h.Ops))]
		other := map[history.Outcome]history.Outcome{history.OK: history.Busy, history.Busy: history.OK, history.Rejected: history.OK}[op.Outcome]
		switch {
		case op.Kind == history.CountDown:
			continue
		case op.Kind == history.TrySetCount && other == history.Busy:
			other = history.Rejected
		}
		if op.Outcome = other; op.Kind == history.TrySetCount {
			op.Answer = other
		}
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
	return broken
}

// randomGate is a sound history: calls overlap, and each takes effect at some moment of its own.
func randomGate(r *rand.Rand) *gateScript {
	g := newGate(1 + r.Int64N(4))
	busy := map[int]float64{} // owners, until when
	now := 1.0
	for range 5 + r.IntN(30) {
		now += 0.01
		who := r.IntN(4)
		owner := []string{"c1:1", "c1:2", "c2:1", "c3:1"}[who]
		call := max(busy[who]+0.001, now-0.2*r.Float64())
		ret := max(now, call) + 0.002
		kind, n, out := history.CountDown, int64(0), history.OK
		switch r.IntN(4) {
		case 0:
			if kind = history.TryAwait; g.left != nil {
				out = history.Busy
			}
		case 1:
			if kind, n = history.TrySetCount, 1+r.Int64N(3); g.left != nil {
				out = history.Rejected
			}
		}
		g.do(owner, kind, n, at(call), at(ret), out)
		last := &g.h.Ops[len(g.h.Ops)-1]
		last.Return += time.Duration(r.IntN(100)) * ms
		busy[who], now = last.Return.Seconds(), max(now, ret)
	}
	return g
}

// Who passes when a copy has deleted the latch once more does not pass too early.
func TestACopyOfADeletionOpensALatch(t *testing.T) {
	for _, again := range []bool{true, false} {
		g := newGate(1)
		op := g.op("c1:1", history.DeleteLatch, at(1), at(1.004), history.Released)
		g.executed(op, at(1.002), history.Released)
		id := op.ID
		g.set("c1:1", 1, 2)
		if again {
			for i := range g.h.Ops {
				if g.h.Ops[i].ID == id {
					g.h.Ops[i].Repeats = 1
					g.executed(&g.h.Ops[i], at(3), history.Released)
					g.h.Ops[i].Executed = at(1.002)
				}
			}
		}
		g.await("c3:1", 4, 4.004)
		if x := broken(verdict(t, g.script), contract.PassesCounted); (x == nil) != again {
			t.Errorf("a copy came %v: %+v", again, x)
		}
	}
}
