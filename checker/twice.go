package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What took effect more than once, and whether its client had a reason to send it again.

// twice is the cause that a call took effect again, at a time.
func (f *facts) twice(l *lockFacts, op *history.Op, again time.Duration, text string) Cause {
	sent := op.Call
	if i, found := f.log.execution(op, again); found {
		sent = min(sent, f.h.Served[i].Sent)
	}
	if c, ok := f.sentAnew(op, again); ok {
		return c
	}
	first := tookOrCall(op)
	if r := f.firstCopy(op, again); r != nil {
		first = min(first, r.At)
	}
	faults := f.struckBy(op.Client, l.name, sent, again, resends)
	c := Cause{Class: contract.DoubleExecution, Text: text, Faults: faults, Effects: f.effectsOf(faults),
		executed: executions{call: op.Kind, client: op.Client, first: first, again: again, learned: f.learned(op, again)}}
	f.forgotten(op, &c, func(fault *history.Fault) bool { return f.reaches(fault, l.name) })
	return c
}

// onceEach reports whether a call on a group gave back each member but once: the group may end with a later one than the first.
func (f *facts) onceEach(op *history.Op) bool {
	gave := map[memberKey]bool{}
	for _, i := range f.executions(op) {
		r := &f.h.Served[i]
		if r.Before == nil || r.After == nil || !gives(r) {
			continue
		}
		key := memberKey{r.Server, r.Lock}
		if gave[key] {
			return false
		}
		gave[key] = true
	}
	return len(gave) > 0
}

// sentAnew is the cause of an effect that a call has by a request of its own, at a time or after it. What it did before that it
// did by another request, and its client had the answer, and no fault kept it from going on. So nobody needed to send one more.
func (f *facts) sentAnew(op *history.Op, from time.Duration) (Cause, bool) {
	type request struct {
		key memberKey
		id  int64
	}
	done, seen := map[memberKey]*history.Served{}, map[request]bool{}
	unheard := map[memberKey]bool{} // of a request, which its client may send again
	for _, i := range f.executions(op) {
		r := &f.h.Served[i]
		key := memberKey{r.Server, r.Lock}
		id := request{key, r.Request}
		copied := seen[id]
		if seen[id] = copied || !refused(r); r.Request == 0 || copied || r.Before == nil || r.After == nil || sameKey(r.Before, r.After) {
			continue // a copy is not sent anew, though the first may have done nothing
		}
		b, again := done[key], unheard[key]
		done[key], unheard[key] = r, again || r.Got == 0
		if b == nil || again || r.At < from || b.Got == 0 || b.Got > r.Sent || gives(b) != gives(r) {
			continue // it may give back what it took before, and take that again
		}
		// What an attempt on a group gives back, since it did not get the others, may be gone by then.
		if gone := r.Lock != op.Lock && b.After.Count(op.Owner) > 0 && r.Before.Count(op.Owner) == 0; gone || f.givenBackBetween(op, b, r) {
			continue
		}
		if len(f.struckBy(op.Client, op.Lock, b.Got, r.Sent, hinders)) == 0 {
			return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("%s had the answer to its request at %s, and sent another one for the same call at %s",
				op.Client, Stamp(b.Got), Stamp(r.Sent))}, true
		}
	}
	return Cause{}, false
}

// givenBackBetween reports whether the client of a call gave back what one command of it had taken, before it sent another that took it
// again: an attempt that failed gives back what comes too late for it.
func (f *facts) givenBackBetween(op *history.Op, took, again *history.Served) bool {
	return !gives(took) && slices.ContainsFunc(f.h.Served, func(r history.Served) bool {
		return took.At < r.At && r.Client == op.Client && r.Owner == op.Owner && r.Server == took.Server && r.Lock == took.Lock &&
			r.Before != nil && r.After != nil && gives(&r) && f.firstSent(&r) <= again.Sent
	})
}

// firstSent is when a request was first sent: a script comes by its name first, which the server may not know.
func (f *facts) firstSent(r *history.Served) time.Duration {
	sent := r.Sent
	for i := range f.h.Served {
		if o := &f.h.Served[i]; r.Request > 0 && o.Request == r.Request && o.Server == r.Server {
			sent = min(sent, o.Sent)
		}
	}
	return sent
}

