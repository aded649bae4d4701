package world_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// Each kind of fault does what it says, read from the server log. (pause-watchdog, partition and
// expire-key are in world_test.go.)

// struck runs two clients that take turns, c1 first, with faults, and returns what there is to look at.
func struck(t *testing.T, subject string, faults ...plan.Fault) *history.History {
	t.Helper()
	h := run(t, newPlan(faults,
		client("c1", 0, append(warm(), sleep(second), lock(), work(15*second), unlock())...),
		client("c2", 3*second, lock(), work(5*second), unlock()),
	), subject)
	for _, f := range h.Faults {
		if f.Missed {
			t.Errorf("%+v never struck", f)
		}
	}
	return h
}

func onRequest(kind plan.MessageKind, nth int) *plan.Trigger {
	return &plan.Trigger{Client: "c1", Request: kind, Nth: nth}
}

// admin lists what the fault injector did.
func admin(h *history.History) []history.Served {
	var found []history.Served
	for _, s := range h.Served {
		if s.Step == history.StepAdmin {
			found = append(found, s)
		}
	}
	return found
}

func TestAPausedClientSendsAndReadsNothing(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "pause-client", Client: "c1", From: at(5 * second), To: at(14 * second)})
	for _, s := range served(h, "c1") {
		if s.At > 5*second && s.At < 14*second || s.Got > 5*second && s.Got < 14*second {
			t.Errorf("c1 was paused: %+v", s)
		}
	}
	if renewals := served(h, "c1", history.StepRenew); len(renewals) == 0 || !within(renewals[0].At, 14*second, 14*second+slack) {
		t.Errorf("the renewal that was due at 11 s comes when c1 goes on: %+v", renewals)
	}
}

func TestAProgramOfAPausedClientStandsStill(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "pause-client", Client: "c1", From: at(5 * second), For: at(20 * second)})
	if writes := calls(h, "c1:1", history.Write); len(writes) != 1 || !within(writes[0].Call, 25*second, 25*second+slack) {
		t.Errorf("the work that was done at 16 s writes when c1 goes on: %+v", writes)
	}
}

func TestAKilledClientDoesNothingMore(t *testing.T) {
	for _, reset := range []bool{false, true} {
		h := struck(t, "rlock-latch", plan.Fault{Kind: "kill-client", Client: "c1", From: at(5 * second), Reset: reset})
		for _, s := range served(h, "c1") {
			if s.At > 5*second+slack {
				t.Errorf("c1 is dead: %+v", s)
			}
		}
		if e := h.Events[0]; e.Kind != history.Died || e.Client != "c1" || e.At != 5*second {
			t.Errorf("%+v", e)
		}
		if locks := calls(h, "c2:1", history.Lock); !within(locks[0].Executed, 31*second, 31*second+slack) {
			t.Errorf("c2 gets the lock when c1's lease, of 1 s, is over: %+v", locks)
		}
	}
}

func TestADroppedRequestIsNeverExecuted(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "drop-message", When: onRequest(plan.Release, 2)})
	releases := served(h, "c1", history.StepRelease)
	if len(releases) != 2 || releases[1].At < 16*second+4*second {
		t.Errorf("the second unlock is executed only when go-redis sends it again: %+v", releases)
	}
	if f := h.Faults[0]; f.On != "request release" || f.Hits != 1 || f.Op == 0 || !within(f.From, 16*second, 16*second+slack) {
		t.Errorf("%+v", f)
	}
}

func TestADroppedReplyWasExecutedAndIsNotHeard(t *testing.T) {
	for _, reset := range []bool{false, true} {
		h := struck(t, "rlock-classic", plan.Fault{Kind: "drop-message", Client: "c1", Reset: reset, When: &plan.Trigger{Reply: plan.Acquire, Nth: 2}})
		acquires := served(h, "c1", history.StepAcquire)
		if len(acquires) != 3 || acquires[1].Got != 0 || acquires[2].Got == 0 {
			t.Fatalf("%+v", acquires)
		}
		wait := 5 * second // go-redis's timeout
		if reset {
			wait = 0
		}
		if again := acquires[2].At - acquires[1].At; !within(again, wait, wait+second) {
			t.Errorf("reset %v: sent again after %v", reset, again)
		}
	}
}

