package external

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/subjects"
)

// process is a worker's process, the leader of a group that is killed with it.
type process struct {
	cmd     *exec.Cmd
	child   subjects.Child // instead of cmd, where the world starts processes
	in      io.WriteCloser // to it
	out     io.ReadCloser  // from it
	errs    tail
	signals sync.Mutex
	exited  <-chan struct{} // closed when it has ended
}

// launch starts a program with its arguments. start may be nil.
func launch(words []string, start subjects.Starter) (*process, error) {
	if len(words) == 0 {
		return nil, errors.New("no command; right is for example exec:./my-worker")
	}
	p := &process{}
	p.errs.done = make(chan struct{})
	if start != nil {
		var err error
		if p.child, err = start(words); err != nil {
			return nil, err
		}
		p.in, p.out, p.exited = p.child.In(), p.child.Out(), p.child.Exited()
		go p.errs.keep(p.child.Err())
		return p, nil
	}
	p.cmd = exec.Command(words[0], words[1:]...)
	lead(p.cmd)
	var err error
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	// Plain pipes, rather than those of exec, whose Wait would wait for grandchildren that hold them.
	stdin, in := pipe()
	out, stdout := pipe()
	errs, stderr := pipe()
	if err == nil {
		p.in, p.out = in, out
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
		err = p.run()
	}
	closeAll(stdin, stdout, stderr)
	if err != nil {
		closeAll(in, out, errs)
		return nil, err
	}
	go p.errs.keep(errs)
	return p, nil
}

// closeAll closes files, of which any may be nil.
func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// run starts the process, and reaps it when it ends.
func (p *process) run() error {
	started, exited := make(chan error), make(chan struct{})
	p.exited = exited
	go func() {
		// The process is to die with this one, which Linux takes to mean: with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in ProcessState
			_ = killGroup(p.cmd.Process)
			close(exited)
		}
	}()
	return <-started
}

// over waits for the end for at most d, and reports whether it has come.
func (p *process) over(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// ending says how the process ended, once it has: "exit status 1", "signal: killed".
func (p *process) ending() string {
	if p.child != nil {
		return p.child.Ending()
	}
	return p.cmd.ProcessState.String()
}

// kill ends the process and its group, and returns when it has ended.
func (p *process) kill() error {
	if p.ended() {
		return nil
	}
	if p.child != nil {
		return p.child.Kill()
	}
	err := killGroup(p.cmd.Process)
	if err == nil {
		<-p.exited
	}
	return err
}

// pause returns when the process stands still, or has ended.
func (p *process) pause() error {
	if p.child != nil {
		return p.child.Pause()
	}
	return p.signal(pauseGroup)
}

func (p *process) resume() error {
	if p.child != nil {
		return p.child.Resume()
	}
	return p.signal(resumeGroup)
}

// signal sends a signal, one at a time. A process that has ended gets none, which is no error.
func (p *process) signal(send func(*os.Process) error) error {
	p.signals.Lock()
	defer p.signals.Unlock()
	if p.ended() {
		return nil
	}
	err := send(p.cmd.Process)
	if err != nil && p.over(time.Second) {
		return nil
	}
	return err
}

// lastWords is what it wrote to its standard error at last, for an error's text; "" if nothing.
func (p *process) lastWords() string {
	select {
	case <-p.errs.done:
	case <-time.After(time.Second): // somebody outside the group has it still open, or the process lives
	}
	text, total := p.errs.last()
	text = strings.TrimSpace(text)
	lines := strings.Split(text, "\n")
	text = strings.Join(lines[max(0, len(lines)-3):], "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			text = line // of Go, whose traces follow what is wrong
			break
		}
	}
	if most := 400; len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	switch {
	case text == "":
		return ""
	case total > tailSize:
		return fmt.Sprintf("; it wrote %d bytes to stderr, the last of them %q", total, text)
	}
	return fmt.Sprintf("; it wrote to stderr %q", text)
}

// tail keeps the last of what a process writes to its standard error, however much that is.
type tail struct {
	done chan struct{} // closed when there will be no more

	mu    sync.Mutex
	text  []byte
	total int64
}

const tailSize = 4096

func (t *tail) keep(r io.ReadCloser) {
	defer close(t.done)
	defer r.Close()
	_, _ = io.Copy(t, r)
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(b))
	t.text = append(t.text, b...)
	if n := len(t.text); n > tailSize {
		t.text = append(t.text[:0], t.text[n-tailSize:]...)
	}
	return len(b), nil
}

func (t *tail) last() (text string, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text), t.total
}
