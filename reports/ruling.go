package reports

import (
	"slices"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// rulingView is who answers for a violation, in words.
type rulingView struct {
	Text    string
	Touched string // what must have happened for the exemption to apply; empty: there is none
}

func viewRuling(r checker.Ruling) rulingView {
	v := rulingView{Text: unbroken(Visible(r.String()))}
	rows := contract.Exemptions()
	if i := slices.IndexFunc(rows, func(e contract.Exemption) bool { return e.Name == r.Row }); i >= 0 {
		v.Touched = rows[i].Touched
	}
	return v
}

// telling is the violation that tells most of a broken guarantee: the first for which the lock answers,
// or else the first.
func telling(r checker.Result) checker.Violation {
	if defects := r.Defects(); len(defects) > 0 {
		return defects[0]
	}
	return r.Violations[0]
}

// rulings says who answers for the violations of a result: each ruling once, defects first, with how many
// of the violations it is about if there are others.
func rulings(r checker.Result) []string {
	var all []checker.Ruling
	n := make(map[checker.Ruling]int)
	for _, x := range append(r.Defects(), r.Violations...) {
		if !slices.Contains(all, x.Ruling) {
			all = append(all, x.Ruling)
		}
	}
	for _, x := range r.Violations {
		n[x.Ruling]++
	}
	var says []string
	for _, ruling := range all {
		text := Visible(ruling.String())
		if len(all) > 1 {
			text = Thousands(n[ruling]) + " of " + Thousands(len(r.Violations)) + ": " + text
		}
		says = append(says, text)
	}
	return says
}

// troubles is why a verdict cannot be relied on, or says less than was asked for.
func troubles(v *checker.Verdict) []string {
	all := slices.Clone(v.Refused)
	if v.Disagreement != "" {
		all = append(all, v.Disagreement)
	}
	all = append(all, v.Missed...)
	all = append(all, slices.DeleteFunc(slices.Clone(v.Unstruck), func(s string) bool { return slices.Contains(v.Missed, s) })...)
	if v.Untried != "" {
		all = append(all, v.Untried)
	}
	return all
}
