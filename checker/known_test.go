package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What a lock is known to get wrong, a call that was sent again, is expected where that explains what is seen; nothing
// else is, before it or after.
func TestAKnownLimitationIsExpectedAndHidesNothing(t *testing.T) {
	const take, unlock = history.TryLock, history.Unlock
	op := func(id int64, owner string, kind history.Kind, call, ret int, out history.Outcome) history.Op {
		o := history.Op{ID: id, Client: owner, Owner: owner, Lock: job, Kind: kind, Call: at(float64(call) / 1000), Return: at(float64(ret) / 1000), Outcome: out}
		if kind == take {
			o.Lease = sec
		}
		return o
	}
	cut := func(client string, when int) history.Fault {
		return history.Fault{Kind: "close-connection", Client: client, From: at(float64(when) / 1000), To: at(float64(when) / 1000), Hits: 1}
	}
	const manual = "the manual"
	type promise struct {
		once     []history.Kind // what it says takes effect once
		mentions []history.Kind // what it says may take effect twice
	}
	lockCalls, unlocks := []history.Kind{history.Lock, take}, []history.Kind{unlock, history.ForceUnlock}
	acquire := &promise{once: unlocks, mentions: lockCalls}
	everything := &promise{mentions: append(slices.Clone(unlocks), lockCalls...)}
	twice := []history.Op{
		op(1, "a", take, 10, 20, history.Acquired),
		op(2, "a", unlock, 30, 31, history.Decremented),
	}
	with := func(more ...history.Op) []history.Op { return append(slices.Clone(twice), more...) }
	for _, tt := range []struct {
		name   string
		ops    []history.Op
		faults []history.Fault
		known  *promise // nil: the history does not say what the lock claims
		says   string   // the summary of object; empty: it is a defect
	}{
		{"counted twice", twice, []history.Fault{cut("a", 15)}, acquire, "each by a known limitation of this lock (the manual)"},
		{"what it holds yet ends", with(op(3, "b", take, 40, 41, history.Busy), op(4, "b", take, 1050, 1051, history.Acquired), op(5, "b", unlock, 1052, 1053, history.Released)),
			[]history.Fault{cut("a", 15)}, acquire, "each by a known limitation"},
		{"twice of two owners", with(op(3, "a", unlock, 33, 34, history.Released), op(4, "b", take, 40, 50, history.Acquired), op(5, "b", unlock, 60, 61, history.Decremented),
			op(6, "b", unlock, 62, 63, history.Released)), []history.Fault{cut("a", 15), cut("b", 45)}, acquire, "2 violations in 1 of 1 window, each by a known limitation"},
		{"nobody knows of it", twice, []history.Fault{cut("a", 15)}, nil, ""},
		{"no connection broke", twice, nil, acquire, ""},
		{"another's did", twice, []history.Fault{cut("b", 15)}, acquire, ""},
		{"it broke later", twice, []history.Fault{cut("a", 25)}, acquire, ""},
		{"the unlock was sent again", twice, []history.Fault{cut("a", 30)}, acquire, ""},
		{"an earlier hold's", []history.Op{op(1, "a", take, 10, 20, history.Acquired), op(2, "a", unlock, 22, 23, history.Released),
			op(3, "a", take, 24, 25, history.Acquired), op(4, "a", unlock, 30, 31, history.Decremented)}, []history.Fault{cut("a", 15)}, acquire, ""},
		{"thrice with one fault", with(op(3, "a", unlock, 33, 34, history.Decremented)), []history.Fault{cut("a", 15)}, acquire, ""},
		{"thrice with two", with(op(3, "a", unlock, 33, 34, history.Decremented)), []history.Fault{cut("a", 12), cut("a", 15)}, acquire, "each by a known limitation"},
		{"another's unlock was, of two that may have been", []history.Op{op(1, "a", take, 10, 11, history.Acquired), op(2, "a", unlock, 12, 30, history.NotHeld),
			op(3, "b", take, 13, 25, history.Acquired), op(4, "b", unlock, 33, 34, history.Released)}, []history.Fault{cut("", 15)}, everything, "each by a known limitation"},
		{"only what is known is", []history.Op{op(1, "a", take, 10, 11, history.Acquired), op(2, "a", unlock, 12, 30, history.NotHeld),
			op(3, "b", take, 13, 25, history.Acquired), op(4, "b", unlock, 33, 34, history.Released)}, []history.Fault{cut("", 15)}, acquire, ""},
		{"given to another meanwhile", with(op(3, "b", take, 40, 41, history.Acquired)), []history.Fault{cut("a", 15)}, acquire, ""},
		{"and then something else", with(op(3, "a", unlock, 33, 34, history.Released), op(4, "b", take, 40, 41, history.Acquired), op(5, "c", take, 42, 43, history.Acquired)),
			[]history.Fault{cut("a", 15)}, acquire, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.faults {
				tt.faults[i].Index = i
			}
			h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied}, Ops: tt.ops, Faults: tt.faults, End: &history.End{At: 2 * sec}}
			if tt.known != nil {
				h.Header.Abilities = []string{"reentrant", "idempotent"}
				h.Header.Idempotent = []history.Idempotence{{Calls: tt.known.once}}
				h.Header.Limitations = []history.Limitation{{Claim: "idempotent", Calls: tt.known.mentions, Source: manual}}
			}
			v, part, window := JudgeInWindows(t.Context(), h, Options{})
			r := v.Result(contract.Object)
			if r.Status != Broken || part == nil || window == nil {
				t.Fatalf("%s: %s", r.Status, r.Summary)
			}
			if expected := tt.says != ""; (r.Expected == Broken) != expected || !strings.Contains(r.Summary, tt.says) ||
				strings.Contains(v.Explanation, "It is known that this lock does not promise that: the manual") != expected || strings.Contains(v.Explanation, "defect of this lock") == expected {
				t.Errorf("expected %q: %s\n%s", r.Expected, r.Summary, v.Explanation)
			}
		})
	}
}

