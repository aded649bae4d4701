// Package proof tries the causes that a verdict argues: it has the plan run again without some of its faults, and
// judged, and looks for the violation.
//
// It must not know how a plan is run, nor how a history is judged: it is given both as one function. It rules on nothing.
package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Causes are argued from one history. Where a run can be had again, they are also tried: the plan is run without
// some of its faults, and the violation is looked for. (J. Halpern, J. Pearl: Causes and Explanations, 2005, for
// what a cause is; A. Zeller: Isolating Cause-Effect Chains from Computer Programs, 2002, for finding it by runs.)

// byPrograms are the causes that are no faults, but what programs did: they let a lease run out, for which others waited or
// not, forced a lock free, wrote late, or gave a call up. Faults can only lead to it that others were there at that time.
var byPrograms = []contract.Class{contract.LeaseOutlived, contract.Unannounced, contract.Forced, contract.LateWrite, contract.RenewedLate, contract.Abandoned}

// Again runs a plan again without some of its faults, with the same seed, and judges what comes out. The faults are
// given by their places in the plan, in order. It returns the history and its verdict. An error says that there is none:
// the harness failed, or the lock panicked.
type Again func(without []int) (*history.History, *checker.Verdict, error)

// maxRuns bounds how many different runs the proofs of one verdict may take together.
const maxRuns = 48

// Prove tries the causes that a verdict of h gives, by runs without faults. It adds a [checker.Proof] to one violation of each
// sort and ruling, and what it shows to the explanation; nothing else of the verdict changes. The history must be one of a
// world whose runs are the same again, and the verdict is to be proved once. It is deterministic if again is.
func Prove(h *history.History, v *checker.Verdict, again Again) {
	h = h.WithEffects()
	p := &prover{h: h, healed: h.Healed(), v: v, again: again, known: map[string]*rerun{}}
	for i := range h.Faults {
		if f := &h.Faults[i]; f.Missed {
			p.missed = append(p.missed, f.Index)
		} else {
			p.struck = append(p.struck, f.Index)
		}
	}
	p.struck = set(p.struck)
	var says []string
	tried := map[string]bool{}
	for i := range v.Results {
		r := &v.Results[i]
		for j := range r.Violations {
			x := &r.Violations[j]
			if sort := fmt.Sprint(x.Sort(r.Guarantee), x.Ruling); !tried[sort] {
				tried[sort] = true
				x.Proof = p.prove(r.Guarantee, x)
			}
		}
		if told := r.Told(); told != nil && told.Proof != nil {
			says = also(says, told.Proof.Text)
		}
	}
	if len(says) > 0 {
		v.Explanation = strings.TrimSpace(v.Explanation + " " + strings.Join(says, " "))
	}
}

// also adds a text, but for what was said before in the same words.
func also(says []string, text string) []string {
	for _, said := range says {
		if strings.HasPrefix(said, text) {
			return says
		}
		if rest, same := strings.CutPrefix(text, said); same {
			text = strings.TrimSpace(rest)
		} else if run, of, more := strings.Cut(text, ". "); more && strings.HasPrefix(said, run+". ") {
			text = of // of the same run
		}
	}
	return append(says, text)
}

// prover tries the causes of one verdict. Sets of faults are places in the plan, in order.
type prover struct {
	h      *history.History // of the run whose causes are tried
	healed time.Duration
	v      *checker.Verdict // of it
	again  Again
	struck []int
	missed []int             // never struck; they are left out of all runs, in which they might
	known  map[string]*rerun // by what was left out
}

// rerun is a run without some faults.
type rerun struct {
	without []int // those that never struck included
	h       *history.History
	v       *checker.Verdict // nil: there is none
}

// set puts places in order, each once.
func set(places []int) []int {
	slices.Sort(places)
	return slices.Compact(places)
}

// What a run shows of a violation.
type finding uint8

const (
	unclear finding = iota
	there
	gone
)

