package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Kind is one kind of fault.
type Kind struct {
	Name  string
	About string
	// Breaks: it breaks an assumption of every lease lock, so that it is struck only when asked for.
	Breaks bool
	// Whole: it strikes the whole server, and so is refused on one that is not ours.
	Whole bool
	// Away: the server is away for a while, so that it must be a process of ours; and it strikes more
	// rarely than others.
	Away bool

	strike func(s *strike)
}

// Kinds lists all kinds of fault; those that checkers know have the names that plans use.
func Kinds() []Kind {
	return []Kind{
		{Name: "close-connection", About: "all connections of a client are reset", strike: (*strike).closeConnections},
		{Name: "kill-connection", About: "the server closes a connection of a client (CLIENT KILL)", strike: (*strike).killConnection},
		{Name: "partition", About: "a client is cut off, or only its requests or replies are, for up to twice the lease", strike: (*strike).partition},
		{Name: "delay-message", About: "replies to a client take 2 to 30 ms longer", strike: (*strike).delay},
		{Name: "kill-client", About: "a client dies, and another takes its place", strike: (*strike).killClient},
		{Name: "script-flush", About: "the server forgets its scripts", Whole: true, strike: (*strike).scriptFlush},
		{Name: "pause-server", About: "the server stops for up to half of the lease", Whole: true, strike: (*strike).pauseServer},
		{Name: "restart", About: "the server is restarted, and has its data again", Whole: true, Away: true, strike: (*strike).restart},
		{Name: "lose-data", About: "the server is restarted without its data", Breaks: true, Whole: true, Away: true, strike: (*strike).loseData},
		{Name: "failover", About: "a replica that lags takes the server's place", Breaks: true, Whole: true, Away: true, strike: (*strike).failover},
		{Name: "delete-key", About: "a lock's key is deleted", Breaks: true, strike: (*strike).deleteKey},
		{Name: "expire-key", About: "a lock's key is made to expire", Breaks: true, strike: (*strike).expireKey},
		{Name: "pause-client", About: "a client stops for one to two leases", Breaks: true, strike: (*strike).pauseClient},
	}
}

// May reports whether the fault may strike a server: own says that it is a process of ours, ours that
// it may suffer what strikes all of it.
func (k Kind) May(ours, own bool) bool { return (ours || !k.Whole) && (own || !k.Away) }

// Default lists the faults that a sound lock withstands, as far as they may strike the server.
func Default(ours, own bool) []Kind {
	var list []Kind
	for _, k := range Kinds() {
		if !k.Breaks && k.May(ours, own) {
			list = append(list, k)
		}
	}
	return list
}

// inject has faults strike until the run comes to its end; then they are over.
func (r *run) inject() {
	if len(r.Faults) == 0 {
		return
	}
	draw := r.source("faults")
	var struck sync.WaitGroup
	defer struck.Wait()
	for r.pass(draw.between(0, 2*r.Every)) {
		kind := r.Faults[draw.IntN(len(r.Faults))]
		if kind.Away && len(r.Faults) > 1 && !draw.chance(250) {
			continue
		}
		client := r.slots[draw.IntN(len(r.slots))].Load()
		if client == nil {
			continue
		}
		n := r.stats.fault(kind.Name)
		s := &strike{run: r, draw: r.source(fmt.Sprintf("fault %d", n)), client: client,
			fault: history.Fault{Index: n, Kind: kind.Name, Client: client.name}}
		if kind.Away {
			kind.strike(s) // one after the other, or it would hardly be there
			continue
		}
		struck.Go(func() { kind.strike(s) })
	}
}

// strike is one fault.
type strike struct {
	run    *run
	draw   *source
	client *client
	fault  history.Fault
}

// lasts records the fault around what it does. Whoever judges is told first.
func (s *strike) lasts(do func()) {
	s.fault.Effects = history.EffectsOf(s.fault.Kind, s.fault.Step)
	s.fault.From = s.run.rec.now()
	s.run.rec.put(func(now time.Duration) any { // for whoever reads what a run that was killed left
		s.fault.From = now
		return s.fault
	})
	if s.run.Begun != nil {
		s.run.Begun(s.fault)
	}
	do()
	s.run.rec.put(func(now time.Duration) any {
		s.fault.To = now
		return s.fault
	})
}

func (s *strike) closeConnections() {
	s.lasts(func() { s.fault.Hits = s.client.wire.reset() })
}

func (s *strike) killConnection() {
	defer s.served()()
	s.lasts(func() {
		ids := s.client.wire.known()
		if len(ids) == 0 {
			return
		}
		id := ids[len(ids)-1-s.draw.IntN(min(3, len(ids)))] // one of the latest, which may still be there
		n, err := s.run.admin.Do(s.run.expired, "client", "kill", "id", id).Int()
		s.failed(err)
		s.fault.Hits = n
	})
}

