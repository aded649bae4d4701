package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// spoken is a subject in world sim whose every call goes through the protocol. Its hello is that of a process; each client is
// served in this one, over the world's network.
func spoken(t *testing.T, real subjects.Subject) subjects.Subject {
	t.Helper()
	s, err := Subject(t.Context(), Prefix+worker("listed@"+real.Name))
	if err != nil {
		t.Fatal(err)
	}
	s.External = false
	open := s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		dial := e.Dial
		o := *e.Redis.(*redis.Client).Options()
		if e.NoRetry {
			o.MaxRetries = -1 // as the options have it before they are a client's
		}
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
		served := real
		served.Open = func(told subjects.Env) (subjects.Client, error) {
			told.Redis, told.Now = redis.NewClient(&o), e.Now // the world may set its clock, as it sets that of a process
			c, err := real.Open(told)
			return closing{c, told.Redis}, err
		}
		e.Addr = "redis://127.0.0.1:1" // which nobody dials
		e.Start = func([]string) (subjects.Child, error) { return serving(served), nil }
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return talker{c, c.(subjects.Semaphores), c.(subjects.PermitSemaphores), c.(subjects.Latches), c.(subjects.ReadWriteLocks)}, nil
	}
	return s
}

// talker is a worker's client without the process that it is: the world stops a client in its own way.
type talker struct {
	subjects.Client
	subjects.Semaphores
	subjects.PermitSemaphores
	subjects.Latches
	subjects.ReadWriteLocks
}

// closing closes what its client was given. It has whatever interfaces of objects its client has.
type closing struct {
	subjects.Client
	redis io.Closer
}

func (c closing) Close() error {
	defer c.redis.Close()
	return c.Client.Close()
}

func (c closing) Semaphore(name string) subjects.Semaphore {
	return c.Client.(subjects.Semaphores).Semaphore(name)
}

func (c closing) PermitSemaphore(name string) subjects.PermitSemaphore {
	return c.Client.(subjects.PermitSemaphores).PermitSemaphore(name)
}

func (c closing) Latch(name string) subjects.Latch { return c.Client.(subjects.Latches).Latch(name) }

func (c closing) ReadLock(name string) subjects.Lock {
	return c.Client.(subjects.ReadWriteLocks).ReadLock(name)
}

func (c closing) WriteLock(name string) subjects.Lock {
	return c.Client.(subjects.ReadWriteLocks).WriteLock(name)
}

// inner is a worker that is no process.
type inner struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	exited chan struct{}
}

func serving(s subjects.Subject) *inner {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	w := &inner{in: in, out: out, exited: make(chan struct{})}
	go func() {
		_ = Serve(stdin, stdout, s, "1")
		stdout.Close()
		close(w.exited)
	}()
	return w
}

func (w *inner) In() io.WriteCloser      { return w.in }
func (w *inner) Out() io.ReadCloser      { return w.out }
func (w *inner) Err() io.ReadCloser      { return io.NopCloser(strings.NewReader("")) }
func (w *inner) Exited() <-chan struct{} { return w.exited }
func (w *inner) Ending() string          { return "it was closed" }
func (w *inner) Overdue() int            { return 0 }
func (w *inner) JumpClock(time.Duration) {}
func (w *inner) Pause() error            { return nil }
func (w *inner) Resume() error           { return nil }
func (w *inner) Kill() error             { w.in.Close(); w.out.Close(); return nil }