// attempt is one proof under way.
type attempt struct {
	*prover
	g    contract.Guarantee
	x    *checker.Violation
	like likeness // how much a violation of another run must be like it to be the same
	seen []string // the runs that it looked at
	lack bool     // it wanted runs that are not allowed, or came to nothing: what it found may not be the smallest
}

// A likeness is how much of a violation one of another run must have in common with it, besides the rule and the lock.
type likeness uint8

const (
	whatever   likeness = iota
	sameClass           // of its cause
	sameCaller          // that, and the call that shows it
)

func (p *prover) prove(g contract.Guarantee, x *checker.Violation) *checker.Proof {
	a := &attempt{prover: p, g: g, x: x}
	named := a.places(x.Cause.Faults)
	least, found := a.search(named)
	outcome := a.outcome(least, named, found)
	for _, a.like = range []likeness{sameCaller, sameClass} {
		if len(named) == 0 || outcome == checker.Proved || outcome == checker.Several || outcome == checker.Besides {
			break
		}
		other, found := a.among(named)
		if o := a.outcome(other, named, found); o == checker.Proved || o == checker.Several {
			least, outcome = other, checker.Besides
		}
	}
	a.like = whatever
	if a.lack {
		least, outcome = nil, checker.NotProved
	}
	proof := &checker.Proof{Outcome: outcome, Faults: a.faults(least), Runs: len(a.seen)}
	if len(least) > 0 {
		proof.Clean = clean(a.run(least).v)
	}
	proof.Text = a.tell(proof, least, named)
	return proof
}

// outcome says how what was found stands to the faults that the cause names.
func (a *attempt) outcome(least, named []int, found bool) checker.ProofOutcome {
	switch {
	case !found:
		return checker.NotProved
	case len(least) == 0:
		return checker.ByItself
	case within(least, named):
		return checker.Proved
	case slices.ContainsFunc(least, func(i int) bool { return slices.Contains(named, i) }):
		return checker.Several
	case len(named) == 0 && (a.byLock() || slices.Contains(byPrograms, a.x.Cause.Class)):
		return checker.Occasion
	}
	return checker.Otherwise
}

// byLock reports whether the violation is what the lock does of itself, as its ruling says: a defect, or a limitation that no
// fault has to exempt.
func (a *attempt) byLock() bool {
	r := a.x.Ruling
	return r.Kind == checker.Defect || r.Kind == checker.KnownLimitation && r.Row == ""
}

// search looks for a smallest set of faults without which the violation is gone; an empty one says that it is there
// without any. found is false if the runs do not show it.
func (a *attempt) search(named []int) (least []int, found bool) {
	if len(a.struck) == 0 {
		return nil, true // this run is one without faults
	}
	if len(named) == 0 && a.without(a.struck) == there {
		return nil, true
	}
	if least, found := a.among(named); found {
		return least, true
	}
	if a.without(a.struck) == there {
		return nil, true
	}
	if i, ok := a.single(a.struck); ok {
		return []int{i}, true
	}
	if a.without(a.struck) != gone {
		return nil, false
	}
	return a.minimise(a.struck), true
}

// among is search for the faults that the cause names, and those that it is found to take besides.
func (a *attempt) among(named []int) (least []int, found bool) {
	if i, ok := a.single(named); ok {
		return []int{i}, true
	}
	for more := named; len(more) > 0; {
		if a.without(more) == gone {
			return a.minimise(more), true
		}
		before := len(more)
		if more = a.follow(more); len(more) == before {
			break
		}
	}
	return nil, false
}

// single returns the first of some faults without which alone the violation is gone.
func (a *attempt) single(some []int) (place int, found bool) {
	i := slices.IndexFunc(some, func(i int) bool { return a.without([]int{i}) == gone })
	if i < 0 {
		return 0, false
	}
	return some[i], true
}

