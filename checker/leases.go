package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Semaphores whose permits have numbers and leases. What is out counts as with the plain semaphore; besides, it comes back by itself.

// leaseSpec is the sequential permit semaphore. Where the server knows of its permits in two keys it is Redisson's.
func leaseSpec(f *facts) specification[model.PermitsState] {
	kind := model.Permits{Redisson: !f.h.Can(string(contract.OneKey))}
	return specification[model.PermitsState]{
		step: kind.Step, environment: kind.Environment, shown: model.PermitsShown,
		fits: func(s model.PermitsState, a *act) bool {
			return f.sameTaken(s, a) && f.leasesFit(s, a)
		},
		settled: func(_ model.PermitsState, k history.KeyState) model.PermitsState { return model.PermitsShown(k) },
		misfit: func(_, after model.PermitsState, a *act) (contract.Rule, string) {
			if f.sameTaken(after, a) {
				return contract.LeaseIsSet, "the key has another end of a permit's lease than was asked for"
			}
			return contract.KeyFits, fmt.Sprintf("the key says that %s, but by the answers %s", model.PermitsShown(*a.after), after)
		},
		resume: func(s model.PermitsState, _ *act) model.PermitsState { return s }, // what one command did is seen after the last step
		untrue: func(s model.PermitsState, op history.Op) error {
			rule := contract.PermitsAreFew
			if op.Kind.OnPermit() {
				rule = contract.PermitNotRefused
			}
			return &model.Violation{Rule: rule, State: s, Op: op}
		},
		cause: f.leaseCause, lapses: true,
	}
}

// nearby reports whether a lease that ends at a time may be over, or not, at another one.
func nearby(end, at time.Duration) bool { return end <= at+model.Granularity }

// sameTaken reports whether the key after an act has as many permits as a state, and the same are out, but for those whose leases end
// about then.
func (f *facts) sameTaken(s model.PermitsState, a *act) bool {
	key := model.PermitsShown(*a.after)
	if len(a.after.Holdings) > 0 || key.Total != s.Total || key.Set != s.Set {
		return false
	}
	in := map[int64]bool{}
	for _, p := range s.Held() {
		_, out := a.after.Has(p.ID)
		if in[p.ID] = true; !out && !nearby(p.Earliest, a.at) {
			return false
		}
	}
	for _, p := range a.after.Taken {
		if !in[p.Permit] && (p.Deadline == 0 || !nearby(p.Deadline, a.at)) {
			return false
		}
	}
	return true
}

// leasesFit reports whether the leases of permits in the key after an act end when those of a state do. Clients that tell the server when
// a lease ends count it from some time of their call.
func (f *facts) leasesFit(s model.PermitsState, a *act) bool {
	for _, p := range s.Held() {
		t, out := a.after.Has(p.ID)
		end := t.Deadline
		if end == 0 {
			end = model.Never
		}
		if op := a.op; op != nil && out && op.Token == p.ID && op.Asked > 0 {
			if from := end - op.Asked; from < op.Call-model.Granularity || from > a.at+model.Granularity {
				return false
			}
		}
		if out && nearby(end, a.at) && nearby(p.Earliest, a.at) {
			continue // it is over
		}
		if out && (end > p.Latest && end-p.Latest > model.Granularity || end < p.Earliest && p.Earliest-end > model.Granularity) {
			return false
		}
	}
	return true
}

// leaseCause is the cause of a violation of the rules of a permit semaphore, where it is one of its own.
func (f *facts) leaseCause(l *lockFacts, a *act, rule contract.Rule) (Cause, bool) {
	switch rule {
	case contract.PermitsAreFree, contract.PermitsAreFew, contract.PermitIsHeld, contract.PermitNotRefused, contract.KeyFits, contract.LeaseIsSet:
	default:
		return Cause{}, false
	}
	if a.op != nil {
		if c, known := f.reclaimedOne(l, a); known && rule == contract.PermitsAreFew {
			return c, true
		}
		if c, known := f.clockAhead(l, a.op, a.at); known {
			return c, true
		}
		if c, known := f.byClientsClock(l, a.op, a.at); known && rule != contract.LeaseIsSet { // its end is right by some time of the call
			return c, true
		}
	}
	return f.counterLost(l, a.at)
}

