package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A memberKey is a key on a server, of which a lock is made.
type memberKey struct{ server, key string }

// A composition is a lock as its members make it: an owner holds it while it holds enough of them. A lock
// that is one key has one member.
type composition struct {
	name    string
	members []memberKey
	needed  int
	group   bool
}

// memberView is who held which member when, as the server log shows it. It is collected once and never
// changed after; a history without groups that the log shows has none.
type memberView struct {
	locks    map[string]*composition
	members  map[memberKey]*member
	sharing  map[string][]*lockFacts // locks that have a member in common with a lock, itself not included
	commands map[int64][]int         // rows of the server log, by the call that they belong to
}

// member is the history of one key: what became of it from row to row, and its states, which follow each
// other from the beginning of the run to its end.
type member struct {
	rows     []int // of the server log, in its order
	states   []memberState
	reenters bool // whoever holds the key can have it again
}

// memberState is the state of a key in [from, to).
type memberState struct {
	from, to time.Duration
	history.KeyState
	// told is when a waiter can know that the key is free: later than from when nobody told it, so that it
	// has only the latest time to live that it can have seen.
	told   time.Duration
	silent bool // nobody published that it began: a lease ended, or a fault took the key away
}

// viewOf is the member view of a history, nil if it has no groups that the server log shows.
func viewOf(f *facts) *memberView {
	if !slices.ContainsFunc(f.h.Header.Groups, history.Group.Seen) {
		return nil
	}
	v := &memberView{locks: map[string]*composition{}, members: map[memberKey]*member{}, sharing: map[string][]*lockFacts{}, commands: map[int64][]int{}}
	of := func(key memberKey) *member {
		m := v.members[key]
		if m == nil {
			m = &member{reenters: f.options.Model.Reenters()}
			v.members[key] = m
		}
		return m
	}
	for _, g := range f.h.Header.Groups {
		if !g.Seen() {
			continue
		}
		c := &composition{name: g.Name, needed: model.QuorumOf(g).Needed, group: true}
		for i, name := range g.Members {
			key := memberKey{g.Servers[i], name}
			c.members = append(c.members, key)
			of(key) // also if no command touched it
		}
		v.locks[g.Name] = c
	}
	locks := map[int64]string{} // of operations
	for i := range f.h.Ops {
		locks[f.h.Ops[i].ID] = f.h.Ops[i].Lock
	}
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Lock == "" || r.Before == nil || r.After == nil {
			continue
		}
		key := memberKey{r.Server, r.Lock}
		m := of(key)
		m.rows = append(m.rows, i)
		v.commands[r.Op] = append(v.commands[r.Op], i)
		if name := locks[r.Op]; name == r.Lock && v.locks[name] == nil { // a lock of one key, which says where it is
			v.locks[name] = &composition{name: name, members: []memberKey{key}, needed: 1}
		}
	}
	for _, m := range v.members {
		m.states = statesOf(f, m.rows)
	}
	for _, l := range f.locks {
		for _, other := range f.locks {
			if c, d := v.locks[l.name], v.locks[other.name]; l != other && c != nil && d != nil && c.common(d) > 0 {
				v.sharing[l.name] = append(v.sharing[l.name], other)
			}
		}
	}
	return v
}

// composed reports whether a lock is a group whose members the server log shows.
func (f *facts) composed(l *lockFacts) bool {
	return f.view != nil && f.view.locks[l.name] != nil && f.view.locks[l.name].group
}

// byMembers reports whether the answers of a lock are judged by what became of its members: without the server's log nobody
// knows that.
func (f *facts) byMembers(l *lockFacts) bool { return f.composed(l) && len(f.h.Served) > 0 }

// common is how many members two locks share.
func (c *composition) common(d *composition) int {
	n := 0
	for _, m := range c.members {
		if slices.Contains(d.members, m) {
			n++
		}
	}
	return n
}

// exclude reports whether two locks can never be held by two owners at once: they would need more of the
// members that they share than there are.
func (c *composition) exclude(d *composition) bool {
	shared := c.common(d)
	return max(0, c.needed-(len(c.members)-shared))+max(0, d.needed-(len(d.members)-shared)) > shared
}

