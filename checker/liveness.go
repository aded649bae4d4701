package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

const (
	earlyTolerance  = model.Granularity // clients count waits in whole milliseconds
	promptTolerance = time.Second       // see prompt
)

// prompt is how long anything may take that should happen at once: two round trips (a message
// that wakes, and the attempt that follows), and a second for whatever a client does in between.
// A lost wake-up costs a waiter the rest of a TTL, which is tens of seconds, so a second neither
// hides it nor accuses a slow client.
func (f *facts) prompt() time.Duration { return promptTolerance + 4*f.latency() }

// overdue is how much later than its wait a tryLock may return: the attempt in flight has to end
// and the subscription to be given back, each of which may wait for another.
func (f *facts) overdue() time.Duration { return promptTolerance + 8*f.latency() }

// judgeLiveness asks whether what should happen did, and in time.
func judgeLiveness(_ context.Context, f *facts) Result {
	if f.h.Header.LatencyMax == 0 {
		return notClaimed("the history does not say how slow a message may be, so that nothing can be called late")
	}
	found := f.found(contract.Liveness)
	waits := 0
	for _, l := range f.locks {
		for _, op := range l.ops {
			if op.Kind.Acquires() {
				waits++
			}
		}
		f.idle(l, &found)
		f.patience(l, &found)
		f.deadHolds(l, &found)
		f.orphans(l, &found)
		f.ghosts(l, &found)
		f.overtaken(l, &found)
		f.load(l, &found)
		f.failures(l, &found)
		f.atTheEnd(l, &found)
		f.onceHealed(l, &found)
	}
	f.listening(&found)
	f.residue(f.locks, &found)
	f.groupRules(contract.Liveness, &found)
	return conclude("times of grants and returns",
		fmt.Sprintf("%s, none was late and nothing was left behind", count(waits, "acquiring call")),
		fmt.Sprintf("%s among %s", count(found.all, "violation"), count(waits, "acquiring call")), found)
}

// idle looks for times in which the lock was free on the server and somebody waited for it.
func (f *facts) idle(l *lockFacts, found *violations) {
	if f.composed(l) {
		f.idleGroup(l, f.view.locks[l.name], found)
		return
	}
	if !l.shared() {
		f.idleFor(l, l.ops, l.tenures, nil, found)
		return
	}
	// Readers wait for writers alone: those that have the lock and, of a lock that lets them in first, those that wait for it.
	var readers, writers []*history.Op
	for _, op := range l.ops {
		if history.Writes(op.Owner) {
			writers = append(writers, op)
		} else {
			readers = append(readers, op)
		}
	}
	f.idleFor(l, writers, l.tenures, nil, found)
	f.idleFor(l, readers, slices.DeleteFunc(slices.Clone(l.tenures), func(t *tenure) bool { return !history.Writes(t.owner) }), f.writersWait(l), found)
}

