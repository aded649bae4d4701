package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Status is the answer for one guarantee. The zero value is invalid and counts as a failure, so
// that a checker that never ran cannot pass.
type Status string

const (
	Holds      Status = "holds"
	Broken     Status = "broken"
	Undecided  Status = "undecided"
	NotClaimed Status = "not claimed"
)

// Valid reports whether a checker set s.
func (s Status) Valid() bool {
	return s == Holds || s == Broken || s == Undecided || s == NotClaimed
}

// Result is the judgement of one guarantee.
type Result struct {
	Guarantee  contract.Guarantee `json:"guarantee"`
	Status     Status             `json:"status"`
	Expected   Status             `json:"expected,omitzero"` // empty: the scenario expects nothing
	By         string             `json:"by,omitzero"`       // which checker decided, e.g. "witness replay"
	Summary    string             `json:"summary"`           // one sentence for people, whatever the status
	Violations []Violation        `json:"violations,omitempty"`
}

// AsExpected reports whether the result is what the scenario expects: that a guarantee breaks, but by
// nothing that the lock answers for. Without an expectation, anything but Broken and Undecided will
// do; an invalid result never does.
func (r Result) AsExpected() bool {
	if r.Expected == "" {
		return r.Status == Holds || r.Status == NotClaimed
	}
	return r.Status == r.Expected && len(r.Defects()) == 0
}

// Defects are the violations that the lock answers for.
func (r Result) Defects() []Violation {
	return slices.DeleteFunc(slices.Clone(r.Violations), func(v Violation) bool { return v.Ruling.Kind != Defect })
}

// Violation is one break of a guarantee, explained.
type Violation struct {
	Rule   contract.Rule `json:"rule"`
	Text   string        `json:"text"` // what happened, with names and times
	Lock   string        `json:"lock,omitzero"`
	From   time.Duration `json:"from"` // the window that shows it; From == To for an instant
	To     time.Duration `json:"to"`
	Ops    []int64       `json:"ops,omitempty"`    // operations involved, the first inexplicable one first
	Owners []string      `json:"owners,omitempty"` // for an overlap: who held first, who came in
	Call   history.Kind  `json:"call,omitzero"`    // the kind of the first operation involved, or of that which ended a hold
	Cause  Cause         `json:"cause"`
	Ruling Ruling        `json:"ruling,omitzero"` // who answers for it; none in verdicts of version 1
	Proof  *Proof        `json:"proof,omitempty"` // what runs without faults show of the cause; nil: it was not tried

	copied []copied // calls that may have been sent again, and are known to take effect twice then
}

// copied is a call whose connection broke while it was under way.
type copied struct {
	op     *history.Op
	faults []int // that broke it
}

// Sort tells violations of one sort from those of others, whatever their times and names.
func (v Violation) Sort(g contract.Guarantee) string {
	return fmt.Sprintf("%s: %s (%s, %s)", g, v.Rule, v.Cause.Class, v.Call)
}

// Cause says why, as far as faults and the server log show it.
type Cause struct {
	Class contract.Class `json:"class"`
	// Effects are what the world did that led to it, as faults or events show.
	Effects []history.Effect `json:"effects,omitempty"`
	Text    string           `json:"text"`             // e.g. "the key expired at 30.412 s: last renewal at 0.412 s, watchdog of c1 paused from 5.000 s"
	Faults  []int            `json:"faults,omitempty"` // indexes of History.Faults to blame

	executed executions // of the call in question; not kept once it is ruled
}

// executions is what a ruling asks of a call that took effect more than once, or otherwise than its caller
// was told.
type executions struct {
	call         history.Kind
	client       string
	first, again time.Duration // when it took effect first, and when again
	learned      bool          // its client had an answer to it before it took effect again
	refused      bool          // it was refused first, and so took effect once at most
	repeated     bool          // the second copy is one that its client sent while it repeats such calls
}

// A ProofOutcome says what runs without faults show of a violation.
type ProofOutcome string

const (
	Proved  ProofOutcome = "proved"  // without faults that the cause names, it is gone
	Several ProofOutcome = "several" // it takes one more: without faults that the cause names, and others, it is gone
	// Without faults that the cause names it is gone, and the rule is broken by another cause or another's call, which the
	// faults came before.
	Besides ProofOutcome = "besides"
	// The cause names no fault, but what a program did, or the lock of itself. Without some faults it did not come to that.
	Occasion  ProofOutcome = "occasion"
	ByItself  ProofOutcome = "by itself"  // it is there without any fault
	Otherwise ProofOutcome = "otherwise"  // without other faults than those that the cause names, it is gone: the cause is wrong
	NotProved ProofOutcome = "not proved" // the runs that were allowed did not show it
)

// Agrees reports whether the runs show what the cause argues, of a violation that has a proof. Where they do not, the
// argument is wrong or not shown: it names faults, of which none is needed; or it names none, though it takes some.
func (x Violation) Agrees() bool {
	switch x.Proof.Outcome {
	case Proved, Several, Besides, Occasion:
		return true
	case ByItself:
		return len(x.Cause.Faults) == 0
	}
	return false
}

// Proof is what runs without some faults show of a violation. It rules on nothing: see [Ruling].
type Proof struct {
	Outcome ProofOutcome `json:"outcome"`
	// Faults are a smallest set of faults without which it is gone, as indexes of History.Faults. Left out but for one of
	// them, it is still there: each is enough.
	Faults []int `json:"faults,omitempty"`
	// Clean says that without these faults every guarantee holds.
	Clean bool   `json:"clean,omitzero"`
	Runs  int    `json:"runs"` // how many runs without faults were looked at; proofs of one verdict share them
	Text  string `json:"text"` // the same in sentences
}

