package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// The checkers of object, as reports name them.
const (
	byWitness   = "witness replay"
	byInterval  = "interval checker"
	byFrontier  = "frontier checker"
	byPorcupine = "porcupine"
	byNotices   = "times of notices"
	byMembers   = "members of groups"
)

// blackBox judges a lock by what its clients were told, and by the server's times if w says so: by
// intervals where they decide, or else by search. What they refuse the search explains, and porcupine looks at a
// second time: at the whole when it is small, or else at the part that shows the violation.
func blackBox(ctx context.Context, f *facts, l *lockFacts, w window) opinion {
	o := opinion{lock: l.name, violations: f.found(contract.Object)}
	actions, names := actionsOf(f, l, w)
	m := machineOf(f.options.Model)
	// porcupine does not know of ends that are inferred, nor of renewals that nobody saw.
	inferred := slices.ContainsFunc(actions, func(a action) bool { return a.verb == lapses || a.set > 0 && a.late == open })
	small := !inferred && fitsPorcupine(l)
	status, decided := byIntervals(actions, len(names), m)
	if decided {
		o.status, o.by = status, []string{byInterval}
	}
	if !decided || status == Broken {
		s, ok := newSearch(ctx, actions, len(names), m, f.options)
		if !ok {
			return o.unexplained(l, fmt.Sprintf("more than %d calls were under way at once", maxSlots))
		}
		r := s.run()
		switch {
		case r.status == Undecided:
			return o.unexplained(l, fmt.Sprintf("the %s came to no answer: %s", byFrontier, r.why))
		case decided && r.status != status:
			o.status = Undecided
			o.disagree = fmt.Sprintf("the checkers disagree on %s: the %s refuses it, the %s does not", l.name, byInterval, byFrontier)
			return o
		case !decided:
			o.by = []string{byFrontier}
		}
		if o.status = r.status; o.status == Broken {
			o.violations.add(func() Violation { return s.explain(f, l, r, names) })
			if inferred {
				return o
			}
			if !small {
				return o.again(l, s.window(ctx, f, l, r, names), "the part that shows the violation")
			}
		}
	}
	if !small || o.status == Holds && f.options.Sparing {
		return o
	}
	return o.again(l, askPorcupine(ctx, f, l, w), "")
}

// unexplained is the opinion when the search came to no answer: what the intervals refused stays
// refused.
func (o opinion) unexplained(l *lockFacts, why string) opinion {
	o.note = why
	if o.status != Broken {
		o.status, o.by = Undecided, []string{byFrontier}
		return o
	}
	o.violations.add(func() Violation {
		return Violation{
			Rule: contract.Linearizable, Lock: l.name,
			Text:  fmt.Sprintf("%s: no order of its %s fits the sequential lock", l.name, count(len(l.ops), "operation")),
			Cause: Cause{Class: contract.Unexplained, Text: "the server's order is not known"},
		}
	})
	return o
}

// again adds porcupine's opinion of the whole, or of a part.
func (o opinion) again(l *lockFacts, second porcupine.CheckResult, of string) opinion {
	agrees := o.status == Holds && second == porcupine.Ok || o.status == Broken && second == porcupine.Illegal
	if of != "" {
		of = " on " + of
	}
	switch {
	case second == porcupine.Unknown:
		o.note = "porcupine came to no answer within its budget"
	case agrees:
		o.by = append(o.by, byPorcupine+of)
	default:
		says := map[Status]string{Holds: "accepts", Broken: "refuses"}
		o.disagree = fmt.Sprintf("the checkers disagree on %s: the %s %s it, porcupine%s does not", l.name, o.by[0], says[o.status], of)
		o.status = Undecided
	}
	return o
}

// explain tells a violation that the search found: the first answer that no order explains.
func (s *search) explain(f *facts, l *lockFacts, r found, names []string) Violation {
	i := s.c.marks[r.stuck.at].action()
	a := &s.c.actions[i]
	v := Violation{Rule: contract.Linearizable, Lock: l.name, From: timeOf(s.momentOf(r.cut.at)), To: timeOf(a.ret)}
	whose := ""
	if r.alone {
		v.From, whose = timeOf(a.call), " of "+names[a.owner]
	}
	before := 0
	for j := range s.c.actions {
		if b := &s.c.actions[j]; b.owner != 0 && b.ret < a.ret && (!r.alone || b.owner == a.owner) {
			before++
		}
	}
	class, what := contract.Unexplained, ""
	var err error
	lock := s.model(r.stuck.states[0], names)
	at := &act{at: timeOf(a.ret)}
	if a.index >= 0 {
		op := closed(l.ops[a.index])
		at.op = l.ops[a.index]
		v.Ops, v.Owners = []int64{op.ID}, []string{op.Owner}
		what = fmt.Sprintf("%s by %s (operation %d)", op.Kind, op.Owner, op.ID)
		_, err = f.options.Model.Step(lock, op)
	} else {
		e := *l.environment[^a.index]
		at.event = l.environment[^a.index]
		what = fmt.Sprintf("the %s at %s", e.Kind, Stamp(e.At))
		if f.outside(&e) {
			e.Kind = history.Delete
		}
		_, err = f.options.Model.Environment(lock, e)
	}
	var illegal *model.Illegal
	if errors.As(err, &illegal) {
		v.Rule, class = illegal.Rule, classOf(illegal.Rule)
		v.Text = fmt.Sprintf("%s: %s", l.name, illegal)
	} else {
		v.Text = fmt.Sprintf("%s: %s cannot be explained", l.name, what)
	}
	v.Text += fmt.Sprintf(", in every order that fits the %s%s before it", count(before, "answer"), whose)
	var others []string
	for _, other := range r.stuck.states[1:] {
		if says := s.model(other, names).String(); says != lock.String() {
			others = appendNew(others, says)
		}
	}
	if len(others) > 0 {
		v.Text += " (or " + strings.Join(others, ", or ") + ")"
	}
	v.Cause = objectCause(f, l, at, class)
	owners := slices.Clone(v.Owners)
	for _, st := range r.stuck.states {
		if st.owner != 0 {
			owners = appendNew(owners, names[st.owner])
		}
	}
	if !f.sentAgain(l, owners, &v) && len(v.Cause.Faults) == 0 {
		s.blame(f, l, r, names, &v)
	}
	return v
}

