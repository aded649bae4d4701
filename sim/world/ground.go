package world

import (
	"fmt"
	"math"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/warp"
)

// Ground is what a world stands on: virtual time, or real time and real servers.
type Ground struct {
	// Name is that of the world, as "-world" and the history's header have it.
	Name string
	// Live says that time is real. Then a run is not determined by its plan and seed.
	Live bool
	// Timescale is how much real time a second of the plan takes; in virtual time none does, and it
	// is 1. All that a plan or a history calls a time is multiplied by it for locks, clients and
	// servers.
	Timescale float64
	// Versions are those of what it is made of, for the history's header.
	Versions map[string]string
	// Latency is how long a message may take without a fault, if the plan does not say, in the
	// plan's time.
	Latency time.Duration

	noReplicas  string // who has none: "miniredis has"; "": servers may have some
	foreign     bool   // the servers are not ours
	destructive bool   // and may be harmed

	// Warped says that processes run in its virtual time, see [NewProcesses].
	Warped    bool
	processes *warp.Coordinator

	open func(w *World, p plan.Server, seed uint64) (backend, error)
}

// Sim is the deterministic world.
func Sim() Ground {
	return Ground{Name: "sim", Timescale: 1, open: func(w *World, p plan.Server, seed uint64) (backend, error) { return w.newVirtual(p, seed) }}
}

// Warp is as [Sim], for clients that are processes of their own. They run in virtual time as well.
func Warp() Ground {
	g := Sim()
	g.Name, g.Warped = "warp", true
	return g
}

// Real is how much real time d, of the plan, takes. Programs may call it.
func (w *World) Real(d time.Duration) time.Duration { return w.ground.real(d) }

func (g *Ground) real(d time.Duration) time.Duration {
	if g.Timescale == 1 || d == math.MaxInt64 {
		return d
	}
	return time.Duration(float64(d) * g.Timescale)
}

// Planned is how much time of the plan d, of real time, is. Programs may call it.
func (w *World) Planned(d time.Duration) time.Duration { return w.ground.planned(d) }

func (g *Ground) planned(d time.Duration) time.Duration {
	if g.Timescale == 1 {
		return d
	}
	return time.Duration(float64(d) / g.Timescale)
}

// atOnce is how much later a client does at the latest what it does next, without waiting for anything.
func (g *Ground) atOnce() time.Duration {
	if g.Live {
		return 50 * time.Millisecond
	}
	return time.Millisecond
}

// settle waits until all is at rest; in real time, until the server has answered the command that
// it was given last, so that one command is executed after the other. For want of an answer it does
// not wait for ever: a server may be stopped, or be asked to block. It returns why not all is at rest, or nil.
func (w *World) settle() *bubble.Stall {
	if !w.ground.Live {
		for _, s := range w.servers {
			s.net.HandOver()
		}
		return w.bubble.Settle()
	}
	for _, s := range w.servers {
		if s.scene == nil || blocks(s.scene.message.Args) {
			continue
		}
		patience := time.NewTimer(answerTime)
		for !s.net.Answered(s.scene.message.Link) {
			select {
			case <-w.wake:
				continue
			case <-patience.C:
			}
			break
		}
		patience.Stop()
	}
	return nil
}

// apart passes as little time as there is between things that would else happen at one instant: see next.
func (w *World) apart() {
	if !w.ground.Live {
		w.settle()
		moment := time.NewTimer(time.Nanosecond)
		select {
		case <-moment.C:
		case <-w.bubble.Stalled():
			moment.Stop()
		}
		w.woke = w.Now()
	}
}

// watchLateness measures, while the run goes on, how much longer than asked for a goroutine of this
// process sleeps at the worst, until stop is closed.
func (w *World) watchLateness(stop <-chan struct{}) {
	const nap = 2 * time.Millisecond
	health.Late(stop, nap, func(begun, now time.Time) { w.wasLate(w.Planned(now.Sub(begun) - nap)) })
}

// wasLate notes that something was done so much later than due.
func (w *World) wasLate(by time.Duration) {
	for {
		worst := w.late.Load()
		if int64(by) <= worst || w.late.CompareAndSwap(worst, int64(by)) {
			return
		}
	}
}

// absent is how long a server may take to answer, or this process to do what is due, in the plan's time, before that is recorded
// as a fault. What is shorter is in the bounds of whoever judges: see history.End.Late.
const absent = 500 * time.Millisecond

// suffered records a fault that nobody planned: this machine, or a server on it, did nothing for so long.
func (w *World) suffered(kind, server string, from, to time.Duration) {
	if to-from < absent || w.log.closed {
		return
	}
	w.rec.Fault(history.Fault{Index: len(w.planned) + w.unplanned, Kind: kind, Effects: history.EffectsOf(kind, ""), Server: server,
		From: from, To: to, Hits: 1})
	w.unplanned++
}

// Late is how much later than due anything was done for want of a processor, at the worst; in virtual
// time, 0.
func (w *World) Late() time.Duration { return time.Duration(w.late.Load()) }

// answerTime is how long a real server may take to answer before the world goes on without.
const answerTime = 2 * time.Second

// Suits reports what of a plan cannot be had here.
func (g *Ground) Suits(p *plan.Plan) error {
	for _, need := range p.Needs() {
		if is := history.Object(need); g.Live && is.Counted() { // what such a server makes of it is not read yet
			return fmt.Errorf("the plan has steps on a %s, which is judged in virtual time only: -world sim or warp", is)
		}
	}
	if g.noReplicas != "" {
		for i, s := range p.Servers {
			if s.Replicas > 0 {
				return fmt.Errorf("$.servers[%d].replicas: %s none: -world sim or redis", i, g.noReplicas)
			}
		}
	}
	if !g.foreign {
		return nil
	}
	if len(p.Servers) > 1 {
		return fmt.Errorf("the plan has %d servers, and there is one address: leave out -addr, and each gets a server of its own", len(p.Servers))
	}
	for i, s := range p.Servers {
		if s.Replicas > 0 {
			return fmt.Errorf("$.servers[%d].replicas: replicas are made only of servers of our own: leave out -addr", i)
		}
	}
	for i, f := range p.Faults {
		at := fmt.Sprintf("$.faults[%d]: %s", i, f.Kind)
		switch {
		case f.Kind == "restart" || f.Kind == "failover" || f.Kind == "stop-replication":
			return fmt.Errorf("%s needs a server process of our own: leave out -addr", at)
		case g.destructive:
		case f.Kind == "script-flush", f.Kind == "delete-key" && f.Lock == "":
			return fmt.Errorf("%s touches more than the keys of this run: -allow-destructive permits it", at)
		}
	}
	return nil
}

// exactly is how exactly the time of what a server did is known, if it was looked at once.
func (w *World) exactly() time.Duration {
	if !w.ground.Live {
		return 0
	}
	return evidence.Exactly(w.ground.Timescale)
}
