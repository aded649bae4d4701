package checker

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A plan of a few faults, as far as a proof sees one: what breaks depends on the faults that are left.
type toy struct {
	faults []history.Fault // in the plan's order
	breaks func(left []int) []Violation
	fails  func(left []int) bool // the run comes to nothing; nil: never
	runs   [][]int               // the faults that were left, of each run
}

// run is a run without some faults. As in a plan that lacks them, the faults that are left count from 0.
func (y *toy) run(without []int) (*history.History, *Verdict) {
	s := newScript()
	s.take("c1:1", at(1), at(2), 0)
	s.take("c2:1", at(3), at(4), 0)
	var left []int
	for i, f := range y.faults {
		if !slices.Contains(without, i) {
			left = append(left, i)
			f.Index = len(left) - 1
			s.h.Faults = append(s.h.Faults, f)
		}
	}
	v := &Verdict{Version: VerdictVersion, Explanation: "It broke."}
	for _, g := range contract.Guarantees() {
		v.Results = append(v.Results, Result{Guarantee: g, Status: Holds})
	}
	for _, x := range y.breaks(left) {
		for i, j := range x.Cause.Faults { // given by places in the plan
			x.Cause.Faults[i] = slices.Index(left, j)
		}
		r := &v.Results[slices.Index(contract.Guarantees(), contract.Exclusion)]
		r.Status, r.Violations = Broken, append(r.Violations, x)
	}
	return s.done(), v
}

func (y *toy) prove() *Verdict {
	h, v := y.run(nil)
	Prove(h, v, func(without []int) (*history.History, *Verdict, error) {
		var left []int
		for i := range y.faults {
			if !slices.Contains(without, i) {
				left = append(left, i)
			}
		}
		y.runs = append(y.runs, left)
		if y.fails != nil && y.fails(left) {
			return nil, nil, errors.New("the lock panicked")
		}
		h, v := y.run(without)
		return h, v, nil
	})
	return v
}

// overlapBy is a violation of exclusion whose cause names faults.
func overlapBy(class contract.Class, faults ...int) Violation {
	return Violation{Rule: contract.OneBeliever, Lock: job, Ops: []int64{2, 1}, Call: history.Lock,
		Cause: Cause{Class: class, Faults: faults}, Ruling: Ruling{Kind: FailedAssumption, Row: "a row", Source: "a source"}}
}

