package fault

import (
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
)

// Scheduler runs a watchdog's timers and can be paused: a timer that comes due meanwhile runs when
// it is resumed, as a thread does that got no CPU. It is safe for concurrent use.
type Scheduler struct {
	// Caught is called with the value of a panic in a timer's function.
	Caught func(value any)

	mu     sync.Mutex
	used   bool
	paused int // how many pauses are in force
	held   []*timer
}

type timer struct {
	s    *Scheduler
	t    *time.Timer
	f    func()
	done bool // stopped, or run
}

// AfterFunc is time.AfterFunc, but for pauses.
func (s *Scheduler) AfterFunc(d time.Duration, f func()) subjects.Timer {
	t := &timer{s: s, f: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	t.t = time.AfterFunc(d, t.due)
	return t
}

// Used reports whether any timer was ever started.
func (s *Scheduler) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func (t *timer) due() {
	t.s.mu.Lock()
	if t.done {
		t.s.mu.Unlock()
		return
	}
	if t.s.paused > 0 {
		t.s.held = append(t.s.held, t)
		t.s.mu.Unlock()
		return
	}
	t.done = true
	t.s.mu.Unlock()
	t.s.run(t.f)
}

func (s *Scheduler) run(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.Caught(p)
		}
	}()
	f()
}

// Stop prevents the timer's run, also one that is held back.
func (t *timer) Stop() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	was := !t.done
	t.done = true
	t.t.Stop()
	return was
}

// Pause holds back timers that come due from now on, until as many calls of Resume.
func (s *Scheduler) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused++
}

// Resume undoes one Pause. If it was the last, it runs the timers held back, in the order they came
// due, and returns how many came due (also those stopped meanwhile).
func (s *Scheduler) Resume() int {
	s.mu.Lock()
	if s.paused = max(s.paused-1, 0); s.paused > 0 {
		s.mu.Unlock()
		return 0
	}
	held := s.held
	s.held = nil
	var run []func()
	for _, t := range held {
		if !t.done {
			t.done = true
			run = append(run, t.f)
		}
	}
	s.mu.Unlock()
	if len(run) > 0 {
		go func() {
			for _, f := range run {
				s.run(f)
			}
		}()
	}
	return len(held)
}
