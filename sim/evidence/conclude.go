package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Conclude returns a history with what its server log shows: evidence on its calls, what locks did by
// themselves, and owners' names for the values of keys. What was concluded of it before is concluded anew. The
// history that it is given stays as it is.
func Conclude(h *history.History) *history.History {
	if h.Header.Layout.Unknown != "" {
		return answersAlone(h)
	}
	c := &conclusion{h: forget(h), byID: map[int64]*history.Op{}, state: map[Part]history.KeyState{}, clients: map[string]string{},
		lost: map[owned]time.Duration{}, grants: map[owned][]time.Duration{}, since: map[owned][]lease{},
		undid: map[int64]bool{}, repeated: map[int64][]time.Duration{}, effective: map[effects]bool{}, executes: map[effects]bool{}, apart: map[apart]int64{}, ops: map[*history.Served][]int64{}, executed: map[*history.Served]bool{}, upgrades: map[int64]time.Duration{}}
	c.locks = locksOf(c.h)
	for i := range c.h.Ops {
		op := c.h.Ops[i]
		c.all = append(c.all, &op)
		if op.Kind.Acquires() && op.Outcome == history.Acquired {
			of := owned{op.Owner, op.Lock}
			c.grants[of] = append(c.grants[of], op.Return)
		}
		c.byID[op.ID], c.clients[op.Owner], c.next = &op, op.Client, max(c.next, op.ID)
	}
	for _, do := range c.moments() {
		do()
	}
	c.h.Ops = nil
	for _, op := range c.all {
		c.h.Ops = append(c.h.Ops, *op)
	}
	slices.SortStableFunc(c.h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	c.h.Events = c.events
	return c.h
}

// forget returns a copy of a history without what was concluded of it.
func forget(h *history.History) *history.History {
	raws := *h
	raws.Ops, raws.Events, raws.Served = nil, nil, slices.Clone(h.Served)
	for _, op := range h.Ops {
		if op.Kind.OnLock() && (op.Aside || op.Kind.Renews()) {
			continue
		}
		if op.Kind.OnLock() && op.Evidence == history.Executed {
			op.Evidence, op.Executed, op.Within, op.Answer, op.Repeats = history.Sent, 0, 0, "", 0
			if op.Asked > 0 {
				op.Lease, op.Asked = op.Asked, 0
			}
			if op.Kind.Object() == history.APermitSemaphore && op.Kind.Asks() && op.Outcome != history.Acquired {
				op.Token = 0
			}
		}
		raws.Ops = append(raws.Ops, op)
	}
	for _, e := range h.Events {
		if !e.Concluded {
			raws.Events = append(raws.Events, e)
		}
	}
	for i := range raws.Served {
		r := &raws.Served[i]
		r.Before, r.After = raw(r.Before), raw(r.After)
		if r.Step != history.StepAdmin {
			r.Owner = ""
		}
		if call := r.Op; call != 0 && !slices.ContainsFunc(raws.Ops, func(op history.Op) bool { return op.ID == call }) {
			r.Op = 0 // an operation that was concluded
		}
	}
	return &raws
}

// conclusion is one in the making.
type conclusion struct {
	h       *history.History
	all     []*history.Op
	byID    map[int64]*history.Op
	next    int64
	events  []history.Event
	locks   []*lock
	names   Names
	clients map[string]string // by owner
	state   map[Part]history.KeyState
	now     time.Duration // of what is looked at
	within  time.Duration // how exactly that is known
	request int64         // of the command that is looked at, if it belongs to no call

	lost      map[owned]time.Duration     // when owners were last told that their holds are over
	grants    map[owned][]time.Duration   // when they were told of grants
	since     map[owned][]lease           // what owners hold who were told that they had lost it, and were granted it anew
	undid     map[int64]bool              // acquiring calls that have given back what they had taken
	sent      int64                       // the request of the command that is looked at
	repeated  map[int64][]time.Duration   // when calls took effect by another request than before, since they last gave back what they had taken
	effective map[effects]bool            // requests of calls that took effect
	executes  map[effects]bool            // requests of calls that the server executed
	apart     map[apart]int64             // of commands that belong to no call: the operation that the first copy was
	ops       map[*history.Served][]int64 // the operations recorded for a row that belongs to no call
	executed  map[*history.Served]bool    // rows with which their call was executed
	upgrades  map[int64]time.Duration     // calls of a writer that the server executed while their owner read, and when first
}

// effects are what one request of a call did.
type effects struct{ call, request int64 }

// apart is a request that belongs to no call, and the lock that it concerns.
type apart struct {
	request int64
	lock    string
}

// moments lists all that happened, in order. At one instant the fault injector comes first, then what became of
// locks, commands, answers, and returns.
func (c *conclusion) moments() []func() {
	type moment struct {
		at   time.Duration
		rank int
		do   func()
	}
	var all []moment
	served := c.h.Served
	for i := 0; i < len(served); {
		n := i + 1
		for n < len(served) && oneCommand(&served[i], &served[n]) {
			n++
		}
		rows := make([]*history.Served, 0, n-i)
		for ; i < n; i++ {
			rows = append(rows, &served[i])
		}
		if rows[0].Step == history.StepAdmin {
			all = append(all, moment{rows[0].At, 0, func() { c.injected(rows) }})
			continue
		}
		all = append(all, moment{rows[0].At, 2, func() { c.command(rows) }})
		if rows[0].Got > 0 {
			all = append(all, moment{rows[0].Got, 3, func() { c.answered(rows) }})
		}
	}
	for _, e := range c.h.Events {
		all = append(all, moment{e.At, 1, func() { c.event(e) }})
	}
	for _, op := range c.all {
		if l := c.lock(op.Lock); !op.Pending() && l != nil && !l.simple() {
			all = append(all, moment{op.Return, 4, func() { c.granted(op.ID, l) }})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), a.rank-b.rank) })
	does := make([]func(), len(all))
	for i, m := range all {
		does[i] = func() {
			c.expire(m.at)
			c.now, c.within = m.at, 0
			m.do()
		}
	}
	return does
}

