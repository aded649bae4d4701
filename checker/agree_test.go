package checker

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// How many random histories TestCheckersAgree judges; the figure is 300000.
var agreeRuns = flag.Int("agree", 6000, "random histories on which all checkers must agree")

// A shape says what a random history is made of.
type shape struct {
	name     string
	kind     model.Kind
	unknown  int  // percent of calls that end unknown
	windows  bool // unknown outcomes close
	retire   bool // owners whose call ended unknown do nothing more
	leases   bool // holds have leases, and expire
	loss     bool // keys are deleted
	back     bool // holds are brought back
	queries  bool
	force    bool
	renewals bool
}

var shapes = []shape{
	{name: "plain"},
	{name: "queries", queries: true},
	{name: "tokens", unknown: 30},
	{name: "tokens, queries", unknown: 40, queries: true},
	{name: "tokens, retired", unknown: 30, retire: true},
	{name: "windows", unknown: 30, windows: true},
	{name: "windows, queries", unknown: 30, windows: true, queries: true},
	{name: "loss", loss: true},
	{name: "loss, windows", loss: true, windows: true, unknown: 20},
	{name: "loss, tokens", loss: true, unknown: 20},
	{name: "back", back: true, queries: true},
	{name: "back, loss, windows", back: true, loss: true, windows: true, unknown: 20},
	{name: "back, tokens", back: true, unknown: 20},
	{name: "back, leases", back: true, leases: true, renewals: true, queries: true, unknown: 10, windows: true},
	{name: "leases", leases: true},
	{name: "leases, queries", leases: true, queries: true},
	{name: "leases, renewals", leases: true, renewals: true},
	{name: "leases, windows", leases: true, windows: true, unknown: 25, renewals: true},
	{name: "leases, tokens, retired", leases: true, unknown: 25, retire: true},
	{name: "force", force: true},
	{name: "everything", leases: true, loss: true, queries: true, force: true, renewals: true, unknown: 20},
	{name: "everything, windows", leases: true, loss: true, queries: true, force: true, renewals: true, unknown: 20, windows: true},
	{name: "mutex", kind: model.Mutex, unknown: 15, queries: true},
	{name: "exclusive", kind: model.Exclusive, leases: true, unknown: 15, queries: true},
	{name: "mutex, plain", kind: model.Mutex, queries: true},
	{name: "keeping", kind: model.Keeping, leases: true, unknown: 15, queries: true, renewals: true},
	{name: "per client, plain", kind: model.PerClient, queries: true},
	{name: "per client", kind: model.PerClient, leases: true, unknown: 15, queries: true, renewals: true},
	{name: "per client, windows", kind: model.PerClient, leases: true, unknown: 15, loss: true, windows: true, back: true},
	{name: "exclusive, per client", kind: model.ExclusivePerClient, leases: true, unknown: 15, queries: true, renewals: true},
	{name: "exclusive, per client, windows", kind: model.ExclusivePerClient, leases: true, unknown: 15, loss: true, windows: true, back: true},
	{name: "anew, plain", kind: model.Anew, queries: true},
	{name: "anew", kind: model.Anew, leases: true, unknown: 15, queries: true, renewals: true},
	{name: "anew, windows", kind: model.Anew, leases: true, unknown: 15, loss: true, windows: true, back: true},
	{name: "fenced", kind: model.Fenced},
	{name: "fenced, tokens", kind: model.Fenced, unknown: 20},
	{name: "fenced, leases", kind: model.Fenced, leases: true, unknown: 10, windows: true},
}

// owner is the name of an owner. A client has two if it has the lock for all its owners.
func (s shape) owner(n int) string {
	if s.kind.Counts() {
		return fmt.Sprintf("c%d:1", n)
	}
	return fmt.Sprintf("c%d:%d", n/2, 1+n%2)
}

// small draws a history of a shape in which, with some luck, an answer or two are lies.
func small(r *rand.Rand, s shape, touch bool) *history.History {
	h := honest(r, s, touch)
	for range r.IntN(3) {
		lie(r, h)
	}
	return h
}