func TestADelayedRequestIsExecutedLater(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "delay-message", By: at(2 * second), When: onRequest(plan.Acquire, 2)})
	if a := served(h, "c1", history.StepAcquire)[1]; !within(a.At-a.Sent, 2*second, 2*second+slack) {
		t.Errorf("%+v", a)
	}
}

func TestADuplicateIsExecutedTwice(t *testing.T) {
	h := struck(t, "rlock-classic", plan.Fault{Kind: "duplicate-message", By: at(second), When: onRequest(plan.Acquire, 2)})
	acquires := served(h, "c1", history.StepAcquire)
	if len(acquires) != 3 || acquires[1].Text != acquires[2].Text || acquires[2].Got != 0 || acquires[1].Conn == acquires[2].Conn ||
		!within(acquires[2].At-acquires[1].At, second, second+slack) {
		t.Errorf("%+v", acquires)
	}
}

func TestAReorderedRequestIsOvertaken(t *testing.T) {
	// Two threads of one client ask at about the same time, on two connections.
	ask := plan.Step{Do: plan.IsLocked, Lock: order}
	two := plan.Client{Name: "c1", Threads: []plan.Thread{
		{ID: 1, Steps: []plan.Step{ask, sleep(second), lock(), unlock()}},
		{ID: 2, Steps: []plan.Step{ask, sleep(second + 50*time.Millisecond), ask}},
	}}
	h := run(t, newPlan([]plan.Fault{{Kind: "reorder-message", By: at(second), When: onRequest(plan.Acquire, 1)}}, two), "rlock-latch")
	var order []history.Step
	for _, s := range served(h, "c1", history.StepAcquire, history.StepQuery) {
		order = append(order, s.Step)
	}
	if f := h.Faults[0]; f.Missed || len(order) != 4 || order[2] != history.StepQuery || order[3] != history.StepAcquire {
		t.Errorf("%v, %+v", order, f)
	}
}

func TestClosedConnectionsAreReplaced(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "close-connection", Client: "c1", From: at(5 * second)})
	conns := map[string][2]time.Duration{}
	for _, s := range served(h, "c1") {
		span := conns[s.Conn]
		if span[0] == 0 {
			span[0] = s.At
		}
		span[1] = s.At
		conns[s.Conn] = span
	}
	for name, span := range conns {
		if span[0] < 5*second && span[1] > 5*second {
			t.Errorf("%s is used from %v to %v", name, span[0], span[1])
		}
	}
	if len(conns) < 2 || h.Faults[0].Hits == 0 {
		t.Errorf("%v, %+v", conns, h.Faults)
	}
}

func TestKeysAreDeletedAndOverwritten(t *testing.T) {
	for kind, then := range map[string][]history.Holding{"delete-key": nil, "overwrite-key": {{Owner: history.AnotherProgram, Count: 1}}} {
		h := struck(t, "rlock-latch", plan.Fault{Kind: kind, Lock: order, From: at(5 * second)})
		did := admin(h)
		if len(did) != 1 || did[0].At != 5*second || len(did[0].Before.Holdings) != 1 || !slices.Equal(did[0].After.Holdings, then) {
			t.Errorf("%s: %+v", kind, did)
		}
		if renewals := served(h, "c1", history.StepRenew); len(renewals) != 1 || renewals[0].Reply != "[0]" {
			t.Errorf("%s: c1's renewal finds nothing: %+v", kind, renewals)
		}
	}
	h := struck(t, "rlock-latch", plan.Fault{Kind: "delete-key", From: at(5 * second)})
	if did := admin(h); len(did) != 1 || !strings.HasPrefix(did[0].Text, "FLUSHALL") || len(did[0].After.Holdings) != 0 {
		t.Errorf("%+v", did)
	}
}

// countingClient is that of a lock that counts in a second key, which has its holder's name.
type countingClient struct {
	subjects.Client
	rdb redis.UniversalClient
}

type countingLock struct {
	subjects.Lock
	rdb  redis.UniversalClient
	name string
}

func (c countingClient) Lock(name string) subjects.Lock {
	return countingLock{c.Client.Lock(name), c.rdb, name}
}

func (l countingLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	a := l.Lock.Acquire(ctx, owner, r)
	if a.Outcome == history.Acquired {
		l.rdb.Incr(ctx, l.name+":count:"+owner)
	}
	return a
}

