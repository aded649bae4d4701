package fault_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// clock runs timers on a scheduler, and notes when they ran.
type clock struct {
	*fault.Scheduler
	began time.Time

	mu  sync.Mutex
	ran []string
}

func newClock() *clock { return &clock{Scheduler: &fault.Scheduler{}, began: time.Now()} }

func (c *clock) after(d time.Duration, name string) interface{ Stop() bool } {
	return c.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ran = append(c.ran, fmt.Sprintf("%s at %v", name, time.Since(c.began)))
	})
}

// until waits until a time of the run, and all that it brings.
func (c *clock) until(at time.Duration) {
	time.Sleep(at - time.Since(c.began))
	synctest.Wait()
}

func (c *clock) expect(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.ran, want) {
		t.Errorf("after %v: %q, want %q", time.Since(c.began), c.ran, want)
	}
}

const s = time.Second

func TestTimersRunInTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		c.after(2*s, "b")
		c.after(s, "a")
		stopped := c.after(3*s, "c")
		c.until(2 * s)
		c.expect(t, "a at 1s", "b at 2s")
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop must say whether it was this call that prevented the run")
		}
		c.until(9 * s)
		c.expect(t, "a at 1s", "b at 2s")
	})
}

func TestStopAfterTheRunSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		a := c.after(s, "a")
		if c.until(2 * s); a.Stop() {
			t.Error("Stop claims to have prevented what has run")
		}
	})
}

func TestAPauseHoldsTimersBackUntilResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		c.after(s, "before")
		c.after(3*s, "second")
		c.after(2*s+1, "first")
		c.after(9*s, "later")
		c.until(2 * s)
		c.Pause()
		c.after(2*s, "started meanwhile")
		c.until(8 * s)
		c.expect(t, "before at 1s")
		if held := c.Resume(); held != 3 {
			t.Errorf("%d were held, want 3", held)
		}
		synctest.Wait()
		c.expect(t, "before at 1s", "first at 8s", "second at 8s", "started meanwhile at 8s")
		c.until(10 * s)
		c.expect(t, "before at 1s", "first at 8s", "second at 8s", "started meanwhile at 8s", "later at 9s")
	})
}

func TestStopWhileHeldBackPreventsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		a := c.after(s, "a")
		c.Pause()
		c.until(2 * s)
		if !a.Stop() || a.Stop() {
			t.Error("Stop of a timer that is held back must prevent its run, once")
		}
		if held := c.Resume(); held != 1 {
			t.Errorf("%d came due, want 1", held)
		}
		synctest.Wait()
		c.expect(t)
	})
}

func TestNestedPausesEndWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		c.after(s, "a")
		c.Pause()
		c.Pause()
		c.until(2 * s)
		if held := c.Resume(); held != 0 {
			t.Errorf("the first resumption says %d", held)
		}
		c.until(3 * s)
		c.expect(t)
		c.Resume()
		synctest.Wait()
		c.expect(t, "a at 3s")
		// One resumption too many does not undo the next pause.
		c.Resume()
		c.Pause()
		c.after(s, "b")
		c.until(9 * s)
		c.expect(t, "a at 3s")
	})
}

func TestAPanicInATimerIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var caught []any
		c := &fault.Scheduler{Caught: func(p any) { caught = append(caught, p) }}
		c.AfterFunc(s, func() { panic("ran") })
		c.AfterFunc(3*s, func() { panic("held back") })
		ran := false
		c.AfterFunc(4*s, func() { ran = true })
		time.Sleep(2 * s)
		synctest.Wait()
		c.Pause()
		time.Sleep(5 * s)
		c.Resume()
		synctest.Wait()
		if !slices.Equal(caught, []any{"ran", "held back"}) || !ran {
			t.Errorf("caught %q; the timer behind ran: %v", caught, ran)
		}
	})
}

// target notes what a fault does to a world.
type target struct{ did []string }

func (g *target) note(format string, args ...any) {
	g.did = append(g.did, fmt.Sprintf(format, args...))
}

