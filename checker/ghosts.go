package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// ghosts looks for holds of calls whose callers were not told, of a lock that claims to take them back: as soon as its
// client has had the opportunity to learn what became of the call, and to ask once more.
func (f *facts) ghosts(l *lockFacts, found *violations) {
	if !f.h.Can(string(contract.TakesBack)) || f.implied() || len(f.h.Served) == 0 {
		return
	}
	for _, t := range l.tenures {
		op := t.grant
		_, gone := f.ended[t.client]
		if t.belief != nil || t.restored || gone || op.Pending() || op.Aside || op.Outcome != history.Unknown && op.Outcome != history.Failed {
			continue
		}
		begin := max(op.Return, t.from)
		all := f.obstacles(t.client, l.name, op.Call, t.to, f.answerTime(), hindersTimers)
		limit := enough(begin, 3*f.answerTime()+f.prompt(), all)
		if f.refusesLate(op, t.from) { // its client could have done that since it heard nothing, on another connection
			for i := range all {
				if f.struckAlone(all[i].fault) == op {
					all[i].to = min(all[i].to, max(op.Return, all[i].from))
				}
			}
			limit = min(limit, enough(op.Return, 3*f.answerTime()+f.prompt(), all))
		}
		until := t.to
		if f.implied() {
			until = min(until, t.deadline) // nobody saw it end
		}
		if until <= limit || l.calls(t.owner, op.Return, t.to) || f.sharedHold(l, t.owner, t.from, t.to) || f.healed < limit {
			continue
		}
		found.addAt(begin, func() Violation {
			return Violation{
				Rule: contract.GhostIsGone, Lock: l.name, From: begin, To: t.to, Ops: []int64{op.ID}, Owners: []string{t.owner},
				Text: fmt.Sprintf("%s of %s took %s at %s, and its caller was told %s at %s; the hold stood until %s",
					op.Kind, t.owner, l.name, Stamp(t.from), op.Outcome, Stamp(op.Return), Stamp(t.to)),
				Cause: f.ghostly(l, op, max(op.Executed, t.from), limit),
			}
		})
	}
}

// refusesLate reports whether the client of a call whose answer it gave up could have the server refuse the request, if that came as late as it
// did: as the server remembers requests, a later one of the owner takes the place of those before.
func (f *facts) refusesLate(op *history.Op, came time.Duration) bool {
	return f.once(op) && slices.ContainsFunc(f.h.Header.Idempotent, func(i history.Idempotence) bool {
		most := f.h.Header.Remembered(i, op.Client)
		return slices.Contains(i.Calls, op.Kind) && !i.UntilAnswered && !i.Effective && (most == 0 || came-op.Call < most)
	})
}

// ghostly says why a lock did not give back what a call took, at a time, whose caller was not told.
func (f *facts) ghostly(l *lockFacts, op *history.Op, took, limit time.Duration) Cause {
	if f.refusedCopy(op) {
		return Cause{Class: contract.RefusedCopy, Effects: []history.Effect{history.RequestRefused},
			Text: "the server refused one copy of the request, of which its client heard, and executed another"}
	}
	// What its client asked the server to refuse from then on, the server may have forgotten.
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Step != history.StepRelease || r.Owner != op.Owner || r.Sent < op.Call || r.At > took || r.Lock != op.Lock || refused(r) {
			continue
		}
		if x := f.memoryLost(r.At, took, func(fault *history.Fault) bool { return f.reaches(fault, op.Lock) }); x >= 0 {
			c := Cause{Text: fmt.Sprintf("its client had given it back at %s, before the request came; then %s", Stamp(r.At), f.describe(x))}
			f.forgot(x, &c)
			return c
		}
	}
	if r := f.firstCopy(op, took); r != nil && took > op.Return { // of which its client heard
		c := f.twice(l, op, took, fmt.Sprintf("a copy of the request, of which its client had heard at %s, took it at %s", Stamp(op.Return), Stamp(took)))
		if c.Class != contract.DoubleExecution {
			return c
		}
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("its client could have given it back by %s", Stamp(limit))}
}
