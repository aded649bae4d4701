package world

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// Virtual time goes by what is waited for. Whoever sends one command after the other, and waits for nothing but answers, gets on
// by less than a millisecond each time, or by nothing at all if a client library refuses to send. The run would take for ever.

const (
	spinCommands = 10_000
	spinTime     = 40 * time.Second // of the plan: 4 ms for a command is a pause that nobody polls with
)

// SpinError says that somebody sends commands without a pause.
type SpinError struct {
	Client  string
	Call    int64         // that sends them; 0: none does
	Within  time.Duration // how long so many commands took
	Command string        // the last of them
	Sender  string        // the goroutine; "": it is not known
}

func (e *SpinError) Error() string {
	text := fmt.Sprintf("%s sends one command after the other and waits for nothing in between: %d within %.3g s of virtual time, the last of them %s",
		e.Client, spinCommands, e.Within.Seconds(), e.Command)
	if e.Sender != "" {
		text += ", from " + e.Sender
	}
	return text
}

// Spin is the record of it, for a history.
func (e *SpinError) Spin() *history.Spin {
	return &history.Spin{Op: e.Call, Commands: spinCommands, Within: e.Within, Last: e.Command, Sender: e.Sender}
}

// spins counts commands of clients, by the call that they belong to.
type spins map[spinner]spun

type spinner struct {
	client string
	call   int64
}

type spun struct {
	since time.Duration
	times int
}

// spun counts a command. w.mu is held.
func (w *World) spun(client string, call int64) (within time.Duration, spins bool) {
	if w.ground.Live || !w.ready { // before the story there are clients that poll until they are ready
		return 0, false
	}
	key, now := spinner{client, call}, w.Now()
	s := w.spins[key]
	if s.times++; s.times == 1 {
		s.since = now
	}
	within = now - s.since
	if spins = s.times == spinCommands && within < spinTime; s.times >= spinCommands {
		s = spun{}
	}
	w.spins[key] = s
	return within, spins
}

// spun counts a command that the calling goroutine is about to send, and ends the run if it spins.
func (h *callHook) spun(call int64, words []string) {
	h.w.mu.Lock()
	within, spins := h.w.spun(h.client, call)
	h.w.mu.Unlock()
	if spins {
		g := bubble.Caller()
		h.w.Fail(&SpinError{h.client, call, within, brief(words), fmt.Sprintf("the goroutine %s, started at %s", g.Name, g.Started)})
	}
}

// spunOutside counts a command of a client that connects by itself.
func (w *World) spunOutside(client string, words []string) {
	w.mu.Lock()
	within, spins := w.spun(client, 0)
	w.mu.Unlock()
	if spins {
		w.Fail(&SpinError{client, 0, within, brief(words), ""})
	}
}

// brief is a command as one line tells it: a script is no part of it.
func brief(words []string) string {
	var short []string
	for _, word := range words {
		if line := strings.Join(strings.Fields(word), " "); len(line) > 40 {
			word = line[:40] + "…"
		} else {
			word = line
		}
		short = append(short, word)
	}
	return strings.Join(short, " ")
}
