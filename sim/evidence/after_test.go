package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// What a client sends with the context of a call that has returned is its owner's, as far as nothing else tells whose it is: a lock may be
// taken so behind its caller's back. What is queued in a transaction is not executed: it renews nothing, and is refused nothing.
func TestACommandAfterItsCallIsItsOwners(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	value := func(s string) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: s, Count: 1}}, Deadline: time.Second}
	}
	call := history.Op{ID: 1, Client: "c1", Owner: "c1:2", Lock: lock, Kind: history.Lock, Lease: time.Second, Call: 0, Return: ms, Outcome: history.Failed}
	for _, tt := range []struct {
		name  string
		row   history.Served
		owner string // of the operation that is concluded; "": there is none
		kind  history.Kind
	}{
		{"the call takes the lock", history.Served{For: 1, Step: history.StepRenew, Text: "set x v px 1000", Before: &history.KeyState{}, After: value("v")}, "c1:2", history.Lock},
		{"the client takes the lock, for nobody knows whom", history.Served{Step: history.StepRenew, Text: "set x v px 1000", Before: &history.KeyState{}, After: value("v")}, "v", history.Lock},
		{"its transaction does not get as far", history.Served{For: 1, Step: history.StepRenew, Text: "set x v px 1000", Reply: "QUEUED", Before: value("c1:1"), After: value("c1:1")}, "", ""},
		{"it renews what it does not have", history.Served{For: 1, Step: history.StepRenew, Text: "pexpire x 1000", Before: value("c2:1"), After: value("c2:1")}, "c1:2", history.Renew},
	} {
		tt.row.At, tt.row.Sent, tt.row.Got, tt.row.Client, tt.row.Lock = 3*ms, 2*ms, 4*ms, "c1", lock
		other := history.Op{ID: 2, Client: "c2", Owner: "c2:1", Lock: lock, Kind: history.IsLocked, Call: 8 * ms, Return: 9 * ms, Outcome: history.OK}
		h := &history.History{Ops: []history.Op{call, other}, Served: []history.Served{tt.row}}
		var concluded history.Op
		for _, op := range Conclude(h).Ops {
			if op.ID > 2 {
				concluded = op
			}
		}
		if concluded.Kind != tt.kind || tt.owner != "v" && concluded.Owner != tt.owner {
			t.Errorf("%s: %s by %q, want %s by %q", tt.name, concluded.Kind, concluded.Owner, tt.kind, tt.owner)
		}
	}
}

// A forced release is executed by the command that removes the key, or finds none, and not by one that is queued in a transaction.
func TestAQueuedForcedReleaseIsNotExecuted(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	held := &history.KeyState{Holdings: []history.Holding{{Owner: "c1:1", Count: 1}}, Deadline: time.Second}
	for reply, executed := range map[string]bool{"QUEUED": false, "0": true} {
		h := &history.History{
			Ops:    []history.Op{{ID: 1, Client: "op", Owner: "op:1", Lock: lock, Kind: history.ForceUnlock, Call: ms, Return: 9 * ms, Outcome: history.NotHeld}},
			Served: []history.Served{{At: 3 * ms, Sent: 2 * ms, Got: 4 * ms, Client: "op", Op: 1, Lock: lock, Step: history.StepForce, Text: "del x", Reply: reply, Before: held, After: held}},
		}
		if op := Conclude(h).Ops[0]; (op.Evidence == history.Executed) != executed {
			t.Errorf("answered %s: %s", reply, op.Evidence)
		}
	}
}

