package contract

// Rule is one rule of a guarantee: a stable sentence without names or times, so that many
// violations can be counted by it.
type Rule string

// The rules of object that package model has: what a reentrant lock with leases may answer.
const (
	OneHolder        Rule = "a lock that one owner holds is granted to no other"
	BusyWhileHeld    Rule = "busy is said only while another owner holds the lock"
	OwnerReenters    Rule = "an owner is not refused the lock it holds"
	HolderReleases   Rule = "only the holder's unlock frees the lock"
	OneHoldAnUnlock  Rule = "one unlock gives back one hold"
	HolderNotRefused Rule = "the holder's unlock is not refused"
	ForceTellsTruth  Rule = "a forced unlock answers whether it freed the lock"
	HolderRenews     Rule = "only the holder's lease is renewed"
	RenewalNotDenied Rule = "the holder's renewal is not refused"
	QueryTellsTruth  Rule = "a query answers what the lock is"
	NotBeforeLease   Rule = "a hold lasts at least as long as its lease"
	NotAfterLease    Rule = "a hold lasts no longer than its lease"
	ExpiryOfAHold    Rule = "only a held lock expires"
	NoReentry        Rule = "a lock that is held is granted to nobody, its holder included"
)

// The rules of object that the model of a lock of several members has.
const (
	EnoughMembers   Rule = "a grant needs enough members that are free or its owner's"
	BusyFewMembers  Rule = "busy is said only while others hold too many members"
	HolderHasEnough Rule = "only who holds enough members gives the lock back"
	NotHeldIsTrue   Rule = "who holds enough members is not told that it holds none"
)

// The rules of locks that are made of others. They are judged where the server log shows the members.
const (
	// GrantHasMembers is broken by a grant whose owner holds fewer members than a hold needs, though nothing
	// took one away from it. (object)
	GrantHasMembers Rule = "who is granted a group holds enough of its members"
	// ReentryCounts is broken by a grant that did not count one hold more on enough members. (object)
	ReentryCounts Rule = "a grant of a group counts on enough of its members"
	// ValidityLeft is broken by a grant that is returned when the leases of too many members are over, counted
	// from when the requests were sent: Redlock's validity (redis.io, "Distributed Locks with Redis"). (object)
	ValidityLeft Rule = "a grant of a group is returned while enough members' leases last"
	// MemberLease is broken by a member whose lease is not the one that was asked for: longer is allowed only
	// in a re-entry of a lock that keeps the longest. Of such a lock an unlock breaks it, too, that leaves a member less than a hold has
	// that stays. (object)
	MemberLease Rule = "each member of a group gets the lease that was asked for"
	// RefusedWhileTaken is broken by a tryLock that fails while all along enough members were free or its own. (object)
	RefusedWhileTaken Rule = "a group is refused only while others hold too many of its members"
	// AllOrNone is broken by an attempt that was not granted and leaves a hold on a member. (liveness)
	AllOrNone Rule = "who is not granted a group keeps none of its members"
	// EveryMemberReleased is broken by an unlock that leaves a member's hold as it was, whatever became of
	// the other members. (liveness)
	EveryMemberReleased Rule = "an unlock of a group gives back each member that its owner holds"
	// SharedMember is broken by owners who believe at once in two locks that need a member in common. (exclusion)
	SharedMember Rule = "no two owners believe at once in locks that need the same member"
)

// The rules of object that are about one call, or about what the server log shows of the key.
const (
	AtMostOnce     Rule = "a call takes effect at most once"
	WithinCall     Rule = "a call takes effect between its call and its return"
	ToldTheTruth   Rule = "a caller is told what its call did"
	FailedIsVoid   Rule = "a call that failed had no effect"
	AnswerHasRoot  Rule = "an answer comes from the server"
	EffectIsThere  Rule = "who is told that a call took effect finds that it did"
	KeyFits        Rule = "the key is what the answers say"
	LeaseIsSet     Rule = "a call sets the key's time to live to its lease"
	RenewalKeeps   Rule = "a renewal does not shorten the lease of a lock that keeps the longest"
	Linearizable   Rule = "the history of a lock has an order that the sequential lock allows"
	UnlockIsNoLoss Rule = "nobody is told that its own unlock is a loss"
	NotToldEarly   Rule = "nobody is told of a loss while the lock is its own and it can know that"
	HolderLetIn    Rule = "a holder that asks for a reentrant lock again does not wait for it"
)

