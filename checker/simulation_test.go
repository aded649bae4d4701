package checker

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Drawn histories of an atomic lock: honest ones, and what becomes of them when something in them is untrue.

// dice are choices: the bytes of a fuzzer's input, and when they are used up, numbers that follow from them.
type dice struct {
	bytes []byte
	next  uint64
}

func diceOf(b []byte) *dice {
	d := &dice{bytes: b, next: 0x9e3779b97f4a7c15}
	for _, c := range b {
		d.next = (d.next ^ uint64(c)) * 0x100000001b3
	}
	return d
}

// diceOfSeed are choices without a fuzzer.
func diceOfSeed(seed uint64) *dice { return &dice{next: seed*0x9e3779b97f4a7c15 + 1} }

// n is a number from 0 to n-1.
func (d *dice) n(n int) int {
	if len(d.bytes) > 0 {
		c := d.bytes[0]
		d.bytes = d.bytes[1:]
		return int(c) % n
	}
	d.next += 0x9e3779b97f4a7c15
	z := d.next
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 33 % uint64(n))
}

// in100 is true in so many of 100 cases.
func (d *dice) in100(percent int) bool { return d.n(100) < percent }

// A truth is what a simulation knows of an operation besides what it recorded.
type truth struct {
	executed bool
	at       time.Duration
	answer   history.Outcome
	value    int64
	token    int64
	itself   bool // the client answered without the server
}

// A caller makes calls one after the other: an owner, its watchdog, or what it does not wait for.
type caller struct {
	owner   string
	current int // index of its call, -1: none
	beside  bool
	over    bool
}

// A simulation is of clients that use an atomic lock. It does one thing after the other, and several at one tick of the
// clock. What it records is honest.
type simulation struct {
	*dice
	h       *history.History
	kind    model.Kind
	lock    atomicLock
	now     time.Duration
	tick    time.Duration
	ran     time.Duration // when the lock last executed a call
	truths  []truth
	flying  []int // calls that were given up, and may still be executed
	callers []caller

	leases, implied, watched, events, back, queries, force, beside, retire bool
	unknown                                                                int

	kept bool // a watchdog keeps the hold
}

// simulate makes a history of up to 24 calls.
func simulate(d *dice) *simulation {
	s := &simulation{dice: d, tick: []time.Duration{time.Millisecond, 3 * time.Millisecond, 700 * time.Microsecond, 1}[d.n(4)], ran: -1}
	s.h = &history.History{Header: history.Header{Version: history.Version, Clock: "monotonic", World: "fuzz", Subject: "fuzz"}}
	if d.n(2) == 0 {
		s.h.Header.Clock = history.Virtual
	}
	s.kind = []model.Kind{model.Lease, model.Lease, model.Keeping, model.Exclusive, model.Fenced, model.Reentrant, model.Mutex}[d.n(7)]
	s.lock.once, s.lock.keeps = !s.kind.Reenters(), s.kind == model.Keeping
	s.leases = s.kind.Leases() && d.n(3) > 0
	s.implied = s.leases && d.n(3) == 0
	s.watched = s.implied && d.n(3) == 0
	s.events, s.back, s.queries, s.force = d.n(3) == 0, s.kind != model.Fenced && d.n(6) == 0, d.n(2) == 0, d.n(4) == 0
	s.beside = !s.implied && d.n(4) == 0
	s.retire = d.n(2) == 0
	if s.implied {
		s.h.Header.Expiry = history.Implied
		s.back = false
	}
	s.unknown = []int{0, 0, 10, 30}[d.n(4)]
	for o := range 1 + d.n(4) {
		owner := fmt.Sprintf("c%d:1", o)
		s.callers = append(s.callers, caller{owner: owner, current: -1})
		if s.beside {
			s.callers = append(s.callers, caller{owner: owner, current: -1, beside: true})
		}
	}
	s.now = s.tick
	for range 8 + d.n(40) {
		s.pass()
		if s.events && d.in100(12) {
			s.strike()
		}
		if len(s.flying) > 0 && d.n(4) == 0 {
			i := d.n(len(s.flying))
			s.execute(s.flying[i])
			s.flying = slices.Delete(s.flying, i, i+1)
			continue
		}
		s.act(&s.callers[d.n(len(s.callers))])
	}
	s.now += s.tick
	s.settle()
	s.record()
	return s
}

