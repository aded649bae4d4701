package reports

import (
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Summary is what is kept of one run of many: its verdict, and what the charts of a batch are
// drawn from. It is data: a worker process can send it as JSON.
type Summary struct {
	// Verdict is the run's, with only one violation of each guarantee, a defect if there is one; the story
	// and the explanation are left out if everything was as expected. A run that failed before it could be
	// judged has one with an Error.
	Verdict *checker.Verdict `json:"verdict"`

	Overlaps []time.Duration `json:"overlaps,omitempty"` // how long each violation of exclusion lasted
	Handoffs []time.Duration `json:"handoffs,omitempty"` // see [Handoffs]
	Grants   []time.Duration `json:"grants,omitempty"`   // when calls returned with a lock
	Faults   []history.Fault `json:"faults,omitempty"`   // as they struck

	Wall    time.Duration `json:"wall,omitzero"`    // real time that the run and its judgement took
	Command string        `json:"command,omitzero"` // reproduces the run
	Report  string        `json:"report,omitzero"`  // where its report lies, as a relative address; empty: it was not kept
}

// Summarize makes a summary. The history may be nil; whole keeps the verdict as it is.
func Summarize(h *history.History, v *checker.Verdict, whole bool) Summary {
	s := Summary{Verdict: v}
	for _, x := range v.Result(contract.Exclusion).Violations {
		s.Overlaps = append(s.Overlaps, x.To-x.From)
	}
	if h != nil {
		s.Handoffs, s.Faults = Handoffs(h), h.Faults
		for _, op := range h.Ops {
			if op.Kind.Asks() && op.Outcome == history.Acquired {
				s.Grants = append(s.Grants, op.Return)
			}
		}
	}
	if whole {
		return s
	}
	short := *v
	if v.Code() == checker.ExitExpected {
		short.Story, short.Explanation = nil, ""
	}
	short.Results = nil
	for _, r := range v.Results {
		if len(r.Violations) > 1 {
			r.Violations = []checker.Violation{telling(r)}
		}
		short.Results = append(short.Results, r)
	}
	s.Verdict = &short
	return s
}

// Failed is the summary of a run that the harness could not finish.
func Failed(scenario, subject string, seed uint64, why string) Summary {
	return Summary{Verdict: &checker.Verdict{Version: checker.VerdictVersion, Scenario: scenario, Subject: subject, Seed: seed, Error: why}}
}

// Undecided is the summary of a run that the harness could not finish for want of what the machine has.
func Undecided(scenario, subject string, seed uint64, why string) Summary {
	v := &checker.Verdict{Version: checker.VerdictVersion, Scenario: scenario, Subject: subject, Seed: seed}
	for _, g := range contract.Guarantees() {
		v.Results = append(v.Results, checker.Result{Guarantee: g, Status: checker.Undecided, Summary: why})
	}
	return Summary{Verdict: v}
}

// Handoffs measures how promptly a lock went from one holder to the next: from the moment at which
// the server freed it to the return of the call that got it, whenever that call was waiting
// already. Without a server log there are none.
func Handoffs(h *history.History) []time.Duration {
	end := time.Duration(0)
	grants := make(map[string][]history.Op) // of each lock, in order of their calls
	for _, op := range h.Ops {
		end = max(end, op.Return)
		if op.Kind.Acquires() && op.Outcome == history.Acquired {
			grants[op.Lock] = append(grants[op.Lock], op)
		}
	}
	var lengths []time.Duration
	for _, lock := range newCast(h).locks {
		freed := time.Duration(-1)
		for i, s := range keySegments(h, lock, end) {
			if len(s.state.Holdings) == 0 {
				if freed = s.from; i == 0 {
					freed = -1 // it had no holder before
				}
				continue
			}
			for _, op := range grants[lock] {
				if freed >= 0 && s.holds(op.Owner) && op.Call < freed && op.Return >= s.from {
					lengths = append(lengths, op.Return-freed)
					break
				}
			}
			freed = -1
		}
	}
	return lengths
}