// The rules of the other guarantees.
const (
	OneBeliever Rule = "no two owners believe at once that they hold a lock, unless both read"
	ToldInTime  Rule = "a holder is told that its hold is over when it can know"

	// ReadsAgree is broken by two reads under one read lock between which another wrote. (effect)
	ReadsAgree   Rule = "nobody writes between two reads under one read lock"
	NoLostUpdate Rule = "nobody writes between the read and the write of a critical section"

	TokenGiven     Rule = "every grant carries a token"
	TokensIncrease Rule = "the token of a grant is greater than that of every grant before"
	StaleRefused   Rule = "the resource refuses a stale token"
	FreshAccepted  Rule = "the resource refuses no token but stale ones"

	RenewedInTime   Rule = "while a holder without an explicit lease lives, its lease is renewed in time"
	NoRenewalAfter  Rule = "a hold that has ended for its owner is not renewed"
	NoRenewalOnceNo Rule = "after a renewal was refused there is no other"
	NoRenewalByDead Rule = "a dead client renews nothing"
	NoRenewalAsked  Rule = "a hold with an explicit lease is not renewed"

	FreeIsTaken    Rule = "a free lock that somebody waits for is taken promptly"
	WaitsItsTime   Rule = "tryLock does not give up before its time"
	ReturnsInTime  Rule = "tryLock returns soon after its time"
	GivenUpReturns Rule = "a call that its caller gives up returns at once"
	DeadHoldEnds   Rule = "the hold of a dead client ends with its lease"
	UnlockEndsHold Rule = "a hold ends with its owner's last unlock"
	WriterIsNext   Rule = "no reader is let in before a writer that waits and is to be first"
	GhostIsGone    Rule = "what a call took whose caller was not told is given back"
	Unsubscribed   Rule = "a subscription that nobody needs is given back"
	CallsReturn    Rule = "every call of a live client returns"
	CallsSucceed   Rule = "a call ends in an error only if something kept it from its end"
	KeysHaveAnEnd  Rule = "no key is left without a time to live"
	// The rules of the phase in which no fault acts any more; see history.Healed.
	HealedCallsReturn Rule = "once everything is healed, every call returns"
	FreshGets         Rule = "a fresh client can lock and unlock every lock that nobody holds"
	WaitsQuietly      Rule = "a waiter asks the server at most a hundred times a second"
)

// The rules of semaphores, besides those of their sequential specification.
const (
	// NoMoreOut is broken by callers who believe at once that they have more permits than were set. (exclusion)
	NoMoreOut Rule = "no more permits are out than there are"
	// PermitsAreTaken is broken by a waiter that is not granted what is free. (liveness)
	PermitsAreTaken Rule = "free permits that somebody waits for are taken promptly"
	// PermitsComeBack is broken by permits that are out, and that nobody was told he has. (liveness)
	PermitsComeBack Rule = "permits that nobody knows to have are given back"
	// DeadPermits is broken by permits that a client had when it died. (liveness)
	DeadPermits Rule = "the permits of a dead client come back"
)

// The rules of latches, besides those of their sequential specification.
const (
	// PassesCounted is broken by a waiter that returns while fewer count-downs have been called than the count was set to. (exclusion)
	PassesCounted Rule = "nobody passes a latch before it was counted down as often as it was set to"
	// AwaitReturns is broken by a waiter that waits on though the count is 0. (liveness)
	AwaitReturns Rule = "who waits for a count returns promptly when it is 0"
	// DownsCount is broken by a count-down that nobody undid and that is not in the count. (liveness)
	DownsCount Rule = "each count-down comes to count"
)

// A RuleOf says which guarantee a rule is of, and what it cannot see.
type RuleOf struct {
	Rule      Rule
	Guarantee Guarantee
	Blind     string // what it cannot see; empty: nothing that is known
}

