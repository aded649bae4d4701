package contract

// Claim is a promise that a lock makes, as history.Header.Abilities has it. What a lock does not
// claim is not held against it.
type Claim string

const (
	Reentrant    Claim = "reentrant"
	Renews       Claim = "watchdog"
	Fences       Claim = "fencing"
	Forces       Claim = "force"
	Inspects     Claim = "inspect"
	TellsLoss    Claim = "lost"
	HearsForce   Claim = "told-of-force"
	KeepsLongest Claim = "keeps-longest"
	SetsLease    Claim = "unlock-sets-lease"
	TakesBack    Claim = "takes-back"
	Idempotent   Claim = "idempotent"
	RefusesAgain Claim = "refuses-again"
	TokensGoOn   Claim = "tokens-go-on"
	Mutex        Claim = "mutex"
	Multi        Claim = "multi"
	Red          Claim = "red"
	Permits      Claim = "permits"
	LooksAgain   Claim = "looks-again"
	WakesByNeed  Claim = "wakes-by-need"
	MadeBySet    Claim = "made-by-set"
	Resizes      Claim = "resizes"
	CountsDown   Claim = "count-down"
	Deletes      Claim = "deletes"
	Rounds       Claim = "rounds"

	PermitLeases Claim = "permit-leases"
	ServerClock  Claim = "server-clock"
	OneKey       Claim = "one-key"

	ReadWrite      Claim = "read-write"
	LeasePerHold   Claim = "lease-per-hold"
	TellsDowngrade Claim = "tells-downgrade"
	TellsDeletion  Claim = "tells-deletion"
	RefusesUpgrade Claim = "refuses-upgrade"
	WritersFirst   Claim = "writers-first"

	Fair       Claim = "fair"
	KeepsPlace Claim = "keeps-place"
	LeavesLine Claim = "leaves-queue"

	UnlocksFree Claim = "unlocks-free"
	LocalHolds  Claim = "local-holds"

	NoticesSilence Claim = "notices-silence"
	Waits          Claim = "waits"
	Steady         Claim = "steady"
	Unsubscribes   Claim = "unsubscribes"
	LeavesNothing  Claim = "leaves-nothing"

	ReturnsUnanswered Claim = "returns-unanswered"
	RenewsOn          Claim = "renews-on"
	AnyLease          Claim = "any-lease"
)

// A Promise describes a claim.
type Promise struct {
	Claim Claim
	Means string // what the lock promises, as a sentence
	Asked string // which guarantees ask for it, and with which numbers of the header
}

