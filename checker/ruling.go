package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// ruling says who answers for a violation: by the table of exemptions, by what the lock claims, and by
// what it is documented not to promise. This is the one place that decides it; what reads a verdict
// decides nothing.
func (f *facts) ruling(g contract.Guarantee, v *Violation) Ruling {
	for _, e := range contract.Exemptions() {
		if !e.Applies(g, v.Rule, v.Cause.Class, v.Cause.Effects) {
			continue
		}
		if e.Unless == "" {
			return Ruling{Kind: FailedAssumption, Row: e.Name, Source: e.Source}
		}
		if f.claims(e.Unless, &v.Cause) {
			continue
		}
		if source := f.documented(e.Unless, v.Cause.executed.call); source != "" {
			return Ruling{Kind: KnownLimitation, Row: e.Name, Source: source}
		}
		return Ruling{Kind: FailedAssumption, Row: e.Name, Source: e.Source}
	}
	for _, l := range f.h.Header.Limitations {
		if l.Rule != "" && l.Rule == string(v.Rule) && concerns(l, v.Call) {
			return Ruling{Kind: KnownLimitation, Source: l.Source}
		}
	}
	return Ruling{Kind: Defect}
}

// String says who answers, as an apposition.
func (r Ruling) String() string {
	object := cmp.Or(r.Object, history.ALock)
	switch r.Kind {
	case Defect:
		return fmt.Sprintf("a defect of this %s", object)
	case FailedAssumption:
		return fmt.Sprintf("an assumption of such %s failed: %s (%s)", object.Plural(), r.Row, r.Source)
	case KnownLimitation:
		if r.Row != "" {
			return fmt.Sprintf("a known limitation of this %s: %s (%s)", object, r.Row, r.Source)
		}
		return fmt.Sprintf("a known limitation of this %s: %s", object, r.Source)
	}
	return "no ruling: the verdict is of an older version"
}

// claims reports whether the lock makes a claim that covers a cause. Where a history does not say what its lock
// claims, a call takes effect once: no object promises less unless it says so.
func (f *facts) claims(claim contract.Claim, c *Cause) bool {
	if claim == contract.Idempotent && len(f.h.Header.Abilities) == 0 {
		return true
	}
	if claim != contract.Idempotent {
		return f.h.Can(string(claim))
	}
	e := c.executed
	return slices.ContainsFunc(f.h.Header.Idempotent, func(i history.Idempotence) bool {
		most := f.h.Header.Remembered(i, e.client)
		return slices.Contains(i.Calls, e.call) && (most == 0 || e.again-e.first < most || e.repeated) && !(i.UntilAnswered && e.learned) && !(i.Effective && e.refused)
	})
}

// documented says where it is documented that the lock does not make a claim for a call; "": nowhere.
func (f *facts) documented(claim contract.Claim, call history.Kind) string {
	for _, l := range f.h.Header.Limitations {
		if l.Claim == string(claim) && concerns(l, call) {
			return l.Source
		}
	}
	return ""
}

// concerns reports whether a limitation is about a call.
func concerns(l history.Limitation, call history.Kind) bool {
	return len(l.Calls) == 0 || call == "" || slices.Contains(l.Calls, call)
}

// complete adds to a violation the call that shows it, and who answers for it.
func (f *facts) complete(g contract.Guarantee, v *Violation) {
	if len(v.Ops) > 0 && v.Call == "" {
		if op := f.op(v.Ops[0]); op != nil {
			v.Call = op.Kind
		}
	}
	v.Ruling = f.ruling(g, v)
	if v.Ruling.Kind == Defect {
		if c, ok := f.lasting(v); ok {
			v.Cause = c
			v.Ruling = f.ruling(g, v)
		}
	}
	if slices.ContainsFunc(f.locks, func(l *lockFacts) bool { return l.name == v.Lock && l.shared() }) {
		v.Ruling.Object = history.ARWLock
	}
	for is, some := range f.counted { // a name is of one kind
		if slices.ContainsFunc(some, func(l *lockFacts) bool { return l.name == v.Lock }) {
			v.Ruling.Object = is
		}
	}
	v.Cause.executed = executions{}
}

// lasting is the cause of whatever befalls a lock once the world is another than its clients, or its judge, can know. Nothing sets
// that right, also when everything is healed.
func (f *facts) lasting(v *Violation) (Cause, bool) {
	until := v.To // what is seen of a call may be what it did before
	for _, id := range v.Ops {
		if op := f.op(id); op != nil {
			until = max(until, f.until(op))
		}
	}
	since := func(some ...history.Effect) int {
		return slices.IndexFunc(f.h.Faults, func(fault history.Fault) bool {
			struck := !fault.Missed && (fault.Lock == "" || fault.Hits > 0) // a server without keys is struck all the same
			return struck && fault.Has(some...) && fault.From <= until && f.strikes(&fault, fault.Client, v.Lock)
		})
	}
	if v.Lock == "" {
		return Cause{}, false
	}
	if i := since(history.ClockMoved); i >= 0 && f.h.Header.Layout.Absolute {
		return Cause{Class: contract.ClockJumped, Effects: []history.Effect{history.ClockMoved}, Faults: []int{i},
			Text: fmt.Sprintf("the clients of %s tell the server by their own clocks when a lease ends, and from %s on the server's was another",
				v.Lock, Stamp(f.h.Faults[i].From))}, true
	}
	if i := since(append(history.TouchesKey(), history.ServerForgot)...); i >= 0 && f.h.Header.Layout.Unknown != "" {
		return Cause{Class: contract.Unread, Effects: f.effectsOf([]int{i}), Faults: []int{i},
			Text: fmt.Sprintf("the server may have lost at %s who held %s, and nobody can read its keys", Stamp(f.h.Faults[i].From), v.Lock)}, true
	}
	return Cause{}, false
}

// excuses reports whether a cause of an overlap is one for which the lock does not answer.
func (f *facts) excuses(c Cause) bool {
	return f.ruling(contract.Exclusion, &Violation{Rule: contract.OneBeliever, Cause: c}).Kind != Defect
}
