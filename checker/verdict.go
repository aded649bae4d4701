package checker

import (
	"fmt"
	"slices"
	"time"
)

// Guarantee names one question that a run is judged by; see doc.go for what each asks.
type Guarantee string

const (
	Object    Guarantee = "object"
	Exclusion Guarantee = "exclusion"
	Effect    Guarantee = "effect"
	Fencing   Guarantee = "fencing"
	Watchdog  Guarantee = "watchdog"
	Liveness  Guarantee = "liveness"
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
	Guarantee  Guarantee   `json:"guarantee"`
	Status     Status      `json:"status"`
	Expected   Status      `json:"expected,omitzero"` // empty: the scenario expects nothing
	By         string      `json:"by,omitzero"`       // which checker decided, e.g. "witness replay"
	Summary    string      `json:"summary"`           // one sentence for people, whatever the status
	Violations []Violation `json:"violations,omitempty"`
}

// AsExpected reports whether the result is what the scenario expects. Without an expectation,
// anything but Broken will do; an invalid result never does.
func (r Result) AsExpected() bool {
	if r.Expected == "" {
		return r.Status == Holds || r.Status == NotClaimed
	}
	return r.Status == r.Expected
}

// Assumed reports whether every violation came from the failure of something that every lease lock
// assumes, so that none is a defect of this one.
func (r Result) Assumed() bool {
	return !slices.ContainsFunc(r.Violations, func(v Violation) bool { return !v.Cause.Assumption })
}

// Violation is one break of a guarantee, explained.
type Violation struct {
	Rule   string        `json:"rule"` // the rule that was broken, a stable sentence without times or names
	Text   string        `json:"text"` // what happened, with names and times
	Lock   string        `json:"lock,omitzero"`
	From   time.Duration `json:"from"` // the window that shows it; From == To for an instant
	To     time.Duration `json:"to"`
	Ops    []int64       `json:"ops,omitempty"`    // operations involved, the first inexplicable one first
	Owners []string      `json:"owners,omitempty"` // for an overlap: who held first, who came in
	Cause  Cause         `json:"cause"`

	copied []copied // calls that may have been sent again, and are known to take effect twice then
}

// Class is the kind of cause of a violation, so that many failures can be counted by it.
type Class string

const (
	LeaseExpired    Class = "lease expired"     // the lease ran out under a holder that was not paused
	PausedHolder    Class = "paused holder"     // the holder, or its watchdog, was paused past its lease
	CutOff          Class = "cut off"           // the holder was partitioned past its lease
	KeyLost         Class = "key lost"          // the key was expired, deleted or overwritten from outside
	Forced          Class = "forced"            // somebody forced the lock free
	ServerLost      Class = "server lost state" // restart or failover
	ClockJumped     Class = "clock jump"
	LostMessage     Class = "lost message"
	DoubleExecution Class = "double execution"   // one call took effect more than once
	ForeignRelease  Class = "foreign release"    // freed by one who did not hold it
	GrantedTwice    Class = "granted while held" // the server gave the lock away under a holder
	LateWrite       Class = "late write"         // a write took effect after its owner had gone on
	Unexplained     Class = "unexplained"
)

// Cause says why, as far as faults and the server log show it.
type Cause struct {
	Class Class `json:"class"`
	// Assumption: the cause is the failure of something every lease lock assumes (a pause longer
	// than the lease, a forced release, ...). Otherwise it is a defect of this lock.
	Assumption bool `json:"assumption"`
	// Known is where it is documented that this lock gets it wrong; empty: nowhere. See [Options].Known.
	Known  string `json:"known,omitzero"`
	Text   string `json:"text"`             // e.g. "the key expired at 30.412 s: last renewal at 0.412 s, watchdog of c1 paused from 5.000 s"
	Faults []int  `json:"faults,omitempty"` // indexes of History.Faults to blame
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

// VerdictVersion is the version of verdict.json.
const VerdictVersion = 1

// Verdict is everything the checkers say of one run. It is data: reports only render it.
type Verdict struct {
	Version  int      `json:"version"`
	Scenario string   `json:"scenario,omitzero"`
	Subject  string   `json:"subject"`
	World    string   `json:"world"`
	Seed     uint64   `json:"seed"`
	Results  []Result `json:"results"` // one per guarantee, in the order of [Guarantees]
	Story    []Moment `json:"story"`
	// Explanation is the story in one paragraph, for somebody who has never seen the tool.
	Explanation string   `json:"explanation,omitzero"`
	Refused     []string `json:"refused,omitempty"` // assumptions of the checkers that the history does not meet
	// Disagreement says that two checkers which know the same judge differently: one of them is wrong.
	Disagreement string        `json:"disagreement,omitzero"`
	Missed       []string      `json:"missed,omitempty"` // faults of the plan that never struck: the run was not the one that was asked for
	Error        string        `json:"error,omitzero"`   // harness error that ended the run early
	Ops          int           `json:"ops"`
	Messages     int           `json:"messages,omitzero"`
	Virtual      time.Duration `json:"virtual"` // length of the run on its own clock, ns
	Trace        string        `json:"trace,omitzero"`
}

// Guarantees lists all guarantees in the order in which they are reported.
func Guarantees() []Guarantee {
	return []Guarantee{Object, Exclusion, Effect, Fencing, Watchdog, Liveness}
}

// Expectation is what a scenario expects of each guarantee; a missing entry expects Holds (or
// NotClaimed).
type Expectation map[Guarantee]Status

// Result returns the result for g, or one that is invalid when g was never judged.
func (v *Verdict) Result(g Guarantee) Result {
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
	for _, g := range Guarantees() {
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
func Stamp(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
