package checker

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// What a lock really did is never refused, whatever of it nobody saw.
func TestImpliedEndsAcceptWhatWas(t *testing.T) {
	shapes := []shape{
		{name: "leases", leases: true},
		{name: "queries", leases: true, queries: true},
		{name: "loss", leases: true, loss: true},
		{name: "windows", leases: true, unknown: 25, windows: true},
		{name: "tokens", leases: true, unknown: 25, retire: true},
		{name: "per client", kind: model.PerClient, leases: true, loss: true, unknown: 25, windows: true},
		{name: "exclusive, per client", kind: model.ExclusivePerClient, leases: true, loss: true, unknown: 25, windows: true},
	}
	for n, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(n), 9))
			ended := 0
			for range *agreeRuns {
				h := honest(r, s, false)
				watched := r.IntN(3) == 0
				for i := range h.Ops {
					if op := &h.Ops[i]; op.Kind == history.RemainingTTL {
						*op = history.Op{ID: op.ID, Client: op.Client, Owner: op.Owner, Lock: op.Lock, Kind: history.IsLocked, Call: op.Call, Return: op.Return, Outcome: history.Failed}
					} else if op.Kind != history.Renew {
						op.Watchdog = watched
					}
				}
				for i := range h.Events { // nobody knows exactly when a key was deleted
					if e := &h.Events[i]; e.Kind == history.Delete {
						e.Since = max(1, e.At-time.Duration(r.IntN(4))*time.Millisecond) // 0: exact
						e.At = max(1, e.At+time.Duration(r.IntN(4))*time.Millisecond)
					}
				}
				before := len(h.Events)
				h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Expire })
				ended += before - len(h.Events)
				h.Header.Expiry = history.Implied
				v := Judge(context.Background(), h, Options{Budget: time.Minute, Model: s.kind})
				if r := v.Result(contract.Object); r.Status != Holds && len(h.Ops) > 0 || len(v.Refused) > 0 {
					t.Fatalf("watched %v: %s: %s %v\n%s", watched, r.Status, r.Summary, v.Refused, testCase(h))
				}
			}
			if ended == 0 {
				t.Error("no lease ended in any history")
			}
		})
	}
}