func (g *target) PauseWatchdog(c string)              { g.note("pause %s", c) }
func (g *target) ResumeWatchdog(c string) (int, bool) { g.note("resume %s", c); return 3, true }
func (g *target) PauseClient(c string)                { g.note("freeze %s", c) }
func (g *target) ResumeClient(c string) int           { g.note("thaw %s", c); return 2 }
func (g *target) KillClient(c string, reset bool) {
	g.note("kill %s %v", c, reset)
}
func (g *target) Partition(c, server string, requests, replies bool) {
	g.note("partition %s %s%v %v", c, server, requests, replies)
}
func (g *target) Heal(c, server string, requests, replies bool) int {
	g.note("heal %s %s%v %v", c, server, requests, replies)
	return 4
}
func (g *target) CloseConnections(c string) int           { g.note("close %s", c); return 2 }
func (g *target) Drop(m fault.Message)                    { g.note("drop %v", m) }
func (g *target) Reset(m fault.Message)                   { g.note("reset %v", m) }
func (g *target) Delay(m fault.Message, by time.Duration) { g.note("delay %v %v", m, by) }
func (g *target) Copy(m fault.Message, by time.Duration) fault.Fate {
	g.note("copy %v %v", m, by)
	return fault.Arrives
}
func (g *target) Overtake(m fault.Message, most time.Duration) { g.note("overtake %v %v", m, most) }
func (g *target) Refuse(m fault.Message, code string) fault.Fate {
	g.note("refuse %v %s", m, code)
	if code == "BUSY" {
		return fault.Gone
	}
	return fault.Spared
}
func (g *target) FlushScripts(server string) { g.note("flush %s", server) }
func (g *target) StopServer(server string, data bool) int {
	g.note("stop %s %v", server, data)
	return 5
}
func (g *target) StartServer(server string) { g.note("start %s", server) }
func (g *target) JumpClock(server string, by time.Duration) int {
	g.note("jump %s %v", server, by)
	return 1
}
func (g *target) JumpClientClock(client string, by time.Duration) {
	g.note("jump of %s %v", client, by)
}
func (g *target) StopReplication(server string, replica int) { g.note("lag %s %d", server, replica) }
func (g *target) ResumeReplication(server string, replica int) {
	g.note("catch up %s %d", server, replica)
}
func (g *target) Failover(server string, replica int) int {
	g.note("failover %s %d", server, replica)
	return 1
}
func (g *target) ExpireKey(lock string) bool    { g.note("expire %s", lock); return lock == "there" }
func (g *target) DeleteKey(lock string) bool    { g.note("delete %s", lock); return lock == "there" }
func (g *target) OverwriteKey(lock string) bool { g.note("overwrite %s", lock); return lock == "there" }
func (g *target) ForceUnlock(lock string)       { g.note("force %s", lock) }

