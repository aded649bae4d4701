package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A lock that counts nothing may grant its owner anew what an attempt had left that was not answered: the key then has another end.
// An owner that was told that it holds the lock is granted nothing by that, unless the lock is known for it.
func TestALockIsGrantedAnewToWhomAnAttemptHadLeftIt(t *testing.T) {
	const lock = "x"
	for _, tt := range []struct {
		name    string
		first   history.Outcome
		unlocks history.Outcome // of the owner's unlock since, if there was one
		anew    bool            // the probe has seen that
		can     []string
		granted bool
	}{
		{"the attempt was not answered", history.Unknown, "", false, []string{"watchdog"}, true},
		{"the attempt was granted", history.Acquired, "", false, []string{"watchdog"}, false},
		{"the attempt was granted, and was to be given back", history.Acquired, history.Failed, false, []string{"watchdog"}, true},
		{"the attempt was granted, and its owner was told that it gave it back", history.Acquired, history.Released, false, []string{"watchdog"}, false},
		{"the attempt was granted, and the lock grants anew", history.Acquired, "", true, []string{"watchdog"}, true},
		{"of a reentrant lock the server counts", history.Acquired, history.Failed, true, []string{"watchdog", "reentrant"}, false},
	} {
		h := &history.History{Header: history.Header{Abilities: tt.can, Layout: history.Layout{Anew: tt.anew}},
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Call: 0, Return: time.Second, Outcome: tt.first},
				{ID: 2, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Call: 2 * time.Second, Return: 3 * time.Second, Outcome: history.Acquired},
			},
			Served: []history.Served{
				{At: 500 * time.Millisecond, Sent: 400 * time.Millisecond, Client: "c1", Owner: "c1:1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 1, Before: &history.KeyState{}, After: held(10500 * time.Millisecond)},
				{At: 2500 * time.Millisecond, Sent: 2400 * time.Millisecond, Client: "c1", Owner: "c1:1", Op: 2, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 2, Before: held(10500 * time.Millisecond), After: held(12500 * time.Millisecond)},
			}}
		if tt.unlocks != "" {
			h.Ops = slices.Insert(h.Ops, 1, history.Op{ID: 3, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Unlock, Call: 1500 * time.Millisecond, Return: 1600 * time.Millisecond, Outcome: tt.unlocks})
		}
		op := operation(Conclude(h), 2)
		if granted := op.Evidence == history.Executed && op.Answer == history.Acquired; granted != tt.granted {
			t.Errorf("%s: %s %s", tt.name, op.Evidence, op.Answer)
		}
	}
}

// held is a key that c1:1 holds once, until then.
func held(until time.Duration) *history.KeyState {
	return &history.KeyState{Holdings: []history.Holding{{Owner: "c1:1", Count: 1}}, Deadline: until}
}

// operation is one of a history.
func operation(h *history.History, id int64) history.Op {
	return h.Ops[slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.ID == id })]
}

// An owner that has given a lock back, which a copy of its request took once more, may be granted it anew. One that has not given it back is not.
func TestALockIsGrantedAnewThatACopyTookOnceMore(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	for _, gives := range []bool{true, false} {
		h := &history.History{Ops: []history.Op{
			{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Call: 0, Return: 3 * ms, Outcome: history.Acquired},
			{ID: 2, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Call: 30 * ms, Return: 33 * ms, Outcome: history.Acquired}}}
		row := func(op, request int64, at time.Duration, before, after *history.KeyState) {
			h.Served = append(h.Served, history.Served{At: at, Sent: at - ms, Got: at + ms, Client: "c1", Op: op, Request: request, Lock: lock, Text: "evalsha", Before: before, After: after})
		}
		row(1, 1, 2*ms, &history.KeyState{}, held(10002*ms))
		if gives {
			h.Ops = append(h.Ops, history.Op{ID: 3, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Unlock, Call: 10 * ms, Return: 13 * ms, Outcome: history.Released})
			row(3, 2, 12*ms, held(10002*ms), &history.KeyState{})
			row(1, 1, 20*ms, &history.KeyState{}, held(10020*ms))
		} else {
			row(1, 1, 20*ms, held(10002*ms), held(10020*ms))
		}
		row(2, 3, 32*ms, held(10020*ms), held(10032*ms))
		if op := operation(Conclude(h), 2); (op.Evidence == history.Executed && op.Answer == history.Acquired) != gives {
			t.Errorf("given back: %v: %s %s", gives, op.Evidence, op.Answer)
		}
	}
}