// honest draws a history of a shape: owners' calls overlap, and a lock of package model executes each
// at some instant within. Times are whole milliseconds,
// few, so that many things happen at one instant; touch lets the calls of one owner touch.
func honest(r *rand.Rand, s shape, touch bool) *history.History {
	const unit = time.Millisecond
	h := &history.History{Header: history.Header{Version: history.Version, Clock: "virtual", World: "random", Subject: s.name}}
	type execution struct {
		at time.Duration
		op int
	}
	var todo []execution
	owners := 1 + r.IntN(4)
	length := time.Duration(5 + r.IntN(30))
	for o := range owners {
		owner, t := s.owner(o), time.Duration(r.IntN(5))
		beat := time.Duration(r.IntN(5))
		for t < length && len(h.Ops) < 16 {
			kind := []history.Kind{history.TryLock, history.Lock, history.Unlock, history.Unlock}[r.IntN(4)]
			switch {
			case s.queries && r.IntN(4) == 0:
				kind = []history.Kind{history.IsLocked, history.IsHeldBy, history.HoldCount}[r.IntN(3)]
				if s.leases && r.IntN(4) == 0 {
					kind = history.RemainingTTL
				}
			case s.force && r.IntN(8) == 0:
				kind = history.ForceUnlock
			}
			call := t + time.Duration(r.IntN(3))
			ret := call + time.Duration(r.IntN(8))
			op := history.Op{Client: owner[:2], Owner: owner, Lock: job, Kind: kind, Call: call * unit, Return: max(ret*unit, 1)}
			if s.leases {
				op.Lease = time.Duration(3+r.IntN(12)) * unit
			}
			if s.renewals && r.IntN(3) == 0 {
				renewal := op
				renewal.Kind = history.Renew
				renewal.Call = beat * unit
				renewal.Return = max((beat+time.Duration(r.IntN(4)))*unit, 1)
				beat = renewal.Return/unit + 1
				h.Ops = append(h.Ops, renewal)
			}
			unknown := r.IntN(100) < s.unknown
			h.Ops = append(h.Ops, op)
			last := &h.Ops[len(h.Ops)-1]
			if unknown {
				last.Outcome = history.Unknown
				if s.windows {
					last.Evidence, last.Until = history.Sent, last.Return+time.Duration(r.IntN(6))*unit
				}
				if s.retire {
					break
				}
			}
			if t = ret; !touch {
				t++
			}
		}
	}
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmpTime(a.Call, b.Call) })
	for i := range h.Ops {
		op := &h.Ops[i]
		op.ID = int64(i + 1)
		from, to := op.Call, op.Return
		if op.Outcome == history.Unknown {
			if to = op.Call + 20*unit; op.Until > 0 {
				to = op.Until
			}
			if r.IntN(3) == 0 {
				continue // it never happened
			}
		}
		todo = append(todo, execution{from + time.Duration(r.Int64N(int64(to-from)+1)), i})
	}
	slices.SortStableFunc(todo, func(a, b execution) int { return cmpTime(a.at, b.at) })

	var state model.State
	expire := func(until time.Duration) {
		if !state.Free() && state.Earliest <= until {
			h.Events = append(h.Events, history.Event{Kind: history.Expire, Lock: job, At: state.Earliest})
			state = model.State{Token: state.Token}
		}
	}
	last := time.Duration(-1)
	for _, e := range todo {
		op := &h.Ops[e.op]
		expire(e.at)
		first := e.at != last // the environment comes before all else of its instant
		last = e.at
		if first && s.loss && r.IntN(6) == 0 {
			h.Events = append(h.Events, history.Event{Kind: history.Delete, Lock: job, At: e.at})
			state = model.State{Token: state.Token}
		}
		if first && s.back && r.IntN(6) == 0 {
			e := history.Event{Kind: history.Restore, Lock: job, At: e.at, Owner: s.owner(r.IntN(owners)), Count: 1 + r.Int64N(2)}
			e.Client = e.Owner[:2]
			if s.leases {
				e.Deadline = e.At + time.Duration(1+r.IntN(12))*unit
			}
			h.Events = append(h.Events, e)
			state, _ = s.kind.Environment(state, e)
		}
		exact := *op // what the lock says at that instant
		exact.Evidence, exact.Executed = history.Executed, e.at
		for _, exact.Outcome = range []history.Outcome{history.Acquired, history.Busy, history.Decremented, history.Released,
			history.NotHeld, history.Renewed, history.OK} {
			if !op.Kind.Allows(exact.Outcome) {
				continue
			}
			exact.Token = state.Token + 1
			found := false
			for exact.Value = range int64(20) {
				if op.Kind == history.RemainingTTL {
					exact.Value = int64(state.Latest - e.at)
					if state.Free() {
						exact.Value = -2
					}
				}
				if next, err := s.kind.Step(state, exact); err == nil {
					state, found = next, true
					break
				}
				if exact.Outcome != history.OK {
					break
				}
			}
			if found {
				break
			}
		}
		if op.Outcome == "" {
			op.Outcome, op.Value = exact.Outcome, exact.Value
			if s.kind == model.Fenced && op.Outcome == history.Acquired {
				op.Token = exact.Token
			}
		}
	}
	expire(time.Hour)
	return h
}

