package checker

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// A client library sends a call again whose connection broke, and a lock that does not know a copy for one does it
// twice. Where nobody saw the server that shows only later, in an answer that cannot be explained. If it is
// documented of a lock it is a known weakness; but it explains no more than it can: the history is judged again with
// calls that may have taken effect twice, and so on until nothing else is wrong, or something is that no such
// call explains. Without that one weakness would hide all that comes after.

// copied is a call whose connection broke while it was under way.
type copied struct {
	op     *history.Op
	faults []int // that broke it
}

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
			changes := op.Kind.Acquires() || op.Kind == history.Unlock || op.Kind == history.ForceUnlock
			if faults := f.strikes(op.Client, l.name, op.Call, op.Return, breaksConnections); changes && len(faults) > 0 {
				calls = append(calls, copied{op, faults})
			}
		}
	}
	if len(calls) == 0 {
		return false
	}
	first := calls[0]
	for _, c := range calls {
		if where := f.known(c); where != "" {
			if v.copied = append(v.copied, c); v.Cause.Known == "" {
				first, v.Cause.Known = c, where
			}
		}
	}
	op := first.op
	if !slices.Contains(v.Ops, op.ID) {
		v.Ops = append(v.Ops, op.ID)
	}
	v.Cause = Cause{Class: DoubleExecution, Known: v.Cause.Known, Faults: first.faults,
		Text: fmt.Sprintf("the %s of %s was under way from %s to %s, when %s: if it had taken effect already, and was sent again, it took effect twice",
			op.Kind, op.Owner, Stamp(op.Call), Stamp(op.Return), f.describeAll(first.faults))}
	return true
}

// known is where it is documented that a call takes effect twice.
func (f *facts) known(c copied) string {
	if f.options.Known == nil {
		return ""
	}
	faults := make([]history.Fault, len(c.faults))
	for i, n := range c.faults {
		faults[i] = f.h.Faults[n]
	}
	return f.options.Known(*c.op, faults)
}

// weigh goes on where the violation of object that a window shows is a known weakness. What it adds
// to the result are the violations that are left.
func (f *facts) weigh(ctx context.Context, r Result) Result {
	left, h := r, f.h
	copies := map[int64]int{}
	for left.Status == Broken {
		if len(left.Violations) != 1 || left.Violations[0].Cause.Known == "" {
			break
		}
		more := h
		for _, c := range left.Violations[0].copied {
			if copies[c.op.ID] < len(c.faults) { // with each connection that broke it was sent once more
				copies[c.op.ID]++
				more = twice(more, c.op.ID)
			}
		}
		if more == h {
			r.Violations[len(r.Violations)-1].Cause.Known = ""
			break
		}
		h = more
		if left = judgeObject(ctx, collect(h, f.options)); left.Status == Broken {
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
	if v.Cause.Known != "" {
		return 1
	}
	return 0
}

// twice is a history in which a call may have taken effect once more, at any time until it returned. An unlock
// that leaves a hold then, of which its caller knew nothing, sets the lease that the caller had asked for last.
func twice(h *history.History, call int64) *history.History {
	all := *h
	all.Ops = slices.Clone(h.Ops)
	i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.ID == call })
	again := history.Op{Client: h.Ops[i].Client, Owner: h.Ops[i].Owner, Lock: h.Ops[i].Lock, Kind: h.Ops[i].Kind, Aside: true,
		Lease: h.Ops[i].Lease, Watchdog: h.Ops[i].Watchdog, Call: h.Ops[i].Call, Evidence: history.Sent, Until: h.Ops[i].Return}
	var last *history.Op // acquire of its owner
	for i := range all.Ops {
		op := &all.Ops[i]
		again.ID = max(again.ID, op.ID+1)
		switch {
		case op.Owner != again.Owner || op.Lock != again.Lock || op.Aside:
		case op.Kind.Acquires() && op.Outcome == history.Acquired:
			last = op
		case op.Kind == history.Unlock && op.Lease == 0 && last != nil:
			if op.Outcome == history.Decremented {
				op.Lease, op.Watchdog = last.Lease, last.Watchdog
			}
			if op.ID == call {
				again.Lease, again.Watchdog = last.Lease, last.Watchdog
			}
		}
	}
	all.Ops = append(all.Ops, again)
	return &all
}
