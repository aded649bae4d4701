package world_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// What the world knows of a call beyond what its client was told.

// warm has a client dial, and the server learn the scripts, before anything fails.
func warm() []plan.Step { return []plan.Step{lock(), unlock()} }

func TestACallWhoseReplyIsLostIsExecuted(t *testing.T) {
	// c1 holds twice; the reply to its unlock stays away until go-redis gives it up.
	steps := append(warm(), lock(), sleep(5*second), unlock())
	p := newPlan([]plan.Fault{{Kind: "partition", Client: "c1", Direction: "replies", From: at(3 * second), To: at(60 * second)}},
		client("c1", 0, steps...))
	h := run(t, p, "rlock-hardened")
	unlocks := calls(h, "c1:1", history.Unlock)
	op := unlocks[len(unlocks)-1]
	if op.Outcome != history.Unknown && op.Outcome != history.Failed || op.Evidence != history.Executed || op.Answer != history.Released || op.Repeats != 0 {
		t.Errorf("%+v", op)
	}
	if !within(op.Executed, op.Call, op.Call+slack) {
		t.Errorf("called at %v, executed at %v", op.Call, op.Executed)
	}
}

func TestACallThatIsNeverSentDidNotHappen(t *testing.T) {
	// c1 cannot even connect before it dies.
	p := newPlan([]plan.Fault{{Kind: "partition", Client: "c1", From: 0}, {Kind: "kill-client", Client: "c1", From: at(20 * second)}},
		client("c1", second, lock(), unlock()))
	h := run(t, p, "rlock-latch")
	for _, op := range calls(h, "c1:1", history.Lock) {
		if op.Evidence != history.NotSent || op.Executed != 0 || op.Answer != "" {
			t.Errorf("%+v", op)
		}
	}
	if len(calls(h, "c1:1", history.Lock)) == 0 || len(served(h, "c1")) != 0 {
		t.Errorf("%+v", h.Served)
	}
}

func TestACallWhoseRequestIsLostWasSent(t *testing.T) {
	// c1 dies before it sends the request again.
	steps := append(warm(), sleep(5*second), lock())
	p := newPlan([]plan.Fault{{Kind: "drop-message", Client: "c1", From: at(3 * second), When: &plan.Trigger{Request: plan.MessageKind(history.StepAcquire)}},
		{Kind: "kill-client", Client: "c1", From: at(6 * second)}}, client("c1", 0, steps...))
	h := run(t, p, "rlock-latch")
	locks := calls(h, "c1:1", history.Lock)
	if op := locks[len(locks)-1]; !op.Pending() || op.Evidence != history.Sent || op.Executed != 0 {
		t.Errorf("%+v", op)
	}
}

func TestAnAcquireThatIsExecutedTwiceIsRepeated(t *testing.T) {
	// go-redis gives the reply up after 5 s, at about 10 s, and sends the acquire again once it has
	// another connection, after healing. Only replies were held, so both copies are executed.
	steps := append(warm(), sleep(5*second), lock(), unlock())
	faults := []plan.Fault{{Kind: "partition", Client: "c1", Direction: "replies", From: at(3 * second), To: at(12 * second)}}
	h := run(t, newPlan(faults, client("c1", 0, steps...)), "rlock-latch")
	locks := calls(h, "c1:1", history.Lock)
	op := locks[len(locks)-1]
	if op.Outcome != history.Acquired || op.Evidence != history.Executed || op.Answer != history.Acquired || op.Repeats != 1 {
		t.Errorf("latch, whose acquire is not idempotent: %+v", op)
	}
	if !within(op.Executed, 5*second, 5*second+slack) {
		t.Errorf("it took effect first at %v", op.Executed)
	}

	h = run(t, newPlan(faults, client("c1", 0, steps...)), "rlock-hardened")
	locks = calls(h, "c1:1", history.Lock)
	if op := locks[len(locks)-1]; op.Outcome != history.Acquired || op.Answer != history.Acquired || op.Repeats != 0 {
		t.Errorf("hardened, whose acquire is: %+v", op)
	}
}