// statesOf follows a key through its rows. A lease that is over ends the hold at its deadline, and what
// the log does not show between two rows ends at the second.
func statesOf(f *facts, rows []int) []memberState {
	var states []memberState
	now := memberState{}
	var seen time.Duration // the latest deadline that a waiter can have seen of the hold that lasts
	next := func(at time.Duration, s history.KeyState, silent bool) {
		now.to = max(at, now.from)
		states = append(states, now)
		now = memberState{from: now.to, KeyState: s, told: now.to, silent: silent}
		if silent && len(s.Holdings) == 0 {
			now.told = max(now.to, seen)
		}
		if len(s.Holdings) == 0 && !silent { // who waits was told, and looks again
			seen = 0
		}
		if s.Deadline == 0 && len(s.Holdings) > 0 {
			seen = model.Never
		}
		seen = max(seen, s.Deadline)
	}
	lapse := func(by time.Duration) {
		if len(now.Holdings) > 0 && now.Deadline > 0 && now.Deadline <= by {
			next(now.Deadline, history.KeyState{}, true)
		}
	}
	for _, i := range rows {
		r := &f.h.Served[i]
		lapse(r.At)
		if !slices.Equal(now.Holdings, r.Before.Holdings) || now.Deadline != r.Before.Deadline {
			next(r.At, *r.Before, true)
		}
		if !sameKey(r.Before, r.After) {
			next(r.At, *r.After, r.Step == history.StepAdmin)
		}
	}
	lapse(f.end)
	now.to = max(f.end, now.from)
	return append(states, now)
}

// at is the state of the key at a time: after all that happened at it.
func (m *member) at(when time.Duration) memberState {
	n, _ := slices.BinarySearchFunc(m.states, when, func(s memberState, at time.Duration) int { return upTo(s.from, at) })
	return m.states[max(n-1, 0)]
}

// until is when owner's holds of the key, count at a time, became fewer.
func (m *member) until(owner string, when time.Duration, holds int64) time.Duration {
	n, _ := slices.BinarySearchFunc(m.states, when, func(s memberState, at time.Duration) int { return upTo(s.from, at) })
	for _, s := range m.states[max(n-1, 0):] {
		if s.KeyState.Count(owner) < holds {
			return s.from
		}
	}
	return m.states[len(m.states)-1].to
}

// held is how many members of a lock an owner had in [from, to], at least and at most.
func (v *memberView) held(c *composition, owner string, from, to time.Duration) (least, most int) {
	times := []time.Duration{from}
	for _, key := range c.members {
		for _, s := range v.members[key].states {
			if s.from > from && s.from <= to {
				times = append(times, s.from)
			}
		}
	}
	least = len(c.members)
	for _, at := range times {
		n := 0
		for _, key := range c.members {
			if v.members[key].at(at).Count(owner) > 0 {
				n++
			}
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

// busy lists when the key is not to be had, within [from, to], as far as a waiter can know: when others than the owner hold
// it, or of a lock that is not re-entrant, anybody.
func (m *member) busy(owner string, from, to time.Duration) (times [][2]time.Duration) {
	n, _ := slices.BinarySearchFunc(m.states, from, func(s memberState, at time.Duration) int { return upTo(s.from, at) })
	for _, s := range m.states[max(n-1, 0):] {
		if s.from > to {
			break
		}
		until := s.to
		switch {
		case m.reenters && s.KeyState.Count(owner) > 0:
			continue
		case len(s.Holdings) == 0:
			until = min(s.to, s.told)
		}
		if until > from && until > s.from {
			times = append(times, [2]time.Duration{max(s.from, from), min(until, to)})
		}
	}
	return times
}

// lost reports whether a call had a hold of the key that something took from it before it returned: a lease that
// ended, a fault, or a command that was not the call's.
func (m *member) lost(f *facts, op *history.Op) bool {
	by := map[time.Duration]bool{} // when the owner's own commands gave back
	for _, ch := range m.changes(f, op, op.Call, op.Return) {
		if ch.holds < 0 {
			by[ch.row.At] = true
		}
	}
	had := m.at(op.Call).KeyState.Count(op.Owner)
	for _, s := range m.states {
		if s.from <= op.Call || s.from > op.Return {
			continue
		}
		has := s.KeyState.Count(op.Owner)
		if has < had && !by[s.from] {
			return true
		}
		had = has
	}
	return false
}

// had lists when owner could have had a lock within [from, to]: when others held so few of its members, or kept it from
// them, that the rest was enough. The times follow each other and are not empty.
func (v *memberView) had(c *composition, owner string, from, to time.Duration, hindered func(memberKey) []obstacle) (free [][2]time.Duration) {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, key := range c.members {
		times := v.members[key].busy(owner, from, to)
		for _, o := range hindered(key) {
			times = append(times, [2]time.Duration{max(o.from, from), min(o.to, to)})
		}
		slices.SortFunc(times, func(a, b [2]time.Duration) int { return cmpTime(a[0], b[0]) })
		until := from
		for _, b := range times { // each member counts once
			if begin := max(b[0], until); b[1] > begin {
				edges = append(edges, edge{begin, 1}, edge{b[1], -1})
				until = b[1]
			}
		}
	}
	// At one instant what begins is before what ends: a moment between two holders is none.
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmpTime(a.at, b.at), b.step-a.step) })
	taken, begin := 0, from
	for _, e := range edges {
		was := len(c.members)-taken >= c.needed
		taken += e.step
		is := len(c.members)-taken >= c.needed
		if was && !is && e.at > begin {
			free = append(free, [2]time.Duration{begin, e.at})
		}
		if !was && is {
			begin = e.at
		}
	}
	if len(c.members)-taken >= c.needed && to > begin {
		free = append(free, [2]time.Duration{begin, to})
	}
	return free
}

