package checker

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A specification is a sequential one of package model, as the witness replay asks it; S is its state.
type specification[S comparable] struct {
	step        func(S, history.Op) (S, error)
	environment func(S, history.Event) (S, error)
	shown       func(history.KeyState) S                                        // the state that a key shows
	fits        func(S, *act) bool                                              // whether the key after an act is what a state says
	settled     func(S, history.KeyState) S                                     // a state with what the key that it fits says more; nil: nothing
	misfit      func(before, after S, a *act) (rule contract.Rule, says string) // of a key that is not
	resume      func(S, *act) S                                                 // where to go on after a refused answer whose key nobody saw
	untrue      func(S, history.Op) error                                       // an answer that was true in no state of its call
	since       func(*lockFacts, *history.Op) time.Duration                     // from when on an answer may be true; nil: from its call on
	lapses      bool                                                            // leases end by the times of operations alone
	cause       func(*lockFacts, *act, contract.Rule) (Cause, bool)             // what caused a violation, if this kind of object has causes of its own
}

// ruleOf is the rule that an error of package model says was broken.
func ruleOf(err error) contract.Rule {
	var illegal *model.Illegal
	var violation *model.Violation
	switch {
	case errors.As(err, &illegal):
		return illegal.Rule
	case errors.As(err, &violation):
		return violation.Rule
	}
	panic(fmt.Sprintf("checker: package model returned an error of type %T", err))
}

// effective reports whether an answer to an operation means that its object changed.
func effective(op *history.Op, o history.Outcome) bool {
	return changes(o) || op.Kind.Object().Counted() && o == history.OK && !op.Kind.Awaits()
}

// lockSpec is the specification of the history's locks.
func lockSpec(f *facts) specification[model.State] {
	kind := f.options.Model
	return specification[model.State]{
		step: kind.Step, environment: kind.Environment, shown: shown, fits: func(s model.State, a *act) bool { return fits(s, *a.after) }, resume: resume,
		misfit: func(before, after model.State, a *act) (contract.Rule, string) { return misfit(f, before, after, a) },
		untrue: func(s model.State, op history.Op) error {
			return &model.Illegal{Rule: contract.QueryTellsTruth, State: s, Op: op}
		},
	}
}

// fits reports whether the key is what a state of the model says.
func fits(s model.State, k history.KeyState) bool {
	key := shown(k)
	return len(k.Holdings) <= 1 && key.Owner == s.Owner && key.Count == s.Count &&
		!past(s.Earliest, key.Latest) && !past(key.Earliest, s.Latest)
}

// misfit says of an answer that was right that the key is not what the answer means.
func misfit(f *facts, before, s model.State, a *act) (contract.Rule, string) {
	key, op := shown(*a.after), a.op
	same := len(a.after.Holdings) <= 1 && key.Owner == s.Owner && key.Count == s.Count
	switch {
	case same && op.Kind.Renews() && past(before.Earliest, key.Latest) && past(s.Earliest, key.Latest) && f.keepsLongest():
		return contract.RenewalKeeps, fmt.Sprintf("the key expires %s, but its lease had lasted until %s", until(key.Latest), Stamp(before.Earliest))
	case same:
		return contract.LeaseIsSet, fmt.Sprintf("the key expires %s, but the lease ends %s", until(key.Latest), until(s.Latest))
	case len(a.after.Holdings) > 1:
		return contract.KeyFits, fmt.Sprintf("the key has %d owners, but the lock is %s", len(a.after.Holdings), s)
	}
	return contract.KeyFits, fmt.Sprintf("the key says %s, but the lock is %s", key, s)
}

func until(d time.Duration) string {
	if d == model.Never {
		return "never"
	}
	return "at " + Stamp(d)
}

// resume is the state from which to go on after an answer that no state allows: what the answer says.
func resume(s model.State, a *act) model.State {
	op := a.op
	switch answer(op) {
	case history.Acquired:
		s = model.State{Owner: op.Owner, Count: 1, Earliest: model.Never, Latest: model.Never}
		if op.Lease > 0 {
			s.Earliest, s.Latest = a.at+op.Lease, a.at+op.Lease
		}
	case history.Released:
		s = model.State{}
	case history.Renewed, history.Decremented:
		if !s.Free() && op.Lease > 0 {
			s.Earliest, s.Latest = a.at+op.Lease, a.at+op.Lease
		}
	}
	return s
}
