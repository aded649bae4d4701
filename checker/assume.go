package checker

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// assumptions checks what every checker takes for granted, and says what is not so. A history
// that fails here is a fault of whoever recorded it, and judging it would mean nothing.
func assumptions(h *history.History) []string {
	var wrong []string
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }

	ids := make(map[int64]struct{}, len(h.Ops))
	known := func(id int64) bool {
		before := len(ids)
		ids[id] = struct{}{}
		return len(ids) == before
	}
	calls := map[string][]*history.Op{}
	for i := range h.Ops {
		op := &h.Ops[i]
		switch {
		case known(op.ID):
			refuse("operation %d: another operation has the same id", op.ID)
		case !op.Kind.Valid():
			refuse("operation %d: unknown operation %q", op.ID, op.Kind)
		case op.Token < 0:
			refuse("operation %d: token %d, less than 0", op.ID, op.Token)
		case max(op.Call, op.Return, op.Executed, op.Until) > history.MaxTime || max(op.Lease, op.Within) > history.MaxSpan:
			refuse("operation %d: a time beyond %d ns, or a lease beyond %d ns", op.ID, history.MaxTime, history.MaxSpan)
		case op.OutOfBounds():
			refuse("operation %d: %s of %d", op.ID, op.Kind, op.Value)
		case op.Owner == "" || op.Lock == "":
			refuse("operation %d: %s without an owner or a lock", op.ID, op.Kind)
		case op.Kind.Object() == history.ARWLock && op.Kind.OnWriteLock() != history.Writes(op.Owner):
			refuse("operation %d: %s by %s; the owner of a write lock, and of no read lock, has a name that ends in %q", op.ID, op.Kind, op.Owner, history.WriterSuffix)
		case op.Return != 0 && op.Return < op.Call:
			refuse("operation %d: returned at %s, before it was called at %s", op.ID, Stamp(op.Return), Stamp(op.Call))
		case op.Return != 0 && !op.Kind.Allows(op.Outcome):
			refuse("operation %d: %s cannot end %q", op.ID, op.Kind, op.Outcome)
		case op.Evidence == history.Executed && op.Executed < op.Call:
			refuse("operation %d: executed at %s, before it was called at %s", op.ID, Stamp(op.Executed), Stamp(op.Call))
		case op.Evidence == history.Executed && op.Kind.OnLock() && (op.Answer == history.Unknown || !op.Kind.Allows(op.Answer)):
			refuse("operation %d: the server cannot answer %s with %q", op.ID, op.Kind, op.Answer)
		}
		if !op.Kind.Renews() && !op.Aside { // a watchdog works while its owner does
			owner := op.Owner
			if op.Kind.Object() == history.ARWLock {
				owner = history.ReaderOf(owner)
			}
			calls[owner] = append(calls[owner], op)
		}
	}

	if what := h.Mixed(); what != "" {
		refuse("%s", what)
	}
	owners := make([]string, 0, len(calls))
	for o := range calls {
		owners = append(owners, o)
	}
	sort.Strings(owners)
	for _, o := range owners {
		ops := calls[o]
		slices.SortStableFunc(ops, byCallOf)
		for i := 1; i < len(ops); i++ {
			if before := ops[i-1]; before.Pending() || before.Return > ops[i].Call {
				refuse("operation %d: %s called it while its operation %d was not finished", ops[i].ID, o, before.ID)
				break
			}
		}
	}
	var last time.Duration
	for _, s := range h.Served {
		if s.At < last {
			refuse("the server log runs backwards: a command of %s at %s stands after %s", s.Client, Stamp(s.At), Stamp(last))
			break
		}
		last = s.At
	}
	return wrong
}
