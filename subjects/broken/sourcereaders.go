package broken

// plantedReaders are mistakes in the read-write lock, the semaphore and the latch. Their author had read these and what they
// promise, and nothing of how they are judged.
func plantedReaders() []SourceMutant {
	const (
		plain = "rrwlock-classic"
		rw    = "rrwlock-hardened"
		sem   = "rsemaphore-hardened"
		count = "rcountdownlatch-hardened"
	)
	return []SourceMutant{
		// The faithful read-write lock.
		source("readers-innermost-lease", plain, longest,
			"an unlock of a read lock has the key last as long as the innermost hold of each reader that remains, and not the longest",
			"scripts/rw_read_unlock.lua", "for i = 1, holds or 0 do", "for i = holds or 1, holds or 0 do"),
		source("readers-renews-from-0", plain, renews,
			"the watchdog counts a reader's holds from 0, so that it does not renew the innermost one's lease, though the lock's key",
			"scripts/rw_read_renew.lua", "for hold = 1, tonumber(holds) do", "for hold = 0, tonumber(holds) - 1 do"),
		source("readers-own-watchdog-ends", plain, stops,
			"a partial unlock of a read lock ends the renewal of the reader's other hold, and not that of a write lock that it has",
			"rwlock.go", "unwatchOne(holdKey{l.name, owner + writerSuffix})", "unwatchOne(holdKey{l.name, owner})"),
		source("readers-writer-no-latch", plain, once,
			"the answer to a writer's unlock of its only read lock is not remembered, so that a copy of it is refused",
			"scripts/rw_read_unlock.lua", "  if mode == 'write' then\n    return answered(0)", "  if mode == 'write' then\n    return 0"),
		source("readers-downgrade-resets", plain, longest,
			"a write unlock of an owner that reads on sets the key's lease to the watchdog's timeout, though the read lock's is longer",
			"scripts/rw_write_unlock.lua", "  call('hset', KEYS[1], 'mode', 'read')\n",
			"  call('hset', KEYS[1], 'mode', 'read')\n  call('pexpire', KEYS[1], ARGV[2])\n"),
		source("readers-mode-stays", plain, tells,
			"the mode stays that of a writer when an owner unlocks its write lock and reads on, so that nobody else can read",
			"scripts/rw_write_unlock.lua", "else\n  call('hset', KEYS[1], 'mode', 'read')\nend", "end"),
		source("readers-lease-stays", plain, partial,
			"a partial unlock of a write lock does not set the lease anew, so that all that the re-entries added stays",
			"scripts/rw_write_unlock.lua", "  call('pexpire', KEYS[1], ARGV[2])\n", ""),
		source("readers-key-outlasts", plain, leased,
			"when a reader leaves, the key's end is never brought forward, so that the lock is held as long as the lease of who left",
			"scripts/rw_read_unlock.lua", "call('pexpire', lock, longest)", "call('pexpire', lock, math.max(longest, call('pttl', lock)))"),
		source("readers-one-is-woken", plain, woken,
			"when a writer leaves, one of those who wait is woken, though all may be readers",
			"rwlock.go", "wakeAll(ch, ch.waiters)", "ch.wakeOne()"),
		// The hardened one.
		source("readers-one-protocol", rw, renews,
			"a round of the watchdog renews the holds of one protocol, so that a write lock is not renewed whose owner reads, too",
			"watchdog.go", "for len(shard) > 0 {", "if len(shard) > 0 {"),
		source("readers-sleeps-to-the-end", rw, woken,
			"who is refused sleeps until the last lease ends of all who hold the lock, and not of those who are in the way",
			"scripts/rw_acquire_hardened.lua", "answer = -3 - wait\n", "answer = -3 - call('pttl', lock)\n"),
		source("readers-unlock-not-longer", rw, partial,
			"a partial unlock does not make a lease longer than what is left, though the client counts on it",
			"scripts/rw_release_hardened.lua", "{answer, now + ARGV[4]}", "{answer, math.min(hold[2], now + ARGV[4])}"),
		source("readers-renewal-shortens", rw, longest,
			"a renewal shortens a longer lease to the watchdog's timeout, and the client counts on the longer one",
			"scripts/rw_renew_hardened.lua", "math.max(hold[2], now + ARGV[1])", "now + ARGV[1]"),
		source("readers-leaver-keeps", rw, woken,
			"who gives up while it is woken does not pass the wake-up on, if it has read it",
			"rwlock.go", "if w.owes && !acquired || w.unread() {", "if w.unread() {"),
		// The semaphore.
		source("readers-last-permits-kept", sem, ghosts,
			"an acquire that nobody wants any more is not taken back if it took the last permits",
			"scripts/semaphore_cancel_hardened.lua", "tonumber(string.sub(last, 17)) >= 0", "tonumber(string.sub(last, 17)) > 0"),
		source("readers-leaves-its-need", sem, woken,
			"who gives up while it is woken passes on as many permits as it asked for, and not all that were free",
			"semaphore.go", "ch.wakeFor(max(w.need, w.offer))", "ch.wakeFor(w.need)"),
		// The latch.
		source("readers-latch-resumes-asleep", count, woken,
			"who waits for a latch does not look when a broken subscription stands again",
			"countdown.go", "leaves:  func(*channel, *waiter, bool) {},\n\tresumed: wakeAll,",
			"leaves:  func(*channel, *waiter, bool) {},\n\tresumed: func(*channel, []*waiter) {},"),
		source("readers-settles-half", count, once,
			"a count-down of unknown outcome is repeated for half as long as is promised",
			"requests.go", "return 2 * c.memory()", "return c.memory()"),
	}
}
