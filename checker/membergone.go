package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A memberLoss is the end of an owner's hold of a member of a group, while it took the others.
type memberLoss struct {
	key memberKey
	at  time.Duration
	row *history.Served // what did it, or shortened its lease; nil: its lease ended, or it was done from outside
}

// memberGone says why a group was not whole, or no longer, when its owner's last member was granted: an earlier one was gone again. false:
// it is not such a hold.
func (f *facts) memberGone(l *lockFacts, t *tenure) (Cause, bool) {
	concluded := t.endEvent != nil && t.endEvent.Concluded && t.endEvent.Kind == history.Delete
	itself := t.endOp != nil && t.endOp.Aside && t.endOp.Owner == t.owner   // the call gave what was left of an earlier hold back
	ended := t.endEvent != nil && t.endEvent.Kind == history.Expire         // or the lease of that was over
	granted := t.grant.Outcome == history.Acquired && t.to < t.grant.Return // its caller was told later that it has the group
	if !concluded && !((itself || ended) && granted) || !f.byMembers(l) {
		return Cause{}, false
	}
	loss := f.lossOf(l, t)
	if loss == nil {
		return Cause{}, false
	}
	what := fmt.Sprintf("the owner %s lost the member %s of %s at %s", t.owner, loss.key, l.name, Stamp(loss.at))
	if loss.row == nil {
		return f.memberEnded(t, loss, what), true
	}
	call := f.op(loss.row.Op)
	switch {
	case call == nil && f.givenFor(l, t.owner, loss.row, t.grant.Call) != nil:
		return f.givenLate(l, t.owner, loss.row, t.grant.Call, what), true
	case call == nil:
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("%s. %s gave it back, by no call", what, loss.row.Client)}, true
	case call.Kind.Forces():
		return Cause{Class: contract.Forced, Effects: []history.Effect{history.ForcedFree}, Faults: f.struckAt(call.Call, l.name, history.ForcedFree),
			Text: fmt.Sprintf("%s. %s had forced it free", what, call.Owner)}, true
	case call.Owner != t.owner:
		return Cause{Class: contract.ForeignRelease, Text: fmt.Sprintf("%s. The %s of %s ended its hold", what, call.Kind, call.Owner)}, true
	case call.Call < t.grant.Call && !call.Pending() && call.Return < loss.at && (call.Uncertain() || call.Aside):
		return f.untold(l, call, loss.at, fmt.Sprintf("%s. The %s of %s, which ended at %s, took effect then", what, call.Kind, call.Owner, Stamp(call.Return))), true
	case call.Call < t.grant.Call && !call.Pending() && call.Return < loss.at:
		return f.twice(l, call, loss.at, fmt.Sprintf("%s. The %s of %s, which had returned at %s, took effect once more then", what, call.Kind, call.Owner, Stamp(call.Return))), true
	case call.Aside && call.Kind.Unlocks() && call.Call >= t.grant.Call: // an earlier attempt of the same call was given back in the background
		return f.untold(l, t.grant, loss.at, fmt.Sprintf("%s. What gave an earlier attempt of its %s back, in the background, was executed then", what, t.grant.Kind)), true
	}
	return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("%s. The %s of %s gave it back", what, call.Kind, call.Owner)}, true
}

// givenFor is the call of an owner, over before a time, for which its client gave a member back by a request of the background that it
// sent before that time. What the command takes away is of a later call. nil: it is no such command.
func (f *facts) givenFor(l *lockFacts, owner string, r *history.Served, before time.Duration) *history.Op {
	if r.Op != 0 || r.Request == 0 || r.Before.Count(owner) <= r.After.Count(owner) {
		return nil
	}
	if f.firstSent(r) >= before {
		return nil
	}
	for _, op := range slices.Backward(l.owner(owner).called(0, before)) {
		if op.Kind.Acquires() && !op.Aside && !op.Pending() && op.Return <= before && (op.Uncertain() || op.Outcome == history.Failed) {
			return op
		}
	}
	return nil
}

