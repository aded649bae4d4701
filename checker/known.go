package checker

import (
	"context"
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A client library sends a call again whose connection broke, and a lock that does not know a copy for one does it
// twice. Where nobody saw the server that shows only later, in an answer that cannot be explained. A lock that
// does not claim to be idempotent may do so; but that explains no more than it can: the history is judged again with
// calls that may have taken effect twice, and so on until nothing else is wrong, or something is that no such
// call explains. Without that one such call would hide all that comes after.

// sentAgain looks for calls that may have made what owners held when a violation was seen another thing than they
// were told, by being sent again. Of an owner that is one since the last that gave its hold back. It
// reports whether there is one, which then is the cause.
func (f *facts) sentAgain(l *lockFacts, owners []string, v *Violation) bool {
	var calls []copied
	for _, owner := range owners {
		for _, op := range slices.Backward(l.owner(owner).called(0, v.To)) {
			if op.Pending() || op.Aside || op.Evidence != history.NoEvidence {
				continue
			}
			if op.Return < v.To && (op.Outcome == history.Released || op.Outcome == history.NotHeld) {
				break
			}
			changes := op.Kind.Acquires() || op.Kind.Unlocks() || op.Kind.Forces()
			if faults := f.brokeUnder(l, op); changes && len(faults) > 0 {
				calls = append(calls, copied{op, faults})
			}
		}
	}
	if len(calls) == 0 {
		return false
	}
	first := calls[0]
	for _, c := range calls {
		if !f.claims(contract.Idempotent, &Cause{executed: executions{call: c.op.Kind, client: c.op.Client, first: c.op.Call, again: c.op.Return}}) {
			if v.copied = append(v.copied, c); len(v.copied) == 1 {
				first = c
			}
		}
	}
	op := first.op
	if !slices.Contains(v.Ops, op.ID) {
		v.Ops = append(v.Ops, op.ID)
	}
	v.Cause = f.maybeTwice(op, first.faults)
	return true
}

// weigh goes on where the violation of object that a window shows may come of a call that was sent again. What
// it adds to the result are the violations that are left.
func (f *facts) weigh(ctx context.Context, r Result) Result {
	left := r
	w := weighing{f: f, h: f.h, copies: map[int64]int{}}
	for left.Status == Broken && len(left.Violations) == 1 && len(left.Violations[0].copied) > 0 {
		more, explained := w.explain(ctx, &left.Violations[0])
		if !explained {
			last := &r.Violations[len(r.Violations)-1]
			last.Cause.Class, last.Cause.Effects = contract.Unexplained, nil
			last.Ruling = f.ruling(contract.Object, last)
			break
		}
		if left = more; left.Status == Broken {
			r.Violations = append(r.Violations, left.Violations...)
		}
	}
	if left.Status == Undecided {
		r.Status, r.Summary = Undecided, left.Summary
	}
	// What counts comes first.
	slices.SortStableFunc(r.Violations, func(a, b Violation) int { return rankOf(a) - rankOf(b) })
	return r
}

func rankOf(v Violation) int {
	if v.Ruling.Kind == Defect {
		return 0
	}
	return 1
}

// weighing is a history in which some calls may have taken effect more than once.
type weighing struct {
	f      *facts
	h      *history.History
	copies map[int64]int // of the calls
}

// explain looks for a call that explains a violation by having taken effect twice: with it nothing is wrong, or
// something later is, which is what it returns. Only if none does by itself, all of them may have. The fewer, the
// sooner the search comes to its end.
func (w *weighing) explain(ctx context.Context, v *Violation) (best Result, explained bool) {
	judged := func(h *history.History) (Result, bool) {
		f := collect(h, w.f.options)
		r := judgeObject(ctx, f)
		return r, r.Status == Holds || r.Status == Broken && r.Violations[0].To > v.To
	}
	found := copied{}
	all := w.h
	for _, c := range v.copied {
		if w.copies[c.op.ID] >= len(c.faults) { // with each connection that broke it was sent once more
			continue
		}
		all = twice(all, c.op.ID)
		if r, good := judged(twice(w.h, c.op.ID)); good && (found.op == nil || r.Status == Holds || r.Violations[0].To > best.Violations[0].To) {
			if best, found = r, c; r.Status == Holds {
				break
			}
		}
	}
	switch {
	case found.op != nil:
		w.copies[found.op.ID]++
		w.h = twice(w.h, found.op.ID)
		return best, true
	case all == w.h:
		return best, false
	}
	for _, c := range v.copied {
		w.copies[c.op.ID] = min(w.copies[c.op.ID]+1, len(c.faults))
	}
	w.h = all
	best, _ = judged(all)
	return best, true
}

// twice is a history in which a call may have taken effect once more, at any time until it returned. An unlock
// that leaves a hold then, of which its caller knew nothing, sets the lease that is asked for where none is, which nobody
// renews.
func twice(h *history.History, call int64) *history.History {
	all := *h
	all.Ops = slices.Clone(h.Ops)
	op := h.Ops[slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.ID == call })]
	again := history.Op{Client: op.Client, Owner: op.Owner, Lock: op.Lock, Kind: op.Kind, Aside: true,
		Lease: op.Lease, Watchdog: op.Watchdog, Call: op.Call, Evidence: history.Sent, Until: op.Return}
	lease := h.Header.WatchdogTimeout
	for i := range all.Ops {
		op := &all.Ops[i]
		again.ID = max(again.ID, op.ID+1)
		switch {
		case op.Owner != again.Owner || op.Lock != again.Lock || op.Aside:
		case op.Kind.Acquires() && op.Outcome == history.Acquired && h.Header.WatchdogTimeout == 0:
			lease = op.Lease
		case op.Kind.Unlocks() && op.Lease == 0:
			if op.Outcome == history.Decremented {
				op.Lease = lease
			}
			if op.ID == call {
				again.Lease = lease
			}
		}
	}
	all.Ops = append(all.Ops, again)
	return &all
}
