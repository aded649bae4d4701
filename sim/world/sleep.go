package world

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// sleeper is a program that sleeps, or a command that waits for its turn. No two wake at one
// instant: what they do next, and the timers they start, have an order then.
type sleeper struct {
	at     time.Duration
	name   string // breaks ties
	client string
	call   int64 // breaks ties between commands that say the same
	cut    bool  // interrupted while its client was paused
	born   int   // how many steps there were when it began
	woke   chan struct{}

	refused error // it has not got its turn; nil: it has
}

// Sleep blocks a program, of that name and client, for d and up to a millisecond more, drawn from jitter, or until
// interrupted. It reports whether it slept to the end. Programs may call it.
//
// A program of a paused client sleeps until the client goes on. If it is past its time then, it has
// slept to the end, even if it was interrupted meanwhile: it may have looked before it was paused.
func (w *World) Sleep(name, client string, jitter *rand.Rand, d time.Duration, interrupted <-chan struct{}) bool {
	if w.order == nil {
		d += time.Duration(jitter.Int64N(int64(time.Millisecond)))
	}
	s := w.lie(name, client, 0, d)
	select {
	case <-s.woke:
		return true
	case <-interrupted:
	}
	w.mu.Lock()
	if w.frozen[s.client] > 0 || w.dead[s.client] {
		s.cut = true
		w.mu.Unlock()
		<-s.woke
		return w.Now() >= s.at
	}
	w.sleepers = slices.DeleteFunc(w.sleepers, func(o *sleeper) bool { return o == s })
	w.mu.Unlock()
	return false
}

// Pass blocks a program, of that name and client, while its client is paused, or dead. Programs may
// call it, and call it before they record what they were told.
func (w *World) Pass(name, client string) {
	if w.Stopped(client) {
		<-w.lie(name, client, 0, 0).woke
	}
}

// lie makes a sleeper.
func (w *World) lie(name, client string, call int64, d time.Duration) *sleeper {
	w.mu.Lock()
	s := &sleeper{at: w.Now() + d, name: name, client: client, call: call, born: w.stepNumber(), woke: make(chan struct{})}
	if w.ended.Load() {
		close(s.woke) // nobody would wake it
	} else {
		w.sleepers = append(w.sleepers, s)
	}
	w.mu.Unlock()
	w.Notify()
	return s
}

// nextSleeper returns the program that wakes up first, and when.
func (w *World) nextSleeper() (first *sleeper, at time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sleepers {
		if w.frozen[s.client] > 0 || w.dead[s.client] {
			continue
		}
		due := s.at
		if s.cut {
			due = min(due, w.Now())
		}
		if first == nil || due < at || due == at && cmp.Or(strings.Compare(s.name, first.name), cmp.Compare(s.call, first.call)) < 0 {
			first, at = s, due
		}
	}
	return first, at
}

// nextTurn returns the command that waits for its turn and has it first, also of a client that is paused or dead; nil: none.
func (w *World) nextTurn() (first *sleeper) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sleepers {
		if s.sends() && (first == nil || cmp.Or(cmp.Compare(s.at, first.at), strings.Compare(s.name, first.name), cmp.Compare(s.call, first.call)) < 0) {
			first = s
		}
	}
	return first
}

// sends reports whether it is a command, rather than a program.
func (s *sleeper) sends() bool { return strings.Contains(s.name, "\x00") }

func (w *World) rouse(s *sleeper) {
	w.woke = w.Now()
	w.mu.Lock()
	w.sleepers = slices.DeleteFunc(w.sleepers, func(o *sleeper) bool { return o == s })
	w.mu.Unlock()
	close(s.woke)
}

// Dead reports whether a client was killed. Programs may call it.
func (w *World) Dead(client string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead[client]
}

// Stopped reports whether a client is paused or was killed. Programs may call it.
func (w *World) Stopped(client string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen[client] > 0 || w.dead[client]
}