func TestCausesAreProvedByRunsWithoutFaults(t *testing.T) {
	pause := history.Fault{Kind: "pause-watchdog", Client: "c1", From: 5 * sec}
	drop := history.Fault{Kind: "drop-message", Client: "c1", From: 5003 * ms, On: "reply acquire", Hits: 1}
	flush := history.Fault{Kind: "delete-key", Lock: job, From: 6 * sec, Hits: 1}
	never := history.Fault{Kind: "clock-jump", From: 900 * sec, Missed: true}
	has := func(left []int, i int) bool { return slices.Contains(left, i) }
	one := func(x Violation, when bool) []Violation {
		if when {
			return []Violation{x}
		}
		return nil
	}
	tests := []struct {
		name    string
		faults  []history.Fault
		breaks  func(left []int) []Violation
		outcome ProofOutcome
		least   []int
		runs    int
		agrees  bool
		text    string
	}{
		{"the fault that is named", []history.Fault{pause, drop}, func(left []int) []Violation {
			return one(overlapBy(contract.LostMessage, 1), has(left, 1))
		}, Proved, []int{1}, 1, true, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds."},
		{"one of those that are named", []history.Fault{pause, drop}, func(left []int) []Violation {
			return one(overlapBy(contract.LostMessage, 0, 1), has(left, 1))
		}, Proved, []int{1}, 2, true, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds."},
		{"each of two is enough", []history.Fault{pause, drop}, func(left []int) []Violation {
			return one(overlapBy(contract.LostMessage, 0, 1), has(left, 0) || has(left, 1))
		}, Proved, []int{0, 1}, 3, true, "Run again without 2 faults: every guarantee holds. One is the pause of the watchdog of c1 from 5.000 s on. " +
			"The other is the lost reply (acquire) of c1 at 5.003 s. Each is enough to break exclusion."},
		{"another does it, too, when the first is left out", []history.Fault{pause, drop}, func(left []int) []Violation {
			if has(left, 0) {
				return one(overlapBy(contract.PausedHolder, 0), true)
			}
			return one(overlapBy(contract.LostMessage, 1), has(left, 1))
		}, Several, []int{0, 1}, 3, true, "Run again without 2 faults: every guarantee holds. One is the pause of the watchdog of c1 from 5.000 s on. " +
			"The other is the lost reply (acquire) of c1 at 5.003 s. Each is enough to break exclusion."},
		{"the fault came before another cause", []history.Fault{flush}, func(left []int) []Violation {
			if has(left, 0) {
				return one(overlapBy(contract.KeyLost, 0), true)
			}
			return one(overlapBy(contract.LeaseOutlived), true)
		}, Besides, []int{0}, 1, true, "Run again without the deletion of the key of order:42 at 6.000 s: exclusion still breaks, but otherwise."},
		{"a program did it", []history.Fault{pause, flush}, func(left []int) []Violation {
			return one(overlapBy(contract.LeaseOutlived), has(left, 1))
		}, Occasion, []int{1}, 3, true, "Run again without the deletion of the key of order:42 at 6.000 s: every guarantee holds. " +
			"The cause is what a program did, and no fault."},
		{"no fault is needed, and none is named", []history.Fault{pause, drop}, func([]int) []Violation {
			return one(overlapBy(contract.GrantedTwice), true)
		}, ByItself, nil, 1, true, "Run again without any fault, exclusion breaks all the same."},
		{"there is no fault", nil, func([]int) []Violation {
			return one(overlapBy(contract.GrantedTwice), true)
		}, ByItself, nil, 0, true, "The run had no fault to leave out."},
		{"another than the one that is named", []history.Fault{pause, drop}, func(left []int) []Violation {
			return one(overlapBy(contract.PausedHolder), has(left, 1))
		}, Otherwise, []int{1}, 3, false, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds. The argued cause names no fault."},
		{"what never struck is left out of all runs", []history.Fault{never, pause, drop}, func(left []int) []Violation {
			return one(overlapBy(contract.LostMessage, 2), has(left, 2) && (has(left, 0) || len(left) == 1))
		}, Proved, []int{2}, 1, true, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y := &toy{faults: tt.faults, breaks: tt.breaks}
			v := y.prove()
			x := v.Result(contract.Exclusion).Violations[0]
			want := &Proof{Outcome: tt.outcome, Faults: tt.least, Clean: strings.Contains(tt.text, "every guarantee holds"), Runs: tt.runs, Text: tt.text}
			if !reflect.DeepEqual(x.Proof, want) || x.Agrees() != tt.agrees {
				t.Errorf("%+v, agrees %v\nwant %+v", x.Proof, x.Agrees(), want)
			}
			if len(y.runs) != tt.runs {
				t.Errorf("%d runs: %v", len(y.runs), y.runs)
			}
			if v.Explanation != "It broke. "+tt.text {
				t.Errorf("it is told %q", v.Explanation)
			}
			for _, sentence := range strings.SplitAfter(tt.text, ". ") {
				if n := len(strings.Fields(sentence)); n > 25 {
					t.Errorf("%d words: %s", n, sentence)
				}
			}
		})
	}
}

// What names a fault that is not needed is wrong, and so is what names another than the one that is.
func TestAnArgumentThatTheRunsDoNotShowIsTold(t *testing.T) {
	faults := []history.Fault{{Kind: "pause-watchdog", Client: "c1", From: 5 * sec}, {Kind: "drop-message", Client: "c1", From: 6 * sec, Hits: 1}}
	for name, tt := range map[string]struct {
		needed  int // fault; -1: none
		outcome ProofOutcome
		says    string
	}{
		"none is needed": {-1, ByItself, "The faults named are not needed for that."},
		"another is":     {1, Otherwise, "The argued cause names another."},
	} {
		y := &toy{faults: faults, breaks: func(left []int) []Violation {
			if tt.needed >= 0 && !slices.Contains(left, tt.needed) {
				return nil
			}
			if slices.Contains(left, 0) {
				return []Violation{overlapBy(contract.PausedHolder, 0)}
			}
			return []Violation{overlapBy(contract.PausedHolder)}
		}}
		x := y.prove().Result(contract.Exclusion).Violations[0]
		if x.Proof.Outcome != tt.outcome || x.Agrees() || !strings.Contains(x.Proof.Text, tt.says) {
			t.Errorf("%s: %+v, agrees %v", name, x.Proof, x.Agrees())
		}
	}
}

// Where runs come to nothing, or too many would be needed, the proof says that it is none.
func TestWhatIsNotShownIsNotProved(t *testing.T) {
	y := &toy{faults: []history.Fault{{Kind: "pause-client", Client: "c1", From: sec}}, fails: func([]int) bool { return true },
		breaks: func([]int) []Violation { return []Violation{overlapBy(contract.PausedHolder, 0)} }}
	x := y.prove().Result(contract.Exclusion).Violations[0]
	if want := "The cause of that break of exclusion is not proved. 1 run without faults did not show which of them it takes."; x.Proof.Outcome != NotProved || x.Proof.Text != want || x.Agrees() {
		t.Errorf("%+v", x.Proof)
	}

	two := []history.Fault{{Kind: "pause-client", Client: "c1", From: sec}, {Kind: "delete-key", Lock: job, From: 2 * sec}}
	for _, fails := range []bool{false, true} { // whether one of the two is enough is not known, if the run with it alone comes to nothing
		y := &toy{faults: two, fails: func(left []int) bool { return fails && slices.Equal(left, []int{0}) },
			breaks: func(left []int) []Violation {
				if len(left) == 0 {
					return nil
				}
				return []Violation{overlapBy(contract.KeyLost, left...)}
			}}
		want := map[bool]ProofOutcome{false: Proved, true: NotProved}[fails]
		if x := y.prove().Result(contract.Exclusion).Violations[0]; x.Proof.Outcome != want {
			t.Errorf("%v: %+v, not %s", fails, x.Proof, want)
		}
	}

	most := &toy{breaks: func(left []int) []Violation { // any two of them are enough, so that no single one shows anything
		if len(left) < 2 {
			return nil
		}
		return []Violation{overlapBy(contract.PausedHolder)}
	}}
	for i := range 2 * maxProofRuns {
		most.faults = append(most.faults, history.Fault{Kind: "pause-client", Client: fmt.Sprint("c", i), From: time.Duration(i) * sec})
	}
	x = most.prove().Result(contract.Exclusion).Violations[0]
	if len(most.runs) != maxProofRuns || x.Proof.Outcome != NotProved || x.Proof.Faults != nil || x.Proof.Runs != maxProofRuns {
		t.Errorf("%d runs, %+v", len(most.runs), x.Proof)
	}
}

// A rule of which more violations were found than are kept may be broken once more than is seen.
func TestARuleThatIsBrokenTooOftenIsNotTakenForKept(t *testing.T) {
	y := &toy{faults: []history.Fault{{Kind: "delete-key", Lock: job, From: sec}}, breaks: func(left []int) []Violation {
		all := []Violation{overlapBy(contract.KeyLost, 0)}
		if len(left) == 0 {
			all = slices.Repeat([]Violation{overlapBy(contract.LeaseOutlived)}, maxViolations)
			for i := range all {
				all[i].Lock = fmt.Sprint("another", i)
			}
		}
		return all
	}}
	if x := y.prove().Result(contract.Exclusion).Violations[0]; x.Proof.Outcome != NotProved {
		t.Errorf("%+v", x.Proof)
	}
}

// One violation of each sort is proved, and the one that is told is among them.
func TestOneViolationOfEachSortIsProved(t *testing.T) {
	y := &toy{faults: []history.Fault{{Kind: "delete-key", Lock: job, From: sec}}, breaks: func(left []int) []Violation {
		if len(left) == 0 {
			return nil
		}
		defect := overlapBy(contract.GrantedTwice)
		defect.Ruling = Ruling{Kind: Defect}
		return []Violation{overlapBy(contract.KeyLost, 0), overlapBy(contract.KeyLost, 0), defect, defect}
	}}
	v := y.prove()
	var proved []bool
	for _, x := range v.Result(contract.Exclusion).Violations {
		proved = append(proved, x.Proof != nil)
	}
	if !slices.Equal(proved, []bool{true, false, true, false}) || len(y.runs) != 1 {
		t.Errorf("%v, %d runs", proved, len(y.runs))
	}
	if told := v.Result(contract.Exclusion).Violations[2]; told.Proof.Outcome != Occasion || !strings.HasSuffix(v.Explanation, "What the lock made of that is its own doing.") {
		t.Errorf("%+v; %s", told.Proof, v.Explanation)
	}
}

func TestTheSameIsNotSaidTwice(t *testing.T) {
	var says []string
	for _, text := range []string{"Run again: it holds.", "Run again: it holds. The lock did it.", "Run again: it holds.", "Run again: it breaks."} {
		says = also(says, text)
	}
	if got, want := strings.Join(says, " "), "Run again: it holds. The lock did it. Run again: it breaks."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