// A worker that serves another object than a lock is judged in each story of it as that object is without the protocol.
func TestObjectsThatAreServedAreJudgedAsTheyAre(t *testing.T) {
	for _, is := range []history.Object{history.ASemaphore, history.ALatch, history.ARWLock, history.APermitSemaphore} {
		for _, real := range subjects.Of(is) {
			t.Run(real.Name, func(t *testing.T) {
				s := spoken(t, real)
				layout, err := sim.Probe(bubble.In(t), s, sim.Options{Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				s.Layout = layout
				for _, story := range scenarios.Of(is) {
					t.Run(story.Name, func(t *testing.T) {
						want, _ := judged(t, story, real)
						got, why := judged(t, story, s)
						if real.Name == "rcountdownlatch-classic" && story.Name == "latch-set-at-zero" {
							// Who of the threads that one message wakes asks first, the worker's process says, and not the world: whether the
							// last of them asks before the next round begins turns on that.
							want[contract.Liveness] = got[contract.Liveness]
						}
						if !maps.Equal(got, want) {
							t.Errorf("without the protocol %v, with it %v:\n%s", want, got, why)
						}
					})
				}
			})
		}
	}
}

// A fair lock that is served says where its queue is, and is judged in each story of a queue as it is without the protocol.
func TestFairLocksThatAreServedAreJudgedAsTheyAre(t *testing.T) {
	for _, real := range subjects.AllFairLocks() {
		t.Run(real.Name, func(t *testing.T) {
			s := spoken(t, real)
			if s.Layout.Queue != real.Layout.Queue || s.Layout.QueuePrefix != real.Layout.QueuePrefix || s.PlaceKept != real.PlaceKept || s.PlacePart != real.PlacePart {
				t.Errorf("its hello says %+v, kept for %v or %v; want %+v, %v or %v", s.Layout, s.PlaceKept, s.PlacePart, real.Layout, real.PlaceKept, real.PlacePart)
			}
			layout, err := sim.Probe(bubble.In(t), s, sim.Options{Seed: 1})
			if err != nil || layout.Unknown != "" {
				t.Fatalf("%+v: %v", layout, err)
			}
			s.Layout = layout
			told := 0
			for _, story := range scenarios.Of(history.ALock) {
				if !strings.HasPrefix(story.Name, "fair-") {
					continue
				}
				told++
				t.Run(story.Name, func(t *testing.T) {
					want, _ := judged(t, story, real)
					if got, why := judged(t, story, s); !maps.Equal(got, want) {
						t.Errorf("without the protocol %v, with it %v:\n%s", want, got, why)
					}
				})
			}
			if told == 0 {
				t.Error("there is no story of a queue")
			}
		})
	}
}

// judged is what each guarantee comes to in a story, and why.
func judged(t *testing.T, story scenarios.Scenario, s subjects.Subject) (found map[contract.Guarantee]checker.Status, why string) {
	t.Helper()
	h, err := sim.Run(bubble.In(t), story.Plan(1), s, sim.Options{Seed: 1, Scenario: story.Name})
	if err != nil {
		t.Fatal(err)
	}
	found = map[contract.Guarantee]checker.Status{}
	for _, r := range checker.Judge(t.Context(), h, checker.Options{}).Results {
		found[r.Guarantee] = r.Status
		for _, v := range r.Violations {
			why += fmt.Sprintf("%s: %s\n", r.Guarantee, v.Text)
		}
	}
	return found, why
}

// Nothing in a command tells apart two threads of a client that ask for as many permits at once, or one that counts a latch down
// from one that awaits it. Such a run ends, and is judged with a client for each thread.
func TestCallsThatCannotBeToldApart(t *testing.T) {
	set := map[history.Object]plan.Step{
		history.ASemaphore: {Do: plan.TrySetPermits, Lock: "x", Permits: 5},
		history.ALatch:     {Do: plan.TrySetCount, Lock: "x", Count: 2},
	}
	take := func(n int64) plan.Step { return plan.Step{Do: plan.AcquirePermits, Lock: "x", Permits: n} }
	down, await := plan.Step{Do: plan.CountDown, Lock: "x"}, plan.Step{Do: plan.TryAwait, Lock: "x", Wait: plan.Duration(time.Minute)}
	for _, c := range []struct {
		name     string
		is       history.Object
		one, two plan.Step
		told     bool
	}{
		{"as many", history.ASemaphore, take(1), take(1), false},
		{"more and less", history.ASemaphore, take(1), take(2), true},
		{"two count", history.ALatch, down, down, false},
		{"one counts", history.ALatch, await, down, false},
		{"two await", history.ALatch, await, await, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(at time.Duration, id int64, s plan.Step) plan.Thread {
				return plan.Thread{ID: id, Start: plan.Duration(at), Steps: []plan.Step{s}}
			}
			p := &plan.Plan{Version: plan.Version, Name: "two threads", Clients: []plan.Client{
				{Name: "c1", Threads: []plan.Thread{at(0, 1, set[c.is])}},
				{Name: "c2", Threads: []plan.Thread{at(time.Second, 1, c.one), at(time.Second, 2, c.two)}},
			}}
			s := spoken(t, subjects.Of(c.is)[0])
			if _, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1}); errors.Is(err, world.ErrWhose) == c.told || c.told && err != nil {
				t.Errorf("in one client: %v", err)
			}
			if _, err := sim.Run(bubble.In(t), p.Apart(), s, sim.Options{Seed: 1}); err != nil {
				t.Errorf("in a client each: %v", err)
			}
		})
	}
}