// idleFor looks for times in which nobody held a lock in the way of some calls, nor waited first, and one of them waited for it.
func (f *facts) idleFor(l *lockFacts, ops []*history.Op, tenures []*tenure, ahead []waiting, found *violations) {
	gaps := without(f.freeTimes(l, tenures), ahead)

	rest := ops               // that were not called yet
	var calling []*history.Op // that had not returned when the last gap began
	for _, g := range gaps {
		if g.to-g.from <= f.prompt() {
			continue
		}
		calling = slices.DeleteFunc(calling, func(op *history.Op) bool { return !op.Pending() && op.Return <= g.from })
		for len(rest) > 0 && rest[0].Call < g.to {
			if op := rest[0]; callsFor(op) && (op.Pending() || op.Return > g.from) {
				calling = append(calling, op)
			}
			rest = rest[1:]
		}
		free := g.from
		forced := g.after != nil && g.after.endOp != nil && f.h.Can(string(contract.HearsForce)) // by the lock, which publishes that
		if g.after != nil && g.after.outside && !forced && g.after.deadline != model.Never {
			// Whoever takes a key away from outside tells nobody. A waiter then has only the
			// time to live that it saw.
			free = max(free, f.seenDeadline(g.after))
		}
		free = max(free, f.perhapsUntil(l, g.to))
		var first *history.Op
		var turned, from, to time.Duration
		for _, op := range calling {
			if !op.Pending() && op.Return <= free {
				continue
			}
			turn, end := f.turn(l, op, max(free, op.Call)), g.to
			begin := f.unhindered(op.Client, turn, g.to)
			if !op.Pending() {
				end = min(end, op.Return)
			}
			if op.Kind.Tries() {
				end = min(end, op.Call+op.Wait)
			}
			if at, dead := f.died[op.Client]; dead {
				end = min(end, at)
			}
			if end-begin > f.prompt() && (first == nil || end-begin > to-from) {
				first, turned, from, to = op, turn, begin, end
			}
		}
		if first == nil {
			continue
		}
		found.addAt(from, func() Violation {
			c, behind := f.behindPlaces(l, first, max(free, first.Call), turned, to)
			if !behind {
				c = f.untaken(l, g.after, first, from, to)
			}
			lasted := "for " + short(to-from)
			if from > max(g.from, first.Call) {
				lasted = fmt.Sprintf("and for %s of that nothing was in its way", short(to-from))
			}
			was := "was free"
			if l.shared() && !history.Writes(first.Owner) {
				was = "had no writer" // it may have had readers
			}
			return Violation{
				Rule: contract.FreeIsTaken, Lock: l.name, From: from, To: to, Ops: []int64{first.ID}, Owners: []string{first.Owner}, Cause: c,
				Text: fmt.Sprintf("%s %s from %s, and %s waited for it until %s, %s", l.name, was, Stamp(g.from), first.Owner, Stamp(to), lasted),
			}
		})
	}
}

// untaken says why a waiter did not take a lock that was free from a time on, until another. A waiter is woken
// by a message. If that did not get through, or if nobody sent one, it waits for the lease that it was told of.
func (f *facts) untaken(l *lockFacts, before *tenure, op *history.Op, from, to time.Duration) Cause {
	seen, released := from, time.Duration(0)
	if before != nil {
		seen, released = max(from, f.told(l, op, from), f.seenDeadline(before)), before.to
	}
	seen = max(seen, f.asksAgain(l, op, from))
	all := f.obstaclesOf(op, l.name, to)
	w := waking{released, from, to}
	deaf := f.deafened(op.Client, l.name, w)
	late := enough(from, f.prompt(), all)
	if len(deaf) > 0 || slices.ContainsFunc(faultsOf(all), func(i int) bool {
		other := f.struckAlone(i)
		return (other == nil || other == op) && f.silences(i, op.Client, l.name, w)
	}) {
		late = max(late, max(op.Call, f.refusedFirst(l, op))+subscribeTime+f.prompt(), enough(seen, f.prompt(), all)) // it subscribes once it is refused
	}
	faults := appendNew(faultsOf(all), deaf...)
	if len(faults) > 0 && to <= late {
		return f.blame("while it waited "+f.describeAll(faults), faults)
	}
	if c, ok := f.wakeTaken(l, before, op, from, to); ok {
		return c
	}
	if c, ok := f.downgraded(l, before); ok && to <= seen+f.prompt() {
		return c
	}
	if endless := f.toldOfNoEnd(l, op, from); before != nil && before.endEvent != nil && (endless || to <= seen+f.prompt()) {
		of := "a lease until " + Stamp(seen)
		if endless {
			of = "a hold without an end"
		}
		return Cause{Class: contract.Unannounced, Faults: f.freedBy(l, before),
			Text: fmt.Sprintf("nobody publishes that a key is gone, and %s had been told of %s", op.Owner, of)}
	}
	if len(faults) > 0 {
		return Cause{Class: contract.Unexplained, Text: fmt.Sprintf("while it waited %s, but no fault explains why nobody took it after %s", f.describeAll(faults), Stamp(late))}
	}
	return Cause{Class: contract.Unexplained, Text: "no fault explains why nobody took it"}
}