// takenFor reports whether the hold of the key that an owner has at a call was taken by a call that granted that lock. Where holds
// of one owner are told apart, as with a lock that is not re-entrant, another lock's is none of this one's, nor is what a call took
// that did not learn so, or that an unlock left.
func (m *member) takenFor(f *facts, l *lockFacts, op *history.Op) bool {
	for _, i := range slices.Backward(m.rows) {
		r := &f.h.Served[i]
		if r.At <= op.Call && r.After.Count(op.Owner) > r.Before.Count(op.Owner) {
			by, known := f.byID[r.Op]
			if !known {
				return true
			}
			o := &f.h.Ops[by]
			since := l.owner(op.Owner).called(o.Return, op.Call-1)
			return o.Lock == l.name && o.Outcome == history.Acquired && !slices.ContainsFunc(since, func(o *history.Op) bool { return o.Kind.Unlocks() })
		}
	}
	return true
}

// saw is the time to live of others' holds that a call was told last of a key before a time, if the key became free
// then and nobody published that, or a copy of its own took it later. It has no reason to ask again before that.
func (m *member) saw(f *facts, op *history.Op, free time.Duration) time.Duration {
	s := m.at(free)
	for s.KeyState.Count(op.Owner) > 0 && s.from > op.Call {
		s = m.at(s.from - 1)
	}
	if len(s.Holdings) > 0 || !s.silent {
		return 0
	}
	for _, i := range slices.Backward(m.rows) {
		if r := &f.h.Served[i]; r.Op == op.ID && r.At <= free && r.After.Count(op.Owner) == 0 {
			return toldBy(r)
		}
	}
	return 0
}

// A change is what one command for an owner did to the owner's holds of a key.
type change struct {
	row   *history.Served
	own   bool  // it is the call's own command
	holds int64 // how many more
	left  int64 // how many there were then
}

// changes are those of one owner's commands on a key in [from, to], as the server executed them. What others
// did to its holds, and what befell the key, is none of them.
func (m *member) changes(f *facts, op *history.Op, from, to time.Duration) (all []change) {
	first, _ := slices.BinarySearchFunc(m.rows, from, func(i int, at time.Duration) int { return cmpTime(f.h.Served[i].At, at) })
	for _, i := range m.rows[first:] {
		r := &f.h.Served[i]
		if r.At > to {
			break
		}
		was, is := r.Before.Count(op.Owner), r.After.Count(op.Owner)
		// A command of an earlier call that is still under way may say the same, and be this one's as well, unless it was sent before.
		same := r.At <= op.Return && (r.Sent == 0 || r.Sent >= op.Call) && (op.Kind.Acquires() && is > was || op.Kind.Unlocks() && is < was)
		if r.Op == op.ID || r.Owner == op.Owner && r.Step != history.StepAdmin && (r.Op == 0 || same) {
			all = append(all, change{r, r.Op == op.ID, is - was, is})
		}
	}
	return all
}

// kept is the last change that took a hold of which nothing later gave one back; ok is false if there is none. The
// call's own goes before what came in between, such as a copy of an earlier call, which sets its own lease. What its client gives
// back meanwhile, by itself, it has of an earlier call, as long as there is such a hold: a request of that may come late, too.
func kept(all []change) (last change, ok bool) {
	more, mine := make([]int64, len(all)), int64(0)
	for i, ch := range all {
		more[i] = ch.holds
		if ch.holds < 0 && ch.row.Op == 0 {
			earlier := max(0, ch.left-ch.holds-mine)
			more[i] += min(earlier, -ch.holds)
		}
		mine = max(0, mine+more[i])
	}
	sum := int64(0)
	for i := len(all) - 1; i >= 0; i-- {
		if sum += more[i]; more[i] > 0 && sum > 0 && (!ok || all[i].own && !last.own) {
			last, ok = all[i], true
		}
	}
	return last, ok
}

// gaveBack reports whether a hold was given back, after whatever was taken.
func gaveBack(all []change) bool {
	sum := int64(0)
	for i := len(all) - 1; i >= 0; i-- {
		if sum += all[i].holds; sum < 0 {
			return true
		}
	}
	return false
}

// toldBy is the deadline of its key that a command's answer tells, as its client counts it.
func toldBy(s *history.Served) time.Duration { return heardBy(s, s.After.Deadline) }

// heardBy is a deadline that a command's answer tells, as its client counts it: from when it got the answer.
func heardBy(s *history.Served, deadline time.Duration) time.Duration {
	if deadline == 0 || s.Got < s.At {
		return deadline
	}
	return deadline + s.Got - s.At
}
