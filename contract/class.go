package contract

// Class is the kind of cause of a violation.
type Class string

const (
	LeaseExpired    Class = "lease expired"         // the lease ran out, and nothing kept its holder from acting
	LeaseOutlived   Class = "lease outlived"        // the lease that was asked for ended before the work did
	PausedHolder    Class = "paused holder"         // the holder, or its watchdog, was paused past its lease
	CutOff          Class = "cut off"               // the holder was partitioned past its lease
	KeyLost         Class = "key lost"              // the key was expired, deleted or overwritten from outside
	Forced          Class = "forced"                // somebody forced the lock free
	ServerLost      Class = "server lost state"     // restart or failover
	ServerAway      Class = "server away"           // the server was down, slow, or refused to serve
	WithinUnit      Class = "within a token's unit" // the server lost the counter of tokens, and counted anew in the same unit of its time
	KeptToken       Class = "token kept"            // the server forgot a hold, and a copy took it again: its owner knows the first token
	ReplicaBehind   Class = "replica behind"        // a replica that took over had older data
	ClockJumped     Class = "clock jump"
	LostMessage     Class = "lost message"              // a message was lost, late, or refused
	Unannounced     Class = "unannounced"               // the lock became free, and nobody publishes that
	DoubleExecution Class = "double execution"          // one call took effect more than once
	MaybeTwice      Class = "possible double execution" // a call may have been sent again; nobody saw the server
	UnheardCopies   Class = "held by copies"            // all that an owner holds was taken by copies of which its client did not hear
	RefusedCopy     Class = "refused copy"              // the server refused one copy of a request and executed another
	RefusalLost     Class = "refusal lost"              // a copy of a request that was refused was told that it took effect
	Untold          Class = "untold"                    // a call took effect, and its caller was not told
	Abandoned       Class = "abandoned"                 // the caller gave a call up that took effect
	ForeignRelease  Class = "foreign release"           // freed by one who did not hold it
	GrantedTwice    Class = "granted while held"        // the server gave the lock away under a holder
	Missed          Class = "missed message"            // a waiter that hears by messages alone did not get one
	WakeTaken       Class = "wake-up taken"             // the server gave the wake-up to a client that could not pass it on
	WokeAnother     Class = "woke another"              // a message woke a waiter who asks for more than there is
	ClientsClock    Class = "client's clock"            // a client told the server the time, which was another when the server executed that
	CounterLost     Class = "counter lost"              // the number of the free permits was lost, and those that are out stayed so
	HolderDied      Class = "holder died"               // who took permits died with them
	OtherHold       Class = "other hold"                // what became of another hold of a read-write lock changed a hold's end
	ForceUnrenewed  Class = "forced, and not renewed"   // a forced release that did not free a hold ended its renewals
	Downgraded      Class = "downgraded"                // a writer gave the write lock back, and reads on
	PlaceLeft       Class = "place left behind"         // who stopped waiting for a fair lock left its place in the queue
	PlaceAhead      Class = "place ahead"               // the lock was free, and the place of another was before
	PlaceOver       Class = "place over"                // a place in the queue was kept for no longer than was promised
	ReclaimedOne    Class = "reclaimed one"             // a request took back one permit whose lease was over, where fewer than 0 were free
	DeletedLatch    Class = "latch deleted"             // a latch was deleted while others waited, who were not told
	SetAgain        Class = "set again"                 // a latch was set again before a waiter saw that its count was 0
	RenewedLate     Class = "renewed late"              // a renewal of an owner's hold set the lease of its next one
	LateWrite       Class = "late write"                // a write took effect after its owner had gone on
	Unread          Class = "state unread"              // the server may have forgotten who held the lock, and nobody can read its keys
	Unexplained     Class = "unexplained"
)
