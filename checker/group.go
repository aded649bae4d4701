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

// groupRules judges what a guarantee asks of locks that are made of others. Of exclusion it returns for how long
// owners overlapped, nanoseconds in all.
func (f *facts) groupRules(g contract.Guarantee, found *violations) (overlapped float64) {
	v := f.view
	if v == nil {
		return 0
	}
	for _, l := range f.locks {
		c := v.locks[l.name]
		if c == nil {
			continue
		}
		if g == contract.Exclusion {
			overlapped += f.sharedMembers(l, c, found)
		}
		if !c.group {
			continue
		}
		for _, op := range l.ops {
			if op.Aside || op.Pending() {
				continue
			}
			if g == contract.Object {
				f.takesEffectOnce(l, c, op, found)
				f.othersHolds(l, c, op, found)
			}
			switch acquires := op.Kind.Acquires(); {
			case g == contract.Object && op.Kind.Unlocks():
				f.answeredUnlock(l, c, op, found)
				f.keepsOuter(l, c, op, found)
				f.leavesLeases(l, c, op, found)
			case g == contract.Object && acquires && op.Outcome == history.Acquired:
				f.granted(l, c, op, found)
			case g == contract.Object && op.Kind.Plain() == history.TryLock:
				f.refused(l, c, op, found)
			case g == contract.Liveness && acquires && op.Outcome != history.Acquired:
				f.patientGroup(l, c, op, found)
				f.keptNone(l, c, op, found)
			case g == contract.Liveness && op.Kind.Unlocks():
				f.gaveEach(l, c, op, found)
				f.endsEach(l, c, op, found)
			}
		}
	}
	return overlapped
}

// memberObstacles lists what kept a client from acting on a member of a group in [from, to], both included.
func (f *facts) memberObstacles(client string, key memberKey, from, to time.Duration) []obstacle {
	return slices.DeleteFunc(f.obstacles(client, "", from, to+1, f.answerTime(), hinders), func(o obstacle) bool {
		server := f.h.Faults[o.fault].Server
		return server != "" && key.server != "" && server != key.server
	})
}

// groupObstacles lists the times in [from, to] in which a client could not act on so many members of a group that the
// rest was not enough, and counts the members that it could not act on at some time.
func (f *facts) groupObstacles(client string, c *composition, from, to time.Duration) (whole []obstacle, away int) {
	type edge struct {
		at     time.Duration
		member int
		step   int
		fault  int
	}
	var edges []edge
	for i, key := range c.members {
		all := f.memberObstacles(client, key, from, to)
		for _, o := range all {
			edges = append(edges, edge{o.from, i, 1, o.fault}, edge{o.to, i, -1, o.fault})
		}
		if len(all) > 0 {
			away++
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Or(cmpTime(a.at, b.at), b.step-a.step) })
	by := make([]int, len(c.members)) // how many faults keep it from each
	hindered := 0
	for _, e := range edges {
		short := len(c.members)-hindered < c.needed
		was := by[e.member] > 0
		by[e.member] += e.step
		switch is := by[e.member] > 0; {
		case is && !was:
			hindered++
		case was && !is:
			hindered--
		}
		switch now := len(c.members)-hindered < c.needed; {
		case now && !short:
			whole = append(whole, obstacle{e.at, to, e.fault})
		case short && !now:
			whole[len(whole)-1].to = e.at
		}
	}
	return whole, away
}

// exact is how exactly deadlines of members are known.
func (f *facts) exact() time.Duration {
	if f.h.Header.Timescale == 0 {
		return model.Granularity
	}
	return model.Granularity + f.latency()
}

// groupPrompt is [facts.prompt] of a group, whose members may be taken one after the other.
func (f *facts) groupPrompt(c *composition) time.Duration {
	return f.prompt() + time.Duration(4*len(c.members))*f.latency()
}

