package explore

import (
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Accusation is a defect that a verdict finds, without names and times but for its text.
type Accusation struct {
	Guarantee contract.Guarantee `json:"guarantee"`
	Rule      contract.Rule      `json:"rule"`
	Class     contract.Class     `json:"class"`
	Call      history.Kind       `json:"call,omitzero"` // of the operation that shows it
	Text      string             `json:"text"`
}

// Cause tells accusations of one cause from those of others. It has no times and no names.
func (a Accusation) Cause() string {
	return fmt.Sprintf("%s: %s (%s, %s)", a.Guarantee, a.Rule, a.Class, a.Call)
}

// Accuse lists the defects of a verdict, each cause once, in the order of the guarantees. What is undecided, and a
// history that the checkers refuse, are not the lock's fault; the caller has to look at them.
func Accuse(v *checker.Verdict) []Accusation {
	var all []Accusation
	for _, r := range v.Results {
		for _, x := range r.Defects() {
			a := Accusation{Guarantee: r.Guarantee, Rule: x.Rule, Class: x.Cause.Class, Call: x.Call, Text: x.Text}
			if !slices.ContainsFunc(all, func(b Accusation) bool { return a.Cause() == b.Cause() }) {
				all = append(all, a)
			}
		}
	}
	return all
}