// delays reports whether a fault did no more than to hold messages up, for less than their sender waits.
func (f *facts) delays(i int) bool {
	begin, end := f.span(&f.h.Faults[i])
	return end-begin < f.answerTime() && !slices.ContainsFunc(f.h.Faults[i].Effects, func(e history.Effect) bool {
		return e != history.MessageLate && e != history.ServerSlow && e != history.MessageCopied
	})
}

// freedBy lists the faults by which the server no longer had a hold, or had it no longer than until its end.
func (f *facts) freedBy(l *lockFacts, t *tenure) []int {
	gone := append(history.TouchesKey(), history.ServerForgot)
	return appendNew(f.struckBy("", l.name, t.to, t.to, gone), f.struckBy("", l.name, t.last(), t.to, []history.Effect{history.ClockMoved})...)
}

// told is the latest deadline that a waiter has been told of by a time, as the server log shows it; 0: none. It is told a time to
// live, and counts from the answer. A request that takes effect once is told, when it is sent again, what it was told at first.
// Nobody is told by the answer to a copy, which its client does not read.
func (f *facts) told(l *lockFacts, op *history.Op, by time.Duration) time.Duration {
	var seen time.Duration
	sent, first := map[time.Duration]bool{}, map[string]*history.Served{}
	once := slices.ContainsFunc(f.h.Header.Idempotent, func(i history.Idempotence) bool { return slices.Contains(i.Calls, op.Kind) })
	var answered time.Duration // when the last request was sent that was answered
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Got > 0 {
			answered = max(answered, s.Sent)
		}
	}
	for _, i := range f.log.byOp[op.ID] {
		s := &f.h.Served[i]
		if copied := s.Got == 0 && sent[s.Sent]; s.Lock == l.name && s.At <= by && s.After != nil && !copied {
			switch {
			case s.Got == 0 && s.Sent < answered: // its client went on without the answer
			case once && first[s.Text] != nil && s.Got > 0:
				seen = f.inTheWay(l, op, first[s.Text].After) + min(s.Got-first[s.Text].At, f.answerTime()) // later than that its client knows how old the answer is
			default:
				seen = heardBy(s, f.inTheWay(l, op, s.After))
			}
			if first[s.Text] == nil {
				first[s.Text] = s
			}
		}
		sent[s.Sent] = true
	}
	return seen
}

// callsFor reports whether somebody waits for the lock, or for a count, by an operation. Nobody does by a copy of a
// call that came when the call had returned.
func callsFor(op *history.Op) bool { return (op.Kind.Asks() || op.Kind.Awaits()) && !op.Aside }

// seenDeadline is the latest deadline that a waiter can have seen of a hold that was taken away
// from outside.
func (f *facts) seenDeadline(t *tenure) time.Duration {
	if f.implied() && t.watchdog {
		return t.to + t.lease // it may have been renewed a moment before
	}
	for i := len(t.sets) - 1; i >= 0; i-- {
		if op := t.sets[i].op; op != nil {
			return t.sets[i].at + op.Lease
		}
	}
	return t.to
}

// unhindered is the moment in [from, to] after which no fault hindered a client any more: what it
// is expected to do at once is counted from there.
func (f *facts) unhindered(client string, from, to time.Duration) time.Duration {
	for _, i := range f.struckBy(client, "", from, to, delays) {
		if _, end := f.span(&f.h.Faults[i]); end >= from {
			from = end
		}
	}
	return min(from, to)
}

// delays are the effects during which a client cannot be expected to be prompt.
var delays = []history.Effect{history.ProcessStopped, history.RequestsHeld, history.RepliesHeld, history.ServerDown, history.ServerSlow, history.MessageLate, history.ServerForgot}