// pass lets time go by, often none.
func (s *simulation) pass() {
	switch s.n(6) {
	case 0:
		s.now += s.tick
	case 1:
		s.now += time.Duration(1+s.n(4)) * s.tick
	case 2:
		if s.n(4) == 0 {
			s.now += time.Duration(1+s.n(20)) * time.Millisecond / s.tick * s.tick
		}
	}
	s.settle()
}

// settle ends what ended by itself.
func (s *simulation) settle() {
	if len(s.lock.holds) > 0 && s.kept && s.n(2) == 0 {
		s.lock.deadline = max(s.lock.deadline, s.now+time.Millisecond) // a renewal that nobody recorded
	}
	if len(s.lock.holds) == 0 || s.lock.deadline > s.now {
		return
	}
	if !s.implied {
		s.happen(history.Event{Kind: history.Expire, At: s.lock.deadline})
	}
	s.lock.holds = nil
}

func (s *simulation) happen(e history.Event) {
	e.Lock = job
	s.h.Events = append(s.h.Events, e)
}

// strike has the environment do something: on a virtual clock, before all else of its instant.
func (s *simulation) strike() {
	if s.h.Header.Clock == history.Virtual && s.ran == s.now {
		s.now += s.tick
		s.settle()
	}
	e := history.Event{Kind: history.Delete, At: s.now}
	switch s.n(4) {
	case 0:
		if s.leases {
			e.Kind = history.ForceTTL
			if len(s.lock.holds) > 0 {
				s.lock.deadline = never
			}
			if s.n(3) > 0 {
				e.Deadline = s.now + time.Duration(1+s.n(9))*time.Millisecond/s.tick*s.tick + s.tick
				if len(s.lock.holds) > 0 {
					s.lock.deadline = e.Deadline
				}
			}
			break
		}
		fallthrough
	case 1:
		if s.back {
			e.Kind, e.Owner, e.Count = history.Restore, s.callers[s.n(len(s.callers))].owner, int64(1+s.n(2))
			if s.lock.once {
				e.Count = 1
			}
			s.lock.holds = map[string]int64{e.Owner: e.Count}
			if s.lock.deadline = never; s.leases && s.n(2) == 0 {
				e.Deadline = s.now + time.Duration(1+s.n(9))*s.tick
				s.lock.deadline = e.Deadline
			}
			break
		}
		fallthrough
	default:
		if s.n(4) == 0 { // nobody knows exactly when
			e.Since = max(1, e.At-time.Duration(s.n(4))*s.tick)
			e.At += time.Duration(s.n(4)) * s.tick
		}
		s.lock.holds = nil
	}
	s.happen(e)
}

// act lets a caller do its next step.
func (s *simulation) act(a *caller) {
	switch {
	case a.over:
	case a.current < 0:
		if len(s.h.Ops) < 24 {
			s.call(a)
		}
	case !s.truths[a.current].executed && !s.truths[a.current].itself && !s.in100(s.unknown):
		if !s.byItself(a.current) {
			s.execute(a.current)
		}
	default:
		s.reply(a)
	}
}

func (s *simulation) call(a *caller) {
	kinds := []history.Kind{history.TryLock, history.TryLock, history.Lock, history.Unlock, history.Unlock, history.Unlock}
	if s.queries {
		kinds = append(kinds, history.IsLocked, history.IsHeldBy, history.HoldCount, history.RemainingTTL)
	}
	if s.force {
		kinds = append(kinds, history.ForceUnlock)
	}
	client := a.owner[:2]
	op := history.Op{ID: int64(len(s.h.Ops) + 1), Client: client, Owner: a.owner, Lock: job, Kind: kinds[s.n(len(kinds))], Call: s.now, Aside: a.beside}
	if a.beside {
		op.Kind = []history.Kind{history.Renew, history.Renew, history.Unlock}[s.n(3)]
	}
	if op.Kind == history.RemainingTTL && !s.kind.Leases() {
		op.Kind = history.IsLocked
	}
	if s.leases && s.n(8) > 0 {
		op.Lease = max(s.tick, time.Duration(1+s.n(16))*time.Millisecond/s.tick*s.tick)
		op.Watchdog = s.watched
	}
	a.current = len(s.h.Ops)
	s.h.Ops = append(s.h.Ops, op)
	s.truths = append(s.truths, truth{})
}