// blinded is a history of which the server's side is not known.
type blinded struct{ *script }

func (u blinded) done() *history.History {
	h := u.script.done()
	seen := h.Served
	if h = blind(h); h.Header.Layout.Unknown != "" {
		h.Served = seen
	}
	return h
}

// sidesOfUnseen are the sides of the table's rows that only calls have of which nobody knows what the server executed.
func sidesOfUnseen() map[string][]side {
	twice := func(broke float64) blinded { // an acquire, and one unlock that leaves a hold
		s := newScript()
		s.h.Header.Expiry = history.Implied
		s.take("c1:1", at(1), at(2), 10*sec)
		s.unlock("c1:1", at(3), history.Decremented)
		if broke > 0 {
			s.fault("close-connection", "c1", at(broke), at(broke))
		}
		return blinded{s}
	}
	// pool has one permit, whose release may be executed twice, of which two others take what there is then.
	pool := func(fault string, rows int, takers ...string) blinded {
		p := newPool(1)
		p.take("c1:1", 1, 1, 1.002)
		if fault != "" {
			p.fault(fault, "c1", at(1.9), at(5))
		}
		give := p.op("c1:1", history.ReleasePermits, at(2), at(5), history.OK)
		give.Value = 1
		for i := range rows {
			p.executed(give, at(5.001+float64(i)/1000), history.OK)
		}
		for _, owner := range append([]string{"c2:1", "c3:1"}, takers...) {
			p.op(owner, history.AcquirePermits, at(6), at(6.002), history.Acquired).Value = 1
		}
		for i := range p.h.Served {
			s := &p.h.Served[i]
			s.Before, s.After, s.Text = nil, nil, fmt.Sprintf("EVALSHA 12 %d", s.Op)
		}
		p.h.Header.Layout.Unknown = "the key says nothing"
		return blinded{p.script}
	}
	// passed is a latch whose one count-down may be executed twice, and that somebody passes then.
	passed := func(fault string, rows int, count int64) blinded {
		g := newGate(count)
		if fault != "" {
			g.fault(fault, "c1", at(1.9), at(5))
		}
		down := g.op("c1:1", history.CountDown, at(2), at(5), history.OK)
		for i := range rows {
			g.executed(down, at(5.001+float64(i)/1000), history.OK)
		}
		g.op("c2:1", history.TryAwait, at(6), at(6.002), history.OK)
		for i := range g.h.Served {
			s := &g.h.Served[i]
			s.Before, s.After, s.Text = nil, nil, fmt.Sprintf("EVALSHA 12 %d", s.Op)
		}
		g.h.Header.Layout.Unknown = "the key says nothing"
		return blinded{g.script}
	}
	idempotent := func(b blinded) blinded {
		claiming(b.script, contract.Idempotent)
		b.h.Header.Idempotent = []history.Idempotence{{Calls: []history.Kind{history.ReleasePermits, history.CountDown}}}
		return b
	}
	return map[string][]side{
		"perhaps-sent-again": {
			{contract.NoMoreOut, true, pool("partition", 2)},
			{contract.NoMoreOut, false, pool("", 2)},
			{contract.NoMoreOut, false, pool("partition", 1)},
			{contract.NoMoreOut, false, pool("partition", 2, "c4:1")}, // one more than a second effect gives
			{contract.NoMoreOut, true, pool("partition", 3, "c4:1")},
			{contract.NoMoreOut, false, idempotent(pool("partition", 2))},
			{contract.PassesCounted, true, passed("partition", 2, 2)},
			{contract.PassesCounted, false, passed("", 2, 2)},
			{contract.PassesCounted, false, passed("partition", 1, 2)},
			{contract.PassesCounted, false, passed("partition", 2, 3)}, // one more than a second effect counts
			{contract.PassesCounted, true, passed("partition", 3, 3)},
			{contract.PassesCounted, false, idempotent(passed("partition", 2, 2))},
			{contract.Linearizable, true, pool("partition", 2)},
			{contract.Linearizable, false, pool("", 2)},
			{contract.Linearizable, false, pool("partition", 1)},
			{contract.Linearizable, false, pool("partition", 2, "c4:1")},
			{contract.Linearizable, true, pool("partition", 3, "c4:1")},
			{contract.OneHoldAnUnlock, true, twice(1.5)},
			{contract.OneHoldAnUnlock, false, twice(0)},
			{contract.OneHoldAnUnlock, false, twice(2.5)}, // it broke later
			{contract.OneHoldAnUnlock, false, blinded{once(twice(1.5).script)}},
			{contract.UnlockEndsHold, true, twice(1.5)},
			{contract.UnlockEndsHold, false, twice(0)},
			{contract.UnlockEndsHold, false, twice(2.5)},
			{contract.UnlockEndsHold, false, blinded{once(twice(1.5).script)}},
		},
	}
}

