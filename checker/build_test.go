package checker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

const (
	ms    = time.Millisecond
	sec   = time.Second
	lat   = ms // one way, in hand-written histories
	dog   = 30 * sec
	beat3 = 10 * sec // a third of dog
	job   = "order:42"
)

// A script writes a history by hand. Calls take one lat to the server and one back.
type script struct {
	h    *history.History
	lock string
}

func newScript() *script {
	return &script{
		lock: job,
		h: &history.History{
			Header: history.Header{
				Version: history.Version, Clock: "virtual", World: "sim", Subject: "rlock-latch", Seed: 1,
				Abilities:       []string{"reentrant", "watchdog", "force", "inspect"},
				WatchdogTimeout: dog, RenewEvery: beat3, LatencyMax: 2 * ms,
			},
			End: &history.End{At: 120 * sec},
		},
	}
}

// at is a time in seconds.
func at(s float64) time.Duration { return time.Duration(s * float64(sec)) }

func clientOf(owner string) string {
	c, _, _ := strings.Cut(owner, ":")
	return c
}

// op adds an operation that the server executes one lat before its return.
func (s *script) op(owner string, kind history.Kind, call, ret time.Duration, out history.Outcome) *history.Op {
	op := history.Op{
		ID: int64(len(s.h.Ops) + 1), Client: clientOf(owner), Owner: owner, Lock: s.lock, Kind: kind,
		Call: call, Return: ret, Outcome: out,
		Evidence: history.Executed, Executed: ret - lat, Answer: out,
	}
	s.h.Ops = append(s.h.Ops, op)
	return &s.h.Ops[len(s.h.Ops)-1]
}

// take is a lock call without a lease of its own; lease > 0 gives it one.
func (s *script) take(owner string, call, ret, lease time.Duration) *history.Op {
	op := s.op(owner, history.Lock, call, ret, history.Acquired)
	if op.Lease = lease; lease == 0 {
		op.Lease, op.Watchdog = dog, true
	}
	return op
}

func (s *script) unlock(owner string, call time.Duration, out history.Outcome) *history.Op {
	op := s.op(owner, history.Unlock, call, call+2*lat, out)
	op.Lease = dog
	return op
}

func (s *script) renew(owner string, sent time.Duration, out history.Outcome) *history.Op {
	op := s.op(owner, history.Renew, sent, sent+2*lat, out)
	op.Lease = dog
	return op
}

// renewals renews on every third of the timeout from a grant until a time.
func (s *script) renewals(owner string, granted, until time.Duration) {
	for t := granted + beat3; t < until; t += beat3 {
		s.renew(owner, t, history.Renewed)
	}
}

func (s *script) read(owner string, at time.Duration, value int64) *history.Op {
	op := s.op(owner, history.Read, at-lat, at+lat, history.OK)
	op.Value = value
	return op
}

func (s *script) write(owner string, at time.Duration, value int64) *history.Op {
	op := s.op(owner, history.Write, at-lat, at+lat, history.OK)
	op.Value = value
	return op
}

func (s *script) event(kind history.EventKind, at time.Duration) *history.Event {
	s.h.Events = append(s.h.Events, history.Event{Kind: kind, At: at, Lock: s.lock})
	return &s.h.Events[len(s.h.Events)-1]
}

func (s *script) died(client string, at time.Duration) {
	s.h.Events = append(s.h.Events, history.Event{Kind: history.Died, At: at, Client: client})
}

func (s *script) fault(kind, client string, from, to time.Duration) *history.Fault {
	s.h.Faults = append(s.h.Faults, history.Fault{Index: len(s.h.Faults), Kind: kind, Client: client, From: from, To: to, Hits: 1})
	return &s.h.Faults[len(s.h.Faults)-1]
}

// done is the history with its operations in order of their calls.
func (s *script) done() *history.History {
	slices.SortStableFunc(s.h.Ops, func(a, b history.Op) int { return int(a.Call - b.Call) })
	return s.h
}

// blind removes what the server knows, as in a history from elsewhere.
func blind(h *history.History) *history.History {
	c := *h
	c.Served = nil
	c.Ops = slices.Clone(h.Ops)
	for i := range c.Ops {
		op := &c.Ops[i]
		op.Evidence, op.Executed, op.Answer, op.Repeats, op.Until = "", 0, "", 0, 0
	}
	return &c
}

func verdict(t *testing.T, s *script) *Verdict {
	t.Helper()
	v := Judge(context.Background(), s.done(), Options{})
	if len(v.Refused) > 0 {
		t.Fatalf("refused: %v", v.Refused)
	}
	return v
}

// want checks the guarantees that broke; all others must hold or not be claimed.
func want(t *testing.T, v *Verdict, broken ...contract.Guarantee) {
	t.Helper()
	for _, g := range contract.Guarantees() {
		r := v.Result(g)
		if is := r.Status == Broken; is != slices.Contains(broken, g) || !r.Status.Valid() || r.Status == Undecided {
			t.Errorf("%s: %s: %s", g, r.Status, r.Summary)
			for _, v := range r.Violations {
				t.Logf("  %s: %s; %s", v.Rule, v.Text, v.Cause.Text)
			}
		}
	}
}

// rules lists the rules that a guarantee's violations break.
func rules(v *Verdict, g contract.Guarantee) []contract.Rule {
	var all []contract.Rule
	for _, x := range v.Result(g).Violations {
		all = append(all, x.Rule)
	}
	return all
}
