package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

const lockName = "order:42"

func sec(s float64) time.Duration { return time.Duration(s*1e6+0.5) * time.Microsecond }

func held(owner string, count int64, deadline float64) *history.KeyState {
	return &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: count}}, Deadline: sec(deadline)}
}

// watchdogDeath is the story that the project begins with:
//
//	c1 watchdog          |5 s  paused ------------------------------------------>
//	c1:1       lock====believes=========================================unlock: refused
//	c2:1         lock........................waits.....|lock=====believes==========unlock
//	key        c1:1 TTL 30 s ----------------expires^  c2:1 ...
func watchdogDeath() (*history.History, *checker.Verdict) {
	h := &history.History{
		Header: history.Header{
			Version: history.Version, Clock: "virtual", World: "sim", Scenario: "watchdog-death", Subject: "rlock-latch", Seed: 1,
			Plan:      json.RawMessage(`{"version":1,"scenario":"watchdog-death","clients":[{"name":"c1","programs":[{"thread":1,"do":[{"lock":"order:42"},{"work":"45s"},{"unlock":"order:42"}]}]},{"name":"c2","programs":[{"thread":1,"do":[{"sleep":"2s"},{"lock":"order:42"},{"work":"30s"},{"unlock":"order:42"}]}]}],"faults":[{"kind":"pause-watchdog","client":"c1","from":"5s"}]}`),
			Versions:  map[string]string{"go": "go1.26.8", "go-redis": "v9.23.0", "holdfast": "v0.1.0", "miniredis": "v2.40.0"},
			Abilities: []string{"reentrant", "watchdog", "force", "inspect"},

			WatchdogTimeout: sec(30), RenewEvery: sec(10), LatencyMax: sec(0.005),
		},
		Ops: []history.Op{
			{ID: 1, Client: "c1", Owner: "c1:1", Lock: lockName, Kind: history.Lock, Lease: sec(30), Watchdog: true,
				Call: sec(0.406), Return: sec(0.413), Outcome: history.Acquired, Evidence: history.Executed, Executed: sec(0.410), Answer: history.Acquired},
			{ID: 2, Client: "c1", Owner: "c1:1", Lock: lockName, Kind: history.Read, Call: sec(0.500), Return: sec(0.501), Outcome: history.OK},
			{ID: 3, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Lock, Lease: sec(30), Watchdog: true,
				Call: sec(2.001), Return: sec(30.418), Outcome: history.Acquired, Evidence: history.Executed, Executed: sec(30.415), Answer: history.Acquired},
			{ID: 4, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Read, Call: sec(31), Return: sec(31.001), Outcome: history.OK},
			{ID: 5, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Write, Value: 1, Call: sec(40), Return: sec(40.001), Outcome: history.OK},
			{ID: 9, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Renew, Lease: sec(30),
				Call: sec(40.418), Return: sec(40.424), Outcome: history.Renewed, Evidence: history.Executed, Executed: sec(40.421), Answer: history.Renewed},
			{ID: 6, Client: "c1", Owner: "c1:1", Lock: lockName, Kind: history.Write, Value: 1, Call: sec(45.3), Return: sec(45.301), Outcome: history.OK},
			{ID: 7, Client: "c1", Owner: "c1:1", Lock: lockName, Kind: history.Unlock,
				Call: sec(45.400), Return: sec(45.408), Outcome: history.NotHeld, Error: "attempt to unlock lock, not locked by current thread by node id: c1 thread-id: 1",
				Evidence: history.Executed, Executed: sec(45.404), Answer: history.NotHeld},
			{ID: 10, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Renew, Lease: sec(30),
				Call: sec(50.422), Return: sec(50.428), Outcome: history.Renewed, Evidence: history.Executed, Executed: sec(50.425), Answer: history.Renewed},
			{ID: 11, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Renew, Lease: sec(30),
				Call: sec(60.428), Return: sec(60.434), Outcome: history.Renewed, Evidence: history.Executed, Executed: sec(60.431), Answer: history.Renewed},
			{ID: 8, Client: "c2", Owner: "c2:1", Lock: lockName, Kind: history.Unlock,
				Call: sec(60.5), Return: sec(60.507), Outcome: history.Released, Evidence: history.Executed, Executed: sec(60.503), Answer: history.Released},
		},
		Events: []history.Event{
			{At: sec(30.410), Kind: history.Expire, Lock: lockName, Owner: "c1:1"},
			{At: sec(45.408), Kind: history.Finished, Client: "c1"},
			{At: sec(60.507), Kind: history.Finished, Client: "c2"},
		},
		Faults: []history.Fault{{Index: 0, Kind: "pause-watchdog", Effects: []history.Effect{history.TimersStopped}, Client: "c1", From: sec(5), Hits: 4}},
		End:    &history.End{At: sec(75.400), Messages: 46, Trace: "9f2c61d0a7b3e845"},
	}
	serve := func(at float64, client string, step history.Step, op int64, text, reply string, before, after *history.KeyState) {
		s := history.Served{At: sec(at), Sent: sec(at - 0.003), Client: client, Conn: client + "#1", Step: step, Op: op,
			Text: text, Reply: reply, Got: sec(at + 0.003), Before: before, After: after}
		if after != nil {
			s.Lock, s.Owner = lockName, client+":1"
		}
		h.Served = append(h.Served, s)
	}
	free := &history.KeyState{}
	serve(0.1, "c1", history.StepSession, 0, "HELLO 3", "server redis", nil, nil)
	serve(0.2, "c2", history.StepSession, 0, "HELLO 3", "server redis", nil, nil)
	serve(0.410, "c1", history.StepAcquire, 1, "EVALSHA 4f… 1 order:42 30000 c1:1", "(nil)", free, held("c1:1", 1, 30.410))
	serve(2.004, "c2", history.StepAcquire, 3, "EVALSHA 4f… 1 order:42 30000 c2:1", "28406", held("c1:1", 1, 30.410), held("c1:1", 1, 30.410))
	serve(2.010, "c2", history.StepSubscribe, 3, "SUBSCRIBE redisson_lock__channel:{order:42}", "subscribe 1", nil, nil)
	serve(2.016, "c2", history.StepAcquire, 3, "EVALSHA 4f… 1 order:42 30000 c2:1", "28394", held("c1:1", 1, 30.410), held("c1:1", 1, 30.410))
	serve(30.415, "c2", history.StepAcquire, 3, "EVALSHA 4f… 1 order:42 30000 c2:1", "(nil)", free, held("c2:1", 1, 60.415))
	serve(40.421, "c2", history.StepRenew, 0, "EVALSHA 7a… 1 order:42 30000 c2:1", "1", held("c2:1", 1, 60.415), held("c2:1", 1, 70.421))
	serve(45.404, "c1", history.StepRelease, 7, "EVALSHA 9c… 2 order:42 redisson_lock__channel:{order:42} 0 30000 c1:1", "(nil)", held("c2:1", 1, 70.421), held("c2:1", 1, 70.421))
	serve(50.425, "c2", history.StepRenew, 0, "EVALSHA 7a… 1 order:42 30000 c2:1", "1", held("c2:1", 1, 70.421), held("c2:1", 1, 80.425))
	serve(60.431, "c2", history.StepRenew, 0, "EVALSHA 7a… 1 order:42 30000 c2:1", "1", held("c2:1", 1, 80.425), held("c2:1", 1, 90.431))
	serve(60.503, "c2", history.StepRelease, 8, "EVALSHA 9c… 2 order:42 redisson_lock__channel:{order:42} 0 30000 c2:1", "1", held("c2:1", 1, 90.431), free)

	death := checker.Cause{Class: contract.PausedHolder, Effects: []history.Effect{history.TimersStopped}, Faults: []int{0},
		Text: "the key expired at 30.410 s: last renewal at 0.410 s, the watchdog of c1 was paused from 5.000 s on"}
	v := &checker.Verdict{
		Version: checker.VerdictVersion, Scenario: "watchdog-death", Subject: "rlock-latch", World: "sim", Seed: 1,
		Ops: 11, Messages: 46, Virtual: sec(75.400), Trace: "9f2c61d0a7b3e845",
		Explanation: "c1:1 took order:42 at 0.410 s for 30 s and relied on its watchdog to renew the lease. The watchdog was paused at 5.000 s and never renewed it, so the key expired at 30.410 s while c1:1 worked on, and nobody told it. c2:1, which had waited since 2.001 s, got the lock 5 ms later. For 14.982 s both believed that order:42 was theirs, both wrote, and one of the two updates was lost. The unlock of c1:1 was refused, as it should be: the lock as an object did nothing wrong.",
		Results: []checker.Result{
			{Guarantee: contract.Object, Status: checker.Holds, Expected: checker.Holds, By: "witness replay",
				Summary: "Every answer of 4 calls on order:42 fits the sequential lease lock in the server's order."},
			{Guarantee: contract.Exclusion, Status: checker.Broken, Expected: checker.Broken, By: "beliefs",
				Summary: "c1:1 and c2:1 both believed to hold order:42 for 14.982 s.",
				Violations: []checker.Violation{{
					Rule: "at most one owner believes to hold a lock", Lock: lockName, From: sec(30.418), To: sec(45.400), Ops: []int64{3, 1}, Owners: []string{"c1:1", "c2:1"}, Call: history.Lock,
					Text: "c1:1 believed to hold order:42 from 0.413 s to 45.400 s, c2:1 from 30.418 s to 60.500 s", Cause: death, Ruling: assumed,
					Proof: &checker.Proof{Outcome: checker.Proved, Faults: []int{0}, Clean: true, Runs: 1,
						Text: "Run again without the pause of the watchdog of c1 from 5.000 s on: every guarantee holds."}}}},
			{Guarantee: contract.Effect, Status: checker.Broken, Expected: checker.Broken, By: "lost updates",
				Summary: "One of 2 updates was lost.",
				Violations: []checker.Violation{{
					Rule: "no update of the protected resource is lost", Lock: lockName, From: sec(40.001), To: sec(45.301), Ops: []int64{6, 5}, Owners: []string{"c1:1", "c2:1"},
					Text: "c1:1 wrote 1 at 45.300 s over the 1 that c2:1 wrote at 40.000 s: it had read 0 before", Cause: death, Ruling: assumed}}},
			{Guarantee: contract.Fencing, Status: checker.NotClaimed, Expected: checker.NotClaimed, Summary: "The lock grants no fencing tokens."},
			{Guarantee: contract.Watchdog, Status: checker.Broken, Expected: checker.Broken, By: "renewal gaps",
				Summary: "The lease of c1:1 was not renewed for 30.000 s; every 10.000 s is promised.",
				Violations: []checker.Violation{{
					Rule: "a living holder's lease is renewed in time", Lock: lockName, From: sec(10.420), To: sec(30.410), Ops: []int64{1}, Owners: []string{"c1:1"},
					Text: "no renewal for c1:1 came after 0.410 s; the first was due at 10.410 s", Cause: death, Ruling: assumed}}},
			{Guarantee: contract.Liveness, Status: checker.Holds, Expected: checker.Holds, By: "waits",
				Summary: "The one waiter got the lock 5.000 ms after it was free, and no key was left over."},
			{Guarantee: contract.Fairness, Status: checker.NotClaimed, Expected: checker.NotClaimed, Summary: "The lock promises no order."},
		},
		Story: []checker.Moment{
			{At: sec(0.413), Who: "c1:1", Text: "acquires order:42, lease 30.000 s, renewed by its watchdog", Weight: checker.Plain},
			{At: sec(2.001), Who: "c2:1", Text: "asks for order:42 and waits", Weight: checker.Plain},
			{At: sec(5), Who: "fault", Text: "the watchdog of c1 is paused", Weight: checker.Faulty},
			{At: sec(30.410), Who: "server", Text: "the key of order:42 expires under c1:1, which is not told", Weight: checker.Key},
			{At: sec(30.418), Who: "c2:1", Text: "acquires order:42: two owners now believe that it is theirs", Weight: checker.Breaking},
			{At: sec(40), Who: "c2:1", Text: "writes 1", Weight: checker.Plain},
			{At: sec(45.3), Who: "c1:1", Text: "writes 1 over it: an update is lost", Weight: checker.Breaking},
			{At: sec(45.408), Who: "c1:1", Text: "unlock is refused: it does not hold the lock", Weight: checker.Key},
			{At: sec(60.507), Who: "c2:1", Text: "releases order:42", Weight: checker.Plain},
		},
	}
	return h, v
}

