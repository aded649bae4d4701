package checker

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
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

// opinions are those of all locks, or of all semaphores, together.
type opinions struct {
	status   Status
	speakers []string
	notes    []string
	all      violations
}

// hear adds one more opinion.
func (s *opinions) hear(f *facts, o opinion) {
	s.all.all += o.violations.all
	s.all.first = append(s.all.first, o.violations.first...)
	s.speakers = appendNew(s.speakers, o.by...)
	if o.note != "" {
		s.notes = append(s.notes, fmt.Sprintf("%s: %s", o.lock, o.note))
	}
	f.disagreement = cmp.Or(f.disagreement, o.disagree)
	s.status = worseStatus(s.status, o.status)
}

// result is what they come to; fits says what holds if all do.
func (s *opinions) result(fits string) Result {
	r := Result{Status: s.status, By: strings.Join(s.speakers, ", "), Summary: fits, Violations: someOf(s.all.first)}
	switch r.Status {
	case Broken:
		r.Summary = fmt.Sprintf("%s; the first: %s", count(s.all.all, "violation"), s.all.first[0].Text)
	case Undecided:
		r.Summary = "no checker came to an answer"
	}
	r.Summary = strings.Join(append([]string{r.Summary}, s.notes...), "; ")
	return r
}

// judgeObject asks the fastest checker that applies to each lock, and porcupine as second
// opinion on histories small enough.
func judgeObject(ctx context.Context, f *facts) Result {
	s := opinions{status: Holds, all: f.found(contract.Object)}
	ops, locks, groupOps, groups := 0, 0, 0, 0
	for i, o := range judgeLocks(ctx, f) {
		l := f.locks[i]
		if len(l.ops) == 0 {
			continue
		}
		if o.lock = l.name; f.byMembers(l) {
			groups++
			groupOps += len(l.ops)
		} else {
			locks++
			ops += len(l.ops)
		}
		s.hear(f, o)
	}
	if locks+groups == 0 {
		return notClaimed("no lock was used")
	}
	if also := f.options.Also; also != nil && f.disagreement == "" {
		if says := also(f.h); says != s.status && (says == Holds || says == Broken) && (s.status == Holds || s.status == Broken) {
			f.disagreement = fmt.Sprintf("the checkers disagree: the history %s for %s, and %s for one more checker", s.status, strings.Join(s.speakers, ", "), says)
			s.status, s.all = Undecided, f.found(contract.Object)
		}
	}
	known := s.all.all
	for _, l := range f.locks {
		f.early(l, &s.all)
		f.ownUnlocks(l, &s.all)
		f.letIn(l, &s.all)
		f.renewedOthers(l, &s.all)
	}
	if s.all.all > known {
		s.status, s.speakers = Broken, appendNew(s.speakers, byNotices)
	}
	known = s.all.all
	if f.groupRules(contract.Object, &s.all); s.all.all > known {
		s.status, s.speakers = Broken, appendNew(s.speakers, byMembers)
	}
	var fits []string
	object := string(history.ALock)
	if !slices.ContainsFunc(f.locks, func(l *lockFacts) bool { return !l.shared() }) {
		object = string(history.ARWLock)
	}
	if locks > 0 {
		fits = append(fits, fmt.Sprintf("%s on %s fit the sequential %s", count(ops, "operation"), count(locks, object), object))
	}
	if groups > 0 {
		fits = append(fits, fmt.Sprintf("%s on %s fit what became of its members", count(groupOps, "operation"), count(groups, "group")))
	}
	return s.result(strings.Join(fits, ", and "))
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
	all := make([]opinion, len(f.locks))
	together := jointsOf(f)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(f.locks)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(f.locks); i = int(next.Add(1)) - 1 {
				l := f.locks[i]
				switch e := together[l.name]; {
				case e != nil && e.locks[0] == l:
					all[i] = e.judge(ctx, f)
				case f.byMembers(l): // no atomic lock says what its members may do one after the other: see group.go
					all[i] = opinion{lock: l.name, by: []string{byMembers}, status: Holds}
				case e == nil && len(l.ops) > 0:
					all[i] = judgeLock(ctx, f, l)
				}
			}
		})
	}
	workers.Wait()
	return all
}

// judgeLock asks whoever can speak about one lock.
func judgeLock(ctx context.Context, f *facts, l *lockFacts) opinion {
	l = f.unqueued(l)
	if l.shared() {
		return f.judgeSequential(ctx, l)
	}
	if !witnessed(f, l) {
		return blackBox(ctx, f, l, linear.AsCalled)
	}
	o := opinion{lock: l.name, by: []string{byWitness}, status: Holds}
	var only beyond
	o.violations, only = replay(f, l)
	if o.violations.all > 0 {
		if o.status = Broken; !only.violation && doubtful(f, l) {
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
	return o.seconded(l, history.ALock, second, by, only, func() bool {
		return !only.violation && fitsPorcupine(l) && askPorcupine(ctx, f, l, linear.AsExecuted) == porcupine.Ok
	})
}

// seconded adds a second opinion to that of the witness replay. accepts reports whether porcupine accepts the server's
// order, and should not.
func (o opinion) seconded(l *lockFacts, object history.Object, second Status, by string, only beyond, accepts func() bool) opinion {
	if o.status == Holds && second == Broken && only.lease {
		o.note = "the server log alone shows what a late call set a lease to, so that nobody else can judge that"
		return o
	}
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
