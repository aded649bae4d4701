package contract

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
)

// An Exemption is a reason for which a lock does not answer for a violation. It applies to a violation
// of its guarantees and rules whose cause has one of its classes and one of its effects. The cause is
// found from the history; it names an effect only if that effect touched what Touched says.
type Exemption struct {
	Name       string
	Guarantees []Guarantee
	Rules      []Rule           // empty: every rule of these guarantees
	Classes    []Class          // of the cause
	Effects    []history.Effect // of the cause, one of them; empty: the programs did it by themselves
	Touched    string           // what an effect must have touched, and when
	Unless     Claim            // a lock that makes this claim answers nevertheless; empty: none does
	Source     string           // who says that no such lock can stand it
}

// Applies reports whether the exemption is for such a violation, whatever the lock claims.
func (e Exemption) Applies(g Guarantee, r Rule, c Class, effects []history.Effect) bool {
	return slices.Contains(e.Guarantees, g) && (len(e.Rules) == 0 || slices.Contains(e.Rules, r)) && slices.Contains(e.Classes, c) &&
		(len(e.Effects) == 0 || slices.ContainsFunc(effects, func(x history.Effect) bool { return slices.Contains(e.Effects, x) }))
}

// Exemptions is the table, in the order in which rows are tried.
func Exemptions() []Exemption {
	const (
		kleppmann = "M. Kleppmann, How to do distributed locking, 2016"
		distlock  = "redis.io, Distributed Locks with Redis"
		redisson  = "Redisson's documentation of RLock: the lease, and lockWatchdogTimeout"
		goredis   = "go-redis, Options.MaxRetries: a command is sent again after a network error"
		pubsub    = "redis.io, Redis Pub/Sub: at most once"
		failover  = "redis.io, Redis replication: asynchronous"
	)
	mutual, resending := []Guarantee{Exclusion, Effect}, history.Resends()
	queueRules := []Rule{QueueOrder, QueueBusy, FreeIsTaken, FreshGets, HealedCallsReturn}
	untold := append(history.TouchesKey(), history.ServerForgot)
	return []Exemption{
		{Name: "lease-outlived", Guarantees: mutual, Classes: []Class{LeaseOutlived},
			Touched: "the holder asked for a lease, and went on working when that was over", Unless: TellsLoss, Source: redisson},
		{Name: "holder-stopped", Guarantees: mutual, Classes: []Class{PausedHolder}, Effects: []history.Effect{history.ProcessStopped},
			Touched: "the process of the first holder, which did not run when its lease ended nor while another held the lock", Source: kleppmann},
		{Name: "holder-not-renewed", Guarantees: mutual, Classes: []Class{PausedHolder, CutOff, ServerAway, LostMessage},
			Effects: history.HindersTimers(),
			Touched: "the client of the first holder, between two renewals, for so long that it had no opportunity to renew in time",
			Unless:  TellsLoss, Source: kleppmann},
		{Name: "key-touched", Guarantees: mutual, Classes: []Class{KeyLost},
			Effects: history.TouchesKey(),
			Touched: "the key of the lock, while the first holder held it", Source: redisson},
		{Name: "forced-free", Guarantees: mutual, Classes: []Class{Forced}, Effects: []history.Effect{history.ForcedFree},
			Touched: "the lock, while the first holder held it", Source: "Redisson's documentation of forceUnlock"},
		{Name: "server-forgot", Guarantees: []Guarantee{Exclusion, Effect, Liveness}, Classes: []Class{ServerLost},
			Effects: []history.Effect{history.ServerForgot}, Touched: "the server of the lock, while the first holder held it, or after it gave a call back that came later", Source: failover},
		{Name: "counter-lost", Guarantees: []Guarantee{Fencing}, Classes: []Class{ServerLost}, Effects: []history.Effect{history.ServerForgot},
			Touched: "the server of the lock, between two tokens", Unless: TokensGoOn, Source: "Redisson's documentation of RFencedLock: the counter is a key"},
		{Name: "counter-lost-at-once", Guarantees: []Guarantee{Fencing}, Classes: []Class{WithinUnit}, Effects: []history.Effect{history.ServerForgot},
			Touched: "the server of the lock, between two tokens that it gave within `tokenUnit`", Source: "docs/lock.md: a lost counter starts again at the server's time, in units"},
		{Name: "counter-behind", Guarantees: []Guarantee{Fencing}, Classes: []Class{ReplicaBehind}, Effects: []history.Effect{history.ServerForgot},
			Touched: "the server of the lock, between two tokens, by a replica that took over", Source: failover},
		{Name: "token-kept", Guarantees: []Guarantee{Fencing}, Rules: []Rule{TokensIncrease}, Classes: []Class{KeptToken},
			Effects: []history.Effect{history.ServerForgot, history.ClockMoved},
			Touched: "the server of the lock, which forgot a hold and its request: a copy took it again, nobody heard the token of that, and its owner, who was not told, re-enters",
			Source:  failover},
		{Name: "clock-moved", Guarantees: []Guarantee{Exclusion, Effect, Object, Liveness}, Classes: []Class{ClockJumped}, Effects: []history.Effect{history.ClockMoved},
			Touched: "the server of the lock, while the first holder held it, between two effects of one call, or after it gave a call back that came later; at any time before, " +
				"if the lock's clients tell the server when a lease ends and not how long it lasts", Source: distlock},
		{Name: "forgot-unread", Guarantees: []Guarantee{Exclusion, Effect, Object, Liveness}, Classes: []Class{Unread}, Effects: append(history.TouchesKey(), history.ServerForgot),
			Touched: "the keys or the server of a lock that is judged by its answers alone, at any time before: what was left nobody could read", Source: failover},
		{Name: "memory-lost", Guarantees: []Guarantee{Object}, Rules: []Rule{AtMostOnce, WithinCall, ToldTheTruth, DrainsAll, FailedIsVoid}, Classes: []Class{ServerLost},
			Effects: []history.Effect{history.ServerForgot},
			Touched: "the server of the lock, between two effects of one call", Source: failover},
		{Name: "held-again", Guarantees: []Guarantee{Object}, Rules: []Rule{HolderNotRefused, LeaseIsSet, AnswerHasRoot, EffectIsThere, ReturnsAtZero}, Classes: []Class{ServerLost}, Effects: []history.Effect{history.ServerForgot},
			Touched: "the server of the lock, which has a hold again that its owner had given back, or more of it than its owner knows of, or another round of a latch " +
				"than a waiter had asked for", Source: failover},
		{Name: "refused-copy", Guarantees: []Guarantee{Object, Liveness}, Rules: []Rule{FailedIsVoid, ToldTheTruth, WithinCall, GhostIsGone, PermitsComeBack, DownsCount}, Classes: []Class{RefusedCopy},
			Effects: []history.Effect{history.RequestRefused},
			Touched: "one copy of the request, which the server refused; it executed another, which the client had not sent before", Source: "docs/lock.md: a server remembers nothing of what it refuses"},
		{Name: "sent-again", Guarantees: []Guarantee{Object}, Rules: []Rule{AtMostOnce, WithinCall, ToldTheTruth, DrainsAll, FailedIsVoid, GrantHasMembers},
			Classes: []Class{DoubleExecution, LostMessage}, Effects: resending,
			Touched: "the client of the call, between the call and its last effect", Unless: Idempotent, Source: goredis},
		{Name: "refusal-lost", Guarantees: []Guarantee{Object}, Rules: []Rule{ToldTheTruth}, Classes: []Class{RefusalLost}, Effects: resending,
			Touched: "the client of an unlock that found nothing to give back, between the call and its last copy", Unless: RefusesAgain,
			Source: "Redisson 4.7.0, RReadWriteLock: the unlock of a lock that is free answers null, and leaves 1 for its copies"},
		{Name: "perhaps-sent-again", Guarantees: []Guarantee{Object, Exclusion, Liveness}, Classes: []Class{MaybeTwice}, Effects: resending,
			Touched: "the client of a call under way, whose connection broke, or of which the server executed a command twice; a second effect explains what is seen", Unless: Idempotent, Source: goredis},
		{Name: "held-twice", Guarantees: []Guarantee{Exclusion, Effect, Watchdog, Liveness, Fencing}, Classes: []Class{DoubleExecution}, Effects: resending,
			Touched: "the client of a call on that lock that took effect more than once", Unless: Idempotent, Source: goredis},
		{Name: "held-unheard", Guarantees: []Guarantee{Object}, Rules: []Rule{HolderNotRefused}, Classes: []Class{DoubleExecution}, Effects: resending,
			Touched: "the client of the call that took all that the owner holds by a copy of its request, of which nobody heard", Unless: Idempotent, Source: goredis},
		{Name: "lease-unheard", Guarantees: []Guarantee{Object}, Rules: []Rule{LeaseIsSet}, Classes: []Class{UnheardCopies}, Effects: resending,
			Touched: "the client of an unlock that leaves a hold, whose owner holds what copies of its requests took, of which nobody heard", Unless: Idempotent, Source: goredis},
		{Name: "not-told", Guarantees: []Guarantee{Object, Liveness}, Rules: []Rule{HolderNotRefused, BusyWhileHeld, OwnerReenters, UnlockEndsHold, GhostIsGone, PermitsComeBack, DownsCount}, Classes: []Class{Untold}, Effects: resending,
			Touched: "the client of a call that took the lock, or was to give it back, between the call and its return", Unless: TakesBack, Source: distlock},
		{Name: "given-up", Guarantees: []Guarantee{Object, Liveness}, Rules: []Rule{HolderNotRefused, BusyWhileHeld, OwnerReenters, UnlockEndsHold, PermitsComeBack, DownsCount}, Classes: []Class{Abandoned},
			Touched: "the call, whose context ended while it was under way", Unless: TakesBack, Source: distlock},
		{Name: "given-up-late", Guarantees: []Guarantee{Exclusion, Effect, Watchdog, Fencing}, Classes: []Class{Abandoned},
			Touched: "an unlock, whose context ended while it was under way, and which the server executed when its owner had locked again",
			Unless:  TakesBack, Source: distlock},
		{Name: "unlocked-late", Guarantees: []Guarantee{Exclusion, Effect, Watchdog, Fencing}, Classes: []Class{Untold}, Effects: resending,
			Touched: "the client of an unlock, whose caller was not told, and which the server executed when its owner had locked again",
			Unless:  TakesBack, Source: distlock},
		{Name: "member-unlocked-late", Guarantees: []Guarantee{Object}, Rules: []Rule{GrantHasMembers}, Classes: []Class{Untold}, Effects: resending,
			Touched: "the client of an earlier call of the owner, whose caller was not told: a member came back by it, or by its client in the background, when its owner had taken it again",
			Unless:  TakesBack, Source: distlock},
		{Name: "member-given-up-late", Guarantees: []Guarantee{Object}, Rules: []Rule{GrantHasMembers}, Classes: []Class{Abandoned},
			Touched: "an earlier call of the owner, whose context ended: a member came back by it, or by its client in the background, when its owner had taken it again",
			Unless:  TakesBack, Source: distlock},
		{Name: "repeated-in-vain", Guarantees: []Guarantee{Liveness}, Rules: []Rule{PermitsComeBack, DownsCount}, Classes: []Class{PausedHolder, CutOff, ServerAway, LostMessage},
			Effects: history.HindersTimers(),
			Touched: "the client of the call, for so long that it had no opportunity within twice the time for which its lock claims to be idempotent: " +
				"whoever repeats a request for longer than a server remembers it counts it twice", Source: "docs/family.md: release, and count-down, outcome unknown"},
		{Name: "member-touched", Guarantees: []Guarantee{Object}, Rules: []Rule{HolderHasEnough, OneHoldAnUnlock}, Classes: []Class{KeyLost}, Effects: untold,
			Touched: "the key of a member that the unlock left alone, within the lease that its client counts on", Source: distlock},
		{Name: "member-shortened", Guarantees: []Guarantee{Object}, Rules: []Rule{HolderHasEnough, OneHoldAnUnlock}, Classes: []Class{Untold}, Effects: resending,
			Touched: "the client of an earlier call, which set a shorter lease on a member and was not told; the unlock left that member alone, within the lease that its client counts on",
			Unless:  KeepsLongest, Source: distlock},
		{Name: "renewed-late", Guarantees: mutual, Classes: []Class{RenewedLate},
			Touched: "a renewal that the holder's client had begun in an earlier hold of it, and that set the lease of this one",
			Unless:  KeepsLongest, Source: "Redisson, RedissonBaseLock.renewExpirationAsync: it asks only whether the owner holds the lock"},
		{Name: "lengthened-late", Guarantees: []Guarantee{Watchdog}, Rules: []Rule{NoRenewalAsked}, Classes: []Class{RenewedLate},
			Touched: "a renewal that the holder's client had begun in an earlier hold of it, and that lengthened the explicit lease of this one",
			Unless:  KeepsLongest, Source: "Redisson, RedissonBaseLock.renewExpirationAsync: it asks only whether the owner holds the lock"},
		{Name: "late-write", Guarantees: []Guarantee{Effect}, Classes: []Class{LateWrite},
			Touched: "the write, which its owner did not wait for", Source: kleppmann},
		{Name: "no-opportunity", Guarantees: []Guarantee{Watchdog}, Rules: []Rule{RenewedInTime}, Classes: []Class{PausedHolder, CutOff, ServerAway, LostMessage},
			Effects: history.HindersTimers(),
			Touched: "the client of the holder, between two renewals, for so long that it had no opportunity to renew in time", Source: redisson},
		{Name: "waiter-hindered", Guarantees: []Guarantee{Liveness}, Rules: []Rule{FreeIsTaken, PermitsAreTaken, AwaitReturns},
			Classes: []Class{PausedHolder, CutOff, ServerAway, LostMessage}, Effects: history.Hinders(),
			Touched: "the client of the waiter, for so long that it had no opportunity to act in time", Source: pubsub},
		{Name: "wake-up-taken", Guarantees: []Guarantee{Liveness}, Rules: []Rule{FreeIsTaken}, Classes: []Class{WakeTaken}, Effects: history.Hinders(),
			Touched: "another client, which had waited longer by a blocking command when a call freed the lock, and had no opportunity to pass the wake-up on",
			Source:  "Redis documentation of BLPOP: the element goes to the client that has waited longest"},
		{Name: "request-lost", Guarantees: []Guarantee{Liveness}, Rules: []Rule{Unsubscribed}, Classes: []Class{LostMessage}, Effects: []history.Effect{history.MessageLost},
			Touched: "the client of the subscription, at any time before: what was lost may have been the request that ends it", Source: pubsub},
		{Name: "message-missed", Guarantees: []Guarantee{Liveness}, Rules: []Rule{PermitsAreTaken, AwaitReturns}, Classes: []Class{Missed}, Effects: append(history.Hinders(), untold...),
			Touched: "the client of a waiter, since it began to wait, so that it may have missed a message, or the key of a latch, of which nobody sends one: it hears by messages alone",
			Unless:  LooksAgain, Source: pubsub},
		{Name: "woke-another", Guarantees: []Guarantee{Liveness}, Rules: []Rule{PermitsAreTaken}, Classes: []Class{WokeAnother},
			Touched: "another waiter of the same client, who was told first to wait (called first, where nobody saw that), and asks for more than was free", Unless: WakesByNeed,
			Source: "Redisson 4.7.0, RSemaphore: a message of m permits wakes m waiters, whatever they ask for"},
		{Name: "set-again", Guarantees: []Guarantee{Liveness}, Rules: []Rule{AwaitReturns, WaitsQuietly}, Classes: []Class{SetAgain},
			Touched: "the latch, which was set again when its count was 0, before a waiter looked, or before a message of zero came to it", Unless: Rounds,
			Source: "Redisson 4.7.0, RCountDownLatch: a waiter asks whether the count is 0 now, and a message of zero has it ask until one of a count comes"},
		{Name: "latch-deleted", Guarantees: []Guarantee{Liveness}, Rules: []Rule{AwaitReturns}, Classes: []Class{DeletedLatch},
			Touched: "the latch, which a client deleted while others waited for it", Unless: TellsDeletion,
			Source: "Redisson 4.7.0, RedissonCountDownLatch.deleteAsync: it publishes what a set publishes, by which nobody wakes"},
		{Name: "other-hold", Guarantees: []Guarantee{Exclusion, Effect, Watchdog, Liveness}, Classes: []Class{OtherHold},
			Touched: "another hold of the same read-write lock, also of the same owner, while the first holder held it: a call on it set the key's end, or ended the watchdog of its owner", Unless: LeasePerHold,
			Source: "Redisson 4.7.0, RReadWriteLock: one key has one time to live for all holds, and a read unlock sets that of the readers"},
		{Name: "force-ends-renewals", Guarantees: []Guarantee{Exclusion, Effect, Watchdog}, Classes: []Class{ForceUnrenewed},
			Touched: "the client of the holder, which asked to force the lock free: it renews no hold of the lock any more, whatever became of that", Unless: RenewsOn,
			Source: "Redisson 4.7.0, forceUnlockAsync of RedissonLock, RedissonReadLock and RedissonWriteLock: the renewals end before the server is asked"},
		{Name: "downgraded", Guarantees: []Guarantee{Liveness}, Rules: []Rule{FreeIsTaken}, Classes: []Class{Downgraded},
			Touched: "the read-write lock, whose writer gave the write lock back while it read", Unless: TellsDowngrade,
			Source: "Redisson 4.7.0, RedissonWriteLock: an unlock of a writer that reads on publishes nothing"},
		{Name: "queue-lost", Guarantees: []Guarantee{Fairness, Liveness}, Rules: queueRules, Classes: []Class{ServerLost, ClockJumped},
			Effects: []history.Effect{history.ServerForgot, history.KeyDeleted, history.ClockMoved},
			Touched: "all keys of the lock's server, or its clock by so much that a place may have been over, while somebody waited", Source: failover},
		{Name: "place-over", Guarantees: []Guarantee{Fairness, Liveness}, Rules: []Rule{QueueOrder, FreeIsTaken}, Classes: []Class{PlaceOver},
			Touched: "the place of the waiter, which another's command dropped", Unless: KeepsPlace,
			Source: "Redisson 4.7.0, RedissonFairLock: a place has one deadline, which its owner does not move by asking again"},
		{Name: "place-not-kept", Guarantees: []Guarantee{Fairness, Liveness}, Rules: []Rule{QueueOrder, FreeIsTaken}, Classes: []Class{PausedHolder, CutOff, ServerAway, LostMessage},
			Effects: history.Hinders(),
			Touched: "the client of the waiter, for so long that it had no opportunity to ask within `placeKept`", Source: "docs/family.md: a place that nobody keeps is free"},
		{Name: "place-left", Guarantees: []Guarantee{Fairness, Liveness}, Rules: queueRules, Classes: []Class{PlaceLeft},
			Touched: "another, who waited before and waits no more, and whose place may be kept until its deadline", Unless: LeavesLine, Source: "Redisson #6150"},
		{Name: "place-ahead", Guarantees: []Guarantee{Liveness}, Rules: []Rule{WaitsQuietly}, Classes: []Class{PlaceAhead},
			Touched: "the waiter, each of whose attempts beyond the hundred found the lock free, and the place of another before", Unless: KeepsPlace,
			Source: "Redisson 4.7.0, RedissonFairLock: who is not next is told to wait for the time to live of the lock, 0 ms when that is free"},
		{Name: "place-kept", Guarantees: []Guarantee{Fairness, Liveness}, Rules: queueRules, Classes: []Class{PlaceLeft},
			Effects: append(history.Resends(), history.ProcessDied),
			Touched: "the client of another, who waited before and waits no more: it could not say so, and `placeKept` after it last asked was not over when the lock became free, or is not over", Source: "docs/family.md: the head of the queue is dead"},
		{Name: "clients-clock", Guarantees: []Guarantee{Object, Exclusion, Liveness}, Classes: []Class{ClientsClock},
			Touched: "a client of the semaphore, which told the server the time: its clock was ahead, or the request came late, and the lease of a permit ended in between",
			Unless:  ServerClock, Source: "docs/family.md: a client's clock is ahead, or its request is late"},
		{Name: "counter-of-permits-lost", Guarantees: []Guarantee{Object, Exclusion}, Classes: []Class{CounterLost}, Effects: history.TouchesKey(),
			Touched: "the key of the free permits, while some were out, of which the server knew on",
			Unless:  OneKey, Source: "docs/family.md: the counter is evicted, and set anew"},
		{Name: "one-reclaimed", Guarantees: []Guarantee{Object}, Rules: []Rule{PermitsAreFew}, Classes: []Class{ReclaimedOne},
			Touched: "the semaphore, whose counter was below 0 since permits had been taken away, so that one permit whose lease was over made up for that alone",
			Unless:  ServerClock, Source: "Redisson 4.7.0, RedissonPermitExpirableSemaphore: an acquire takes back as many permits whose leases are over as it asks for"},
		{Name: "holder-died", Guarantees: []Guarantee{Liveness}, Rules: []Rule{DeadPermits}, Classes: []Class{HolderDied}, Effects: []history.Effect{history.ProcessDied},
			Touched: "the client that had the permits", Source: "Redisson #2045 and #2213: permits without a lease stay out, by design"},
		{Name: "paused-in-acquire", Guarantees: []Guarantee{Object}, Rules: []Rule{ValidityLeft}, Classes: []Class{PausedHolder}, Effects: []history.Effect{history.ProcessStopped},
			Touched: "the process of the caller, between the last answer that it counts on and the return of its call", Source: kleppmann},
		{Name: "unannounced", Guarantees: []Guarantee{Liveness}, Rules: []Rule{FreeIsTaken, AwaitReturns, PermitsAreTaken}, Classes: []Class{Unannounced},
			Touched: "the waiter, which waits for the lease that it was told of, or until it looks again, though the lock became free before", Source: redisson},
	}
}