// awayTime is what members that a client cannot reach cost an attempt at most: it waits for the answers to what begins a connection
// to each of them, to what takes it, and to what gives it back.
func (f *facts) awayTime(away int) time.Duration { return time.Duration(3*away) * f.answerTime() }

func (f *facts) groupViolation(found *violations, l *lockFacts, op *history.Op, rule contract.Rule, to time.Duration, c Cause, format string, args ...any) {
	found.addAt(op.Call, func() Violation {
		return Violation{Rule: rule, Lock: l.name, From: op.Call, To: max(to, op.Call), Ops: []int64{op.ID}, Owners: []string{op.Owner}, Cause: c,
			Text: fmt.Sprintf("%s of %s on %s, returned %s at %s: ", op.Kind, op.Owner, l.name, op.Outcome, Stamp(op.Return)) + fmt.Sprintf(format, args...)}
	})
}

// granted checks a grant: the members that it counts on, their leases, and what is left of them.
func (f *facts) granted(l *lockFacts, c *composition, op *history.Op, found *violations) {
	asked := op.Asked
	if asked == 0 {
		asked = op.Lease
	}
	counted, holds, valid := 0, 0, 0
	for _, key := range c.members {
		m := f.view.members[key]
		changes := m.changes(f, op, op.Call, op.Return)
		took, counts := kept(changes)
		if counts {
			counted++
			if took.row.Op == op.ID { // what an earlier call of its owner took for it has that one's lease
				f.memberLease(l, op, key, took, asked, found)
			}
		}
		lasts, has := false, false
		if len(changes) > 0 && counts && changes[len(changes)-1].left == 0 { // it was taken away from outside
			changes = changes[:1+slices.Index(changes, took)]
		}
		for _, ch := range changes {
			left := model.Never - ch.row.Sent
			if ch.row.After.Deadline > 0 {
				left = ch.row.After.Deadline - ch.row.At
			}
			has = ch.left > 0
			lasts = has && (lasts || ch.row.Sent+left+f.exact() >= op.Return)
		}
		if len(changes) == 0 { // held already, and not touched
			s := m.at(op.Return)
			has = s.KeyState.Count(op.Owner) > 0
			lasts = has && (s.Deadline == 0 || s.Deadline+f.exact() >= op.Return)
		}
		if has {
			holds++
		}
		if lasts || has && f.renewedMeanwhile(m, op) {
			valid++
		}
	}
	cause := Cause{Class: contract.Unexplained, Text: "the lock granted it all the same"}
	switch {
	case len(f.h.Served) == 0:
	case holds < c.needed:
		if key, again := f.givenBackByCopy(c, op); again > 0 {
			cause = f.twice(l, op, again, fmt.Sprintf("a copy of a request by which it had given %s back before did so again at %s", key, Stamp(again)))
		} else if r := f.unlockedLate(c, op); r != nil {
			by := f.op(r.Op)
			cause = f.untold(l, by, r.At, fmt.Sprintf("its member %s was taken away at %s. The %s of %s, which ended %s at %s, took effect then",
				memberKey{r.Server, r.Lock}, Stamp(r.At), by.Kind, by.Owner, by.Outcome, Stamp(by.Return)))
		} else if r := f.takenLate(l, c, op); r != nil {
			cause = f.givenLate(l, op.Owner, r, op.Call, fmt.Sprintf("its member %s was taken away at %s", memberKey{r.Server, r.Lock}, Stamp(r.At)))
		} else if r, by, loss := f.lostForEarlier(l, c, op); r != nil {
			cause = f.untold(l, by, r.At, fmt.Sprintf("its client gave the member %s back at %s for its %s (operation %d), which had lost it at %s",
				loss.key, Stamp(r.At), by.Kind, by.ID, Stamp(loss.at)))
		}
		f.groupViolation(found, l, op, contract.GrantHasMembers, op.Return, cause, "its commands had got it %d of %d members, of which a hold needs %d", holds, len(c.members), c.needed)
	case counted < c.needed:
		f.groupViolation(found, l, op, contract.ReentryCounts, op.Return, cause, "it counted one hold more on %d of %d members, of which a hold needs %d", counted, len(c.members), c.needed)
	case valid < c.needed:
		if paused := f.struckBy(op.Client, l.name, op.Call, op.Return, []history.Effect{history.ProcessStopped}); len(paused) > 0 {
			cause = f.blame("at that time "+f.describeAll(paused), paused)
		}
		f.groupViolation(found, l, op, contract.ValidityLeft, op.Return, cause, "counted from the requests, the leases of %d of %d members lasted, of which a hold needs %d", valid, len(c.members), c.needed)
	}
}

