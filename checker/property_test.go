package checker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// atomicLock is a lease lock that is right because it does one thing at a time. It is
// written apart from package model, so that the two can be held against each other.
type atomicLock struct {
	holds    map[string]int64 // of the one owner; empty: free
	deadline time.Duration
	token    int64 // of the last grant
	once     bool  // it is not reentrant
	keeps    bool  // a renewal leaves a longer lease alone
}

// never is the deadline of what was taken without a lease.
const never = time.Duration(1) << 62

func (a *atomicLock) expiresIn(lease, now time.Duration) {
	if a.deadline = now + lease; lease == 0 {
		a.deadline = never
	}
}

func (a *atomicLock) do(op *history.Op, now time.Duration) (history.Outcome, int64) {
	n, free := a.holds[op.Owner], len(a.holds) == 0
	switch op.Kind {
	case history.Lock, history.TryLock:
		if !free && (n == 0 || a.once) {
			return history.Busy, 0
		}
		a.holds = map[string]int64{op.Owner: n + 1}
		a.expiresIn(op.Lease, now)
		if n == 0 {
			a.token++
		}
		return history.Acquired, 0
	case history.Unlock:
		switch n {
		case 0:
			return history.NotHeld, 0
		case 1:
			a.holds = nil
			return history.Released, 0
		}
		if a.holds[op.Owner] = n - 1; op.Lease > 0 {
			a.deadline = now + op.Lease
		}
		return history.Decremented, 0
	case history.ForceUnlock:
		a.holds = nil
		if free {
			return history.NotHeld, 0
		}
		return history.Released, 0
	case history.Renew:
		if n == 0 {
			return history.NotHeld, 0
		}
		before := a.deadline
		a.expiresIn(op.Lease, now)
		if a.keeps && before != never { // which no call asks for
			a.deadline = max(a.deadline, before)
		}
		return history.Renewed, 0
	case history.IsLocked:
		if free {
			return history.OK, 0
		}
		return history.OK, 1
	case history.IsHeldBy:
		return history.OK, min(n, 1)
	case history.HoldCount:
		return history.OK, n
	case history.RemainingTTL:
		if free {
			return history.OK, -2
		} else if a.deadline == never {
			return history.OK, -1
		}
		return history.OK, int64(a.deadline - now)
	}
	panic("no such operation: " + op.Kind)
}

func (a *atomicLock) key() *history.KeyState {
	for owner, n := range a.holds {
		return &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: n}}, Deadline: a.deadline}
	}
	return &history.KeyState{}
}

// randomHistory lets a few owners use an atomic lock: their calls overlap, the lock executes each
// at some moment within, replies and requests are lost, leases run out.
func randomHistory(t *rapid.T) *history.History {
	s := newScript()
	s.h.End = nil
	var lock atomicLock
	var now time.Duration
	kinds := []history.Kind{history.TryLock, history.TryLock, history.Lock, history.Unlock, history.Unlock, history.Unlock,
		history.Renew, history.ForceUnlock, history.IsLocked, history.IsHeldBy, history.HoldCount, history.RemainingTTL}

	owners := rapid.IntRange(1, 5).Draw(t, "owners")
	generation := make([]int, owners) // an owner that lost an answer is retired
	current := make([]int, owners)    // index of its call in Ops, -1: none
	for i := range current {
		current[i] = -1
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		now += time.Duration(rapid.IntRange(1, 3000).Draw(t, "pass")) * ms
		if len(lock.holds) > 0 && lock.deadline <= now {
			s.event(history.Expire, lock.deadline)
			lock = atomicLock{}
		}
		who := rapid.IntRange(0, owners-1).Draw(t, "who")
		if current[who] < 0 {
			current[who] = len(s.h.Ops)
			s.h.Ops = append(s.h.Ops, history.Op{
				ID: int64(len(s.h.Ops) + 1), Client: fmt.Sprintf("c%d", who), Owner: fmt.Sprintf("c%d:%d", who, generation[who]), Lock: job,
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Lease: time.Duration(rapid.IntRange(1, 20).Draw(t, "lease")) * sec,
				Call: now, Evidence: history.NotSent,
			})
			continue
		}
		op := &s.h.Ops[current[who]]
		lost := rapid.IntRange(0, 9).Draw(t, "luck") == 0
		switch {
		case op.Evidence == history.NotSent && !lost:
			before := lock.key()
			op.Evidence, op.Executed = history.Executed, now
			op.Answer, op.Value = lock.do(op, now)
			s.served(op, now, before, lock.key())
			continue
		case lost && rapid.Bool().Draw(t, "error"):
			op.Return, op.Outcome = now, history.Unknown
		case lost:
		default:
			op.Return, op.Outcome = now, op.Answer
		}
		if lost {
			generation[who]++
		}
		current[who] = -1
	}
	return s.done()
}

