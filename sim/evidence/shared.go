package evidence

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// shared books a command to the key of a read-write lock: to the call that sent it, or to its client's background. It looks at
// each hold by itself: what the server did to the hold of the call's owner is its answer.
func (c *conclusion) shared(t touch, call int64, before history.KeyState) {
	l, r := t.lock, t.row
	if r.Refused && !changed(r) {
		return // an error, such as NOSCRIPT, and no effect: it was not executed
	}
	if call != 0 && c.op(call).Lock == l.name {
		op := c.op(call)
		if op.Kind.Forces() {
			if c.testifyOf(call, l, halfOf(before, op.Owner), halfOf(l.last, op.Owner), true) {
				c.executed[r] = true
			}
			return
		}
		free := !slices.ContainsFunc(before.Holdings, func(h history.Holding) bool { return c.inTheWay(h.Owner, op.Owner) })
		if own := before.Of(op.Owner); c.testifyOf(call, l, own, l.last.Of(op.Owner), free || own.Total() > 0) {
			c.executed[r] = true
		} else if changed(r) {
			c.unbiddenOf(t, own, l.last.Of(op.Owner))
		}
		if known := c.byID[call]; history.Writes(op.Owner) && known.Outcome != history.Busy && known.Answer == history.Busy {
			at, upgrades := c.upgrades[call]
			if !upgrades && before.Count(history.ReaderOf(op.Owner)) > 0 && before.Count(op.Owner) == 0 {
				at, upgrades = r.At, true
				c.upgrades[call] = at
			}
			if upgrades { // the key does not show why it was not granted, and a copy gets the first one's answer
				known.Answer, known.Executed = history.Rejected, at
			}
		}
		return
	}
	first := r.Owner
	for _, r.Owner = range t.owners {
		of := t
		of.owners = []string{r.Owner}
		c.unbiddenOf(of, before.Of(r.Owner), l.last.Of(r.Owner))
	}
	r.Owner = first
}

// halfOf is what of a state is of readers, or of the writer, as an owner's name is that of the one or the other.
func halfOf(s history.KeyState, owner string) history.KeyState {
	s.Holdings = slices.DeleteFunc(slices.Clone(s.Holdings), func(h history.Holding) bool { return history.Writes(h.Owner) != history.Writes(owner) })
	return s
}

// inTheWay reports whether a hold of one owner of a read-write lock keeps another from taking it. Who reads is in its own way as
// a writer, unless the lock upgrades.
func (c *conclusion) inTheWay(holder, asks string) bool {
	if history.ReaderOf(holder) == history.ReaderOf(asks) {
		return history.Writes(asks) && !history.Writes(holder) && !c.h.Header.Layout.Upgrades
	}
	return history.Writes(holder) || history.Writes(asks)
}