func (s *strike) partition() {
	requests, replies := true, true
	switch s.draw.IntN(3) {
	case 0:
		s.fault.Step, replies = "requests", false
	case 1:
		s.fault.Step, requests = "replies", false
	}
	s.lasts(func() {
		s.client.wire.hold(requests, replies)
		s.run.pass(s.draw.between(10*time.Millisecond, 2*s.run.Watchdog))
		s.client.wire.heal(requests, replies)
	})
}

func (s *strike) delay() {
	s.lasts(func() {
		by := s.draw.between(2*time.Millisecond, 30*time.Millisecond)
		s.client.wire.slow(by)
		s.run.pass(s.draw.between(100*time.Millisecond, time.Second))
		s.client.wire.slow(-by)
	})
}

func (s *strike) killClient() {
	s.lasts(s.client.crash)
}

func (s *strike) pauseClient() {
	s.lasts(func() {
		s.client.gate.shut()
		s.client.wire.hold(true, true)
		s.run.pass(s.draw.between(s.run.Watchdog, 2*s.run.Watchdog))
		s.client.wire.heal(true, true)
		s.client.gate.open()
	})
}

func (s *strike) scriptFlush() {
	s.fault.Client = ""
	defer s.served()()
	s.lasts(func() { s.failed(s.run.admin.ScriptFlush(s.run.expired).Err()) })
}

func (s *strike) pauseServer() {
	s.fault.Client = ""
	d := s.draw.between(10*time.Millisecond, s.run.Watchdog/2)
	s.run.serving.Lock() // nobody else finds out that the server does not answer
	defer s.run.serving.Unlock()
	own := s.run.servers.master.Load()
	s.lasts(func() {
		err := errors.ErrUnsupported
		if own != nil {
			err = own.Pause()
		}
		switch {
		case err == nil:
			s.run.pass(d)
			s.failed(own.Resume())
		case errors.Is(err, errors.ErrUnsupported): // the server may yet do it by itself
			s.failed(s.run.admin.ClientPause(s.run.expired, d).Err())
			s.run.pass(d)
			s.failed(s.run.admin.ClientUnpause(s.run.expired).Err())
		}
	})
}

func (s *strike) restart()  { s.away(true) }
func (s *strike) loseData() { s.away(false) }

// away has the server go and come back. Nobody is connected while it does: what a client of it was told
// was so before, and what it is told next after, and what was executed too late to be kept nobody heard of.
func (s *strike) away(keep bool) {
	r := s.run
	r.serving.Lock()
	defer r.serving.Unlock()
	s.fault.Kind, s.fault.Client, s.fault.Step = "restart", "", map[bool]string{true: "all", false: "none"}[keep]
	s.lasts(func() {
		s.fault.Hits = r.line.cut()
		defer r.line.mend("")
		if s.failed(r.servers.master.Load().Restart(r.expired, keep)) {
			return
		}
		if !keep {
			r.losses.Add(1)
		}
		r.rec.together(func() []history.Event {
			events := []history.Event{{Kind: history.Restart}}
			for n := 0; n < r.Locks && !keep; n++ {
				r.resources[n].unfenced = true
				events = append(events, history.Event{Kind: history.Delete, Lock: lock(n)})
			}
			return events
		})
		r.pass(s.draw.between(0, r.Watchdog/8))
	})
}

// served sees to it that the server is there until what it returns is called.
func (s *strike) served() (done func()) {
	s.run.serving.RLock()
	return s.run.serving.RUnlock
}

func (s *strike) deleteKey() {
	s.key(func(ctx context.Context, key string) error { return s.run.admin.Del(ctx, key).Err() })
}

// expireKey leaves the key no time at all: in a millisecond its holder could renew it, and what is told
// of it would not be true.
func (s *strike) expireKey() {
	s.key(func(ctx context.Context, key string) error { return s.run.admin.PExpire(ctx, key, 0).Err() })
}

// key strikes the key of a lock, which is gone afterwards.
func (s *strike) key(do func(ctx context.Context, key string) error) {
	n := s.draw.IntN(s.run.Locks)
	s.fault.Client, s.fault.Lock = "", lock(n)
	defer s.served()()
	s.lasts(func() {
		if s.failed(do(s.run.expired, s.run.key(n))) {
			return
		}
		s.run.rec.event(history.Event{Kind: history.Delete, Lock: lock(n)}, s.fault.From)
	})
}

// failed ends the run if a fault could not be made to strike.
func (s *strike) failed(err error) bool {
	if err != nil && !s.run.ending() {
		s.run.fail(err)
	}
	return err != nil
}
