package external

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// limits are how long a worker may take, in real time.
type limits struct {
	start  time.Duration // to say hello, and to answer start
	end    time.Duration // to end when its input has ended
	cancel time.Duration // to answer a call that was cancelled
	linger time.Duration // to end when it has closed its input or output
	answer time.Duration // in checks: to answer what can be answered at once

	// late says, when what it returns is called, how late this machine was at the worst since; nil: it is in time.
	late func() func() time.Duration
}

// usual are the limits that docs/worker.md tells.
var usual = limits{start: 10 * time.Second, end: 5 * time.Second, cancel: time.Second, linger: time.Second, answer: 10 * time.Second}

const longestLine = 64 << 10 // bytes

// client is one worker process, and the [subjects.Client] that it is.
type client struct {
	env     *subjects.Env // nil: it is only to say hello
	command string
	limits  limits
	p       *process
	hello   message
	greeted chan struct{} // closed when it has said hello
	lines   chan []byte   // to it
	ending  chan struct{} // closed when its input is to end
	dead    chan struct{} // closed when nothing more is to be had of it

	mu      sync.Mutex
	last    int64 // id
	waiting map[int64]*call
	holds   map[hold]*held
	names   map[string]string // of owners, in Redis
	quiet   bool              // whatever becomes of it is expected, or told otherwise
	failing bool              // it is being ended, for what it did
	failure error             // why it is dead
}

var (
	errKilled = errors.New("the worker process was killed")
	errClosed = errors.New("the worker was closed")
)

// dial starts a worker and waits for its hello, at most until ctx ends.
func dial(ctx context.Context, words []string, env *subjects.Env, l limits) (*client, error) {
	var start subjects.Starter
	if env != nil {
		start = env.Start
	}
	command := strings.Join(words, " ")
	p, err := launch(words, start)
	if err != nil {
		return nil, fmt.Errorf("worker %q: %w", command, err)
	}
	c := &client{env: env, command: command, limits: l, p: p, quiet: true,
		greeted: make(chan struct{}), lines: make(chan []byte), ending: make(chan struct{}), dead: make(chan struct{}),
		waiting: map[int64]*call{}, holds: map[hold]*held{}}
	go c.read()
	go c.write()
	select {
	case <-c.greeted:
		return c, nil
	case <-c.dead:
	case <-ctx.Done():
		c.fail("nobody waits for its hello any more: %v", context.Cause(ctx))
	case <-time.After(c.limits.start):
		c.fail("it said no hello within %v", c.limits.start)
	}
	return nil, c.failed()
}

// start hands the worker what it needs.
func (c *client) start() error {
	var random [8]byte
	if _, err := io.ReadFull(c.env.Random, random[:]); err != nil {
		return err
	}
	r := request{Kind: kindStart, Version: c.hello.Hello, Redis: []string{c.env.Addr}, Client: c.env.ID,
		WatchdogTimeout: c.env.WatchdogTimeout, Seed: binary.LittleEndian.Uint64(random[:]) >> 11}
	if c.hello.Hello > 1 {
		r.Timescale, r.NoRetry, r.Owners = c.env.Timescale, c.env.NoRetry, c.env.Owners
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limits.start)
	defer cancel()
	a := c.do(ctx, r)
	switch failed := c.failed(); {
	case a.Outcome == history.Failed && !errors.Is(a.Err, failed):
		return &refusedError{fmt.Errorf("worker %q: it cannot start: %w", c.command, a.Err)}
	case a.Outcome != history.OK:
		c.fail("it did not answer start within %v", c.limits.start)
		return c.failed()
	}
	c.mu.Lock()
	c.quiet = false
	c.mu.Unlock()
	return c.failed()
}

// refusedError is a worker's own account of why it cannot start.
type refusedError struct{ error }

// errorf says whose error it is, and what the worker had to say about it.
func (c *client) errorf(format string, args ...any) error {
	who := ""
	if c.env != nil {
		who = " of " + c.env.ID
	}
	return errors.New(c.hush(fmt.Sprintf("worker %q%s: %s%s", c.command, who, fmt.Sprintf(format, args...), c.p.lastWords())))
}

// hush takes the server's password out of what a worker said, which knows it.
func (c *client) hush(text string) string {
	if c.env == nil {
		return text
	}
	u, err := url.Parse(c.env.Addr)
	if err != nil {
		return text
	}
	if password, _ := u.User.Password(); password != "" {
		_, escaped, _ := strings.Cut(u.User.String(), ":")
		quoted := strings.Trim(strconv.Quote(password), `"`)
		text = strings.NewReplacer(password, "xxxxx", escaped, "xxxxx", quoted, "xxxxx").Replace(text)
	}
	return text
}

