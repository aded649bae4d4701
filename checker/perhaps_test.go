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

// A call of owner a or b, whose clients have their names, in ms.
func told(owner string, kind history.Kind, call, ret int, lease time.Duration, out history.Outcome) history.Op {
	return history.Op{Client: owner, Owner: owner, Lock: job, Kind: kind, Lease: lease, Outcome: out, Call: time.Duration(call) * ms, Return: time.Duration(ret) * ms}
}

// unseen judges a history in which nobody saw the server.
func unseen(abilities []string, faults []history.Fault, ops ...history.Op) *Verdict {
	for i := range ops {
		ops[i].ID = int64(i + 1)
	}
	h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms, Abilities: abilities, Layout: history.Layout{Unknown: "nobody looked"}}, Ops: ops, Faults: faults}
	return Judge(context.Background(), h, Options{})
}

// What may have ended a hold, for all that was told, is the cause that another was let in; what cannot have is none.
func TestWhatMayHaveEndedAHoldIsACause(t *testing.T) {
	const lock, unlock, got = history.TryLock, history.Unlock, history.Acquired
	forced := func(call, ret int, out history.Outcome) []history.Op {
		return []history.Op{told("c", history.ForceUnlock, call, ret, 0, out),
			told("a", lock, 3, 9, time.Second, got), told("b", lock, 11, 12, time.Second, got), told("a", unlock, 20, 21, 0, history.NotHeld)}
	}
	given := func(e history.Evidence, until int) []history.Op {
		late := told("a", unlock, 3, 8, 0, history.Unknown)
		late.Evidence, late.Until = e, time.Duration(until)*ms
		return []history.Op{told("a", lock, 1, 2, time.Second, got), late, told("a", lock, 9, 10, time.Second, got),
			told("b", lock, 12, 14, time.Second, got), told("a", unlock, 20, 21, 0, history.NotHeld)}
	}
	cut := func(by string, lease time.Duration, e history.Evidence, until int) []history.Op {
		late := told(by, lock, 1, 3, lease, history.Unknown)
		late.Evidence, late.Until = e, time.Duration(until)*ms
		return []history.Op{late, told("a", lock, 4, 9, time.Second, got), told("b", lock, 410, 414, time.Second, got), told("a", unlock, 420, 421, 0, history.NotHeld)}
	}
	delay := []history.Fault{{Kind: "delay-message", Client: "a", From: 3 * ms, To: 11 * ms, Hits: 1}}
	for _, tt := range []struct {
		name   string
		ops    []history.Op
		faults []history.Fault
		class  contract.Class
		defect bool
	}{
		{"forced free while it was taken", forced(6, 10, history.Released), nil, contract.Forced, false},
		{"forced free before it was asked for", forced(1, 2, history.Released), nil, contract.GrantedTwice, true},
		{"nothing was there to be forced free", forced(6, 10, history.NotHeld), nil, contract.GrantedTwice, true},
		{"an unlock came late", given(history.Sent, 0), delay, contract.Untold, false},
		{"an unlock was late, and no fault made it so", given(history.Sent, 0), nil, contract.Untold, true},
		{"an unlock was never sent", given(history.NotSent, 0), delay, contract.GrantedTwice, true},
		{"an unlock was over before", given(history.Sent, 8), delay, contract.GrantedTwice, true},
		{"a copy set a shorter lease", cut("a", 300*ms, history.Sent, 0), delay, contract.Untold, false},
		{"a copy set a lease that was not over", cut("a", 600*ms, history.Sent, 0), delay, contract.GrantedTwice, true},
		{"a copy was over before", cut("a", 300*ms, history.Sent, 3), delay, contract.GrantedTwice, true},
		{"another client's request", cut("c", 300*ms, history.Sent, 0), delay, contract.GrantedTwice, true},
	} {
		r := unseen([]string{"reentrant", "force"}, tt.faults, tt.ops...).Result(contract.Exclusion)
		if len(r.Violations) != 1 || r.Violations[0].Cause.Class != tt.class || (r.Violations[0].Ruling.Kind == Defect) != tt.defect {
			t.Errorf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
	}
}

// Of a lock that keeps the longest lease, an unlock of which nobody heard may have given the hold back, and then a later call has a lease of its own.
func TestAHoldMayHaveBeenTakenAnewAfterAnUnlockThatWasNotAnswered(t *testing.T) {
	const lock, got = history.TryLock, history.Acquired
	for _, tt := range []struct {
		name     string
		evidence history.Evidence // of the unlock
		taken    int              // by another, in ms
		defect   bool
	}{
		{"its own lease is over", history.NoEvidence, 312, false},
		{"its own lease is not over", history.NoEvidence, 290, true},
		{"the unlock was not sent", history.NotSent, 312, true},
	} {
		unlock, again := told("a", history.Unlock, 3, 4, 0, history.Unknown), told("a", lock, 9, 10, 300*ms, got)
		unlock.Evidence = tt.evidence
		r := unseen([]string{"reentrant", "keeps-longest"}, nil, told("a", lock, 1, 2, 2*time.Second, got), unlock, again,
			told("b", lock, tt.taken-1, tt.taken, time.Second, got), told("a", history.Unlock, 400, 401, 0, history.NotHeld)).Result(contract.Exclusion)
		if len(r.Violations) != 1 || (r.Violations[0].Ruling.Kind == Defect) != tt.defect || !tt.defect && r.Violations[0].Cause.Class != contract.LeaseOutlived {
			t.Errorf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
	}
}

// An unlock that does not tell what is left may have given back one hold of two: nobody saw what the server has then. One that tells is held to it.
func TestAnUnlockThatDoesNotTellWhatIsLeft(t *testing.T) {
	for outcome, broken := range map[history.Outcome]bool{history.OK: false, history.Released: true} {
		lock := func(call int) history.Op {
			return told("a", history.TryLock, call, call+1, time.Minute, history.Acquired)
		}
		r := unseen([]string{"reentrant"}, nil, lock(1), lock(3), told("a", history.Unlock, 5, 6, 0, outcome),
			told("b", history.TryLock, 20000, 20001, time.Second, history.Busy)).Result(contract.Object)
		if is := r.Status == Broken; is != broken {
			t.Errorf("%s: %s, %+v", outcome, r.Summary, r.Violations)
		}
	}
}

// A counter of tokens may be lost while the call is under way that gets one, of a lock whose keys nobody sees: before that it cannot.
func TestATokenMayHaveBeenGivenBeforeItsCounterWasLost(t *testing.T) {
	for lost, defect := range map[int]bool{0: true, 4: false} {
		first, second := told("a", history.TryLock, 2, 6, time.Second, history.Acquired), told("a", history.TryLock, 20, 22, time.Second, history.Acquired)
		first.Token, second.Token = 1, 1
		flush := history.Fault{Kind: "flush", Effects: []history.Effect{history.KeyDeleted}, From: time.Duration(lost) * ms, To: time.Duration(lost) * ms, Hits: 1}
		r := unseen([]string{"fencing"}, []history.Fault{flush}, first, told("a", history.Unlock, 8, 9, 0, history.Released), second).Result(contract.Fencing)
		if len(r.Violations) != 1 || (r.Violations[0].Ruling.Kind == Defect) != defect {
			t.Errorf("lost at %d ms: %s, %+v", lost, r.Summary, r.Violations)
		}
	}
}

// Of a lock that is its client's, an unlock of another of its owners may have ended a hold. Of another lock it cannot have.
func TestAnUnlockOfAnotherOwnerMayHaveEndedTheHoldOfTheirClient(t *testing.T) {
	for _, tt := range []struct {
		claims []string
		other  string // of which client the other owner is
		defect bool
	}{{[]string{"reentrant", "local-holds"}, "a", false}, {[]string{"reentrant", "local-holds"}, "c", true}, {[]string{"reentrant"}, "a", true}} {
		first, late := told("a", history.TryLock, 1, 2, time.Second, history.Acquired), told("a", history.Unlock, 3, 8, 0, history.Unknown)
		first.Client, late.Client, late.Evidence = tt.other, tt.other, history.Sent
		first.Owner, late.Owner = tt.other+":2", tt.other+":2"
		r := unseen(tt.claims, []history.Fault{{Kind: "delay-message", Client: tt.other, From: 3 * ms, To: 11 * ms, Hits: 1}}, first, late,
			told("a", history.TryLock, 9, 10, time.Second, history.Acquired), told("b", history.TryLock, 12, 14, time.Second, history.Acquired),
			told("a", history.Unlock, 20, 21, 0, history.NotHeld)).Result(contract.Exclusion)
		if len(r.Violations) != 1 || (r.Violations[0].Ruling.Kind == Defect) != tt.defect {
			t.Errorf("%v, %s: %s, %+v", tt.claims, tt.other, r.Summary, r.Violations)
		}
	}
}

// A clock that jumped ahead may have ended a lease as much sooner, counted from when it was asked for, and no sooner.
func TestAClockThatJumpedMayHaveEndedALease(t *testing.T) {
	const lock, got = history.TryLock, history.Acquired
	for _, tt := range []struct {
		name     string
		by       int   // ms
		jumps    []int // when, in ms
		defect   bool
		taken    int // by another
		explains contract.Class
	}{
		{"while it was held, so far", 300, []int{500}, false, 710, contract.ClockJumped},
		{"while it was held, not so far", 300, []int{500}, true, 690, contract.GrantedTwice},
		{"twice", 150, []int{500, 600}, false, 710, contract.ClockJumped},
		{"while it was asked for", 300, []int{10}, false, 710, contract.ClockJumped},
		{"before it was asked for", 300, []int{1}, true, 710, contract.GrantedTwice},
		{"after it was another's", 300, []int{730}, true, 710, contract.GrantedTwice},
		{"back", -300, []int{500}, true, 710, contract.GrantedTwice},
	} {
		var faults []history.Fault
		events := []history.Event{}
		for _, at := range tt.jumps {
			at, by := time.Duration(at)*ms, time.Duration(tt.by)*ms
			faults = append(faults, history.Fault{Index: len(faults), Kind: "clock-jump", Effects: []history.Effect{history.ClockMoved}, From: at, Hits: 1})
			events = append(events, history.Event{At: at, Kind: history.ClockJump, Lock: job, By: by})
		}
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: 40 * ms}, Events: events, Faults: faults, Ops: []history.Op{
			told("a", lock, 5, 45, time.Second, got), told("b", lock, tt.taken-5, tt.taken, time.Second, got), told("a", history.Unlock, 790, 791, 0, history.NotHeld)}}
		for i := range h.Ops {
			h.Ops[i].ID = int64(i + 1)
		}
		r := Judge(context.Background(), h, Options{}).Result(contract.Exclusion)
		if len(r.Violations) != 1 || r.Violations[0].Cause.Class != tt.explains || (r.Violations[0].Ruling.Kind == Defect) != tt.defect {
			t.Errorf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
	}
}

// A lease that was asked for goes on when its owner is dead. Until it is over nobody else need be let in.
func TestALeaseOutlivesItsOwner(t *testing.T) {
	for _, tt := range []struct {
		tried int // ms
		want  Status
	}{{3000, Holds}, {9000, Broken}} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms},
			Ops: []history.Op{told("a", history.Lock, 1, 2, 8*time.Second, history.Acquired),
				told(history.Fresh, history.TryLock, tt.tried, tt.tried+1000, 30*time.Second, history.Busy)},
			Events: []history.Event{{At: 5 * ms, Kind: history.Died, Client: "a"}, {At: 6 * ms, Kind: history.Healed}},
			End:    &history.End{At: 20 * time.Second}}
		h.Ops[0].ID, h.Ops[1].ID, h.Ops[1].Wait = 1, 2, time.Second
		r := Judge(context.Background(), h, Options{}).Result(contract.Liveness)
		if r.Status != tt.want {
			t.Errorf("tried at %d ms: %s, %+v", tt.tried, r.Summary, r.Violations)
		}
	}
}