// blame looks for faults that struck an earlier call of whoever the lock was held by when an answer
// could not be explained, or of whoever got that answer: what they did shows only later.
func (s *search) blame(f *facts, l *lockFacts, r found, names []string, v *Violation) {
	var clients []string
	for _, op := range l.ops {
		for _, st := range r.stuck.states {
			if st.owner != 0 && op.Owner == names[st.owner] || slices.Contains(v.Owners, op.Owner) {
				clients = appendNew(clients, op.Client)
			}
		}
	}
	for _, client := range clients {
		for _, i := range f.struckBy(client, l.name, v.From, v.To, resends) {
			if !slices.Contains(v.Cause.Faults, i) {
				v.Cause.Faults = append(v.Cause.Faults, i)
			}
		}
	}
	if len(v.Cause.Faults) > 0 {
		v.Cause.Effects = f.effectsOf(v.Cause.Faults)
		v.Cause.Text = fmt.Sprintf("since %s, when the answers last left no doubt, %s", Stamp(v.From), f.describeAll(v.Cause.Faults))
	}
}

// classOf is the class of what breaks a rule of the model.
func classOf(r contract.Rule) contract.Class {
	switch r {
	case contract.OneHolder, contract.NoReentry:
		return contract.GrantedTwice
	case contract.HolderReleases:
		return contract.ForeignRelease
	case contract.NotBeforeLease:
		return contract.LeaseExpired
	}
	return contract.Unexplained
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

func (s *search) model(st state, names []string) model.State {
	lock := model.State{Owner: names[st.owner], Count: int64(st.count), Token: st.token}
	if st.owner != 0 {
		lock.Earliest, lock.Latest = time.Duration(st.early), time.Duration(st.late)
	}
	return lock
}

func (s *search) momentOf(mark int) int64 {
	m := s.c.marks[mark]
	if a := &s.c.actions[m.action()]; m.begins() {
		return a.call
	} else {
		return a.ret
	}
}

// window asks porcupine about the part of a history from the last cut to the answer that cannot
// be explained: what was under way at the cut and had not taken effect, and what was called
// since; or, when the calls of one owner show it by themselves, about those. Marks stand for times, so that ties are as the search saw them. What ends later may not
// have taken effect yet.
func (s *search) window(ctx context.Context, f *facts, l *lockFacts, r found, names []string) porcupine.CheckResult {
	var ops []porcupine.Operation
	steps := []edge{}
	owner := s.c.actions[s.c.marks[r.stuck.at].action()].owner
	refused := func(a *action) bool { return a.verb == findsBusy && s.machine.reentrant }
	silent := func(a *action) bool { // of what one owner's calls show by themselves
		return r.alone && (a.owner != owner || !a.verb.counts() && !refused(a))
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
		in := &porcupineStep{id: s.idOf(l, int32(i)), maybe: !a.certain && a.ret != open}
		before := s.c.order.touches[i]
		for before >= 0 && silent(&s.c.actions[before]) {
			before = s.c.order.touches[before]
		}
		if before >= 0 {
			in.after = []int64{s.idOf(l, before)}
		}
		if a.index >= 0 {
			if in.op = closed(l.ops[a.index]); r.alone && refused(a) {
				in.op.Kind, in.op.Outcome = history.Unlock, history.NotHeld // nobody else is there to refuse it for
			}
		} else {
			e := *l.environment[^a.index]
			if f.outside(&e) {
				e.Kind = history.Delete
			}
			in.event = &e
		}
		if ends > r.stuck.at {
			in.later, ends = true, len(s.c.marks)
		}
		ops = append(ops, porcupine.Operation{ClientId: int(a.owner), Input: in, Call: int64(begins), Return: int64(ends)})
		steps = append(steps, edge{time.Duration(begins), 1}, edge{time.Duration(ends), -1})
	}
	if len(ops) > porcupineOps || deepest(steps) > porcupineConcurrent {
		return porcupine.Unknown
	}
	return runPorcupine(ctx, f, s.model(r.cut.cfg.state, names), ops)
}

// idOf is what a porcupineStep calls an action.
func (s *search) idOf(l *lockFacts, action int32) int64 {
	if i := s.c.actions[action].index; i >= 0 {
		return l.ops[i].ID
	} else {
		return int64(i)
	}
}

// settled reports whether a cut took a token as spent.
func (s *search) settled(action int32) bool {
	g := s.c.tokens.groups[s.c.tokens.of[action]]
	return slices.Index(g.members, action) < int(g.settled)
}
