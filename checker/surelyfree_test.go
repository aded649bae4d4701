package checker

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Of a semaphore whose keys nobody can read, a waiter is late only if permits were free for certain, by what all callers were told.
func TestWaitersBesidePermitsThatAreSurelyFree(t *testing.T) {
	const soon, late = 5.01, 30
	for _, tt := range []struct {
		name  string
		got   float64 // when the waiter was told that it has a permit
		write func(p *poolScript)
		waits bool  // too long
		wants int64 // permits; 0: 1
	}{
		{"who is told soon", soon, func(*poolScript) {}, false, 0},
		{"who is told late", late, func(*poolScript) {}, true, 0},
		{"a call that was not answered may have what is free", late, func(p *poolScript) { p.unheard(2, 4.5) }, false, 0},
		{"a call that was not answered may have some of what is free", late, func(p *poolScript) { p.unheard(1, 4.5) }, true, 0},
		{"a lock that takes back has settled such a call", late, func(p *poolScript) { p.claiming(contract.TakesBack).unheard(2, 4.5) }, true, 0},
		{"it has not settled a call of a client that died", late, func(p *poolScript) {
			p.claiming(contract.TakesBack).unheard(2, 4.5)
			p.died("c2", at(4.7))
		}, false, 0},
		{"a call that its client took to its death may have what is free", late, func(p *poolScript) {
			p.op("c2:1", history.AcquirePermits, at(4.5), 0, history.Unknown).Value = 2
			p.died("c2", at(4.7))
		}, false, 0},
		{"a call that waits in a client that lives has nothing", late, func(p *poolScript) {
			p.op("c2:1", history.AcquirePermits, at(4.5), 0, history.Unknown).Value = 2
		}, true, 0},
		{"a release that was not answered may have given nothing", late, func(p *poolScript) {
			p.h.Ops[len(p.h.Ops)-1].Outcome = history.Unknown
		}, false, 0},
		{"another call may have drained the semaphore", late, func(p *poolScript) {
			p.do("c2:1", history.DrainPermits, 2, at(5.1), at(5.102), history.OK)
		}, false, 0},
		{"a holder whose connection broke may have taken its permits twice", late, func(p *poolScript) { p.struck("close-connection", "c1", 1.001) }, false, 0},
		{"a connection that broke later took nothing", late, func(p *poolScript) { p.struck("close-connection", "c1", 3) }, true, 0},
		{"no clock says how many permits of a semaphore are free", late, func(p *poolScript) { p.struck("clock-jump", "", 3) }, true, 0},
		{"somebody may have taken the key", late, func(p *poolScript) { p.struck("delete-key", "", 5.5) }, false, 0},
		{"a copy of the waiter's own request may have what is free", late, func(p *poolScript) { p.struck("close-connection", "c3", 4.5) }, false, 2},
		{"a copy of it may have some of that", late, func(p *poolScript) { p.struck("close-connection", "c3", 4.5) }, true, 1},
		{"another's connection broke", late, func(p *poolScript) { p.struck("close-connection", "c2", 4.5) }, true, 2},
	} {
		p := newPool(2)
		p.take("c1:1", 2, 1, 1.002)
		p.give("c1:1", 2, 5)
		tt.write(p)
		op := p.op("c3:1", history.AcquirePermits, at(4), at(tt.got), history.Acquired)
		op.Value = cmp.Or(tt.wants, 1)
		v := Judge(t.Context(), blind(p.done()), Options{})
		if got := slices.Contains(rules(v, contract.Liveness), contract.PermitsAreTaken); got != tt.waits || len(v.Refused) > 0 {
			t.Errorf("%s: late %t: %v %v", tt.name, got, rules(v, contract.Liveness), v.Refused)
		}
	}
}

// A permit that a call got is free again when its release was answered. When its lease ends, nobody need say so, unless waiters look by themselves.
func TestAPermitIsFreeForCertain(t *testing.T) {
	looks := func(s *script) { s.h.Header.Abilities = append(s.h.Header.Abilities, string(contract.LooksAgain)) }
	unheard := func(s *script) {
		op := s.op("c1:1", history.ReleasePermit, at(3), at(3.1), history.Unknown)
		op.Value, op.Token = 1, 1
	}
	for _, tt := range []struct {
		name  string
		lease time.Duration
		write func(s *script)
		late  bool
	}{
		{"its lease is over, and waiters look", 5 * sec, looks, true},
		{"its lease is over, and waiters are told", 5 * sec, func(*script) {}, false},
		{"it has no lease", 0, looks, false},
		{"a client's clock moved, by which its lease may end", 5 * sec, func(s *script) {
			looks(s)
			s.fault("clock-jump", "c1", at(3), 0).Effects = []history.Effect{history.ClientClockMoved}
		}, false},
		{"its release was not answered, and it has no lease", 0, unheard, false},
		{"its release was not answered, and the lock settles that", 0, func(s *script) {
			unheard(s)
			claiming(s, contract.TakesBack)
		}, true},
	} {
		s := newScript()
		s.lock = "pool"
		s.h.Header.Subject, s.h.Header.Abilities = "rpermitsemaphore-classic", []string{string(contract.PermitLeases)}
		s.op("c0:1", history.TrySetTotal, at(0), at(0.002), history.OK).Value = 1
		op := s.op("c1:1", history.AcquirePermit, at(1), at(1.002), history.Acquired)
		op.Value, op.Token, op.Lease = 1, 1, tt.lease
		tt.write(s)
		op = s.op("c3:1", history.AcquirePermit, at(2), at(200), history.Acquired)
		op.Value, op.Token = 1, 2
		v := Judge(t.Context(), blind(s.done()), Options{})
		if got := slices.Contains(rules(v, contract.Liveness), contract.PermitsAreTaken); got != tt.late || len(v.Refused) > 0 {
			t.Errorf("%s: late %t: %v %v", tt.name, got, rules(v, contract.Liveness), v.Refused)
		}
	}
}

// unheard is a call of c2:1 for some permits to which no answer came.
func (p *poolScript) unheard(n int64, call float64) {
	op := p.op("c2:1", history.TryAcquirePermits, at(call), at(call+0.1), history.Unknown)
	op.Value = n
}