// unlockedLate is the first command by which an unlock of the same owner, of whose outcome that had not learned, took a member away that a
// call had taken. nil: there is none.
func (f *facts) unlockedLate(c *composition, op *history.Op) *history.Served {
	for _, key := range c.members {
		m := f.view.members[key]
		for _, i := range m.rows {
			r := &f.h.Served[i]
			by := f.op(r.Op)
			if op.Call < r.At && r.At <= op.Return && r.Before.Count(op.Owner) > r.After.Count(op.Owner) && by != nil && by.Owner == op.Owner && by.Kind.Unlocks() &&
				by.Uncertain() && !by.Pending() && by.Return <= op.Call {
				return r
			}
		}
	}
	return nil
}

// givenLate is the cause that such a command came when its owner had taken the member again.
func (f *facts) givenLate(l *lockFacts, owner string, r *history.Served, before time.Duration, what string) Cause {
	call := f.givenFor(l, owner, r, before)
	return f.untold(l, call, r.At, fmt.Sprintf("%s. The %s of %s ended %s at %s, and what gave its member back in the background was executed then",
		what, call.Kind, call.Owner, call.Outcome, Stamp(call.Return)))
}

// lostBeside is the cause that an owner lost a hold of a lock before it took a group with the same key, and was not told. So its unlock of that lock gave
// back what it had for the group. false: that is not so.
func (f *facts) lostBeside(group *lockFacts, t *tenure, unlock *history.Op) (Cause, bool) {
	if !f.byMembers(group) || unlock.Owner != t.owner || unlock.Lock == group.name {
		return Cause{}, false
	}
	for _, l := range f.locks {
		if l.name != unlock.Lock {
			continue
		}
		for _, u := range l.owner(t.owner).tenures {
			if u.to != t.to || u.endOp != unlock {
				continue
			}
			if before := f.lostUnder(l, u); before != nil {
				c := f.over(l, before)
				c.Text += fmt.Sprintf("; %s was not told, and its %s of %s gave back at %s what it had of it for %s", t.owner, unlock.Kind, l.name, Stamp(t.to), group.name)
				return c, true
			}
		}
	}
	return Cause{}, false
}

// lostForEarlier is the command by which a call lost a member since its client gave back what an earlier call of the owner, which was not told, had
// taken: that was lost by then, at another time and by no command. nil: there is none.
func (f *facts) lostForEarlier(l *lockFacts, c *composition, op *history.Op) (gave *history.Served, by *history.Op, loss *memberLoss) {
	for _, key := range c.members {
		m := f.view.members[key]
		for _, ch := range m.changes(f, op, op.Call, op.Return) {
			if ch.holds >= 0 || ch.row.Op != 0 || ch.row.Request == 0 {
				continue
			}
			for _, earlier := range slices.Backward(l.owner(op.Owner).called(0, op.Call-1)) {
				if !earlier.Kind.Acquires() || earlier.Aside || !earlier.Uncertain() && earlier.Outcome != history.Failed {
					continue
				}
				for i := 1; i < len(m.states); i++ {
					was, is := &m.states[i-1], &m.states[i]
					if earlier.Call < is.from && is.from < ch.row.At && was.Count(op.Owner) > is.Count(op.Owner) && f.takes(m, op.Owner, is.from) == nil {
						return ch.row, earlier, &memberLoss{key: key, at: is.from}
					}
				}
			}
		}
	}
	return nil, nil, nil
}

// memberEnded says why a member was gone that no command took away.
func (f *facts) memberEnded(t *tenure, loss *memberLoss, what string) Cause {
	lock := loss.key.key
	if faults := f.struckBy("", lock, t.grant.Call, loss.at, touches); len(faults) > 0 {
		return Cause{Class: contract.KeyLost, Effects: f.effectsOf(faults), Faults: faults, Text: what + " by a fault: " + f.describeAll(faults)}
	}
	for _, e := range []history.Effect{history.ServerForgot, history.ClockMoved} {
		if faults := f.struckBy("", lock, t.grant.Call, loss.at, []history.Effect{e}); len(faults) > 0 {
			c := Cause{Class: contract.ServerLost, Effects: []history.Effect{e}, Faults: faults, Text: what + " by a fault: " + f.describeAll(faults)}
			if e == history.ClockMoved {
				c.Class = contract.ClockJumped
			}
			return c
		}
	}
	what += ", when its lease was over"
	if late := f.struckBy(t.client, lock, t.grant.Call, loss.at, hinders); len(late) > 0 {
		return f.blame(what+", since "+f.describeAll(late), late)
	}
	if t.grant.Watchdog {
		return Cause{Class: contract.LeaseExpired, Text: what}
	}
	return Cause{Class: contract.LeaseOutlived, Text: what}
}

