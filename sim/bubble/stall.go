package bubble

import (
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Virtual time passes only while every goroutine of a bubble is durably blocked, and a goroutine that waits for a
// sync.Mutex never is. If the holder of the mutex waits for time to pass, or for the goroutine in [Settle] to act,
// nothing goes on for ever. synctest has no way out of its Wait, so that there is one here.
//
// Outside of the bubble, in real time, a watch looks whether the bubble goes on. When it does not, the stacks of all
// goroutines say why. The watch then wakes the bubble's own goroutine: it resumes a coroutine that was made in the bubble,
// and so may use the bubble's channels. It does so from a second bubble. A coroutine that is resumed from outside of
// any bubble is not counted as running by its own.

// Stall is why a bubble cannot go on.
type Stall struct {
	// Mutex says that all that can still go on waits for mutexes, and they for goroutines that are durably blocked: only
	// the goroutine that called [Settle] can resolve that. Else something has taken longer than [Patience] of real time.
	Mutex      bool
	Goroutines []Goroutine // that do not come to rest
}

// Patience is how much real time goroutines may take to come to rest.
const Patience = 4 * time.Second

// glance is how often the watch looks.
const glance = 2 * time.Millisecond

// halted is how much of the time between two looks counts at most: a watch that did not look for longer had no processor, and nor had
// the bubble.
const halted = 250 * time.Millisecond

// looks is how many of them in a row have to find that nothing but mutexes is waited for.
const looks = 10

// Bubble is a bubble, and what is known of it.
type Bubble struct {
	t    *testing.T
	beat atomic.Int64 // counts what the bubble does
	over atomic.Bool  // the function of the bubble has returned
	told atomic.Bool  // a stall was told, and the bubble has not come to rest since
	left atomic.Bool  // it was given up, and perhaps another one runs

	outside atomic.Int32 // how many of it wait for something outside of it, and say so

	asked   bool // Settle has asked, and there was no answer
	ask     chan struct{}
	rested  chan struct{}
	stalled chan *Stall

	gaveUp chan error

	mu    sync.Mutex              // guards what follows
	id    string                  // of the bubble, as stacks have it
	hand  func() (struct{}, bool) // nil: the bubble's function has returned
	letGo func()
	stall *Stall // for the hand; the last one
}

// current is the watch of the bubble that runs; there is one at a time.
var current atomic.Pointer[Bubble]

// begin prepares the bubble that it is called in.
func (w *Bubble) begin() {
	w.ask, w.rested, w.stalled = make(chan struct{}), make(chan struct{}, 1), make(chan *Stall, 1)
	go func() {
		for range w.ask {
			synctest.Wait()
			w.rested <- struct{}{}
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = ownBubble()
	w.hand, w.letGo = iter.Pull(func(yield func(struct{}) bool) {
		for {
			select {
			case w.stalled <- w.stall:
			default:
			}
			if !yield(struct{}{}) {
				return
			}
		}
	})
	current.Store(w)
}

// end lets what begin has made end.
func (w *Bubble) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over.Store(true)
	current.CompareAndSwap(w, nil)
	w.hand = nil
	w.letGo()
	close(w.ask)
	select {
	case <-w.rested:
	default:
	}
}

// Inside reports whether the calling goroutine is of the bubble that runs.
func Inside() bool {
	w := current.Load()
	if w == nil {
		return false
	}
	w.mu.Lock()
	id := w.id
	w.mu.Unlock()
	return ownBubble() == id
}

// Here is the bubble of the calling goroutine, which is that of the function given to [Bubbles.Run].
func Here() *Bubble { return current.Load() }

// Settle blocks until every other goroutine of the bubble is durably blocked, or cannot go on: then it says why. It is
// for one goroutine of the bubble, and never returns once the bubble was given up.
func (w *Bubble) Settle() *Stall {
	if w.left.Load() {
		select {}
	}
	w.beat.Add(1)
	select {
	case <-w.stalled: // it was so before
	default:
	}
	if w.asked {
		select {
		case <-w.rested: // before what happened since
			w.asked = false
		default:
		}
	}
	if !w.asked {
		w.ask <- struct{}{}
		w.asked = true
	}
	select {
	case <-w.rested:
		w.asked = false
		w.told.Store(false)
		w.beat.Add(1)
		return nil
	case s := <-w.stalled:
		w.beat.Add(1)
		return s
	}
}

// Outside calls f, which waits for something outside of the bubble. That takes real time, and is no stall while f calls
// alive again within less than [Patience], from any goroutine.
func (w *Bubble) Outside(f func(alive func())) {
	w.outside.Add(1)
	defer func() {
		w.beat.Add(1)
		w.outside.Add(-1)
	}()
	f(func() { w.beat.Add(1) })
}

// Stalled is a channel to select on besides others while time is to pass. When it yields, time does not pass, and
// [Settle] says why.
func (w *Bubble) Stalled() <-chan *Stall { return w.stalled }

// look watches the bubble until done is closed.
func (w *Bubble) look(done <-chan struct{}) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	last, before, silent := int64(-1), time.Now(), time.Duration(0)
	seen, known := 0, map[int64]bool{} // seen: looks in a row that found nothing but mutexes waited for
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		now := time.Now()
		silent += min(now.Sub(before), halted)
		before = now
		if beat := w.beat.Load(); beat != last {
			last, silent, seen = beat, 0, 0
			continue
		}
		if w.outside.Load() > 0 && silent <= Patience {
			seen = 0 // the stacks, for which all has to stop, would say nothing new
			continue
		}
		w.mu.Lock()
		id := w.id
		w.mu.Unlock()
		var s Stall
		var sure bool
		s.Mutex, sure, s.Goroutines = restless(id, known)
		over := w.over.Load()
		if seen++; !s.Mutex || !sure {
			seen = 0
		}
		if s.Mutex && seen < looks && silent <= Patience {
			continue // it may be about to go on: a false alarm would change the run
		}
		switch {
		case id == "" || len(s.Goroutines) == 0 || w.beat.Load() != last:
		case !s.Mutex && silent <= Patience && !(over && w.told.Load()):
		case over, silent > Patience+Patience/4:
			w.left.Store(true)
			w.gaveUp <- &StallError{s}
			return
		default:
			w.poke(&s)
		}
	}
}

// poke wakes the bubble's own goroutine.
func (w *Bubble) poke(s *Stall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hand == nil {
		return
	}
	w.stall = s
	w.told.Store(true)
	hold, poked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(poked)
		synctest.Test(w.t, func(*testing.T) {
			go func() { <-hold }() // or the second bubble is taken for blocked while the coroutine runs
			w.hand()
			close(hold)
		})
	}()
	<-poked
}
