package world

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/network"
)

// transaction is what a connection has said of a transaction that is not executed yet. Faults that send a message again or
// refuse it treat it as a whole, as client libraries and servers do.
type transaction struct {
	began   time.Duration      // by its client, when it looked: at its first WATCH
	watches bool               // it is executed only if nothing that it watches changes
	parts   []*network.Message // MULTI, and what was queued; nil: it is not open
	copies  []time.Duration    // how long after it each copy of the whole is to arrive
}

// transactionOf is the transaction that a request belongs to; nil: it belongs to none.
func (w *World) transactionOf(m *network.Message) *transaction {
	t := w.log.transactions[m.Link]
	switch strings.ToLower(m.Args[0]) {
	case "watch", "multi":
		if t == nil {
			t = &transaction{}
			w.log.transactions[m.Link] = t
		}
	case "discard", "unwatch", "reset", "quit":
		return nil
	}
	return t
}

// transact notes what an arriving request is to a transaction, and returns since when its client has had that under way if the
// request executes it; 0: it executes none, or that is not known.
func (w *World) transact(d *delivery) (began time.Duration) {
	m, t := d.message, w.transactionOf(d.message)
	switch name := strings.ToLower(m.Args[0]); {
	case t == nil:
		if name == "discard" || name == "unwatch" || name == "reset" {
			delete(w.log.transactions, m.Link)
		}
	case name == "watch":
		if !t.watches {
			t.watches, t.began = true, d.note.began
			if t.began == 0 {
				t.began = d.rows[0].Sent
			}
		}
	case name == "exec":
		began = t.began
		for _, by := range t.copies {
			d.note.server.net.Copy(w.began.Add(w.Now()+by), append(t.parts, m)...)
		}
		delete(w.log.transactions, m.Link)
	case name == "multi" || len(t.parts) > 0:
		t.parts = append(t.parts, m)
	}
	return began
}

// Copy implements [fault.Target]. A part of a transaction is sent again with the whole. One that watches keys is not: who sends
// it again looks again.
func (w *World) Copy(m fault.Message, by time.Duration) fault.Fate {
	message := m.(*network.Message)
	t := w.transactionOf(message)
	switch {
	case t == nil:
		noteOf(message).server.net.Copy(w.began.Add(w.Now()+by), message)
	case t.watches || strings.EqualFold(message.Args[0], "watch"):
		return fault.Spared
	case !slices.Contains(t.copies, by):
		t.copies = append(t.copies, by)
	}
	return fault.Arrives
}

// errorTexts are Redis's words.
var errorTexts = map[string]string{
	"BUSY":     "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"LOADING":  "LOADING Redis is loading the dataset in memory",
	"READONLY": "READONLY You can't write against a read only replica.",
	"OOM":      "OOM command not allowed when used memory > 'maxmemory'.",
	"MISCONF":  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
}

// Refuse implements [fault.Target]. What is refused in a transaction reaches the server as a command that it cannot queue, so that
// it does not execute the transaction; and EXEC as DISCARD.
func (w *World) Refuse(m fault.Message, code string) fault.Fate {
	message := m.(*network.Message)
	name := strings.ToLower(message.Args[0])
	switch code {
	case "BUSY", "LOADING":
		if slices.Contains([]string{"hello", "client", "auth", "quit", "watch", "unwatch", "multi", "discard"}, name) || name == "exec" && code == "LOADING" {
			return fault.Spared
		}
	default:
		if !writes(name) {
			return fault.Spared
		}
	}
	w.struckSome()
	n := noteOf(message)
	if t := w.transactionOf(message); t != nil && len(t.parts) > 0 {
		n.instead, n.says = []string{name}, "-"+errorTexts[code]
		if name == "exec" {
			n.instead, n.says = []string{"DISCARD"}, "-EXECABORT Transaction discarded because of: "+errorTexts[code]
		}
		return fault.Arrives
	}
	w.arriving(message)
	n.server.net.Take(message)
	n.server.net.Answer(message.Link, []byte("-"+errorTexts[code]+"\r\n"))
	return fault.Gone
}

// writes reports whether a command may write. A script is taken to: Redis finds out when it tries,
// and the lock's scripts do nothing before that.
func writes(name string) bool {
	switch name {
	case "eval", "evalsha", "fcall", "set", "del", "unlink", "expire", "pexpire", "expireat", "pexpireat", "getex",
		"hset", "hdel", "hincrby", "incr", "persist", "getdel", "setnx":
		return true
	}
	return false
}