// oneCommand reports whether two rows of the log are of one command, which has one for each key.
func oneCommand(a, b *history.Served) bool {
	return a.At == b.At && a.Sent == b.Sent && a.Server == b.Server && a.Conn == b.Conn && a.Text == b.Text && a.Lock != b.Lock
}

func (c *conclusion) lock(name string) *lock {
	i := slices.IndexFunc(c.locks, func(l *lock) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return c.locks[i]
}

// of lists the locks that a key is part of.
func (c *conclusion) of(p Part) []*lock {
	var all []*lock
	for _, l := range c.locks {
		if slices.Contains(l.parts, p) {
			all = append(all, l)
		}
	}
	return all
}

// op is an operation as it is known now.
func (c *conclusion) op(id int64) history.Op {
	op := *c.byID[id]
	if op.Return > c.now {
		op = op.Unanswered()
	}
	return op
}

func (c *conclusion) amend(id int64, change func(op *history.Op)) { change(c.byID[id]) }

// add adds an operation that is no call.
func (c *conclusion) add(op history.Op) int64 {
	c.next++
	op.ID = c.next
	if l := c.lock(op.Lock); l != nil {
		op.Kind = op.Kind.As(l.object, op.Owner)
	}
	c.all = append(c.all, &op)
	c.byID[op.ID] = &op
	return op.ID
}

// tell adds an event of the environment that the log shows.
func (c *conclusion) tell(e history.Event) {
	e.Concluded = true
	c.events = append(c.events, e)
}

// expire ends the leases that are over by a time.
func (c *conclusion) expire(at time.Duration) {
	for {
		first, found := Part{}, false
		for _, l := range c.locks {
			for _, p := range l.parts {
				if d := c.state[p].Deadline; d > 0 && d <= at && (!found || d < c.state[first].Deadline) {
					first, found = p, true
				}
			}
		}
		if !found {
			return
		}
		c.now = c.state[first].Deadline
		c.befalls(first, history.KeyState{})
	}
}

// befalls notes what became of a key without a client.
func (c *conclusion) befalls(p Part, after history.KeyState) {
	c.state[p] = after
	for _, l := range c.of(p) {
		before := l.last
		l.last = l.whole(c.state)
		if !l.simple() && !before.Equal(l.last) {
			l.completed[c.now] = c.completes(l, before) // what befalls another key at this instant may end more than the unlock gave
		}
	}
}

// injected takes up what the fault injector did.
func (c *conclusion) injected(rows []*history.Served) {
	for _, r := range rows {
		if r.Lock == "" || r.Before == nil || r.After == nil {
			continue
		}
		p := Part{r.Server, r.Lock}
		before, after := c.names.of(p, *r.Before), c.names.of(p, *r.After)
		if len(before.Holdings) == 1 && len(after.Holdings) == 1 && before.Holdings[0].Owner == after.Holdings[0].Owner &&
			before.Holdings[0].Value != after.Holdings[0].Value {
			for _, l := range c.of(p) {
				l.older = r.At
			}
		}
		r.Before, r.After = &before, &after
		c.befalls(p, after)
	}
}

// event takes up what became of a lock.
func (c *conclusion) event(e history.Event) {
	l := c.lock(e.Lock)
	if e.Kind == history.Lost {
		c.lost[owned{e.Owner, e.Lock}] = e.At
	}
	switch {
	case e.Owner == "" || e.Client != "": // of nobody, or of an owner by his name
	case l != nil:
		e.Owner = c.names.Owner(l.parts[0], e.Owner)
	default: // a member that is left over
		key, server, _ := strings.Cut(e.Lock, "@")
		e.Owner = c.names.Owner(Part{server, key}, e.Owner)
	}
	if l != nil && l.completed[e.At] {
		return
	}
	if l != nil && l.simple() && l.older > 0 && e.Kind == history.Restore && e.At-l.older <= 1 {
		// Another hold of the same owner: one ends before the other is there.
		c.tell(history.Event{At: l.older, Kind: history.Delete, Lock: l.name, Note: e.Note})
		e.At = l.older + 1
	}
	c.events = append(c.events, e)
}

// command takes up a command that the server executed: of each lock once, however many of its keys it names.
func (c *conclusion) command(rows []*history.Served) {
	c.now = endOf(rows[0])
	if c.h.Header.Timescale > 0 {
		c.within = c.now - rows[0].At + Exactly(c.h.Header.Timescale)
	}
	call := rows[0].Op
	c.sent = rows[0].Request
	var op history.Op
	if c.request = rows[0].Request; call != 0 {
		op, c.request = c.op(call), 0
	}
	by := op
	if rows[0].For != 0 {
		by = c.op(rows[0].For)
	}
	was := map[*lock]history.KeyState{}
	for _, r := range rows {
		if r.Lock == "" || r.Before == nil || r.After == nil {
			continue
		}
		p := Part{r.Server, r.Lock}
		before := c.names.of(p, *r.Before)
		c.state[p] = before
	}
	for _, l := range c.locks {
		was[l] = l.whole(c.state)
	}
	var touched []touch
	for _, r := range rows {
		if r.Lock == "" || r.Before == nil || r.After == nil {
			continue
		}
		p := Part{r.Server, r.Lock}
		owners := []string{op.Owner}
		if call == 0 {
			owners = c.ownersIn(r)
		}
		r.Owner = owners[0]
		c.names.Learn(p, by, *r, *r.Before, *r.After, func(name string) (string, bool) { client, ok := c.clients[name]; return client, ok })
		before, after := c.state[p], c.names.of(p, *r.After)
		r.Before, r.After = &before, &after
		c.state[p] = after
		for _, l := range c.of(p) {
			i := slices.IndexFunc(touched, func(t touch) bool { return t.lock == l })
			if i < 0 {
				i, touched = len(touched), append(touched, touch{lock: l, row: r})
			}
			if call != 0 && op.Lock == l.name && !l.simple() && changed(r) {
				l.goesOn(op, p, after.Count(op.Owner)-before.Count(op.Owner), c.now, l.whole(c.state))
			}
			t := &touched[i]
			if !changed(t.row) && changed(r) {
				t.row = r
			}
			for _, o := range owners {
				if !slices.Contains(t.owners, o) {
					t.owners = append(t.owners, o)
				}
			}
		}
	}
	for _, t := range touched {
		l, r, was := t.lock, t.row, was[t.lock]
		l.last = l.whole(c.state)
		switch {
		case l.object == history.APermitSemaphore:
			c.permits(t, call, was)
			continue
		case l.object.Counted():
			c.number(t, call, was)
			continue
		}
		if l.object == history.ARWLock {
			c.shared(t, call, was)
			continue
		}
		if kept := near(was.Deadline, l.last.Deadline) && !c.h.Can(string(contract.SetsLease)); kept && op.Kind.Unlocks() && l.last.Total() > 0 {
			c.amend(call, func(op *history.Op) { op.Asked, op.Lease = cmp.Or(op.Asked, op.Lease), 0 })
		}
		took := l.last.Count(op.Owner) > was.Count(op.Owner)
		if op.Kind.Acquires() && took && c.endsNow(&op, l, was) {
			c.tell(history.Event{At: c.now - 1, Within: c.within, Kind: history.Expire, Lock: l.name})
			was = history.KeyState{}
		}
		anew := op.Kind.Acquires() && took && 0 < op.Fresh && op.Fresh < op.Lease && l.simple() && c.lostWithin(&op) &&
			l.last.Deadline-c.now <= op.Fresh+time.Millisecond
		if op.Kind.Acquires() && took && c.keeps(&op, l, was) {
			c.amend(call, func(op *history.Op) { op.Asked, op.Lease = cmp.Or(op.Asked, op.Lease), l.last.Deadline-c.now })
		}
		switch {
		case r.Refused && !changed(r): // an error, such as NOSCRIPT, and no effect: it was not executed
		case (call == 0 || op.Kind.Acquires() || op.Kind.Unlocks() || op.Kind.Forces()) && r.Looks() && !changed(r): // its client decides by what it sees, and may send what it has decided
		case call != 0 && op.Lock == l.name && c.testify(call, l, was):
			// A copy that changes nothing may come when something else has set the lease since.
			if c.executed[r] = true; changed(r) && (!l.alone() || c.counted(op.Call, cmp.Or(op.Asked, op.Lease), l) || c.margined(call, l)) {
				c.measure(call, l)
			}
			if anew { // what the call took before it took with the lease of the hold
				c.amend(call, func(now *history.Op) { now.Asked, now.Lease = cmp.Or(op.Asked, op.Lease), op.Fresh })
			}
		case call == 0 && l.simple() || !was.Equal(l.last):
			c.unbidden(t, was)
		}
	}
}

// endsNow reports whether a call takes a lock in the last millisecond of another owner's lease: locks count in whole milliseconds when a lease ends, as
// servers do.
func (c *conclusion) endsNow(op *history.Op, l *lock, was history.KeyState) bool {
	left := was.Deadline - c.now
	return l.simple() && was.Total() > 0 && was.Count(op.Owner) == 0 && l.last.Total() == l.last.Count(op.Owner) && 0 < left && left <= time.Millisecond
}

// keeps reports whether a re-entry of a lock that keeps the longest lease has the hold end as it did before, or with the lease that the call itself
// asks for, whichever is later: the lock need not set the longest anew.
func (c *conclusion) keeps(op *history.Op, l *lock, was history.KeyState) bool {
	if !c.h.Can(string(contract.KeepsLongest)) || !l.simple() || was.Count(op.Owner) == 0 {
		return false
	}
	own := c.now + cmp.Or(op.Fresh, op.Asked, op.Lease)
	if was.Deadline >= own {
		return near(l.last.Deadline, was.Deadline) // it may have set what was left, in whole milliseconds
	}
	return was.Deadline > 0 && 0 < op.Fresh && op.Fresh < op.Lease && (l.last.Deadline-own).Abs() <= time.Millisecond
}

// toldOver reports whether the owner of a call knew that its holds were over.
func (c *conclusion) toldOver(op *history.Op) bool {
	of := owned{op.Owner, op.Lock}
	over, told := c.lost[of]
	return told && over <= op.Call && !slices.ContainsFunc(c.grants[of], func(at time.Duration) bool { return over <= at && at <= op.Call })
}

// lostWithin reports whether the owner of a call was told within it that its holds are over. The call may ask for what it would ask
// for without them.
func (c *conclusion) lostWithin(op *history.Op) bool {
	at, told := c.lost[owned{op.Owner, op.Lock}]
	return told && at >= op.Call
}

// owned is a lock as one owner has it.
type owned struct{ owner, lock string }

// touch is a lock that a command names keys of, the first of whose rows that changed its key, or the first,
// and on whose behalf it names them.
type touch struct {
	lock   *lock
	row    *history.Served
	owners []string
}

// ownersIn returns on whose behalf a client's background names a key: those whose names or values the command
// has for it. If it has none, it is the owner of the call that it carries the context of, as long as that has not begun to
// give the lock back; else those are meant who hold it and are the client's, or else the client.
func (c *conclusion) ownersIn(r *history.Served) []string {
	if len(r.Names) == 0 {
		if r.For != 0 && c.op(r.For).Lock == r.Lock && !c.begunToUnlock(r.For) {
			return []string{c.op(r.For).Owner}
		}
		var own []string
		for _, h := range c.state[Part{r.Server, r.Lock}].Holdings {
			if c.clients[h.Owner] == r.Client {
				own = append(own, h.Owner)
			}
		}
		if len(own) > 0 {
			return own
		}
		if r.For != 0 {
			return []string{c.op(r.For).Owner}
		}
		return []string{r.Client}
	}
	owners := make([]string, len(r.Names))
	for i, name := range r.Names {
		owners[i] = c.names.Owner(Part{r.Server, r.Lock}, name)
	}
	return owners
}

// begunToUnlock reports whether the owner of a call has called an unlock since.
func (c *conclusion) begunToUnlock(call int64) bool {
	known := c.op(call)
	return slices.ContainsFunc(c.all, func(op *history.Op) bool {
		return op.Owner == known.Owner && op.Lock == known.Lock && op.Kind.Unlocks() && !op.Aside && known.Call < op.Call && op.Call <= c.now
	})
}

// answered takes up that the reply to a command has reached its client.
func (c *conclusion) answered(rows []*history.Served) {
	for _, r := range rows {
		c.asked(r)
		for _, id := range c.ops[r] {
			c.amend(id, func(op *history.Op) {
				if op.Return, op.Outcome = c.now, op.Answer; op.Kind.Asks() {
					op.Outcome = history.Unknown // nobody was told
				}
			})
		}
	}
}

// asked notes of a question that was asked more than once that it is this copy whose answer its client has
// got. What counts is no question: the copy that counted is the one that executed the call.
func (c *conclusion) asked(r *history.Served) {
	if r.Op == 0 || !c.executed[r] {
		return
	}
	if l := c.lock(c.op(r.Op).Lock); l != nil && l.object.Counted() {
		return
	}
	at := endOf(r)
	op := c.op(r.Op)
	if op.Evidence == history.Executed && op.Answer == history.OK && op.Executed != at && (op.Pending() || op.Return >= c.now) {
		c.amend(r.Op, func(op *history.Op) { op.Executed = at })
	}
}

// Exactly is how exactly the time of what a server did is known, if it was looked at once, in the plan's time:
// servers count whole milliseconds, and so do deadlines.
func Exactly(timescale float64) time.Duration {
	return time.Duration(float64(2*time.Millisecond) / timescale)
}
