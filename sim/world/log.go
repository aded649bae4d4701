package world

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
)

// serverLog is what the servers did: since one command arrives at a time, the difference that it
// made to a lock's key can be told by looking before and after.
type serverLog struct {
	rows         []*row                          // in order, kept until the reply arrived
	taken        *network.Message                // the reply that a client took last, still to be noted
	sent         map[int64]bool                  // calls that wrote a command
	asked        map[*network.Link]request       // of no call, that was sent last and is not answered, and has no stamp
	loads        map[string][]load               // commands of no call that loaded a script, by client and script
	closed       bool                            // the history is closed
	dialed       map[*network.Link]time.Duration // connections by which nothing was sent yet, since when
	transactions map[*network.Link]*transaction  // that are not executed yet
	// Of commands that belong to no call: when what they are copies of was begun, and their numbers.
	begun    map[string]time.Duration
	requests map[string]int64
}

// delivery is one command at the server.
type delivery struct {
	message *network.Message
	note    *note
	rows    []*row
}

// row is a line of the log in the making.
type row struct {
	history.Served
	done bool
}

// load is a command of no call that loaded a script.
type load struct {
	began time.Duration // by its client
	row   *row
}

// sameCommand names a command and its copies, "" if those cannot be told from others.
func sameCommand(m *network.Message) string {
	if m.Stamp == "" {
		return ""
	}
	return m.Stamp + "\x00" + sameScript(m.Link.Client, m.Args)
}

// sameScript names a command by its client, and a script by what it is given, however it is named.
func sameScript(client string, args []string) string {
	if scriptDigest(args) != "" {
		args = args[2:]
	}
	return client + "\x00" + strings.Join(args, "\x00")
}

// settled is called when all is at rest: it notes the last event, be it a reply that was taken or a
// command whose effect is to be looked at, and takes up what was written.
func (w *World) settled(now time.Duration) {
	if m := w.log.taken; m != nil {
		w.log.taken = nil
		w.answered(m)
	}
	for _, s := range w.servers {
		d := s.scene
		s.scene = nil
		if d != nil && w.ground.Live {
			took := now - d.rows[0].At
			if !blocks(d.message.Args) {
				w.wasLate(took)
				w.suffered("starve-server", s.name, d.rows[0].At, now)
			}
		}
		for _, m := range s.net.Collect(w.began.Add(now)) {
			m.Born = w.stepNumber()
			switch {
			case m.Kind == network.Connect:
				w.log.dialed[m.Link] = now
			case m.Kind == network.Close && m.Dir == network.ToServer:
				w.gaveUp(m.Link)
				delete(w.log.transactions, m.Link)
			case m.Kind != network.Data:
			case m.Dir == network.ToServer:
				m.Note = w.written(s, m)
			default:
				m.Note = w.replied(s, m, d)
			}
		}
		if d != nil && !w.log.closed {
			w.account(s, d, now)
			w.observe(s, d, now)
		}
	}
}

// written notes what is known of a command that was just written.
func (w *World) written(s *server, m *network.Message) *note {
	n := &note{server: s, locks: w.locksIn(s, m.Args[1:]), command: sameCommand(m)}
	n.call, n.after, n.began = w.callOf(s, m)
	n.direct = w.direct(n.call, m)
	if len(n.locks) == 0 && n.call != 0 && w.layout.Unknown != "" {
		n.locks = []string{w.rec.Op(n.call).Lock}
	}
	if dialed, first := w.log.dialed[m.Link]; first && n.call == 0 {
		n.began = cmp.Or(n.began, dialed) // it waited for the connection
	}
	delete(w.log.dialed, m.Link)
	if n.step = w.step(m.Args, n.call, w.names(s, m.Args)); n.call != 0 && n.step != history.StepSession {
		w.log.sent[n.call] = true
	}
	if n.call == 0 && m.Stamp == "" {
		w.asks(n, m)
	}
	return n
}

// asks notes a request of no call without a stamp.
func (w *World) asks(n *note, m *network.Message) {
	key, began := sameScript(m.Link.Client, m.Args), cmp.Or(n.began, m.Sent.Sub(w.began))
	if since := w.retries.since(key, began, w.ground.atOnce()); since != began {
		n.began, began = since, since
	}
	w.log.asked[m.Link] = request{key, began, 0}
}

