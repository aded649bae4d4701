package world

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
)

// serverLog is what the server did: since one command arrives at a time, the difference that it
// made to a lock's key can be told by looking before and after.
type serverLog struct {
	state  map[string]history.KeyState // of each lock's key, as last seen; it changes only under our eyes
	scene  *delivery                   // the command that arrived last, whose effect is still to be looked at
	taken  *network.Message            // the reply that a client took last, still to be noted
	rows   []*row                      // in order, kept until the reply arrived
	values map[string]string           // owner by value, for locks whose key is a string
	sent   map[int64]bool              // calls that wrote a command
	closed bool                        // the history is closed
}

// delivery is one command at the server.
type delivery struct {
	message *network.Message
	call    int64 // 0: none
	rows    []*row
}

// row is a line of the log in the making.
type row struct {
	history.Served
	op      int64 // the operation recorded for it, if it belongs to no call
	refused bool  // the server answered with an error
	done    bool
}

// settled is called when all is at rest: it notes the last event, be it a reply that was taken or a
// command whose effect is to be looked at, and takes up what was written.
func (w *World) settled(now time.Duration) {
	if m := w.log.taken; m != nil {
		w.log.taken = nil
		w.answered(m)
	}
	d := w.log.scene
	w.log.scene = nil
	for _, m := range w.net.Collect(w.start.Add(now)) {
		switch {
		case m.Kind != network.Data:
		case m.Dir == network.ToServer:
			call := w.callOf(m.Link.Client, m.Args)
			if call != 0 {
				w.log.sent[call] = true
			}
			m.Note = call
		case d != nil && d.message.Link == m.Link:
			m.Note = d
			for _, r := range d.rows {
				r.Reply = shorten(network.ReplyText(m.Data), 120)
				r.refused = len(m.Data) > 0 && m.Data[0] == '-'
			}
		}
	}
	if d != nil && !w.log.closed {
		w.account(d, now)
	}
}

// stepOf is the step that a call's own commands are.
func stepOf(kind history.Kind) history.Step {
	switch {
	case kind.Acquires():
		return history.StepAcquire
	case kind == history.Unlock:
		return history.StepRelease
	case kind == history.ForceUnlock:
		return history.StepForce
	}
	return history.StepQuery
}

// arriving notes the keys as they are before command m.
func (w *World) arriving(m *network.Message) {
	call, _ := m.Note.(int64)
	d := &delivery{message: m, call: call}
	base := history.Served{At: w.Now(), Sent: m.Sent.Sub(w.start), Client: m.Link.Client, Conn: m.Link.Name,
		Op: call, Text: commandText(m.Args)}
	touched := 0
	for _, lock := range w.locks {
		if slices.Contains(m.Args[1:], lock) {
			before := w.log.state[lock]
			r := &row{Served: base}
			r.Lock, r.Before = lock, &before
			r.Owner = w.ownerIn(m.Args, m.Link.Client, touched)
			touched++
			d.rows = append(d.rows, r)
		}
	}
	if touched == 0 {
		d.rows = []*row{{Served: base}}
	}
	w.log.scene = d
	w.log.rows = append(w.log.rows, d.rows...)
}

// account looks at the keys after command d, and records what it did.
func (w *World) account(d *delivery, now time.Duration) {
	for _, r := range d.rows {
		if r.Lock == "" {
			r.Step = w.step(d, false)
			continue
		}
		after := w.look(r.Lock, now)
		if d.call != 0 {
			op := w.rec.Op(d.call)
			r.Owner = op.Owner
			after = w.own(r.Lock, op, after)
		}
		w.log.state[r.Lock] = after
		r.After = &after
		r.Step = w.step(d, true)
		switch {
		case r.refused && total(*r.Before) == total(after) && r.Before.Deadline == after.Deadline:
			// An error, such as NOSCRIPT, and no effect: it was not executed.
		case d.call != 0:
			w.testify(d.call, *r.Before, after, now)
		default:
			w.unbidden(r, now)
		}
	}
	w.flush(false)
}