// reclaimedOne says that a request found fewer than 0 permits free by the counter, and several whose leases were over: it takes back one.
func (f *facts) reclaimedOne(l *lockFacts, a *act) (Cause, bool) {
	for _, i := range f.log.byOp[a.op.ID] {
		r := &f.h.Served[i]
		if r.Lock == l.name && r.Before != nil && r.Before.Number() < 0 && r.Before.NumberAt(r.At) > 0 && f.h.Header.Layout.Absolute {
			return Cause{Class: contract.ReclaimedOne,
				Text: fmt.Sprintf("the counter of %s was at %s, and a request takes back one permit whose lease is over", l.name, Thousands(r.Before.Number()))}, true
		}
	}
	return Cause{}, false
}

// counterLost says that the number of the free permits was lost by a time, and those that were out stayed so.
func (f *facts) counterLost(l *lockFacts, by time.Duration) (Cause, bool) {
	for _, e := range l.events {
		if e.Kind != history.Delete && e.Kind != history.Expire || e.Count == 0 || e.At > by {
			continue
		}
		faults := f.struckBy("", l.name, e.At, e.At, touches)
		return Cause{Class: contract.CounterLost, Faults: faults, Effects: f.effectsOf(faults),
			Text: fmt.Sprintf("%s: the server knew on of %s that were out, and not how many there are", f.describeAll(faults), permits(e.Count))}, true
	}
	return Cause{}, false
}

// byClientsClock says that what an operation did at a time depends on the clock of its client: the lease of a permit ended between the
// time that the client told the server, and that at which the server executed the request.
func (f *facts) byClientsClock(l *lockFacts, op *history.Op, at time.Duration) (Cause, bool) {
	if !f.h.Header.Layout.Absolute {
		return Cause{}, false
	}
	rows := f.log.byOp[op.ID] // of an answer that none of them is taken for, any
	if i, found := f.log.execution(op, at); found {
		rows = []int{i}
	} else if op.Evidence == history.Executed {
		rows = nil
	}
	for _, i := range rows {
		if c, known := f.leaseOverMeanwhile(l, op, &f.h.Served[i]); known {
			return c, true
		}
	}
	return Cause{}, false
}

// leaseOverMeanwhile says that the lease of a permit ended between the time that a client told the server in a request of an operation, and
// that at which the server executed the request.
func (f *facts) leaseOverMeanwhile(l *lockFacts, op *history.Op, row *history.Served) (Cause, bool) {
	told := f.toldTheTime(op, row)
	if len(f.struckBy(op.Client, l.name, op.Call, f.until(op), resends)) > 0 {
		told = op.Call // the first may have been lost
	}
	for _, k := range []*history.KeyState{row.Before, row.After} {
		if k == nil {
			continue
		}
		for _, p := range k.Taken {
			if p.Deadline > 0 && told <= p.Deadline && nearby(p.Deadline, row.At) {
				return Cause{Class: contract.ClientsClock,
					Text: fmt.Sprintf("%s told the server the time in a request of %s, and the lease of permit %d ended at %s, before the server executed that",
						row.Client, Stamp(row.Sent), p.Permit, Stamp(p.Deadline))}, true
			}
		}
	}
	return Cause{}, false
}

// toldTheTime is since when a client may have read its clock whose request of an operation the server executed: one that is sent again
// tells the time of the first.
func (f *facts) toldTheTime(op *history.Op, row *history.Served) time.Duration {
	if op.Aside || !op.Kind.Asks() {
		return op.Call
	}
	told := row.Sent
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Sent < row.Sent && (s.Refused || s.Got == 0 || s.Got > row.Sent) {
			told = min(told, s.Sent)
		}
	}
	return max(told-f.prompt(), op.Call)
}

// clockAhead says that what an operation did at a time depends on the clock of a client that was set forward: of its own, or of one whose
// permits' leases end later for it.
func (f *facts) clockAhead(l *lockFacts, op *history.Op, at time.Duration) (Cause, bool) {
	if !f.h.Header.Layout.Absolute {
		return Cause{}, false
	}
	for i := range f.h.Faults {
		x := &f.h.Faults[i]
		uses := x.Client == op.Client || slices.ContainsFunc(l.ops, func(o *history.Op) bool { return o.Client == x.Client && o.Kind.Asks() && o.Executed <= at })
		if x.Has(history.ClientClockMoved) && x.Struck() && x.From <= at && uses {
			return Cause{Class: contract.ClientsClock, Faults: []int{i}, Effects: f.effectsOf([]int{i}), Text: "before, " + f.describe(i)}, true
		}
	}
	return Cause{}, false
}