// Promises lists all claims.
func Promises() []Promise {
	return []Promise{
		{Reentrant, "An owner that holds the lock gets it again, and gives it back as often.",
			"object, by the re-entrant model; without the claim, by the model of a mutex"},
		{Renews, "The lock renews the lease of a hold for which none was asked.",
			"watchdog; `renewEvery` is the period, `renewRetry` how soon a renewal that failed is tried again"},
		{Fences, "Each grant comes with a token that is larger than all before.", "fencing"},
		{Forces, "Anybody can force the lock free.", "object; plans with forceUnlock"},
		{Inspects, "The lock answers questions about its state.", "object; plans with questions"},
		{TellsLoss, "The lock tells a holder that its hold is over before another can be let in.",
			"exclusion, effect and object; it takes the exemptions of leases that ended away"},
		{HearsForce, "The lock tells a holder of a forced release as soon as the message of it can have come.",
			"exclusion, of a client whose subscription to the lock's channel, or those of enough members of a group, the server has confirmed; liveness, of who waits for the lock"},
		{KeepsLongest, "Neither a re-entry nor a renewal shortens the lease of the hold.",
			"object, by the leases that the history expects; watchdog, which misses no renewal while a longer lease lasts"},
		{SetsLease, "An unlock that leaves holds sets their lease anew.", "object, by the leases that the history expects"},
		{TakesBack, "The lock gives back what a call took whose caller was not told, and what an unlock left whose context had ended.", "liveness"},
		{Idempotent, "A request that is sent again takes effect once, and gets the first answer.",
			"object, for the calls and the time that `idempotent` of the header names"},
		{RefusesAgain, "A request that was refused is refused when it is sent again.", "object; it takes the exemption of refusals that were lost away"},
		{NoticesSilence, "A client notices that nothing comes on its subscription any more, subscribes anew, and looks.",
			"liveness; `silenceNoticed` is after how long. Then, or when it has subscribed since, a missed message exempts a waiter no longer"},
		{ReturnsUnanswered, "A call with a wait returns when its time is over, though the server does not answer.",
			"liveness; whatever keeps messages away exempts a late return no more, but of a group of which a majority is enough"},
		{Waits, "A `lock` goes on until it has the lock: that another has it is no error.", "liveness, of calls that fail"},
		{AnyLease, "A call may ask for any lease, and for any time to wait.",
			"liveness; without the claim a call that failed, and for which its client sent nothing, may have asked for what the lock does not have"},
		{Steady, "A renewal is begun `renewEvery` after the one before was, however long that one took.",
			"watchdog; it takes away the exemption of messages that came late before"},
		{RenewsOn, "A forced release ends the renewals of no hold that it does not free.",
			"watchdog, exclusion and effect; it takes the exemption of forced releases that freed nobody away"},
		{LeavesNothing, "Whatever keys the lock writes, they go with the hold or have a time to live.", "liveness, where the server is the world's own; without the claim, of the lock's own key alone"},
		{Unsubscribes, "A client gives a subscription back that it needs no more.", "liveness; `unsubscribed` is after how long"},
		{TokensGoOn, "Tokens go on rising when the server has lost their counter.", "fencing; it takes the exemption of a server that forgot away, but for grants within `tokenUnit`"},
		{Mutex, "None of the above: the lock excludes.", "all guarantees, as far as they apply"},
		{Multi, "The lock can be made of several, of which all must be held.", "plans with groups"},
		{Red, "The lock can be made of several, of which a majority must be held.", "plans with groups"},
		{Permits, "It is a semaphore: no more permits are out than there are.", "object, exclusion and liveness"},
		{LooksAgain, "A waiter for permits, or for a count, that missed a message looks again by itself, within `watchdogTimeout`.",
			"liveness; it takes the exemption of missed messages away"},
		{WakesByNeed, "Permits that come free wake those waiters who ask for no more.", "liveness; it takes the exemption of a message that woke another away"},
		{MadeBySet, "Only who sets the permits of a semaphore makes one: a release where there is none is told so, and makes none.",
			"object; without the claim such a release makes a semaphore"},
		{Resizes, "Anybody can add permits to a semaphore, or take some away, and drain one whose permits have no leases.", "object; plans with addPermits, addTotal and drainPermits"},
		{PermitLeases, "It is a semaphore whose permits have numbers of their own, and may have leases.", "object, exclusion and liveness"},
		{ServerClock, "Leases of permits begin and end by the server's clock.", "object, exclusion and liveness; it takes the exemption of the clients' clocks away"},
		{OneKey, "What the server knows of a semaphore's permits is in one key, so that it is lost together.",
			"object and exclusion; it takes the exemption of a lost counter away"},
		{CountsDown, "It is a count-down latch: nobody passes before its count is 0.", "object, exclusion and liveness"},
		{Deletes, "Anybody can delete a latch: its count is 0.", "object; plans with deleteLatch"},
		{TellsDeletion, "Who waits for a latch that is deleted returns.", "liveness; it takes the exemption of latches that were deleted away"},
		{ReadWrite, "It is a read-write lock: a writer holds it alone, and readers share it.", "plans with its steps; exclusion and effect tell readers from writers"},
		{LeasePerHold, "Each hold of a read-write lock lasts as long as its own lease, whatever becomes of other holds.",
			"exclusion, effect, watchdog and liveness; it takes the exemption of other holds away. Object, by the leases that the key has"},
		{TellsDowngrade, "A write unlock wakes those who wait, also if its owner reads on.", "liveness; it takes the exemption of downgrades away"},
		{RefusesUpgrade, "Who reads and asks for the write lock is told at once that it cannot have it, rather than made to wait for itself.",
			"object; without the claim, such a call may end like one that waits for another"},
		{WritersFirst, "While a writer waits for a read-write lock, no reader comes in that has it not.",
			"object and liveness, which let a reader be refused, or wait, for a writer that waits, or for its mark: `placeKept` is for how long that is kept of a writer that is gone without having said so. " +
				"Liveness: a reader that comes later is not let in before"},
		{Fair, "The lock is granted in the order in which owners began to wait for it.", "fairness; object takes each refusal for right but that of the holder, and fairness judges it"},
		{KeepsPlace, "Who waits keeps its place for as long as it asks again; `placeKept` is how soon it has to.",
			"fairness; without the claim a place is kept for `placeKept` after the first attempt, and no longer. " +
				"Liveness: who finds the lock free behind places that nobody waits with asks again when those end"},
		{LeavesLine, "Who stops waiting gives its place up at once.", "fairness and liveness; it takes the exemption of places left behind away"},
		{UnlocksFree, "Who unlocks a lock that nobody holds is told that it is released.", "object, which takes that for an answer; without the claim it is a lie"},
		{LocalHolds, "Owners of one client exclude each other within its process, also when a lease is over, and inner holds are counted there.",
			"object, which believes what the process answers by itself, and takes the lock for its client's if nothing is learned of its keys; liveness, which lets an owner wait for another of its client"},
		{Rounds, "Who has seen a round of a latch returns when it is over, though the next has begun.", "liveness; it takes the exemption of a latch that was set again away"},
	}
}
