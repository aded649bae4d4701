package checker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// judgeExclusion looks for two owners who believed at once that they held the same lock.
func judgeExclusion(_ context.Context, f *facts) Result {
	found := f.found(contract.Exclusion)
	total, holds, late := 0.0, 0, 0
	for _, l := range f.locks {
		holds += len(l.beliefs)
		total += l.overlaps.total
		for _, o := range l.overlaps.first {
			found.add(func() Violation { return f.overlapped(l, o) })
		}
		found.all += l.overlaps.all - len(l.overlaps.first)
		before := found.all
		f.tellings(l, &found)
		late += found.all - before
	}
	total += f.groupRules(contract.Exclusion, &found)
	never := "never two at once on one lock"
	if slices.ContainsFunc(f.locks, (*lockFacts).shared) {
		never = "never a writer beside another owner"
	}
	if holds == 0 {
		return conclude("beliefs", "nobody ever held a lock, so nobody overlapped", "", found)
	}
	var broken []string
	if overlaps := found.all - late; overlaps > 0 {
		broken = append(broken, fmt.Sprintf("%s of two holders of one lock, %s in all", count(overlaps, "overlap"), short(time.Duration(min(total, math.MaxInt64/2)))))
	}
	if late > 0 {
		broken = append(broken, fmt.Sprintf("%s whose loss was told late", count(late, "hold")))
	}
	return conclude("beliefs", fmt.Sprintf("%s, %s", count(holds, "hold"), never), strings.Join(broken, "; "), found)
}

func (f *facts) overlapped(l *lockFacts, o overlap) Violation {
	v := Violation{
		Rule: contract.OneBeliever, Lock: l.name, From: o.from, To: o.to,
		Text: fmt.Sprintf("%s and %s both believed that they held %s from %s to %s, for %s",
			o.first.owner, o.second.owner, l.name, Stamp(o.from), Stamp(o.to), short(o.to-o.from)),
		Ops:    []int64{o.second.acquire.ID, o.first.acquire.ID},
		Owners: []string{o.first.owner, o.second.owner},
	}
	var loser *belief
	loser, v.Cause = f.lostFirst(l, o.first, o.second)
	f.unaware(l, o, loser.client, &v.Cause)
	return v
}

// unaware says of a lock that tells its holders of a loss whether the process of the one that lost its hold ran while
// both believed: only a process that does not run cannot be told in time that its lease is over.
func (f *facts) unaware(l *lockFacts, o overlap, client string, c *Cause) {
	switch c.Class {
	case contract.LeaseExpired, contract.LeaseOutlived, contract.PausedHolder, contract.CutOff, contract.ServerAway, contract.LostMessage:
	default:
		return
	}
	if !f.h.Can(string(contract.TellsLoss)) {
		return
	}
	stopped := f.obstacles(client, l.name, o.from, o.to, f.latency(), []history.Effect{history.ProcessStopped})
	if len(stopped) > 0 && opportunity(o.from, o.to, stopped) <= f.latency() {
		c.Class, c.Faults, c.Effects = contract.PausedHolder, faultsOf(stopped), []history.Effect{history.ProcessStopped}
		return
	}
	c.Effects = slices.DeleteFunc(slices.Clone(c.Effects), func(e history.Effect) bool { return e == history.ProcessStopped })
	c.Text += fmt.Sprintf("; the process of %s ran, and was not told", client)
}

// lostFirst says who of two was granted the lock first, and why the server no longer had that hold. Where
// nobody knows who that was, it is the one for whom there is an excuse: nobody is accused in doubt.
func (f *facts) lostFirst(l *lockFacts, a, b *belief) (*belief, Cause) {
	sure := a.acquire.Evidence == history.Executed && b.acquire.Evidence == history.Executed
	at := max(a.grantedAt(), b.grantedAt())
	_, again := f.wentBack(l, min(a.acquire.Call, b.acquire.Call), at) // then tokens tell no order
	switch one, other := a.acquire.Token, b.acquire.Token; {
	case !sure && !again && one > 0 && other > 0 && one != other:
		sure = true
		if other < one {
			a, b = b, a
		}
	default: // who was granted it first learned so first, as a rule
		if b.grantedAt() < a.grantedAt() {
			a, b = b, a
		}
		sure = sure || a.grantedAt() < b.acquire.Call
	}
	c := f.lostHold(l, a.owner, at)
	if from := max(a.from, b.from); c.Class == contract.GrantedTwice && f.composed(l) && f.endedBy(l, b.owner, from) {
		return b, f.lostHold(l, b.owner, from)
	}
	if c.Class == contract.GrantedTwice && f.neverGave(l, b) {
		c = Cause{Class: contract.Unexplained, Text: fmt.Sprintf("the server never gave %s to %s, which was told at %s that it has it", l.name, b.owner, Stamp(b.from))}
	}
	if !sure && !f.excuses(c) {
		if other := f.lostHold(l, b.owner, at); f.excuses(other) {
			return b, other
		}
	}
	return a, c
}

// neverGave reports whether the server log shows that no command gave a lock to who believes that it has it.
func (f *facts) neverGave(l *lockFacts, b *belief) bool {
	if f.implied() || len(f.h.Served) == 0 || f.composed(l) {
		return false
	}
	t := l.owner(b.owner).tenure(b.grantedAt())
	return t == nil || t.to < b.acquire.Call
}

// endedBy reports whether the server had ended an owner's hold of a group by a time: the owner had lost a member before it was told that it
// has the group.
func (f *facts) endedBy(l *lockFacts, owner string, by time.Duration) bool {
	t := l.owner(owner).tenure(by)
	return t != nil && !t.open && t.to <= by
}

// grantedAt is when the server granted what an owner came to believe in, as far as that is known.
func (b *belief) grantedAt() time.Duration {
	if at, ok := took(b.acquire); ok {
		return at
	}
	return b.from
}