// A release, and an update, are told by the id of the permit that they are on, also beside other calls of their client. Two threads that
// ask for a permit at once are not told apart.
func TestCallsOnPermitsAreToldByTheirIds(t *testing.T) {
	step := func(what plan.Action, lease time.Duration) plan.Step {
		return plan.Step{Do: what, Lock: "x", Lease: plan.Duration(lease)}
	}
	take, update, give := step(plan.AcquirePermit, time.Minute), step(plan.UpdateLease, 3*time.Second), step(plan.ReleasePermit, 0)
	const way, late = 100 * time.Millisecond, 10 * time.Second
	// Each has a connection by then. The first thread begins what it does last at about a time, and the second just after that.
	ends := func(id int64, with plan.Step) plan.Thread {
		from, took := late/2+time.Duration(id)*way, 2*way
		if id == 2 {
			took = 6 * way // it connects
		}
		steps := []plan.Step{take}
		if with.Do == plan.AcquirePermit {
			steps, took = append(steps, give), took+2*way
		}
		steps = append(steps, plan.Step{Do: plan.Sleep, For: plan.Duration(late/2 - took)}, with)
		return plan.Thread{ID: id, Start: plan.Duration(from), Steps: steps}
	}
	for _, c := range []struct {
		name     string
		one, two plan.Step
		told     bool
	}{
		{"two releases", give, give, true},
		{"an update and a release", update, give, true},
		{"a release and an acquire", give, take, true},
		{"two acquires", take, take, false},
	} {
		p := &plan.Plan{Version: plan.Version, Name: "two threads", Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{{Do: plan.TrySetTotal, Lock: "x", Permits: 3}}}}},
			{Name: "c2", Threads: []plan.Thread{ends(1, c.one), ends(2, c.two),
				{ID: 3, Start: plan.Duration(time.Second), Steps: []plan.Step{take, update, give}}}}, // so that the server knows the scripts
			{Name: "c3", Threads: []plan.Thread{{ID: 1, Start: plan.Duration(5 * time.Minute), Steps: []plan.Step{take, give}}}},
		}}
		p.Timings.LatencyMin, p.Timings.LatencyMax = plan.Duration(way), plan.Duration(way)
		story := scenarios.Scenario{Name: c.name, Plan: func(uint64) *plan.Plan { return p }}
		for _, real := range subjects.AllPermitSemaphores() {
			t.Run(c.name+"/"+real.Name, func(t *testing.T) {
				s := spoken(t, real)
				h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
				if !c.told {
					if !errors.Is(err, world.ErrWhose) {
						t.Errorf("%v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				beside := slices.ContainsFunc(h.Served, func(r history.Served) bool {
					return r.Op != 0 && r.Sent > late && r.Client == "c2" && slices.ContainsFunc(h.Ops, func(op history.Op) bool {
						return op.Client == "c2" && op.ID != r.Op && op.Call < r.Sent && r.Sent < op.Return
					})
				})
				if !beside {
					t.Error("no command was sent beside another call of its client")
				}
				want, why := judged(t, story, real)
				if want[contract.Object] != checker.Holds {
					t.Errorf("without the protocol %v: %s", want, why)
				}
				if got, why := judged(t, story, s); !maps.Equal(got, want) {
					t.Errorf("without the protocol %v, with it %v:\n%s", want, got, why)
				}
			})
		}
	}
}
