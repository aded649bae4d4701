package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/health"
)

// Go's runtime ends a process that panics, or that has no memory left, with exit code 2, which means
// something else here. A command is therefore done by a child, this program once more, which says its code on a
// pipe. A child that ends without a word has crashed, however it ended.

const childCommand = "child"

// inherited are the files that a child inherits besides its standard input and output. What its runtime writes to
// standard error as it dies goes to the parent instead.
type inherited struct {
	stderr *os.File // the user's
	code   *os.File // to the parent: the exit code
	ends   *os.File // from the parent: a byte for each signal; its end is that of the parent
}

// inheritance finds the files that [pass] passed to this process, by what the parent says of them.
func inheritance(said string) (inherited, error) {
	numbers := strings.Split(said, ",")
	var files [3]*os.File
	if len(numbers) != len(files) {
		return inherited{}, fmt.Errorf("%q are not the three files of a child", said)
	}
	for i, number := range numbers {
		n, err := strconv.ParseUint(number, 10, 0)
		if err != nil {
			return inherited{}, fmt.Errorf("%q are not the three files of a child", said)
		}
		keep(uintptr(n))
		files[i] = os.NewFile(uintptr(n), "inherited")
	}
	return inherited{files[0], files[1], files[2]}, nil
}

// ends are the signals that end a command early: Ctrl-C, what time limits and shutdowns send, and a
// terminal that is closed.
var ends = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// exitPipe is the exit code where nobody reads the output any more, as shells know it: head needs no more.
const exitPipe = 128 + int(syscall.SIGPIPE)

// supervise has a child of a program do what the arguments say, and returns the exit code. This is the one place
// that decides what the end of the process means.
func supervise(program string, args []string, stderr *os.File) int {
	var last lastWords
	child := exec.Command(program)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, &last
	child.WaitDelay = time.Second // for what it leaves behind, which may hold its standard error open
	codes, code, err := os.Pipe()
	if err != nil {
		return fail(stderr, checker.ExitHarness, "%v", err)
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return fail(stderr, checker.ExitHarness, "%v", err)
	}
	numbers, err := pass(child, stderr, code, told)
	if err != nil {
		return fail(stderr, checker.ExitHarness, "%v", err)
	}
	child.Args = append(child.Args, childCommand, strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]"))
	child.Args = append(child.Args, args...)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, ends...)
	if err := child.Start(); err != nil {
		return fail(stderr, checker.ExitHarness, "%v", err)
	}
	code.Close()
	told.Close()
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for n := 0; ; {
		select {
		case <-signals:
			if n++; n > 1 {
				_ = child.Process.Kill()
				<-ended
				return fail(stderr, checker.ExitUndecided, "interrupted again, and ended at once")
			}
			_, _ = tell.Write([]byte{1}) // a child that is gone needs no word
		case err := <-ended:
			said, _ := io.ReadAll(codes)
			return codeOf(string(said), err, child.ProcessState, &last, stderr)
		}
	}
}

// codeOf is the exit code of a child that said a code and ended with a state. Both must say the same: a child may
// die as it ends.
func codeOf(said string, err error, state *os.ProcessState, last *lastWords, stderr io.Writer) int {
	if code, err := strconv.Atoi(said); err == nil && code == state.ExitCode() {
		return code
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGPIPE {
		return exitPipe
	}
	if state.Success() { // it said no code
		err = errors.New("it ended without a word")
	}
	return fail(stderr, checker.ExitHarness, "the process died: %v", last.of(err))
}

// inherit does the work of a child with the files that it inherited, and returns its exit code.
func inherit(files inherited, args []string) int {
	os.Stderr = files.stderr
	log.SetOutput(os.Stderr)
	signal.Notify(make(chan os.Signal, 1), ends...) // a terminal sends Ctrl-C to all of its processes; the parent tells of it
	ctx, endFor := context.WithCancelCause(context.Background())
	end := func() { endFor(nil) }
	defer end()
	health.Spare()
	go health.Watch(ctx.Done(), endFor)
	go func() {
		one := make([]byte, 1)
		for ; ; end() {
			if _, err := files.ends.Read(one); err != nil { // the parent is gone: nobody wants to know
				os.Exit(checker.ExitHarness)
			}
		}
	}()
	stdout := &output{File: os.Stdout, lost: end}
	code := checker.ExitHarness
	if err := health.Memory(leastMemory); err != nil {
		fail(os.Stderr, code, "%v", err)
	} else {
		code = command(ctx, args, stdout, os.Stderr)
	}
	if err := stdout.failed(); err != nil {
		code = checker.Worst(code, fail(os.Stderr, checker.ExitHarness, "standard output is lost: %v", cause(err)))
	}
	fmt.Fprint(files.code, code)
	return code
}

// output is standard output. What cannot be written to it is lost, which ends the command.
type output struct {
	*os.File
	lost func()
	mu   sync.Mutex
	err  error // the first
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
			o.lost()
		}
	}
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// lastWords are the beginning of what a process writes to its standard error: a runtime that dies says why before
// it shows all its goroutines.
type lastWords struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const wordsMost = 64 << 10

func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(b[:min(len(b), wordsMost-w.text.Len())])
	return len(b), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// dying is how the words of Go's runtime begin, in which it says why it ends the process.
var dying = regexp.MustCompile(`^(panic|fatal error|SIG[A-Z]+): `)

// of says how a process ended, by the last lastWords of its runtime if there are any, and else by err.
func (w *lastWords) of(err error) error {
	text := w.String()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if dying.MatchString(line) {
			return errors.New(line)
		}
	}
	if strings.Contains(text, "WARNING: DATA RACE") {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}
