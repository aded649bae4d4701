package model

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// with is an operation without owner, with a value and without a lease.
func with(kind history.Kind, value int64, out history.Outcome) history.Op {
	o := op(kind, "", out)
	o.Lease, o.Value = 0, value
	return o
}

func leasing(o history.Op, lease time.Duration) history.Op {
	o.Lease = lease
	return o
}

// stepped checks what a step came to.
func stepped[S comparable](t *testing.T, got S, err error, want S, rule contract.Rule) {
	t.Helper()
	var v *Violation
	switch {
	case rule == "" && err != nil:
		t.Errorf("refused: %v", err)
	case rule == "" && got != want:
		t.Errorf("next state %+v, want %+v", got, want)
	case rule != "" && err == nil:
		t.Errorf("accepted, next state %+v", got)
	case rule != "" && (!errors.As(err, &v) || v.Rule != rule || v.Error() == ""):
		t.Errorf("refused by the wrong rule: %v", err)
	}
}

// Both sides of every rule.
func TestSemaphoreStep(t *testing.T) {
	plain, keeps := Semaphore{}, Semaphore{Keeps: true}
	none := SemaphoreState{}
	free := func(n int64) SemaphoreState { return SemaphoreState{Set: true, Free: n, life: endless} }
	until := func(n int64, end time.Duration) SemaphoreState {
		return SemaphoreState{Set: true, Free: n, life: life{end, end}}
	}
	for _, tt := range []struct {
		name string
		kind Semaphore
		from SemaphoreState
		op   history.Op
		to   SemaphoreState
		rule contract.Rule
	}{
		{"set", plain, none, with(history.TrySetPermits, 3, history.OK), free(3), ""},
		{"set for a time", plain, none, leasing(with(history.TrySetPermits, 3, history.OK), 30*sec), until(3, 40*sec), ""},
		{"set twice", plain, free(0), with(history.TrySetPermits, 3, history.OK), none, contract.SemaphoreSetOnce},
		{"set is refused, though there is none", plain, none, with(history.TrySetPermits, 3, history.Rejected), none, contract.SemaphoreSetOnce},
		{"set is refused", plain, free(1), with(history.TrySetPermits, 3, history.Rejected), free(1), ""},
		{"set is refused after its end", plain, until(1, 9*sec), with(history.TrySetPermits, 3, history.Rejected), none, contract.NotAfterLease},
		{"acquired", plain, free(3), with(history.AcquirePermits, 2, history.Acquired), free(1), ""},
		{"acquired too many", plain, free(1), with(history.AcquirePermits, 2, history.Acquired), none, contract.PermitsAreFree},
		{"acquired of none", plain, none, with(history.TryAcquirePermits, 1, history.Acquired), none, contract.PermitsAreFree},
		{"acquired after its end", plain, until(3, 9*sec), with(history.AcquirePermits, 1, history.Acquired), none, contract.NotAfterLease},
		{"no permits are always acquired", plain, none, with(history.AcquirePermits, 0, history.Acquired), none, ""},
		{"no permits are refused", plain, none, with(history.TryAcquirePermits, 0, history.Busy), none, contract.PermitsAreFew},
		{"busy", plain, free(1), with(history.TryAcquirePermits, 2, history.Busy), free(1), ""},
		{"busy, though enough are free", plain, free(2), with(history.TryAcquirePermits, 2, history.Busy), none, contract.PermitsAreFew},
		{"an unknown acquire takes", plain, free(2), with(history.AcquirePermits, 2, history.Unknown), free(0), ""},
		{"an unknown acquire of too many takes none", plain, free(1), with(history.AcquirePermits, 2, history.Unknown), free(1), ""},
		{"a failed acquire takes none", plain, free(2), with(history.AcquirePermits, 2, history.Failed), free(2), ""},
		{"released", plain, free(0), with(history.ReleasePermits, 2, history.OK), free(2), ""},
		{"released more than there were: nobody counts", plain, free(9), with(history.ReleasePermits, 2, history.OK), free(11), ""},
		{"a release makes a semaphore", plain, none, with(history.ReleasePermits, 2, history.OK), free(2), ""},
		{"a release makes none", keeps, none, with(history.ReleasePermits, 2, history.NotHeld), none, ""},
		{"a release should make none", keeps, none, with(history.ReleasePermits, 2, history.OK), none, contract.SemaphoreIsThere},
		{"a release is refused, though there is one", keeps, free(1), with(history.ReleasePermits, 2, history.NotHeld), none, contract.SemaphoreIsThere},
		{"an unknown release makes one", plain, none, with(history.ReleasePermits, 2, history.Unknown), free(2), ""},
		{"an unknown release makes none", keeps, none, with(history.ReleasePermits, 2, history.Unknown), none, ""},
		{"released where there is one", plain, free(1), with(history.ReleaseIfExists, 2, history.Released), free(3), ""},
		{"not released where there is none", plain, none, with(history.ReleaseIfExists, 2, history.NotHeld), none, ""},
		{"released where there is none", plain, none, with(history.ReleaseIfExists, 2, history.Released), none, contract.SemaphoreIsThere},
		{"added", plain, free(1), with(history.AddPermits, -3, history.OK), free(-2), ""},
		{"adding ends the time to live", plain, until(1, 40*sec), with(history.AddPermits, 1, history.OK), free(2), ""},
		{"adding keeps it", keeps, until(1, 40*sec), with(history.AddPermits, 1, history.OK), until(2, 40*sec), ""},
		{"adding makes a semaphore", keeps, none, with(history.AddPermits, 1, history.OK), free(1), ""},
		{"drained", plain, until(3, 40*sec), with(history.DrainPermits, 3, history.OK), free(0), ""},
		{"drained, and it keeps its end", keeps, until(3, 40*sec), with(history.DrainPermits, 3, history.OK), until(0, 40*sec), ""},
		{"drained of none", plain, none, with(history.DrainPermits, 0, history.OK), none, ""},
		{"drained of another number", plain, free(3), with(history.DrainPermits, 2, history.OK), none, contract.DrainsAll},
		{"drained, and nobody heard", plain, free(3), with(history.DrainPermits, 0, history.Unknown), free(0), ""},
		{"counted", plain, free(3), with(history.AvailablePermits, 3, history.OK), free(3), ""},
		{"counted wrong", plain, free(3), with(history.AvailablePermits, 2, history.OK), none, contract.PermitsAreCounted},
		{"counted after its end", plain, until(3, 9*sec), with(history.AvailablePermits, 3, history.OK), none, contract.NotAfterLease},
		{"counted, and nobody heard", plain, free(3), with(history.AvailablePermits, 0, history.Unknown), free(3), ""},
		{"another object's business", plain, free(3), with(history.CountDown, 0, history.OK), free(3), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.kind.Step(tt.from, tt.op)
			stepped(t, got, err, tt.to, tt.rule)
		})
	}
}

