package evidence

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// answersAlone is a history of a lock whose keys nobody can read: what its calls were told is all that is known, and
// leases end without an event.
func answersAlone(h *history.History) *history.History {
	told, holds := *h, map[[2]string]*ownCount{}
	told.Header.Expiry = history.Implied
	told.Ops = slices.DeleteFunc(slices.Clone(h.Ops), func(op history.Op) bool { return op.Aside && op.Kind.OnLock() }) // concluded before
	// What befell a key may be told of the key and of its server.
	seen := map[history.Event]bool{}
	told.Events = slices.DeleteFunc(slices.Clone(h.Events), func(e history.Event) bool {
		once := history.Event{Kind: e.Kind, Lock: e.Lock, At: e.At, Client: e.Client, Owner: e.Owner}
		again := seen[once]
		seen[once] = true
		return again || e.Kind == history.Expire || e.Kind == history.ForceTTL || e.Kind == history.Restore && e.Owner != history.AnotherProgram
	})
	copies, again := map[int64]int{}, map[int64]time.Duration{} // of requests; when calls were executed again
	var ghosts []history.Op                                     // acquires that copies may have been, and what took them back
	type asked struct {
		call         int64
		server, text string // a call may ask several servers the same
	}
	unheard := map[asked]string{}         // what was asked last without an answer, and may be asked once more: on which connection
	executed := map[int64]time.Duration{} // calls, when that was last
	behind := map[string]time.Duration{}  // clients, when something was last executed that they sent by no call
	for _, r := range h.Served {
		if r.Step == history.StepSession {
			continue // it asks nothing of a lock
		}
		if executed[r.Op] = endOf(&r); r.Op == 0 {
			behind[r.Client] = endOf(&r)
		}
		copies[r.Request]++
		as := asked{r.Op, r.Server, r.Text}
		_, asksAgain := unheard[as]
		copied := copies[r.Request] > 1 && r.Request != 0 || asksAgain
		switch {
		case r.Got == 0:
			unheard[as] = r.Conn
		default:
			delete(unheard, as)
			maps.DeleteFunc(unheard, func(_ asked, conn string) bool { return conn == r.Conn && conn != "" }) // answers come in order: one that blocks has been answered before
		}
		if !copied || r.Op == 0 {
			continue
		}
		i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.ID == r.Op })
		if i >= 0 && remembers(h, &h.Ops[i], endOf(&r)) {
			continue
		}
		if again[r.Op] = endOf(&r); i >= 0 && (h.Ops[i].Kind.Acquires() || h.Ops[i].Kind.Unlocks()) {
			ghost := h.Ops[i]
			ghost.Aside, ghost.Return, ghost.Cancel, ghost.Wait = true, endOf(&r), 0, 0
			ghost.Outcome, ghost.Evidence, ghost.Until = history.Unknown, history.Sent, endOf(&r)
			if ghost.Kind.Unlocks() {
				ghost.Lease = 0
			}
			ghosts = append(ghosts, ghost)
		}
	}
	last := int64(0)
	for i := range told.Ops {
		op := &told.Ops[i]
		last = max(last, op.ID)
		if op.Kind.OnLock() && op.Evidence != history.NotSent {
			op.Evidence = history.NoEvidence
		}
		if at := again[op.ID]; at > 0 && op.Outcome != history.Acquired && op.Kind.OnLock() && !op.Pending() {
			// Its answer is that of one copy, and it is not known what the others did. Its caller was told no error.
			op.Outcome, op.Evidence, op.Until, op.Error = history.Unknown, history.Sent, at, ""
		}
		if op.Kind.Unlocks() && !h.Can(string(contract.SetsLease)) {
			op.Asked, op.Lease = cmp.Or(op.Asked, op.Lease), 0
		}
		at := executed[op.ID]
		if (op.Evidence == history.NotSent || at > op.Return) && op.Kind.Gives() {
			at = max(at, behind[op.Client]) // its client may have given it back behind its caller's back
		}
		if op.Uncertain() && op.Kind.OnLock() && at > op.Return && !op.Pending() {
			op.Evidence, op.Until = history.Sent, at // its request was late
		}
		if back := max(executed[op.ID], behind[op.Client]); h.Can(string(contract.TakesBack)) && op.Kind.Asks() && op.Uncertain() && !op.Pending() && back > op.Return {
			ghosts = append(ghosts, undone(*op, back))
		}
		of := [2]string{op.Lock, op.Owner}
		if holds[of] == nil {
			holds[of] = &ownCount{}
		}
		if holds[of].call(op); op.Kind.Forces() {
			for key, c := range holds {
				c.unsure = c.unsure || key[0] == op.Lock && c.holds > 0
			}
		}
	}
	for i := range ghosts {
		last++
		ghosts[i].ID = last
	}
	told.Ops = append(told.Ops, ghosts...)
	slices.SortStableFunc(told.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	return &told
}

