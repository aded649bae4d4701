package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// What keeps a waiter from hearing that a lock is free, and until when.

// subscribeTime is how long a waiter waits for its subscription to be confirmed: Redisson's 7.5 s.
const subscribeTime = 7500 * time.Millisecond

// A waking is a time in which a waiter should have heard of a release, and taken the lock.
type waking struct {
	released time.Duration // at the earliest
	from, to time.Duration // when it could have taken the lock, and did not
}

// silences reports whether by a fault a client may have missed what was published of a lock when it was released, and need not have
// looked for itself since. What is late, or waits in a socket, comes: a subscription that comes late misses what is published before.
// A client that claims to look when it has subscribed looks then.
func (f *facts) silences(i int, client, lock string, w waking) bool {
	fault := &f.h.Faults[i]
	_, end := f.span(fault)
	switch {
	case fault.Has(history.ConnectionBroken, history.ServerDown):
		return f.mayBeDeaf(client, lock, fault.Server, fault.From, end, w)
	case fault.Has(history.MessageLost):
		return f.mayBeDeaf(client, lock, fault.Server, fault.From, end, w) && w.to-f.prompt() <= max(w.from, f.noticed(i, client, lock, w.to))
	case strings.Contains(fault.On, string(history.StepSubscribe)):
		return end+2*f.latency() >= w.released && f.mayBeDeaf(client, lock, fault.Server, fault.From-2*f.latency(), fault.From, w)
	}
	return false
}

// mayBeDeaf reports whether a client that may have missed a release need not have looked for itself: it had not subscribed anew when that
// was published. One that claims to look when it has subscribed anew must do so soon.
func (f *facts) mayBeDeaf(client, lock, server string, since, after time.Duration, w waking) bool {
	anew := f.subscribedAnew(client, lock, server, since, after)
	if anew < w.released || anew == model.Never || !f.h.Can(string(contract.NoticesSilence)) {
		return anew >= w.released
	}
	looks := max(w.from, anew)
	return w.to <= enough(looks, f.prompt(), f.obstacles(client, lock, looks, w.to, f.answerTime(), hinders))
}

// deafened lists the faults by which a client's subscription was silent at a release: what is lost on that connection takes with it
// all that would follow. Where the fault does not say on which connection it struck, the subscription is silent if no answer to it
// came since. It ends when the client subscribes anew. A lock that claims to notice a silence must look for itself by then.
func (f *facts) deafened(client, lock string, w waking) []int {
	var found []int
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Missed || !fault.Has(history.MessageLost) || fault.Has(history.ConnectionBroken) || fault.From > w.to || fault.Client != "" && fault.Client != client {
			continue
		}
		onSubscription, somewhere := struckSubscription(fault)
		if _, last := f.span(fault); !onSubscription && (!somewhere || f.subscribes(client, lock, fault.Server, last, w.to)) {
			continue // any message that it lost may have been on the connection of the subscription
		}
		if f.silences(i, client, lock, w) {
			found = append(found, i)
		}
	}
	return found
}

// struckSubscription reports whether a fault says that it struck the connection of a subscription, or does not say which one it struck.
func struckSubscription(fault *history.Fault) (onSubscription, somewhere bool) {
	onSubscription = strings.Contains(fault.On, string(history.StepSubscribe)) || strings.Contains(fault.On, string(history.StepPublish))
	somewhere = !strings.Contains(fault.On, " ") || strings.HasPrefix(fault.On, "between ") || // "request" alone is any
		strings.Contains(fault.On, string(history.StepCleanup)) // a client unsubscribes by one
	return onSubscription, somewhere
}

// noticed is when a client that claims it has noticed that its subscription is silent by a fault; [model.Never]: it does not claim it.
// As long as something comes there is nothing to notice.
func (f *facts) noticed(i int, client, lock string, by time.Duration) time.Duration {
	within := f.h.Header.SilenceNoticed
	if within == 0 || !f.h.Can(string(contract.NoticesSilence)) {
		return model.Never
	}
	heard := f.h.Faults[i].From
	for j := range f.h.Served {
		s := &f.h.Served[j]
		if s.Client == client && (s.Step == history.StepSubscribe || s.Step == history.StepPublish) && s.Got <= by && f.isOn(lock, s.Server) {
			heard = max(heard, s.Got)
		}
	}
	return enough(heard, within, f.obstacles(client, lock, heard, by, f.answerTime(), hinders))
}