func TestEachKindDoesWhatItSays(t *testing.T) {
	tests := []struct {
		fault plan.Fault
		did   []string
		step  string
		hits  int // of a fault on messages: its fate
	}{
		{plan.Fault{Kind: "pause-watchdog", Client: "c1"}, []string{"pause c1", "resume c1"}, "", 3},
		{plan.Fault{Kind: "pause-client", Client: "c1"}, []string{"freeze c1", "thaw c1"}, "", 2},
		{plan.Fault{Kind: "kill-client", Client: "c1", Reset: true}, []string{"kill c1 true"}, "", 1},
		{plan.Fault{Kind: "partition", Client: "c1"}, []string{"partition c1 true true", "heal c1 true true"}, "both", 4},
		{plan.Fault{Kind: "partition", Client: "c1", Direction: "both"}, []string{"partition c1 true true", "heal c1 true true"}, "both", 4},
		{plan.Fault{Kind: "partition", Client: "c1", Direction: "requests"}, []string{"partition c1 true false", "heal c1 true false"}, "requests", 4},
		{plan.Fault{Kind: "partition", Client: "c1", Direction: "replies"}, []string{"partition c1 false true", "heal c1 false true"}, "replies", 4},
		{plan.Fault{Kind: "close-connection", Client: "c1"}, []string{"close c1"}, "", 2},
		{plan.Fault{Kind: "drop-message"}, []string{"drop m"}, "", int(fault.Gone)},
		{plan.Fault{Kind: "drop-message", Reset: true}, []string{"reset m"}, "", int(fault.Gone)},
		{plan.Fault{Kind: "delay-message", By: plan.Duration(s)}, []string{"delay m 1s"}, "", int(fault.Later)},
		{plan.Fault{Kind: "duplicate-message", By: plan.Duration(s)}, []string{"copy m 1s"}, "", int(fault.Arrives)},
		{plan.Fault{Kind: "reorder-message", By: plan.Duration(s)}, []string{"overtake m 1s"}, "", int(fault.Later)},
		{plan.Fault{Kind: "slow-server", By: plan.Duration(s)}, []string{"delay m 1s"}, "", int(fault.Later)},
		{plan.Fault{Kind: "server-error", Error: "BUSY"}, []string{"refuse m BUSY"}, "", int(fault.Gone)},
		{plan.Fault{Kind: "server-error", Error: "OOM"}, []string{"refuse m OOM"}, "", int(fault.Spared)},
		{plan.Fault{Kind: "expire-key", Lock: "there"}, []string{"expire there"}, "", 1},
		{plan.Fault{Kind: "expire-key", Lock: "gone"}, []string{"expire gone"}, "", 0},
		{plan.Fault{Kind: "delete-key", Lock: "there"}, []string{"delete there"}, "", 1},
		{plan.Fault{Kind: "delete-key"}, []string{"delete "}, "", 0},
		{plan.Fault{Kind: "overwrite-key", Lock: "there"}, []string{"overwrite there"}, "", 1},
		{plan.Fault{Kind: "force-unlock", Lock: "there"}, []string{"force there"}, "", 1},
		{plan.Fault{Kind: "script-flush", Server: "s2"}, []string{"flush s2"}, "", 1},
		{plan.Fault{Kind: "restart", Data: "all"}, []string{"stop  true", "start "}, "all", 6},
		{plan.Fault{Kind: "restart", Server: "s2"}, []string{"stop s2 false", "start s2"}, "", 6},
		{plan.Fault{Kind: "clock-jump", By: plan.Duration(s)}, []string{"jump  1s"}, "", 1},
		{plan.Fault{Kind: "clock-jump", Client: "c1", By: plan.Duration(s)}, []string{"jump of c1 1s"}, "", 1},
		{plan.Fault{Kind: "failover", Replica: 2}, []string{"failover  2"}, "", 1},
		{plan.Fault{Kind: "stop-replication"}, []string{"lag  1", "catch up  1"}, "", 1},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[tt.fault.Kind] = true
		kind, ok := fault.Find(tt.fault.Kind)
		if !ok {
			t.Errorf("no kind %q", tt.fault.Kind)
			continue
		}
		g, record := &target{}, &history.Fault{}
		if kind.Needs.Messages {
			record.Hits = int(kind.Strike(g, tt.fault, "m"))
		} else {
			kind.Begin(g, tt.fault, record)
		}
		if (kind.End != nil) != kind.Needs.Lasts {
			t.Errorf("%s: it lasts, or it has no End", kind.Name)
		}
		if kind.End != nil {
			kind.End(g, tt.fault, record)
		}
		if !slices.Equal(g.did, tt.did) || record.Step != tt.step || record.Hits != tt.hits {
			t.Errorf("%+v: %q, record %+v", tt.fault, g.did, record)
		}
	}
	for _, k := range fault.Kinds() {
		if !tested[k.Name] {
			t.Errorf("%s is not tested here", k.Name)
		}
	}
}

func TestTheRegistry(t *testing.T) {
	names := fault.Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names are not sorted, or one is there twice: %q", names)
	}
	needs := fault.Needs()
	for _, k := range fault.Kinds() {
		if k.Name == "" || k.About == "" || (k.Begin == nil) == (k.Strike == nil) || needs[k.Name] != k.Needs {
			t.Errorf("%q is not complete", k.Name)
		}
	}
	if _, ok := fault.Find("meteor"); ok {
		t.Error("found a kind that does not exist")
	}
}
