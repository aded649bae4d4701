package proof

import (
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/internal/words"
)

// How proofs are told: in short sentences, each of one fact.

// tell puts a proof into words. named are the places of the faults that the cause names.
func (a *attempt) tell(p *checker.Proof, least, named []int) string {
	switch p.Outcome {
	case checker.ByItself:
		switch {
		case len(a.struck) == 0:
			return "The run had no fault to leave out."
		case len(named) > 0:
			return fmt.Sprintf("Run again without any fault, %s breaks all the same. The faults named are not needed for that.", a.g)
		}
		return fmt.Sprintf("Run again without any fault, %s breaks all the same.", a.g)
	case checker.NotProved:
		return fmt.Sprintf("The cause of that break of %s is not proved. %s without faults did not show which of them it takes.", a.g, words.Count(p.Runs, "run"))
	}
	text := fmt.Sprintf("Run again without %s: %s.", a.noun(p.Faults[0]), a.holds(p.Outcome, least))
	if more := len(p.Faults) - 1; more > 0 {
		text = fmt.Sprintf("Run again without %s: %s. One is %s. %s. Each is enough to break %s.", words.Count(more+1, "fault"), a.holds(p.Outcome, least),
			a.noun(p.Faults[0]), a.rest(p.Faults[1:]), a.g)
	}
	switch {
	case p.Outcome == checker.Occasion && a.byLock():
		text += " What the lock made of that is its own doing."
	case p.Outcome == checker.Occasion:
		text += " The cause is what a program did, and no fault."
	case p.Outcome == checker.Otherwise && len(named) == 0:
		text += " The cause that is told above is none of these."
	case p.Outcome == checker.Otherwise:
		text += " The cause that is told above names another fault."
	}
	return text
}

// holds says what holds in a run without some faults.
func (a *attempt) holds(outcome checker.ProofOutcome, least []int) string {
	v := a.run(least).v
	switch {
	case clean(v):
		return "every guarantee holds"
	case outcome == checker.Besides:
		return fmt.Sprintf("%s still breaks, but otherwise", a.g)
	}
	var hold []string
	for _, r := range a.v.Results {
		if r.Status == checker.Broken && v.Result(r.Guarantee).Status == checker.Holds {
			hold = append(hold, string(r.Guarantee))
		}
	}
	switch {
	case !slices.Contains(hold, string(a.g)):
		return fmt.Sprintf("that break of %s is gone", a.g)
	case len(hold) == 1:
		return hold[0] + " holds"
	}
	return words.List(hold...) + " hold"
}

// rest names one more fault, or says how many there are.
func (a *attempt) rest(faults []int) string {
	if len(faults) == 1 {
		return "The other is " + a.noun(faults[0])
	}
	return fmt.Sprintf("There are %s more", words.Thousands(len(faults)))
}

// noun is a fault as an object, with its time: "the pause of c1 from 5.000 s on".
func (p *prover) noun(i int) string {
	fault := &p.h.Faults[i]
	return words.Noun(fault) + words.When(fault, p.healed)
}
