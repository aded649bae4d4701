package checker

import (
	"context"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// wrongChecker refuses every history in which an owner was told how often it holds a lock, after somebody was refused it.
func wrongChecker(h *history.History) Status {
	refused := false
	for _, op := range h.Ops {
		refused = refused || op.Outcome == history.Busy
		if refused && op.Kind == history.HoldCount {
			return Broken
		}
	}
	return Holds
}

// Checkers that disagree give a verdict and an exit code of its own, whole and in windows.
func TestADisagreementIsAVerdictOfItsOwn(t *testing.T) {
	s := newScript()
	for i := range 8 {
		from := float64(4 * i)
		s.take("c1:1", at(from), at(from+0.5), 0)
		s.op("c2:1", history.TryLock, at(from+1), at(from+1.5), history.Busy)
		s.op("c1:1", history.HoldCount, at(from+2), at(from+2.5), history.OK).Value = 1
		s.unlock("c1:1", at(from+3), history.Released)
	}
	h, o := s.done(), Options{Also: wrongChecker}
	v := Judge(context.Background(), h, o)
	if v.Disagreement == "" || v.Trouble() != v.Disagreement || v.Code() != ExitDisagree || v.Result(contract.Object).Status != Undecided {
		t.Fatalf("exit code %d, %q, object %s", v.Code(), v.Disagreement, v.Result(contract.Object).Status)
	}
	if w, part, _ := JudgeInWindows(t.Context(), h, o); w.Code() != ExitDisagree || part == nil {
		t.Errorf("in windows: exit code %d, %q", w.Code(), w.Disagreement)
	}
	if Disagreement(t.Context(), h, o) != v.Disagreement || Disagreement(t.Context(), h, Options{}) != "" {
		t.Errorf("by itself: %q, and %q where they agree", Disagreement(t.Context(), h, o), Disagreement(t.Context(), h, Options{}))
	}
}

func TestWorstOfExitCodes(t *testing.T) {
	order := []int{ExitExpected, ExitUndecided, ExitUnexpected, ExitDisagree, ExitHarness}
	for i, better := range order {
		for _, worse := range order[i:] {
			if Worst(better, worse) != worse || Worst(worse, better) != worse {
				t.Errorf("of %d and %d the worse is %d", better, worse, Worst(better, worse))
			}
		}
	}
}