func TestRefusalsAndRenewalsHaveEvidence(t *testing.T) {
	h := run(t, newPlan(nil,
		client("c1", 0, lock(), work(25*second), unlock(), plan.Step{Do: plan.Unlock, Lock: order, Regardless: true}),
		client("c2", 5*second, plan.Step{Do: plan.TryLock, Lock: order}),
	), "rlock-latch")
	for _, tt := range []struct {
		owner  string
		kind   history.Kind
		answer []history.Outcome
	}{
		{"c1:1", history.Lock, []history.Outcome{history.Acquired}},
		{"c1:1", history.Renew, []history.Outcome{history.Renewed, history.Renewed}},
		{"c1:1", history.Unlock, []history.Outcome{history.Released, history.NotHeld}},
		{"c2:1", history.TryLock, []history.Outcome{history.Busy}},
	} {
		ops := calls(h, tt.owner, tt.kind)
		if len(ops) != len(tt.answer) {
			t.Errorf("%s of %s: %+v", tt.kind, tt.owner, ops)
			continue
		}
		for i, op := range ops {
			if op.Evidence != history.Executed || op.Answer != tt.answer[i] || op.Outcome != op.Answer || !within(op.Executed, op.Call+1, op.Return-1) {
				t.Errorf("%+v, want %s", op, tt.answer[i])
			}
		}
	}
}

func TestARenewalForTwoOwnersOfOneLockIsTheHolders(t *testing.T) {
	// The key of c1:1 is expired under it; c1:2, a thread of the same client, is granted the lock.
	// Their client's next renewal is for both, and only one of them holds the lock.
	hold := func(id int64, start time.Duration) plan.Thread {
		return plan.Thread{ID: id, Start: at(start), Steps: []plan.Step{lock(), work(20 * second), unlock()}}
	}
	h := run(t, newPlan([]plan.Fault{{Kind: "expire-key", Lock: order, From: at(2 * second)}},
		plan.Client{Name: "c1", Threads: []plan.Thread{hold(1, 0), hold(2, 5*second)}}), "rlock-latch")
	first := map[string]history.Outcome{}
	for _, op := range h.Ops {
		if _, seen := first[op.Owner]; op.Kind == history.Renew && !seen {
			if first[op.Owner] = op.Answer; op.Return == 0 || op.Outcome != op.Answer {
				t.Errorf("%+v", op)
			}
		}
	}
	if first["c1:1"] != history.NotHeld || first["c1:2"] != history.Renewed {
		t.Errorf("%v", first)
	}
}

// Two threads of a client ask the same at once, and go-redis asks again for both. Each call has its own answer:
// what it was told fits the moment at which its command was executed.
func TestOfEqualQuestionsAskedAgainEachIsAnsweredInItsCall(t *testing.T) {
	ask := plan.Step{Do: plan.RemainingTTL, Lock: order}
	for _, late := range []time.Duration{second / 2, 6 * second} {
		one := client("c1", 0, lock(), sleep(second), ask, sleep(2*second), ask, sleep(20*second), ask)
		one.Threads = append(one.Threads, plan.Thread{ID: 2, Start: plan.Duration(second), Steps: []plan.Step{ask, sleep(2500 * time.Millisecond), ask}})
		dial := plan.Fault{Kind: "delay-message", Client: "c1", From: at(second / 2), To: at(3 * second), By: at(second / 2)} // both do
		slow := plan.Fault{Kind: "delay-message", Client: "c1", From: at(3 * second), To: at(5 * second), By: at(late)}
		h := run(t, newPlan([]plan.Fault{dial, slow}, one), "rlock-latch")
		mine, other := calls(h, "c1:1", history.RemainingTTL)[1], calls(h, "c1:2", history.RemainingTTL)[1]
		if mine.Call >= other.Return || other.Call >= mine.Return {
			t.Fatalf("late by %v: not asked at once: %+v\n%+v", late, mine, other)
		}
		for _, op := range []history.Op{mine, other} {
			i := slices.IndexFunc(h.Served, func(s history.Served) bool { return s.Op == op.ID && s.At == op.Executed })
			if op.Evidence != history.Executed || i < 0 {
				t.Fatalf("late by %v: %+v", late, op)
			}
			if left := h.Served[i].After.Deadline - op.Executed; (left - time.Duration(op.Value)).Abs() > time.Millisecond {
				t.Errorf("late by %v: %+v was told of the lease at another moment: it was %v then", late, op, left)
			}
		}
	}
}

