package bubble_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// A goroutine that waits for a mutex is no idle one, and its holder may be.
func TestWhoWaitsForAMutexIsToldOf(t *testing.T) {
	err := bubble.In(t).Run(func() {
		for range 20 {
			var mu sync.Mutex
			mu.Lock()
			done := make(chan struct{})
			go func() {
				defer close(done)
				mu.Lock()
			}()
			s := bubble.Here().Settle()
			if s == nil || !s.Mutex || len(s.Goroutines) != 1 || !strings.Contains(s.Goroutines[0].At, "bubble/stall_test.go:") {
				t.Errorf("%+v", s)
			}
			mu.Unlock()
			<-done
			if s := bubble.Here().Settle(); s != nil {
				t.Errorf("all is at rest: %+v", s)
			}
			time.Sleep(time.Second) // and time passes
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// That is so too while the bubble's own goroutine waits for time to pass.
func TestTimeThatDoesNotPassIsToldOf(t *testing.T) {
	err := bubble.In(t).Run(func() {
		var mu sync.Mutex
		mu.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(time.Second)
			mu.Lock()
		}()
		select {
		case <-time.After(time.Minute):
			t.Error("time passed while a goroutine waited for a mutex")
		case <-bubble.Here().Stalled():
		}
		mu.Unlock()
		<-done
	})
	if err != nil {
		t.Error(err)
	}
}

// Who has a mutex may take long in real time. While it helps the garbage collector, its stack does not even say that it is in
// the bubble.
func TestWhoIsBusyWithAMutexIsNoStall(t *testing.T) {
	for name, work := range map[string]func(){
		"computes":  func() {},
		"allocates": func() { garbage.Store(new([4 << 10]byte)) },
	} {
		var over atomic.Bool
		time.AfterFunc(time.Second, func() { over.Store(true) }) // of real time
		err := bubble.In(t).Run(func() {
			var mu sync.Mutex
			for range 6 {
				go func() {
					rest := make(chan struct{})
					defer close(rest)
					go func() {
						for range rest {
						}
					}()
					for !over.Load() {
						mu.Lock()
						for range 1000 {
							work()
						}
						mu.Unlock()
						rest <- struct{}{}
					}
				}()
			}
			if s := bubble.Here().Settle(); s != nil {
				t.Errorf("%s: %+v", name, s)
			}
			over.Store(true)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stall that was overcome is over: what goes on in real time after the bubble's function is none the worse for it.
func TestAStallThatWasOvercomeIsForgotten(t *testing.T) {
	var over atomic.Bool
	time.AfterFunc(time.Second, func() { over.Store(true) }) // of real time
	err := bubble.In(t).Run(func() {
		var mu sync.Mutex
		mu.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			mu.Lock()
		}()
		if s := bubble.Here().Settle(); s == nil {
			t.Error("nobody waits for the mutex")
		}
		mu.Unlock()
		<-done
		if s := bubble.Here().Settle(); s != nil {
			t.Errorf("all is at rest: %+v", s)
		}
		go func() {
			for !over.Load() {
				runtime.Gosched()
			}
		}()
	})
	if err != nil {
		t.Error(err)
	}
}

var garbage atomic.Pointer[[4 << 10]byte]

func TestGoroutinesThatAreLeftBehindAreNamed(t *testing.T) {
	never := make(chan struct{}) // made outside of the bubble
	defer close(never)
	var left *bubble.LeftError
	err := bubble.In(t).Run(func() {
		inside := make(chan struct{})
		go func() { <-inside }()
	})
	if !errors.As(err, &left) || !strings.Contains(err.Error(), "bubble_test.TestGoroutinesThatAreLeftBehindAreNamed.func1.1, started at bubble/stall_test.go:") {
		t.Errorf("idle: %v", err)
	}
	var stalled *bubble.StallError
	err = bubble.In(t).Run(func() {
		go func() { <-never }()
	})
	if !errors.As(err, &stalled) || !strings.Contains(err.Error(), "TestGoroutinesThatAreLeftBehindAreNamed.func2.1, started at") {
		t.Errorf("waiting for the real world: %v", err)
	}
	// The bubbles that follow are none the worse for it.
	if err := bubble.In(t).Run(func() { time.Sleep(time.Hour) }); err != nil {
		t.Error(err)
	}
}

// Noticed within five seconds: the bubble's own goroutine hears of it, and the run ends.
func TestAGoroutineThatDoesNotRestIsNamed(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	begun := time.Now()
	err := bubble.In(t).Run(func() {
		go func() {
			for {
				select {
				case <-over:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
		if s := bubble.Here().Settle(); s == nil || s.Mutex || len(s.Goroutines) != 1 {
			t.Errorf("%+v", s)
		}
	})
	var stalled *bubble.StallError
	if !errors.As(err, &stalled) || !strings.Contains(err.Error(), "TestAGoroutineThatDoesNotRestIsNamed.func1.1, started at bubble/stall_test.go:") {
		t.Errorf("%v", err)
	}
	t.Logf("after %v", time.Since(begun))
}

// While a bubble waits for something outside of it, nobody reads the stacks of all goroutines, for which all would have to stop.
func TestWhoWaitsForSomethingOutsideIsLeftAlone(t *testing.T) {
	var over atomic.Bool
	time.AfterFunc(200*time.Millisecond, func() { over.Store(true) }) // of real time
	err := bubble.In(t).Run(func() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		bubble.Here().Outside(func(func()) {
			for !over.Load() {
				runtime.Gosched()
			}
		})
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got >= 1<<18 { // what one look at the stacks takes
			t.Errorf("%d bytes were allocated meanwhile", got)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// Who says nothing for long is told of nevertheless.
func TestWhoWaitsForTooLongIsNamed(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	err := bubble.In(t).Run(func() { bubble.Here().Outside(func(func()) { <-over }) })
	var stalled *bubble.StallError
	if !errors.As(err, &stalled) || !strings.Contains(err.Error(), "is in chan receive at bubble/stall_test.go:") {
		t.Errorf("%v", err)
	}
}

// What was given up may go on when another bubble runs, of a machine that was stopped, say. It is not taken for that one.
func TestWhatWasGivenUpTouchesNoOtherBubble(t *testing.T) {
	over, waits := make(chan struct{}), make(chan struct{}) // made outside of the bubble
	var here *bubble.Bubble
	var stalled *bubble.StallError
	if err := bubble.In(t).Run(func() {
		here = bubble.Here()
		<-over
		select { // of a channel of another bubble this would be fatal
		case <-here.Stalled():
		case <-time.After(time.Second):
		}
		close(waits)
		here.Settle()
		t.Error("it went on after it was given up")
	}); !errors.As(err, &stalled) {
		t.Fatal(err)
	}
	if err := bubble.In(t).Run(func() {
		if bubble.Here() == here {
			t.Error("it is the bubble that was given up")
		}
		close(over)
		<-waits
		time.Sleep(time.Hour)
		if s := bubble.Here().Settle(); s != nil {
			t.Errorf("%+v", s)
		}
	}); err != nil {
		t.Error(err)
	}
}

func TestAPanicComesBack(t *testing.T) {
	var panicked *bubble.PanicError
	if err := bubble.In(t).Run(func() { panic("no") }); !errors.As(err, &panicked) || panicked.Value != "no" {
		t.Error(err)
	}
}

// A watchdog may look only at its next tick whether it is still wanted. That is virtual time, and left behind is who stays longer.
func TestWhoEndsByItselfIsNotLeftBehind(t *testing.T) {
	for lasts, stays := range map[time.Duration]bool{bubble.Grace - time.Second: false, bubble.Grace + time.Second: true} {
		err := bubble.In(t).Run(func() {
			go time.Sleep(lasts)
		})
		if left := errors.As(err, new(*bubble.LeftError)); left != stays {
			t.Errorf("a goroutine that ends after %v: %v", lasts, err)
		}
	}
}

// A panic says where it began.
func TestAPanicSaysWhere(t *testing.T) {
	err := bubble.In(t).Run(func() { _ = []string{}[strings.Index(t.Name(), "T")] })
	if err == nil || !strings.Contains(err.Error(), "index out of range [0] with length 0, at bubble/stall_test.go:") {
		t.Errorf("it is told: %v", err)
	}
}
