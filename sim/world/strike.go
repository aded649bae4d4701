package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// strike is the beginning or the end of a fault, at a time.
type strike struct {
	at    time.Duration
	fault *struckFault
	end   bool
}

// struckFault is a fault of the plan, and what is known of it so far.
type struckFault struct {
	index  int
	kind   fault.Kind
	fault  plan.Fault
	record *history.Fault
	begun  bool
	over   bool
}

var _ fault.Target = (*World)(nil)

// schedule puts the faults of the plan in order: those that strike at a time, and those that wait
// for their trigger or strike messages.
func (w *World) schedule(faults []plan.Fault) {
	for i, f := range faults {
		kind, ok := fault.Find(f.Kind)
		if !ok {
			w.Fail(fmt.Errorf("unknown fault %q", f.Kind)) // the plan was not checked
			continue
		}
		s := &struckFault{index: i, kind: kind, fault: f, record: &history.Fault{
			Index: i, Kind: kind.Name, Effects: kind.Effects(f), Client: f.Client, Lock: f.Lock, Server: f.Server,
			From: f.From.Duration(), On: on(f.Trigger())}}
		w.planned = append(w.planned, s)
		if f.When == nil && !kind.Needs.Messages {
			w.at(strike{at: f.From.Duration(), fault: s})
			if f.To != 0 {
				w.at(strike{at: f.To.Duration(), fault: s, end: true})
			}
			continue
		}
		t := &watch{struckFault: s, trigger: f.Trigger(), left: max(f.Count, 1), armed: map[string]int64{}}
		if f.When == nil {
			t.left = -1
		}
		w.watching = append(w.watching, t)
	}
}

// at puts a strike into its place. Two at one instant strike in the plan's order, ends first.
func (w *World) at(s strike) {
	at, _ := slices.BinarySearchFunc(w.faults, s, func(a, b strike) int {
		switch {
		case a.at != b.at:
			return int(min(max(a.at-b.at, -1), 1))
		case a.end != b.end && a.end:
			return -1
		case a.end != b.end:
			return 1
		}
		return a.fault.index - b.fault.index
	})
	w.faults = slices.Insert(w.faults, at, s)
}

func (w *World) strike(s strike) {
	if s.end {
		w.end(s.fault)
	} else {
		w.begin(s.fault)
	}
}

// begin has a fault strike now that strikes no messages.
func (w *World) begin(s *struckFault) {
	w.struckSome()
	s.begun, s.record.From = true, w.Now()
	w.struck = s.record.From
	w.rec.Begin(*s.record) // before what comes of it, so that a run that is killed leaves it
	s.kind.Begin(w, s.fault, s.record)
	switch {
	case !s.kind.Needs.Lasts:
		w.rec.Fault(*s.record)
		s.over = true
	case s.fault.For != 0:
		w.at(strike{at: w.Now() + s.fault.For.Duration(), fault: s, end: true})
	case s.fault.When != nil && s.fault.To != 0:
		w.at(strike{at: max(s.fault.To.Duration(), w.Now()), fault: s, end: true})
	}
}

func (w *World) end(s *struckFault) {
	if !s.begun || s.over {
		return
	}
	s.over = true
	if s.kind.End != nil {
		s.kind.End(w, s.fault, s.record)
	}
	s.record.To = w.Now()
	w.rec.Fault(*s.record)
}

// endFaults ends those that last, and records those that never struck.
func (w *World) endFaults() {
	w.faults, w.watching = nil, nil
	for _, s := range w.planned {
		switch {
		case s.over:
		case s.begun && s.kind.Needs.Messages:
			w.rec.Fault(*s.record)
		case s.begun:
			w.end(s)
		default:
			s.record.Missed = true
			w.rec.Fault(*s.record)
		}
		s.over = true
	}
}