func TestSemaphoreEnvironment(t *testing.T) {
	k := Semaphore{}
	none := SemaphoreState{}
	until := func(end time.Duration) SemaphoreState {
		return SemaphoreState{Set: true, Free: 1, life: life{end, end}}
	}
	for _, tt := range []struct {
		name  string
		from  SemaphoreState
		event history.Event
		to    SemaphoreState
		rule  contract.Rule
	}{
		{"expires", until(10 * sec), history.Event{Kind: history.Expire, At: 10 * sec}, none, ""},
		{"expires early", until(12 * sec), history.Event{Kind: history.Expire, At: 10 * sec}, none, contract.NotBeforeLease},
		{"none expires", none, history.Event{Kind: history.Expire, At: 10 * sec}, none, contract.ExpiryOfAHold},
		{"deleted", until(Never), history.Event{Kind: history.Delete}, none, ""},
		{"given an end", until(Never), history.Event{Kind: history.ForceTTL, Deadline: 7 * sec}, until(7 * sec), ""},
		{"left over", until(7 * sec), history.Event{Kind: history.Leftover, At: 9 * sec}, none, contract.NotAfterLease},
		{"the clock jumps", until(7 * sec), history.Event{Kind: history.ClockJump, By: sec}, until(6 * sec), ""},
		{"restored", none, history.Event{Kind: history.Restore, Count: 1, Deadline: 7 * sec}, until(7 * sec), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := k.Environment(tt.from, tt.event)
			stepped(t, got, err, tt.to, tt.rule)
		})
	}
}

