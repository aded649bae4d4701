package scenarios

import (
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Stories of read-write locks.

// AllRWLocks are the stories of read-write locks, in the order of the catalogue.
func AllRWLocks() []Scenario {
	return []Scenario{
		rwBaseline,
		rwReadUnlockShortens,
		rwInnerLease,
		rwLeaseStays,
		rwReadUnlockKillsWatchdog,
		rwDowngradeWaitingReader,
		rwZombieReader,
		rwWriterStarves,
		rwUpgrade,
		rwLostAcquireReply,
		rwExpiredReaderUnlocks,
		rwForced,
		rwForcedInVain,
		rwHolderCrash,
	}
}

// The read-write lock that the stories are about.
const stock = "stock:42"

func readLock(lease time.Duration) plan.Step {
	return plan.Step{Do: plan.ReadLock, Lock: stock, Lease: plan.Duration(lease)}
}
func tryRead(wait time.Duration) plan.Step {
	return plan.Step{Do: plan.TryRead, Lock: stock, Wait: plan.Duration(wait)}
}
func readUnlock() plan.Step { return plan.Step{Do: plan.ReadUnlock, Lock: stock} }
func writeLock(lease time.Duration) plan.Step {
	return plan.Step{Do: plan.WriteLock, Lock: stock, Lease: plan.Duration(lease)}
}
func tryWrite(wait time.Duration) plan.Step {
	return plan.Step{Do: plan.TryWrite, Lock: stock, Wait: plan.Duration(wait)}
}
func writeUnlock() plan.Step { return plan.Step{Do: plan.WriteUnlock, Lock: stock} }
func onStock(d time.Duration) plan.Step {
	return plan.Step{Do: plan.Work, Lock: stock, For: plan.Duration(d)}
}

var rwBaseline = Scenario{
	Name:  "rw-baseline",
	Title: "readers share, writers do not, and nothing fails",
	Story: "c1 and c2 read together. c3 waits until both have left, and writes, for longer than its lease, which its watchdog renews. " +
		"c4 and c5 wait for it and then read together; c6 tries to write for a second, and gives up. c3 writes once more and reads " +
		"while it writes, gives the write lock back, and reads on. Nothing breaks.",
	Source: "Redisson RedissonReadWriteLockTest",
	Plan: func(uint64) *plan.Plan {
		return story("rw-baseline", nil,
			client("c1", 0, readLock(0), onStock(4*time.Second), readUnlock()),
			client("c2", time.Second, readLock(0), onStock(5*time.Second), readUnlock()),
			client("c3", 2*time.Second, writeLock(0), onStock(35*time.Second), writeUnlock(), sleep(20*time.Second),
				writeLock(0), onStock(time.Second), readLock(0), onStock(time.Second), writeUnlock(), onStock(time.Second), readUnlock()),
			client("c4", 10*time.Second, readLock(0), onStock(2*time.Second), readUnlock()),
			client("c5", 11*time.Second, tryRead(time.Minute), onStock(2*time.Second), readUnlock()),
			client("c6", 12*time.Second, tryWrite(time.Second), writeUnlock()),
		)
	},
	Breaks: nothing,
}

var rwReadUnlockShortens = Scenario{
	Name:  "rw-read-unlock-shortens",
	Title: "a writer unlocks a read lock of its own, and its lease is that of a reader",
	Story: "c1 takes the write lock for 60 s, and the read lock twice for 5 s. It gives one of these back. Redisson's script then sets the " +
		"key's time to live to the longest of a reader's: after 5 s c2 writes beside c1. The hardened form has a lease for each hold. No fault " +
		"is needed.",
	Source:  "Redisson 4.7.0, RedissonReadLock; story 8 of the family",
	Reentry: Essential,
	Plan: func(uint64) *plan.Plan {
		return story("rw-read-unlock-shortens", nil,
			client("c1", 0, writeLock(time.Minute), readLock(5*time.Second), readLock(5*time.Second), readUnlock(), onStock(19*time.Second), writeUnlock()),
			client("c2", time.Second, writeLock(0), onStock(19*time.Second), writeUnlock()),
		)
	},
	Breaks: either(contract.LeasePerHold, nil, []contract.Guarantee{exclusion, effect}),
}

var rwInnerLease = Scenario{
	Name:  "rw-inner-lease",
	Title: "a writer's hold without a lease, and in it one with a lease of 2 s, which is given back",
	Story: "The same as inner-lease, of a write lock. c1 writes for 19 s under the first hold, which the watchdog renews. Redisson 4.7.0 " +
		"remembers the 2 s beyond their hold: the unlock leaves the key 2 s, and c2 writes beside c1.",
	Source:  "Redisson 3.18.1 to 4.7.0, RedissonLock.internalLockLeaseTime",
	Reentry: Essential,
	Plan: func(uint64) *plan.Plan {
		return story("rw-inner-lease", nil,
			client("c1", 0, writeLock(0), writeLock(2*time.Second), writeUnlock(), onStock(19*time.Second), writeUnlock()),
			client("c2", time.Second, writeLock(0), onStock(5*time.Second), writeUnlock()),
		)
	},
	Breaks: nothing,
}

var rwLeaseStays = Scenario{
	Name:  "rw-lease-stays",
	Title: "a reader with a lease of 2 s reads again without one",
	Story: "c1 reads for 2 s. Meanwhile c2 takes the read lock for 2 s, gives it back, takes it again without a lease, and reads for 19 s. Its " +
		"watchdog renews that hold, and c3, who wants to write, waits for its end. Redisson 4.7.0 remembers the 2 s beyond their hold, and " +
		"gives the next one as much: c2 reads under a lock whose key is gone, c3 hears of no release, and nobody writes in time.",
	Source: "Redisson 4.7.0, RedissonLock.internalLockLeaseTime",
	Plan: func(uint64) *plan.Plan {
		return story("rw-lease-stays", nil,
			client("c1", 0, readLock(0), onStock(2*time.Second), readUnlock()),
			client("c2", time.Second, readLock(2*time.Second), readUnlock(), readLock(0), onStock(19*time.Second), readUnlock()),
			client("c3", 1500*time.Millisecond, writeLock(0), onStock(5*time.Second), writeUnlock()),
		)
	},
	Breaks: nothing,
}

var rwReadUnlockKillsWatchdog = Scenario{
	Name:  "rw-read-unlock-kills-watchdog",
	Title: "a writer unlocks a read lock of its own, and its watchdog ends",
	Story: "c1 takes the write lock, which its watchdog is to renew, takes the read lock and gives that back. Redisson ends the renewal of " +
		"whatever the thread holds. After 30 s the key is gone, and c2 writes beside c1. The hardened form renews each hold. No fault is needed.",
	Source: "Redisson 4.7.0, since 3.44.0; story 9 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("rw-read-unlock-kills-watchdog", nil,
			client("c1", 0, writeLock(0), readLock(0), readUnlock(), onStock(49*time.Second), writeUnlock()),
			client("c2", time.Second, writeLock(0), onStock(29*time.Second), writeUnlock()),
		)
	},
	Breaks: either(contract.LeasePerHold, nil, []contract.Guarantee{exclusion, effect, watchdog}),
}

