package world_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

const (
	order  = "order:42"
	second = time.Second
	slack  = 20 * time.Millisecond // programs' small waits, and messages under way
)

func at(d time.Duration) plan.Duration { return plan.Duration(d) }

func lock() plan.Step   { return plan.Step{Do: plan.Lock, Lock: order} }
func unlock() plan.Step { return plan.Step{Do: plan.Unlock, Lock: order} }
func work(d time.Duration) plan.Step {
	return plan.Step{Do: plan.Work, Lock: order, For: at(d)}
}
func sleep(d time.Duration) plan.Step { return plan.Step{Do: plan.Sleep, For: at(d)} }

func client(name string, start time.Duration, steps ...plan.Step) plan.Client {
	return plan.Client{Name: name, Threads: []plan.Thread{{ID: 1, Start: at(start), Steps: steps}}}
}

func newPlan(faults []plan.Fault, clients ...plan.Client) *plan.Plan {
	return &plan.Plan{Version: plan.Version, Clients: clients, Faults: faults}
}

func find(t *testing.T, name string) subjects.Subject {
	t.Helper()
	s, ok := libraries.Find(name)
	if !ok {
		t.Fatalf("no subject %q", name)
	}
	return s
}

func run(t *testing.T, p *plan.Plan, subject string) *history.History {
	t.Helper()
	h, err := sim.Run(bubble.In(t), p, find(t, subject), sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// served lists the server log's commands of a client with one of the steps.
func served(h *history.History, client string, steps ...history.Step) []history.Served {
	var found []history.Served
	for _, s := range h.Served {
		if strings.HasPrefix(s.Reply, "NOSCRIPT") {
			continue // go-redis, or the lock, sends the script itself next
		}
		if s.Client == client && (len(steps) == 0 || slices.Contains(steps, s.Step)) {
			found = append(found, s)
		}
	}
	return found
}

// calls lists the operations of an owner of a kind.
func calls(h *history.History, owner string, kind history.Kind) []history.Op {
	var found []history.Op
	for _, op := range h.Ops {
		if op.Owner == owner && op.Kind == kind {
			found = append(found, op)
		}
	}
	return found
}

func within(d, from, to time.Duration) bool { return d >= from && d <= to }

func TestAPausedWatchdogRenewsNothingUntilItResumes(t *testing.T) {
	h := run(t, newPlan([]plan.Fault{{Kind: "pause-watchdog", Client: "c1", From: at(15 * second), To: at(35 * second)}},
		client("c1", 0, lock(), work(58*second), unlock()),
		client("c2", second, plan.Step{Do: plan.Lock, Lock: "other"}, plan.Step{Do: plan.Work, Lock: "other", For: at(58 * second)}, plan.Step{Do: plan.Unlock, Lock: "other"}),
	), "rlock-latch")

	var times []time.Duration
	for _, s := range served(h, "c1", history.StepRenew) {
		times = append(times, s.At)
	}
	// The tick due at 20 s is held until 35 s; the period counts on from there.
	want := []time.Duration{10 * second, 35 * second, 45 * second, 55 * second}
	if !slices.EqualFunc(times, want, func(a, b time.Duration) bool { return within(a, b, b+slack) }) {
		t.Errorf("c1 renewed at %v, want about %v", times, want)
	}
	if others := served(h, "c2", history.StepRenew); len(others) != 5 {
		t.Errorf("c2, whose watchdog was not paused, renewed %d times", len(others))
	}
	if f := h.Faults; len(f) != 1 || f[0].Hits != 1 || f[0].From != 15*second || f[0].To != 35*second {
		t.Errorf("%+v", f)
	}
}

func TestAWatchdogPausedToTheEndNeverRenewsAgain(t *testing.T) {
	h := run(t, newPlan([]plan.Fault{{Kind: "pause-watchdog", Client: "c1", From: at(5 * second)}},
		client("c1", 0, lock(), work(45*second), unlock())), "rlock-latch")
	if renewals := served(h, "c1", history.StepRenew); len(renewals) != 0 {
		t.Errorf("renewed: %+v", renewals)
	}
	if f := h.Faults; len(f) != 1 || f[0].To < 45*second {
		t.Errorf("%+v", f)
	}
}

// partitioned is a run in which c1 is cut off from 5 s to 30 s, and asks much.
func partitioned(t *testing.T, direction string) *history.History {
	var asks []plan.Step
	for range 20 {
		asks = append(asks, plan.Step{Do: plan.IsLocked, Lock: order}, sleep(second))
	}
	return run(t, newPlan([]plan.Fault{{Kind: "partition", Client: "c1", From: at(5 * second), To: at(30 * second), Direction: direction}},
		client("c1", 0, asks...), client("c2", 0, asks...)), "rlock-latch")
}

func TestAPartitionKeepsCommandsFromTheServer(t *testing.T) {
	for _, direction := range []string{"", "both", "requests"} {
		h := partitioned(t, direction)
		before, after := 0, 0
		for _, s := range served(h, "c1") {
			switch {
			case s.At < 5*second:
				before++
			case s.At <= 30*second:
				t.Errorf("%q: executed at %v: %+v", direction, s.At, s)
			default:
				after++
			}
		}
		if before == 0 || after == 0 {
			t.Errorf("%q: %d commands before, %d after", direction, before, after)
		}
		through := 0
		for _, s := range served(h, "c2") {
			if within(s.At, 5*second, 30*second) && s.Got > 0 {
				through++
			}
		}
		if through == 0 {
			t.Errorf("%q: the other client was cut off too", direction)
		}
		if f := h.Faults; len(f) != 1 || f[0].Hits == 0 {
			t.Errorf("%q: it held nothing: %+v", direction, f)
		}
	}
}

func TestAPartitionOfRepliesLetsCommandsThrough(t *testing.T) {
	h := partitioned(t, "replies")
	executed := 0
	for _, s := range served(h, "c1") {
		if !within(s.At, 5*second, 30*second) {
			continue
		}
		executed++
		if s.Got != 0 && s.Got <= 30*second {
			t.Errorf("executed at %v, and the reply came at %v: %+v", s.At, s.Got, s)
		}
	}
	if executed == 0 {
		t.Error("nothing was executed")
	}
	for _, s := range served(h, "c1") {
		if s.At < 4*second && s.Got == 0 {
			t.Errorf("no reply before the partition: %+v", s)
		}
	}
}

func TestAnExpiredKeyIsGoneAtThatInstant(t *testing.T) {
	h := run(t, newPlan([]plan.Fault{{Kind: "expire-key", Lock: order, From: at(5 * second)}, {Kind: "expire-key", Lock: order, From: at(20 * second)}},
		client("c1", 0, plan.Step{Do: plan.Lock, Lock: order, Lease: at(15 * second)}, sleep(3*second), plan.Step{Do: plan.IsLocked, Lock: order},
			sleep(2*second), plan.Step{Do: plan.IsLocked, Lock: order}),
		client("c2", 10*second, plan.Step{Do: plan.Lock, Lock: order, Lease: at(3 * second)}, sleep(20*second)),
	), "rlock-latch")
	asks := calls(h, "c1:1", history.IsLocked)
	if len(asks) != 2 || asks[0].Value != 1 || asks[1].Value != 0 {
		t.Errorf("locked before and after: %+v", asks)
	}
	type expiry struct {
		at      time.Duration
		outside bool
	}
	var got []expiry
	for _, e := range h.Events {
		if e.Kind == history.Expire {
			got = append(got, expiry{e.At, e.Note != ""})
		}
	}
	ended := calls(h, "c2:1", history.Lock)[0].Executed + 3*second // by its own lease, to the nanosecond
	if want := []expiry{{5 * second, true}, {ended, false}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if f := h.Faults; len(f) != 2 || f[0].Hits != 1 || f[1].Hits != 0 {
		t.Errorf("the first struck a key, the second none: %+v", f)
	}
	for i := 1; i < len(h.Served); i++ {
		if s := h.Served[i]; s.Step != history.StepAdmin && s.Lock == order && s.Before != nil && within(s.At, 5*second, 9*second) && len(s.Before.Holdings) != 0 {
			t.Errorf("at %v the key is still there: %+v", s.At, s.Before)
		}
	}
}

func TestTheServerLogShowsTheKeyBeforeAndAfter(t *testing.T) {
	h := run(t, newPlan(nil, client("c1", 0, lock(), lock(), unlock(), unlock())), "rlock-classic")
	var counts []int64
	for _, s := range served(h, "c1", history.StepAcquire, history.StepRelease) {
		for _, state := range []*history.KeyState{s.Before, s.After} {
			var n int64
			for _, holding := range state.Holdings {
				if holding.Owner != "c1:1" {
					t.Errorf("held by %s", holding.Owner)
				}
				n += holding.Count
			}
			counts = append(counts, n)
		}
		if s.Op == 0 || s.Owner != "c1:1" || s.Got <= s.At || s.At <= s.Sent {
			t.Errorf("%+v", s)
		}
		if len(s.After.Holdings) > 0 && s.After.Deadline != s.At+30*second {
			t.Errorf("executed at %v, the deadline is %v", s.At, s.After.Deadline)
		}
	}
	if want := []int64{0, 1, 1, 2, 2, 1, 1, 0}; !slices.Equal(counts, want) {
		t.Errorf("hold counts before and after: %v, want %v", counts, want)
	}
}

func TestARenewalOfManyLocksIsEachOwnersOwn(t *testing.T) {
	// The plan mentions the locks in another order than the renewal does, which sorts them.
	hold := func(id int64, name string) plan.Thread {
		return plan.Thread{ID: id, Steps: []plan.Step{{Do: plan.Lock, Lock: name}, {Do: plan.Work, Lock: name, For: at(15 * second)}, {Do: plan.Unlock, Lock: name}}}
	}
	owners := map[string]string{"b": "c1:1", "c": "c1:2", "a": "c1:3"}
	h := run(t, newPlan(nil, plan.Client{Name: "c1", Threads: []plan.Thread{hold(1, "b"), hold(2, "c"), hold(3, "a")}}), "rlock-latch")
	renewals := 0
	for _, op := range h.Ops {
		if op.Kind == history.Renew {
			if renewals++; op.Owner != owners[op.Lock] || op.Answer != history.Renewed {
				t.Errorf("%+v", op)
			}
		}
	}
	if renewals != 3 {
		t.Errorf("%d renewals of 3 locks", renewals)
	}
}

func TestTimeIsVirtual(t *testing.T) {
	h := run(t, newPlan(nil, client("c1", 0, sleep(9*time.Minute+30*second), lock(), unlock())), "rlock-latch")
	if h.End.At < 9*time.Minute+30*second {
		t.Errorf("the run ended at %v", h.End.At)
	}
}

func TestACallIsCutOffAtThePlansLimit(t *testing.T) {
	p := newPlan(nil, client("c1", 0, lock(), sleep(time.Hour), unlock()), client("c2", second, lock(), unlock()))
	p.Timings.Limit = at(time.Minute)
	h := run(t, p, "rlock-latch")
	if at := healed(t, h); !within(at, time.Minute, time.Minute+slack) {
		t.Errorf("healed at %v", at)
	}
	// Then programs have the same time again, and the key a lease.
	if !within(h.End.At, 2*time.Minute, 2*time.Minute+45*second) {
		t.Errorf("the run ended at %v", h.End.At)
	}
	if tries := calls(h, "fresh:1", history.TryLock); len(tries) != 1 || tries[0].Outcome != history.Busy {
		t.Errorf("the fresh client: %+v", tries)
	}
	pending := calls(h, "c2:1", history.Lock)
	if len(pending) != 1 || !pending[0].Pending() || pending[0].Outcome != "" {
		t.Errorf("%+v", pending)
	}
	if i := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Leftover }); i < 0 || h.Events[i].Owner != "c1:1" || h.Events[i].Deadline <= time.Minute {
		t.Errorf("no leftover of c1:1: %+v", h.Events)
	}
}

func TestARunEndsWhenItsKeysHaveExpired(t *testing.T) {
	h := run(t, newPlan(nil, client("c1", 0, plan.Step{Do: plan.Lock, Lock: order, Lease: at(50 * second)})), "rlock-latch")
	if !within(h.End.At, 50*second, 52*second) {
		t.Errorf("the run ended at %v", h.End.At)
	}
	for _, e := range h.Events {
		if e.Kind == history.Leftover {
			t.Errorf("left over: %+v", e)
		}
	}
}

func TestAKeyThatSomebodyGoesOnRenewingIsLeftOver(t *testing.T) {
	// Nobody unlocks, and the process lives: its watchdog renews for ever.
	h := run(t, newPlan(nil, client("c1", 0, lock())), "rlock-latch")
	var left []history.Event
	for _, e := range h.Events {
		if e.Kind == history.Leftover {
			left = append(left, e)
		}
	}
	if len(left) != 1 || left[0].Lock != order || left[0].Owner != "c1:1" || left[0].Deadline <= h.End.At {
		t.Errorf("%+v at %v", left, h.End.At)
	}
}

// explosive is a lock that panics.
type explosive struct {
	subjects.Client
	in string
}

func (e explosive) Lock(name string) subjects.Lock { return explosiveLock{e.Client.Lock(name), e.in} }

func (e explosive) Close() error {
	if err := e.Client.Close(); e.in != "close" {
		return err
	}
	panic(errBang)
}

type explosiveLock struct {
	subjects.Lock
	in string
}

var errBang = errors.New("bang")

func (l explosiveLock) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	if l.in == "acquire" {
		panic(errBang)
	}
	return l.Lock.Acquire(ctx, owner, r)
}

