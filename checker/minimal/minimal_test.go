package minimal

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

const sec = time.Second

func ask(h *history.History, owner string, kind history.Kind, call, ret time.Duration, out history.Outcome) *history.Op {
	h.Ops = append(h.Ops, history.Op{ID: int64(len(h.Ops) + 1), Client: owner[:2], Owner: owner, Lock: "order:42", Kind: kind, Call: call, Return: ret, Outcome: out})
	return &h.Ops[len(h.Ops)-1]
}

// rounds is a history in which six owners hold a lock in turn, and the next one is refused it meanwhile.
func rounds(n int) *history.History {
	h := &history.History{Header: history.Header{Version: history.Version, Clock: "virtual", World: "test"}}
	for i := range n {
		from := time.Duration(8*i) * sec
		holder, next := fmt.Sprintf("c%d:1", i%6), fmt.Sprintf("c%d:1", (i+1)%6)
		ask(h, holder, history.TryLock, from+1*sec, from+2*sec, history.Acquired)
		ask(h, next, history.TryLock, from+3*sec, from+4*sec, history.Busy)
		ask(h, holder, history.HoldCount, from+4*sec, from+5*sec, history.OK).Value = 1
		ask(h, holder, history.Unlock, from+6*sec, from+7*sec, history.Released)
	}
	return h
}

// A lie in a long history is shrunk to what shows it, of which nothing can be left out.
func TestAViolationIsShrunk(t *testing.T) {
	h := rounds(300)
	h.Ops[601].Outcome = history.Acquired
	h.Faults = []history.Fault{{Kind: "partition", Client: "c1", From: sec, To: 2 * sec}}
	before := slices.Clone(h.Ops)
	small, ok := Violation(context.Background(), h, contract.Object, checker.Options{})
	if !ok {
		t.Fatal("nothing is broken")
	}
	if len(small.Ops) > 3 || len(small.Faults) > 0 {
		t.Errorf("%d operations, %d faults left: %+v", len(small.Ops), len(small.Faults), small.Ops)
	}
	rule, _ := firstRule(context.Background(), h, contract.Object, checker.Options{})
	if again, broken := firstRule(context.Background(), small, contract.Object, checker.Options{}); !broken || again != rule {
		t.Errorf("broke %q, now %q", rule, again)
	}
	for i := range small.Ops {
		c := *small
		c.Ops = slices.Delete(slices.Clone(small.Ops), i, i+1)
		if again, broken := firstRule(context.Background(), &c, contract.Object, checker.Options{}); broken && again == rule {
			t.Errorf("operation %d could be left out", small.Ops[i].ID)
		}
	}
	if !reflect.DeepEqual(h.Ops, before) {
		t.Error("the history was changed")
	}
	if again, _ := Violation(context.Background(), h, contract.Object, checker.Options{}); !reflect.DeepEqual(again, small) {
		t.Error("shrunk to another history the second time")
	}
}

func TestWhatIsNotBrokenIsNotShrunk(t *testing.T) {
	if _, ok := Violation(context.Background(), rounds(3), contract.Object, checker.Options{}); ok {
		t.Error("shrunk")
	}
}

// Exclusion is kept broken by the two holds that overlap.
func TestAnOverlapIsShrunk(t *testing.T) {
	h := rounds(20)
	h.End = &history.End{At: 300 * sec}
	ask(h, "c7:1", history.Lock, 200*sec, 201*sec, history.Acquired).Lease = 5 * sec
	h.Events = append(h.Events, history.Event{Kind: history.Expire, At: 206 * sec, Lock: "order:42"})
	ask(h, "c8:1", history.Lock, 207*sec, 208*sec, history.Acquired).Lease = 5 * sec
	small, ok := Violation(context.Background(), h, contract.Exclusion, checker.Options{})
	if !ok || len(small.Ops) != 2 {
		t.Errorf("%v %+v", ok, small)
	}
}

// wrongChecker refuses every history in which an owner was told how often it holds a lock, after somebody was refused it.
func wrongChecker(h *history.History) checker.Status {
	refused := false
	for _, op := range h.Ops {
		refused = refused || op.Outcome == history.Busy
		if refused && op.Kind == history.HoldCount {
			return checker.Broken
		}
	}
	return checker.Holds
}

// The history on which checkers disagree shrinks to what shows it.
func TestADisagreementIsShrunk(t *testing.T) {
	h, o := rounds(8), checker.Options{Also: wrongChecker}
	small, ok := Disagreement(context.Background(), h, o)
	if !ok || len(small.Ops) >= 8 {
		t.Fatalf("shrunk: %v, to %+v", ok, small)
	}
	for i := range small.Ops {
		less := *small
		less.Ops = slices.Delete(slices.Clone(small.Ops), i, i+1)
		if v := checker.Judge(context.Background(), &less, o); v.Disagreement != "" {
			t.Errorf("it shows without operation %d too", small.Ops[i].ID)
		}
	}
	if _, ok := Disagreement(context.Background(), h, checker.Options{}); ok {
		t.Error("where the checkers agree there is nothing to shrink")
	}
}