// patience checks that calls keep their time: a tryLock the one that it was given, and each call the one after which its caller
// gives it up.
func (f *facts) patience(l *lockFacts, found *violations) {
	late := f.overdue()
	if f.composed(l) { // it gives its members back one after the other
		late = max(late, f.groupPrompt(f.view.locks[l.name]))
	}
	for _, op := range l.ops {
		if op.Aside || op.Pending() {
			continue
		}
		took, wait := op.Return-op.Call, op.Wait
		if op.Cancel > 0 { // its caller waits no longer
			wait = min(wait, op.Cancel)
		}
		tries := op.Kind.Tries() && (op.Outcome == history.Busy || op.Outcome == history.Acquired || op.Outcome == history.OK)
		rule, how := contract.ReturnsInTime, "returned"
		switch {
		case tries && op.Outcome == history.Busy && took < wait-earlyTolerance:
			rule, how = contract.WaitsItsTime, "gave up"
		case tries && f.hadTime(l, op, op.Return, op.Wait+f.overdue()), f.overstayed(l, op):
		case op.Cancel > 0 && f.hadTime(l, op, op.Return, op.Cancel+late):
			rule, how = contract.GivenUpReturns, fmt.Sprintf("was given up after %s, and returned", short(op.Cancel))
			if op.Cancel == history.Ended {
				how = "had a context that had ended, and returned"
			}
		default:
			continue
		}
		found.addAt(op.Call, func() Violation {
			call := fmt.Sprintf("%s of %s on %s", op.Kind, op.Owner, l.name)
			if op.Kind.Tries() {
				call += " with a wait of " + short(op.Wait)
			}
			return Violation{
				Rule: rule, Lock: l.name, From: op.Call, To: op.Return, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text:  fmt.Sprintf("%s %s %s after %s", call, how, op.Outcome, short(took)),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault on the client explains it"},
			}
		})
	}
}

// overstayed reports whether a call with a wait overstayed it, of a lock that claims to return though nobody answers. Only a process that is
// stopped cannot. A RedLock asks its servers one attempt long.
func (f *facts) overstayed(l *lockFacts, op *history.Op) bool {
	if !f.h.Can(string(contract.ReturnsUnanswered)) || op.Wait == 0 || slices.ContainsFunc(f.h.Header.Groups, func(g history.Group) bool { return g.Name == l.name && g.Kind == history.Red }) {
		return false
	}
	stopped := f.obstacles(op.Client, l.name, op.Call, op.Return, f.latency(), []history.Effect{history.ProcessStopped})
	return opportunity(op.Call, op.Return, stopped) > op.Wait+f.overdue()
}

// hadTime reports whether by some moment the client of a call has had more opportunity than the call may take.
func (f *facts) hadTime(l *lockFacts, op *history.Op, by, most time.Duration) bool {
	return by-op.Call > most && opportunity(op.Call, by, append(f.reconnecting(op), f.obstaclesOf(op, l.name, by)...)) > most
}

// deadHolds checks that nobody keeps the lock of a dead client alive. Where nobody saw leases end, a hold seems to
// last until somebody else is granted the lock: whether one shows that must be over is object's to say.
func (f *facts) deadHolds(l *lockFacts, found *violations) {
	if f.implied() || f.byMembers(l) { // a group has no lease of its own: each member ends with its own
		return
	}
	for _, t := range l.tenures {
		died, dead := f.died[t.client]
		if !dead || died < t.from || died > t.to || t.restored {
			continue
		}
		var lease time.Duration
		last := died
		for _, s := range t.sets {
			sent := model.Never
			if s.op != nil {
				lease, sent = max(lease, s.op.Lease), s.op.Call
			} else if i, found := f.log.at[servedKey{at: s.at, lock: l.name}]; found && f.h.Served[i].Client == t.client {
				sent = f.h.Served[i].Sent // by no call
			}
			if sent <= died {
				last = max(last, s.at) // it was under way
			}
		}
		if lease > 0 && t.to <= last+lease+f.prompt() {
			continue
		}
		if lease == 0 && !t.open {
			continue
		}
		found.addAt(died, func() Violation {
			return Violation{
				Rule: contract.DeadHoldEnds, Lock: l.name, From: died, To: t.to, Ops: []int64{t.grant.ID}, Owners: []string{t.owner},
				Text: fmt.Sprintf("%s died at %s with a lease of %s on %s, which it held until %s",
					t.client, Stamp(died), short(lease), l.name, Stamp(t.to)),
				Cause: f.outlived(l, t, died, last),
			}
		})
	}
}

