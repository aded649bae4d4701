package linear

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

var alikeRuns = flag.Int("alike", 4000, "how many random histories of each object the frontier checker and porcupine are given")

// An asked is a call that random clients make, and what it may be told.
type asked struct {
	kind history.Kind
	told []history.Outcome
}

// random makes histories of an object with states of type S.
type random[S comparable] struct {
	spec   Specification[S]
	calls  []asked
	leases bool
}

const tick = time.Millisecond

// history is one of several clients: what they do is executed in one order, and each is told what fits that. Some are told nothing.
func (m random[S]) history(r *rand.Rand) []porcupine.Operation {
	type client struct {
		op       *history.Op
		executed bool
	}
	var state S
	clients := make([]client, 2+r.IntN(6))
	var ops []*history.Op
	now, token := time.Duration(0), int64(0)
	mine := make([][]int64, len(clients)) // permits
	for n := 8 + r.IntN(50); n > 0; n-- {
		now += tick
		i := r.IntN(len(clients))
		c := &clients[i]
		switch {
		case c.op == nil:
			ask := m.calls[r.IntN(len(m.calls))]
			op := &history.Op{ID: int64(len(ops) + 1), Kind: ask.kind, Owner: fmt.Sprint(i), Call: now, Value: 1 + r.Int64N(2), Evidence: history.NoEvidence}
			switch {
			case op.Kind.OnPermit() && len(mine[i]) == 0:
				continue
			case op.Kind.OnPermit():
				op.Token, mine[i] = mine[i][0], mine[i][1:]
			case op.Kind.Sets():
				op.Value += r.Int64N(3)
			case op.Kind == history.WriteLock || op.Kind == history.TryWrite || op.Kind == history.WriteUnlock:
				op.Owner = history.WriterOf(op.Owner)
			}
			if m.leases && r.IntN(2) == 0 {
				op.Lease = time.Duration(5+r.IntN(40)) * tick
			}
			ops = append(ops, op)
			c.op, c.executed = op, false
		case !c.executed:
			told := asked{}
			for _, a := range m.calls {
				if a.kind == c.op.Kind {
					told = a
				}
			}
			op := *c.op
			op.Return = now + tick
			for _, k := range r.Perm(len(told.told)) {
				if op.Outcome = told.told[k]; op.Outcome == history.Acquired && op.Kind.Object() == history.APermitSemaphore {
					op.Token = token + 1
				}
				after, err := m.spec.Step(state, op)
				if err != nil {
					op.Token = c.op.Token
					continue
				}
				if token = max(token, op.Token); op.Outcome == history.Acquired && op.Token > 0 {
					mine[i] = append(mine[i], op.Token)
				}
				state, c.executed = after, true
				c.op.Outcome, c.op.Token = op.Outcome, op.Token
				break
			}
		default:
			if c.op.Return = now; r.IntN(12) == 0 {
				c.op.Outcome = history.Unknown
			}
			c.op = nil
		}
	}
	if len(ops) > 0 && r.IntN(2) == 0 { // somebody is told wrong
		switch op := ops[r.IntN(len(ops))]; op.Outcome {
		case history.Acquired:
			op.Outcome = history.Busy
		case history.Busy:
			op.Outcome = history.Acquired
		case history.OK:
			op.Outcome = history.Rejected
			if op.Kind.Awaits() {
				op.Outcome = history.Busy
			} else if op.Kind.Gives() {
				op.Outcome = history.NotHeld
			}
		case history.Released:
			op.Outcome = history.NotHeld
		default:
			op.Value++
		}
	}
	l := &Lock{Ops: ops, Virtual: true, Excused: func(*history.Op) bool { return false }}
	return l.History()
}

// agree gives both the same histories.
func (m random[S]) agree(t *testing.T, seed uint64) {
	r, said, runs := rand.New(rand.NewPCG(seed, 1)), map[porcupine.CheckResult]int{}, *alikeRuns
	if testing.Short() {
		runs /= 8
	}
	apply := func(in *Step, s S) (S, error) { return Apply(m.spec, in, s) }
	for n := range runs {
		ops := m.history(r)
		first := Frontier(t.Context(), *new(S), apply, ops, 1_000_000)
		second := Ask(t.Context(), Model(*new(S), apply, ops), ops, time.Minute)
		said[first]++
		if first != second {
			for _, op := range ops {
				t.Logf("%d to %d: %+v", op.Call/2e6, op.Return/2e6, op.Input.(*Step).Op)
			}
			t.Fatalf("history %d: the frontier checker says %s, porcupine %s", n, first, second)
		}
	}
	if said[porcupine.Ok] < runs/10 || said[porcupine.Illegal] < runs/20 {
		t.Errorf("too few of either answer: %v", said)
	}
}