// What ends a key that was overwritten ends all that was written over, also what had the name of a holder who is not there any more.
func TestAnOverwrittenKeyEndsAsAWhole(t *testing.T) {
	s, _ := subjects.Find("rlock-latch")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		return countingClient{c, e.Redis}, err
	}
	s.Layout.Count = history.Place{Key: "*:count:@", Owned: true}
	h, err := sim.Run(bubble.In(t), newPlan([]plan.Fault{{Kind: "overwrite-key", Lock: order, From: at(5 * second)}, {Kind: "expire-key", Lock: order, From: at(6 * second)}},
		client("c1", 0, lock(), plan.Step{Do: plan.Sleep, For: at(10 * second)}, unlock())), s, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var struck []string
	for _, row := range admin(h) {
		struck = append(struck, row.Text)
	}
	for _, does := range []string{"SET " + order + " something else", "SET " + order + ":count:c1:1 something else", "PEXPIRE " + order + " 0", "PEXPIRE " + order + ":count:c1:1 0"} {
		if !slices.Contains(struck, does) {
			t.Errorf("the faults did not %q, but %q", does, struck)
		}
	}
}

func TestAnOperatorForcesTheLockFree(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "force-unlock", Lock: order, From: at(5 * second)})
	forced := served(h, "operator", history.StepForce)
	if len(forced) != 1 || !within(forced[0].At, 5*second, 5*second+slack) || len(forced[0].After.Holdings) != 0 {
		t.Errorf("%+v", forced)
	}
}

func TestARefusedCommandIsNotExecuted(t *testing.T) {
	for _, code := range plan.Errors() {
		h := struck(t, "rlock-latch", plan.Fault{Kind: "server-error", Error: code, When: onRequest(plan.Release, 2)})
		refused := served(h, "c1", history.StepRelease)[1]
		if !strings.HasPrefix(refused.Reply, code) || len(refused.After.Holdings) != 1 {
			t.Errorf("%s: %+v", code, refused)
		}
	}
}

func TestASlowServerGetsToRequestsLater(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "slow-server", By: at(second), From: at(15 * second), To: at(20 * second)})
	n := 0
	for _, s := range h.Served {
		late := s.At - s.Sent
		if in := s.Sent > 15*second && s.Sent < 20*second-slack; in && late < second || s.Sent < 15*second-slack && late > slack {
			t.Errorf("%v late: %+v", late, s)
		} else if in {
			n++
		}
	}
	if n == 0 || h.Faults[0].Hits < n {
		t.Errorf("%d were late, %+v", n, h.Faults)
	}
}

func TestFlushedScriptsAreUnknown(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "script-flush", From: at(5 * second)})
	unknown := 0
	for _, s := range h.Served {
		if s.At > 5*second && strings.HasPrefix(s.Reply, "NOSCRIPT") {
			unknown++
		}
	}
	if did := admin(h); len(did) != 1 || did[0].Text != "SCRIPT FLUSH" || unknown == 0 {
		t.Errorf("%+v, then NOSCRIPT %d times", did, unknown)
	}
}

func TestARestartedServerHasForgottenOrNot(t *testing.T) {
	for _, data := range []string{"none", "all"} {
		h := struck(t, "rlock-latch", plan.Fault{Kind: "restart", Data: data, From: at(5 * second), To: at(7 * second)})
		for _, s := range h.Served {
			if s.Step != history.StepAdmin && s.At > 5*second && s.At < 7*second {
				t.Errorf("it is down: %+v", s)
			}
		}
		renewals := served(h, "c1", history.StepRenew)
		if want := map[string]string{"none": "[0]", "all": "[1]"}[data]; len(renewals) != 1 || renewals[0].Reply != want {
			t.Errorf("data %s: %+v", data, renewals)
		}
		if e := h.Events[0]; e.Kind != history.Restart || e.At != 5*second {
			t.Errorf("%+v", e)
		}
	}
}

