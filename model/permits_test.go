package model

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Both sides of every rule. Operations are executed at 10 s and ask for 30 s.
func TestPermitsStep(t *testing.T) {
	hard, redisson := Permits{}, Permits{Redisson: true}
	none := PermitsState{}
	until := func(id int64, end time.Duration) HeldPermit { return HeldPermit{id, life{end, end}} }
	is := func(total int64, held ...HeldPermit) PermitsState {
		return PermitsState{Set: true, Total: total}.with(held)
	}
	permit := func(kind history.Kind, id int64, out history.Outcome) history.Op {
		o := op(kind, a, out)
		o.Token = id
		return o
	}
	vague := permit(history.ReleasePermit, 7, history.NotHeld) // it was executed between 9 s and 11 s
	vague.Evidence = ""
	for _, tt := range []struct {
		name string
		kind Permits
		from PermitsState
		op   history.Op
		to   PermitsState
		rule contract.Rule
	}{
		{"set", hard, none, with(history.TrySetTotal, 2, history.OK), is(2), ""},
		{"set twice", hard, is(2), with(history.TrySetTotal, 2, history.OK), none, contract.SemaphoreSetOnce},
		{"set is refused", hard, is(2), with(history.TrySetTotal, 3, history.Rejected), is(2), ""},
		{"added", hard, none, with(history.AddTotal, 2, history.OK), is(2), ""},
		{"taken away", hard, is(2), with(history.AddTotal, -3, history.OK), is(0), ""},
		{"taken away, in redisson", redisson, is(2), with(history.AddTotal, -3, history.OK), is(-1), ""},
		{"granted", hard, is(1), permit(history.AcquirePermit, 7, history.Acquired), is(1, until(7, 40*sec)), ""},
		{"granted without an end", hard, is(1), leasing(permit(history.AcquirePermit, 7, history.Acquired), 0), is(1, until(7, Never)), ""},
		{"granted twice", hard, is(2, until(7, 20*sec)), permit(history.AcquirePermit, 7, history.Acquired), none, contract.PermitIsNew},
		{"granted too many", hard, is(1, until(6, 20*sec)), permit(history.AcquirePermit, 7, history.Acquired), none, contract.PermitsAreFree},
		{"granted where there is none", hard, none, permit(history.AcquirePermit, 7, history.Acquired), none, contract.PermitsAreFree},
		{"granted once a lease is over", hard, is(1, until(6, 9*sec)), permit(history.AcquirePermit, 7, history.Acquired), is(1, until(7, 40*sec)), ""},
		{"refused", hard, is(1, until(6, 20*sec)), permit(history.TryAcquirePermit, 7, history.Busy), is(1, until(6, 20*sec)), ""},
		{"refused, though one is free", hard, is(1), permit(history.TryAcquirePermit, 7, history.Busy), none, contract.PermitsAreFew},
		{"refused, though a lease is over", hard, is(1, until(6, 9*sec)), permit(history.TryAcquirePermit, 7, history.Busy), none, contract.PermitsAreFew},
		{"unknown", hard, is(1), permit(history.AcquirePermit, 7, history.Unknown), is(1, until(7, 40*sec)), ""},
		{"unknown, with the id of one that is out", hard, is(2, until(7, 20*sec)), permit(history.AcquirePermit, 7, history.Unknown), is(2, until(7, 40*sec)), ""},
		{"failed", hard, is(1), permit(history.AcquirePermit, 7, history.Failed), is(1), ""},
		{"given back", hard, is(1, until(7, 20*sec)), permit(history.ReleasePermit, 7, history.OK), is(1), ""},
		{"given back twice", hard, is(1), permit(history.ReleasePermit, 7, history.OK), none, contract.PermitIsHeld},
		{"given back too late", hard, is(1, until(7, 9*sec)), permit(history.ReleasePermit, 7, history.OK), none, contract.PermitIsHeld},
		{"it is told", hard, is(1, until(7, 9*sec)), permit(history.ReleasePermit, 7, history.NotHeld), is(1), ""},
		{"it is told too early", hard, is(1, until(7, 20*sec)), permit(history.ReleasePermit, 7, history.NotHeld), none, contract.PermitNotRefused},
		{"it may be over", hard, is(1, until(7, 10*sec)), vague, is(1), ""},
		{"given back, and nobody heard", hard, is(1, until(7, 20*sec)), permit(history.ReleasePermit, 7, history.Unknown), is(1), ""},
		{"prolonged", hard, is(1, until(7, 20*sec)), permit(history.UpdateLease, 7, history.OK), is(1, until(7, 40*sec)), ""},
		{"prolonged too late", hard, is(1, until(7, 9*sec)), permit(history.UpdateLease, 7, history.OK), none, contract.PermitIsHeld},
		{"not prolonged", hard, is(1, until(7, 20*sec)), permit(history.UpdateLease, 7, history.NotHeld), none, contract.PermitNotRefused},
		{"counted", hard, is(3, until(7, 20*sec)), with(history.AvailablePermits, 2, history.OK), is(3, until(7, 20*sec)), ""},
		{"counted wrong", hard, is(3, until(7, 20*sec)), with(history.AvailablePermits, 3, history.OK), none, contract.PermitsAreCounted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.kind.Step(tt.from, tt.op)
			stepped(t, got, err, tt.to, tt.rule)
		})
	}
	if s, err := hard.Environment(is(3, until(7, 20*sec)), history.Event{Kind: history.Delete}); err != nil || s != none {
		t.Error(s, err)
	}
	// The number of the free ones is lost alone: a release makes it anew, and the one that is out is all that there are.
	left, err := redisson.Environment(is(3, until(7, 20*sec)), history.Event{Kind: history.Delete, Count: 1})
	if s := PermitsShown(history.KeyState{Taken: []history.TakenPermit{{Permit: 7, Deadline: 20 * sec}}}); err != nil || left != s || left.Set {
		t.Error(left, err)
	}
	if s, err := redisson.Step(left, permit(history.ReleasePermit, 7, history.OK)); err != nil || s != is(1) {
		t.Error(s, err)
	}
}

// A wrong answer about one permit is told with what was true of that permit.
func TestAnAnswerAboutAPermitSaysWhatWasTrueOfIt(t *testing.T) {
	held := PermitsState{Set: true, Total: 3}.with([]HeldPermit{{7, life{9 * sec, 9 * sec}}, {8, life{20 * sec, 20 * sec}}, {9, endless}})
	for _, tt := range []struct {
		kind   history.Kind
		permit int64
		out    history.Outcome
		says   string
	}{
		{history.UpdateLease, 7, history.OK, "updateLease by c1:1 of permit 7 answered ok, but its lease had ended by 9.000 s"},
		{history.ReleasePermit, 7, history.OK, "releasePermit by c1:1 of permit 7 answered ok, but its lease had ended by 9.000 s"},
		{history.ReleasePermit, 6, history.OK, "releasePermit by c1:1 of permit 6 answered ok, but it is not taken"},
		{history.UpdateLease, 8, history.NotHeld, "updateLease by c1:1 of permit 8 answered notHeld, but its lease lasts until 20.000 s"},
		{history.ReleasePermit, 9, history.NotHeld, "releasePermit by c1:1 of permit 9 answered notHeld, but it is taken, and has no lease"},
	} {
		o := op(tt.kind, a, tt.out)
		o.Token, o.Value = tt.permit, 1
		if _, err := (Permits{}).Step(held, o); err == nil || err.Error() != tt.says {
			t.Errorf("%v, not %s", err, tt.says)
		}
	}
}