// subscribes reports whether a client got the answer to a subscription that it asked for in [from, to], on a server where a lock is: on that
// of a name, if it is not "".
func (f *facts) subscribes(client, lock, server string, from, to time.Duration) bool {
	return slices.ContainsFunc(f.h.Served, func(s history.Served) bool {
		return s.Client == client && s.Step == history.StepSubscribe && s.Sent >= from && s.Got > 0 && s.Got <= to && f.isOn(lock, s.Server) && (server == "" || s.Server == "" || s.Server == server)
	})
}

// isOn reports whether a lock may be on a server.
func (f *facts) isOn(lock, server string) bool {
	homes := f.servers[lock]
	return len(homes) == 0 || server == "" || slices.Contains(homes, server)
}

// subscribedAnew is when a client got the answer to a subscription to a lock's channel, on a server ("": any), that it asked for since
// a time, and after another; [model.Never]: the server log shows none.
func (f *facts) subscribedAnew(client, lock, server string, since, after time.Duration) time.Duration {
	first := model.Never
	for i := range f.h.Served {
		s := &f.h.Served[i]
		if s.Client == client && s.Step == history.StepSubscribe && s.Sent >= since && s.Got > after && s.Got < first &&
			(server == "" || s.Server == "" || s.Server == server) && f.isOn(lock, s.Server) && lock != "" && names(s.Text, lock) { // another server may have such a channel
			first = s.Got
		}
	}
	return first
}

// names reports whether a command is about a channel that is named after a lock: whose name ends with the lock's, in braces or not.
func names(subscription, lock string) bool {
	return slices.ContainsFunc(strings.Fields(subscription), func(channel string) bool {
		prefix, found := strings.CutSuffix(channel, "{"+lock+"}")
		if !found {
			prefix, found = strings.CutSuffix(channel, lock)
		}
		last, _ := utf8.DecodeLastRuneInString(prefix)
		if found && strings.HasSuffix(prefix, "channel__") { // as that of a latch
			return true
		}
		return found && prefix != "" && !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune("{}-_", last)
	})
}

// refusedFirst is when the client of a call was first told that it has to wait; 0: nobody saw that.
func (f *facts) refusedFirst(l *lockFacts, op *history.Op) time.Duration {
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Lock == l.name && s.Got > 0 && !refused(s) && sameKey(s.Before, s.After) {
			return s.Got
		}
	}
	return 0
}

// toldOfNoEnd reports whether the answer that a waiter heard last by a time told it that somebody held the lock without an end: then it decides
// by itself when it asks again.
func (f *facts) toldOfNoEnd(l *lockFacts, op *history.Op, by time.Duration) bool {
	var last *history.Served
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Lock == l.name && s.Got > 0 && s.At <= by && s.After != nil && !refused(s) {
			last = s
		}
	}
	return last != nil && last.After.Total() > 0 && f.inTheWay(l, op, last.After) == 0
}

// wakeTaken is the cause that the server may have given the wake-up to another client than that of a waiter: that client waited for longer, by a blocking
// command, and could not pass it on until a time. Nobody sends a wake-up of a hold that no call has ended.
func (f *facts) wakeTaken(l *lockFacts, before *tenure, op *history.Op, from, to time.Duration) (Cause, bool) {
	if before == nil || before.endOp == nil {
		return Cause{}, false
	}
	own := to
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.At > from {
			break
		}
		if !blocking(r, from) || !names(r.Text, l.name) {
			continue
		}
		if r.Client == op.Client {
			own = min(own, r.At)
			continue
		}
		all := f.obstacles(r.Client, l.name, from, to, f.answerTime(), hinders)
		if faults := faultsOf(all); r.At < own && len(faults) > 0 && to <= enough(from, f.prompt(), all) {
			c := f.blame(fmt.Sprintf("the server may have given the wake-up to %s, which had waited longer, and then %s", r.Client, f.describeAll(faults)), faults)
			c.Class = contract.WakeTaken
			return c, true
		}
	}
	return Cause{}, false
}

// blocking reports whether a command waits at a server for an element of a list or a sorted set at a time, as far as is known.
func blocking(r *history.Served, at time.Duration) bool {
	lasts, blocks := history.BlocksFor(r.Text)
	return blocks && (r.Got == 0 || r.Got >= at) && (lasts == 0 || r.At+lasts >= at)
}
