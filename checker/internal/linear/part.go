package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A Refusal is the first answer, or event, that no order explains.
type Refusal struct {
	Op     int           // its place in Lock.Ops, or -1
	Event  int           // its place in Lock.Events, or -1
	From   time.Duration // since then the answers leave a doubt
	To     time.Duration // the end of the answer
	Before int           // how many answers came before it, of its owner if Found.Alone
	States []model.State // in which the lock can have been then
	Why    error         // what the model says to it in the first of them
}

// Refusal tells what a search found.
func (s *Search) Refusal(r Found) Refusal {
	i := s.c.marks[r.stuck.at].action()
	a := &s.c.actions[i]
	found := Refusal{Op: int(a.index), Event: -1, From: timeOf(s.momentOf(r.cut.at)), To: timeOf(a.ret)}
	if r.Alone {
		found.From = timeOf(a.call)
	}
	for j := range s.c.actions {
		if b := &s.c.actions[j]; b.owner != 0 && b.ret < a.ret && (!r.Alone || b.owner == a.owner) {
			found.Before++
		}
	}
	for _, st := range r.stuck.states {
		found.States = append(found.States, s.model(st))
	}
	kind, l := s.p.lock.Model, s.p.lock
	if a.index >= 0 {
		_, found.Why = kind.Step(found.States[0], closed(l.Ops[a.index]))
	} else {
		found.Op, found.Event = -1, int(^a.index)
		_, found.Why = kind.Environment(found.States[0], *l.Events[^a.index])
	}
	return found
}

// closed is an operation with its outcome as the evidence closes it, and as it is otherwise.
func closed(p *history.Op) history.Op {
	op := *p
	if op.Uncertain() && op.Evidence == history.Executed {
		if op.Outcome, op.Return = op.Answer, max(op.Executed, 1); op.Token == 0 {
			op.Token = model.UnheardToken
		}
	}
	return op
}

func (s *Search) model(st state) model.State {
	lock := model.State{Owner: s.p.names[st.owner], Count: int64(st.count), Token: st.token}
	if st.owner != 0 {
		lock.Earliest, lock.Latest = time.Duration(st.early), time.Duration(st.late)
	}
	return lock
}

func (s *Search) momentOf(mark int) int64 {
	m := s.c.marks[mark]
	if a := &s.c.actions[m.action()]; m.begins() {
		return a.call
	} else {
		return a.ret
	}
}

// Part asks porcupine about the part of a history from the last cut to the answer that cannot
// be explained: what was under way at the cut and had not taken effect, and what was called
// since; or, when the calls of one owner show it by themselves, about those.
// Marks stand for times, so that ties are as the search saw them. What ends later may not have taken effect yet.
func (s *Search) Part(r Found) porcupine.CheckResult {
	var ops []porcupine.Operation
	l := s.p.lock
	owner := s.c.actions[s.c.marks[r.stuck.at].action()].owner
	refused := func(a *action) bool { return a.verb == findsBusy && s.machine.reentrant }
	silent := func(a *action) bool { // of what one owner's calls show by themselves
		return r.Alone && (a.owner != owner || !a.verb.counts() && !refused(a))
	}
	for i := range s.c.actions {
		a := &s.c.actions[i]
		begins, ends := int(s.c.begins[i]), int(s.c.ends[i])
		if a.ret == open {
			ends = len(s.c.marks)
		}
		if begins > r.stuck.at || ends < r.cut.at || silent(a) {
			continue
		}
		if begins < r.cut.at {
			if a.ret != open && r.cut.cfg.done.has(s.c.slot[i]) || a.ret == open && s.settled(int32(i)) {
				continue
			}
			begins = r.cut.at - 1
		}
		in := &Step{id: s.idOf(int32(i)), Maybe: !a.certain && a.ret != open}
		before := s.c.order.touches[i]
		for before >= 0 && silent(&s.c.actions[before]) {
			before = s.c.order.touches[before]
		}
		if before >= 0 {
			in.after = []int64{s.idOf(before)}
		}
		if a.index >= 0 {
			if in.Op = closed(l.Ops[a.index]); r.Alone && refused(a) {
				in.Op.Kind, in.Op.Outcome = history.Unlock, history.NotHeld // nobody else is there to refuse it for
			}
		} else {
			in.Event = l.Events[^a.index]
		}
		if ends > r.stuck.at {
			in.Later, ends = true, len(s.c.marks)
		}
		ops = append(ops, porcupine.Operation{ClientId: int(a.owner), Input: in, Call: int64(begins), Return: int64(ends)})
	}
	if !Few(ops) {
		return porcupine.Unknown
	}
	return Ask(s.ctx, l.from(s.model(r.cut.cfg.state), ops), ops, s.most.Budget)
}

// idOf is what a Step calls an action.
func (s *Search) idOf(action int32) int64 {
	if i := s.c.actions[action].index; i >= 0 {
		return s.p.lock.Ops[i].ID
	} else {
		return int64(i)
	}
}

// settled reports whether a cut took a token as spent.
func (s *Search) settled(action int32) bool {
	g := s.c.tokens.groups[s.c.tokens.of[action]]
	return slices.Index(g.members, action) < int(g.settled)
}