// lie changes an answer, or an event.
func lie(r *rand.Rand, h *history.History) {
	if len(h.Events) > 0 && r.IntN(6) == 0 {
		h.Events[r.IntN(len(h.Events))].At += time.Duration(r.IntN(9)-4) * time.Millisecond
		slices.SortStableFunc(h.Events, func(a, b history.Event) int { return cmpTime(a.At, b.At) })
		return
	}
	if len(h.Ops) == 0 {
		return
	}
	op := &h.Ops[r.IntN(len(h.Ops))]
	switch op.Outcome {
	case history.Unknown, history.Failed:
	case history.OK:
		op.Value = int64(r.IntN(3))
	default:
		var all []history.Outcome
		for _, out := range []history.Outcome{history.Acquired, history.Busy, history.Decremented, history.Released, history.NotHeld, history.Renewed} {
			if op.Kind.Allows(out) {
				all = append(all, out)
			}
		}
		if op.Token > 0 && r.IntN(2) == 0 {
			op.Token += int64(r.IntN(3)) - 1
			return
		}
		op.Outcome = all[r.IntN(len(all))]
	}
}

// testCase prints a history so that it can be pasted into a test.
func testCase(h *history.History) string {
	var b strings.Builder
	if err := history.Save(&b, h); err != nil {
		return err.Error()
	}
	return b.String()
}

// On every small history all checkers that apply say the same as porcupine.
func TestCheckersAgree(t *testing.T) {
	for _, touch := range []bool{false, true} {
		for n, s := range shapes {
			t.Run(fmt.Sprintf("%s, touching %v", s.name, touch), func(t *testing.T) {
				t.Parallel()
				tally := map[string]int{}
				r := rand.New(rand.NewPCG(uint64(n), 5))
				for range *agreeRuns/len(shapes)/2 + 1 {
					h := small(r, s, touch)
					agree(t, h, s, touch, tally)
					if t.Failed() {
						return
					}
				}
				t.Logf("%v", tally)
			})
		}
	}
}

func agree(t *testing.T, h *history.History, s shape, touch bool, tally map[string]int) {
	o := Options{Budget: time.Minute, Memory: DefaultMemory, Model: s.kind}
	f := collect(h, o)
	for _, l := range f.locks {
		second := askPorcupine(context.Background(), f, l, linear.AsCalled)
		p := linear.Reduce(f.problem(l, linear.AsCalled))
		search, ok := p.Search(context.Background(), o.limits())
		if !ok {
			t.Fatal("too many at once")
		}
		first := search.Run()
		verdicts := []linear.Found{first}
		if alone, broken := search.Overdrawn(); broken {
			tally["alone"]++
			if verdicts = append(verdicts, alone); first.Result != porcupine.Illegal {
				t.Errorf("the answers of one owner are said to show a violation that the frontier checker does not see, of\n%s", testCase(h))
			}
		}
		for _, v := range verdicts {
			if v.Result != porcupine.Illegal {
				continue
			}
			part := search.Part(v)
			tally["part "+string(part)]++
			if part == porcupine.Ok || f.inexplicable(l, v, search.Refusal(v)).Text == "" {
				t.Errorf("porcupine accepts the part that shows the violation, of\n%s", testCase(h))
			}
		}
		tally[string(first.Result)]++
		if spoken, ok := p.Intervals(); ok {
			tally["interval "+string(spoken)]++
			if spoken != first.Result {
				t.Errorf("the interval checker says %s, the frontier checker %s, porcupine %s, of\n%s", spoken, first.Result, second, testCase(h))
			}
		}
		if first.Result != second {
			t.Errorf("the frontier checker says %s, porcupine %s, of\n%s", first.Result, second, testCase(h))
		}
	}
}