// byItself has a client answer what it knows without asking the server, when that is true at the moment.
func (s *simulation) byItself(i int) bool {
	if s.n(12) > 0 {
		return false
	}
	lock, op := s.lock, s.h.Ops[i]
	lock.holds = maps.Clone(lock.holds)
	if out, value := lock.do(&op, s.now); out == history.Busy || out == history.NotHeld || out == history.OK {
		s.ran = s.now
		s.truths[i] = truth{itself: true, answer: out, value: value}
		return true
	}
	return false
}

func (s *simulation) execute(i int) {
	s.ran = s.now
	t := &s.truths[i]
	t.executed, t.at = true, s.now
	t.answer, t.value = s.lock.do(&s.h.Ops[i], s.now)
	t.token = s.lock.token
	if op := &s.h.Ops[i]; t.answer == history.Acquired || t.answer == history.Decremented && op.Lease > 0 {
		s.kept = op.Watchdog
	}
}

// reply ends a call: its client is told, or not.
func (s *simulation) reply(a *caller) {
	i := a.current
	op, t := &s.h.Ops[i], &s.truths[i]
	a.current = -1
	if (t.executed || t.itself) && !s.in100(s.unknown) {
		op.Return, op.Outcome, op.Value = s.now, t.answer, t.value
		if s.kind == model.Fenced && op.Outcome == history.Acquired {
			op.Token = t.token
		}
		return
	}
	if t.itself {
		*t = truth{}
	}
	if !t.executed {
		switch s.n(4) {
		case 0, 1:
			s.flying = append(s.flying, i) // it may be executed later
		case 2:
			if s.n(2) == 0 {
				op.Return, op.Outcome = s.now, history.Failed
				return
			}
		}
	}
	if s.n(4) > 0 {
		op.Return, op.Outcome = s.now, history.Unknown
		a.over = s.retire
		return
	}
	a.over = true // it never came back
}

// record adds what is known of calls besides what their clients were told: of all, of none or of some.
func (s *simulation) record() {
	known := []int{0, 100, 100, 50}[s.n(4)]
	windows := s.n(2) == 0
	for i := range s.h.Ops {
		op, t := &s.h.Ops[i], &s.truths[i]
		switch told := !op.Uncertain(); {
		case t.executed && s.in100(known):
			op.Evidence, op.Executed, op.Answer = history.Executed, t.at, t.answer
		case !t.executed && s.in100(known):
			op.Evidence = history.NotSent
		case !told && windows:
			op.Evidence, op.Until = history.Sent, max(op.Call, op.Return, t.at)+time.Duration(s.n(4))*s.tick
		case !told && s.n(4) == 0:
			op.Evidence = history.Sent
		}
	}
}

// corrupt makes some of a history untrue. It may still be one that a right lock can have.
func (s *simulation) corrupt() {
	for range 1 + s.n(3) {
		if len(s.h.Events) > 0 && s.n(6) == 0 {
			e := &s.h.Events[s.n(len(s.h.Events))]
			if s.n(3) == 0 {
				*e = s.h.Events[len(s.h.Events)-1]
				s.h.Events = s.h.Events[:len(s.h.Events)-1]
			} else if e.At = max(e.Since, e.At+time.Duration(s.n(9)-4)*s.tick); e.At < 0 {
				e.At = 0
			}
			continue
		}
		if len(s.h.Ops) == 0 {
			return
		}
		op := &s.h.Ops[s.n(len(s.h.Ops))]
		switch s.n(6) {
		case 0:
			op.Lease += time.Duration(s.n(9)) * s.tick
		case 1:
			if op.Evidence == history.Executed && op.Return > op.Call {
				op.Executed = op.Call + time.Duration(s.n(int(min((op.Return-op.Call)/s.tick, 100))+1))*s.tick
			}
		case 2:
			op.Token = max(0, op.Token+int64(s.n(3)-1))
		default:
			s.lie(op)
		}
	}
}

// lie changes what a client was told, and what the server is said to have answered.
func (s *simulation) lie(op *history.Op) {
	if op.Outcome == history.OK {
		op.Value = int64(s.n(3))
		return
	}
	if out := untold[s.n(len(untold))]; op.Kind.Allows(out) {
		if !op.Uncertain() && op.Outcome != history.Failed {
			op.Outcome = out
		}
		if op.Evidence == history.Executed {
			op.Answer = out
		}
	}
}

var untold = []history.Outcome{history.Acquired, history.Busy, history.Decremented, history.Released, history.NotHeld, history.Renewed}