// Rules lists all rules.
func Rules() []RuleOf {
	const twice = "two violations of one cause on one lock may be told as one"
	return []RuleOf{
		{OneHolder, Object, twice}, {BusyWhileHeld, Object, ""}, {OwnerReenters, Object, ""}, {HolderReleases, Object, ""},
		{OneHoldAnUnlock, Object, "what an inner unlock of a group takes of one member from the outer hold, of a lock that does not claim `takes-back`"}, {HolderNotRefused, Object, ""}, {ForceTellsTruth, Object, ""}, {HolderRenews, Object, "of a lock that is judged by its answers alone, a client that has named before what the key says"},
		{RenewalNotDenied, Object, ""}, {QueryTellsTruth, Object, ""},
		{NotBeforeLease, Object, "an end within 2 ms of the lease's"}, {NotAfterLease, Object, "an end within 2 ms of the lease's"},
		{ExpiryOfAHold, Object, ""}, {NoReentry, Object, ""},
		{EnoughMembers, Object, ""}, {BusyFewMembers, Object, ""}, {HolderHasEnough, Object, ""}, {NotHeldIsTrue, Object, ""},
		{AtMostOnce, Object, "a second effect that leaves the key as it was"}, {WithinCall, Object, ""}, {ToldTheTruth, Object, "an unlock of a lock that claims `takes-back`, whose client gave the hold back by itself meanwhile"},
		{FailedIsVoid, Object, ""}, {AnswerHasRoot, Object, "histories without a server log"}, {EffectIsThere, Object, "histories without a server log"},
		{KeyFits, Object, "histories without a server log"}, {LeaseIsSet, Object, "histories without a server log"},
		{RenewalKeeps, Object, "histories without a server log: there the hold ends too soon"},
		{Linearizable, Object, "which operation is wrong"},
		{UnlockIsNoLoss, Object, "histories whose leases end unseen; locks that are made of others"},
		{NotToldEarly, Object, "histories whose leases end unseen"},
		{HolderLetIn, Object, "histories without a server log; locks that are made of others"},
		{PermitsAreFree, Object, ""}, {PermitsAreFew, Object, ""}, {SemaphoreSetOnce, Object, ""}, {SemaphoreIsThere, Object, ""}, {DrainsAll, Object, ""},
		{PermitIsHeld, Object, ""}, {PermitNotRefused, Object, ""}, {PermitIsNew, Object, ""},
		{LatchSetAtZero, Object, ""}, {LatchDeleted, Object, ""}, {ReturnsAtZero, Object, ""}, {TimeIsUpAbove, Object, "waits during which the key ended otherwise than by count-downs"},
		{WritersAlone, Object, ""}, {ReadersWithReaders, Object, ""}, {SharedIsBusy, Object, ""}, {UpgradeOfAReader, Object, ""}, {UpgradeIsRefused, Object, "locks that do not claim `refuses-upgrade`"},
		{SharedIsReleased, Object, ""}, {SharedIsHeld, Object, ""}, {SharedNotRefused, Object, ""},
		{OneBeliever, Exclusion, ""}, {ToldInTime, Exclusion, "histories whose leases end unseen"},
		{NoLostUpdate, Effect, ""}, {ReadsAgree, Effect, ""},
		{TokenGiven, Fencing, ""}, {TokensIncrease, Fencing, ""}, {StaleRefused, Fencing, ""}, {FreshAccepted, Fencing, ""},
		{RenewedInTime, Watchdog, "histories whose renewals are unseen"}, {NoRenewalAfter, Watchdog, "histories whose renewals are unseen"},
		{NoRenewalOnceNo, Watchdog, "histories whose renewals are unseen; a refusal whose answer a fault delayed"}, {NoRenewalByDead, Watchdog, "histories whose renewals are unseen"},
		{NoRenewalAsked, Watchdog, "histories whose renewals are unseen; renewals of a group that were under way when its owner took it again"},
		{FreeIsTaken, Liveness, "delays below a second and two round trips"}, {WaitsItsTime, Liveness, ""},
		{ReturnsInTime, Liveness, "delays below a second and four round trips"},
		{GivenUpReturns, Liveness, "delays below a second and four round trips"},
		{DeadHoldEnds, Liveness, "histories whose leases end unseen"}, {UnlockEndsHold, Liveness, "locks that claim `takes-back`, or whose unlock does not tell what is left, where nobody sees what they give back"}, {GhostIsGone, Liveness, "histories without a server log"},
		{WriterIsNext, Liveness, "whatever a fault acts in; readers that come within a second and two round trips; writers one after another"},
		{Unsubscribed, Liveness, "worlds that do not see who is subscribed; clients that may have a hold"},
		{CallsReturn, Liveness, "runs that did not come to their end"},
		{CallsSucceed, Liveness, "calls that their callers gave up; leases and waits shorter than an attempt takes; calls for which their client sent nothing, of locks that do not claim `any-lease`, unless it sent something for another that asked the same; calls after a connection of their client broke, in histories without a server log"}, {KeysHaveAnEnd, Liveness, "runs that did not come to their end"},
		{HealedCallsReturn, Liveness, "histories without a healed phase"}, {FreshGets, Liveness, "histories without a healed phase"},
		{WaitsQuietly, Liveness, "histories without a server log; who dials a server that is down"},
		{GrantHasMembers, Object, "histories without a server log"},
		{ReentryCounts, Object, "histories without a server log"},
		{ValidityLeft, Object, "histories without a server log"},
		{MemberLease, Object, "histories without a server log"},
		{RefusedWhileTaken, Object, "histories without a server log; leases and waits shorter than an attempt takes"},
		{AllOrNone, Liveness, "histories without a server log"},
		{EveryMemberReleased, Liveness, "histories without a server log"},
		{SharedMember, Exclusion, "histories without a server log"},
		{NoMoreOut, Exclusion, ""},
		{PermitsAreTaken, Liveness, "without a server log: permits that an unanswered call, a copy, an added or drained number, or a fault on the key or a clock may account for; delays below a second and two round trips"},
		{PermitsComeBack, Liveness, "histories without a server log"}, {DeadPermits, Liveness, "runs that did not come to their end"},
		{PassesCounted, Exclusion, "count-downs of a count that was 0 already, which hide as many that are missing"},
		{AwaitReturns, Liveness, "histories without a server log; delays below a second and two round trips"},
		{QueueOrder, Fairness, "histories without a server log; owners whose call ended in an error"}, {QueueBusy, Fairness, "histories without a server log"},
		{DownsCount, Liveness, "histories without a server log; latches that came to 0"},
	}
}