// quiet is a run without faults in which n operations of several clients take turns.
func quiet(n int) (*history.History, *checker.Verdict) {
	h := &history.History{Header: history.Header{Version: history.Version, Clock: "virtual", World: "sim", Scenario: "baseline", Subject: "rlock-latch", Seed: 7}}
	at := 0.1
	for i := 0; i < n; i += 2 {
		client := fmt.Sprintf("c%d", 1+(i/2)%5)
		owner := client + ":1"
		lock, unlock := int64(i+1), int64(i+2)
		free := history.KeyState{}
		taken := held(owner, 1, at+30.004)
		h.Ops = append(h.Ops,
			history.Op{ID: lock, Client: client, Owner: owner, Lock: lockName, Kind: history.Lock, Lease: sec(30), Watchdog: true,
				Call: sec(max(0, at-0.9)), Return: sec(at + 0.007), Outcome: history.Acquired, Evidence: history.Executed, Executed: sec(at + 0.004), Answer: history.Acquired},
			history.Op{ID: unlock, Client: client, Owner: owner, Lock: lockName, Kind: history.Unlock,
				Call: sec(at + 0.2), Return: sec(at + 0.207), Outcome: history.Released, Evidence: history.Executed, Executed: sec(at + 0.203), Answer: history.Released})
		h.Served = append(h.Served,
			history.Served{At: sec(at + 0.004), Sent: sec(at), Client: client, Conn: client + "#1", Step: history.StepAcquire, Op: lock, Owner: owner, Lock: lockName,
				Text: "EVALSHA 4f… 1 order:42 30000 " + owner, Before: &free, After: taken, Reply: "(nil)", Got: sec(at + 0.007)},
			history.Served{At: sec(at + 0.203), Sent: sec(at + 0.2), Client: client, Conn: client + "#1", Step: history.StepRelease, Op: unlock, Owner: owner, Lock: lockName,
				Text: "EVALSHA 9c… 2 order:42 redisson_lock__channel:{order:42} 0 30000 " + owner, Before: taken, After: &free, Reply: "1", Got: sec(at + 0.207)})
		at += 0.25
	}
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	h.End = &history.End{At: sec(at), Messages: 4 * n, Trace: "00c0ffee"}
	v := &checker.Verdict{Version: checker.VerdictVersion, Scenario: "baseline", Subject: "rlock-latch", World: "sim", Seed: 7, Ops: n, Messages: 4 * n, Virtual: sec(at), Trace: "00c0ffee"}
	for _, g := range contract.Guarantees() {
		v.Results = append(v.Results, checker.Result{Guarantee: g, Status: checker.Holds, Summary: "It held."})
	}
	return h, v
}

