package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// judgeFencing checks the tokens in the order of the grants on the server, and those presented to
// the resource in the order of their arrival there.
func judgeFencing(_ context.Context, f *facts) Result {
	if !f.h.Can("fencing") && f.options.Model != model.Fenced {
		return notClaimed("the lock hands out no fencing tokens")
	}
	found := f.found(contract.Fencing)
	grants := 0
	for _, l := range f.locks {
		if len(f.log.groups[l.name].Members) > 0 {
			continue // a group has no token: each member has its own
		}
		var last *history.Op
		own := map[string]int64{} // the last token of each owner
		for _, grant := range f.handed(l) {
			op, at := grant.op, grant.at
			grants++
			switch {
			case op.Token == 0:
				found.addAt(at, func() Violation {
					return f.tokenViolation(l, contract.TokenGiven, op, nil, fmt.Sprintf("%s got %s at %s without a token", op.Owner, l.name, Stamp(at)))
				})
				continue
			case last == nil || op.Token > last.Token:
			case op.Token == last.Token && f.reenters(l, op):
				continue // its token is of the time of its grant
			case l.shared() && op.Token == own[op.Owner] && f.reenters(l, op):
				continue // others may read beside it, by later grants
			case op.Evidence != history.Executed && op.Call <= last.Return:
				continue // the two overlapped, so that nobody knows which grant was first
			default:
				found.addAt(f.grantHeard(last), func() Violation {
					v := f.tokenViolation(l, contract.TokensIncrease, op, last, fmt.Sprintf("%s got %s with token %d at %s, after %s had got it with token %d",
						op.Owner, l.name, op.Token, Stamp(at), last.Owner, last.Token))
					from, until := v.From, v.To
					if last.Evidence != history.Executed { // it got its token at some time of its call
						from = min(from, last.Call)
					}
					if op.Repeats > 0 { // the answer that was heard may be that to another copy
						until = max(until, op.Return)
					}
					if c, ok := f.keptToken(l, op); ok {
						v.Cause = c
					} else if c, ok := f.wentBack(l, from, until); ok {
						v.Cause = c
						if c.Class == contract.ServerLost && v.To-v.From < f.h.Header.TokenUnit {
							v.Cause.Class = contract.WithinUnit
						}
					}
					return v
				})
			}
			last, own[op.Owner] = op, op.Token
		}
		f.presented(l, &found)
	}
	if grants == 0 && len(f.log.groups) > 0 {
		return notClaimed("a group hands out no fencing tokens")
	}
	return conclude("order of tokens",
		fmt.Sprintf("%s with increasing tokens", count(grants, "grant")),
		fmt.Sprintf("%s among %s", count(found.all, "violation"), count(grants, "grant")), found)
}

// handed lists the grants of a lock of which its owners were told, each when the server executed what they were told of.
func (f *facts) handed(l *lockFacts) []act {
	var grants []act
	for i := range l.acts {
		a := l.acts[i]
		if op := a.op; op == nil || op.Aside || a.again || !op.Kind.Acquires() || answer(op) != history.Acquired || op.Outcome != history.Acquired {
			continue
		}
		a.at = f.grantHeard(a.op)
		grants = append(grants, a)
	}
	slices.SortStableFunc(grants, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	return grants
}

// grantHeard is when the server executed that of a call which granted the lock by the answer that the call returned. Copies may have granted it
// before, and nobody heard their tokens.
func (f *facts) grantHeard(op *history.Op) time.Duration {
	at := tookOrCall(op)
	if op.Repeats == 0 || op.Evidence != history.Executed {
		return at
	}
	for _, i := range f.executions(op) {
		r := &f.h.Served[i]
		if granted := r.Before != nil && r.After != nil && r.Before.Count(op.Owner) == 0 && r.After.Count(op.Owner) > 0; granted && 0 < r.Got && r.Got <= op.Return {
			at = max(at, r.At)
		}
	}
	return at
}

// wentBack says that the counter of tokens was that of a replica, which may be an older one, or was lost
// in a restart together with the lock.
func (f *facts) wentBack(l *lockFacts, from, to time.Duration) (Cause, bool) {
	for _, e := range f.h.Events {
		if e.Kind == history.Restart && from <= e.At && e.At <= to && slices.ContainsFunc(l.events, func(gone *history.Event) bool {
			return gone.Kind == history.Delete && gone.At == e.At
		}) {
			faults := f.struckAt(e.At, l.name, history.ServerForgot)
			return Cause{Class: contract.ServerLost, Effects: []history.Effect{history.ServerForgot}, Faults: faults,
				Text: fmt.Sprintf("in the restart at %s %s lost the counter of tokens", Stamp(e.At), f.serverOf(faults))}, true
		}
		if e.Kind == history.Failover && from <= e.At && e.At <= to {
			return Cause{Class: contract.ReplicaBehind, Effects: []history.Effect{history.ServerForgot}, Faults: f.struckAt(e.At, l.name, history.ServerForgot),
				Text: fmt.Sprintf("in the failover at %s the counter of tokens went back to what the replica knew", Stamp(e.At))}, true
		}
	}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		flushed := fault.Has(history.ServerForgot) || fault.Has(history.KeyDeleted) && fault.Lock == ""
		if flushed && !fault.Missed && from <= fault.From && fault.From <= to && f.reaches(fault, l.name) {
			return Cause{Class: contract.ServerLost, Effects: []history.Effect{history.ServerForgot}, Faults: []int{i},
				Text: fmt.Sprintf("%s, and the counter of tokens was lost", f.describe(i))}, true
		}
	}
	return Cause{}, false
}

