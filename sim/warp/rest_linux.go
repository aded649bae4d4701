package warp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Whether all processes are at rest: which of their threads run, and which sleep.

// rest waits until all is at rest.
func (c *Coordinator) rest(alive func()) error {
	begun := realTime()
	for _, threads := range c.threads {
		for _, t := range threads {
			t.ranBefore = t.ran
		}
	}
	pause := 20 * time.Microsecond
	quiet := 0       // looks in a row that found all asleep, and nothing done in between
	var last *thread // that was found busy
	for {
		if alive != nil {
			alive()
		}
		if c.drain(alive) {
			quiet, pause = 0, 20*time.Microsecond
		}
		if c.shared.noted.Load() == 2 {
			text := string(c.shared.note[:])
			text, _, _ = strings.Cut(text, "\x00")
			return fmt.Errorf("process%s %s", c.of(int(c.shared.noter.Load())), text)
		}
		busy, same, err := c.goesOn(last), false, error(nil)
		if busy == nil {
			busy, same, err = c.look()
		}
		last = busy
		took := realTime() - begun
		switch {
		case err != nil:
			return err
		case busy != nil:
			quiet = 0
		case c.shared.births.Load() > 0:
			quiet = 0
			if took > birth { // whoever was about to be born has died
				c.shared.births.Store(0)
			}
		case !same:
			quiet = 1
		default:
			quiet++
		}
		if c.still && quiet == 1 && !c.drain(alive) {
			quiet = 2 // a second look would find the same
		}
		if quiet >= 2 {
			if err := c.known(); err != nil {
				return err
			}
			c.next = time.Time{}
			if first, _ := c.first(); first != nil && first.deadline.Load() < never {
				c.next = time.Unix(0, int64(first.deadline.Load()))
			}
			clear(c.awake)
			return nil
		}
		if busy == nil && quiet > 0 {
			continue
		}
		if ran := busy.since(); ran > spinning {
			return fmt.Errorf("%s has run for %v without sleeping: no time passes until all sleep",
				c.who(busy), ran.Round(time.Second))
		}
		if took > patience && busy != nil {
			return fmt.Errorf("%s did not come to rest within %v of real time (its state is %c)",
				c.who(busy), patience, busy.state)
		}
		c.ready(pause)
		pause = min(pause*2, time.Millisecond)
	}
}

// who names a thread.
func (c *Coordinator) who(t *thread) string { return fmt.Sprintf("thread %q%s", t.name(), c.of(t.pid)) }

// of says which command a process belongs to.
func (c *Coordinator) of(pid int) string {
	if p := c.leader(pid); p != nil {
		return fmt.Sprintf(" of %q", strings.Join(p.words, " "))
	}
	return ""
}

// leader is the process that was started here and of whose group a process is, or nil.
func (c *Coordinator) leader(pid int) *Process {
	if p, ok := c.group[pid]; ok {
		return p
	}
	group, err := unix.Getpgid(pid)
	if err != nil {
		return nil
	}
	for _, p := range c.processes {
		if p.pid == pid || p.pid == group {
			c.group[pid] = p
			return p
		}
	}
	c.group[pid] = nil
	return nil
}

// goesOn returns a thread that was not asleep if it plainly is not yet.
func (c *Coordinator) goesOn(t *thread) *thread {
	if t == nil || t.look(c.buf) != nil || t.state == 'S' || t.stopped() || t.ended() {
		return nil
	}
	return t
}

// look looks at all threads of those that are awake. It returns the first that is not asleep, or whether none has run,
// come or gone since the look before.
func (c *Coordinator) look() (busy *thread, same bool, err error) {
	c.looks++
	same, c.still = true, false
	all := true                         // threads were looked at
	born := c.shared.births.Load() == 0 // or one that is not among pids may be what goes on
	pids := c.pids()
	ran := make([]time.Duration, 0, 8) // of each process, before
	for _, pid := range pids {
		ran = append(ran, processorTime(pid))
	}
	for i := 0; i < len(pids); i++ {
		pid := pids[i]
		threads := c.threads[pid]
		if threads == nil {
			threads = map[int]*thread{}
			c.threads[pid] = threads
		}
		listed := tasks(pid, c.listed[pid])
		tids := listed.tids
		c.listed[pid] = listed
		alive, stopped := false, true
		for _, tid := range tids {
			t := threads[tid]
			if t == nil {
				same = false
				if t, err = openThread(pid, tid); err != nil {
					if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
						return nil, false, fmt.Errorf("threads of the processes: %w", err)
					}
					delete(c.listed, pid)
					all = false
					continue // it has ended
				}
				threads[tid] = t
			}
			before := t.turns
			if err := t.look(c.buf); errors.Is(err, errGone) {
				delete(c.listed, pid) // another may have come for it
				same, all = false, false
				continue
			} else if err != nil {
				return nil, false, err
			}
			t.seen = c.looks
			if t.turns != before {
				same = false
			}
			asleep, err := t.asleep()
			if err != nil {
				return nil, false, err
			}
			if !asleep {
				return t, false, nil
			}
			alive = alive || !t.ended()
			stopped = stopped && (t.stopped() || t.ended())
		}
		if c.forgetThreads(pid, c.looks) {
			same = false
		}
		if !alive {
			same = c.gone(pid) && same
			continue
		}
		c.stopped[pid] = stopped
		if c.spawned(pid) {
			for _, child := range children(pid, tids) {
				if !slices.Contains(pids, child) {
					pids = append(pids, child)
				}
			}
		}
	}
	c.still = all && born && len(ran) == len(pids) && len(pids) > 0
	for i := range ran {
		c.still = c.still && ran[i] > 0 && processorTime(pids[i]) == ran[i]
	}
	return nil, same, nil
}

// forgetThreads forgets the threads of a process that were not seen in a look, and reports whether there were any.
func (c *Coordinator) forgetThreads(pid, look int) (any bool) {
	for tid, t := range c.threads[pid] {
		if t.seen != look {
			t.close()
			delete(c.threads[pid], tid)
			any = true
		}
	}
	if len(c.threads[pid]) == 0 {
		delete(c.threads, pid)
	}
	return any
}