// givenBackByCopy is the member that a call gave back by a request that had reached the server before, and when; 0: it did not.
func (f *facts) givenBackByCopy(c *composition, op *history.Op) (memberKey, time.Duration) {
	for _, key := range c.members {
		for _, ch := range f.view.members[key].changes(f, op, op.Call, op.Return) {
			if ch.holds < 0 && ch.row.Op == op.ID && ch.row.Request > 0 && slices.ContainsFunc(f.log.byOp[op.ID], func(i int) bool {
				r := &f.h.Served[i]
				return r.Request == ch.row.Request && r.Server == key.server && r.At < ch.row.At
			}) {
				return key, ch.row.At
			}
		}
	}
	return memberKey{}, 0
}

// takenLate is the first command by which a call lost a member that an earlier call of its owner had its client give back. nil: there
// is none.
func (f *facts) takenLate(l *lockFacts, c *composition, op *history.Op) *history.Served {
	for _, key := range c.members {
		for _, ch := range f.view.members[key].changes(f, op, op.Call, op.Return) {
			if ch.holds < 0 && f.givenFor(l, op.Owner, ch.row, op.Call) != nil {
				return ch.row
			}
		}
	}
	return nil
}

// renewedMeanwhile reports whether the client of a call renewed a member for its owner while the call was under way, so that the
// lease lasts when that returns.
func (f *facts) renewedMeanwhile(m *member, op *history.Op) bool {
	return slices.ContainsFunc(m.rows, func(i int) bool {
		r := &f.h.Served[i]
		return r.Step == history.StepRenew && r.Client == op.Client && op.Call <= r.At && 0 < r.Got && r.Got <= op.Return &&
			r.After.Count(op.Owner) > 0 && r.Sent+r.After.Deadline-r.At+f.exact() >= op.Return
	})
}

// answeredUnlock checks what the caller of an unlock was told against the members that it held meanwhile.
func (f *facts) answeredUnlock(l *lockFacts, c *composition, op *history.Op, found *violations) {
	if len(f.h.Served) == 0 {
		return
	}
	least, most := f.view.held(c, op.Owner, op.Call-f.exact(), op.Return+f.exact())
	cause := Cause{Class: contract.Unexplained, Text: "the lock answered so all the same"}
	untold := f.untoldOf(c, op)
	tell := func(rule contract.Rule, has int) {
		if has < c.needed && has+len(untold) >= c.needed {
			cause = f.untoldLoss(l, op.Owner, untold[0])
		}
		f.groupViolation(found, l, op, rule, op.Return, cause, "its owner held %d of %d members, of which a hold needs %d", has, len(c.members), c.needed)
	}
	switch {
	case op.Outcome == history.NotHeld && least >= c.needed:
		tell(contract.NotHeldIsTrue, least)
	case op.Outcome != history.Released && op.Outcome != history.Decremented:
	case most < c.needed && f.gaveMembers(c, op) < c.needed: // it may have had them one after the other
		tell(contract.HolderHasEnough, most)
	case op.Outcome == history.Released && least >= c.needed && f.leftOf(c, op) >= c.needed: // or an earlier call took them anew meanwhile
		tell(contract.OneHoldAnUnlock, least)
	case op.Outcome == history.Decremented:
		if _, left := f.view.held(c, op.Owner, f.firstGiven(c, op), op.Return+f.exact()); left < c.needed {
			tell(contract.OneHoldAnUnlock, left)
		}
	}
}

