package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// failures looks for calls that ended in an error for no reason: nothing kept their clients from the server, nobody gave them
// up, and no other program had put something else into the key. What did must have touched the call while it lasted.
func (f *facts) failures(l *lockFacts, found *violations) {
	lock, prompt := l.name, f.prompt()
	if f.composed(l) { // its members have names of their own
		lock, prompt = "", f.groupPrompt(f.view.locks[l.name])
	}
	for _, op := range l.ops {
		failed := !op.Pending() && (op.Outcome == history.Failed || op.Outcome == history.Unknown) && !f.silent[op.ID]
		gone, ended := f.ended[op.Client]
		switch {
		case op.Kind.Tries() && op.Wait > 0 && op.Wait < prompt: // its time is over before an attempt is
			continue
		case !failed, op.Aside, op.Kind.Renews(), f.fresh(op.Client, op.Call), cancelled(op), ended && gone <= op.Return, op.Lease > 0 && op.Lease < prompt:
			continue
		case f.composed(l) && (op.Kind.Plain() == history.TryLock || op.Kind.Unlocks() && f.lacks(l, op)):
			continue // it is refused so, see refused, or told of a member that its owner had lost, or had otherwise
		case op.Outcome == history.Unknown && op.Error == "" && f.h.Header.Layout.Unknown != "": // its caller was told what one copy did
			continue
		case op.Outcome == history.Unknown && op.Return-op.Call >= impatience && f.lateness() >= impatience:
			continue // the answer came in time, to a program that this machine did not let run
		case f.declined(op), f.prevented(op, lock, prompt), f.foreign(l, op), f.unreplicated(op), f.stale(op), op.Kind.Acquires() && f.refusable(op) && f.taken(l, op):
			continue
		}
		found.addAt(op.Call, func() Violation {
			return Violation{
				Rule: contract.CallsSucceed, Lock: l.name, From: op.Call, To: op.Return, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text:  fmt.Sprintf("%s of %s on %s, called at %s, ended %s at %s: %s", op.Kind, op.Owner, op.Lock, Stamp(op.Call), op.Outcome, Stamp(op.Return), op.Error),
				Cause: Cause{Class: contract.Unexplained, Text: "its client lived and was connected, and the server served"},
			}
		})
	}
}

// declined reports whether a lock may have refused what a call asked for, since it has no such lease, does not wait so, or cannot but wait: its
// client sent nothing. What has no numbers, such as one attempt with the lock's own lease, or for one permit, it has always or never.
func (f *facts) declined(op *history.Op) bool {
	if !op.Kind.Asks() && op.Kind != history.UpdateLease || op.Outcome != history.Failed || op.Evidence != history.NotSent || f.h.Can(string(contract.AnyLease)) {
		return false
	}
	plain := func(op *history.Op) bool {
		own := op.OwnLease || op.Lease == 0 || op.Watchdog && (op.Fresh == 0 || op.FreshWatchdog)
		return op.Wait == 0 && own && (op.Kind.Object() != history.ASemaphore || op.Value == 1)
	}
	return !plain(op) || !slices.ContainsFunc(f.h.Ops, func(o history.Op) bool {
		return o.Kind.Plain() == op.Kind.Plain() && plain(&o) && o.Evidence != history.NotSent
	})
}

// untried says which calls of the plan a lock declined; "": none.
func (f *facts) untried() string {
	var first *history.Op
	declined := 0
	for _, l := range f.locks {
		for _, op := range l.ops {
			if op.Aside || f.fresh(op.Client, op.Call) || cancelled(op) || !f.declined(op) {
				continue
			}
			if declined++; first == nil || op.ID < first.ID {
				first = op
			}
		}
	}
	if first == nil {
		return ""
	}
	lease, says := "", "failed and sent nothing: the lock does not have what it asks for"
	if first.Asked > 0 || first.Lease > 0 {
		lease = " for " + short(cmp.Or(first.Asked, first.Lease))
	}
	text := fmt.Sprintf("the %s of %s by %s%s (operation %d)", first.Kind, first.Lock, first.Owner, lease, first.ID)
	if declined > 1 {
		return fmt.Sprintf("%s, the first %s, %s", count(declined, "call"), text, strings.Replace(says, "it asks", "they ask", 1))
	}
	return text + " " + says
}

// prevented reports whether faults are a reason for which a call failed: its client had not had the time since for what should go on at
// once, or it heard nothing on its subscription.
func (f *facts) prevented(op *history.Op, lock string, prompt time.Duration) bool {
	all := f.obstacles(op.Client, lock, op.Call, op.Return+1, f.answerTime(), resends)
	return slices.ContainsFunc(all, func(o obstacle) bool { return max(o.to, f.blockedUntil(o.fault))+prompt > op.Return }) ||
		callsFor(op) && len(f.deafened(op.Client, lock, waking{op.Call, op.Call, op.Return})) > 0
}

// refusable reports whether a call may be refused by an error because another has the lock.
func (f *facts) refusable(op *history.Op) bool {
	return op.Kind.Plain() != history.Lock || !f.h.Can(string(contract.Waits))
}

// impatience is the shortest time for which a client waits for an answer: lockimpl's Hardened gives up an attempt that is under way
// when its time to wait is over after that long.
const impatience = 200 * time.Millisecond