// flip makes one answer of the server, and of what the client was told, a wrong one.
func flip(t *rapid.T, h *history.History) bool {
	opposite := map[history.Outcome]history.Outcome{
		history.Acquired: history.Busy, history.Busy: history.Acquired,
		history.Released: history.NotHeld, history.Decremented: history.Released, history.Renewed: history.NotHeld,
	}
	var at []int
	for i, op := range h.Ops {
		if op.Evidence == history.Executed && !op.Uncertain() {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return false
	}
	op := &h.Ops[rapid.SampledFrom(at).Draw(t, "flip")]
	wrong, known := opposite[op.Answer]
	switch {
	case known:
	case op.Kind == history.Unlock || op.Kind == history.ForceUnlock:
		wrong = history.Released
	case op.Kind == history.Renew:
		wrong = history.Renewed
	case op.Kind == history.RemainingTTL:
		op.Value, wrong = op.Value+int64(5*sec), history.OK
		if op.Value < 0 || op.Value == int64(5*sec)-2 {
			op.Value = int64(sec) // of a free lock
		}
	case op.Kind == history.HoldCount:
		op.Value, wrong = op.Value+1, history.OK
	default:
		op.Value, wrong = 1-op.Value, history.OK
	}
	op.Answer, op.Outcome = wrong, wrong
	return true
}

func judgeObjectOf(t *rapid.T, h *history.History) Result {
	v := Judge(context.Background(), h, Options{})
	if len(v.Refused) > 0 {
		t.Fatalf("refused: %v", v.Refused)
	}
	return v.Result(contract.Object)
}

// What an atomic lock did is legal for everybody who looks: by the server's order, and by what
// clients saw, with and without the evidence about lost replies.
func TestAtomicLockIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		if len(h.Ops) == 0 {
			return
		}
		if r := judgeObjectOf(t, h); r.Status != Holds || r.By != "witness replay, porcupine" {
			t.Fatalf("with evidence: %s: %s", r.Status, r.Summary)
		}
		if r := judgeObjectOf(t, blind(h)); r.Status == Broken {
			t.Fatalf("without evidence: %s: %s", r.Status, r.Summary)
		}
		windows := blind(h)
		for i := range windows.Ops {
			if op := &windows.Ops[i]; op.Uncertain() {
				last := max(op.Call, h.Ops[i].Executed)
				op.Evidence, op.Until = history.Sent, last+time.Duration(rapid.IntRange(0, 5000).Draw(t, "gone"))*ms
			}
		}
		if r := judgeObjectOf(t, windows); r.Status == Broken {
			t.Fatalf("with windows: %s: %s", r.Status, r.Summary)
		}
	})
}

// One wrong answer is always found with the server's order, and porcupine, told the same, never
// disagrees (which would refuse the history).
func TestOneWrongAnswerIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		if !flip(t, h) {
			return
		}
		if r := judgeObjectOf(t, h); r.Status != Broken {
			t.Fatalf("%s: %s", r.Status, r.Summary)
		}
	})
}

// One wrong answer of a lock whose calls do not overlap is found without any evidence too: both
// checkers know the same, and say the same.
func TestSequentialHistoriesNeedNoEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		h.Served = nil
		h.Ops = slices.DeleteFunc(h.Ops, func(op history.Op) bool { return op.Evidence != history.Executed })
		for i := range h.Ops { // each call is no longer than its execution
			op := &h.Ops[i]
			op.Call, op.Return, op.Outcome = op.Executed, op.Executed, op.Answer
		}
		slices.SortFunc(h.Ops, func(a, b history.Op) int { return cmpTime(a.Call, b.Call) })
		flipped := rapid.Bool().Draw(t, "corrupt") && flip(t, h)
		if len(h.Ops) == 0 {
			return
		}
		witness, black := judgeObjectOf(t, h), judgeObjectOf(t, blind(h))
		if witness.Status != black.Status || (witness.Status == Broken) != flipped {
			t.Fatalf("corrupted: %v; the witness says %s, porcupine %s", flipped, witness.Summary, black.Summary)
		}
	})
}

// Judging the same history twice gives the same verdict, and leaves the history as it was.
func TestJudgeIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		before := fmt.Sprintf("%+v", *h)
		first := fmt.Sprintf("%+v", *Judge(context.Background(), h, Options{}))
		if second := fmt.Sprintf("%+v", *Judge(context.Background(), h, Options{})); first != second {
			t.Fatalf("two verdicts:\n%s\n%s", first, second)
		}
		if after := fmt.Sprintf("%+v", *h); before != after {
			t.Fatalf("the history was changed:\n%s\n%s", before, after)
		}
	})
}