// leftOf is how many members an unlock left its owner, by its own commands. A member to which it sent none counts as it was when
// the unlock returned.
func (f *facts) leftOf(c *composition, op *history.Op) (left int) {
	for _, key := range c.members {
		m := f.view.members[key]
		has := m.at(op.Return).KeyState.Count(op.Owner) > 0
		for _, i := range f.view.commands[op.ID] {
			if r := &f.h.Served[i]; r.Server == key.server && r.Lock == key.key && r.At <= op.Return {
				has = r.After.Count(op.Owner) > 0
			}
		}
		if has {
			left++
		}
	}
	return left
}

// gaveMembers is how many members the commands of an unlock gave back.
func (f *facts) gaveMembers(c *composition, op *history.Op) (given int) {
	for _, key := range c.members {
		if slices.ContainsFunc(f.view.members[key].changes(f, op, op.Call, op.Return), func(ch change) bool { return ch.holds < 0 && ch.row.Op == op.ID }) {
			given++
		}
	}
	return given
}

// firstGiven is when a command of an unlock first gave back a member; when it returned, if none did.
func (f *facts) firstGiven(c *composition, op *history.Op) time.Duration {
	first := op.Return
	for _, key := range c.members {
		for _, ch := range f.view.members[key].changes(f, op, op.Call, op.Return) {
			if ch.holds < 0 {
				first = min(first, ch.row.At)
			}
		}
	}
	return first
}

// takesEffectOnce looks for members on which a call took effect more often than once. That a member of a quorum is taken
// when the call has returned already, with enough of the others, is no fault.
func (f *facts) takesEffectOnce(l *lockFacts, c *composition, op *history.Op, found *violations) {
	step := int64(1)
	if !op.Kind.Acquires() {
		step = -1
	}
	for _, key := range c.members {
		m, sum, first := f.view.members[key], int64(0), op.Return
		had := m.at(op.Call).KeyState.Count(op.Owner)
		for _, ch := range m.changes(f, op, op.Call, f.end) {
			if ch.row.Op == 0 && step > 0 && ch.holds < 0 { // an attempt of it was given back
				sum = max(0, sum+ch.holds)
			}
			if ch.row.Op != op.ID || ch.holds == 0 {
				continue
			}
			first = min(first, cmp.Or(f.copiedBy(ch.row), ch.row).At)
			if sum += ch.holds; step > 0 {
				sum = min(sum, ch.left-had) // what it took before may have been taken from it
			}
			if sum*step <= 1 || m.until(op.Owner, ch.row.At, ch.left) <= f.memberLimit(c, op, key, op.Return) {
				continue
			}
			text := fmt.Sprintf("it took effect on its member %s once more, at %s", key, Stamp(ch.row.At))
			cause := f.twice(l, op, ch.row.At, text)
			cause.executed.first = first
			f.forgotten(op, &cause, func(fault *history.Fault) bool { return fault.Server == "" || fault.Server == key.server })
			f.groupViolation(found, l, op, contract.AtMostOnce, ch.row.At, cause, "%s", text)
			break
		}
	}
}

// othersHolds looks for commands of a call that took a member which another owner held, or took another owner's hold
// away. A forced unlock may.
func (f *facts) othersHolds(l *lockFacts, c *composition, op *history.Op, found *violations) {
	for _, i := range f.view.commands[op.ID] {
		r := &f.h.Served[i]
		key := memberKey{r.Server, r.Lock}
		if !slices.Contains(c.members, key) || op.Kind.Forces() {
			continue
		}
		if d := r.Before.Deadline; d > 0 && d <= r.At+f.exact() {
			continue // whoever held it then had it no longer when the command was executed: its lease was over
		}
		for _, h := range r.Before.Holdings {
			if h.Owner == op.Owner {
				continue
			}
			switch {
			case r.After.Count(op.Owner) > r.Before.Count(op.Owner):
				f.groupViolation(found, l, op, contract.OneHolder, r.At, Cause{Class: contract.GrantedTwice, Text: "the lock took it all the same"},
					"at %s it took its member %s, which %s held", Stamp(r.At), key, h.Owner)
				return
			case r.After.Count(h.Owner) < h.Count:
				f.groupViolation(found, l, op, contract.HolderReleases, r.At, Cause{Class: contract.ForeignRelease, Text: "the lock gave it back all the same"},
					"at %s it gave back its member %s, which %s held", Stamp(r.At), key, h.Owner)
				return
			}
		}
	}
}

