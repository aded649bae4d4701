package checker

import (
	"context"
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Linearizable is the rule that a searching checker reports as broken: it proves that no order
// exists, and cannot name an operation.
const Linearizable = "the history of a lock has an order that the sequential lock allows"

// opinion is what the checkers of object say of one lock.
type opinion struct {
	lock       string
	status     Status
	by         []string
	note       string // what is to be said besides
	violations []Violation
	disagree   string
}

// judgeObject asks the fastest checker that applies to each lock, and porcupine as second
// opinion on histories small enough.
func judgeObject(ctx context.Context, f *facts) Result {
	r := Result{Status: Holds}
	var speakers, notes []string
	var all []Violation
	ops, locks := 0, 0
	for _, l := range f.locks {
		if len(l.ops) == 0 {
			continue
		}
		locks++
		ops += len(l.ops)
		o := judgeLock(ctx, f, l)
		all = append(all, o.violations...)
		speakers = appendNew(speakers, o.by...)
		if o.note != "" {
			notes = appendNew(notes, fmt.Sprintf("%s: %s", l.name, o.note))
		}
		if o.disagree != "" && f.disagreement == "" {
			f.disagreement = o.disagree
		}
		r.Status = worseStatus(r.Status, o.status)
	}
	if locks == 0 {
		return notClaimed("no lock was used")
	}
	r.By = strings.Join(speakers, ", ")
	r.Violations = all[:min(len(all), maxViolations)]
	switch r.Status {
	case Holds:
		r.Summary = fmt.Sprintf("%s on %s fit the sequential lock", count(ops, "operation"), count(locks, "lock"))
	case Broken:
		r.Summary = fmt.Sprintf("%s; the first: %s", count(len(all), "violation"), all[0].Text)
	case Undecided:
		r.Summary = "no checker came to an answer"
	}
	r.Summary += fmt.Sprintf(" (%s)", r.By)
	if len(notes) > 0 {
		r.Summary += "; " + strings.Join(notes, "; ")
	}
	return r
}

// judgeLock asks whoever can speak about one lock.
func judgeLock(ctx context.Context, f *facts, l *lockFacts) opinion {
	o := opinion{lock: l.name}
	if !witnessed(f, l) {
		return blackBox(ctx, f, l, o)
	}
	var beyond bool
	o.violations, beyond = replay(f, l)
	o.by, o.status = []string{"witness replay"}, Holds
	if len(o.violations) > 0 {
		o.status = Broken
	}
	if !fitsPorcupine(l) {
		return o
	}

	// The witness order is one that porcupine may find, so what the witness accepts porcupine
	// must accept. What the witness refuses porcupine may accept when it knows only the
	// intervals of the calls; with the server's times it knows the same, and must refuse too,
	// unless the violation is one that only the server log shows.
	second := askPorcupine(ctx, f, l, asCalled)
	if second == porcupine.Unknown {
		o.note = "porcupine came to no answer within its budget"
		return o
	}
	o.by = append(o.by, "porcupine")
	switch {
	case o.status == Holds && second == porcupine.Illegal:
		o.status = Undecided
		o.disagree = fmt.Sprintf("the checkers disagree on %s: the server's order fits the sequential lock, but porcupine finds no order that does", l.name)
	case o.status == Broken && second == porcupine.Ok:
		o.note = "from what the clients were told alone it could not be seen"
		if !beyond && askPorcupine(ctx, f, l, asExecuted) == porcupine.Ok {
			o.disagree = fmt.Sprintf("the checkers disagree on %s: replaying the server's order breaks a rule, but porcupine accepts the same order", l.name)
		}
	}
	return o
}

// blackBox judges a lock of which only the clients' side is known.
func blackBox(ctx context.Context, f *facts, l *lockFacts, o opinion) opinion {
	if !fitsPorcupine(l) {
		o.status, o.note = Undecided, "too many operations at once for porcupine"
		return o
	}
	o.by = []string{"porcupine"}
	switch askPorcupine(ctx, f, l, asCalled) {
	case porcupine.Ok:
		o.status = Holds
	case porcupine.Illegal:
		o.status = Broken
		o.violations = []Violation{{
			Rule: Linearizable, Lock: l.name, To: f.end,
			Text:  fmt.Sprintf("%s: no order of its %s fits the sequential lock", l.name, count(len(l.ops), "operation")),
			Cause: Cause{Class: Unexplained, Text: "the server's order is not known"},
		}}
	default:
		o.status, o.note = Undecided, "porcupine came to no answer within its budget"
	}
	return o
}

// worseStatus is what several locks' answers add up to.
func worseStatus(a, b Status) Status {
	rank := map[Status]int{Holds: 0, Undecided: 1, Broken: 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

func appendNew(list []string, items ...string) []string {
next:
	for _, item := range items {
		for _, known := range list {
			if known == item {
				continue next
			}
		}
		list = append(list, item)
	}
	return list
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