// firstCopy is the first row of the server log with the request that executed a call at a time; nil: that row is the first.
func (f *facts) firstCopy(op *history.Op, at time.Duration) *history.Served {
	i, found := f.log.execution(op, at)
	if !found {
		return nil
	}
	return f.copiedBy(&f.h.Served[i])
}

// copiedBy is the first row of the server log of which another is a copy; nil: it is none.
func (f *facts) copiedBy(is *history.Served) *history.Served {
	for j := range f.h.Served {
		switch r := &f.h.Served[j]; {
		case r == is || is.Request == 0:
			return nil
		case r.Request == is.Request && r.Server == is.Server && r.Lock == is.Lock && !refused(r):
			return r
		}
	}
	return nil
}

// perhapsSentAgain reports whether what executed a call may have been a copy of its request: that was copied or lost, its connection broke, or its
// client waited for so long that it sent it again.
func (f *facts) perhapsSentAgain(op *history.Op) bool {
	copied := []history.Effect{history.MessageCopied, history.MessageLost, history.ConnectionBroken}
	return op.Return-op.Call >= f.answerTime() || f.firstCopy(op, op.Executed) != nil || len(f.struckBy(op.Client, op.Lock, op.Call, max(op.Return, op.Executed), copied)) > 0
}

// refusedBefore is the call that was refused by a request of which a copy took what it asks for later, as an operation by itself; nil: it is no
// such operation.
func (f *facts) refusedBefore(op *history.Op) *history.Op {
	if !op.Aside || !op.Kind.Asks() {
		return nil
	}
	first := f.firstCopy(op, op.Executed)
	if first == nil {
		return nil
	}
	if call := f.op(first.Op); call != nil && !call.Aside && call.Kind.Asks() && call.Outcome == history.Busy && call.Return < op.Executed {
		return call
	}
	return nil
}

// learned reports whether the client of a call had an answer to it before a time.
func (f *facts) learned(op *history.Op, by time.Duration) bool {
	if !op.Uncertain() && op.Outcome != history.Failed && op.Return < by {
		return true
	}
	if first := f.firstCopy(op, by); first != nil && slices.ContainsFunc(f.h.Served, func(r history.Served) bool {
		return r.Request == first.Request && r.Server == first.Server && r.Got > 0 && r.Got <= by
	}) {
		return true // also to a copy that did nothing, and so belongs to no call
	}
	return slices.ContainsFunc(f.executions(op), func(i int) bool { got := f.h.Served[i].Got; return got > 0 && got <= by })
}

// executions lists the commands of a call on the lock's key that the server did not refuse, by index
// into History.Served. Those of what was done in the name of a call are that call's, on the same server.
func (f *facts) executions(op *history.Op) []int {
	id, server := op.ID, ""
	if call := f.inNameOf(op); call != nil {
		i, _ := f.log.execution(op, op.Executed)
		id, server = call.ID, f.h.Served[i].Server
	}
	return slices.DeleteFunc(slices.Clone(f.log.byOp[id]), func(i int) bool {
		s := &f.h.Served[i]
		return id != op.ID && s.Server != server || s.Lock != op.Lock && !f.log.groups[op.Lock].Has(s.Server, s.Lock) || refused(s)
	})
}

// maybeCopies reports whether one of these commands of a call may be a copy of another: they share a request, or the client sent one before
// it had the answer to the other. Who had it asks anew, as each waiter does.
func (f *facts) maybeCopies(executed []int) bool {
	for i, at := range executed {
		first := &f.h.Served[at]
		if slices.ContainsFunc(executed[i+1:], func(at int) bool {
			r := &f.h.Served[at]
			copied := first.Request > 0 && first.Request == r.Request
			return r.Server == first.Server && r.Lock == first.Lock && (copied || first.Got == 0 || first.Got > r.Sent)
		}) {
			return true
		}
	}
	return false
}

// foundNothing reports whether no copy of an unlock found anything that its owner held, and its caller was told that one did.
func (f *facts) foundNothing(op *history.Op, executed []int) bool {
	return op.Kind.Unlocks() && effective(op, op.Outcome) && op.Answer == history.NotHeld && !slices.ContainsFunc(executed, func(i int) bool {
		s := &f.h.Served[i]
		return s.Before == nil || s.Before.Count(op.Owner) > 0
	})
}