// keptToken says of a re-entry with the token of its owner's first hold that the server has another hold for it. That one was taken by
// a copy of a call, of which nobody heard, and its owner was not told of a loss.
func (f *facts) keptToken(l *lockFacts, op *history.Op) (c Cause, kept bool) {
	o := l.owner(op.Owner)
	t, b := o.tenure(tookOrCall(op)-1), o.belief(op.Call)
	if t == nil || !t.again || b == nil || t.to < tookOrCall(op) || b.to < op.Call || t.from < b.acquire.Executed || op.Token != b.acquire.Token {
		return c, false
	}
	c = f.twice(l, t.grant, t.from, fmt.Sprintf("a copy of the %s of %s took it once more at %s, and nobody heard its token", t.grant.Kind, op.Owner, Stamp(t.from)))
	if c.Class == contract.ServerLost || c.Class == contract.ClockJumped {
		c.Class = contract.KeptToken
	}
	return c, true
}

// reenters reports whether a grant was of a lock that its owner held already, which may keep its
// token.
func (f *facts) reenters(l *lockFacts, op *history.Op) bool {
	at := tookOrCall(op)
	if f.implied() { // when a tenure ended is not known exactly, nor when it was let in; it may be told of a loss meanwhile
		return slices.ContainsFunc(l.beliefs, func(b *belief) bool {
			kept := b.unlock != nil && b.unlock.Uncertain() && b.acquire.Token == op.Token // what it gave back may be there still
			return b.owner == op.Owner && b.from < at && (op.Call <= b.to || kept)
		})
	}
	t := l.owner(op.Owner).tenure(at - 1)
	return t != nil && at <= t.to
}

// presented checks what the resource did with the tokens it saw.
func (f *facts) presented(l *lockFacts, found *violations) {
	var highest *history.Op
	for _, op := range l.resource {
		if _, ok := took(op); !ok || op.Kind != history.Write || op.Token == 0 {
			continue
		}
		stale := highest != nil && op.Token < highest.Token
		switch {
		case stale && op.Outcome != history.Rejected:
			found.addAt(tookOrCall(highest), func() Violation {
				return f.tokenViolation(l, contract.StaleRefused, op, highest, fmt.Sprintf("%s wrote to %s with token %d at %s, after %s with token %d",
					op.Owner, l.name, op.Token, Stamp(tookOrCall(op)), highest.Owner, highest.Token))
			})
		case !stale && op.Outcome == history.Rejected:
			found.addAt(tookOrCall(cmp.Or(highest, op)), func() Violation {
				return f.tokenViolation(l, contract.FreshAccepted, op, highest, fmt.Sprintf("the write of %s to %s with token %d at %s was refused, though no larger token had come",
					op.Owner, l.name, op.Token, Stamp(tookOrCall(op))))
			})
		}
		if !stale {
			highest = op
		}
	}
}

func (f *facts) tokenViolation(l *lockFacts, rule contract.Rule, op, before *history.Op, text string) Violation {
	at := f.grantHeard(op)
	v := Violation{Rule: rule, Text: text, Lock: l.name, From: at, To: at, Ops: []int64{op.ID}, Owners: []string{op.Owner},
		Cause: Cause{Class: contract.Unexplained, Text: "tokens are the lock's own affair: no fault excuses them"}}
	if before != nil {
		v.From = f.grantHeard(before)
		v.Ops, v.Owners = append(v.Ops, before.ID), []string{before.Owner, op.Owner}
	}
	return v
}