// A lock whose grant was answered late may have been held all the while, if a fault held the answer up.
func TestALockThatIsHeldUnheardIsNotFree(t *testing.T) {
	const s = 1000
	for _, tt := range []struct {
		name   string
		faults []history.Fault
		want   Status
	}{
		{"its answer was late", []history.Fault{{Kind: "delay-message", Client: "a", From: 2 * ms, To: 20 * sec, Hits: 1}}, Holds},
		{"nothing held its answer up", nil, Broken},
		{"its answer was late for a moment", []history.Fault{{Kind: "delay-message", Client: "a", From: 2 * ms, To: 3 * ms, Hits: 1}}, Broken},
	} {
		r := unseen([]string{"reentrant"}, tt.faults,
			told("a", history.Lock, 1, 20*s, 30*sec, history.Acquired), told("b", history.Lock, 100, 22*s, 30*sec, history.Acquired),
			told("a", history.Unlock, 21990, 21991, 0, history.Released), told("b", history.Unlock, 22100, 22101, 0, history.Released)).Result(contract.Liveness)
		if r.Status != tt.want {
			t.Errorf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
	}
}

// A call of which nobody heard may have taken what refuses its owner's next attempt, as long as its lease lasts.
func TestWhoIsRefusedMayHoldTheLockUnheard(t *testing.T) {
	lost := []history.Fault{{Kind: "drop-message", Client: "a", From: 2 * ms, To: 2 * ms, Hits: 1, On: "reply acquire"}}
	const failed = string(FailedAssumption)
	for _, tt := range []struct {
		name     string
		evidence history.Evidence
		faults   []history.Fault
		claims   []string
		at       int // of the refusal
		want     string
	}{
		{"its caller gave it up", history.Sent, nil, nil, 10, failed + "given-up"},
		{"its answer was lost", history.Sent, lost, nil, 10, failed + "not-told"},
		{"its answer was lost, and the lock takes it back", history.Sent, lost, []string{string(contract.TakesBack)}, 10, string(Defect)},
		{"nothing took its answer", history.Sent, nil, nil, 10, string(Defect)},
		{"it was never sent", history.NotSent, lost, nil, 10, string(Defect)},
		{"its lease was over", history.Sent, lost, nil, 2000, string(Defect)},
	} {
		unheard := told("a", history.TryLock, 1, 5, time.Second, history.Unknown)
		if unheard.Evidence = tt.evidence; strings.HasSuffix(tt.want, "given-up") {
			unheard.Cancel, unheard.Error = 4*ms, "context deadline exceeded"
		}
		r := unseen(append([]string{"reentrant"}, tt.claims...), tt.faults, unheard,
			told("a", history.TryLock, tt.at, tt.at+1, time.Second, history.Busy)).Result(contract.Object)
		if r.Status != Broken || len(r.Violations) != 1 {
			t.Fatalf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
		if x := r.Violations[0].Ruling; string(x.Kind)+x.Row != tt.want {
			t.Errorf("%s: %s %s, want %s", tt.name, x.Kind, x.Row, tt.want)
		}
	}
}

// So may what an unlock did not give back, of which nobody heard.
func TestWhoIsRefusedMayNotHaveGivenTheLockBack(t *testing.T) {
	for want, faults := range map[string][]history.Fault{
		string(FailedAssumption) + "not-told": {{Kind: "drop-message", Client: "a", From: 4 * ms, To: 4 * ms, Hits: 1, On: "reply release"}},
		string(Defect):                        nil,
	} {
		unlock := told("a", history.Unlock, 3, 8, 0, history.Unknown)
		unlock.Evidence = history.Sent
		r := unseen([]string{"reentrant"}, faults, told("a", history.TryLock, 1, 2, time.Second, history.Acquired), unlock,
			told("a", history.TryLock, 10, 11, time.Second, history.Busy)).Result(contract.Object)
		if r.Status != Broken || len(r.Violations) != 1 {
			t.Fatalf("%s, %+v", r.Summary, r.Violations)
		}
		if x := r.Violations[0].Ruling; string(x.Kind)+x.Row != want {
			t.Errorf("%s %s, want %s: %+v", x.Kind, x.Row, want, r.Violations[0])
		}
	}
}

// Of a lock whose re-entries shorten no lease, the longest one counts, from when it was asked for, and no longer.
func TestAReentryShortensNothing(t *testing.T) {
	const lock, got = history.TryLock, history.Acquired
	again := told("a", lock, 50, 51, 100*ms, got)
	again.Fresh = 40 * ms // what the call itself asks for; it keeps the 100 ms of the hold
	for _, tt := range []struct {
		name      string
		abilities []string
		taken     int
		want      Status
	}{
		{"the longer lease is over", []string{"reentrant", "keeps-longest"}, 105, Holds},
		{"the longer lease is not over", []string{"reentrant", "keeps-longest"}, 93, Broken},
	} {
		r := unseen(tt.abilities, nil, told("a", lock, 1, 2, 100*ms, got), again, told("b", lock, tt.taken-1, tt.taken, 100*ms, got)).Result(contract.Object)
		if r.Status != tt.want {
			t.Errorf("%s: %s", tt.name, r.Summary)
		}
	}
}

// A renewal that tells when a lease ends can end the hold when it comes late. A fault answers for that, and without one the lock.
func TestARenewalThatComesLateEndsAHold(t *testing.T) {
	for _, late := range []bool{true, false} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		s.renew("c1:1", at(10), history.Renewed)
		gone := s.op("c1:1", history.Unlock, at(5), at(15), history.Released)
		gone.Aside, gone.Executed, gone.Outcome, gone.Return = true, at(15), "", 0
		s.h.Served = append(s.h.Served, history.Served{At: at(15), Sent: at(5), Began: at(5), Client: "c1", Owner: "c1:1", Lock: job, Step: history.StepRenew,
			Before: key("c1:1", 1, at(40)), After: key("", 0, 0)})
		if late {
			s.fault("delay-message", "c1", at(5), at(15))
		}
		s.take("c2:1", at(16), at(16.002), 0)
		s.unlock("c2:1", at(18), history.Released)
		s.unlock("c1:1", at(20), history.NotHeld)
		r := verdict(t, s).Result(contract.Exclusion)
		if len(r.Violations) != 1 || r.Violations[0].Cause.Class != contract.DoubleExecution || (r.Violations[0].Ruling.Kind == Defect) == late {
			t.Errorf("late %v: %s, %+v", late, r.Summary, r.Violations)
		}
	}
}

// Who learns of a grant that is over may have been paused since it asked. It is that owner, not the one that was let in meanwhile, who
// could not be told in time, even where nobody knows whom the server let in first.
func TestWhoWasPausedWhileItWasGrantedALockCouldNotBeTold(t *testing.T) {
	const lock, unlock, got = history.TryLock, history.Unlock, history.Acquired
	for _, tt := range []struct {
		name    string
		paused  string
		effects []history.Effect
		defect  bool
	}{
		{"it was paused", "a", []history.Effect{history.ProcessStopped, history.MessageLate}, false},
		{"its messages were late, its process ran", "a", []history.Effect{history.MessageLate}, true},
		{"the other was paused", "b", []history.Effect{history.ProcessStopped, history.MessageLate}, true},
	} {
		late := told("a", lock, 14, 541, 400*ms, got)
		late.Watchdog = true
		v := unseen([]string{"reentrant", "lost"}, []history.Fault{{Kind: "pause-client", Client: tt.paused, Effects: tt.effects, From: 14 * ms, To: 541 * ms, Hits: 1}},
			late, told("b", lock, 500, 530, 400*ms, got), told("a", unlock, 542, 543, 0, history.NotHeld), told("b", unlock, 545, 546, 0, history.Released))
		r := v.Result(contract.Exclusion)
		if len(r.Violations) != 1 || (r.Violations[0].Ruling.Kind == Defect) != tt.defect {
			t.Errorf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
	}
}

// Who claims to take back what nobody was told of gives a hold back by itself, also where nobody sees that. What a lock without the claim does is known.
func TestWhatAClientGivesBackUnseenIsNotHeldForNobody(t *testing.T) {
	for _, claims := range []bool{true, false} {
		var abilities []string
		if claims {
			abilities = []string{string(contract.TakesBack)}
		}
		given := told("a", history.Unlock, 3, 4, 0, history.Unknown)
		given.Cancel, given.Error, given.Evidence = ms, "context deadline exceeded", history.Sent
		r := unseen(abilities, nil, told("a", history.TryLock, 1, 2, ms, history.Acquired), given,
			told("a", history.TryLock, 2000, 2001, ms, history.Acquired), told("b", history.TryLock, 20000, 20001, ms, history.Acquired)).Result(contract.Liveness)
		if held := slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == contract.UnlockEndsHold }); held == claims {
			t.Errorf("claims %v: %+v", claims, r.Violations)
		}
	}
}