// unseenClock says that leases of permits, of which nobody saw the keys, may have ended by a clock that was moved by a time: the server's, or that of
// a client that asked for permits.
func (f *facts) unseenClock(l *lockFacts, by time.Duration) (Cause, bool) {
	if f.h.Header.Layout.Unknown == "" || l.object != history.APermitSemaphore {
		return Cause{}, false
	}
	for i := range f.h.Faults {
		x := &f.h.Faults[i]
		asks := func(op *history.Op) bool { return op.Client == x.Client && op.Kind.Asks() }
		switch c := (Cause{Faults: []int{i}, Effects: f.effectsOf([]int{i}), Text: "before, " + f.describe(i)}); {
		case !x.Struck() || x.From > by:
		case x.Has(history.ClientClockMoved) && slices.ContainsFunc(l.ops, asks):
			c.Class = contract.ClientsClock
			return c, true
		case x.Has(history.ClockMoved) && f.reaches(x, l.name):
			c.Class = contract.ClockJumped
			return c, true
		}
	}
	return Cause{}, false
}

// endedByClock are the ends of leases of permits that there may have been, by a clock that was moved at a time: each is a release that nobody called.
func (f *facts) endedByClock(l *lockFacts, moved time.Duration) (all []*history.Op) {
	for _, op := range l.ops {
		if op.Kind.Asks() && op.Outcome == history.Acquired && !op.Pending() {
			all = append(all, &history.Op{Client: op.Client, Owner: op.Owner, Lock: op.Lock, Kind: history.ReleasePermit, Token: op.Token, Value: op.Value, Aside: true,
				Call: max(op.Return, moved), Return: f.end, Outcome: history.Unknown, Evidence: history.Sent, Until: f.end})
		}
	}
	return all
}

// leasesOf is [facts.countedOf] of a permit semaphore. A caller believes that it has a permit until it gives it back, and no longer than
// the lease that it asked for, counted from the call that asked. A semaphore that is set anew has as many permits as it is then set to.
func (f *facts) leasesOf(l *lockFacts) []permitChange {
	var all []permitChange
	total, adds := int64(0), []*history.Op(nil)
	if first := f.firstKey(l); first > 0 {
		all, total = append(all, permitChange{total: first}), first
	}
	grants, ends := map[int64]*history.Op{}, map[int64]time.Duration{}
	end := func(permit int64, at time.Duration) {
		if grants[permit] == nil {
			return
		}
		op := grants[permit]
		all = append(all, permitChange{max(min(at, ends[permit]), op.Return), 0, -1, op})
		delete(grants, permit)
	}
	var order []int64
	for _, op := range l.ops { // by their calls; an owner's follow each other
		void := op.Outcome == history.Failed && op.Evidence != history.Executed
		switch {
		case op.Kind.Sets() && !void && answer(op) != history.Rejected && !unsent(op) && !f.repeatedSet(l, op):
			before, perhaps := total, total
			for _, added := range adds { // what was added before it is gone
				if perhaps += added.Value; added.Outcome == history.OK && !added.Pending() && added.Return <= op.Call {
					before += added.Value
				}
			}
			if op.Uncertain() && op.Evidence != history.Executed && op.Value <= perhaps {
				continue // it may have found that they are set
			}
			all, total, adds = append(all, permitChange{op.Call, op.Value - before, 0, op}), op.Value, nil
		case addedBy(op) > 0:
			all = append(all, permitChange{op.Call, addedBy(op), 0, op})
			adds = append(adds, op)
		case callsFor(op) && op.Outcome == history.Acquired && !op.Pending():
			all = append(all, permitChange{op.Return, 0, 1, op})
			grants[op.Token], ends[op.Token] = op, endOfLease(op)
			order = append(order, op.Token)
		case op.Aside || void:
		case op.Kind == history.ReleasePermit:
			end(op.Token, op.Call)
		case op.Kind == history.UpdateLease && grants[op.Token] != nil && op.Call < ends[op.Token]:
			if op.Outcome == history.OK && op.Return < ends[op.Token] || endOfLease(op) < ends[op.Token] {
				ends[op.Token] = endOfLease(op)
			}
		}
	}
	for _, permit := range order {
		if ends[permit] < f.end {
			end(permit, ends[permit])
		}
	}
	return inOrderOfCounting(all)
}

// endOfLease is when a lease that an operation asked for may be over for its caller. A server tells its end in whole milliseconds, and
// lets the next have the permit in the last of them.
func endOfLease(op *history.Op) time.Duration {
	if lease := cmp.Or(op.Asked, op.Lease); lease > 0 {
		return op.Call + lease - model.Granularity
	}
	return model.Never
}