// gaveUp notes that a client has closed a connection, or that it broke: what it had asked for came to nothing.
func (w *World) gaveUp(l *network.Link) {
	if r, ok := w.log.asked[l]; ok {
		w.retries.failed(r.key, r.began, w.Now(), w.ground.atOnce())
		delete(w.log.asked, l)
	}
}

// names reports whether a command names the key of a lock. Where nobody can read the keys, any command may.
func (w *World) names(s *server, args []string) bool {
	return w.layout.Unknown != "" || slices.ContainsFunc(args[1:], func(a string) bool { return s.lockOf[a] != "" }) || w.layout.Roles[Shape(args)] != ""
}

// touches reports whether a command names a key of a lock.
func (s *server) touches(args []string, lock string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return s.lockOf[a] == lock })
}

// unnamed returns the locks that a command touches whose keys it does not name: it has a role in the layout, and names
// the locks themselves.
func (w *World) unnamed(s *server, args []string) []string {
	if w.layout.Roles[Shape(args)] == "" {
		return nil
	}
	return s.mentioned(args[1:])
}

// Shape is what is the same in all commands of one kind: the name, and the digest of a script.
func Shape(args []string) string {
	if digest := scriptDigest(args); digest != "" {
		return "script " + digest
	}
	name := strings.ToLower(args[0])
	if name == "set" {
		for _, a := range args[min(3, len(args)):] {
			if option := strings.ToLower(a); option == "nx" || option == "xx" {
				name += " " + option
			}
		}
	}
	return name
}

// replied notes what is known of what the server just wrote, d being the command that it executed last.
func (w *World) replied(s *server, m *network.Message, d *delivery) *note {
	n := &note{server: s}
	if channel := network.Published(m.Data); channel != "" {
		n.step, n.locks = history.StepPublish, w.locksIn(s, []string{channel})
		return n
	}
	if d != nil && d.message.Link == m.Link {
		if d.note.says != "" {
			m.Data = []byte(d.note.says + "\r\n")
		}
		n.idle = bytes.HasPrefix(m.Data, []byte("-NOSCRIPT"))
		n.step, n.call, n.locks, n.d = d.note.step, d.note.call, d.note.locks, d
		for _, r := range d.rows {
			r.Reply = shorten(network.ReplyText(m.Data), 120)
			r.Refused = len(m.Data) > 0 && m.Data[0] == '-'
		}
	}
	return n
}

// stepOf is the step that a call's own commands are.
func stepOf(kind history.Kind) history.Step {
	switch {
	case kind.Asks():
		return history.StepAcquire
	case kind.Sets() || kind.Adds():
		return history.StepSet
	case kind.Gives():
		return history.StepRelease
	case kind.Forces() || kind == history.DrainPermits || kind == history.DeleteLatch:
		return history.StepForce
	case kind == history.UpdateLease:
		return history.StepRenew
	}
	return history.StepQuery
}

// arriving notes the keys as they are before command m.
func (w *World) arriving(m *network.Message) {
	n := noteOf(m)
	if n.call == 0 && n.step == history.StepRenew { // by now more may be known of what its script does
		n.step = w.step(m.Args, 0, true)
	}
	d := &delivery{message: m, note: n}
	base := history.Served{At: w.Now(), Sent: m.Sent.Sub(w.began), Server: n.server.name, Client: m.Link.Client, Conn: m.Link.Name,
		Step: n.step, Op: n.call, For: n.after, Text: commandText(m.Args)}
	// Names of owners follow in the order of the keys, and a key is named once for each of its owners: two
	// threads of a client may both believe to hold it.
	named, rows := 0, map[string]*row{}
	touches := func(lock string) {
		r := rows[lock]
		if r == nil {
			r = n.server.rowOf(base, lock)
			rows[lock] = r
			d.rows = append(d.rows, r)
		}
		if name := w.nameIn(n.server, lock, m, named); name != "" && !slices.Contains(r.Names, name) {
			r.Names = append(r.Names, name)
		}
		named++
	}
	for _, a := range m.Args[1:] {
		if lock := n.server.lockOf[a]; lock != "" && (rows[lock] == nil || a == w.layout.KeyOf(lock)) {
			touches(lock)
		}
	}
	if named == 0 {
		for _, lock := range w.unnamed(n.server, m.Args) {
			touches(lock)
		}
	}
	if named == 0 {
		d.rows = []*row{{Served: base}}
	}
	n.server.scene = d
	w.begun(d)
	if source := scriptSource(m.Args); source != "" {
		n.server.knows[digestOf(source)] = true
	}
	w.log.rows = append(w.log.rows, d.rows...)
}

