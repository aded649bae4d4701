package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A leaseScript writes a history of a permit semaphore by hand, with its server log. Calls come in the order of their execution, one
// lat before they return.
type leaseScript struct {
	*script
	key history.KeyState
}

func newLeases(permits int64, claims ...contract.Claim) *leaseScript {
	p := &leaseScript{script: newScript()}
	p.lock = "pool"
	p.h.Header.Subject, p.h.Header.Abilities = "rpermitsemaphore-classic", []string{string(contract.PermitLeases)}
	for _, c := range claims {
		p.h.Header.Abilities = append(p.h.Header.Abilities, string(c))
	}
	p.set(permits, 0)
	return p
}

// do is a call about a permit that the server executes as it is told. The key is as after says then.
func (p *leaseScript) do(owner string, kind history.Kind, permit int64, call, ret float64, out history.Outcome, after func(k *history.KeyState)) *history.Op {
	op := p.op(owner, kind, at(call), at(ret), out)
	op.Value, op.Token = 1, permit
	before := p.key
	p.key.Taken = slices.Clone(p.key.Taken)
	if before.Permits != nil {
		n := *before.Permits
		p.key.Permits = &n
	}
	after(&p.key)
	is := p.key
	p.h.Served = append(p.h.Served, history.Served{At: op.Executed, Sent: op.Call, Got: op.Return, Client: op.Client, Op: op.ID, Lock: p.lock, Before: &before, After: &is})
	return op
}

func (p *leaseScript) set(permits int64, call float64) {
	p.do("c0:1", history.TrySetTotal, 0, call, call+0.002, history.OK, func(k *history.KeyState) { k.Permits = &permits }).Value = permits
}

// take has a permit with a lease in seconds, 0: none, which begins when the server executes the call.
func (p *leaseScript) take(owner string, permit int64, lease, call, ret float64) *history.Op {
	end := time.Duration(0)
	if lease > 0 {
		end = at(ret) - lat + at(lease)
	}
	op := p.do(owner, history.AcquirePermit, permit, call, ret, history.Acquired, func(k *history.KeyState) {
		k.Taken = slices.DeleteFunc(k.Taken, func(t history.TakenPermit) bool {
			if !t.Over(at(ret)) {
				return false
			}
			*k.Permits++
			return true
		})
		*k.Permits--
		k.Taken = append(k.Taken, history.TakenPermit{Permit: permit, Deadline: end})
	})
	op.Lease = at(lease)
	return op
}

// give has a permit released, which is free then.
func (p *leaseScript) give(owner string, permit int64, call, ret float64, out history.Outcome) *history.Op {
	return p.do(owner, history.ReleasePermit, permit, call, ret, out, func(k *history.KeyState) {
		if _, taken := k.Has(permit); !taken {
			return
		}
		k.Taken = slices.DeleteFunc(k.Taken, func(t history.TakenPermit) bool { return t.Permit == permit })
		n := k.Number() + 1
		k.Permits = &n
	})
}

// shared is a pool of two permits with nothing wrong: c3 takes what c1 has for too long, who is told so.
func sharedLeases() *leaseScript {
	p := newLeases(2)
	p.take("c1:1", 1, 5, 1, 1.002)
	p.take("c2:1", 2, 0, 2, 2.002)
	p.take("c3:1", 3, 30, 3, 6.01)
	p.give("c1:1", 1, 8, 8.002, history.NotHeld)
	p.give("c2:1", 2, 9, 9.002, history.OK)
	p.give("c3:1", 3, 10, 10.002, history.OK)
	return p
}

func TestSharedLeasesHold(t *testing.T) {
	v := verdict(t, sharedLeases().script)
	want(t, v)
	if v.Object != "permit semaphore" {
		t.Errorf("what was judged is called %q", v.Object)
	}
	if by := v.Result(contract.Object).By; by != "witness replay, porcupine" {
		t.Errorf("object is judged by %q", by)
	}
}

func TestBrokenLeases(t *testing.T) {
	for _, tt := range []struct {
		name      string
		make      func() *leaseScript
		guarantee contract.Guarantee
		rules     []contract.Rule
	}{
		{"more are out than there are", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 30, 1, 1.002)
			p.take("c2:1", 2, 30, 2, 2.002)
			return p
		}, contract.Exclusion, []contract.Rule{contract.NoMoreOut}},
		{"no more once a lease is over", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 5, 1, 1.002)
			p.take("c2:1", 2, 30, 7, 7.002)
			return p
		}, contract.Exclusion, nil},
		{"the next in the last millisecond of a lease, in which a server counts", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 4.9983, 1, 1.002).Lease = at(5)
			p.take("c2:1", 2, 30, 5.998, 5.9995)
			return p
		}, contract.Exclusion, nil},
		{"the next before that", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 4.996, 1, 1.002).Lease = at(5)
			p.take("c2:1", 2, 30, 5.996, 5.9975)
			return p
		}, contract.Exclusion, []contract.Rule{contract.NoMoreOut}},
		{"a lease that nobody asked for", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 30, 1, 1.002).Lease = at(20)
			return p
		}, contract.Object, []contract.Rule{contract.LeaseIsSet}},
		{"a permit that is free when its lease is over, and is not taken", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 5, 1, 1.002)
			p.take("c2:1", 2, 30, 2, 20)
			return p
		}, contract.Liveness, []contract.Rule{contract.PermitsAreTaken}},
		{"a permit without a lease, of which nobody knows", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 0, 1, 1.002).Outcome = history.Unknown
			return p
		}, contract.Liveness, []contract.Rule{contract.CallsSucceed, contract.PermitsComeBack}},
		{"one with a lease comes back", func() *leaseScript {
			p := newLeases(1)
			p.take("c1:1", 1, 5, 1, 1.002).Outcome = history.Unknown
			return p
		}, contract.Liveness, []contract.Rule{contract.CallsSucceed}},
	} {
		if got := rules(verdict(t, tt.make().script), tt.guarantee); !slices.Equal(got, tt.rules) {
			t.Errorf("%s: broke %q, want %q", tt.name, got, tt.rules)
		}
	}
}