var rwDowngradeWaitingReader = Scenario{
	Name:  "rw-downgrade-waiting-reader",
	Title: "a writer reads on, and nobody tells the readers who wait",
	Story: "c1 writes, takes the read lock as well, and gives the write lock back. c2, who waits to read, may now do so. Redisson publishes " +
		"nothing, and c2 waits for the lease that it was told of. The hardened form wakes all who wait.",
	Source: "Redisson 4.7.0, RedissonWriteLock; story 10 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("rw-downgrade-waiting-reader", nil,
			client("c1", 0, writeLock(25*time.Second), sleep(time.Second), readLock(25*time.Second), sleep(2*time.Second), writeUnlock(), sleep(15*time.Second), readUnlock()),
			client("c2", 2*time.Second, readLock(0), onStock(time.Second), readUnlock()),
		)
	},
	Breaks: either(contract.TellsDowngrade, nil, []contract.Guarantee{liveness}),
}

var rwZombieReader = Scenario{
	Name:  "rw-zombie-reader",
	Title: "a reader dies, others read on, and it keeps writers out with them",
	Story: "c1 reads and dies. c2 reads on, and its watchdog renews the lock. In Redisson one key has the time to live of all holds, so that the " +
		"dead reader's lasts as long as c2's. c3 writes when c2 has left, in either form.",
	Source: "Redisson issue 1458; story 11 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("rw-zombie-reader", []plan.Fault{{Kind: "kill-client", Client: "c1", From: at(3)}},
			client("c1", 0, readLock(0), onStock(time.Minute), readUnlock()),
			client("c2", time.Second, readLock(0), onStock(79*time.Second), readUnlock()),
			client("c3", 5*time.Second, writeLock(0), onStock(time.Second), writeUnlock()),
		)
	},
	Breaks: either(contract.LeasePerHold, nil, []contract.Guarantee{liveness}),
}