// lossOf is the loss of a member for which a group is not whole at the end of a hold, or when the call that took the group returns: of
// the members that the owner did not take again the last one by then, else the first one while that call goes on. What the client itself
// gave back meanwhile, to ask anew, or since an earlier call was given up, is one if there is no other. nil: there is none.
func (f *facts) lossOf(l *lockFacts, t *tenure) (loss *memberLoss) {
	end := max(t.to, t.grant.Return)
	var gave *memberLoss
	for _, key := range f.view.locks[l.name].members {
		m := f.view.members[key]
		if m.at(end).Count(t.owner) > 0 {
			continue
		}
		this, itself := f.lastLoss(m, t, end)
		this.key = key
		to := &loss
		if itself {
			to = &gave
		}
		if this.at > 0 && (*to == nil || this.at <= t.to && this.at > (*to).at || (*to).at > t.to && this.at < (*to).at) {
			*to = this
		}
	}
	return cmp.Or(loss, gave)
}

// lastLoss is the last loss of a hold of a member by an end, of a grant's owner, since that was called for; at 0: there is none. itself
// says that the client gave it back, and that nothing else took any of it before.
func (f *facts) lastLoss(m *member, t *tenure, end time.Duration) (last *memberLoss, itself bool) {
	last = &memberLoss{}
	for i := 1; i < len(m.states) && m.states[i].from <= end; i++ {
		before, at := m.states[i-1].Count(t.owner), m.states[i].from
		switch {
		case m.states[i].Count(t.owner) > before && before == 0:
			last = &memberLoss{}
		case m.states[i].Count(t.owner) < before && at > t.grant.Call:
			row := f.takes(m, t.owner, at)
			if gives := row != nil && f.givesIn(row, t); !gives || last.at == 0 || itself {
				last, itself = &memberLoss{at: at, row: row}, gives
			}
		}
	}
	return last, itself
}

// givesIn reports whether by a command the owner's client gave something back in the background, while the owner's call went on.
func (f *facts) givesIn(r *history.Served, t *tenure) bool {
	by := f.op(r.Op)
	return by != nil && by.Aside && by.Kind.Unlocks() && by.Owner == t.owner && by.Call >= t.grant.Call
}

// lostWithin is the first loss of all holds of a member by no command, while an unlock of its owner was under way, or, if that is one of the
// background, which gives back what its call did not count, while the hold lasted. nil: there is none.
func (f *facts) lostWithin(l *lockFacts, t *tenure, op *history.Op) (loss *memberLoss) {
	owner, from := t.owner, op.Call
	if op.Aside {
		from = min(from, t.from)
	}
	for _, key := range f.view.locks[l.name].members {
		m := f.view.members[key]
		for i := 1; i < len(m.states); i++ {
			at := m.states[i].from
			gone := m.states[i-1].Count(owner) > 0 && m.states[i].Count(owner) == 0 && from <= at && (op.Pending() || at <= op.Return)
			if gone && f.takes(m, owner, at) == nil && (loss == nil || at < loss.at) {
				loss = &memberLoss{key: key, at: at}
			}
		}
	}
	return loss
}

// takes is the command that took a hold of a key from an owner at a time; nil: none did.
func (f *facts) takes(m *member, owner string, at time.Duration) *history.Served {
	for _, row := range m.rows {
		if r := &f.h.Served[row]; r.At == at && r.Step != history.StepAdmin && r.Before.Count(owner) > r.After.Count(owner) {
			return r
		}
	}
	return nil
}