func TestLatchStep(t *testing.T) {
	k, atZero := Latch{}, Latch{AtZero: true}
	none, stuck := LatchState{}, LatchState{Stuck: true, life: endless}
	count := func(n int64) LatchState { return LatchState{Count: n, life: endless} }
	for _, tt := range []struct {
		name string
		kind Latch
		from LatchState
		op   history.Op
		to   LatchState
		rule contract.Rule
	}{
		{"set", k, none, with(history.TrySetCount, 2, history.OK), count(2), ""},
		{"set while it counts", k, count(1), with(history.TrySetCount, 2, history.OK), none, contract.LatchSetAtZero},
		{"refused while it counts", k, count(1), with(history.TrySetCount, 2, history.Rejected), count(1), ""},
		{"refused at 0", k, none, with(history.TrySetCount, 2, history.Rejected), none, contract.LatchSetAtZero},
		{"set to 0", atZero, none, with(history.TrySetCount, 0, history.OK), stuck, ""},
		{"set after it was set to 0", atZero, stuck, with(history.TrySetCount, 2, history.OK), none, contract.LatchSetAtZero},
		{"counting down ends that", atZero, stuck, with(history.CountDown, 0, history.OK), none, ""},
		{"an unknown set sets", k, none, with(history.TrySetCount, 2, history.Unknown), count(2), ""},
		{"an unknown set is refused", k, count(1), with(history.TrySetCount, 2, history.Unknown), count(1), ""},
		{"counted down", k, count(2), with(history.CountDown, 0, history.OK), count(1), ""},
		{"counted down to 0", k, count(1), with(history.CountDown, 0, history.OK), none, ""},
		{"never below 0", k, none, with(history.CountDown, 0, history.OK), none, ""},
		{"an unknown one counts", k, count(2), with(history.CountDown, 0, history.Unknown), count(1), ""},
		{"a failed one does not", k, count(2), with(history.CountDown, 0, history.Failed), count(2), ""},
		{"returns at 0", k, none, with(history.Await, 0, history.OK), none, ""},
		{"returns above 0", k, count(1), with(history.Await, 0, history.OK), none, contract.ReturnsAtZero},
		{"gives up above 0", k, count(1), with(history.TryAwait, 0, history.Busy), count(1), ""},
		{"gives up at 0", k, none, with(history.TryAwait, 0, history.Busy), none, contract.TimeIsUpAbove},
		{"nobody heard", k, count(1), with(history.Await, 0, history.Unknown), count(1), ""},
		{"deleted", k, count(3), with(history.DeleteLatch, 0, history.Released), none, ""},
		{"deleted, though there was none", k, none, with(history.DeleteLatch, 0, history.Released), none, contract.LatchDeleted},
		{"none to delete, though there was one", k, count(1), with(history.DeleteLatch, 0, history.NotHeld), none, contract.LatchDeleted},
		{"asked", k, count(3), with(history.GetCount, 3, history.OK), count(3), ""},
		{"asked, another answer", k, count(3), with(history.GetCount, 2, history.OK), none, contract.LatchIsCounted},
		{"asked after its end", k, LatchState{Count: 3, life: life{9 * sec, 9 * sec}}, with(history.GetCount, 3, history.OK), none, contract.NotAfterLease},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.kind.Step(tt.from, tt.op)
			stepped(t, got, err, tt.to, tt.rule)
		})
	}
	expired, err := k.Environment(LatchState{Count: 3, life: life{9 * sec, 9 * sec}}, history.Event{Kind: history.Expire, At: 9 * sec})
	stepped(t, expired, err, none, "")
	_, err = k.Environment(count(3), history.Event{Kind: history.Expire, At: 9 * sec})
	stepped(t, none, err, none, contract.NotBeforeLease)
}

func TestViolationSpeaksInWords(t *testing.T) {
	_, err := Semaphore{}.Step(SemaphoreState{Set: true, Free: 1}, with(history.AcquirePermits, 2, history.Acquired))
	if want := "acquirePermits(2) answered acquired, but 1 permit is free"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Latch{}.Step(LatchState{Count: 2}, with(history.GetCount, 3, history.OK))
	if want := "getCount answered 3, but the count is 2"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
