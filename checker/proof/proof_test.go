package proof

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

const (
	ms  = time.Millisecond
	sec = time.Second
	job = "order:42"
)

// A plan of a few faults, as far as a proof sees one: what breaks depends on the faults that are left.
type toy struct {
	faults []history.Fault // in the plan's order
	breaks func(left []int) []checker.Violation
	fails  func(left []int) bool // the run comes to nothing; nil: never
	runs   [][]int               // the faults that were left, of each run
}

// run is a run without some faults. As in a plan that lacks them, the faults that are left count from 0.
func (y *toy) run(without []int) (*history.History, *checker.Verdict) {
	h := &history.History{End: &history.End{At: 120 * sec}}
	for i, owner := range []string{"c1:1", "c2:1"} {
		h.Ops = append(h.Ops, history.Op{ID: int64(i + 1), Client: owner[:2], Owner: owner, Lock: job, Kind: history.Lock, Outcome: history.Acquired,
			Call: time.Duration(2*i+1) * sec, Return: time.Duration(2*i+2) * sec})
	}
	var left []int
	for i, f := range y.faults {
		if !slices.Contains(without, i) {
			left = append(left, i)
			f.Index = len(left) - 1
			h.Faults = append(h.Faults, f)
		}
	}
	v := &checker.Verdict{Version: checker.VerdictVersion, Explanation: "It broke."}
	for _, g := range contract.Guarantees() {
		v.Results = append(v.Results, checker.Result{Guarantee: g, Status: checker.Holds})
	}
	for _, x := range y.breaks(left) {
		for i, j := range x.Cause.Faults { // given by places in the plan
			x.Cause.Faults[i] = slices.Index(left, j)
		}
		r := &v.Results[slices.Index(contract.Guarantees(), contract.Exclusion)]
		r.Status, r.Violations = checker.Broken, append(r.Violations, x)
	}
	return h, v
}