func TestAClockThatJumpsEndsLeases(t *testing.T) {
	h := struck(t, "rlock-latch", plan.Fault{Kind: "clock-jump", By: at(20 * second), From: at(5 * second)})
	if did := admin(h); len(did) != 1 || did[0].At != 5*second {
		t.Fatalf("%+v", did)
	}
	for _, e := range h.Events {
		if e.Kind == history.Expire && e.Lock == order && !within(e.At, 11*second, 11*second+slack) {
			t.Errorf("a lease of 30 s, set at 1 s, ends 20 s early: %+v", e)
		}
	}
	h = struck(t, "rlock-latch", plan.Fault{Kind: "clock-jump", By: at(60 * second), From: at(5 * second)})
	if e := h.Events[1]; e.Kind != history.Expire || e.At != 5*second {
		t.Errorf("%+v", h.Events)
	}
}

func TestAReplicaHasWhatItHadReceived(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []plan.Fault
		held   bool // the lock, after the failover at 5 s
	}{
		{"all of it", []plan.Fault{{Kind: "failover", From: at(5 * second)}}, true},
		{"what came before it was cut off", []plan.Fault{{Kind: "stop-replication", From: at(500 * time.Millisecond)}, {Kind: "failover", From: at(5 * second)}}, false},
		{"all, once it has caught up", []plan.Fault{{Kind: "stop-replication", From: at(500 * time.Millisecond), To: at(3 * second)}, {Kind: "failover", From: at(5 * second)}}, true},
		{"the other has it", []plan.Fault{{Kind: "stop-replication", From: at(500 * time.Millisecond)}, {Kind: "failover", Replica: 2, From: at(5 * second)}}, true},
	} {
		p := newPlan(tt.faults, client("c1", 0, append(warm(), sleep(second), lock(), work(12*second), unlock())...))
		p.Servers = []plan.Server{{Name: "s1", Replicas: 2, Lag: at(100 * time.Millisecond)}}
		h := run(t, p, "rlock-latch")
		want := map[bool]string{true: "[1]", false: "[0]"}[tt.held]
		if renewals := served(h, "c1", history.StepRenew); len(renewals) != 1 || renewals[0].Reply != want {
			t.Errorf("%s: %+v", tt.name, renewals)
		}
	}
}

func TestAReplicaThatIsBehindBringsBackTheHolderBefore(t *testing.T) {
	p := newPlan([]plan.Fault{{Kind: "failover", From: at(8 * second)}},
		client("c1", 0, append(warm(), lock(), work(3500*time.Millisecond), unlock())...),
		client("c2", 4*second, lock(), work(12*second), unlock()))
	p.Servers = []plan.Server{{Name: "s1", Replicas: 1, Lag: at(5 * second)}}
	h := run(t, p, "rlock-latch")
	did := admin(h)[0]
	if did.At != 8*second || len(did.Before.Holdings) != 1 || did.Before.Holdings[0].Owner != "c2:1" ||
		len(did.After.Holdings) != 1 || did.After.Holdings[0] != (history.Holding{Owner: "c1:1", Count: 1}) {
		t.Errorf("%+v", did)
	}
	back := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Restore })
	if back < 0 || h.Events[back].Owner != "c1:1" || h.Events[back].Count != 1 || h.Events[back].Deadline != did.After.Deadline ||
		!within(did.After.Deadline, 30*second, 30*second+slack) {
		t.Errorf("%+v, %+v", h.Events, did.After)
	}
	if renewals := served(h, "c2", history.StepRenew); len(renewals) != 1 || renewals[0].Reply != "[0]" {
		t.Errorf("c2's renewal finds c1's key: %+v", renewals)
	}
}

// What a failover changes beside a key, it changes of the object: who waits for a fair lock, and in which round a latch is.
func TestAReplicaThatIsBehindInWhatIsBesideAKey(t *testing.T) {
	set := plan.Step{Do: plan.TrySetCount, Lock: "gate", Count: 1}
	for _, tt := range []struct {
		subject string
		clients []plan.Client
		told    int // of which that is told
	}{
		{"rfair-hardened", []plan.Client{
			client("c1", 0, plan.Step{Do: plan.Lock, Lock: order, Lease: at(20 * second)}, sleep(19*second)),
			client("c2", 3*second, plan.Step{Do: plan.TryLock, Lock: order, Wait: at(10 * second)})}, 0},
		{"rcountdownlatch-hardened", []plan.Client{client("c1", 0, set, sleep(3*second), plan.Step{Do: plan.CountDown, Lock: "gate"}, set, sleep(2*second))}, 1},
	} {
		var hits, restored [2]int
		for i, lag := range []time.Duration{time.Millisecond, 2 * second} {
			p := newPlan([]plan.Fault{{Kind: "failover", From: at(3500 * time.Millisecond)}}, tt.clients...)
			p.Servers = []plan.Server{{Name: "s1", Replicas: 1, Lag: at(lag)}}
			h := run(t, p, tt.subject)
			hits[i] = int(h.Faults[0].Hits)
			for _, e := range h.Events {
				if e.Kind == history.Restore {
					restored[i]++
				}
			}
		}
		if hits[1] != hits[0]+1 || restored != [2]int{0, tt.told} {
			t.Errorf("%s: %d hits, %d restored, of one that has all and one that is behind", tt.subject, hits, restored)
		}
	}
}