// rowOf is a row for a lock's key as it is before a command.
func (s *server) rowOf(base history.Served, lock string) *row {
	before := s.state[lock]
	base.Lock, base.Before = lock, &before
	return &row{Served: base}
}

// begun notes of what a command is a copy, and, if it belongs to no call, when its client began it.
func (w *World) begun(d *delivery) {
	n, script, looked := d.note, sameScript(d.message.Link.Client, d.message.Args), w.transact(d)
	since, id := time.Duration(0), n.command
	if n.call == 0 {
		since = cmp.Or(w.log.begun[n.command], looked, w.loadedFor(d), n.began)
		id = strconv.FormatInt(int64(since), 10) + "\x00" + script
	}
	request := int64(0)
	if n.command != "" {
		w.log.begun[n.command] = since
		if w.log.requests[id] == 0 {
			w.log.requests[id] = int64(len(w.log.requests)) + 1
		}
		request = w.log.requests[id]
	}
	for _, r := range d.rows {
		r.Began, r.Request = since, request
	}
}

// loadedFor is when a client began to load the script that a command of no call runs, if it sent that command as soon as it
// heard that the script was loaded; otherwise 0.
func (w *World) loadedFor(d *delivery) time.Duration {
	m := d.message
	key := m.Link.Client + "\x00"
	if !strings.EqualFold(m.Args[0], "evalsha") {
		if source := scriptSource(m.Args); source != "" && strings.EqualFold(m.Args[0], "script") {
			key += digestOf(source)
			w.log.loads[key] = append(w.log.loads[key], load{cmp.Or(d.note.began, d.rows[0].Sent), d.rows[0]})
		}
		return 0
	}
	key += scriptDigest(m.Args)
	begun := cmp.Or(d.note.began, m.Sent.Sub(w.began)) // it may be a copy that was sent later
	for _, l := range w.log.loads[key] {
		if heard := l.row.Got; heard > 0 && heard <= begun && begun <= heard+w.ground.atOnce() {
			return l.began
		}
	}
	return 0
}

// nameIn returns what in a command stands for an owner of a key, "" if nothing does: a value that the key had, or
// the n-th of the names of the client's owners.
func (w *World) nameIn(s *server, key string, m *network.Message, n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var named []string
	for _, a := range m.Args {
		if s.names.Knows(s.part(key), a) {
			return a
		}
		if w.calls.owners[a] == m.Link.Client {
			named = append(named, w.owner(a))
		}
	}
	if len(named) == 0 {
		return ""
	}
	return named[min(n, len(named)-1)]
}

// account looks at the keys after command d.
func (w *World) account(s *server, d *delivery, now time.Duration) {
	var op history.Op
	if id := cmp.Or(d.note.call, d.note.after); id != 0 {
		op = w.rec.Op(id)
	}
	if d.rows[0].Lock == "" {
		w.discover(s, d)
	}
	for _, r := range d.rows {
		if now != r.At {
			r.Done = now
		}
		if r.Lock == "" {
			continue
		}
		after := w.look(s, r.Lock)
		s.names.Learn(s.part(r.Lock), op, r.Served, *r.Before, after, w.clientOf)
		s.state[r.Lock], r.After = after, &after
		for _, l := range w.of(s, r.Lock) {
			l.state = l.whole()
		}
	}
	s.written()
	w.flush(false)
}