// An owner that was told of a loss, and was granted the lock anew, holds it by its later calls alone. A re-entry that leaves the end of one that it has
// given back since has left that end, of a lock that keeps the longest lease.
func TestAReEntryAfterALossMayLeaveALaterEnd(t *testing.T) {
	const lock, sec = "x", time.Second
	held := func(count int64, until time.Duration) *history.KeyState {
		if count == 0 {
			return &history.KeyState{}
		}
		return &history.KeyState{Holdings: []history.Holding{{Owner: "c1:1", Count: count}}, Deadline: until}
	}
	for claim, want := range map[string]time.Duration{"keeps-longest": 27 * sec, "watchdog": 2 * sec} {
		h := &history.History{Header: history.Header{Abilities: []string{"reentrant", "lost", claim}}}
		before := held(0, 0)
		add := func(kind history.Kind, when, lease, fresh time.Duration, out history.Outcome, after *history.KeyState) {
			id := int64(len(h.Ops) + 1)
			h.Ops = append(h.Ops, history.Op{ID: id, Client: "c1", Owner: "c1:1", Lock: lock, Kind: kind, Lease: lease, Fresh: fresh, Call: when - 2, Return: when + 2, Outcome: out})
			h.Served = append(h.Served, history.Served{At: when, Sent: when - 1, Got: when + 1, Client: "c1", Op: id, Lock: lock, Text: "evalsha", Before: before, After: after})
			before = after
		}
		add(history.TryLock, 0, sec, 0, history.Acquired, held(1, sec))
		h.Events = []history.Event{{At: sec, Kind: history.Lost, Lock: lock, Owner: "c1:1", Client: "c1"}}
		before = held(0, 0)
		add(history.TryLock, 10*sec, 2*sec, 0, history.Acquired, held(1, 12*sec))
		add(history.TryLock, 11*sec, 30*sec, 0, history.Acquired, held(2, 41*sec))
		add(history.Unlock, 12*sec, 0, 0, history.Decremented, held(1, 41*sec))
		add(history.TryLock, 14*sec, 30*sec, sec, history.Acquired, held(2, 41*sec))
		for _, op := range Conclude(h).Ops {
			if op.ID == 5 && op.Lease != want {
				t.Errorf("%s: a lease of %s, want %s", claim, op.Lease, want)
			}
		}
	}
}

// Where owners exclude each other within their process, one takes over what another of its client has left on the server, and does not count on. What
// that counts on, or another client's has, is not taken over.
func TestAnOwnerTakesOverWhatItsClientHasLeft(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	value := func(owner string) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: 1}}, Deadline: time.Second}
	}
	for _, tt := range []struct {
		name    string
		claims  []string
		first   string          // who has it
		told    history.Outcome // of its call
		over    bool            // it was told that its hold is over
		unlocks bool            // it has begun to give it back
		copied  bool            // a copy of a request has taken it
		want    bool
	}{
		{"it is about to be told that it has it", []string{"local-holds"}, "c1:2", "", false, false, false, false},
		{"it is about to be told that it was refused", []string{"local-holds"}, "c1:2", "", false, false, true, true},
		{"it does not know that it has it", []string{"local-holds"}, "c1:2", history.Unknown, false, false, false, true},
		{"it was told that it has lost it", []string{"local-holds"}, "c1:2", history.Acquired, true, false, false, true},
		{"it gives it back", []string{"local-holds"}, "c1:2", history.Acquired, false, true, false, true},
		{"it counts on it", []string{"local-holds"}, "c1:2", history.Acquired, false, false, false, false},
		{"it is another client's", []string{"local-holds"}, "c2:2", history.Unknown, false, false, false, false},
		{"of a lock that does not have that", nil, "c1:2", history.Unknown, false, false, false, false},
	} {
		h := &history.History{Header: history.Header{Abilities: tt.claims},
			Ops: []history.Op{
				{ID: 1, Client: tt.first[:2], Owner: tt.first, Lock: lock, Kind: history.Lock, Lease: time.Second, Call: 0, Return: 3 * ms, Outcome: tt.told},
				{ID: 2, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Lock, Lease: time.Second, Call: 10 * ms, Return: 13 * ms, Outcome: history.Acquired},
			},
			Served: []history.Served{
				{At: 2 * ms, Sent: ms, Client: tt.first[:2], Op: 1, Lock: lock, Step: history.StepAcquire, Before: &history.KeyState{}, After: value(tt.first)},
				{At: 12 * ms, Sent: 11 * ms, Got: 13 * ms, Client: "c1", Op: 2, Lock: lock, Step: history.StepAcquire, Before: value(tt.first), After: value("c1:1")},
			}}
		if tt.told == "" {
			h.Ops[0].Return, h.Ops[0].Outcome = 20*ms, history.Acquired
		}
		if h.Served[0].Request = 1; tt.copied { // the first was refused, while the lock was another's
			h.Served = append([]history.Served{{At: ms, Sent: ms, Got: 2 * ms, Client: "c1", Op: 1, Lock: lock, Step: history.StepAcquire, Request: 1,
				Before: value("c3:1"), After: value("c3:1")}}, h.Served...)
		}
		if tt.over {
			h.Events = []history.Event{{At: 5 * ms, Kind: history.Lost, Lock: lock, Owner: tt.first, Client: tt.first[:2]}}
		}
		if tt.unlocks {
			h.Ops = append(h.Ops, history.Op{ID: 3, Client: tt.first[:2], Owner: tt.first, Lock: lock, Kind: history.Unlock, Call: 5 * ms, Return: 9 * ms, Outcome: history.Failed})
		}
		over := false
		for _, op := range Conclude(h).Ops {
			over = over || op.Aside && op.Kind == history.Unlock && op.Owner == tt.first && op.Executed < 12*ms
		}
		if over != tt.want {
			t.Errorf("%s: taken over: %v", tt.name, over)
		}
	}
}

