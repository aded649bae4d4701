package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Bounds of drawn plans of latches, which are small for the reasons that those of locks are.
const (
	drawnLatches = 2
	drawnRounds  = 3
)

// latches draws the programs of a plan of latches: the first thread sets them, round after round, and all count them down
// or await them. What is set is no more than what is counted down, so that most rounds come to an end. Most who await give
// up at some time, so that few plans wait for nothing.
func (d *drawing) latches(p *plan.Plan) {
	latches := d.upTo(1, drawnLatches, "latches")
	downs := make([]int64, latches)
	clients, threads, sections := d.sizes()
	for i := range d.upTo(1, clients, "clients") {
		c := plan.Client{Name: fmt.Sprintf("c%d", i+1), NoRetry: d.mood.noRetry && d.oneIn(2, "no retry")}
		for j := range d.upTo(1, threads, "threads") {
			th := plan.Thread{ID: int64(j + 1), Start: d.time(d.mood.start, "start")}
			d.comes(&th)
			for range d.upTo(1, sections, "sections") {
				th.Steps = append(th.Steps, d.part(downs)...)
			}
			c.Threads = append(c.Threads, th)
		}
		if d.mood.local {
			threads = drawnThreads // the others are remote
		}
		p.Clients = append(p.Clients, c)
	}
	setter := plan.Thread{ID: int64(len(p.Clients[0].Threads) + 1)}
	d.comes(&setter)
	rounds := d.upTo(1, drawnRounds, "rounds")
	for range rounds {
		for n := range latches {
			most := max(1, downs[n]/int64(rounds))
			set := plan.Step{Do: plan.TrySetCount, Lock: latchName(n), Count: int64(d.upTo(1, int(most), "count"))}
			setter.Steps = append(setter.Steps, d.cancel(set))
		}
		setter.Steps = append(setter.Steps, d.awaits(d.upTo(0, latches-1, "of which")))
		if d.oneIn(2, "a pause") {
			setter.Steps = append(setter.Steps, plan.Step{Do: plan.Sleep, For: d.time(d.mood.pause, "pause")})
		}
	}
	p.Clients[0].Threads = append(p.Clients[0].Threads, setter)
}

// latchName names a latch. A name without a tag lets Redisson's form be used in a cluster.
func latchName(n int) string { return fmt.Sprintf("gate-%d", n+1) }

// part is what a thread does about one latch, at once or after some work. It adds to the count-downs of each.
func (d *drawing) part(downs []int64) []plan.Step {
	n := d.upTo(0, len(downs)-1, "latch")
	work := plan.Step{Do: plan.Sleep, For: d.time(d.mood.work, "work")}
	if left := d.left; left > 0 && d.upTo(0, 1, "comes then") == 1 {
		work.For = d.until(left)
	}
	down := d.cancel(plan.Step{Do: plan.CountDown, Lock: latchName(n)})
	if d.mood.alters && d.oneIn(5, "deletes") {
		return []plan.Step{work, d.cancel(plan.Step{Do: plan.DeleteLatch, Lock: latchName(n)})}
	}
	switch d.upTo(0, 3, "part") {
	case 0:
		return []plan.Step{d.awaits(n), work}
	case 1: // it comes, and waits for the others
		downs[n]++
		return []plan.Step{work, down, d.awaits(n)}
	}
	downs[n]++
	return []plan.Step{work, down}
}

// awaits is somebody who waits for a latch, for ever or for some time.
func (d *drawing) awaits(n int) plan.Step {
	s := plan.Step{Do: plan.TryAwait, Lock: latchName(n), Wait: d.time(time.Minute, "wait")}
	switch d.upTo(0, 5, "how") {
	case 0:
		s.Wait = 0
	case 1:
		s.Do, s.Wait = plan.Await, 0
	}
	return d.ends(s, plan.TryAwait)
}