// hostile is a run whose client chose its names to harm whoever reads the report.
func hostile() (*history.History, *checker.Verdict) {
	const lock = `</script><script>pwned=1</script><img src=x onerror=pwned=1>"'` + "`\u202egnol\u2028\x1b[31m\x00\xff"
	owner := "c1:" + strings.Repeat("lang", 2500)
	h := &history.History{
		Header: history.Header{Version: history.Version, World: "sim", Subject: "rlock-latch", Plan: json.RawMessage(`{"lock":"</script><b>\u202e"}`),
			Versions: map[string]string{"</dd><script>pwned=1</script>": "<b>"}},
		Ops: []history.Op{
			{ID: 1, Client: "c1", Owner: owner, Lock: lock, Kind: history.Lock, Call: sec(1), Return: sec(2), Outcome: history.Acquired},
			{ID: 2, Client: "c1", Owner: owner, Lock: lock, Kind: history.Unlock, Call: sec(3), Return: sec(4), Outcome: history.Failed, Error: "ERR </script><script>pwned=1</script> \x1b[31mred\u202e"},
		},
		Faults: []history.Fault{{Kind: "<svg onload=pwned=1>", Lock: lock, From: sec(2.5), To: sec(2.8)}},
		Served: []history.Served{{At: sec(1.5), Sent: sec(1.2), Got: sec(1.8), Client: "c1", Conn: "c1#1", Step: history.StepAcquire, Op: 1, Owner: owner, Lock: lock,
			Text: "EVAL </script><script>pwned=1</script>", Reply: "<b>\x07", After: &history.KeyState{Holdings: []history.Holding{{Owner: owner, Count: 1}}, Deadline: sec(31)}}},
		End: &history.End{At: sec(5)},
	}
	v := &checker.Verdict{Version: checker.VerdictVersion, Scenario: "<h1>no</h1>", Subject: "rlock-latch", World: "sim", Ops: 2, Virtual: sec(5),
		Explanation: "owner " + owner[:40] + " took </script><script>pwned=1</script>",
		Story:       []checker.Moment{{At: sec(1), Who: owner, Text: "takes " + lock, Weight: checker.Plain}},
		Results: []checker.Result{{Guarantee: contract.Object, Status: checker.Broken, Summary: "<script>pwned=1</script> \x1b[2J",
			Violations: []checker.Violation{{Rule: "<b>", Text: "</script><script>pwned=1</script>", From: sec(2), To: sec(3), Lock: lock, Cause: checker.Cause{Class: "<i>", Text: "\u202eevil"},
				Ruling: checker.Ruling{Kind: checker.KnownLimitation, Source: "<b>\u202e"},
				Proof:  &checker.Proof{Outcome: checker.ByItself, Text: "</script><script>pwned=1</script>\u202e"}}}}},
	}
	return h, v
}

