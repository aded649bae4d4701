package checker

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// opinion is what the checkers of object say of one lock.
type opinion struct {
	lock       string
	status     Status
	by         []string
	note       string // what is to be said besides
	violations violations
	disagree   string
}

// judgeObject asks the fastest checker that applies to each lock, and porcupine as second
// opinion on histories small enough.
func judgeObject(ctx context.Context, f *facts) Result {
	r := Result{Status: Holds}
	var speakers, notes []string
	all := f.found(contract.Object) // of all locks
	ops, locks, groupOps, groups := 0, 0, 0, 0
	for i, o := range judgeLocks(ctx, f) {
		l := f.locks[i]
		if len(l.ops) == 0 {
			continue
		}
		if f.byMembers(l) {
			groups++
			groupOps += len(l.ops)
		} else {
			locks++
			ops += len(l.ops)
		}
		all.all += o.violations.all
		all.first = append(all.first, o.violations.first...)
		speakers = appendNew(speakers, o.by...)
		if o.note != "" {
			notes = appendNew(notes, fmt.Sprintf("%s: %s", l.name, o.note))
		}
		if o.disagree != "" && f.disagreement == "" {
			f.disagreement = o.disagree
		}
		r.Status = worseStatus(r.Status, o.status)
	}
	if locks+groups == 0 {
		return notClaimed("no lock was used")
	}
	if also := f.options.Also; also != nil && f.disagreement == "" {
		if s := also(f.h); s != r.Status && (s == Holds || s == Broken) && (r.Status == Holds || r.Status == Broken) {
			f.disagreement = fmt.Sprintf("the checkers disagree: the history %s for %s, and %s for one more checker", r.Status, strings.Join(speakers, ", "), s)
			r.Status, all = Undecided, f.found(contract.Object)
		}
	}
	known := all.all
	for _, l := range f.locks {
		f.early(l, &all)
		f.ownUnlocks(l, &all)
	}
	if all.all > known {
		r.Status, speakers = Broken, appendNew(speakers, byNotices)
	}
	known = all.all
	if f.groupRules(contract.Object, &all); all.all > known {
		r.Status, speakers = Broken, appendNew(speakers, byMembers)
	}
	r.By = strings.Join(speakers, ", ")
	r.Violations = someOf(all.first)
	switch r.Status {
	case Holds:
		var fits []string
		if locks > 0 {
			fits = append(fits, fmt.Sprintf("%s on %s fit the sequential lock", count(ops, "operation"), count(locks, "lock")))
		}
		if groups > 0 {
			fits = append(fits, fmt.Sprintf("%s on %s fit what became of its members", count(groupOps, "operation"), count(groups, "group")))
		}
		r.Summary = strings.Join(fits, ", and ")
	case Broken:
		r.Summary = fmt.Sprintf("%s; the first: %s", count(all.all, "violation"), all.first[0].Text)
	case Undecided:
		r.Summary = "no checker came to an answer"
	}
	if len(notes) > 0 {
		r.Summary += "; " + strings.Join(notes, "; ")
	}
	return r
}

// Disagreement says on what the checkers of object disagree about a history; "": on nothing, or it is not judged.
func Disagreement(ctx context.Context, h *history.History, o Options) string {
	if len(assumptions(h)) > 0 {
		return ""
	}
	f := collect(h, o.withDefaults(h))
	judgeObject(ctx, f)
	return f.disagreement
}

// judgeLocks judges every lock, as many at once as there are processors: each search has a budget
// of memory.
func judgeLocks(ctx context.Context, f *facts) []opinion {
	opinions := make([]opinion, len(f.locks))
	together := ensemblesOf(f)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(f.locks)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(f.locks); i = int(next.Add(1)) - 1 {
				l := f.locks[i]
				switch e := together[l.name]; {
				case e != nil && e.locks[0] == l:
					opinions[i] = e.judge(ctx, f)
				case f.byMembers(l): // no atomic lock says what its members may do one after the other: see group.go
					opinions[i] = opinion{lock: l.name, by: []string{byMembers}, status: Holds}
				case e == nil && len(l.ops) > 0:
					opinions[i] = judgeLock(ctx, f, l)
				}
			}
		})
	}
	workers.Wait()
	return opinions
}

// judgeLock asks whoever can speak about one lock.
func judgeLock(ctx context.Context, f *facts, l *lockFacts) opinion {
	if !witnessed(f, l) {
		return blackBox(ctx, f, l, linear.AsCalled)
	}
	o := opinion{lock: l.name, by: []string{byWitness}, status: Holds}
	var beyond bool
	o.violations, beyond = replay(f, l)
	if o.violations.all > 0 {
		if o.status = Broken; !beyond && doubtful(f, l) {
			return blackBox(ctx, f, l, linear.AsExecuted) // in another order it may be legal
		}
	}

	// The witness order is one that the others may find, so what the witness accepts they must
	// accept. What the witness refuses they may accept, since they know only the intervals of the
	// calls; with the server's times porcupine knows the same, and must refuse too, unless the
	// violation is one that only the server log shows.
	second, by, why := secondOpinion(ctx, f, l)
	if second == Undecided {
		o.note = why
		return o
	}
	return o.seconded(l, history.ALock, second, by, func() bool {
		return !beyond && fitsPorcupine(l) && askPorcupine(ctx, f, l, linear.AsExecuted) == porcupine.Ok
	})
}

// seconded adds a second opinion to that of the witness replay. accepts reports whether porcupine accepts the server's
// order, and should not.
func (o opinion) seconded(l *lockFacts, object history.Object, second Status, by string, accepts func() bool) opinion {
	o.by = append(o.by, by)
	switch {
	case o.status == Holds && second == Broken:
		o.status = Undecided
		o.disagree = fmt.Sprintf("the checkers disagree on %s: the server's order fits the sequential %s, but the %s finds no order that does", l.name, object, by)
	case o.status == Broken && second == Holds:
		o.note = "from what the clients were told alone it could not be seen"
		if accepts() {
			o.disagree = fmt.Sprintf("the checkers disagree on %s: replaying the server's order breaks a rule (%s), but porcupine accepts the same order", l.name, o.violations.first[0].Text)
		}
	}
	return o
}

// secondOpinion judges what the clients were told when the server's order is known too: by
// porcupine, or by the black-box checkers when that would take too long.
func secondOpinion(ctx context.Context, f *facts, l *lockFacts) (status Status, by, why string) {
	if fitsPorcupine(l) {
		return statusOf(askPorcupine(ctx, f, l, linear.AsCalled)), byPorcupine, "porcupine came to no answer within its budget"
	}
	p := linear.Reduce(f.problem(l, linear.AsCalled))
	if says, ok := p.Intervals(); ok {
		return statusOf(says), byInterval, ""
	}
	s, ok := p.Search(ctx, f.options.limits())
	if !ok {
		return Undecided, byFrontier, fmt.Sprintf("more than %d calls were under way at once, too many for a second opinion", linear.MaxUnderWay)
	}
	r := s.Run()
	return statusOf(r.Result), byFrontier, fmt.Sprintf("the %s came to no answer: %s", byFrontier, r.Why)
}

// worseStatus is what several locks' answers add up to.
func worseStatus(a, b Status) Status {
	rank := map[Status]int{Holds: 0, Undecided: 1, Broken: 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