// HealAll ends what faults do: links and servers, paused clients and watchdogs go on, and no fault strikes any more. Messages
// that were delayed arrive at once. Clients that were killed stay dead, and clocks stay as they are. It is to be called
// between two calls of Run.
func (w *World) HealAll() {
	if !w.ground.Live {
		w.order = nil // orders are of what faults can strike
	}
	w.rec.Event(history.Event{At: w.Now(), Kind: history.Healed})
	for _, s := range w.planned {
		if s.begun && !s.over && !s.kind.Needs.Messages {
			w.end(s)
			w.apart()
		}
	}
	w.endFaults()
	w.overtaking = nil
	for _, s := range w.servers {
		if broken := s.net.Hasten(w.began.Add(w.Now())); len(broken) > 0 {
			w.tell(s, broken)
			w.apart()
		}
	}
}

// open reports whether a fault that waits for its trigger counts what happens now.
func (t *watch) open(now time.Duration) bool {
	return !t.over && now >= t.fault.From.Duration() && (t.fault.To == 0 || now < t.fault.To.Duration())
}

// strikeNow has a fault strike that strikes no messages, and whose trigger has just matched.
func (w *World) strikeNow(t *watch) {
	w.watching = slices.DeleteFunc(w.watching, func(o *watch) bool { return o == t })
	w.begin(t.struckFault)
}

// fated has faults strike message m, which is about to arrive, or strike because of it. It reports
// whether the message still arrives now.
func (w *World) fated(m *network.Message) bool {
	n := noteOf(m)
	if n == nil || w.log.closed {
		return true
	}
	first := !n.counted
	n.counted = true
	now := w.Now()
	for _, t := range slices.Clone(w.watching) {
		if !t.open(now) {
			continue
		}
		if t.fault.When != nil {
			if !first || !t.matchesMessage(m, n) {
				continue
			}
			if t.seen++; t.seen < t.trigger.Nth {
				continue
			}
		} else if m.Dir != network.ToServer || t.fault.Client != "" && t.fault.Client != m.Link.Client ||
			t.fault.Lock != "" && !slices.Contains(n.locks, t.fault.Lock) || t.fault.Server != "" && t.fault.Server != n.server.name {
			continue
		}
		if t.record.Op == 0 {
			t.record.Op = n.call
		}
		if !t.kind.Needs.Messages {
			if w.strikeNow(t); !n.server.net.Queued(m) {
				return false // its connection is gone
			}
			continue
		}
		if slices.Contains(n.struck, t.index) {
			continue
		}
		n.struck = append(n.struck, t.index)
		if !w.strikeMessage(t, m) {
			return false
		}
	}
	return n.server.net.Ready(m)
}

// strikeMessage has a fault strike a message, and reports whether it still arrives now.
func (w *World) strikeMessage(t *watch, m *network.Message) bool {
	first := !t.begun
	if first {
		t.begun, t.record.From = true, w.Now()
	}
	t.record.To = w.Now()
	if t.record.On == "" {
		t.record.On = "request" // of any kind
		w.struckSome()
	}
	if first {
		w.rec.Begin(*t.record) // before what comes of it
	}
	fate := t.kind.Strike(w, t.fault, m)
	if fate != fault.Spared {
		t.record.Hits++
		asked := m.Args
		if n := noteOf(m); m.Dir == network.ToClient && n != nil && n.d != nil {
			asked = n.d.message.Args
		}
		blocks, _ := history.BlocksFor(strings.Join(asked, " "))
		t.record.Blocks = max(t.record.Blocks, blocks)
		if fate == fault.Later || t.record.Has(history.MessageCopied) {
			t.record.To = w.Now() + t.fault.By.Duration() // when it arrives, or its copy
		}
	}
	if t.left > 0 {
		if t.left--; t.left == 0 {
			t.over = true
			w.rec.Fault(*t.record)
			w.watching = slices.DeleteFunc(w.watching, func(o *watch) bool { return o == t })
		}
	}
	return fate == fault.Arrives || fate == fault.Spared
}