var rwWriterStarves = Scenario{
	Name:  "rw-writer-starves",
	Title: "readers follow each other without a gap, and a writer gives up",
	Story: "Three clients read in turn, each before the one before has left. c4 tries to write for 12 s and gives up: nobody promises a writer " +
		"that readers wait for it. Nothing breaks.",
	Source: "Redisson issue 5379: by design; story 12 of the family",
	Plan: func(uint64) *plan.Plan {
		reads := func(name string, start time.Duration) plan.Client {
			var steps []plan.Step
			for range 4 {
				steps = append(steps, readLock(0), onStock(4*time.Second), readUnlock(), sleep(time.Second))
			}
			return client(name, start, steps...)
		}
		return story("rw-writer-starves", nil,
			reads("c1", 0), reads("c2", 2*time.Second), reads("c3", 3*time.Second),
			client("c4", time.Second, tryWrite(12*time.Second), writeUnlock()))
	},
	Breaks: nothing,
}

var rwUpgrade = Scenario{
	Name:  "rw-upgrade",
	Title: "a reader asks for the write lock, and waits for itself",
	Story: "c1 reads and tries to write for 5 s. Redisson has it wait, for itself, until its time is over; the hardened form refuses it at once. " +
		"Neither lets it write, and nothing breaks.",
	Source: "Redisson issue 4796: by design; story 13 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("rw-upgrade", nil,
			client("c1", 0, readLock(0), tryWrite(5*time.Second), writeUnlock(), onStock(time.Second), readUnlock(), writeLock(0), onStock(time.Second), writeUnlock()))
	},
	Breaks: nothing,
}

var rwLostAcquireReply = Scenario{
	Name:  "rw-lost-acquire-reply",
	Title: "the reply of a write acquire is lost; the client sends again, and the lock counts twice",
	Story: "The server grants c1 the write lock, but the answer is lost. After its timeout go-redis sends the acquire again, and the faithful " +
		"form's script counts once more, for a lease that is added to the first. c1 gives back one hold, and the lock stays taken. " +
		"The hardened form knows the request again, and counts once.",
	Source: "Redisson issue 7367; story 14 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("rw-lost-acquire-reply", []plan.Fault{{Kind: "drop-message", Client: "c1", When: &plan.Trigger{Reply: plan.Acquire}}},
			client("c1", 0, writeLock(30*time.Second), onStock(5*time.Second), writeUnlock()),
			client("c2", 8*time.Second, writeLock(0), onStock(time.Second), writeUnlock()),
		)
	},
	Breaks: breaks(nil, []contract.Guarantee{object, liveness}),
}