func TestWaitIsAnsweredWhenReplicasHaveIt(t *testing.T) {
	waited := lock()
	waited.Replicas = 2
	for _, cut := range []bool{false, true} {
		var faults []plan.Fault
		if cut {
			faults = []plan.Fault{{Kind: "stop-replication", Replica: 2, From: at(500 * time.Millisecond)}}
		}
		p := newPlan(faults, client("c1", second, waited, unlock()))
		p.Servers = []plan.Server{{Name: "s1", Replicas: 2, Lag: at(100 * time.Millisecond)}}
		h := run(t, p, "rlock-latch")
		op := calls(h, "c1:1", history.Lock)[0]
		if took, want := op.Return-op.Call, 100*time.Millisecond; !cut && (op.Outcome != history.Acquired || !within(took, want, want+slack)) {
			t.Errorf("%+v", op)
		}
		if took := op.Return - op.Call; cut && (op.Outcome != history.Unknown || !within(took, second, second+slack)) {
			t.Errorf("one of two is cut off: given back after a second: %+v", op)
		}
	}
}

func TestAFaultThatNeverStrikesIsMissed(t *testing.T) {
	h := run(t, newPlan([]plan.Fault{
		{Kind: "drop-message", When: onRequest(plan.Renewal, 1)},
		{Kind: "expire-key", Lock: order, From: at(300 * second)},
	}, client("c1", 0, lock(), unlock())), "rlock-latch")
	for _, f := range h.Faults {
		if !f.Missed || f.Hits != 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(h.Faults) != 2 {
		t.Errorf("%+v", h.Faults)
	}
}

func TestTriggersMatchTheirStep(t *testing.T) {
	for _, tt := range []struct {
		when plan.Trigger
		at   time.Duration
		on   string
	}{
		{plan.Trigger{Client: "c1", Return: plan.Lock, Nth: 2}, time.Second, "return lock"},
		{plan.Trigger{Client: "c2", Reply: plan.Publish}, 16 * time.Second, "reply publish"},
		{plan.Trigger{Client: "c1", Request: plan.Renewal}, 11 * time.Second, "request renew"},
		{plan.Trigger{Client: "c2", Between: []plan.MessageKind{plan.Acquire, plan.Subscribe}}, 3 * time.Second, "between acquire and subscribe"},
		{plan.Trigger{Client: "c2", Between: []plan.MessageKind{plan.Subscribe, plan.Acquire}}, 3 * time.Second, "between subscribe and acquire"},
	} {
		h := struck(t, "rlock-latch", plan.Fault{Kind: "script-flush", When: &tt.when})
		if f := h.Faults[0]; f.On != tt.on || !within(f.From, tt.at, tt.at+slack+slack) {
			t.Errorf("%+v: %+v", tt.when, f)
		}
	}
}

func TestEveryKindOfFaultIsTestedAgainstTheServerLog(t *testing.T) {
	tested := "pause-watchdog partition expire-key pause-client kill-client drop-message delay-message duplicate-message reorder-message " +
		"close-connection delete-key overwrite-key force-unlock server-error slow-server script-flush restart clock-jump failover stop-replication"
	for _, name := range fault.Names() {
		if !strings.Contains(" "+tested+" ", " "+name+" ") {
			t.Errorf("%s has no test here", name)
		}
	}
}

// Clients ask a server whether it is a master, and with how many replicas.
func TestAServerTellsOfItsReplicas(t *testing.T) {
	for _, replicas := range []int{0, 2} {
		s := find(t, "rlock-latch")
		open := s.Open
		var info string
		s.Open = func(e subjects.Env) (subjects.Client, error) {
			c, err := open(e)
			return asking{c, func(ctx context.Context) { info = e.Redis.Info(ctx, "all").String() }}, err
		}
		p := newPlan(nil, client("c1", 0, lock(), unlock()))
		p.Servers = []plan.Server{{Name: "s1", Replicas: replicas}}
		if _, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1}); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("role:master\r\nconnected_slaves:%d\r\n", replicas); !strings.Contains(info, want) {
			t.Errorf("with %d replicas it says %q", replicas, info)
		}
	}
}

