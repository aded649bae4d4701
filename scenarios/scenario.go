package scenarios

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Scenario is one named story.
type Scenario struct {
	Name   string
	Title  string // one line
	Story  string // who, what, when, and why it ends as it does
	Source string // issue, paper, test, or seed it comes from
	// Reentry says what its re-entries are to a lock that is not reentrant.
	Reentry Reentry
	// Of is a claim without which a lock has no part in the story; empty: it needs none.
	Of contract.Claim
	// Drawn says that the plan is another for each seed. What it shows of a lock that keeps an order for some waits only depends on
	// these, so that nobody can foretell it.
	Drawn bool
	// Sweep says that it is many stories at once, to reach every step of the protocol. It foretells
	// how our own locks fare; of another's limitations it would tell all at once, and excuse none.
	Sweep bool
	// Plan makes the run. Equal seeds give equal plans; most stories ignore the seed, which then
	// decides only latencies and the small waits of programs.
	Plan func(seed uint64) *plan.Plan
	// Breaks names the guarantees that the story is expected to break for a lock of ours with the claims
	// that can reports. The others are expected to hold, or not to be claimed.
	Breaks func(can func(claim string) bool) []contract.Guarantee
}

// All is the registry of the stories of locks that promise no order, in the order of the catalogue; [Everything] has those of
// fair locks and of other objects, too.
func All() []Scenario {
	return []Scenario{
		baseline,
		watchdogDeath,
		watchdogPauseShort,
		gcPause,
		gcPauseFenced,
		holderCrash,
		partitionHolder,
		partitionReplies,
		keyExpiry,
		keyDeleted,
		forceUnlockScenario,
		nonOwnerUnlock,
		oldOwnerUnlock,
		lostAcquireReply,
		lostUnlockReply,
		lostUnlockReplyReentrant,
		delayedDuplicateUnlock,
		lostUnlockMessage,
		subscribeRace,
		closedConnections,
		immortalWatchdog,
		renewalOutlivesUnlock,
		renewalError,
		batchPoison,
		leaseMixing,
		innerLease,
		explicitLease,
		canceledWaiter,
		trylockTimeoutGhost,
		manyWaiters,
		deadWaiterGrant,
		scriptFlush,
		serverErrors,
		slowServerScenario,
		restartEmpty,
		clockJumpScenario,
		failoverAsync,
		failoverWait,
		failoverOldHolder,
		multilockPartial,
		multilockElapsed,
		multilockUnlockPartial,
		multilockDeadlock,
		redlockPause,
		redlockClockJump,
		redlockRestart,
		redlockMinorityDown,
		redlockPauseInAcquire,
		redlockSplitVote,
		delayedWrite,
		ghostAcquire,
		sameOwnerRetry,
		sharedHandle,
		fenceReset,
		redisDown,
		sweepDrop,
		sweepDelay,
		sweepDuplicate,
		sweepReorder,
		sweepError,
		sweepSlow,
	}
}

// Stories are all about objects of a kind that tell a single story: what any such object can be held to.
func Stories(is history.Object) []Scenario {
	return slices.DeleteFunc(Of(is), func(s Scenario) bool { return s.Sweep })
}

// Find returns the scenario of that name.
func Find(name string) (Scenario, bool) {
	all := Everything()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// Names returns the names of all scenarios, in the order of the catalogue.
func Names() []string {
	var names []string
	for _, s := range Everything() {
		names = append(names, s.Name)
	}
	return names
}

const (
	object    = contract.Object
	exclusion = contract.Exclusion
	effect    = contract.Effect
	fencing   = contract.Fencing
	watchdog  = contract.Watchdog
	liveness  = contract.Liveness
	fairness  = contract.Fairness
)

// nothing is expected to break.
func nothing(func(string) bool) []contract.Guarantee { return nil }

// breaks builds an expectation: what breaks for all locks, and what only for those that do not tell their
// holder of a loss.
func breaks(all []contract.Guarantee, silent []contract.Guarantee) func(func(string) bool) []contract.Guarantee {
	return either(contract.TellsLoss, all, append(slices.Clone(all), silent...))
}

// either builds an expectation: what breaks for locks that make a claim, and what for the others.
func either(claim contract.Claim, with, without []contract.Guarantee) func(func(string) bool) []contract.Guarantee {
	return func(can func(string) bool) []contract.Guarantee {
		if can(string(claim)) {
			return with
		}
		return without
	}
}

// queued builds an expectation: what breaks for fair locks, and for those of them that keep the places of who waits no more, and
// what for locks that promise no order.
func queued(otherwise func(func(string) bool) []contract.Guarantee, leaving, staying []contract.Guarantee) func(func(string) bool) []contract.Guarantee {
	return func(can func(string) bool) []contract.Guarantee {
		switch {
		case !can(string(contract.Fair)):
			return otherwise(can)
		case can(string(contract.LeavesLine)):
			return leaving
		}
		return staying
	}
}

// inTurn adds to an expectation that places are kept of who waits no more, unless the lock claims that they are not.
func inTurn(breaks func(func(string) bool) []contract.Guarantee) func(func(string) bool) []contract.Guarantee {
	return func(can func(string) bool) []contract.Guarantee {
		if can(string(contract.Fair)) && !can(string(contract.LeavesLine)) {
			return append(slices.Clone(breaks(can)), fairness)
		}
		return breaks(can)
	}
}

// forgets adds to an expectation that the server loses the counter of tokens, which begins again unless the lock
// claims that it does not.
func forgets(breaks func(func(string) bool) []contract.Guarantee) func(func(string) bool) []contract.Guarantee {
	return func(can func(string) bool) []contract.Guarantee {
		if can(string(contract.Fences)) && !can(string(contract.TokensGoOn)) {
			return append(slices.Clone(breaks(can)), fencing)
		}
		return breaks(can)
	}
}

// story makes a plan of version and name.
func story(s string, faults []plan.Fault, clients ...plan.Client) *plan.Plan {
	return &plan.Plan{Version: plan.Version, Name: s, Clients: clients, Faults: faults}
}

// client is one with a single thread.
func client(name string, start time.Duration, steps ...plan.Step) plan.Client {
	return plan.Client{Name: name, Threads: []plan.Thread{{ID: 1, Start: plan.Duration(start), Steps: steps}}}
}

// The lock that the stories are about.
const order = "order:42"

func lock() plan.Step { return plan.Step{Do: plan.Lock, Lock: order} }
func tryLock(wait, lease time.Duration) plan.Step {
	return plan.Step{Do: plan.TryLock, Lock: order, Wait: plan.Duration(wait), Lease: plan.Duration(lease)}
}
func unlock() plan.Step { return plan.Step{Do: plan.Unlock, Lock: order} }
func work(d time.Duration) plan.Step {
	return plan.Step{Do: plan.Work, Lock: order, For: plan.Duration(d)}
}
func sleep(d time.Duration) plan.Step { return plan.Step{Do: plan.Sleep, For: plan.Duration(d)} }
