package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// strike is the beginning or the end of a fault.
type strike struct {
	at    time.Duration
	index int
	fault plan.Fault
	end   bool
}

// struckFault is a fault that has begun.
type struckFault struct {
	kind   fault.Kind
	fault  plan.Fault
	record *history.Fault
}

var _ fault.Target = (*World)(nil)

// schedule puts the faults of the plan in order. Two at one instant strike in the plan's order,
// ends first.
func (w *World) schedule(faults []plan.Fault) {
	for i, f := range faults {
		w.faults = append(w.faults, strike{at: time.Duration(f.From), index: i, fault: f})
		if f.To != 0 {
			w.faults = append(w.faults, strike{at: time.Duration(f.To), index: i, fault: f, end: true})
		}
	}
	slices.SortStableFunc(w.faults, func(a, b strike) int {
		switch {
		case a.at != b.at:
			return int(min(max(a.at-b.at, -1), 1))
		case a.end != b.end && a.end:
			return -1
		case a.end != b.end:
			return 1
		}
		return a.index - b.index
	})
}

func (w *World) strike(s strike) {
	kind, ok := fault.Find(s.fault.Kind)
	if !ok {
		w.Fail(fmt.Errorf("unknown fault %q", s.fault.Kind)) // the plan was not checked
		return
	}
	if s.end {
		i := slices.IndexFunc(w.struck, func(f struckFault) bool { return f.record.Index == s.index })
		w.end(w.struck[i])
		w.struck = slices.Delete(w.struck, i, i+1)
		return
	}
	f := struckFault{kind, s.fault, &history.Fault{Index: s.index, Kind: kind.Name, Client: s.fault.Client, Lock: s.fault.Lock, From: w.Now()}}
	kind.Begin(w, s.fault, f.record)
	if kind.Needs.Lasts {
		w.struck = append(w.struck, f)
	} else {
		w.rec.Fault(*f.record)
	}
}

func (w *World) end(f struckFault) {
	f.kind.End(w, f.fault, f.record)
	f.record.To = w.Now()
	w.rec.Fault(*f.record)
}

// endFaults ends those that last to the end of the run.
func (w *World) endFaults() {
	for _, f := range w.struck {
		w.end(f)
	}
	w.struck = nil
}

// PauseWatchdog implements [fault.Target].
func (w *World) PauseWatchdog(client string) { w.Scheduler(client).Pause() }

// ResumeWatchdog implements [fault.Target].
func (w *World) ResumeWatchdog(client string) int { return w.Scheduler(client).Resume() }

// Partition implements [fault.Target].
func (w *World) Partition(client string, requests, replies bool) {
	if requests {
		w.net.Block(client, network.ToServer)
	}
	if replies {
		w.net.Block(client, network.ToClient)
	}
}

// Heal implements [fault.Target].
func (w *World) Heal(client string, requests, replies bool) int {
	held := 0
	now := w.start.Add(w.Now())
	if requests {
		held += w.net.Heal(client, network.ToServer, now)
	}
	if replies {
		held += w.net.Heal(client, network.ToClient, now)
	}
	return held
}

// ExpireKey implements [fault.Target].
func (w *World) ExpireKey(lock string) bool {
	if !w.server.Del(lock) {
		return false
	}
	w.log.state[lock] = history.KeyState{}
	w.rec.Event(history.Event{At: w.Now(), Kind: history.Expire, Lock: lock, Note: "ended from outside"})
	return true
}