// memberLease checks the lease that a call has set on a member.
func (f *facts) memberLease(l *lockFacts, op *history.Op, key memberKey, took change, asked time.Duration, found *violations) {
	if asked == 0 || took.left == 0 {
		return
	}
	set := took.row.After.Deadline - took.row.At
	again := took.left > took.holds
	if was, is := took.row.Before.Deadline, took.row.After.Deadline; again && f.h.Can(string(contract.KeepsLongest)) && is > 0 && is < was-f.exact() &&
		f.believes(l, op.Owner, op.Call) {
		f.groupViolation(found, l, op, contract.MemberLease, took.row.At, Cause{Class: contract.Unexplained, Text: "the lock set it so by itself"},
			"its owner held its member %s until %s, and then only until %s", key, Stamp(was), Stamp(is))
	}
	most := asked     // it may count on that
	if op.Fresh > 0 { // its owner took it for a re-entry, and had lost the member, or never had it
		asked = min(asked, f.longestAsked(op, key, took.row))
	}
	endless := took.row.After.Deadline == 0
	if again && f.h.Can(string(contract.KeepsLongest)) { // a re-entry leaves the longest lease, or sets it anew
		most = max(most, f.longestAsked(op, key, took.row), took.row.Before.Deadline-took.row.At, f.longestCounted(l, op, key))
	} else {
		most = asked
	}
	if endless || set > most+f.exact() || set < asked-f.exact() {
		lease := short(set)
		if endless {
			lease = "no end"
		}
		f.groupViolation(found, l, op, contract.MemberLease, took.row.At, Cause{Class: contract.Unexplained, Text: "the lock set it so by itself"},
			"it asked for a lease of %s, and its member %s got %s", short(asked), key, lease)
	}
}

// believes reports whether at a time an owner believes in a hold of a lock, or of another that shares members with it. What it has
// of a member otherwise, it does not count on.
func (f *facts) believes(l *lockFacts, owner string, at time.Duration) bool {
	return slices.ContainsFunc(append([]*lockFacts{l}, f.view.sharing[l.name]...), func(l *lockFacts) bool { return len(l.owner(owner).lasting(at, at)) > 0 })
}

func (k memberKey) String() string {
	if k.server == "" {
		return k.key
	}
	return k.key + " on " + k.server
}

// refused looks for a tryLock that failed for no reason: all along, enough members were to be had. A member was not
// if somebody else held it, if its client could not reach it, or if it was taken away from the call. A lease that is
// shorter than an attempt may be over before the last answer, and whoever gives a call up gets nothing.
func (f *facts) refused(l *lockFacts, c *composition, op *history.Op, found *violations) {
	lease := cmp.Or(op.Fresh, op.Asked, op.Lease)                                       // for how long it asks each member, whatever its owner has of it
	hasty := op.Outcome == history.Unknown && 0 < op.Wait && op.Wait < f.groupPrompt(c) // its time is over before an attempt is
	if hasty || cancelled(op) || f.stale(op) || lease > 0 && (lease < f.groupPrompt(c) || f.givesUp(c, op, lease)) {
		return
	}
	left := 0
	for _, key := range c.members {
		m := f.view.members[key]
		if len(m.busy(op.Owner, op.Call, op.Return)) == 0 && !m.lost(f, op) && len(f.memberObstacles(op.Client, key, op.Call, op.Return)) == 0 {
			left++
		}
	}
	if left >= c.needed {
		f.groupViolation(found, l, op, contract.RefusedWhileTaken, op.Return, Cause{Class: contract.Unexplained, Text: "no fault explains why it failed"},
			"%d of %d members were to be had all along, of which a hold needs %d", left, len(c.members), c.needed)
	}
}

