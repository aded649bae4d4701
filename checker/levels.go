package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A level is what an object's key said on the server from a time on, and whether there was one.
type level struct {
	from  time.Duration
	n     int64
	there bool
}

// levels lists them, in order of time.
func levels(l *lockFacts) []level {
	all := []level{{}}
	var out []history.TakenPermit // with leases that are not over
	ends := func(by time.Duration) {
		for len(out) > 0 && out[0].Deadline <= by {
			now := all[len(all)-1]
			now.from, now.n = out[0].Deadline, now.n+1
			all, out = append(all, now), out[1:]
		}
	}
	for i := range l.acts {
		a := &l.acts[i]
		ends(a.at)
		if now, known := all[len(all)-1].after(a); known {
			all = append(all, now)
		}
		out = outAfter(out, a)
		ends(a.at)
	}
	ends(model.Never)
	return all
}

// seesCounts reports whether the history says what the keys of counted objects were: without a server log, or where nobody can read the keys, it does not.
func (f *facts) seesCounts() bool { return len(f.h.Served) > 0 && !f.implied() }

// outAfter lists the permits with leases that are out after an act, by their ends, where some were out before.
func outAfter(out []history.TakenPermit, a *act) []history.TakenPermit {
	switch {
	case a.after != nil:
		out = slices.DeleteFunc(slices.Clone(a.after.Taken), func(p history.TakenPermit) bool { return p.Deadline == 0 || p.Over(a.at) })
	case a.event == nil:
	case a.event.Kind == history.ClockJump:
		for i := range out {
			out[i].Deadline = max(out[i].Deadline-a.event.By, a.at)
		}
	case a.event.Kind == history.Delete || a.event.Kind == history.Expire: // nothing is free where there is no semaphore
		out = nil
	}
	slices.SortFunc(out, func(a, b history.TakenPermit) int { return cmpTime(a.Deadline, b.Deadline) })
	return out
}

// takenBy are the permits that were out of a permit semaphore at a time, and whose leases were not over.
func takenBy(l *lockFacts, at time.Duration) (k history.KeyState) {
	for i := range l.acts {
		switch a := &l.acts[i]; {
		case a.at > at:
		case a.after != nil:
			k.Taken = slices.Clone(a.after.Taken)
		case a.event != nil && a.event.Kind == history.ClockJump:
			for i := range k.Taken {
				if d := &k.Taken[i].Deadline; *d > 0 {
					*d = max(*d-a.event.By, 1)
				}
			}
		case a.event != nil && (a.event.Kind == history.Delete || a.event.Kind == history.Expire) && a.event.Count == 0:
			k.Taken = nil
		}
	}
	k.Taken = slices.DeleteFunc(k.Taken, func(p history.TakenPermit) bool { return p.Over(at) })
	return k
}

// after is the level after an act on one, if it is known.
func (v level) after(a *act) (now level, known bool) {
	now = v
	now.from = a.at
	switch {
	case a.after != nil:
		now.n, now.there = a.after.NumberAt(a.at), !a.after.Absent()
	case a.event == nil:
		return v, false
	case a.event.Kind == history.Delete || a.event.Kind == history.Expire:
		now.n, now.there = 0, false
	case a.event.Kind == history.Restore:
		now.n, now.there = a.event.Count, true
	}
	return now, true
}

// ofNothing are the count-downs, and the releases that found no semaphore and made none, that the server executed when there was
// nothing to count. They may be copies of requests that had counted before.
func ofNothing(l *lockFacts) map[*history.Op]bool {
	all, now := map[*history.Op]bool{}, level{}
	for i := range l.acts {
		a := &l.acts[i]
		none := a.op != nil && (a.op.Kind == history.CountDown || a.op.Kind == history.ReleasePermits && answer(a.op) == history.NotHeld)
		if none && !a.again && !now.there {
			all[a.op] = true
		}
		now, _ = now.after(a)
	}
	return all
}

// levelAt is the level at a time.
func levelAt(all []level, at time.Duration) level {
	n, _ := slices.BinarySearchFunc(all, at, func(v level, at time.Duration) int { return upTo(v.from, at) })
	return all[max(n-1, 0)]
}

// zeroAfter reports whether an object's key was gone at some time from one on.
func zeroAfter(all []level, at time.Duration) bool {
	return slices.ContainsFunc(all, func(v level) bool { return v.from >= at && !v.there })
}

// setAgain is when a latch was set again whose count had come to 0 at a time, which a call waited for; 0: it was not by another time. What
// set it before that began the round that the call waits for.
func setAgain(all []level, op *history.Op, ended, by time.Duration) time.Duration {
	for i := 1; i < len(all); i++ {
		if all[i].from > max(op.Call, ended) && all[i].from <= by && all[i].n > 0 && all[i-1].n <= 0 {
			return all[i].from
		}
	}
	return 0
}

// zeroCameLate is when a latch was set again before a call, and what held up a message of zero from before until the call was under
// way; no faults: nothing did.
func (f *facts) zeroCameLate(l *lockFacts, op *history.Op) (again time.Duration, faults []int) {
	all := levels(l)
	for i := len(all) - 1; l.object == history.ALatch && i > 0; i-- {
		if again = all[i].from; again > op.Call || all[i].n <= 0 || all[i-1].n > 0 {
			continue
		}
		for _, x := range f.struckBy(op.Client, l.name, op.Call, f.until(op), []history.Effect{history.MessageLate}) {
			fault := &f.h.Faults[x]
			onSubscription, somewhere := struckSubscription(fault)
			if fault.From <= again && (onSubscription || somewhere) {
				faults = append(faults, x)
			}
		}
		break
	}
	return again, faults
}