// What a lock is documented not to do after an unlock excuses no renewal after a call that its caller gave up.
func TestARenewalIsExcusedByTheCallThatEndedTheHold(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(*script)
		want RulingKind
	}{
		"after an unlock": {func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			s.unlock("c1:1", at(5), history.Released)
		}, KnownLimitation},
		"after a call whose caller was not told": {func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0).Outcome = history.Unknown
		}, Defect},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.h.Header.Limitations = []history.Limitation{{Rule: string(contract.NoRenewalAfter), Calls: []history.Kind{history.Unlock}, Source: "its manual"}}
			c.ends(s)
			for _, sent := range []float64{10, 20, 30} {
				s.renew("c1:1", at(sent), history.Renewed)
			}
			found := verdict(t, s).Result(contract.Watchdog).Violations
			if len(found) == 0 {
				t.Fatal("nobody is accused")
			}
			for _, v := range found {
				if v.Rule == contract.NoRenewalAfter && v.Ruling.Kind != c.want {
					t.Errorf("%s: %s, want %s", v.Text, v.Ruling.Kind, c.want)
				}
			}
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == contract.NoRenewalAfter }) {
				t.Errorf("another rule broke: %+v", found[0])
			}
		})
	}
}

// A fault that struck a waiter's own call is told, though it explains no more than the time until its client gives the answer up.
func TestAWaitThatAFaultExplainsInPartNamesIt(t *testing.T) {
	for struck, want := range map[bool]string{true: "the network lost a message between c1 and the server", false: "no fault explains why nobody took it"} {
		s := newScript()
		s.take("c2:1", at(0), at(0.002), at(1))
		s.unlock("c2:1", at(0.5), history.Released)
		op := s.take("c1:1", at(0.4), at(600), 0)
		op.Executed = at(600) - lat
		if struck {
			s.fault("drop-message", "c1", at(0.402), at(0.402)).Effects = []history.Effect{history.MessageLost}
		}
		s.unlock("c1:1", at(601), history.Released)
		found := verdict(t, s).Result(contract.Liveness).Violations
		if len(found) == 0 || !strings.Contains(found[0].Cause.Text, want) || found[0].Ruling.Kind != Defect {
			t.Errorf("struck: %v: %+v; want %q", struck, found, want)
		}
	}
}