// look reads a lock's key.
func (w *World) look(lock string, now time.Duration) history.KeyState {
	var s history.KeyState
	switch w.server.Type(lock) {
	case "hash":
		fields, _ := w.server.HKeys(lock)
		slices.Sort(fields)
		for _, f := range fields {
			n, err := strconv.ParseInt(w.server.HGet(lock, f), 10, 64)
			if err != nil {
				n = 1
			}
			s.Holdings = append(s.Holdings, history.Holding{Owner: f, Count: n})
		}
	case "string":
		value, _ := w.server.Get(lock)
		if owner, ok := w.log.values[lock+"\x00"+value]; ok {
			value = owner
		}
		s.Holdings = []history.Holding{{Owner: value, Count: 1}}
	case "":
		return s
	default:
		s.Holdings = []history.Holding{{Owner: "(" + w.server.Type(lock) + ")", Count: 1}}
	}
	if ttl := w.server.TTL(lock); ttl > 0 {
		s.Deadline = now + ttl
	}
	return s
}

// own learns whose value a string key holds when a call of an acquiring owner set it.
func (w *World) own(lock string, op history.Op, after history.KeyState) history.KeyState {
	if !op.Kind.Acquires() || len(after.Holdings) != 1 || w.server.Type(lock) != "string" || w.known(after.Holdings[0].Owner) {
		return after
	}
	w.log.values[lock+"\x00"+after.Holdings[0].Owner] = op.Owner
	after.Holdings[0].Owner = op.Owner
	return after
}

func (w *World) known(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.calls.owners[owner]
	return ok
}

// step tells what part a command plays, by the call it belongs to and whether it names a lock's key.
func (w *World) step(d *delivery, names bool) history.Step {
	name := strings.ToLower(d.message.Args[0])
	w.mu.Lock()
	shape, known := w.calls.scripts[scriptDigest(d.message.Args)]
	w.mu.Unlock()
	switch {
	case strings.HasSuffix(name, "subscribe"):
		return history.StepSubscribe
	case name == "hello" || name == "client" || name == "ping" || name == "auth" || name == "select" || name == "script":
		return history.StepSession
	case d.call != 0 && !names:
		return history.StepCleanup
	case d.call != 0:
		return stepOf(w.rec.Op(d.call).Kind)
	case !names:
		return history.StepSession
	case known:
		return shape // an afterthought of a call
	case changesTTL(name):
		return history.StepRenew
	}
	return history.StepQuery
}

// changesTTL reports whether a command may extend a lease.
func changesTTL(name string) bool {
	switch name {
	case "eval", "evalsha", "fcall", "expire", "pexpire", "expireat", "pexpireat", "set", "getex":
		return true
	}
	return false
}