func (y *toy) prove() *checker.Verdict {
	h, v := y.run(nil)
	Prove(h, v, func(without []int) (*history.History, *checker.Verdict, error) {
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
func overlapBy(class contract.Class, faults ...int) checker.Violation {
	return checker.Violation{Rule: contract.OneBeliever, Lock: job, Ops: []int64{2, 1}, Call: history.Lock,
		Cause: checker.Cause{Class: class, Faults: faults}, Ruling: checker.Ruling{Kind: checker.FailedAssumption, Row: "a row", Source: "a source"}}
}

func TestCausesAreProvedByRunsWithoutFaults(t *testing.T) {
	pause := history.Fault{Kind: "pause-watchdog", Client: "c1", From: 5 * sec}
	drop := history.Fault{Kind: "drop-message", Client: "c1", From: 5003 * ms, On: "reply acquire", Hits: 1}
	flush := history.Fault{Kind: "delete-key", Lock: job, From: 6 * sec, Hits: 1}
	never := history.Fault{Kind: "clock-jump", From: 900 * sec, Missed: true}
	has := func(left []int, i int) bool { return slices.Contains(left, i) }
	one := func(x checker.Violation, when bool) []checker.Violation {
		if when {
			return []checker.Violation{x}
		}
		return nil
	}
	tests := []struct {
		name    string
		faults  []history.Fault
		breaks  func(left []int) []checker.Violation
		outcome checker.ProofOutcome
		least   []int
		runs    int
		agrees  bool
		text    string
	}{
		{"the fault that is named", []history.Fault{pause, drop}, func(left []int) []checker.Violation {
			return one(overlapBy(contract.LostMessage, 1), has(left, 1))
		}, checker.Proved, []int{1}, 1, true, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds."},
		{"one of those that are named", []history.Fault{pause, drop}, func(left []int) []checker.Violation {
			return one(overlapBy(contract.LostMessage, 0, 1), has(left, 1))
		}, checker.Proved, []int{1}, 2, true, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds."},
		{"each of two is enough", []history.Fault{pause, drop}, func(left []int) []checker.Violation {
			return one(overlapBy(contract.LostMessage, 0, 1), has(left, 0) || has(left, 1))
		}, checker.Proved, []int{0, 1}, 3, true, "Run again without 2 faults: every guarantee holds. One is the pause of the watchdog of c1 from 5.000 s on. " +
			"The other is the lost reply (acquire) of c1 at 5.003 s. Each is enough to break exclusion."},
		{"another does it, too, when the first is left out", []history.Fault{pause, drop}, func(left []int) []checker.Violation {
			if has(left, 0) {
				return one(overlapBy(contract.PausedHolder, 0), true)
			}
			return one(overlapBy(contract.LostMessage, 1), has(left, 1))
		}, checker.Several, []int{0, 1}, 3, true, "Run again without 2 faults: every guarantee holds. One is the pause of the watchdog of c1 from 5.000 s on. " +
			"The other is the lost reply (acquire) of c1 at 5.003 s. Each is enough to break exclusion."},
		{"the fault came before another cause", []history.Fault{flush}, func(left []int) []checker.Violation {
			if has(left, 0) {
				return one(overlapBy(contract.KeyLost, 0), true)
			}
			return one(overlapBy(contract.LeaseOutlived), true)
		}, checker.Besides, []int{0}, 1, true, "Run again without the deletion of the key of order:42 at 6.000 s: exclusion still breaks, but otherwise."},
		{"a program did it", []history.Fault{pause, flush}, func(left []int) []checker.Violation {
			return one(overlapBy(contract.LeaseOutlived), has(left, 1))
		}, checker.Occasion, []int{1}, 3, true, "Run again without the deletion of the key of order:42 at 6.000 s: every guarantee holds. " +
			"The cause is what a program did, and no fault."},
		{"no fault is needed, and none is named", []history.Fault{pause, drop}, func([]int) []checker.Violation {
			return one(overlapBy(contract.GrantedTwice), true)
		}, checker.ByItself, nil, 1, true, "Run again without any fault, exclusion breaks all the same."},
		{"there is no fault", nil, func([]int) []checker.Violation {
			return one(overlapBy(contract.GrantedTwice), true)
		}, checker.ByItself, nil, 0, true, "The run had no fault to leave out."},
		{"another than the one that is named", []history.Fault{pause, drop}, func(left []int) []checker.Violation {
			return one(overlapBy(contract.PausedHolder), has(left, 1))
		}, checker.Otherwise, []int{1}, 3, false, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds. The cause that is told above is none of these."},
		{"what never struck is left out of all runs", []history.Fault{never, pause, drop}, func(left []int) []checker.Violation {
			return one(overlapBy(contract.LostMessage, 2), has(left, 2) && (has(left, 0) || len(left) == 1))
		}, checker.Proved, []int{2}, 1, true, "Run again without the lost reply (acquire) of c1 at 5.003 s: every guarantee holds."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y := &toy{faults: tt.faults, breaks: tt.breaks}
			v := y.prove()
			x := v.Result(contract.Exclusion).Violations[0]
			want := &checker.Proof{Outcome: tt.outcome, Faults: tt.least, Clean: strings.Contains(tt.text, "every guarantee holds"), Runs: tt.runs, Text: tt.text}
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
		outcome checker.ProofOutcome
		says    string
	}{
		"none is needed": {-1, checker.ByItself, "The faults named are not needed for that."},
		"another is":     {1, checker.Otherwise, "The cause that is told above names another fault."},
	} {
		y := &toy{faults: faults, breaks: func(left []int) []checker.Violation {
			if tt.needed >= 0 && !slices.Contains(left, tt.needed) {
				return nil
			}
			if slices.Contains(left, 0) {
				return []checker.Violation{overlapBy(contract.PausedHolder, 0)}
			}
			return []checker.Violation{overlapBy(contract.PausedHolder)}
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
		breaks: func([]int) []checker.Violation { return []checker.Violation{overlapBy(contract.PausedHolder, 0)} }}
	x := y.prove().Result(contract.Exclusion).Violations[0]
	if want := "The cause of that break of exclusion is not proved. 1 run without faults did not show which of them it takes."; x.Proof.Outcome != checker.NotProved || x.Proof.Text != want || x.Agrees() {
		t.Errorf("%+v", x.Proof)
	}

	two := []history.Fault{{Kind: "pause-client", Client: "c1", From: sec}, {Kind: "delete-key", Lock: job, From: 2 * sec}}
	for _, fails := range []bool{false, true} { // whether one of the two is enough is not known, if the run with it alone comes to nothing
		y := &toy{faults: two, fails: func(left []int) bool { return fails && slices.Equal(left, []int{0}) },
			breaks: func(left []int) []checker.Violation {
				if len(left) == 0 {
					return nil
				}
				return []checker.Violation{overlapBy(contract.KeyLost, left...)}
			}}
		want := map[bool]checker.ProofOutcome{false: checker.Proved, true: checker.NotProved}[fails]
		if x := y.prove().Result(contract.Exclusion).Violations[0]; x.Proof.Outcome != want {
			t.Errorf("%v: %+v, not %s", fails, x.Proof, want)
		}
	}

	most := &toy{breaks: func(left []int) []checker.Violation { // any two of them are enough, so that no single one shows anything
		if len(left) < 2 {
			return nil
		}
		return []checker.Violation{overlapBy(contract.PausedHolder)}
	}}
	for i := range 2 * maxRuns {
		most.faults = append(most.faults, history.Fault{Kind: "pause-client", Client: fmt.Sprint("c", i), From: time.Duration(i) * sec})
	}
	x = most.prove().Result(contract.Exclusion).Violations[0]
	if len(most.runs) != maxRuns || x.Proof.Outcome != checker.NotProved || x.Proof.Faults != nil || x.Proof.Runs != maxRuns {
		t.Errorf("%d runs, %+v", len(most.runs), x.Proof)
	}
}

// A rule of which more violations were found than are kept may be broken once more than is seen.
func TestARuleThatIsBrokenTooOftenIsNotTakenForKept(t *testing.T) {
	y := &toy{faults: []history.Fault{{Kind: "delete-key", Lock: job, From: sec}}, breaks: func(left []int) []checker.Violation {
		all := []checker.Violation{overlapBy(contract.KeyLost, 0)}
		if len(left) == 0 {
			all = slices.Repeat([]checker.Violation{overlapBy(contract.LeaseOutlived)}, checker.MaxViolations)
			for i := range all {
				all[i].Lock = fmt.Sprint("another", i)
			}
		}
		return all
	}}
	if x := y.prove().Result(contract.Exclusion).Violations[0]; x.Proof.Outcome != checker.NotProved {
		t.Errorf("%+v", x.Proof)
	}
}

// One violation of each sort is proved, and the one that is told is among them.
func TestOneViolationOfEachSortIsProved(t *testing.T) {
	y := &toy{faults: []history.Fault{{Kind: "delete-key", Lock: job, From: sec}}, breaks: func(left []int) []checker.Violation {
		if len(left) == 0 {
			return nil
		}
		defect := overlapBy(contract.GrantedTwice)
		defect.Ruling = checker.Ruling{Kind: checker.Defect}
		return []checker.Violation{overlapBy(contract.KeyLost, 0), overlapBy(contract.KeyLost, 0), defect, defect}
	}}
	v := y.prove()
	var proved []bool
	for _, x := range v.Result(contract.Exclusion).Violations {
		proved = append(proved, x.Proof != nil)
	}
	if !slices.Equal(proved, []bool{true, false, true, false}) || len(y.runs) != 1 {
		t.Errorf("%v, %d runs", proved, len(y.runs))
	}
	if told := v.Result(contract.Exclusion).Violations[2]; told.Proof.Outcome != checker.Occasion || !strings.HasSuffix(v.Explanation, "What the lock made of that is its own doing.") {
		t.Errorf("%+v; %s", told.Proof, v.Explanation)
	}
}

func TestTheSameIsNotSaidTwice(t *testing.T) {
	var says []string
	for _, text := range []string{"Run again: it holds.", "Run again: it holds. The lock did it.", "Run again: it holds.", "Run again: it holds. A program did it.", "Run again: it breaks."} {
		says = also(says, text)
	}
	if got, want := strings.Join(says, " "), "Run again: it holds. The lock did it. A program did it. Run again: it breaks."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
