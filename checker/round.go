package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// heldUp are the effects that only hold messages up: who has none under way is not kept from anything.
var heldUp = []history.Effect{history.MessageLate, history.ServerSlow, history.MessageCopied}

// loses are the effects under which what was sent may never arrive.
var loses = []history.Effect{history.MessageLost, history.ConnectionBroken}

// begunLate says of a renewal that it was begun later than was due, for which no fault is a reason: in [from, to] the lease was set
// by one renewal and not by another. A fault that made the first one late held the client up until the answer came, and no
// longer. The next is due a period after the answer, or after the beginning, if the lock claims that; the first of a hold, after its grant.
func (f *facts) begunLate(l *lockFacts, t *tenure, from, to time.Duration) (text string, late bool) {
	before := f.renewedAt(t, from)
	if before == nil || len(f.h.Served) == 0 {
		return "", false
	}
	since, word := before.Return, "the one before was answered"
	if f.h.Can(string(contract.Steady)) {
		since, word = before.Call, "the one before was begun"
	}
	if t.grant.Return > before.Call { // that was begun for a hold before
		since, word = max(before.Return, t.grant.Return), "the one before was for an earlier hold, and answered"
		if f.h.Can(string(contract.Steady)) {
			since, word = t.grant.Return, "it was granted"
		}
	}
	due := max(since+f.renewEvery(), before.Return)
	next := to
	var begun *history.Op
	for _, op := range l.owner(t.owner).called(before.Call+1, to) {
		if op.Kind.Renews() && op.Call < next {
			next, begun = op.Call, op
		}
	}
	if next <= due+f.renewalSlack() || begun == nil || !f.connected(begun, due) || f.connecting(t.client, before.Return, next) {
		return "", false
	}
	held := func(i int) bool {
		return slices.ContainsFunc(f.h.Faults[i].Effects, func(e history.Effect) bool { return !slices.Contains(heldUp, e) })
	}
	others := f.untilRenewed(t.client, "", before.Call, next)
	lost := func(i int) bool { // what was held up may be lost in the end, so that nobody saw it
		fault := &f.h.Faults[i]
		return slices.Contains(fault.Effects, history.MessageLate) && len(f.struckBy(t.client, "", fault.From, cmp.Or(fault.To, f.end), loses)) > 0
	}
	if slices.ContainsFunc(faultsOf(others), held) || slices.ContainsFunc(faultsOf(others), lost) || f.renewing(t.client, before.Return+f.latency(), next) {
		return "", false
	}
	return fmt.Sprintf("; %s at %s, and the next begun at %s", word, Stamp(since), Stamp(next)), true
}

// connected reports whether a call was sent on a connection that its client had used by a time. A call that has to connect first may
// have been begun long before it was sent.
func (f *facts) connected(op *history.Op, by time.Duration) bool {
	i, found := f.log.execution(op, op.Executed)
	return found && slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
		return s.Client == op.Client && s.Conn == f.h.Served[i].Conn && s.Got > 0 && s.Got <= by
	})
}

// connecting reports whether a client opened a connection in [from, to] of which it heard nothing by then: what it had begun, and
// would have sent on it, nobody sees.
func (f *facts) connecting(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
		return s.Client == client && s.Step == history.StepSession && s.Sent >= from && s.Sent < to && (s.Got == 0 || s.Got >= to)
	})
}

// renewedAt is the renewal that set a hold's lease at a time, and whose client was told so; nil: none did.
func (f *facts) renewedAt(t *tenure, at time.Duration) *history.Op {
	for _, s := range t.sets {
		if op := s.op; s.at == at && op != nil && op.Kind.Renews() && !op.Aside && !op.Pending() && op.Outcome == history.Renewed {
			return op
		}
	}
	return nil
}

// renewing reports whether a client had a renewal under way in [from, to] that it had begun before. It renews what it holds in
// rounds, and the next begins when the last answer of one is there. What it asks by itself may be what a renewal asks first.
func (f *facts) renewing(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
		own := s.Step == history.StepRenew || s.Step == history.StepQuery && s.Op == 0
		return s.Client == client && own && s.Sent < to && (s.Got == 0 && s.At > from-f.answerTime() || s.Got > from)
	})
}