// outlived says why the hold of a dead client went on after its lease.
func (f *facts) outlived(l *lockFacts, t *tenure, died, last time.Duration) Cause {
	if c, kept := f.keptByOther(t, died); kept {
		return c
	}
	if end, set := f.endSet(l, t, last); set && t.to <= end+f.prompt() {
		return Cause{Class: contract.OtherHold, Text: fmt.Sprintf("the key of %s has one end for all holds, and what was done by %s had set it to %s", l.name, Stamp(last), Stamp(end))}
	}
	return Cause{Class: contract.Unexplained, Text: "something went on renewing it"}
}

// mostAttempts is how many commands on the lock's key a waiter may send a second: a lock that asks every 50 ms sends 20.
const mostAttempts = 100

// load looks for waiters that ask the server again and again.
func (f *facts) load(l *lockFacts, found *violations) {
	for _, op := range l.ops {
		if !callsFor(op) || op.Pending() || op.Return-op.Call < sec1 {
			f.spins(l, op, found)
			continue
		}
		sent, keys := f.sentFor(op), 1
		if f.composed(l) {
			keys = len(f.view.locks[l.name].members)
		}
		if float64(sent) <= float64(keys)*mostAttempts*(op.Return-op.Call).Seconds() {
			continue
		}
		found.addAt(op.Call, func() Violation {
			return Violation{
				Rule: contract.WaitsQuietly, Lock: l.name, From: op.Call, To: op.Return, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text: fmt.Sprintf("%s of %s waited for %s for %s, and sent %s on its key meanwhile",
					op.Kind, op.Owner, l.name, short(op.Return-op.Call), count(sent, "command")),
				Cause: f.restless(l, op),
			}
		})
	}
}

// sentFor is how many commands on keys a call sent: a copy was sent by somebody else.
func (f *facts) sentFor(op *history.Op) (sent int) {
	type command struct {
		request      int64
		server, lock string
	}
	seen := map[command]bool{}
	for _, i := range f.log.byOp[op.ID] {
		r := &f.h.Served[i]
		c := command{r.Request, r.Server, r.Lock}
		if !seen[c] || r.Request == 0 {
			sent++
		}
		seen[c] = true
	}
	return sent
}

// spins tells of a call for which the run was stopped.
func (f *facts) spins(l *lockFacts, op *history.Op, found *violations) {
	if f.h.End == nil || f.h.End.Spin == nil || f.h.End.Spin.Op != op.ID {
		return
	}
	s := f.h.End.Spin
	found.addAt(op.Call, func() Violation {
		who := fmt.Sprintf("%s of %s", op.Kind, op.Owner)
		if s.By != "" {
			who = fmt.Sprintf("while the %s waited, its client %s", who, s.By)
		}
		text := fmt.Sprintf("%s sent %s within %s, one after the other, the last of them %q", who, count(s.Commands, "command"), short(s.Within), s.Last)
		if s.Sender != "" {
			text += ", from " + s.Sender
		}
		return Violation{
			Rule: contract.WaitsQuietly, Lock: l.name, From: op.Call, To: f.end, Ops: []int64{op.ID}, Owners: []string{op.Owner},
			Text: text + "; the run was stopped there", Cause: f.restless(l, op),
		}
	})
}