// A lock that keeps the longest lease may set that anew when its owner re-enters, or have the hold end as before or as the call asks, whichever is later. A
// lock that shortens it, or leaves an end that is sooner, has not set the lease.
func TestAReEntryMayLeaveALaterEndAlone(t *testing.T) {
	const lock, sec = "x", time.Second
	held := func(count int64, until time.Duration) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: "c1:1", Count: count}}, Deadline: until}
	}
	for _, tt := range []struct {
		name  string
		can   []string
		fresh time.Duration // what the re-entry asks for
		ends  time.Duration // of the key, after it
		lease time.Duration // that it is held to
	}{
		{"it leaves the end alone", []string{"reentrant", "keeps-longest"}, 2 * sec, 10 * sec, 8 * sec},
		{"it sets the longest anew", []string{"reentrant", "keeps-longest"}, 2 * sec, 12 * sec, 10 * sec},
		{"it shortens it", []string{"reentrant", "keeps-longest"}, 2 * sec, 4 * sec, 10 * sec},
		{"it leaves an end that is too soon", []string{"reentrant", "keeps-longest"}, 9 * sec, 10 * sec, 10 * sec},
		{"it sets what it asks for, which ends later", []string{"reentrant", "keeps-longest"}, 9 * sec, 11 * sec, 9 * sec},
		{"it sets what it asks for, of a lock that does not claim to keep it", []string{"reentrant"}, 9 * sec, 11 * sec, 10 * sec},
		{"of a lock that does not claim to keep it", []string{"reentrant"}, 2 * sec, 10 * sec, 10 * sec},
	} {
		h := &history.History{Header: history.Header{Abilities: tt.can},
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * sec, Call: 0, Return: 1, Outcome: history.Acquired},
				{ID: 2, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * sec, Fresh: tt.fresh, Call: 2*sec - 1, Return: 2*sec + 1, Outcome: history.Acquired},
			},
			Served: []history.Served{
				{At: 0, Client: "c1", Owner: "c1:1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 1, Before: &history.KeyState{}, After: held(1, 10*sec)},
				{At: 2 * sec, Client: "c1", Owner: "c1:1", Op: 2, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 2, Before: held(1, 10*sec), After: held(2, tt.ends)},
			}}
		for _, o := range Conclude(h).Ops {
			if o.ID == 2 && o.Lease != tt.lease {
				t.Errorf("%s: a lease of %s, want %s", tt.name, o.Lease, tt.lease)
			}
		}
	}
}