// Who has to connect first writes later than who asked the same after it.
func TestOfEqualQuestionsEachIsAnsweredInItsCall(t *testing.T) {
	ask := plan.Step{Do: plan.IsLocked, Lock: order}
	other := plan.Step{Do: plan.RemainingTTL, Lock: order}
	one := client("c1", 0, lock(), sleep(second), other, ask)
	one.Threads = append(one.Threads, plan.Thread{ID: 2, Start: at(1900 * time.Millisecond), Steps: []plan.Step{ask}})
	p := newPlan(nil, one)
	p.Timings.LatencyMin, p.Timings.LatencyMax = at(second/10), at(second/10)
	h := run(t, p, "rlock-latch")
	early, late := calls(h, "c1:2", history.IsLocked)[0], calls(h, "c1:1", history.IsLocked)[0]
	if early.Call >= late.Call || early.Executed <= late.Executed {
		t.Errorf("who came first was not the later one to ask: %+v\n%+v", early, late)
	}
	for _, op := range []history.Op{early, late} {
		if op.Evidence != history.Executed || op.Executed < op.Call || op.Executed > op.Return {
			t.Errorf("%+v", op)
		}
	}
}

// Of a question that is sent again, the copy counts whose answer came back, and not the one that the server
// executed last.
func TestOfAQuestionSentAgainTheCopyCountsThatWasAnswered(t *testing.T) {
	asked := func(late time.Duration) (op history.Op, copies []history.Served) {
		one := client("c1", 0, lock(), sleep(second), plan.Step{Do: plan.IsLocked, Lock: order}, sleep(30*second))
		slow := plan.Fault{Kind: "delay-message", Client: "c1", When: &plan.Trigger{Client: "c1", Request: plan.Query}, By: at(late)}
		p := newPlan([]plan.Fault{slow}, one)
		p.Timings.LatencyMin, p.Timings.LatencyMax = at(second/10), at(second/10)
		h := run(t, p, "rlock-latch")
		op = calls(h, "c1:1", history.IsLocked)[0]
		for _, s := range h.Served {
			if s.Op == op.ID && s.Step == history.StepQuery {
				copies = append(copies, s)
			}
		}
		return op, copies
	}
	_, copies := asked(20 * second)
	if len(copies) != 2 {
		t.Fatalf("%+v", copies)
	}
	again, first := copies[0], copies[1] // the first is late
	op, copies := asked(20*second - (first.At - again.At) + second/20)
	if len(copies) != 2 || copies[0].Got == 0 || copies[1].At >= copies[0].Got {
		t.Fatalf("the late copy was not executed while the answer to the other was under way: %+v", copies)
	}
	if op.Evidence != history.Executed || op.Executed != copies[0].At {
		t.Errorf("%+v, but answered was the copy of %v", op, copies[0].At)
	}
}

// transactional is a lock that is taken in a transaction and given back by one command.
type transactional struct{ rdb redis.UniversalClient }

func (l transactional) Owner(int64) string             { return "me" }
func (l transactional) Lock(name string) subjects.Lock { return transactionalLock{l.rdb, name} }
func (l transactional) Close() error                   { return nil }

type transactionalLock struct {
	rdb  redis.UniversalClient
	name string
}

func (l transactionalLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	var got *redis.BoolCmd
	if _, err := l.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		got = p.SetNX(ctx, l.name, owner, 0)
		p.PExpire(ctx, l.name, r.Lease)
		return nil
	}); err != nil || !got.Val() {
		return subjects.Answer{Outcome: history.Failed, Err: err}
	}
	return subjects.Answer{Outcome: history.Acquired}
}

func (l transactionalLock) Release(ctx context.Context, _ string) subjects.Answer {
	if n, err := l.rdb.Del(ctx, l.name).Result(); err != nil || n != 1 {
		return subjects.Answer{Outcome: history.Failed, Err: err}
	}
	return subjects.Answer{Outcome: history.Released}
}

// go-redis checks the type of a transaction's first command. Its commands belong to the call that it is for, as
// others do.
func TestTheCommandsOfATransactionBelongToItsCall(t *testing.T) {
	s := subjects.Subject{Name: "transactional", Abilities: []string{"mutex"},
		Open: func(e subjects.Env) (subjects.Client, error) { return transactional{e.Redis}, nil }}
	p := newPlan(nil, client("c1", 0, plan.Step{Do: plan.TryLock, Lock: order, Lease: at(10 * second)}, sleep(second), unlock()))
	h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	taken, given := calls(h, "me", history.TryLock)[0], calls(h, "me", history.Unlock)[0]
	if taken.Outcome != history.Acquired || given.Outcome != history.Released {
		t.Errorf("%+v\n%+v", taken, given)
	}
	for _, r := range h.Served {
		if r.Lock == order && r.Client != history.Fresh && r.Op != taken.ID && r.Op != given.ID {
			t.Errorf("%+v belongs to no call", r)
		}
	}
}
