package soak

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Recount counts of a recorded run what was counted while it went on, also of one that was killed: all
// but the memory. Latencies are those that the history has, which are a few microseconds longer. c is what it
// shows of the run's configuration: Clients, Locks, Watchdog, Seed, and of Faults those that struck.
func Recount(h *history.History) (c Config, r *Result) {
	s := newStats()
	var all []past
	var length time.Duration
	if h.End != nil {
		length = h.End.At
	}
	locks := map[string]bool{}
	for i := range h.Ops {
		op := &h.Ops[i]
		length = max(length, op.Call, op.Return, op.Until)
		locks[op.Lock] = true
		c.Clients = max(c.Clients, slotOf(op.Client))
		if op.Kind.OnLock() && !op.Aside && op.Outcome != "" {
			s.count(op.Kind, op.Outcome, op.Return-op.Call)
			all = append(all, past{op.Return, func(s *stats) { s.count(op.Kind, op.Outcome, op.Return-op.Call) }})
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if length = max(length, e.At); e.Kind == history.Died {
			s.deaths.Add(1)
			all = append(all, past{e.At, func(s *stats) { s.deaths.Add(1) }})
		}
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		length = max(length, f.From, f.To)
		s.fault(kindOf(f))
		all = append(all, past{f.From, func(s *stats) { s.fault(kindOf(f)) }})
	}
	c.Locks, c.Watchdog, c.Seed = len(locks), h.Header.WatchdogTimeout, h.Header.Seed
	for _, k := range Kinds() {
		if s.struck[k.Name] > 0 {
			c.Faults = append(c.Faults, k)
		}
	}
	r = s.result(length)
	r.Samples = samples(all, length)
	return c, r
}

// slotOf is the number of a client among those that work at once: 3 of "c3-2"; 0: it has none.
func slotOf(client string) int {
	first, _, _ := strings.Cut(strings.TrimPrefix(client, "c"), "-")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

// kindOf is the name of a recorded fault's Kind.
func kindOf(f *history.Fault) string {
	if f.Kind == "restart" && f.Step == "none" {
		return "lose-data"
	}
	return f.Kind
}

// past is something of a recorded run, to be counted at its time.
type past struct {
	at    time.Duration
	count func(*stats)
}

// samples makes the series of a recorded run: what had been counted at the end of every second, or of so many seconds that
// there are not too many.
func samples(all []past, length time.Duration) []Sample {
	every := time.Second * (1 + length/(maxSamples*time.Second))
	slices.SortStableFunc(all, func(a, b past) int { return cmp.Compare(a.at, b.at) })
	s := newStats()
	for at := every; at <= length; at += every {
		for len(all) > 0 && all[0].at <= at {
			all[0].count(s)
			all = all[1:]
		}
		s.keep(Sample{At: at, Calls: s.calls.Load(), Errors: s.failed.Load() + s.unknown.Load(), Faults: s.faults, Deaths: s.deaths.Load()})
	}
	return s.samples
}
