package checker

import (
	"fmt"
	"strings"
)

// explain is the paragraph of a verdict: the overlap first, since that is what users suffer, and
// then whatever else broke.
func explain(f *facts, v *Verdict) string {
	var says []string
	if f.disagreement != "" {
		says = append(says, sentence(f.disagreement))
	}
	told := map[string]bool{} // causes that were named already
	for _, g := range []Guarantee{Exclusion, Effect, Object, Fencing, Watchdog, Liveness} {
		r := v.Result(g)
		switch {
		case r.Status == Undecided:
			says = append(says, fmt.Sprintf("Whether %s held is undecided: %s.", g, r.Summary))
		case r.Status == Broken && g == Effect && v.Result(Exclusion).Status == Broken:
			says = append(says, sentence(r.Summary))
		case r.Status == Broken:
			first := r.Violations[0]
			// An identifier begins no sentence well, and must not be written in capitals.
			text := fmt.Sprintf("%s broke: %s", sentenceName(g), first.Text)
			if n := len(r.Violations) - 1; n > 0 {
				text += fmt.Sprintf(" (and %d more)", n)
			}
			says = append(says, text+".")
			if why := because(first.Cause); !told[why] {
				told[why] = true
				says = append(says, why)
			}
		case r.Status == Holds && g == Effect && v.Result(Exclusion).Status == Broken:
			says = append(says, "By luck no update was lost.")
		case r.Status == Holds && g == Object && v.Result(Exclusion).Status == Broken:
			says = append(says, "All the while the lock itself answered correctly.")
		}
	}
	if len(says) > 0 {
		return strings.Join(says, " ")
	}
	return harmony(f, v)
}

// harmony is what to say when nothing broke.
func harmony(f *facts, v *Verdict) string {
	holds := 0
	for _, l := range f.locks {
		holds += len(l.beliefs)
	}
	kept := 0
	for _, r := range v.Results {
		if r.Status == Holds {
			kept++
		}
	}
	text := fmt.Sprintf("Nothing broke: %s in %s, and %s kept.", count(holds, "hold"), Stamp(f.end), count(kept, "guarantee"))
	if n := len(f.h.Faults); n == 1 {
		text += fmt.Sprintf(" The lock withstood that %s.", f.describe(0))
	} else if n > 1 {
		text += fmt.Sprintf(" The lock withstood %d faults.", n)
	}
	return text
}

func because(c Cause) string {
	text := sentence(c.Text)
	if c.Assumption {
		return text + " Every lease lock assumes that this does not happen: it is no defect of this one."
	}
	return text + " That is a defect of this lock."
}

func sentenceName(g Guarantee) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }
