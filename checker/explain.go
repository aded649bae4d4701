package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
)

// explain is the paragraph of a verdict: the overlap first, since that is what users suffer, and
// then whatever else broke.
func explain(f *facts, v *Verdict) string {
	var says []string
	if f.disagreement != "" {
		says = append(says, capital(f.disagreement)+".")
	}
	n := narrator{told: map[string]bool{}}
	n.object, n.sort = f.called()
	overlapped := v.Result(contract.Exclusion).Status == Broken
	for _, g := range inTurn(v, overlapped) {
		r := v.Result(g)
		switch {
		case r.Status == Undecided:
			says = append(says, fmt.Sprintf("Whether %s held is undecided: %s.", g, r.Summary))
		case r.Status == Broken && g == contract.Effect && overlapped:
			says = append(says, fmt.Sprintf("It did harm: %s.", r.Summary))
		case r.Status == Broken:
			says = append(says, n.broke(r))
		case r.Status == Holds && g == contract.Effect && overlapped:
			says = append(says, "By luck no update was lost.")
		case r.Status == Holds && g == contract.Object && overlapped:
			says = append(says, "All the while the "+n.object+" itself answered correctly.")
		}
	}
	if len(says) == 0 {
		says = append(says, harmony(f, v))
	}
	return strings.Join(says, " ")
}

// inTurn are the guarantees in the order in which they are told: those that a defect broke come first. What an overlap led to follows it.
func inTurn(v *Verdict, overlapped bool) []contract.Guarantee {
	all := []contract.Guarantee{contract.Exclusion, contract.Effect, contract.Object, contract.Fencing, contract.Watchdog, contract.Liveness, contract.Fairness}
	guilty := func(g contract.Guarantee) bool { return len(v.Result(g).Defects()) > 0 }
	rank := func(g contract.Guarantee) int {
		follows := overlapped && (g == contract.Effect || g == contract.Object && v.Result(g).Status == Holds)
		if guilty(g) || (follows || g == contract.Exclusion && overlapped) && (guilty(contract.Exclusion) || guilty(contract.Effect)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b contract.Guarantee) int { return rank(a) - rank(b) })
	return all
}

// harmony is what to say when nothing broke.
func harmony(f *facts, v *Verdict) string {
	kept := 0
	for _, r := range v.Results {
		if r.Status == Holds {
			kept++
		}
	}
	object, _ := f.called()
	text := fmt.Sprintf("Nothing broke: %s in %s, and %s kept.", f.grantedText(), Stamp(f.end), count(kept, "guarantee"))
	var struck []int
	for i := range f.h.Faults {
		if f.h.Faults[i].Struck() {
			struck = append(struck, i)
		}
	}
	if len(struck) == 1 {
		text += fmt.Sprintf(" The %s withstood that %s.", object, f.describe(struck[0]))
	} else if len(struck) > 1 {
		text += fmt.Sprintf(" The %s withstood %s.", object, count(len(struck), "fault"))
	}
	if others := len(f.h.Faults) - len(struck); others > 0 {
		text += fmt.Sprintf(" Of %s nothing can be said: %s.", count(others, "fault"), strings.Join(v.Unstruck, "; "))
	}
	return text
}

// A narrator tells each cause once.
type narrator struct {
	told         map[string]bool
	object, sort string // see [facts.called]
}

// broke tells the first violation of a guarantee, and why it came to that. An identifier must not
// be written in capitals, so that no sentence begins with the text of a violation.
func (n *narrator) broke(r Result) string {
	first := r.Told()
	text := fmt.Sprintf("%s broke: %s", capital(string(r.Guarantee)), first.Text)
	if more := len(r.Violations) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s more)", Thousands(more))
	}
	c := first.Cause
	if key := fmt.Sprint(c.Class, c.Faults); !n.told[key] || len(c.Faults) == 0 {
		n.told[key] = true
		text += ". " + capital(c.Text)
	} else {
		text += ", for the same reason"
	}
	switch first.Ruling.Kind {
	case KnownLimitation:
		text += ". It is known that this " + n.object + " does not promise that: " + first.Ruling.Source
	case Defect:
		text += ". That is a defect of this " + n.object
	case FailedAssumption:
		if !n.told["assumption"] {
			n.told["assumption"] = true
			text += ". Every " + n.sort + " assumes that this does not happen, so that it is no defect of this one"
		}
	}
	return text + "."
}

// Told is the violation of a broken guarantee that the explanation tells: the first for which the lock answers, or else
// the first. nil: there is none.
func (r Result) Told() *Violation {
	if i := slices.IndexFunc(r.Violations, func(v Violation) bool { return v.Ruling.Kind == Defect }); i >= 0 {
		return &r.Violations[i]
	}
	if len(r.Violations) == 0 {
		return nil
	}
	return &r.Violations[0]
}

// capital is a text as the beginning of a sentence. A name of an owner, a client or a lock is left as it is.
func capital(s string) string {
	if first, _, _ := strings.Cut(s, " "); s == "" || strings.ContainsAny(first, ":{0123456789") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