// givesUp reports whether a group that needs not all of its members may stop asking one before it can answer: the Redlock algorithm
// (redis.io) asks each for a time that is small against the lease, a tenth at most. To answer takes a connection, a script that the
// server does not know, and its text.
func (f *facts) givesUp(c *composition, op *history.Op, lease time.Duration) bool {
	need := 6 * f.latency()
	if slices.ContainsFunc(f.h.Served, func(r history.Served) bool {
		return r.Client == op.Client && r.Owner == op.Owner && r.Op != op.ID && op.Call <= r.Sent && r.Sent <= op.Return && slices.Contains(c.members, memberKey{r.Server, r.Lock})
	}) {
		need += 4 * f.latency() // what a call before has left is settled first, also by a script
	}
	return c.needed < len(c.members) && lease/10 < need
}

// patientGroup checks the time that a tryLock took that was refused. It may leave out an attempt that would
// begin just before its time.
func (f *facts) patientGroup(l *lockFacts, c *composition, op *history.Op, found *violations) {
	if op.Kind.Plain() != history.TryLock || cancelled(op) {
		return
	}
	whole, away := f.groupObstacles(op.Client, c, op.Call, op.Return)
	took, most := op.Return-op.Call, op.Wait+f.groupPrompt(c)+4*f.latency()+f.awayTime(away)
	cause := Cause{Class: contract.Unexplained, Text: "no fault on the client explains it"}
	switch {
	case op.Outcome == history.Busy && took < op.Wait-promptTolerance:
		f.groupViolation(found, l, op, contract.WaitsItsTime, op.Return, cause, "it gave up after %s of %s", short(took), short(op.Wait))
	case took > most && opportunity(op.Call, op.Return, whole) > most:
		f.groupViolation(found, l, op, contract.ReturnsInTime, op.Return, cause, "it took %s, with a wait of %s", short(took), short(op.Wait))
	}
}

// keptNone looks for members that an attempt has taken, and not given back soon after it failed.
func (f *facts) keptNone(l *lockFacts, c *composition, op *history.Op, found *violations) {
	for _, key := range c.members {
		m := f.view.members[key]
		took, ok := kept(m.changes(f, op, op.Call, f.end))
		if !ok {
			continue
		}
		f.leftHeld(l, c, op, key, took.row, took.row.At, took.left, contract.AllOrNone, found)
	}
}

// gaveEach looks for members that an unlock leaves as they were. Who was not granted the group has none to give back.
func (f *facts) gaveEach(l *lockFacts, c *composition, op *history.Op, found *violations) {
	if givenUp(op) || !f.owes(l, op.Owner, op.Call-1) {
		return
	}
	for _, key := range c.members {
		m := f.view.members[key]
		if gaveBack(m.changes(f, op, op.Call, f.memberLimit(c, op, key, op.Return))) {
			continue
		}
		if t := l.owner(op.Owner).tenure(op.Call); t != nil && !t.open && t.to <= m.since(op.Owner, op.Call) && f.sharedHold(l, op.Owner, op.Call, op.Call) {
			continue // the group was lost before its owner took this one by another lock
		}
		holds := m.at(op.Call).KeyState.Count(op.Owner)
		if inner := f.innerOf(l, op); inner != nil && holds <= m.at(inner.Call).Count(op.Owner) {
			continue // of an outer hold, which it has to give back yet: the inner one had none
		}
		told := func(e *history.Event) bool { return e.Kind == history.Lost && e.Owner == op.Owner && e.At <= op.Call }
		if holds <= f.owed(l, op.Owner, 0, op.Return) && slices.ContainsFunc(l.events, told) {
			continue // of a grant before, which its owner was told is lost as a whole, and has still to give back
		}
		if holds > 0 && (m.reenters || m.takenFor(f, l, op)) {
			f.leftHeld(l, c, op, key, nil, op.Call, holds, contract.EveryMemberReleased, found)
		}
	}
}

