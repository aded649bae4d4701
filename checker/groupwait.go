package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// couldHave looks for a time of some length in which a waiter could have had a group and did not: when others
// held so few of its members, or faults kept it from so few, that it could have taken enough, for longer than an attempt takes.
func (f *facts) couldHave(l *lockFacts, c *composition, op *history.Op) (from, to time.Duration) {
	end := f.end
	if !op.Pending() {
		end = op.Return
	}
	if op.Kind.Plain() == history.TryLock {
		end = min(end, op.Call+op.Wait)
	}
	if at, dead := f.died[op.Client]; dead {
		end = min(end, at)
	}
	if end <= op.Call {
		return 0, 0
	}
	need := f.groupPrompt(c)
	hindered := func(key memberKey) []obstacle {
		all := f.memberObstacles(op.Client, key, op.Call, end)
		if len(all) > 0 {
			need += f.awayTime(1)
		}
		return all
	}
	awaited := f.awaited(c, op)
	for _, free := range f.view.had(c, op.Owner, op.Call, end, hindered) {
		known := free[0]
		for _, key := range c.members {
			known = max(known, f.view.members[key].saw(f, op, free[0]))
		}
		if free[1]-known > to-from && opportunity(known, free[1], awaited) > need {
			from, to = known, free[1]
		}
	}
	return from, to
}

// awaited lists, in order, the times in which a call waited for an answer that a fault on a member kept from it.
func (f *facts) awaited(c *composition, op *history.Op) (all []obstacle) {
	for _, i := range f.view.commands[op.ID] {
		r := &f.h.Served[i]
		key := memberKey{r.Server, r.Lock}
		if !slices.Contains(c.members, key) || r.Got <= r.Sent {
			continue
		}
		if why := f.memberObstacles(op.Client, key, r.Sent, r.Got); len(why) > 0 {
			all = append(all, obstacle{r.Sent, r.Got, why[0].fault})
		}
	}
	slices.SortStableFunc(all, func(a, b obstacle) int { return cmpTime(a.from, b.from) })
	return all
}

// toldOf is the latest deadline of a member that a waiter has been told of by a time; 0: none.
func (f *facts) toldOf(c *composition, op *history.Op, by time.Duration) (seen time.Duration) {
	for _, i := range f.view.commands[op.ID] {
		if r := &f.h.Served[i]; r.At <= by && slices.Contains(c.members, memberKey{r.Server, r.Lock}) {
			seen = max(seen, toldBy(r))
		}
	}
	return seen
}

// idleGroup is idle for a group: it is free for a waiter only if enough members are free or its own.
func (f *facts) idleGroup(l *lockFacts, c *composition, found *violations) {
	for _, op := range l.ops {
		if !callsFor(op) {
			continue
		}
		from, to := f.couldHave(l, c, op)
		if to == 0 {
			continue
		}
		found.addAt(from, func() Violation {
			cause := Cause{Class: contract.Unexplained, Text: "no fault explains why nobody took it"}
			if deaf := f.deafened(op.Client, "", waking{from, from, to}); len(deaf) > 0 && to <= max(op.Call+subscribeTime, f.toldOf(c, op, from))+f.groupPrompt(c) {
				cause = f.blame("while it waited "+f.describeAll(deaf), deaf)
			}
			return Violation{
				Rule: contract.FreeIsTaken, Lock: l.name, From: from, To: to, Ops: []int64{op.ID}, Owners: []string{op.Owner}, Cause: cause,
				Text: fmt.Sprintf("%s waited for %s from %s to %s, for %s, while enough of its members were free or its own",
					op.Owner, l.name, Stamp(from), Stamp(to), short(to-from)),
			}
		})
	}
}