// refusedAtFirst reports whether the first copy of an unlock found nothing that its owner held, and no more than one of the others did.
func (f *facts) refusedAtFirst(op *history.Op, executed []int) bool {
	found := 0
	for i, at := range executed {
		switch s := &f.h.Served[at]; {
		case s.Before == nil:
			return false
		case s.Before.Count(op.Owner) == 0:
		case i == 0:
			return false
		default:
			found++
		}
	}
	return op.Kind.Unlocks() && len(executed) > 0 && found <= 1
}

// forgotten says of a call that took effect more than once that the server forgot in between what it
// remembered of the request. A lock that does not claim that it remembers any has lost nothing.
func (f *facts) forgotten(op *history.Op, c *Cause, struck func(fault *history.Fault) bool) {
	if !f.claims(contract.Idempotent, c) {
		return
	}
	i := f.memoryLost(c.executed.first, c.executed.again, struck)
	if i < 0 {
		return
	}
	f.forgot(i, c)
	c.Text = fmt.Sprintf("between the first effect of the %s of %s at %s and the last at %s %s: it forgot what it remembered of the request",
		op.Kind, op.Owner, Stamp(c.executed.first), Stamp(c.executed.again), f.describe(i))
}

// brokeUnder are the faults that broke a connection of a call's client while the call was under way; or, where the server executed a
// command of the call more than once, those by which the client may have sent it again.
func (f *facts) brokeUnder(l *lockFacts, op *history.Op) []int {
	if broke := f.struckBy(op.Client, l.name, op.Call, f.until(op), []history.Effect{history.ConnectionBroken}); len(broke) > 0 {
		return broke
	}
	if times, _ := f.sentOften(op); times > 1 {
		return f.struckBy(op.Client, l.name, op.Call, f.until(op), resends)
	}
	return nil
}

// sentOften is how often the server executed that command of a call which it executed most often, and when it did so last.
func (f *facts) sentOften(op *history.Op) (times int, last time.Duration) {
	seen := map[string]int{}
	for i := range f.h.Served { // also what says nothing of the key
		if s := &f.h.Served[i]; s.Op == op.ID && !refused(s) {
			request := withoutForm(s)
			seen[request]++
			times, last = max(times, seen[request]), max(last, s.At)
		}
	}
	return times, last
}

// maybeTwice is the cause that a call may have been sent again, under which these faults broke its connection. Nobody saw it executed.
func (f *facts) maybeTwice(op *history.Op, broke []int) Cause {
	return Cause{Class: contract.MaybeTwice, Faults: broke, Effects: f.effectsOf(broke),
		executed: executions{call: op.Kind, client: op.Client, first: op.Call, again: f.until(op)},
		Text: fmt.Sprintf("the %s of %s was under way from %s to %s, when %s: if it had taken effect already, and was sent again, it took effect twice",
			op.Kind, op.Owner, Stamp(op.Call), Stamp(f.until(op)), f.describeAll(broke))}
}

// releasedTwice is an unlock of a hold's owner that gave the lock, or one member of it, back twice while the hold lasted or its
// owner believed in it, and when it did so again; or that did so by a copy when it had returned. nil: there is none.
func (f *facts) releasedTwice(l *lockFacts, t *tenure) (*history.Op, time.Duration) {
	type effect struct {
		call int64
		key  memberKey
	}
	g, seen, from := f.log.groups[l.name], map[effect]bool{}, t.from
	if b := l.owner(t.owner).belief(t.to); b != nil { // in which another hold may have ended so
		from = min(from, b.acquire.Call)
	}
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Op == 0 || r.Owner != t.owner || r.At < from || r.At > t.to || r.Before == nil || r.After == nil || !gives(r) ||
			r.Lock != l.name && !g.Has(r.Server, r.Lock) {
			continue
		}
		e := effect{r.Op, memberKey{r.Server, r.Lock}}
		call := f.op(r.Op)
		if call == nil || !call.Kind.Unlocks() {
			continue
		}
		if copied := !call.Uncertain() && call.Return < r.At; seen[e] || copied {
			return call, r.At
		}
		seen[e] = true
	}
	return nil, 0
}