// What is alike can change places: the frontier checker says what porcupine does.
func TestFrontierAgreesWithPorcupine(t *testing.T) {
	tries := []history.Outcome{history.Acquired, history.Busy}
	granted, did := tries[:1], []history.Outcome{history.OK}
	sets := []history.Outcome{history.OK, history.Rejected}
	gives := []history.Outcome{history.OK, history.NotHeld}
	t.Run("semaphore", func(t *testing.T) {
		random[model.SemaphoreState]{spec: model.Semaphore{}, calls: []asked{{history.TrySetPermits, sets}, {history.AcquirePermits, granted},
			{history.TryAcquirePermits, tries}, {history.ReleasePermits, gives}, {history.ReleasePermits, gives}}}.agree(t, 1)
	})
	t.Run("latch", func(t *testing.T) {
		random[model.LatchState]{spec: model.Latch{}, calls: []asked{{history.TrySetCount, sets}, {history.CountDown, did}, {history.CountDown, did},
			{history.Await, did}, {history.TryAwait, []history.Outcome{history.OK, history.Busy}}}}.agree(t, 2)
	})
	permits := []asked{{history.TrySetTotal, sets}, {history.AcquirePermit, granted}, {history.TryAcquirePermit, tries}, {history.ReleasePermit, gives}, {history.UpdateLease, gives}}
	for _, leases := range []bool{false, true} {
		t.Run(fmt.Sprintf("permits with leases %t", leases), func(t *testing.T) {
			random[model.PermitsState]{model.Permits{}, permits, leases}.agree(t, 3)
		})
	}
	t.Run("read-write lock", func(t *testing.T) {
		released := []history.Outcome{history.Released, history.Decremented, history.NotHeld}
		random[model.RWState]{spec: model.RWLock{}, calls: []asked{{history.ReadLock, granted}, {history.TryRead, tries}, {history.ReadUnlock, released},
			{history.WriteLock, granted}, {history.TryWrite, tries}, {history.WriteUnlock, released}}}.agree(t, 4)
	})
}

// BenchmarkFrontier is the time for a semaphore of 4 permits that 8 or 100 clients use, 100,000 calls of which only the answers are known.
func BenchmarkFrontier(b *testing.B) {
	for _, clients := range []int{8, 100} {
		b.Run(fmt.Sprintf("%d clients", clients), func(b *testing.B) {
			ops := busySemaphore(clients, 100_000)
			apply := func(in *Step, s model.SemaphoreState) (model.SemaphoreState, error) {
				return Apply[model.SemaphoreState](model.Semaphore{}, in, s)
			}
			for b.Loop() {
				if r := Frontier(b.Context(), model.SemaphoreState{}, apply, ops, 50_000_000); r != porcupine.Ok {
					b.Fatal(r)
				}
			}
		})
	}
}

// busySemaphore is a history of clients that take a permit, waiting for it, and give it back.
func busySemaphore(clients, calls int) []porcupine.Operation {
	r := rand.New(rand.NewPCG(1, 2))
	ops := []*history.Op{{ID: 1, Kind: history.TrySetPermits, Value: 4, Call: tick, Return: 3 * tick, Outcome: history.OK}}
	free, now := 4, 3*tick
	waiting, holding := []*history.Op{}, []bool{}
	for range clients {
		waiting, holding = append(waiting, nil), append(holding, false)
	}
	for len(ops) < calls {
		now += tick
		i := r.IntN(clients)
		switch op := waiting[i]; {
		case op == nil && !holding[i]:
			waiting[i] = &history.Op{ID: int64(len(ops) + 1), Kind: history.AcquirePermits, Value: 1, Owner: fmt.Sprint(i), Call: now}
			ops = append(ops, waiting[i])
		case op == nil:
			waiting[i] = &history.Op{ID: int64(len(ops) + 1), Kind: history.ReleasePermits, Value: 1, Owner: fmt.Sprint(i), Call: now}
			ops = append(ops, waiting[i])
		case op.Outcome != "":
			op.Return, waiting[i] = now, nil
		case op.Kind == history.ReleasePermits:
			op.Outcome, holding[i] = history.OK, false
			free++
		case free > 0:
			op.Outcome, holding[i] = history.Acquired, true
			free--
		}
	}
	l := &Lock{Ops: ops, Virtual: true, Excused: func(*history.Op) bool { return false }}
	return l.History()
}