// A protocol says what a program does with a kind of object, and at which messages faults strike.
type protocol struct {
	lock, try, give plan.Action
	first           plan.MessageKind   // with which programs ask
	steps           []plan.MessageKind // the more often the oftener they are named
}

func (d *drawing) protocol() protocol {
	is := d.usual()
	if d.mood.alters {
		is.steps = append(is.steps, plan.Force)
	}
	return is
}

func (d *drawing) usual() protocol {
	switch d.scope.Object {
	case history.ASemaphore:
		return protocol{plan.AcquirePermits, plan.TryAcquirePermits, plan.ReleasePermits, plan.Acquire,
			[]plan.MessageKind{plan.Acquire, plan.Release, plan.Release, plan.Acquire, plan.Set, plan.Subscribe, plan.Publish, plan.Cleanup}}
	case history.APermitSemaphore:
		return protocol{plan.AcquirePermit, plan.TryAcquirePermit, plan.ReleasePermit, plan.Acquire,
			[]plan.MessageKind{plan.Acquire, plan.Release, plan.Release, plan.Acquire, plan.Set, plan.Subscribe, plan.Publish, plan.Cleanup}}
	case history.ALatch:
		return protocol{plan.Await, plan.TryAwait, plan.CountDown, plan.Query,
			[]plan.MessageKind{plan.Query, plan.Release, plan.Release, plan.Set, plan.Set, plan.Subscribe, plan.Publish, plan.Publish, plan.Cleanup}}
	}
	return protocol{plan.Lock, plan.TryLock, plan.Unlock, plan.Acquire,
		[]plan.MessageKind{plan.Acquire, plan.Release, plan.Release, plan.Acquire, plan.Renewal, plan.Subscribe, plan.Publish, plan.Cleanup}}
}

// uses reports whether a step is one by which a client shows at messages of a lock. Of a latch one client counts down and
// another waits; every section of a lock ends with an unlock.
func (d *drawing) uses(do plan.Action) bool {
	is := d.protocol()
	return do == is.lock || do == is.try || do == is.give && d.scope.Object == history.ALatch
}

// or draws another step where the client that is struck does not take the one that was drawn.
func (d *drawing) or(p *plan.Plan, client, name string, step plan.MessageKind) plan.MessageKind {
	does := func(some ...plan.Action) bool {
		return slices.ContainsFunc(some, func(a plan.Action) bool { return d.does(p, client, name, a) })
	}
	switch is := d.protocol(); {
	case step == plan.Force && !does(plan.DrainPermits, plan.DeleteLatch):
		return d.or(p, client, name, plan.Set)
	case step == plan.Set && !does(plan.TrySetPermits, plan.TrySetTotal, plan.TrySetCount, plan.AddPermits, plan.AddTotal):
		return d.or(p, client, name, is.first)
	case d.scope.Object != history.ALatch:
	case step == plan.Release && !does(is.give):
		return is.first
	case step != plan.Release && step != plan.Set && !does(is.lock, is.try):
		return plan.Release
	}
	return step
}

// returns is the call of a client after whose return something strikes: one that it makes, of some in the order of what
// is wanted.
func (d *drawing) returns(p *plan.Plan, client, name string, some ...plan.Action) plan.Action {
	for _, a := range some {
		if d.does(p, client, name, a) {
			return a
		}
	}
	return some[len(some)-1]
}

// NotOf reports whether no plan of a kind of object has faults of a kind.
func NotOf(is history.Object, kind string) bool {
	switch {
	case is == history.APermitSemaphore: // what a replica that takes over has of several permits is not told
		return slices.Contains([]string{"force-unlock", "overwrite-key", "pause-watchdog", "failover", "stop-replication"}, kind)
	case is.Counted():
		return slices.Contains([]string{"force-unlock", "overwrite-key", "pause-watchdog"}, kind)
	case is == history.ARWLock: // what a replica that takes over has of several holds is not told
		return slices.Contains([]string{"force-unlock", "overwrite-key", "failover", "stop-replication"}, kind)
	}
	return false
}