// fail ends the worker, because of what it did. The first failure counts.
func (c *client) fail(format string, args ...any) {
	c.mu.Lock()
	first := !c.failing
	c.failing = true
	c.mu.Unlock()
	if !first {
		return
	}
	_ = c.p.kill()
	err := c.errorf(format, args...)
	if c.die(err) {
		c.env.Fail(err)
	}
}

// die notes why nothing more is to be had of the worker. It reports whether that is news, and bad.
func (c *client) die(why error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return false
	}
	c.failure = why
	close(c.dead)
	return !c.quiet
}

func (c *client) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// write writes lines until the input is to end.
func (c *client) write() {
	defer c.p.in.Close()
	for {
		select {
		case line := <-c.lines:
			if _, err := c.p.in.Write(line); err != nil {
				if !c.p.over(c.limits.linger) { // else its end is what is to be told
					c.fail("it has closed its standard input")
				}
				return
			}
		case <-c.ending:
			return
		case <-c.dead:
			return
		}
	}
}

// read reads lines until there are no more.
func (c *client) read() {
	defer c.p.out.Close()
	r := bufio.NewReaderSize(c.p.out, longestLine)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			c.fail("it wrote a line of more than %d bytes: %s", longestLine, quote(line))
			return
		case err != nil:
			c.ended(line)
			return
		}
		if err := c.take(line[:len(line)-1]); err != nil {
			c.fail("%v", err)
			return
		}
	}
}

// ended tells of the end of the worker's output; rest is a line that it did not end.
func (c *client) ended(rest []byte) {
	unfinished := ""
	if len(rest) > 0 {
		unfinished = " in the middle of the line " + quote(rest)
	}
	over := c.p.over(c.limits.linger)
	switch {
	case c.leaving(): // Close says how that went
	case over:
		c.fail("it ended%s: %s", unfinished, c.p.ending())
	default:
		c.fail("it has closed its standard output%s", unfinished)
	}
}

// leaving reports whether the worker's input has ended.
func (c *client) leaving() bool {
	select {
	case <-c.ending:
		return true
	default:
		return false
	}
}

// take takes a line of the worker's.
func (c *client) take(line []byte) error {
	var m message
	if err := decode(line, &m); err != nil {
		return fmt.Errorf("it wrote a line that is no message (%w): %s", err, quote(line))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hello.Hello == 0 {
		if err := checkHello(m); err != nil {
			return fmt.Errorf("%w; it wrote %s", err, quote(line))
		}
		c.hello = m
		close(c.greeted)
		return nil
	}
	var err error
	switch {
	case m.ID != 0:
		err = c.answered(m)
	case m.Lost != "" && m.Owner != "":
		err = c.lost(m)
	default:
		err = errors.New("it wrote neither an answer (with an id) nor the notice of a loss (lost, owner)")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, quote(line))
	}
	return nil
}

// Owner implements [subjects.Client].
func (c *client) Owner(thread int64) string { return c.env.ID + ":" + strconv.FormatInt(thread, 10) }

// Named implements [subjects.Namer].
func (c *client) Named(owner string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.names[owner], owner)
}

// Pause implements [subjects.Process].
func (c *client) Pause() error { return c.p.pause() }

// Resume implements [subjects.Process].
func (c *client) Resume() error { return c.p.resume() }

// Overdue is how many waits of a paused process are over; 0 where that is not known.
func (c *client) Overdue() int {
	if c.p.child == nil {
		return 0
	}
	return c.p.child.Overdue()
}

// JumpClock sets the clock of the process forward, by which it may tell a server the time, in a world that starts processes.
func (c *client) JumpClock(by time.Duration) {
	if c.p.child != nil {
		c.p.child.JumpClock(by)
	}
}

// Kill implements [subjects.Process].
func (c *client) Kill() error {
	c.die(errKilled)
	return c.p.kill()
}

// Close ends the worker's input and waits for its end, so long as that is reasonable. Its error says
// what the worker failed of, then or before.
func (c *client) Close() error {
	c.mu.Lock()
	c.quiet = true
	leaving := c.leaving()
	if !leaving {
		close(c.ending)
	}
	c.mu.Unlock()
	if c.failed() == nil {
		_ = c.p.resume() // it may be paused, and could not end
		if !c.p.over(c.limits.end) {
			c.fail("it did not end within %v of the end of its input", c.limits.end)
		}
	}
	_ = c.p.kill()
	c.die(errClosed)
	if err := c.failed(); !errors.Is(err, errKilled) && !errors.Is(err, errClosed) {
		return err
	}
	return nil
}