// restless says why a waiter asked so often.
func (f *facts) restless(l *lockFacts, op *history.Op) Cause {
	for _, other := range l.ops { // a message tells the client, and so all its calls that wait
		if l.object != history.ALatch || !callsFor(other) || other.Client != op.Client || other.Call > op.Call || f.until(other) < op.Call {
			continue
		}
		if again := setAgain(levels(l), other, other.Call, f.until(op)); again > 0 {
			return Cause{Class: contract.SetAgain, Text: fmt.Sprintf("the latch was set again at %s, when a message of zero had told it to look", Stamp(again))}
		}
	}
	if again, faults := f.zeroCameLate(l, op); len(faults) > 0 {
		return Cause{Class: contract.SetAgain, Faults: faults, Effects: f.effectsOf(faults),
			Text: fmt.Sprintf("the latch was set again at %s, and a message of zero from before came later: %s", Stamp(again), f.describeAll(faults))}
	}
	if n := f.turnedAway(l, op); n > 0 && float64(f.sentFor(op)-n) <= mostAttempts*(f.until(op)-op.Call).Seconds() {
		return Cause{Class: contract.PlaceAhead, Text: fmt.Sprintf("the lock was free for %s of them, and the place of another was before", Thousands(n))}
	}
	return Cause{Class: contract.Unexplained, Text: "no fault makes a waiter ask so often"}
}

// calls reports whether an owner called to acquire the lock in [from, to].
func (l *lockFacts) calls(owner string, from, to time.Duration) bool {
	return slices.ContainsFunc(l.owner(owner).called(from, to), func(op *history.Op) bool { return op.Kind.Acquires() })
}

// broughtBack is the cause of what comes of a hold that a replica brought back.
func (f *facts) broughtBack(l *lockFacts, t *tenure) Cause {
	return Cause{Class: contract.ServerLost, Effects: []history.Effect{history.ServerForgot}, Faults: f.struckAt(t.from, l.name, history.ServerForgot),
		Text: fmt.Sprintf("a replica had brought back at %s a hold that %s had given back", Stamp(t.from), t.owner)}
}

// atTheEnd checks what is left when the run is over. A history without an end, of a run that was
// killed, has nothing to say here.
func (f *facts) atTheEnd(l *lockFacts, found *violations) {
	if !f.h.Whole() {
		return
	}
	held := f.heldThrough(l) // whoever waits for who holds it waits rightly: whether that one should is another question
	for _, t := range l.tenures {
		held = held || t.open
	}
	for _, b := range l.beliefs {
		held = held || b.open
	}
	for _, op := range l.ops {
		if op.Kind.Acquires() && (held || f.withheld(l, op.Owner, f.end) || f.localUntil(l, op, min(f.healed, f.end-1)) >= f.end) {
			continue
		}
		if _, gone := f.ended[op.Client]; !op.Pending() || gone || op.Kind.Renews() || op.Aside || f.late(l, op) {
			continue
		}
		if !f.hadTime(l, op, f.end, f.prompt()+op.Wait) {
			continue
		}
		found.addAt(op.Call, func() Violation {
			cause := f.keptByCopy(l, f.end)
			if cause.Class == contract.Unexplained {
				cause.Text = "its client lived and was connected"
			}
			return Violation{
				Rule: contract.CallsReturn, Lock: l.name, From: op.Call, To: f.end, Ops: []int64{op.ID}, Owners: []string{op.Owner},
				Text: fmt.Sprintf("%s of %s on %s, called at %s, had not returned when the run ended at %s",
					op.Kind, op.Owner, l.name, Stamp(op.Call), Stamp(f.end)),
				Cause: cause,
			}
		})
	}
	for _, e := range l.events {
		if e.Kind == history.Leftover && e.Deadline == 0 {
			found.addAt(e.At, func() Violation {
				return Violation{
					Rule: contract.KeysHaveAnEnd, Lock: l.name, From: e.At, To: e.At,
					Text:  fmt.Sprintf("the key of %s was left behind without a time to live", l.name),
					Cause: Cause{Class: contract.Unexplained, Text: "nothing will ever remove it"},
				}
			})
		}
	}
}