// lacks reports whether the owner of a call did not have all members of a group while it was under way, or had not been
// granted the group: what it has of the members is then for other groups.
func (f *facts) lacks(l *lockFacts, op *history.Op) bool {
	if b := l.owner(op.Owner).belief(op.Call); b == nil || b.to < op.Call {
		return true
	}
	c := f.view.locks[l.name]
	least, _ := f.view.held(c, op.Owner, op.Call, op.Return)
	return least < len(c.members)
}

// taken reports whether the lock, or a member of a group, was not to be had while a call was under way: an error is then a
// refusal.
func (f *facts) taken(l *lockFacts, op *history.Op) bool {
	if f.composed(l) {
		return slices.ContainsFunc(f.view.locks[l.name].members, func(key memberKey) bool {
			return len(f.view.members[key].busy(op.Owner, op.Call, op.Return)) > 0
		})
	}
	anothers := func(owner string) bool { return owner != op.Owner || !f.options.Model.Reenters() }
	return slices.ContainsFunc(l.tenures, func(t *tenure) bool {
		from, to := t.from, t.to
		if t.grant != nil && t.grant.Evidence != history.Executed {
			from = t.grant.Call
		}
		if t.endOp != nil && t.endOp.Evidence != history.Executed {
			to = max(to, f.until(t.endOp))
		}
		return anothers(t.owner) && from <= op.Return && to >= op.Call
	}) || f.implied() && slices.ContainsFunc(l.ops, func(o *history.Op) bool { // of whose answer nobody heard
		return o != op && o.Kind.Acquires() && o.Uncertain() && o.Evidence != history.NotSent && anothers(o.Owner) &&
			o.Call <= op.Return && (o.Watchdog || o.Lease == 0 || f.until(o)+o.Lease >= op.Call)
	})
}

// foreign reports whether the key, or a member's, was no lock's at some time while a call was under way: another program had
// overwritten it.
func (f *facts) foreign(l *lockFacts, op *history.Op) bool {
	if f.composed(l) {
		return slices.ContainsFunc(f.view.locks[l.name].members, func(key memberKey) bool {
			return slices.ContainsFunc(f.view.members[key].states, func(s memberState) bool {
				return s.from <= op.Return && s.to >= op.Call && s.KeyState.Count(history.AnotherProgram) > 0
			})
		})
	}
	return slices.ContainsFunc(l.owner(history.AnotherProgram).tenures, func(t *tenure) bool { return t.from <= op.Return && t.to >= op.Call })
}

// unreplicated reports whether a call waited for replicas, of which a fault kept one from following.
func (f *facts) unreplicated(op *history.Op) bool {
	if len(f.struckBy(op.Client, op.Lock, op.Call, op.Return, []history.Effect{history.ReplicationStopped})) == 0 {
		return false
	}
	return slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
		return s.Client == op.Client && s.At >= op.Call && s.At <= op.Return && strings.HasPrefix(strings.ToLower(s.Text), "wait ")
	})
}

// stale reports whether a call may have used a connection that a fault had broken, of which its client learns at the next use. Each of
// them fails one call at most: one of which the server saw nothing, since what it saw may have failed for another reason, as the attempt
// on a group does of which another has a member. Without a server log nobody knows how many there were.
func (f *facts) stale(op *history.Op) bool {
	return slices.ContainsFunc(f.struckBy(op.Client, op.Lock, 0, op.Return, []history.Effect{history.ConnectionBroken}), func(i int) bool {
		if f.ofSubscription(i) {
			return false
		}
		if len(f.h.Served) == 0 {
			return true
		}
		broken, failed := f.h.Faults[i].From, 0
		for j := range f.h.Ops {
			o := &f.h.Ops[j]
			if o.Client == op.Client && o.Call < op.Call && o.Return > broken && !cancelled(o) && len(f.log.byOp[o.ID]) == 0 && (o.Outcome == history.Failed || o.Outcome == history.Unknown) {
				failed++
			}
		}
		return failed < f.connections(op.Client, broken)
	})
}

// reconnecting is the time in which a call learned, by requests that failed, of connections that a fault had broken before: until it sent
// the first one on a connection that it opened.
func (f *facts) reconnecting(op *history.Op) (all []obstacle) {
	broken := f.struckBy(op.Client, op.Lock, 0, op.Call, []history.Effect{history.ConnectionBroken})
	if len(broken) == 0 || !f.stale(op) {
		return nil
	}
	i := slices.IndexFunc(f.h.Served, func(s history.Served) bool { return s.Op == op.ID })
	if i < 0 || f.h.Served[i].Step != history.StepSession {
		return nil
	}
	last := broken[len(broken)-1]
	most := op.Call + time.Duration(f.connections(op.Client, f.h.Faults[last].From))*f.answerTime()
	return []obstacle{{op.Call, min(f.h.Served[i].Sent, most), last}}
}

// ofSubscription reports whether a fault broke no connection but that of a subscription, by which no call asks.
func (f *facts) ofSubscription(i int) bool {
	fault := &f.h.Faults[i]
	return fault.Has(history.MessageLost) && (strings.HasSuffix(fault.On, " "+string(history.StepSubscribe)) || strings.HasSuffix(fault.On, " "+string(history.StepPublish)))
}

// sec1 is the shortest wait whose load is judged.
const sec1 = time.Second