// What a call asks a server once more, of which it has had no answer, may be a copy: what it was told is then not all that happened. What it asks another
// server is none, nor what it asks again after an answer.
func TestWhatIsAskedOnceMoreWithoutAnAnswerMayBeACopy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server string        // of the second request
		got    time.Duration // when the first was answered
		step   history.Step
		then   string // the connection of a request in between, which is answered
		want   history.Outcome
	}{
		{"without an answer", "s1", 0, history.StepAcquire, "", history.Unknown},
		{"of another server", "s2", 0, history.StepAcquire, "", history.Busy},
		{"after an answer", "s1", 3, history.StepAcquire, "", history.Busy},
		{"to set its connection up", "s1", 0, history.StepSession, "", history.Busy},
		{"after an answer to what came later on its connection", "s1", 0, history.StepAcquire, "c1#1", history.Busy},
		{"after an answer on another connection", "s1", 0, history.StepAcquire, "c1#2", history.Unknown},
	} {
		h := &history.History{Header: history.Header{Layout: history.Layout{Unknown: "nobody looked"}},
			Ops: []history.Op{{ID: 1, Client: "c1", Owner: "c1:1", Lock: "x", Kind: history.TryLock, Call: 1, Return: 9, Outcome: history.Busy}},
			Served: []history.Served{
				{At: 2, Sent: 1, Got: tt.got, Client: "c1", Conn: "c1#1", Op: 1, Server: "s1", Step: tt.step, Text: "EVAL x", Request: 1},
				{At: 6, Sent: 5, Got: 7, Client: "c1", Conn: "c1#1", Op: 1, Server: tt.server, Step: tt.step, Text: "EVAL x", Request: 2},
			}}
		if tt.then != "" {
			between := history.Served{At: 4, Sent: 3, Got: 5, Client: "c1", Conn: tt.then, Op: 1, Server: "s1", Step: tt.step, Text: "EVAL y", Request: 3}
			h.Served = []history.Served{h.Served[0], between, h.Served[1]}
		}
		if op := Conclude(h).Ops[0]; op.Outcome != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, op.Outcome, tt.want)
		}
	}
}

// A lock that claims to know its requests again answers a copy as it answered the first: what a caller was told stands.
func TestACopyIsAnsweredAsTheFirstByALockThatClaimsSo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		claim history.Idempotence
		want  history.Outcome
	}{
		{"without the claim", history.Idempotence{}, history.Unknown},
		{"of another call", history.Idempotence{Calls: []history.Kind{history.Unlock}}, history.Unknown},
		{"of this call", history.Idempotence{Calls: []history.Kind{history.TryLock}}, history.Busy},
		{"for long enough", history.Idempotence{Calls: []history.Kind{history.TryLock}, For: 6}, history.Busy},
		{"for too short", history.Idempotence{Calls: []history.Kind{history.TryLock}, For: 5}, history.Unknown},
		{"for too short of a client that sends nothing again", history.Idempotence{Calls: []history.Kind{history.TryLock}, For: 6, ForOnce: 5}, history.Unknown},
		{"of what took effect alone", history.Idempotence{Calls: []history.Kind{history.TryLock}, Effective: true}, history.Unknown},
		{"until it is answered", history.Idempotence{Calls: []history.Kind{history.TryLock}, UntilAnswered: true}, history.Unknown},
	} {
		h := &history.History{Header: history.Header{Layout: history.Layout{Unknown: "nobody looked"}, Idempotent: []history.Idempotence{tt.claim}, NoRetry: []string{"c1"}},
			Ops: []history.Op{{ID: 1, Client: "c1", Owner: "c1:1", Lock: "x", Kind: history.TryLock, Call: 1, Return: 9, Outcome: history.Busy}},
			Served: []history.Served{
				{At: 2, Sent: 1, Client: "c1", Op: 1, Server: "s1", Step: history.StepAcquire, Text: "EVAL x", Request: 1},
				{At: 6, Sent: 5, Got: 7, Client: "c1", Op: 1, Server: "s1", Step: history.StepAcquire, Text: "EVAL x", Request: 1},
			}}
		told := Conclude(h)
		if op := told.Ops[0]; op.Outcome != tt.want || (len(told.Ops) > 1) != (tt.want == history.Unknown) {
			t.Errorf("%s: %s of %d operations, want %s", tt.name, op.Outcome, len(told.Ops), tt.want)
		}
	}
}