// ownCount is how often an owner holds a lock, as its own calls tell, if an unlock does not say what is left.
type ownCount struct {
	holds  int
	ends   time.Duration // the lease of what it holds may be over from then on
	unsure bool          // what the calls did is not known
}

// call counts a call, and gives an unlock that does not tell the outcome that it has by the count. What is not known it leaves.
func (c *ownCount) call(op *history.Op) {
	over := op.Kind.Unlocks() && (op.Outcome == history.Unlocked || op.Outcome == history.OK)
	if c.holds > 0 && c.ends > 0 && op.Kind.OnLock() && op.Return >= c.ends {
		c.unsure = true
	}
	switch {
	case op.Outcome == history.NotHeld, op.Kind.Acquires() && op.Outcome == history.Busy:
		*c = ownCount{}
	case op.Uncertain() && op.Evidence != history.NotSent && (op.Kind.Acquires() || op.Kind.Unlocks()):
		c.unsure = true
	case op.Kind.Acquires() && op.Outcome == history.Acquired:
		if c.holds++; op.Lease > 0 && !op.Watchdog && (c.ends == 0 || op.Call+op.Lease < c.ends) {
			c.ends = op.Call + op.Lease
		}
	case over && (c.unsure || c.holds == 0 && op.Outcome == history.OK): // it may have given back nothing
	case over && c.holds > 1:
		op.Outcome = history.Decremented
		c.holds--
	case over:
		op.Outcome = history.Released
		*c = ownCount{}
	case op.Kind.Unlocks() && op.Outcome == history.Decremented:
		c.holds = max(c.holds-1, 1)
	case op.Kind.Unlocks() && op.Outcome == history.Released:
		*c = ownCount{}
	}
}

// remembers reports whether a lock claims that a copy of a call's request does nothing at a time, and gets the answer to the first.
func remembers(h *history.History, op *history.Op, at time.Duration) bool {
	return slices.ContainsFunc(h.Header.Idempotent, func(i history.Idempotence) bool {
		most := h.Header.Remembered(i, op.Client)
		return slices.Contains(i.Calls, op.Kind) && !i.UntilAnswered && !i.Effective && (most == 0 || at-op.Call < most)
	})
}

// undone is what a client may have done by itself, by a time, of a call that took something without its caller being told: it gave that back.
func undone(op history.Op, by time.Duration) history.Op {
	switch op.Kind {
	case history.AcquirePermits, history.TryAcquirePermits:
		op.Kind = history.ReleasePermits
	case history.AcquirePermit, history.TryAcquirePermit:
		op.Kind = history.ReleasePermit
	default:
		op.Kind = history.Unlock.As(op.Kind.Object(), op.Owner)
	}
	op.Aside, op.Call, op.Return, op.Cancel, op.Wait, op.Lease, op.Asked = true, op.Return, by, 0, 0, 0, 0
	op.Outcome, op.Evidence, op.Until, op.Error = history.Unknown, history.Sent, by, ""
	return op
}