var rwExpiredReaderUnlocks = Scenario{
	Name:  "rw-expired-reader-unlocks",
	Title: "a reader whose lease is over unlocks, while others read",
	Story: "c1 reads for 5 s and works for 10 s. c2 reads on, so that Redisson's key keeps c1's hold, and its late unlock succeeds. The " +
		"hardened form tells c1 of the loss in time, and refuses the unlock. Nobody writes meanwhile, and nothing breaks.",
	Source: "Redisson 4.7.0, RedissonReadLock; story 15 of the family",
	Plan: func(uint64) *plan.Plan {
		return story("rw-expired-reader-unlocks", nil,
			client("c1", time.Second, readLock(5*time.Second), onStock(10*time.Second), plan.Step{Do: plan.ReadUnlock, Lock: stock, Regardless: true}),
			client("c2", 0, readLock(0), onStock(29*time.Second), readUnlock()),
			client("c3", 20*time.Second, writeLock(0), onStock(time.Second), writeUnlock()),
		)
	},
	Breaks: nothing,
}

var rwHolderCrash = Scenario{
	Name:   "rw-holder-crash",
	Title:  "a writer dies, and readers wait for the rest of its lease",
	Story:  "c1 writes and dies. c2 and c3 wait to read, and do so when c1's lease is over. c3 writes after that. Nothing breaks.",
	Source: "scenario holder-crash, of a writer",
	Plan: func(uint64) *plan.Plan {
		return story("rw-holder-crash", []plan.Fault{{Kind: "kill-client", Client: "c1", From: at(5)}},
			client("c1", 0, writeLock(0), onStock(time.Minute), writeUnlock()),
			client("c2", 2*time.Second, readLock(0), onStock(time.Second), readUnlock()),
			client("c3", 3*time.Second, readLock(0), onStock(time.Second), readUnlock(), writeLock(0), onStock(time.Second), writeUnlock()),
		)
	},
	Breaks: nothing,
}

func forceRead() plan.Step { return plan.Step{Do: plan.ForceRead, Lock: stock} }

var rwForced = Scenario{
	Name:  "rw-forced",
	Title: "an operator forces the readers away, and a writer comes in under them",
	Story: "c1 and c2 read, and c3 waits to write. c4 forces the read lock free: both holds are gone, and c3 writes at once. c1 and c2 go on reading, since " +
		"nobody has told them; the hardened form does, and they stop. That is what a forced release is for, and no defect.",
	Source: "Redisson RReadWriteLock, readLock().forceUnlock()",
	Plan: func(uint64) *plan.Plan {
		return story("rw-forced", nil,
			client("c1", 0, readLock(0), onStock(18*time.Second), readUnlock()),
			client("c2", time.Second, readLock(0), onStock(18*time.Second), readUnlock()),
			client("c3", 2*time.Second, writeLock(0), onStock(8*time.Second), writeUnlock()),
			client("c4", 6*time.Second, forceRead()),
		)
	},
	Breaks: breaks([]contract.Guarantee{exclusion}, []contract.Guarantee{effect}),
}

var rwForcedInVain = Scenario{
	Name:  "rw-forced-in-vain",
	Title: "a client forces a read lock free that nobody holds, and its own writer is not renewed any more",
	Story: "c1 writes, for longer than its lease. Another thread of c1 forces the read lock free, which frees nobody. The faithful form ends the renewals of " +
		"its client before it asks: the lease of c1's writer ends, and c2 writes beside it. The hardened form goes on renewing.",
	Source: "docs/family.md: a forced release that frees nobody, or fails",
	Plan: func(uint64) *plan.Plan {
		c1 := client("c1", 0, writeLock(0), onStock(55*time.Second), writeUnlock())
		c1.Threads = append(c1.Threads, plan.Thread{ID: 2, Start: plan.Duration(5 * time.Second), Steps: []plan.Step{forceRead()}})
		return story("rw-forced-in-vain", nil, c1,
			client("c2", 10*time.Second, writeLock(0), onStock(35*time.Second), writeUnlock()),
		)
	},
	Breaks: either(contract.RenewsOn, nil, []contract.Guarantee{exclusion, effect, watchdog}),
}