// Who does not know whether it gave something back, and sent nothing within that call, may have had its client give it back later. A call that asks for
// something, or whose client sent nothing later, has no effect.
func TestAReleaseThatWasNeverSentMayComeLater(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  history.Kind
		late  time.Duration // when what it sent was executed; 0: it sent nothing
		later time.Duration // when its client sent something by no call
		want  history.Evidence
	}{
		{"permits, given back later", history.ReleasePermits, 0, 20, history.Sent},
		{"a lock, given back later", history.Unlock, 0, 20, history.Sent},
		{"nothing came later", history.ReleasePermits, 0, 5, history.NotSent},
		{"a call that asks", history.AcquirePermits, 0, 20, history.NotSent},
		{"permits, sent late and given back later", history.ReleasePermits, 15, 20, history.Sent},
	} {
		h := &history.History{Header: history.Header{Layout: history.Layout{Unknown: "nobody looked"}},
			Ops:    []history.Op{{ID: 1, Client: "c1", Owner: "c1:1", Lock: "x", Kind: tt.kind, Value: 1, Call: 1, Return: 9, Outcome: history.Unknown, Evidence: history.NotSent}},
			Served: []history.Served{{At: tt.later, Sent: tt.later - 1, Got: tt.later + 1, Client: "c1", Server: "s1", Step: history.StepQuery, Text: "evalsha x"}}}
		if tt.late > 0 {
			h.Ops[0].Evidence = history.Sent
			h.Served = slices.Insert(h.Served, 0, history.Served{At: tt.late, Sent: 2, Client: "c1", Op: 1, Server: "s1", Step: history.StepQuery, Text: "evalsha x"})
		}
		if op := operation(Conclude(h), 1); op.Evidence != tt.want || tt.want == history.Sent && op.Until != tt.later {
			t.Errorf("%s: %s until %s, want %s", tt.name, op.Evidence, op.Until, tt.want)
		}
	}
}

// Who claims to take back what a caller was not told of may do so by itself, where nobody can read the keys: as long as its client sends anything.
func TestWhatNobodyWasToldOfMayBeTakenBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  history.Kind
		claim string
		call  int64         // by which its client sent something later; 0: by none
		later time.Duration // when that was
		want  history.Kind  // "": nothing is taken back
	}{
		{"permits", history.AcquirePermits, "takes-back", 0, 20, history.ReleasePermits},
		{"permits, with the context of the call", history.TryAcquirePermits, "takes-back", 1, 20, history.ReleasePermits},
		{"a permit", history.AcquirePermit, "takes-back", 0, 20, history.ReleasePermit},
		{"a lock", history.TryLock, "takes-back", 0, 20, history.Unlock},
		{"a lock to write", history.WriteLock, "takes-back", 0, 20, history.WriteUnlock},
		{"nothing came later", history.AcquirePermits, "takes-back", 0, 5, ""},
		{"without the claim", history.AcquirePermits, "", 0, 20, ""},
		{"what takes nothing", history.CountDown, "takes-back", 0, 20, ""},
	} {
		owner := "c1:1"
		if tt.kind == history.WriteLock {
			owner = history.WriterOf(owner)
		}
		h := &history.History{Header: history.Header{Layout: history.Layout{Unknown: "nobody looked"}, Abilities: []string{tt.claim}},
			Ops:    []history.Op{{ID: 1, Client: "c1", Owner: owner, Lock: "x", Kind: tt.kind, Value: 2, Call: 1, Return: 9, Outcome: history.Unknown, Evidence: history.Sent}},
			Served: []history.Served{{At: tt.later, Sent: tt.later - 1, Got: tt.later + 1, Client: "c1", Server: "s1", Op: tt.call, Step: history.StepQuery, Text: "evalsha x"}}}
		ops := Conclude(h).Ops
		switch {
		case len(ops) == 1 && tt.want == "":
		case len(ops) != 2 || ops[1].Kind != tt.want || !ops[1].Aside || ops[1].Value != 2 || ops[1].Call != 9 || ops[1].Until != tt.later:
			t.Errorf("%s: %+v", tt.name, ops)
		}
	}
}

