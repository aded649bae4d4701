// Package bubble runs a function under virtual time, in a testing/synctest bubble: time advances
// only when every goroutine started in it is blocked for good reason.
//
// It is the one package outside tests and locktest that imports testing. synctest.Test needs a
// *testing.T, which an ordinary program does not have; [testing.Main], which the standard library
// keeps for programs that simulate "go test", makes one ([Main]). Tests give their own ([In]). It
// must not know what runs in the bubble.
package bubble

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Bubbles starts bubbles, one after the other: at once they would gain nothing, and what go-redis keeps for the whole
// process would be of another bubble.
type Bubbles struct{ t *testing.T }

var turn sync.Mutex // of the bubbles of all

// In returns a starter for use in a test.
func In(t *testing.T) *Bubbles { return &Bubbles{t} }

// Main runs an ordinary program that needs bubbles and exits with the code it returns. It must be
// called from main.main, once, before anything parses the global flag set, which is left empty.
func Main(program func(b *Bubbles) int) {
	if err := flag.CommandLine.Parse(nil); err != nil { // or testing would parse the program's arguments
		panic(err)
	}
	match := func(string, string) (bool, error) { return true, nil }
	testing.Main(match, []testing.InternalTest{{Name: "program", F: func(t *testing.T) {
		os.Exit(program(&Bubbles{t}))
	}}}, nil, nil)
}

// Program returns a starter for an ordinary program that cannot give itself away to [Main]. What
// makes it never ends; it is made once. If the program has not parsed the global flag set, that is
// taken to be left empty.
var Program = sync.OnceValue(func() *Bubbles {
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil) // or testing would parse the program's arguments
	}
	made := make(chan *testing.T)
	match := func(string, string) (bool, error) { return true, nil }
	go testing.Main(match, []testing.InternalTest{{Name: "program", F: func(t *testing.T) {
		made <- t
		select {}
	}}}, nil, nil)
	return &Bubbles{<-made}
})

// Grace is how much virtual time goroutines have to end after the function of a bubble has returned: one that looks every third
// of a lease whether it is still wanted.
const Grace = time.Minute

// Run executes f in a new bubble and waits until it and all goroutines that it started have
// ended. A panic of f comes back as a [*PanicError], goroutines that are left behind for longer than [Grace] as a [*LeftError], those
// that do not come to rest after f has returned as a [*StallError]. Those goroutines stay.
func (b *Bubbles) Run(f func()) error {
	turn.Lock()
	defer turn.Unlock()
	resolver()
	w := &Bubble{t: b.t, gaveUp: make(chan error, 1)}
	done := make(chan struct{})
	err := errors.New("the test that the run was made for has failed") // unless the run comes back
	go func() {
		defer close(done)
		err = w.run(f)
	}()
	go w.look(done)
	select {
	case <-done:
		return err
	case err := <-w.gaveUp:
		current.CompareAndSwap(w, nil)
		return err
	}
}

// resolver has package net make what it keeps for the whole process. If it made its channels in a bubble, they
// would be of no use in the next one.
var resolver = sync.OnceFunc(func() { _, _ = net.LookupHost("localhost") })

// run is Run, in a goroutine that may never end.
func (w *Bubble) run(f func()) (err error) {
	var inner error
	defer func() {
		if p := recover(); p != nil { // synctest: goroutines are still blocked
			if err = inner; err == nil { // and not because f panicked
				left, _ := goroutines(w.id)
				err = &LeftError{left}
			}
		}
	}()
	synctest.Test(w.t, func(*testing.T) {
		defer time.Sleep(Grace) // after end
		w.begin()
		defer w.end()
		defer func() {
			if p := recover(); p != nil {
				inner = &PanicError{Value: p, Stack: debug.Stack()}
			}
		}()
		f()
	})
	return inner
}

// PanicError is a panic inside a bubble.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v%s", e.Value, PanickedAt(e.Stack)) }

// PanickedAt says at which file and line a panic began, by the stack of its recovery; "": that does not show it.
func PanickedAt(stack []byte) string {
	panicked := false
	for line := range strings.Lines(string(stack)) {
		at, is := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "panic("):
			panicked = true
		case panicked && is && !strings.Contains(at, "/src/runtime/"):
			at, _, _ = strings.Cut(strings.TrimSpace(at), " ")
			return ", at " + path.Join(path.Base(path.Dir(at)), path.Base(at))
		}
	}
	return ""
}