// A call of which nobody heard may have taken what refuses another, though its client has said since, and asked nobody, that it holds nothing.
func TestWhoHoldsTheLockUnheardRefusesOthers(t *testing.T) {
	lost := []history.Fault{{Kind: "drop-message", Client: "a", From: 2 * ms, To: 2 * ms, Hits: 1, On: "reply acquire"}}
	for _, tt := range []struct {
		name   string
		faults []history.Fault
		claims []string
		asked  history.Evidence // whether its client asked the server
		want   string
	}{
		{"its answer was lost", lost, nil, history.NotSent, string(FailedAssumption) + "not-told"},
		{"and the lock takes it back", lost, []string{string(contract.TakesBack)}, history.NotSent, string(Defect)},
		{"and the server said that it holds nothing", lost, nil, "", string(Defect)},
		{"nothing took its answer", nil, nil, history.NotSent, string(Defect)},
	} {
		unheard, denied := told("a", history.TryLock, 1, 5, time.Second, history.Unknown), told("a", history.Unlock, 6, 6, 0, history.NotHeld)
		unheard.Evidence, unheard.Until, denied.Evidence = history.Sent, 4*ms, tt.asked
		r := unseen(append([]string{"watchdog"}, tt.claims...), tt.faults, unheard, denied, told("b", history.TryLock, 10, 11, time.Second, history.Busy)).Result(contract.Object)
		if len(r.Violations) != 1 {
			t.Fatalf("%s: %s, %+v", tt.name, r.Summary, r.Violations)
		}
		if x := r.Violations[0].Ruling; string(x.Kind)+x.Row != tt.want {
			t.Errorf("%s: %s %s, want %s", tt.name, x.Kind, x.Row, tt.want)
		}
	}
}