// A client that tells the server when a lease ends may have made that up while a fault kept it from sending.
func TestADeadlineMayBeOfWhenItsClientCouldNotSend(t *testing.T) {
	const lock, s = "x", time.Second
	for _, tt := range []struct {
		name       string
		absolute   bool
		from, to   time.Duration // of the fault
		made       time.Duration // when the deadline was made up
		sent, left time.Duration
	}{
		{"while the fault lasted", true, 12 * s, 28 * s, 15 * s, 28 * s, 17*s - s/100},
		{"before it", true, 12 * s, 28 * s, 11 * s, 28 * s, 30 * s},
		{"after it", true, 12 * s, 14 * s, 15 * s, 28 * s, 30 * s},
		{"while it lasted, by a client that tells a time to live", false, 12 * s, 28 * s, 15 * s, 28 * s, 30 * s},
	} {
		h := &history.History{Header: history.Header{Abilities: []string{"watchdog"}, WatchdogTimeout: 30 * s,
			Layout: history.Layout{Absolute: tt.absolute, Roles: map[string]history.Step{"pexpireat": history.StepRenew}}},
			Ops:    []history.Op{{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Lock, Lease: 30 * s, Watchdog: true, Call: 0, Return: s / 10, Outcome: history.Acquired}},
			Faults: []history.Fault{{Kind: "partition", Client: "c1", Effects: []history.Effect{history.RepliesHeld}, From: tt.from, To: tt.to}},
			Served: []history.Served{
				{At: s / 20, Sent: s / 50, Client: "c1", Owner: "c1:1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "set", Request: 1, Before: &history.KeyState{}, After: held(30*s + s/50)},
				{At: tt.sent + s/100, Sent: tt.sent, Client: "c1", Owner: "c1:1", Lock: lock, Step: history.StepRenew, Text: "pexpireat", Request: 2, Before: held(30*s + s/50), After: held(tt.made + 30*s)},
			}}
		ops := Conclude(h).Ops
		i := slices.IndexFunc(ops, func(op history.Op) bool { return op.Kind == history.Renew })
		if i < 0 {
			t.Fatalf("%s: %+v", tt.name, ops)
		}
		if ops[i].Lease != tt.left {
			t.Errorf("%s: it is taken for a renewal for %v", tt.name, ops[i].Lease)
		}
	}
}

// A command that leaves the end of a lease where it was has granted nothing, though Redis has that end in milliseconds only. One that sets it has, also
// if that is hardly later.
func TestAnAttemptThatIsRefusedIsNoGrantAnew(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	for _, tt := range []struct {
		name          string
		at            time.Duration // of the second attempt
		before, after time.Duration
		granted       bool
	}{
		{"the end is where it was", 2500 * ms, 10500 * ms, 10500 * ms, false},
		{"the end is where it was, in milliseconds", 2500 * ms, 10500*ms + 362*time.Microsecond, 10500 * ms, false},
		{"the end is another", 2500 * ms, 10500 * ms, 12500 * ms, true},
		{"the end is another, set within a millisecond", 500*ms + 600*time.Microsecond, 10500 * ms, 10500*ms + 600*time.Microsecond, true},
	} {
		h := &history.History{Header: history.Header{Abilities: []string{"watchdog"}, Layout: history.Layout{Anew: true}},
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Return: 500*ms + 200*time.Microsecond, Outcome: history.Acquired},
				{ID: 2, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.TryLock, Lease: 10 * time.Second, Call: tt.at - 100*time.Microsecond, Return: tt.at + 100*time.Microsecond, Outcome: history.Busy},
			},
			Served: []history.Served{
				{At: 500 * ms, Sent: 400 * ms, Client: "c1", Owner: "c1:1", Op: 1, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 1, Before: &history.KeyState{}, After: held(tt.before)},
				{At: tt.at, Sent: tt.at - 50*time.Microsecond, Client: "c1", Owner: "c1:1", Op: 2, Lock: lock, Step: history.StepAcquire, Text: "evalsha", Request: 2, Before: held(tt.before), After: held(tt.after)},
			}}
		op := operation(Conclude(h), 2)
		if granted := op.Evidence == history.Executed && op.Answer == history.Acquired; granted != tt.granted {
			t.Errorf("%s: %s %s", tt.name, op.Evidence, op.Answer)
		}
	}
}