// busy is a run with everything in it that a picture can show: two locks, five clients, re-entry,
// partitions, lost replies, an admin's delete, unknown outcomes.
func busy() (*history.History, *checker.Verdict) {
	h, v := quiet(60)
	h.Header.Scenario, v.Scenario = "explored", "explored"
	op := func(o history.Op) { o.ID = int64(len(h.Ops) + 1); h.Ops = append(h.Ops, o) }
	lock := func(owner, name string, call, ret float64, out history.Outcome) {
		op(history.Op{Client: owner[:2], Owner: owner, Lock: name, Kind: history.Lock, Lease: sec(5), Call: sec(call), Return: sec(ret), Outcome: out})
	}
	unlock := func(owner, name string, call, ret float64, out history.Outcome) {
		op(history.Op{Client: owner[:2], Owner: owner, Lock: name, Kind: history.Unlock, Call: sec(call), Return: sec(ret), Outcome: out})
	}
	serve := func(owner, name string, at float64, got float64, step history.Step, after *history.KeyState) {
		h.Served = append(h.Served, history.Served{At: sec(at), Sent: sec(at - 0.02), Got: sec(got), Client: owner[:2], Conn: owner[:2] + "#1", Step: step, Owner: owner, Lock: name, Text: "EVALSHA", After: after})
	}
	const stock = "stock:{7}"
	lock("c6:1", stock, 0.2, 0.24, history.Acquired)
	serve("c6:1", stock, 0.22, 0.24, history.StepAcquire, held("c6:1", 1, 5.22))
	lock("c6:1", stock, 1, 1.04, history.Acquired)
	serve("c6:1", stock, 1.02, 1.04, history.StepAcquire, held("c6:1", 2, 6.02))
	lock("c7:9", stock, 1.2, 4.55, history.Acquired)
	serve("c6:1", stock, 2.5, 0, history.StepRenew, held("c6:1", 2, 7.5))
	unlock("c6:1", stock, 2.8, 2.84, history.Decremented)
	serve("c6:1", stock, 2.82, 2.84, history.StepRelease, held("c6:1", 1, 7.82))
	h.Events = append(h.Events, history.Event{At: sec(4.4), Kind: history.Delete, Lock: stock})
	serve("c7:9", stock, 4.53, 4.55, history.StepAcquire, held("c7:9", 1, 9.53))
	unlock("c6:1", stock, 5.6, 6.2, history.Unknown)
	h.Ops[len(h.Ops)-1].Evidence = history.NotSent
	h.Ops[len(h.Ops)-1].Error = "i/o timeout"
	op(history.Op{Client: "c7", Owner: "c7:9", Lock: stock, Kind: history.Write, Value: 3, Token: 12, Call: sec(6), Return: sec(6.01), Outcome: history.OK})
	unlock("c7:9", stock, 6.9, 6.94, history.Released)
	serve("c7:9", stock, 6.92, 6.94, history.StepRelease, &history.KeyState{})
	lock("c8:1", stock, 6.95, 0, "")
	h.Events = append(h.Events, history.Event{At: sec(7.2), Kind: history.Died, Client: "c8"})
	h.Faults = append(h.Faults,
		history.Fault{Index: 0, Kind: "partition", Client: "c6", From: sec(2.2), To: sec(2.6), Step: "replies", Hits: 1},
		history.Fault{Index: 1, Kind: "delete-key", Lock: stock, From: sec(4.4), Hits: 1},
		history.Fault{Index: 2, Kind: "partition", Client: "c6", From: sec(5.4), To: sec(6.6), Hits: 3},
		history.Fault{Index: 3, Kind: "pause-client", Client: "c3", From: sec(3), To: sec(3.9)})
	slices.SortStableFunc(h.Ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortStableFunc(h.Served, func(a, b history.Served) int { return cmp.Compare(a.At, b.At) })
	v.Ops = len(h.Ops)
	v.Results[1] = checker.Result{Guarantee: contract.Exclusion, Status: checker.Broken, Expected: checker.Holds, By: "beliefs", Summary: "c6:1 and c7:9 both believed to hold stock:{7} for 1.050 s.",
		Violations: []checker.Violation{{Rule: "at most one owner believes to hold a lock", Text: "c6:1 believed to hold stock:{7} from 0.240 s to 5.600 s, c7:9 from 4.550 s to 6.900 s",
			Lock: stock, From: sec(4.55), To: sec(5.6), Owners: []string{"c6:1", "c7:9"},
			Cause:  checker.Cause{Class: contract.KeyLost, Effects: []history.Effect{history.KeyDeleted}, Text: "the key was deleted from outside at 4.400 s", Faults: []int{1}},
			Ruling: assumed}}}
	v.Results[4] = checker.Result{Guarantee: contract.Watchdog, Status: checker.Undecided, Summary: "The budget was spent."}
	v.Results[5] = checker.Result{Guarantee: contract.Liveness, Status: checker.Broken, Expected: checker.Holds, By: "waits", Summary: "c8:1 never got the free lock.",
		Violations: []checker.Violation{{Rule: "a free lock is granted promptly", Text: "stock:{7} was free from 6.920 s on", Lock: stock, From: sec(6.95), To: sec(7.5),
			Cause: checker.Cause{Class: contract.Unexplained, Text: "no fault explains it"}, Ruling: checker.Ruling{Kind: checker.Defect}}}}
	v.Story = []checker.Moment{
		{At: sec(2.2), Who: "fault", Text: "replies to c6 are lost", Weight: checker.Faulty}, {At: sec(2.6), Who: "fault", Text: "replies to c6 arrive again", Weight: checker.Faulty},
		{At: sec(4.4), Who: "fault", Text: "the key of stock:{7} is deleted from outside", Weight: checker.Key},
		{At: sec(4.55), Who: "c7:9", Text: "acquires stock:{7} while c6:1 believes to hold it", Weight: checker.Breaking},
	}
	return h, v
}

// assumed is the ruling on what faults brought about.
var assumed = checker.Ruling{Kind: checker.FailedAssumption, Row: "holder-not-renewed", Source: "the sample"}
