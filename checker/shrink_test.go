package checker

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A lie in a long history is shrunk to what shows it, of which nothing can be left out.
func TestShrink(t *testing.T) {
	h := traffic{seed: 4, ops: 1500, clients: 6}.make()
	flipAt(h, 800, true)
	h.Faults = []history.Fault{{Kind: "partition", Client: "c1", From: sec, To: 2 * sec}}
	before := slices.Clone(h.Ops)
	small, ok := Shrink(context.Background(), h, contract.Object, Options{})
	if !ok {
		t.Fatal("nothing is broken")
	}
	if len(small.Ops) > 3 || len(small.Faults) > 0 {
		t.Errorf("%d operations, %d faults left: %+v", len(small.Ops), len(small.Faults), small.Ops)
	}
	rule, _ := firstRule(context.Background(), h, contract.Object, Options{})
	if again, broken := firstRule(context.Background(), small, contract.Object, Options{}); !broken || again != rule {
		t.Errorf("broke %q, now %q", rule, again)
	}
	for i := range small.Ops {
		c := *small
		c.Ops = slices.Delete(slices.Clone(small.Ops), i, i+1)
		if again, broken := firstRule(context.Background(), &c, contract.Object, Options{}); broken && again == rule {
			t.Errorf("operation %d could be left out", small.Ops[i].ID)
		}
	}
	if !reflect.DeepEqual(h.Ops, before) {
		t.Error("the history was changed")
	}
	if again, _ := Shrink(context.Background(), h, contract.Object, Options{}); !reflect.DeepEqual(again, small) {
		t.Error("shrunk to another history the second time")
	}
}

func TestShrinkOfWhatIsNotBroken(t *testing.T) {
	if _, ok := Shrink(context.Background(), baseline().done(), contract.Object, Options{}); ok {
		t.Error("shrunk")
	}
}

// Exclusion is kept broken by the two holds that overlap.
func TestShrinkExclusion(t *testing.T) {
	s := newScript()
	for i := range 20 {
		s.take("c3:1", at(float64(i)), at(float64(i)+0.1), 0)
		s.unlock("c3:1", at(float64(i)+0.5), history.Released)
	}
	s.take("c1:1", at(30), at(31), 5*sec)
	s.event(history.Expire, at(36))
	s.take("c2:1", at(37), at(38), 5*sec)
	small, ok := Shrink(context.Background(), blind(s.done()), contract.Exclusion, Options{})
	if !ok || len(small.Ops) != 2 {
		t.Errorf("%v %+v", ok, small)
	}
}
