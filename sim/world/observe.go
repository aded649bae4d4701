package world

import (
	"cmp"
	"time"
)

// Observation is a command that a server has executed, and all keys that it has since.
type Observation struct {
	At   time.Duration
	Sent time.Duration
	// Began is when its client began what it is for, if it belongs to no call: a script that the server did not know is sent again.
	Began  time.Duration
	Args   []string
	Call   int64 // that it belongs to; 0: none
	Direct bool  // a goroutine that was in that call made it up, or one that it had started
	Keys   map[string]Value
}

// Value is what a key holds.
type Value struct {
	Kind     string            // as TYPE says
	Text     string            // of a string
	Fields   map[string]string // of a hash; nil: it is none
	Deadline time.Duration     // 0: none
}

// Observe has see called with each command that a server has executed. Only a world of virtual time does that.
func (w *World) Observe(see func(Observation)) { w.observer = see }

func (w *World) observe(s *server, d *delivery, now time.Duration) {
	v, ok := s.backend.(*virtual)
	if w.observer == nil || !ok {
		return
	}
	o := Observation{Direct: d.note.direct, At: now, Sent: d.message.Sent.Sub(w.began), Args: d.message.Args, Call: d.note.call, Began: cmp.Or(d.rows[0].Began, d.message.Sent.Sub(w.began)), Keys: map[string]Value{}}
	for _, key := range v.redis.Keys() {
		one := w.get(s, key)
		o.Keys[key] = Value{one.kind, one.text, one.fields, one.deadline}
	}
	w.observer(o)
}