// asking is a client whose locks ask the server something before they are taken.
type asking struct {
	subjects.Client
	ask func(context.Context)
}

func (a asking) Lock(name string) subjects.Lock { return askingLock{a.Client.Lock(name), a.ask} }

type askingLock struct {
	subjects.Lock
	ask func(context.Context)
}

func (l askingLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	l.ask(ctx)
	return l.Lock.Acquire(ctx, owner, r)
}

// A jump strikes the keys of a lock that nobody can read, and is told to have struck nothing if it ends the lease of none.
func TestAClockJumpStrikesKeysThatNobodyReads(t *testing.T) {
	for by, strikes := range map[time.Duration]bool{40 * second: true, second: false} {
		s, _ := subjects.Find("rlock-latch")
		s.Layout = history.Layout{Unknown: "it is not looked for"}
		h, err := sim.Run(bubble.In(t), newPlan([]plan.Fault{{Kind: "clock-jump", From: at(5 * second), By: at(by)}},
			client("c1", 0, append(warm(), lock(), work(15*second), unlock())...),
			client("c2", 3*second, lock(), work(5*second), unlock()),
		), s, sim.Options{Seed: 1})
		if err != nil || h.Faults[0].Struck() != strikes {
			t.Errorf("by %v: %+v, %v", by, h.Faults, err)
		}
	}
}

// A lock that nobody can read, and whose keys have no time to live, has leases that end by its clients' clocks, if they end. A jump of the server's moves
// none of them.
func TestAClockJumpMovesNoLeaseOfKeysWithoutAnEnd(t *testing.T) {
	for name, moves := range map[string]bool{"rlock-latch": true, "broken-lease-endless": false} {
		s, found := subjects.Find(name)
		if !found {
			l, _ := broken.Find(name)
			s = l.Subject
		}
		s.Layout = history.Layout{Unknown: "it is not looked for"}
		h, err := sim.Run(bubble.In(t), newPlan([]plan.Fault{{Kind: "clock-jump", From: at(5 * second), By: at(40 * second)}},
			client("c1", 0, append(warm(), lock(), work(15*second), unlock())...)), s, sim.Options{Seed: 1})
		told := slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.ClockJump })
		if err != nil || told != moves {
			t.Errorf("%s: %+v, %v", name, h.Events, err)
		}
	}
}

// On a server that is somebody else's a jump of the clock is seen by the run's keys alone, also where nobody knows which they are.
func TestAClockJumpLeavesKeysOfOthersTheirTime(t *testing.T) {
	redisserver.Need(t)
	server, err := redisserver.Start(t.Context(), redisserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	remote, err := redisserver.Connect(t.Context(), "redis://"+server.Addr(), redisserver.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Client().Set(t.Context(), "theirs", "1", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	before := server.Client().PExpireTime(t.Context(), "theirs").Val()
	s, _ := subjects.Find("rlock-latch")
	s.Layout = history.Layout{Unknown: "it is not looked for"}
	h, err := sim.Run(bubble.In(t), newPlan([]plan.Fault{{Kind: "clock-jump", From: at(5 * second), By: at(40 * second)}},
		client("c1", 0, append(warm(), lock(), work(15*second), unlock())...),
	), s, sim.Options{Seed: 1, Ground: world.At(remote, 0.1, order, false)})
	if err != nil || !h.Faults[0].Struck() {
		t.Errorf("%+v, %v", h.Faults, err)
	}
	if after := server.Client().PExpireTime(t.Context(), "theirs").Val(); after != before {
		t.Errorf("their key ends at %v, and no longer at %v", after, before)
	}
}