// discover finds the locks that a command has changed without naming their keys, as scripts can and transactions do.
func (w *World) discover(s *server, d *delivery) {
	if name := strings.ToLower(d.message.Args[0]); name != "exec" && name != "fcall" && !strings.HasPrefix(name, "eval") {
		return
	}
	base := d.rows[0].Served
	for _, lock := range s.keys {
		if s.state[lock].Equal(w.look(s, lock)) {
			continue
		}
		r := s.rowOf(base, lock)
		switch after := w.look(s, lock); {
		case !strings.EqualFold(d.message.Args[0], "exec"):
		case d.note.call != 0:
			r.Step = stepOf(w.rec.Op(d.note.call).Kind)
		case len(after.Holdings) > 0 && slices.Equal(r.Before.Holdings, after.Holdings):
			r.Step = history.StepRenew
		}
		if d.rows[0].Lock == "" {
			*d.rows[0] = *r
			continue
		}
		w.log.rows = slices.Insert(w.log.rows, slices.Index(w.log.rows, d.rows[len(d.rows)-1])+1, r)
		d.rows = append(d.rows, r)
	}
}

// clientOf returns the client of an owner by its name.
func (w *World) clientOf(owner string) (client string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	client, ok = w.calls.owners[owner]
	return client, ok
}

// answered notes that the reply m has reached its client.
func (w *World) answered(m *network.Message) {
	n := noteOf(m)
	if n == nil || n.d == nil || w.log.closed {
		return
	}
	for _, r := range n.d.rows {
		r.Got, r.done = w.Now(), true
	}
	if n.d.rows[0].Refused {
		w.gaveUp(m.Link)
	}
	delete(w.log.asked, m.Link)
	w.flush(false)
}

// step tells what part a command plays, by the call it belongs to and whether it names a lock's key.
func (w *World) step(args []string, call int64, names bool) history.Step {
	name := strings.ToLower(args[0])
	w.mu.Lock()
	if source := scriptSource(args); source != "" && call == 0 {
		w.learn(source)
	}
	shape, known := w.calls.scripts[scriptDigest(args)]
	w.mu.Unlock()
	switch {
	case strings.HasSuffix(name, "unsubscribe"):
		return history.StepCleanup
	case strings.HasSuffix(name, "subscribe"):
		return history.StepSubscribe
	case OfSession(args):
		return history.StepSession
	case call != 0 && !names:
		return history.StepCleanup
	case call != 0:
		return stepOf(w.rec.Op(call).Kind)
	case !names:
		return history.StepSession
	case w.layout.Roles[Shape(args)] != "":
		return w.layout.Roles[Shape(args)]
	case known:
		return shape // an afterthought of a call
	case changesTTL(name):
		return history.StepRenew
	}
	return history.StepQuery
}

// OfSession reports whether a command is about the connection or the server, and not about what is in it.
func OfSession(args []string) bool {
	return slices.Contains([]string{"hello", "client", "ping", "auth", "select", "script"}, strings.ToLower(args[0]))
}

// learn tells the purpose of a script that belongs to no call by what it may do: what removes a
// key, or publishes, is no renewal; what sets no time to live, only asks. w.mu is held.
func (w *World) learn(source string) {
	text := strings.ToLower(source)
	if strings.Contains(text, "publish") || strings.Contains(text, "'del'") || strings.Contains(text, `"del"`) {
		if digest := digestOf(source); w.calls.scripts[digest] == "" {
			w.calls.scripts[digest] = history.StepRelease
		}
	} else if !strings.Contains(text, "expire") && !strings.Contains(text, "set'") && !strings.Contains(text, `set"`) && !strings.Contains(text, "getex") {
		if digest := digestOf(source); w.calls.scripts[digest] == "" {
			w.calls.scripts[digest] = history.StepQuery
		}
	}
}

// changesTTL reports whether a command may extend a lease.
func changesTTL(name string) bool {
	switch name {
	case "eval", "evalsha", "fcall", "expire", "pexpire", "expireat", "pexpireat", "set", "getex":
		return true
	}
	return false
}

// scriptSource returns the source of a script that a command tells the server, or "".
func scriptSource(args []string) string {
	switch {
	case len(args) > 1 && strings.EqualFold(args[0], "eval"):
		return args[1]
	case len(args) > 2 && strings.EqualFold(args[0], "script") && strings.EqualFold(args[1], "load"):
		return args[2]
	}
	return ""
}

func digestOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
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
		return digestOf(args[1])
	}
	return ""
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

// Finish hands what is still kept to the recorder: the rest of the server log, faults of a run that failed before it was
// healed, and evidence on the calls given, whose outcome the server did not decide.
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