// scriptDigest returns the digest of the script that a command runs, or "".
func scriptDigest(args []string) string {
	if len(args) < 2 {
		return ""
	}
	switch strings.ToLower(args[0]) {
	case "evalsha":
		return strings.ToLower(args[1])
	case "eval":
		sum := sha1.Sum([]byte(args[1]))
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// testify adds what the server did to what is known of a call.
func (w *World) testify(call int64, before, after history.KeyState, now time.Duration) {
	w.rec.Amend(call, func(op *history.Op) {
		answer, effect := whatItDid(op.Kind, op.Owner, before, after)
		switch {
		case effect && op.Evidence == history.Executed && effective(op.Answer):
			op.Repeats++
		case effect || !effective(op.Answer):
			op.Evidence, op.Executed, op.Answer = history.Executed, now, answer
		}
	})
}

// effective reports whether an answer says that something was changed.
func effective(o history.Outcome) bool {
	return o == history.Acquired || o == history.Decremented || o == history.Released || o == history.Renewed
}

// whatItDid names the difference that a command for a call of this kind made.
func whatItDid(kind history.Kind, owner string, before, after history.KeyState) (answer history.Outcome, effect bool) {
	was, is := total(before), total(after)
	switch {
	case kind.Acquires() && (is > was || countOf(after, owner) > countOf(before, owner)):
		return history.Acquired, true
	case kind.Acquires():
		return history.Busy, false
	case kind == history.Unlock && is < was && is > 0:
		return history.Decremented, true
	case (kind == history.Unlock || kind == history.ForceUnlock) && is < was:
		return history.Released, true
	case kind == history.Unlock || kind == history.ForceUnlock:
		return history.NotHeld, false
	}
	return history.OK, false
}

func total(s history.KeyState) int64 {
	var n int64
	for _, h := range s.Holdings {
		n += h.Count
	}
	return n
}

func countOf(s history.KeyState, owner string) int64 {
	for _, h := range s.Holdings {
		if h.Owner == owner {
			return h.Count
		}
	}
	return 0
}

// unbidden records what a command did that belongs to no call: a renewal, or what a lock library
// does behind its callers' backs.
func (w *World) unbidden(r *row, now time.Duration) {
	op := history.Op{Client: r.Client, Owner: r.Owner, Lock: r.Lock, Call: r.Sent, Evidence: history.Executed, Executed: now}
	was, is := total(*r.Before), total(*r.After)
	switch {
	case is < was:
		op.Kind, op.Answer = history.Unlock, history.Released
		if is > 0 {
			op.Answer, op.Lease = history.Decremented, r.After.Deadline-now
		}
	case is > was:
		op.Kind, op.Answer, op.Lease = history.Lock, history.Acquired, r.After.Deadline-now
	case r.Step == history.StepRenew:
		op.Kind, op.Answer = history.Renew, history.NotHeld
		op.Lease, op.Watchdog = w.watchdog, true
		if r.After.Deadline != r.Before.Deadline && is > 0 {
			op.Answer = history.Renewed
		}
	default:
		return
	}
	r.op = w.rec.Add(op)
	r.Op = r.op
}

// ownerIn returns the n-th owner of this client that a command names, or the only one.
func (w *World) ownerIn(args []string, client string, n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var named []string
	for _, a := range args {
		if w.calls.owners[a] == client {
			named = append(named, a)
		}
	}
	switch {
	case n < len(named):
		return named[n]
	case len(named) > 0:
		return named[len(named)-1]
	}
	return client
}

// answered notes that the reply m has reached its client.
func (w *World) answered(m *network.Message) {
	d, ok := m.Note.(*delivery)
	if !ok || w.log.closed {
		return
	}
	now := w.Now()
	for _, r := range d.rows {
		r.Got, r.done = now, true
		if r.op != 0 {
			w.rec.Amend(r.op, func(op *history.Op) { op.Return, op.Outcome = now, op.Answer })
		}
	}
	w.flush(false)
}

// flush hands rows to the recorder, in order: those whose reply has arrived, or all.
func (w *World) flush(all bool) {
	n := 0
	for n < len(w.log.rows) && (all || w.log.rows[n].done) {
		w.rec.Served(w.log.rows[n].Served)
		n++
	}
	w.log.rows = w.log.rows[n:]
}

// nextExpiry returns the lock whose key expires first, and when.
func (l *serverLog) nextExpiry(locks []string) (lock string, at time.Duration, ok bool) {
	for _, name := range locks {
		if d := l.state[name].Deadline; d != 0 && (!ok || d < at) {
			lock, at, ok = name, d, true
		}
	}
	return lock, at, ok
}

// expire lets the key of a lock expire, now that its deadline has come.
func (w *World) expire(lock string, at time.Duration) {
	w.log.state[lock] = w.look(lock, w.Now())
	if !w.log.closed && len(w.log.state[lock].Holdings) == 0 {
		w.rec.Event(history.Event{At: at, Kind: history.Expire, Lock: lock})
	}
}

// Keys returns the state of the keys that are still there, by lock, in the order of the plan.
func (w *World) Keys() (locks []string, states []history.KeyState) {
	for _, lock := range w.locks {
		if s := w.log.state[lock]; len(s.Holdings) > 0 {
			locks, states = append(locks, lock), append(states, s)
		}
	}
	return locks, states
}

// Finish hands what is still kept to the recorder: the rest of the server log, faults that last to
// the end, and evidence on the calls given, whose outcome the server did not decide.
func (w *World) Finish(calls []history.Op) {
	w.flush(true)
	w.endFaults()
	for _, op := range calls {
		if op.Evidence != history.NoEvidence {
			continue
		}
		evidence := history.NotSent
		if w.log.sent[op.ID] {
			evidence = history.Sent
		}
		w.rec.Amend(op.ID, func(op *history.Op) { op.Evidence = evidence })
	}
}

// commandText renders a command for the log.
func commandText(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shorten(a, 60)
	}
	if shape := scriptDigest(args); shape != "" {
		words[0], words[1] = strings.ToUpper(args[0]), shape[:8]
	}
	return shorten(strings.Join(words, " "), 400)
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