// memberLimit is when the client of a call has had the opportunity to give a member back after a time.
func (f *facts) memberLimit(c *composition, op *history.Op, key memberKey, from time.Duration) time.Duration {
	return enough(from, f.groupPrompt(c), f.memberObstacles(op.Client, key, op.Call, f.end))
}

// sharedHold reports whether an owner has or asks for a hold in [from, to] of another lock that a lock shares
// members with: what it does to those is then not done to this one alone. So it may be after that, too: where the
// group has lost a member, another one may keep a hold of which its owner was told that it is over.
func (f *facts) sharedHold(l *lockFacts, owner string, from, to time.Duration) bool {
	if f.view == nil {
		return false
	}
	return slices.ContainsFunc(f.view.sharing[l.name], func(other *lockFacts) bool {
		o := other.owner(owner)
		return len(o.lasting(from, to)) > 0 || slices.ContainsFunc(o.ops, func(op *history.Op) bool {
			return !op.Aside && !op.Kind.Renews() && op.Call <= to && (op.Pending() || op.Return >= from)
		})
	})
}

// heldThrough reports whether somebody believes until the end in a lock that shares members with a lock.
func (f *facts) heldThrough(l *lockFacts) bool {
	return f.view != nil && slices.ContainsFunc(f.view.sharing[l.name], func(other *lockFacts) bool {
		return slices.ContainsFunc(other.beliefs, func(b *belief) bool { return b.open })
	})
}

// sharedMembers looks for two who believed at once in locks that exclude each other. Each pair of locks is
// looked at once, from that which is first by name.
func (f *facts) sharedMembers(l *lockFacts, c *composition, found *violations) (overlapped float64) {
	for _, other := range f.view.sharing[l.name] {
		if d := f.view.locks[other.name]; other.name < l.name || !c.exclude(d) {
			continue
		}
		rest := other.beliefs
		for _, a := range l.beliefs {
			for len(rest) > 0 && rest[0].to <= a.from { // those of l begin later and later
				rest = rest[1:]
			}
			for _, b := range rest {
				if b.from >= a.to {
					break
				}
				if from, to := max(a.from, b.from), min(a.to, b.to); a.owner != b.owner && from < to {
					f.believedBoth(l, a, other, b, from, to, found)
					overlapped += float64(to - from)
				}
			}
		}
	}
	return overlapped
}

func (f *facts) believedBoth(l *lockFacts, a *belief, other *lockFacts, b *belief, from, to time.Duration, found *violations) {
	if b.grantedAt() < a.grantedAt() {
		l, a, other, b = other, b, l, a
	}
	found.addAt(from, func() Violation {
		cause := f.lostHold(l, a.owner, b.grantedAt())
		if t := other.owner(a.owner).tenure(b.grantedAt()); cause.Class == contract.GrantedTwice && f.composed(l) && t != nil && t.to > a.from {
			cause = f.lostHold(other, a.owner, b.grantedAt()) // of the whole it may have another member still
		}
		if cause.Class == contract.GrantedTwice && f.endedBy(other, b.owner, from) {
			cause = f.lostHold(other, b.owner, from)
		}
		return Violation{
			Rule: contract.SharedMember, Lock: l.name, From: from, To: to, Ops: []int64{b.acquire.ID, a.acquire.ID}, Owners: []string{a.owner, b.owner},
			Text: fmt.Sprintf("%s believed that it held %s, and %s that it held %s, which need the same member, from %s to %s, for %s",
				a.owner, l.name, b.owner, other.name, Stamp(from), Stamp(to), short(to-from)),
			Cause: cause,
		}
	})
}