// follow adds to a set the faults that are named by the cause of the violation where it is still there without the set:
// there other faults are enough.
func (a *attempt) follow(named []int) []int {
	r := a.run(named)
	if r == nil || r.v == nil {
		return named
	}
	more := slices.Clone(named)
	for _, x := range r.v.Result(a.g).Violations {
		if !a.same(&x, r.h) {
			continue
		}
		for _, i := range x.Cause.Faults {
			more = append(more, r.place(r.h.Faults[i].Index))
		}
	}
	return set(more)
}

// place is where a fault of the run stands in the whole plan.
func (r *rerun) place(i int) int {
	for _, left := range r.without {
		if left <= i {
			i++
		}
	}
	return i
}

// minimise leaves out of a set, without which the violation is gone, what need not be in it.
func (a *attempt) minimise(some []int) []int {
	least := slices.Clone(some)
	for i := len(least) - 1; i >= 0 && len(least) > 1; i-- {
		fewer := slices.Delete(slices.Clone(least), i, i+1)
		switch a.without(fewer) {
		case gone:
			least = fewer
		case unclear:
			a.lack = true
		}
	}
	return least
}

// same reports whether a violation of another run is the one that is to be proved. Times, owners and causes may differ
// when a fault is left out: what counts is that the rule is broken for the lock.
func (a *attempt) same(x *checker.Violation, of *history.History) bool {
	if x.Rule != a.x.Rule || x.Lock != a.x.Lock {
		return false
	}
	return a.like == whatever || x.Cause.Class == a.x.Cause.Class && (a.like == sameClass || x.Call == a.x.Call && callerOf(x, of) == callerOf(a.x, a.h))
}

// callerOf is whose operation shows a violation; "": none does.
func callerOf(x *checker.Violation, h *history.History) string {
	if len(x.Ops) == 0 {
		return ""
	}
	i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.ID == x.Ops[0] })
	if i < 0 {
		return ""
	}
	return h.Ops[i].Owner
}

// without says whether the violation is there without some faults.
func (a *attempt) without(some []int) finding {
	r := a.run(some)
	if r == nil || r.v == nil {
		return unclear
	}
	result := r.v.Result(a.g)
	switch {
	case slices.ContainsFunc(result.Violations, func(x checker.Violation) bool { return a.same(&x, r.h) }):
		return there
	case result.Status == checker.Undecided || !result.Status.Valid() || len(result.Violations) >= checker.MaxViolations:
		return unclear // more were found than are kept
	}
	return gone
}

// run is the run without some faults; nil if no more are allowed.
func (a *attempt) run(some []int) *rerun {
	key := fmt.Sprint(some)
	r := a.known[key]
	if r == nil {
		if len(a.known) == maxRuns {
			a.lack = true
			return nil
		}
		r = &rerun{without: set(slices.Concat(some, a.missed))}
		h, v, err := a.again(r.without)
		if err == nil && v.Error == "" && v.Trouble() == "" {
			r.h, r.v = h, v
		}
		a.known[key] = r
	}
	if !slices.Contains(a.seen, key) {
		a.seen = append(a.seen, key)
	}
	return r
}

// places are the places in the plan of faults of the history, in order.
func (p *prover) places(faults []int) []int {
	var all []int
	for _, i := range faults {
		all = append(all, p.h.Faults[i].Index)
	}
	return set(all)
}

// faults are the faults of the history that stand at places of the plan.
func (p *prover) faults(places []int) []int {
	var all []int
	for i := range p.h.Faults {
		if slices.Contains(places, p.h.Faults[i].Index) {
			all = append(all, i)
		}
	}
	return all
}

// within reports whether a set has nothing that another has not.
func within(some, other []int) bool {
	return !slices.ContainsFunc(some, func(i int) bool { return !slices.Contains(other, i) })
}

// clean reports whether every guarantee holds that is claimed.
func clean(v *checker.Verdict) bool {
	return !slices.ContainsFunc(v.Results, func(r checker.Result) bool { return r.Status != checker.Holds && r.Status != checker.NotClaimed })
}
