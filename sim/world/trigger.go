package world

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// note is what the world knows of a message from the moment it was written.
type note struct {
	server  *server
	step    history.Step
	call    int64         // 0: none
	after   int64         // the call that had returned, and with whose context its client began it; 0: none
	locks   []string      // that it concerns
	idle    bool          // it says that the server does not know the script
	counted bool          // triggers have seen it
	direct  bool          // see World.direct
	struck  []int         // faults that struck it
	waiting time.Duration // since when the server keeps it: a WAIT
	began   time.Duration // of a command of no call: when its client began it, if that is known
	d       *delivery     // of a reply: what it answers
	command string        // names it and its copies; see sameCommand
	instead []string      // what the server gets of it, refused in a transaction; nil: it gets the request
	says    string        // what its client is told then
}

// Locks are told by their keys and their channels, which contain the keys' names.
func (w *World) locksIn(s *server, args []string) []string {
	var names []string
	for _, l := range w.locks {
		for _, p := range l.parts {
			if p.server == s && s.touches(args, p.key) && !slices.Contains(names, l.name) {
				names = append(names, l.name)
			}
		}
	}
	if names != nil {
		return names
	}
	mentioned := s.mentioned(args)
	for _, l := range w.locks {
		if slices.ContainsFunc(l.parts, func(p part) bool { return p.server == s && slices.Contains(mentioned, p.key) }) {
			names = append(names, l.name)
		}
	}
	return names
}

// noteOf returns the note of a message that carries data, or nil.
func noteOf(m *network.Message) *note {
	n, _ := m.Note.(*note)
	return n
}

// watch is a fault that waits for its trigger, or that strikes messages.
type watch struct {
	*struckFault
	trigger plan.Trigger
	seen    int              // how many matched so far
	left    int              // of a fault on messages: how many are still to be struck; -1: all
	armed   map[string]int64 // of between, by client: the call whose first message was answered
}

// matchesMessage reports whether a message that is about to arrive is what a trigger counts.
func (t *watch) matchesMessage(m *network.Message, n *note) bool {
	kind := plan.MessageKind(n.step)
	if n.idle || m.Dir == network.ToServer && strings.EqualFold(m.Args[0], "evalsha") && !n.server.knows[scriptDigest(m.Args)] {
		return false // it only makes the client send the script itself, which is what counts
	}
	if t.trigger.Client != "" && t.trigger.Client != m.Link.Client ||
		t.trigger.Lock != "" && !slices.Contains(n.locks, t.trigger.Lock) ||
		t.fault.Server != "" && t.fault.Server != n.server.name {
		return false
	}
	switch request := m.Dir == network.ToServer; {
	case t.trigger.Request != "":
		return request && kind == t.trigger.Request
	case t.trigger.Reply != "":
		return !request && kind == t.trigger.Reply
	case t.trigger.Between == nil:
		return false
	case !request && kind == t.trigger.Between[0]:
		t.armed[m.Link.Client] = n.call
	case request && kind == t.trigger.Between[1]:
		call, armed := t.armed[m.Link.Client]
		if armed && (call == 0 || n.call == 0 || call == n.call) {
			delete(t.armed, m.Link.Client)
			return true
		}
	}
	return false
}

// on words the step that a trigger is about.
func on(t plan.Trigger) string {
	switch {
	case t.Request != "":
		return "request " + string(t.Request)
	case t.Reply != "":
		return "reply " + string(t.Reply)
	case t.Return != "":
		return "return " + string(t.Return)
	case t.Between != nil:
		return "between " + string(t.Between[0]) + " and " + string(t.Between[1])
	}
	return ""
}

// returned is a call that has returned to its program.
type returned struct {
	client string
	op     history.Op
}

// Returned tells the world that a call has returned. Programs may call it.
func (w *World) Returned(client string, op history.Op) {
	w.mu.Lock()
	w.returns = append(w.returns, returned{client, op})
	w.called(op)
	w.mu.Unlock()
	w.Notify()
}

// answerReturns has faults strike that wait for calls to return, now that all is at rest.
func (w *World) answerReturns() {
	w.mu.Lock()
	returns := w.returns
	w.returns = nil
	w.mu.Unlock()
	slices.SortFunc(returns, func(a, b returned) int { return strings.Compare(a.op.Owner, b.op.Owner) })
	for _, r := range returns {
		for _, t := range slices.Clone(w.watching) {
			if t.trigger.Return != plan.Action(r.op.Kind) || !t.open(w.Now()) ||
				t.trigger.Client != "" && t.trigger.Client != r.client || t.trigger.Lock != "" && t.trigger.Lock != r.op.Lock {
				continue
			}
			if t.seen++; t.seen == t.trigger.Nth {
				t.record.Op = r.op.ID
				w.strikeNow(t)
			}
		}
	}
}
