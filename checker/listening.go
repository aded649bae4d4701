package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// listening looks for clients that are still subscribed to a lock's channel, when for longer than they claim none of their calls has been
// on the lock, nor any of their holds has lasted.
func (f *facts) listening(found *violations) {
	within := f.h.Header.Unsubscribed
	if within == 0 || !f.h.Can(string(contract.Unsubscribes)) {
		return
	}
	for i := range f.h.Events {
		e := &f.h.Events[i]
		if _, died := f.died[e.Client]; died || e.Kind != history.Listening {
			continue
		}
		l, last, needed := f.lastNeed(e)
		if l == nil || needed {
			continue
		}
		all := f.obstacles(e.Client, "", last, e.At, f.answerTime(), hinders)
		if opportunity(last, e.At, all) <= within+f.prompt() {
			continue
		}
		found.addAt(last, func() Violation {
			return Violation{Rule: contract.Unsubscribed, Lock: l.name, From: last, To: e.At,
				Text: fmt.Sprintf("%s was subscribed to %s at %s, though it had done nothing with %s since %s; it claims to give a subscription back after %s",
					e.Client, e.Note, Stamp(e.At), l.name, Stamp(last), short(within)),
				Cause: f.notGivenBack(e)}
		})
	}
}

// notGivenBack says why a client is still subscribed. What a fault lost may have been the very request that ends the subscription.
func (f *facts) notGivenBack(e *history.Event) Cause {
	if lost := f.struckBy(e.Client, "", 0, e.At, []history.Effect{history.MessageLost}); len(lost) > 0 {
		return Cause{Class: contract.LostMessage, Effects: f.effectsOf(lost), Faults: lost, Text: f.describeAll(lost)}
	}
	return Cause{Class: contract.Unexplained, Text: "its client lived and was connected, and the server served"}
}

// lastNeed is until when a client may have needed its subscription, by one of the locks whose channel it is, or which have such a member;
// and whether it still may, since a call or a hold of it has not ended. nil: it is the channel of no lock that is known.
func (f *facts) lastNeed(e *history.Event) (l *lockFacts, last time.Duration, needed bool) {
	for _, lock := range f.locks {
		if !f.hasChannel(lock, e.Note) {
			continue
		}
		l = lock
		for _, op := range lock.ops {
			if op.Client == e.Client && op.Call <= e.At {
				last, needed = max(last, f.until(op)), needed || op.Pending() || f.until(op) >= e.At
			}
		}
		for _, t := range lock.tenures {
			if t.client == e.Client {
				last, needed = max(last, t.to), needed || t.open || t.to >= e.At
			}
		}
		for _, b := range lock.beliefs {
			if b.client == e.Client {
				last, needed = max(last, b.to), needed || b.open || b.to >= e.At
			}
		}
	}
	if m := f.membersUntil(e); m >= e.At {
		needed = true
	} else {
		last = max(last, m)
	}
	return l, last, needed
}

// membersUntil is until when an owner of a client had a key that a channel is named after, which may be a member of a group that it has no
// longer. Nobody tells it when a fault takes the key away: it may believe in its hold until the lease that it set last is over.
func (f *facts) membersUntil(e *history.Event) (last time.Duration) {
	if f.view == nil {
		return 0
	}
	owners := map[string]bool{}
	for i := range f.h.Ops {
		if op := &f.h.Ops[i]; op.Client == e.Client {
			owners[op.Owner] = true
		}
	}
	for key, m := range f.view.members {
		if !names("subscribe "+e.Note, key.key) {
			continue
		}
		for i, s := range m.states {
			if !slices.ContainsFunc(s.Holdings, func(h history.Holding) bool { return owners[h.Owner] }) {
				continue
			}
			last = max(last, s.to)
			if i+1 < len(m.states) && m.states[i+1].silent {
				last = max(last, s.Deadline)
			}
		}
	}
	return last
}

// hasChannel reports whether a channel is named after a lock, or after a member of it.
func (f *facts) hasChannel(l *lockFacts, channel string) bool {
	if names("subscribe "+channel, l.name) {
		return true
	}
	return f.composed(l) && slices.ContainsFunc(f.view.locks[l.name].members, func(key memberKey) bool { return names("subscribe "+channel, key.key) })
}