func TestImpliedEnds(t *testing.T) {
	op := func(owner string, kind history.Kind, call, ret int, lease time.Duration, out history.Outcome) history.Op {
		return history.Op{Client: "client " + owner, Owner: owner, Lock: job, Kind: kind, Lease: lease, Outcome: out,
			Call: time.Duration(call) * ms, Return: time.Duration(ret) * ms}
	}
	watched := func(o history.Op) history.Op { o.Watchdog = true; return o }
	unknown := func(o history.Op, until int) history.Op {
		o.Outcome, o.Evidence, o.Until = history.Unknown, history.Sent, time.Duration(until)*ms
		return o
	}
	const lock, unlock, got, busy = history.TryLock, history.Unlock, history.Acquired, history.Busy
	died := func(owner string, since, at int) history.Event {
		return history.Event{Kind: history.Died, Client: "client " + owner, Since: time.Duration(since) * ms, At: time.Duration(at) * ms}
	}
	deleted := history.Event{Kind: history.Delete, Lock: job, Since: 20 * ms, At: 30 * ms}
	tests := []struct {
		name   string
		ops    []history.Op
		events []history.Event
		want   Status
	}{
		{"granted after the lease", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("b", lock, 102, 103, 100*ms, got)}, nil, Holds},
		{"granted before the lease can have ended", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("b", lock, 60, 61, 100*ms, got)}, nil, Broken},
		{"refused after the lease must have ended", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("b", lock, 120, 121, 100*ms, busy)}, nil, Broken},
		{"refused before", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("b", lock, 98, 99, 100*ms, busy)}, nil, Holds},
		{"released after the lease", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("a", unlock, 130, 131, 0, history.Released)}, nil, Broken},
		{"not held after the lease", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("a", unlock, 130, 131, 0, history.NotHeld)}, nil, Holds},
		{"not held before the lease can have ended", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("a", unlock, 50, 51, 0, history.NotHeld)}, nil, Broken},
		{"a re-entry sets it anew", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("a", lock, 80, 81, 100*ms, got), op("b", lock, 120, 121, 100*ms, got)}, nil, Broken},
		{"whoever takes it after the end holds it once", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("a", lock, 140, 141, 100*ms, got), op("a", unlock, 150, 151, 0, history.Released)}, nil, Holds},
		{"a watchdog may renew", []history.Op{watched(op("a", lock, 0, 1, 100*ms, got)), op("b", lock, 400, 401, 100*ms, busy), watched(op("a", unlock, 500, 501, 0, history.Released))}, nil, Holds},
		{"a watchdog may fail", []history.Op{watched(op("a", lock, 0, 1, 100*ms, got)), op("b", lock, 400, 401, 100*ms, got), watched(op("a", unlock, 500, 501, 0, history.NotHeld))}, nil, Holds},
		{"but not before the first lease", []history.Op{watched(op("a", lock, 0, 1, 100*ms, got)), op("b", lock, 50, 51, 100*ms, got)}, nil, Broken},
		{"nor both", []history.Op{watched(op("a", lock, 0, 1, 100*ms, got)), op("b", lock, 400, 401, 100*ms, got), watched(op("a", unlock, 410, 411, 0, history.Released))}, nil, Broken},
		{"the dead renew nothing", []history.Op{watched(op("a", lock, 0, 1, 100*ms, got)), op("b", lock, 400, 401, 100*ms, busy)}, []history.Event{died("a", 190, 200)}, Broken},
		{"not for long", []history.Op{watched(op("a", lock, 0, 1, 100*ms, got)), op("b", lock, 290, 291, 100*ms, busy), op("b", lock, 310, 311, 100*ms, got)}, []history.Event{died("a", 190, 200)}, Holds},
		{"an unknown grant ends, too", []history.Op{unknown(op("a", lock, 0, 10, 100*ms, ""), 20), op("b", lock, 90, 91, 100*ms, busy), op("b", lock, 130, 131, 100*ms, got)}, nil, Holds},
		{"and soon", []history.Op{unknown(op("a", lock, 0, 10, 100*ms, ""), 20), op("b", lock, 150, 151, 100*ms, busy)}, nil, Broken},
		{"deleted at some time", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("b", lock, 22, 23, 100*ms, busy), op("b", lock, 25, 26, 100*ms, got), op("a", unlock, 40, 41, 0, history.NotHeld)}, []history.Event{deleted}, Holds},
		{"not before that", []history.Op{op("a", lock, 0, 1, 100*ms, got), op("b", lock, 12, 13, 100*ms, got)}, []history.Event{deleted}, Broken},
	}
	for _, tt := range tests {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied}, Ops: tt.ops, Events: tt.events}
		for i := range h.Ops {
			h.Ops[i].ID = int64(i + 1)
			h.Ops[i].Return = max(h.Ops[i].Return, 1)
		}
		v := Judge(context.Background(), h, Options{})
		if r := v.Result(contract.Object); r.Status != tt.want || len(v.Refused) > 0 {
			t.Errorf("%s: %s: %s %v", tt.name, r.Status, r.Summary, v.Refused)
		}
	}
}

// Who was let in after an end that nobody saw is told the cause, as if somebody had.
func TestImpliedEndsAreCauses(t *testing.T) {
	h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied}, Ops: []history.Op{
		{ID: 1, Client: "a", Owner: "a", Lock: job, Kind: history.Lock, Lease: 100 * ms, Watchdog: true, Call: 1, Return: 1 * ms, Outcome: history.Acquired},
		{ID: 2, Client: "b", Owner: "b", Lock: job, Kind: history.Lock, Lease: 100 * ms, Watchdog: true, Call: 2 * ms, Return: 250 * ms, Outcome: history.Acquired},
		{ID: 3, Client: "a", Owner: "a", Lock: job, Kind: history.Unlock, Call: 300 * ms, Return: 301 * ms, Outcome: history.NotHeld},
	}, Faults: []history.Fault{{Kind: "partition", Client: "a", From: 20 * ms, To: 290 * ms}}}
	v := Judge(context.Background(), h, Options{})
	r := v.Result(contract.Exclusion)
	if r.Status != Broken || len(r.Violations) != 1 || r.Violations[0].Cause.Class != contract.CutOff || r.Violations[0].Ruling.Kind == Defect {
		t.Errorf("%+v", r)
	}
	if r := v.Result(contract.Object); r.Status != Holds {
		t.Error(r.Summary)
	}
	if r := v.Result(contract.Watchdog); r.Status != NotClaimed {
		t.Error(r.Summary)
	}
}