func (l explosiveLock) Release(ctx context.Context, owner string) subjects.Answer {
	if l.in == "release" {
		panic(errBang)
	}
	return l.Lock.Release(ctx, owner)
}

func TestAPanicOfTheLockIsNamedWithItsOperation(t *testing.T) {
	tests := []struct{ in, during string }{
		{"acquire", `lock "order:42" by c1:1`},
		{"release", `unlock "order:42" by c1:1`},
		{"close", "Close of a client"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			s := find(t, "rlock-latch")
			open := s.Open
			s.Open = func(e subjects.Env) (subjects.Client, error) {
				c, err := open(e)
				return explosive{c, tt.in}, err
			}
			h, err := sim.Run(bubble.In(t), newPlan(nil, client("c1", 0, lock(), unlock()), client("c2", 50*time.Second, lock())), s, sim.Options{Seed: 1})
			var p *sim.PanicError
			if !errors.As(err, &p) || p.During != tt.during || p.Value != any(errBang) || len(p.Stack) == 0 {
				t.Fatalf("%v", err)
			}
			if h == nil || h.End == nil || h.End.Error != err.Error() || len(h.Ops) == 0 {
				t.Errorf("the history until then is not there: %+v", h)
			}
		})
	}
}

// panicky schedules timers that panic.
type panicky struct{ subjects.Scheduler }