// leaseCut says why a permit may have been given away while its holder believed to have it.
func (f *facts) leaseCut(l *lockFacts, at time.Duration) (Cause, bool) {
	if c, lost := f.counterLost(l, at); lost {
		return c, true
	}
	for i := range l.acts {
		a := &l.acts[i]
		switch {
		case a.at > at:
		case a.op != nil && a.op.Kind.Asks():
			if c, known := f.clockAhead(l, a.op, a.at); known {
				return c, true
			}
			if c, known := f.byClientsClock(l, a.op, a.at); known {
				return c, true
			}
		case a.event != nil && a.event.Kind == history.ClockJump:
			moved := f.struckAt(a.at, l.name, history.ClockMoved)
			return Cause{Class: contract.ClockJumped, Effects: []history.Effect{history.ClockMoved}, Faults: moved,
				Text: fmt.Sprintf("%s: leases of permits of %s ended sooner", f.describeAll(moved), l.name)}, true
		}
	}
	return f.unseenClock(l, at)
}

// endedUnannounced says that a lease ended by a time of which a waiter for a permit had not heard when it asked last: it began after
// that, or was to end later. Nobody sends a message of the end. Who looks again by itself is excused until then.
func (f *facts) endedUnannounced(l *lockFacts, op *history.Op, from, to time.Duration) (Cause, bool) {
	var asked *history.Served
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Lock == l.name && s.Got > 0 && s.Got <= from && !refused(s) && s.After != nil {
			asked = s
		}
	}
	if asked == nil {
		return Cause{}, false
	}
	answered := asked.At // a copy may get the answer to the first
	for _, i := range f.log.byOp[op.ID] {
		if s := &f.h.Served[i]; s.Request == asked.Request && s.Lock == l.name && f.h.Can(string(contract.Idempotent)) {
			answered = min(answered, s.At)
		}
	}
	if faults := faultsOf(f.obstaclesOf(op, l.name, asked.Got)); asked.Got-answered > f.latency() && to <= from+asked.Got-answered+f.prompt() && len(faults) > 0 {
		return f.blame(fmt.Sprintf("it heard at %s what the server had answered at %s: %s", Stamp(asked.Got), Stamp(answered), f.describeAll(faults)), faults), true
	}
	if f.h.Can(string(contract.LooksAgain)) && to-asked.Got > f.h.Header.WatchdogTimeout+f.prompt() {
		return Cause{}, false
	}
	var now history.KeyState
	shown := time.Duration(0)
	since := map[int64]time.Duration{} // when ends of leases were set
	var taken []history.TakenPermit    // back by a command that found their leases over. Who looks again by itself may not publish that
	for i := range l.acts {
		if a := &l.acts[i]; a.at <= from && a.after != nil {
			for _, p := range now.Taken {
				if p.Deadline > 0 {
					p.Deadline = max(p.Deadline-l.jumped(shown, a.at), 1)
				}
				if _, still := a.after.Has(p.Permit); !still && p.Deadline > 0 && p.Over(a.at) && f.h.Can(string(contract.LooksAgain)) {
					taken = append(taken, p)
				}
			}
			for _, p := range a.after.Taken {
				if was, _ := now.Has(p.Permit); was.Deadline != p.Deadline {
					since[p.Permit] = a.at
				}
			}
			now, shown = *a.after, a.at
		}
	}
	jumped, last, by := time.Duration(0), time.Duration(1), l.jumped(shown, from) // since it asked, and since the server log showed the permits
	for _, e := range l.events {
		if e.Kind == history.ClockJump && asked.At < e.At && e.At <= from {
			jumped = e.At
		}
		if e.Kind == history.ClockJump && shown < e.At && e.At <= from {
			last = e.At
		}
	}
	for i, p := range slices.Concat(taken, now.Taken) {
		if p.Deadline > 0 && i >= len(taken) {
			p.Deadline = max(p.Deadline-by, last)
		}
		q, was := asked.After.Has(p.Permit)
		over, later := p.Deadline, !was || q.Deadline == 0 || q.Deadline > p.Deadline // than it had been told
		if set := since[p.Permit]; set > asked.At {                                   // to a time that may have been over by then
			over = max(over, set)
		}
		if over <= asked.At && was && !q.Over(asked.At) {
			over = jumped // by the clock of then it would not have been
		}
		if p.Over(from) && over > asked.At && later {
			c := Cause{Class: contract.Unannounced, Text: fmt.Sprintf("the lease of permit %d was over at %s, of which it had not heard when it asked at %s, and nobody sends a message",
				p.Permit, Stamp(over), Stamp(asked.At))}
			if over == jumped {
				c.Faults = f.struckAt(jumped, l.name, history.ClockMoved)
			}
			return c, true
		}
	}
	return Cause{}, false
}