// A key may have been deleted after it was granted and before its owner heard of that: when the
// next one is let in, the deletion is why.
func TestADeletionBeforeTheGrantWasHeardIsACause(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []history.Event
		want   contract.Class
	}{
		{"at some time", []history.Event{{Kind: history.Delete, Lock: job, Since: 4 * ms, At: 6 * ms}}, contract.KeyLost},
		{"at one time", []history.Event{{Kind: history.Delete, Lock: job, At: 6 * ms}}, contract.KeyLost},
		{"by the server", []history.Event{{Kind: history.Restart, At: 6 * ms}, {Kind: history.Delete, Lock: job, At: 6 * ms}}, contract.ServerLost},
		{"before the call", []history.Event{{Kind: history.Delete, Lock: job, Since: 1 * ms, At: 2 * ms}}, contract.GrantedTwice},
		{"after the grant", []history.Event{{Kind: history.Delete, Lock: job, Since: 14 * ms, At: 15 * ms}}, contract.GrantedTwice},
	} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied}, Ops: []history.Op{
			{ID: 1, Client: "a", Owner: "a", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 3 * ms, Return: 9 * ms, Outcome: history.Acquired},
			{ID: 2, Client: "b", Owner: "b", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 7 * ms, Return: 12 * ms, Outcome: history.Acquired},
			{ID: 3, Client: "a", Owner: "a", Lock: job, Kind: history.Unlock, Call: 20 * ms, Return: 21 * ms, Outcome: history.NotHeld},
		}, Events: tt.events}
		r := Judge(context.Background(), h, Options{}).Result(contract.Exclusion)
		if len(r.Violations) != 1 || r.Violations[0].Cause.Class != tt.want || r.Violations[0].Ruling.Kind != Defect != (tt.want != contract.GrantedTwice) {
			t.Errorf("%s: %+v", tt.name, r.Violations)
		}
	}
}

// A server that lost its data knows no token any more: that they begin anew is its doing, in one window
// or in two, and only then.
func TestTokensBeginAnewWithTheServer(t *testing.T) {
	for _, restarted := range []bool{true, false} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, Abilities: []string{"reentrant", "fencing"}}, Ops: []history.Op{
			{ID: 1, Client: "a", Owner: "a", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 1 * ms, Return: 2 * ms, Outcome: history.Acquired, Token: 5},
			{ID: 2, Client: "a", Owner: "a", Lock: job, Kind: history.Unlock, Call: 3 * ms, Return: 4 * ms, Outcome: history.Released},
			{ID: 3, Client: "b", Owner: "b", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 7 * ms, Return: 8 * ms, Outcome: history.Acquired, Token: 1},
			{ID: 4, Client: "b", Owner: "b", Lock: job, Kind: history.Unlock, Call: 9 * ms, Return: 10 * ms, Outcome: history.Released},
		}}
		if restarted {
			h.Events = []history.Event{{Kind: history.Restart, At: 6 * ms}, {Kind: history.Delete, Lock: job, At: 6 * ms}}
		}
		whole := Judge(context.Background(), h, Options{}).Result(contract.Fencing)
		if whole.Status != Broken || whole.Violations[0].Ruling.Kind != Defect != restarted {
			t.Errorf("restarted %v: %+v", restarted, whole)
		}
		for _, least := range []int{1, 100} {
			v, s := stream(h, least)
			if _, windows := s.Judged(); (v.Code() == ExitExpected) != restarted || (windows > 1) != (least == 1) {
				t.Errorf("restarted %v, %d windows: exit code %d: %+v", restarted, windows, v.Code(), v.Result(contract.Fencing))
			}
		}
	}
}