// sidesOfLeases are the sides of the table's rows that permit semaphores have.
func sidesOfLeases() map[string][]side {
	// late gives a permit whose lease ended at 11.001 s while the release was under way, or before.
	late := func(call float64, claims ...contract.Claim) *leaseScript {
		p := newLeases(1, claims...)
		p.h.Header.Layout.Absolute = true
		p.take("c1:1", 1, 10, 1, 1.002)
		p.give("c1:1", 1, call, 13, history.OK)
		return p
	}
	// lost has the number of the free permits deleted while one is out, and set anew.
	lost := func(kind string, claims ...contract.Claim) *leaseScript {
		p := newLeases(2, claims...)
		p.take("c1:1", 1, 0, 1, 1.002)
		p.event(history.Delete, at(3)).Count = 1
		p.key.Permits = nil
		if kind != "" {
			p.fault(kind, "", at(3), 0).Lock = p.lock
		}
		p.set(2, 5)
		return p
	}
	// freed has the only permit, taken for 10 s, come free at 3 s, by a jump of the server's clock or by a release. c2:1, who had asked at
	// 2 s and was told to wait for what was left, gets it when that is over.
	freed := func(jump bool) *leaseScript {
		p := newLeases(1)
		p.take("c1:1", 1, 10, 1, 1.002)
		asked := p.key
		if jump {
			p.event(history.ClockJump, at(3)).By = at(9)
			p.fault("clock-jump", "", at(3), 0)
			p.key.Taken = []history.TakenPermit{{Permit: 1, Deadline: at(2.001)}}
		} else {
			p.give("c1:1", 1, 3, 3.002, history.OK)
		}
		op := p.take("c2:1", 2, 0, 2, 11.002)
		p.h.Served = append(p.h.Served, history.Served{At: at(2.001), Sent: at(2), Got: at(2.002), Client: "c2", Op: op.ID, Lock: p.lock, Before: &asked, After: &asked})
		slices.SortStableFunc(p.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
		return p
	}
	// reclaimed has the only permit given back, and at once taken for a second, which c2:1 does not hear of: it had asked at 2 s. A command of
	// c1:1 finds that lease over and takes the permit back, or c1:1 gives it before. c2:1 asks again at 30 s.
	reclaimed := func(given bool, claims ...contract.Claim) *leaseScript {
		p := newLeases(1, claims...)
		p.h.Header.WatchdogTimeout = 30 * sec
		p.take("c1:1", 1, 0, 1, 1.002)
		asked := p.key
		p.give("c1:1", 1, 3, 3.002, history.OK)
		p.take("c1:1", 2, 1, 3.003, 3.005)
		if given {
			p.give("c1:1", 2, 3.5, 3.502, history.OK)
		} else {
			p.do("c1:1", history.UpdateLease, 2, 5, 5.002, history.NotHeld, func(k *history.KeyState) {
				k.Taken = nil
				*k.Permits++
			}).Lease = 10 * sec
		}
		op := p.take("c2:1", 3, 0, 2, 30.002)
		p.h.Served = append(p.h.Served, history.Served{At: at(2.001), Sent: at(2), Got: at(2.002), Client: "c2", Op: op.ID, Lock: p.lock, Before: &asked, After: &asked})
		slices.SortStableFunc(p.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
		p.fault("slow-server", "", at(6), at(6.001)) // since it was over, c2:1 could have asked
		return p
	}
	// below has so many of the permits taken away while two of four are out for a second. Later c3:1 is refused, though both leases are over.
	below := func(away int64, claims ...contract.Claim) *leaseScript {
		p := newLeases(4, claims...)
		p.h.Header.Layout.Absolute = true
		p.take("c1:1", 1, 1, 1, 1.002)
		p.take("c2:1", 2, 1, 1.1, 1.102)
		p.do("c2:1", history.AddTotal, 0, 1.2, 1.202, history.OK, func(k *history.KeyState) { *k.Permits -= away }).Value = -away
		p.do("c3:1", history.TryAcquirePermit, 0, 10, 10.002, history.Busy, func(k *history.KeyState) {
			*k.Permits, k.Taken = *k.Permits+1, k.Taken[1:]
		})
		return p
	}
	// refusedLate has c2:1 be refused the only permit, which a late request had taken with a lease that was over. The refused request told the
	// time of the call, before that end, if it was sent again.
	refusedLate := func(fault string) *leaseScript {
		p := newLeases(1)
		p.h.Header.Layout.Absolute = true
		p.take("c1:1", 1, 0.001, 1, 19.7).Lease = 1
		p.key.Taken[0].Deadline = at(6)
		after := p.key
		p.h.Served[len(p.h.Served)-1].After = &after
		op := p.do("c2:1", history.TryAcquirePermit, 0, 2, 20, history.Busy, func(*history.KeyState) {})
		op.Wait, op.Evidence, op.Executed, op.Answer = 18*sec, history.Sent, 0, ""
		r := &p.h.Served[len(p.h.Served)-1]
		r.At, r.Sent, r.Got = at(19.9), at(19.8), at(19.95)
		if fault != "" {
			p.fault(fault, "c2", at(2), at(19.8))
		}
		return p
	}
	return map[string][]side{
		"one-reclaimed": {
			{contract.PermitsAreFew, true, below(3)},
			{contract.PermitsAreFew, false, below(2)},
			{contract.PermitsAreFew, false, below(3, contract.ServerClock)},
		},
		"unannounced": {
			{contract.PermitsAreTaken, true, freed(true)},
			{contract.PermitsAreTaken, false, freed(false)},
			{contract.PermitsAreTaken, true, reclaimed(false, contract.NoticesSilence, contract.LooksAgain)},
			{contract.PermitsAreTaken, false, reclaimed(true, contract.NoticesSilence, contract.LooksAgain)},
		},
		"clients-clock": {
			{contract.PermitIsHeld, true, late(10)},
			{contract.PermitIsHeld, false, late(12)}, // it was over when its client told the time
			{contract.PermitIsHeld, false, late(10, contract.ServerClock)},
			{contract.PermitsAreFew, true, refusedLate("drop-message")},
			{contract.PermitsAreFew, false, refusedLate("")},
		},
		"counter-of-permits-lost": {
			{contract.KeyFits, true, lost("delete-key")},
			{contract.KeyFits, false, lost("")},
			{contract.KeyFits, false, lost("delete-key", contract.OneKey)},
		},
	}
}

// Of permits that nobody saw, leases may have ended by a clock that a fault moved before: the server's, or that of a client which asked for one. A
// semaphore that claims to go by the server's clock answers for its clients'.
func TestClocksEndLeasesThatNobodySaw(t *testing.T) {
	for _, tt := range []struct {
		name    string
		client  string // whose clock is moved; "": the server's
		when    float64
		unknown bool
		claims  []contract.Claim
		defect  bool
	}{
		{"a client's", "c2", 1.5, true, nil, false},
		{"the server's", "", 1.5, true, nil, false},
		{"that of a client which asked for none", "c9", 1.5, true, nil, true},
		{"later", "c2", 3, true, nil, true},
		{"a client's, by the server's clock", "c2", 1.5, true, []contract.Claim{contract.ServerClock}, true},
		{"a client's, of permits that were seen", "c2", 1.5, false, nil, true},
	} {
		p := newLeases(1, tt.claims...)
		p.take("c1:1", 1, 30, 1, 1.002)
		p.take("c2:1", 2, 30, 2, 2.002)
		p.fault("clock-jump", tt.client, at(tt.when), 0).Effects = map[bool][]history.Effect{true: {history.ClockMoved}, false: {history.ClientClockMoved}}[tt.client == ""]
		h := p.done()
		if h = blind(h); tt.unknown {
			h.Header.Layout.Unknown = "nobody looked"
		}
		for _, g := range []contract.Guarantee{contract.Exclusion, contract.Object} {
			r := Judge(t.Context(), h, Options{}).Result(g)
			if r.Status != Broken || (r.Violations[0].Ruling.Kind == Defect) != tt.defect {
				t.Errorf("%s: %s: %s: %+v", tt.name, g, r.Status, r.Violations)
			}
		}
	}
}

// A clock that was moved explains that a lease ended, and not that a permit is given back which nobody had.
func TestAClockThatWasMovedExplainsNothingElse(t *testing.T) {
	for _, moved := range []float64{0.5, 1.5} { // before the only permit is taken, and after
		p := newLeases(1)
		p.take("c1:1", 1, 30, 1, 1.002)
		p.give("c2:1", 7, 2, 2.002, history.OK) // which nobody was given
		p.fault("clock-jump", "c1", at(moved), 0).Effects = []history.Effect{history.ClientClockMoved}
		h := blind(p.done())
		h.Header.Layout.Unknown = "nobody looked"
		if r := Judge(t.Context(), h, Options{}).Result(contract.Object); r.Status != Broken || r.Violations[0].Ruling.Kind != Defect {
			t.Errorf("moved at %v s: %s: %+v", moved, r.Status, r.Violations)
		}
	}
}