func (p panicky) AfterFunc(d time.Duration, _ func()) subjects.Timer {
	return p.Scheduler.AfterFunc(d, func() { panic(errBang) })
}

func TestAPanicInAWatchdogIsAHarnessError(t *testing.T) {
	s := find(t, "rlock-latch")
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		e.Scheduler = panicky{e.Scheduler}
		return open(e)
	}
	h, err := sim.Run(bubble.In(t), newPlan(nil, client("c1", 0, lock(), work(20*second), unlock())), s, sim.Options{Seed: 1})
	if err == nil || !strings.Contains(err.Error(), "watchdog of c1") || h == nil || h.End.Error == "" {
		t.Errorf("%v", err)
	}
}

func TestASubjectThatCannotOpenIsAHarnessError(t *testing.T) {
	s := find(t, "rlock-latch")
	s.Open = func(subjects.Env) (subjects.Client, error) { return nil, errBang }
	h, err := sim.Run(bubble.In(t), newPlan(nil, client("c1", 0, lock())), s, sim.Options{Seed: 1})
	if !errors.Is(err, errBang) || h == nil || h.End.Error == "" {
		t.Errorf("%v", err)
	}
}

func TestAPlanWithoutSenseIsNotRun(t *testing.T) {
	p := newPlan([]plan.Fault{{Kind: "meteor"}}, client("c1", 0, lock()))
	if h, err := sim.Run(bubble.In(t), p, find(t, "rlock-latch"), sim.Options{}); h != nil || err == nil {
		t.Errorf("%v, %v", h, err)
	}
}
