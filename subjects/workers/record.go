package workers

import "github.com/holdfast-sim/holdfast/contract"

// Defect is a known defect of somebody's lock, or a way in which it fails that its users should know, and the scenario that
// shows it on the real library.
type Defect struct {
	What      string // a line
	Source    string // an issue, a file of the library, its documentation
	Versions  string
	Lock      string
	Scenario  string
	Guarantee contract.Guarantee // that breaks there
	Story     string             // in some five lines
}

// Defects returns the track record, in the order of docs/trackrecord.md.
func Defects() []Defect {
	return []Defect{
		{"one key of another type stops the renewal of every other lock of the client", "Redisson: LockTask, AsyncChunkProcessor", "3.44 to 4.7.0",
			"redisson-4.7.0", "batch-poison", contract.Exclusion,
			"Since 3.44 a client renews its locks in batches, with one script for many keys. Something overwrites one key with a string. " +
				"The script fails there, and the keys behind it are not renewed. Their leases end, and others get locks that are held."},
		{"a call that is interrupted leaves a lock that its watchdog renews for ever", "Redisson #5358", "3.23.5 to 4.7.0; not 3.18.1",
			"redisson-4.7.0", "canceled-waiter", contract.Liveness,
			"A thread waits for a lock, and is interrupted while its request is under way. The call throws. The server grants the lock all the same, " +
				"and the callback of the answer starts the watchdog. Nobody holds the lock, and nobody gets it until the process ends."},
		{"a lock whose acquire was sent again is held twice", "Redisson #7367", "to 3.36; later ones but for one server",
			"redisson-3.36.0", "lost-acquire-reply", contract.Object,
			"The network loses the reply to an acquire. The client sends the request again, and the server counts a second hold. One unlock leaves the " +
				"other. With one server and since 3.37 the request is not sent again."},
		{"today's version still sends an acquire again where there is more than one server", "Redisson #7367", "3.37 to 4.7.0, in master-slave, sentinel and cluster mode",
			"redisson-4.7.0-master-slave", "lost-acquire-reply", contract.Object,
			"The network loses the reply to an acquire. The script goes out in a batch with WAIT, for which the flag that forbids a retry is lost. The client " +
				"sends it four times more, and five holds are counted. The call throws, and the lock is taken until its lease ends, which each copy sets anew."},
		{"an unlock that was sent again tells the owner that it held nothing", "Redisson #4871", "to 3.23",
			"redisson-3.18.1", "lost-unlock-reply", contract.Object,
			"The network loses the reply to an unlock. The client sends it again, and the server finds no hold. The owner gets " +
				"IllegalMonitorStateException for a lock that it did hold. Since 3.24 a latch keeps the first answer."},
		{"an unlock that was sent again takes back two holds", "Redisson #4871", "to 3.23",
			"redisson-3.18.1", "lost-unlock-reply-reentrant", contract.Object,
			"An owner holds a lock twice, and unlocks once. The reply is lost and the request sent again: both holds are gone. Another client gets " +
				"the lock while the owner works on under its outer hold."},
		{"an unlock that comes late gives back what its owner took meanwhile", "Redisson: RedissonBaseLock deletes the latch of an unlock when its answer has come", "3.24 to 3.36",
			"redisson-3.36.0", "delayed-duplicate-unlock", contract.Exclusion,
			"The network holds a request to unlock up. The client sends it again over another connection, and it is executed. The latch that would tell a copy is " +
				"deleted with the answer. The owner locks again, and the first request comes: it gives that hold back, and another client gets the lock."},
		{"a watchdog is off for good after one error of the server", "Redisson 3.18.1: an answer with BUSY or LOADING is tried again, and thrown all the same", "3.18.1; not 3.23.5",
			"redisson-3.18.1", "renewal-error", contract.Exclusion,
			"The server answers a renewal with an error. The client sends it again, and three renewals take effect. Then there is no other: the lease ends " +
				"under its holder, and another client gets the lock."},
		{"a lease that was asked for once is the watchdog's from then on", "Redisson: internalLockLeaseTime of an RLock", "3.18.1; not 3.23.5",
			"redisson-3.18.1", "baseline", contract.Object,
			"A thread takes a lock with a lease of 60 s, and gives it back. Later it takes it without a lease, through the same RLock. The key lives for " +
				"60 s, not for the 30 s of the watchdog. If its process dies, others wait twice as long."},
		{"the lease of an inner hold stays when that hold is given back", "Redisson: internalLockLeaseTime of an RLock, which an unlock sends", "3.18.1 to 4.7.0",
			"redisson-4.7.0", "inner-lease", contract.Exclusion,
			"A thread takes a lock, takes it again for 2 s, and gives that hold back. Its unlock leaves the key 2 s, and the watchdog renews every 10 s. " +
				"The lock is free 2 s later, and another client gets it while the thread works. No fault is needed."},
		{"the same, of a write lock", "Redisson: internalLockLeaseTime of an RLock, which an unlock sends", "4.7.0",
			"redisson-4.7.0-rw", "rw-inner-lease", contract.Exclusion,
			"Two clients write at once under a read-write lock, without a fault."},
		{"a reader's lease is that of its next hold, too", "Redisson: internalLockLeaseTime of an RLock, set anew by a last unlock only", "4.7.0",
			"redisson-4.7.0-rw", "rw-lease-stays", contract.Object,
			"A reader takes the lock for 2 s and gives it back, while another client reads. It takes the lock again without a lease. It gets 2 s, " +
				"and its watchdog comes 8 s too late."},
		{"a writer that gives a read lock back loses its own lease", "Redisson: RedissonReadLock, unlock script", "4.7.0",
			"redisson-4.7.0-rw", "rw-read-unlock-shortens", contract.Exclusion,
			"A thread takes the write lock for 60 s, and the read lock twice for 5 s. It gives one of these back. The script sets the key's time to live to " +
				"the longest of a reader's. After 5 s another client writes beside it. No fault is needed."},
		{"a writer that gives a read lock back is renewed no more", "Redisson: RedissonReadLock, unlock; LockTask", "since 3.44",
			"redisson-4.7.0-rw", "rw-read-unlock-kills-watchdog", contract.Exclusion,
			"A thread takes the write lock, takes the read lock as well, and gives that back. The client ends the renewal of all that the thread holds. After " +
				"30 s the key is gone, and another client writes beside it. No fault is needed."},
		{"a thread sleeps beside a free permit", "Redisson: RSemaphore, a release wakes one waiter in the order of their coming", "4.7.0",
			"redisson-4.7.0-semaphore", "semaphore-unequal-waiters", contract.Liveness,
			"Two threads of a client wait, the first for three permits, the second for one. One comes free. The message wakes the first, for which it is too " +
				"few, and the second sleeps on."},
		{"a dead waiter holds the queue up, and the next asks without a pause", "Redisson #6150", "to 4.7.0",
			"redisson-4.7.0-fair", "fair-dead-head", contract.Liveness,
			"The first in the queue of a fair lock dies. Its place stays, here for a minute, by default for five. The lock is free, and the next waiter is told to " +
				"come again at once: it sends thousands of commands, and gives up."},
		{"a waiter does not notice that the holder died, and gets an error a minute later", "python-redis-lock 4.0.1 with redis-py 8: BLPOP, socket_timeout", "4.0.1",
			"python-redis-lock", "holder-crash", contract.Liveness,
			"A holder crashes, and its lease of 30 s ends. Nobody signals that. A waiter blocks in BLPOP for its own lease. redis-py gives an answer 5 s, " +
				"and sends BLPOP again, up to ten times. The waiter never looks at the key, and gets a TimeoutError after a minute."},
		{"a lost reply holds a caller up until the connection ends", "ioredis: commandTimeout, which is off by default", "5.11",
			"redlock-5", "lost-acquire-reply", contract.Liveness,
			"The network loses the reply to an acquire. ioredis waits for a reply as long as the connection lives. The lease that the server granted " +
				"ends, the lock is free, and the caller still waits. Set commandTimeout."},
		{"the same, with another lock", "ioredis: commandTimeout, which is off by default", "5.11",
			"redis-semaphore", "lost-acquire-reply", contract.Liveness,
			"acquireTimeout bounds the attempts and not an attempt. One that gets no reply ends with the connection."},
		{"the signal of a loss comes after the lease has ended", "redlock 5: using, _execute", "5.0.0-beta.2",
			"redlock-5", "batch-poison", contract.Watchdog,
			"using extends the lock half a second before its lease ends. A refusal is final, but redlock tries ten times more, for two seconds. Only then does the " +
				"signal tell the routine, which has worked without the lock."},
		{"an unlock that fails tells nobody", "rslock, LockManager.unlock: best effort", "0.10.0",
			"rslock", "closed-connections", contract.Liveness,
			"The connection of a holder is closed while it works. Its unlock finds it closed, returns nothing, and does not try again. The key stays until " +
				"its lease ends, and waiters wait."},
		{"tryLock waits for its whole time once more", "Spring Integration #3700: RedisLockRegistry, RedisPubSubLock", "7.0.0, with RedisLockType.PUB_SUB_LOCK",
			"spring-lock-registry-pub-sub", "baseline", contract.Liveness,
			"A thread waits with tryLock for 4.4 s. A release wakes it after 4.2 s, and another client has the lock first. It waits again, not for what is left but " +
				"for 4.4 s, and is back after 5.6 s, as the next release wakes it. No fault is needed. If the holder dies nobody wakes it, and it sleeps to the " +
				"end of its time, though the lease ended before."},
		{"tryLock gives up before its time", "redis.lock.Lock.acquire", "8.1.0",
			"redis-py", "baseline", contract.Liveness,
			"acquire gives up as soon as its next poll would come after blocking_timeout: up to 0.1 s early, though the lock may become free until then."},
	}
}