// Who is told that it holds nothing any more leaves nothing behind, though nobody saw its lease end.
func TestALeaseThatEndedIsNoOrphan(t *testing.T) {
	for _, tt := range []struct {
		out  history.Outcome
		want Status
	}{{history.NotHeld, Holds}, {history.Decremented, Broken}} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms}, Ops: []history.Op{
			{ID: 1, Client: "a", Owner: "a", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Watchdog: true, Call: 1 * ms, Return: 2 * ms, Outcome: history.Acquired},
			{ID: 2, Client: "a", Owner: "a", Lock: job, Kind: history.Unlock, Lease: 100 * ms, Watchdog: true, Call: 300 * ms, Return: 301 * ms, Outcome: tt.out},
			{ID: 3, Client: "b", Owner: "b", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 5000 * ms, Return: 5001 * ms, Outcome: history.Acquired},
		}, End: &history.End{At: 6000 * ms}}
		if r := Judge(context.Background(), h, Options{}).Result(contract.Liveness); r.Status != tt.want {
			t.Errorf("%s: %s: %s", tt.out, r.Status, r.Summary)
		}
	}
}

// Who is told of a loss while its second acquire is under way is let in again, with the token of its hold; who
// was told before is let in anew, and must get another.
func TestTokenOfAHoldThatIsGivenUpForLost(t *testing.T) {
	for _, tt := range []struct {
		told time.Duration
		want Status
	}{{50 * ms, Holds}, {30 * ms, Broken}} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, Abilities: []string{"reentrant", "fencing", "lost"}}, Ops: []history.Op{
			{ID: 1, Client: "a", Owner: "a", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 1 * ms, Return: 2 * ms, Outcome: history.Acquired, Token: 5},
			{ID: 2, Client: "a", Owner: "a", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 40 * ms, Return: 60 * ms, Outcome: history.Acquired, Token: 5},
		}, Events: []history.Event{{Kind: history.Lost, At: tt.told, Client: "a", Owner: "a", Lock: job}}, End: &history.End{At: 70 * ms}}
		if r := Judge(context.Background(), h, Options{}).Result(contract.Fencing); r.Status != tt.want {
			t.Errorf("told at %v: %s: %s", tt.told, r.Status, r.Summary)
		}
	}
}

// A hold that is renewed may end with the lease that renewals set, though a re-entry that nobody heard of had asked for a longer one. It
// may not if nothing is renewed, or if renewals shorten nothing.
func TestARenewalMaySetLessThanWasAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name    string
		renewed bool
		can     []string
		want    Status
	}{
		{"renewed", true, []string{"reentrant"}, Holds},
		{"not renewed", false, []string{"reentrant"}, Broken},
		{"renewals shorten nothing", true, []string{"reentrant", "keeps-longest"}, Broken},
	} {
		ops := []history.Op{told("a", history.TryLock, 1, 2, 60*ms, history.Acquired), told("a", history.TryLock, 3, 50, 110*ms, history.Unknown),
			told("a", history.Unlock, 51, 52, 0, history.Decremented), // so that it was granted
			told("a", history.TryLock, 100, 101, 60*ms, history.Acquired), told("a", history.Unlock, 102, 103, 0, history.Released)}
		ops[0].Watchdog, ops[3].Watchdog = tt.renewed, tt.renewed
		if r := unseen(tt.can, nil, ops...).Result(contract.Object); r.Status != tt.want {
			t.Errorf("%s: %s: %+v", tt.name, r.Summary, r.Violations)
		}
	}
}

// The lease of a dead client ends though nobody is there to see it; that it did not is seen by whoever finds the lock busy.
func TestALeaseOfTheDeadEnds(t *testing.T) {
	for _, busy := range []bool{false, true} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms}, Ops: []history.Op{
			{ID: 1, Client: "a", Owner: "a", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Watchdog: true, Call: 1 * ms, Return: 2 * ms, Outcome: history.Acquired},
		}, Events: []history.Event{{Kind: history.Died, Client: "a", Since: 3 * ms, At: 4 * ms}}, End: &history.End{At: 6000 * ms}}
		if busy {
			h.Ops = append(h.Ops, history.Op{ID: 2, Client: "b", Owner: "b", Lock: job, Kind: history.TryLock, Lease: 100 * ms, Call: 5000 * ms, Return: 5001 * ms, Outcome: history.Busy})
		}
		v := Judge(context.Background(), h, Options{})
		if l, o := v.Result(contract.Liveness), v.Result(contract.Object); l.Status != Holds || (o.Status == Broken) != busy {
			t.Errorf("busy %v: liveness %s: %s; object %s: %s", busy, l.Status, l.Summary, o.Status, o.Summary)
		}
	}
}