// A renewal that names no owner is that of the owner whose call it carries the context of, until that owner gives the lock back: then it is of whoever of
// its client has the lock.
func TestARenewalWithoutANameIsOfItsCallsOwner(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	value := func(until time.Duration) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: "c1:2", Count: 1}}, Deadline: until}
	}
	for _, tt := range []struct {
		name     string
		of       int64         // the call whose context it carries
		unlocked time.Duration // when its owner gave the lock back; 0: it did not
		want     string
	}{
		{"its owner has lost the lock", 1, 0, "c1:1"},
		{"its owner has given the lock back", 1, 5 * ms, "c1:2"},
		{"its owner will give the lock back", 1, 30 * ms, "c1:1"},
		{"it carries no call's context", 0, 0, "c1:2"},
		{"it carries that of another lock's", 3, 0, "c1:2"},
	} {
		h := &history.History{Header: history.Header{WatchdogTimeout: time.Second},
			Ops: []history.Op{
				{ID: 1, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Lock, Lease: time.Second, Watchdog: true, Call: 0, Return: ms, Outcome: history.Acquired},
				{ID: 2, Client: "c1", Owner: "c1:2", Lock: lock, Kind: history.Lock, Lease: time.Second, Watchdog: true, Call: 6 * ms, Return: 8 * ms, Outcome: history.Acquired},
				{ID: 3, Client: "c1", Owner: "c1:3", Lock: "y", Kind: history.Lock, Lease: time.Second, Watchdog: true, Call: 0, Return: ms, Outcome: history.Acquired},
			},
			Served: []history.Served{
				{At: 7 * ms, Sent: 6 * ms, Got: 8 * ms, Client: "c1", Op: 2, Lock: lock, Step: history.StepAcquire, Before: &history.KeyState{}, After: value(time.Second + 7*ms)},
				{At: 20 * ms, Sent: 19 * ms, Got: 21 * ms, Client: "c1", For: tt.of, Lock: lock, Step: history.StepRenew, Text: "expire x 1", Before: value(time.Second + 7*ms), After: value(time.Second + 20*ms)},
			}}
		if tt.unlocked > 0 {
			h.Ops = append(h.Ops, history.Op{ID: 4, Client: "c1", Owner: "c1:1", Lock: lock, Kind: history.Unlock, Call: tt.unlocked, Return: tt.unlocked + ms, Outcome: history.NotHeld})
		}
		got := ""
		for _, op := range Conclude(h).Ops {
			if op.Kind.Renews() {
				got += op.Owner
			}
		}
		if got != tt.want {
			t.Errorf("%s: a renewal by %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whoever makes a value appear in the queue of a fair lock waits there, whatever the value is. What is concluded can be concluded again.
func TestAPlaceInTheQueueIsOfWhoTookIt(t *testing.T) {
	const lock, ms = "x", time.Millisecond
	queue := func(values ...string) *history.KeyState {
		return &history.KeyState{Holdings: []history.Holding{{Owner: "c0:1", Count: 1}}, Deadline: time.Second, Waiting: values}
	}
	h := &history.History{}
	before := queue()
	for i, value := range []string{"0af3", "c2:1", "77b1"} {
		owner, at := []string{"c1:1", "c2:1", "c3:1"}[i], time.Duration(10*i+5)*ms
		h.Ops = append(h.Ops, history.Op{ID: int64(i + 1), Client: owner[:2], Owner: owner, Lock: lock, Kind: history.Lock, Call: at - ms})
		after := queue(append(slices.Clone(before.Waiting), value)...)
		h.Served = append(h.Served, history.Served{At: at, Sent: at - 1, Got: at + 1, Client: owner[:2], Op: int64(i + 1), Lock: lock, Step: history.StepAcquire, Before: before, After: after})
		before = after
	}
	for range 2 {
		h = Conclude(h)
		last := h.Served[2].After
		if want := []string{"c1:1", "c2:1", "c3:1"}; !slices.Equal(last.Waiting, want) || !slices.Equal(last.Queued, []string{"0af3", "c2:1", "77b1"}) {
			t.Errorf("waiting: %q for %q, want %q", last.Waiting, last.Queued, want)
		}
	}
}