// A RulingKind says who answers for a violation.
type RulingKind string

const (
	Defect           RulingKind = "defect"            // the lock does
	FailedAssumption RulingKind = "failed assumption" // the world did what no such lock can stand
	KnownLimitation  RulingKind = "known limitation"  // the lock is documented not to promise that
)

// Ruling is who answers for a violation, and by what. The zero value is none: of an older version.
type Ruling struct {
	Kind   RulingKind `json:"kind"`
	Row    string     `json:"row,omitzero"`    // the exemption that applies, as contract.Exemptions names it
	Source string     `json:"source,omitzero"` // where that, or the limitation, is documented
	// Object is what was judged, if it was no lock.
	Object history.Object `json:"object,omitzero"`
}

// Moment is one line of the story: what a person needs to see, in order of time.
type Moment struct {
	At     time.Duration `json:"at"`
	Who    string        `json:"who"` // a client, an owner, "server", "fault" or "verdict"
	Text   string        `json:"text"`
	Weight Weight        `json:"weight"`
}

// Weight says how much a moment matters, for choosing and colouring.
type Weight string

const (
	Plain    Weight = "plain"
	Faulty   Weight = "fault"    // a fault began or ended
	Key      Weight = "key"      // a turning point: expiry, loss, grant under a live holder
	Breaking Weight = "breaking" // here a guarantee broke
)

// VerdictVersion is the version of verdict.json. Version 1 had no rulings.
const VerdictVersion = 2

// Verdict is everything the checkers say of one run. It is data: reports only render it.
type Verdict struct {
	Version  int      `json:"version"`
	Scenario string   `json:"scenario,omitzero"`
	Subject  string   `json:"subject"`
	World    string   `json:"world"`
	Seed     uint64   `json:"seed"`
	Object   string   `json:"object,omitzero"` // what was judged, if no lock: "semaphore" or "latch", or "object" where there were several kinds
	Results  []Result `json:"results"`         // one per guarantee, in the order of [Guarantees]
	Story    []Moment `json:"story"`
	// Explanation is the story in one paragraph, for somebody who has never seen the tool.
	Explanation string   `json:"explanation,omitzero"`
	Refused     []string `json:"refused,omitempty"` // assumptions of the checkers that the history does not meet
	// Disagreement says that two checkers which know the same judge differently: one of them is wrong.
	Disagreement string   `json:"disagreement,omitzero"`
	Missed       []string `json:"missed,omitempty"`   // faults of the plan that never struck: the run was not the one that was asked for
	Unstruck     []string `json:"unstruck,omitempty"` // faults that struck nothing, the missed among them: the run says nothing of them
	// Untried says which calls of the plan failed, since the lock does not have what they asked for, and sent nothing: the run says nothing of them.
	Untried string `json:"untried,omitzero"`
	// Unpredicted says that nobody has foretold how the lock fares in the run: it is held to what it claims.
	Unpredicted bool          `json:"unpredicted,omitzero"`
	Error       string        `json:"error,omitzero"` // harness error that ended the run early
	Ops         int           `json:"ops"`
	Messages    int           `json:"messages,omitzero"`
	Virtual     time.Duration `json:"virtual"` // length of the run on its own clock, ns
	Trace       string        `json:"trace,omitzero"`
}

// Expectation is what a scenario expects of each guarantee; a missing entry expects Holds (or
// NotClaimed).
type Expectation map[contract.Guarantee]Status

// Result returns the result for g, or one that is invalid when g was never judged.
func (v *Verdict) Result(g contract.Guarantee) Result {
	for _, r := range v.Results {
		if r.Guarantee == g {
			return r
		}
	}
	return Result{Guarantee: g, Summary: "never judged"}
}

// Exit codes of a judged run, as documented for simrun; the harness adds its own.
const (
	ExitExpected   = 0
	ExitUnexpected = 1
	ExitUndecided  = 2
	ExitDisagree   = 3 // two checkers judge differently: a bug of the harness
	ExitUsage      = 254
	ExitHarness    = 255
)

// Code is the exit code that the verdict deserves.
func (v *Verdict) Code() int {
	if v.Error != "" || len(v.Refused) > 0 {
		return ExitHarness
	}
	if v.Disagreement != "" {
		return ExitDisagree
	}
	code := ExitExpected
	if len(v.Missed) > 0 && v.Scenario != "" {
		code = ExitUnexpected // the story is another than the one that was told
	}
	for _, g := range contract.Guarantees() {
		r := v.Result(g)
		switch {
		case r.AsExpected():
		case r.Status == Undecided:
			code = Worst(code, ExitUndecided)
		default:
			code = Worst(code, ExitUnexpected)
		}
	}
	return code
}

// Trouble says why the verdict is none: what the history does not meet, or on what the checkers disagree.
// It is empty for a verdict that can be relied on.
func (v *Verdict) Trouble() string {
	if len(v.Refused) > 0 {
		return v.Refused[0]
	}
	return v.Disagreement
}

// Worst returns the worse of two exit codes in the order 255, 3, 1, 2, 0 (254 never mixes).
func Worst(a, b int) int {
	rank := map[int]int{ExitExpected: 0, ExitUndecided: 1, ExitUnexpected: 2, ExitDisagree: 3, ExitHarness: 4, ExitUsage: 5}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// Stamp writes a time of the run the way people read it: "30.412 s".
func Stamp(d time.Duration) string { return words.Stamp(d) }

// Thousands writes a number the way people read it: "12,345".
func Thousands[N int | int64](n N) string { return words.Thousands(n) }
