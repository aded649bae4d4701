package broken

// plantedThirtySecond are mistakes of one more author who had read the lock, its family and what they promise, and nothing of how they are judged.
func plantedThirtySecond() []SourceMutant {
	const (
		fair        = "rfair-hardened"
		rw, plainRW = "rrwlock-hardened", "rrwlock-classic"
		sem         = "rsemaphore-hardened"
		permits     = "rpermitsemaphore-hardened"
		count       = "rcountdownlatch-hardened"
		spin        = "rspin-hardened"
	)
	return []SourceMutant{
		// The lock.
		unseen(source("thirtytwo-hold-context-without-cause", hardened, "when a hold is lost, the cause of its HoldContext is ErrLost",
			"the context of a hold that is lost ends with the same cause as that of a hold that was unlocked",
			"lost.go", "\tl.whenOver(owner, stop)\n", "\tl.whenOver(owner, func(error) { cancel() })\n"),
			"the harness asks when the context of a hold ends, and not why"),
		unseen(source("thirtytwo-refusal-after-unknown-script", hardened, outcome,
			"the answer that a server does not know the script counts as a copy of the request, so that the outcome of a refusal after it is unknown",
			"script.go", "\t\tcmd.failures().Add(-1) // that one did nothing\n", ""),
			"who is told that it is not known what a call did is not told a lie"),
		unseen(source("thirtytwo-renewal-leaves-no-end", hardened, "whatever keys a lock writes have an end",
			"a renewal leaves a key without an end as it is",
			"scripts/renew_hardened.lua", "  if call('pttl', key) < tonumber(ms) then -- -1: no end, which no call asks for\n",
			"  local left = call('pttl', key)\n  if left >= 0 and left < tonumber(ms) then\n"),
			"no fault takes the time to live of a key away"),
		source("thirtytwo-confirmed-during-attempt", rw, woken,
			"a subscription that is confirmed while an attempt is under way counts for that attempt, too, which may have been refused before",
			"acquire.go", "func() (bool, error) { wt.unheard = true; return true, nil }", "func() (bool, error) { return true, nil }"),
		unseen(source("thirtytwo-token-after-loss", hardened, "Token says whether there is a hold",
			"the owner of a hold that was lost has the token of it still",
			"lost.go", "if h == nil || len(h.levels) == 0 || h.token == 0 {", "if h == nil || h.token == 0 {"),
			"no plan asks for the token of a hold"),

		// Several locks.
		unseen(source("thirtytwo-multi-first-watchdog", hardened, renews,
			"members of other clients get the watchdog's timeout of the first member's client as their lease",
			"multi.go", "\t\tif lease.watched {\n\t\t\tlease.lease = l.client.opts.WatchdogTimeout\n\t\t}\n", ""),
			"all clients of a plan have one watchdog timeout"),
		unseen(source("thirtytwo-multi-in-given-order", hardened, "MultiLocks over the same locks in different orders do not wait for each other for ever",
			"several locks are taken in the order in which they were given, and not in that of their names",
			"multi.go", "\tslices.SortStableFunc(m.members, func(a, b *RLock) int { return strings.Compare(a.name, b.name) })\n", ""),
			"an attempt that finds one of them busy gives the others back, so that nobody waits for ever"),
		unseen(source("thirtytwo-red-minority-unlock-is-fine", hardened, "a RedLock's unlock on fewer servers than a quorum is an error",
			"an unlock that took back a hold on any server is no error",
			"redlock.go", "unlocked >= r.quorum {\n\t\terr = nil", "unlocked > 0 {\n\t\terr = nil"),
			"the harness asks what an unlock of a group did to each member"),

		// The fair lock.
		source("thirtytwo-fair-dead-head-polled", fair, "a place that nobody keeps is free after two thirds of the watchdog's timeout",
			"who waits behind a place that nobody keeps asks again when its own next question is due, and not when that place ends",
			"scripts/fair_acquire_hardened.lua",
			"    if ttl == -2 then -- the head is about to take it, or dead\n      ttl = math.max(1, -call('zscore', queue, 'd:' .. head) - now)\n    end\n", ""),
		source("thirtytwo-fair-force-wakes-nobody", fair, woken,
			"a forced release tells the holder, and wakes nobody of those who wait",
			"scripts/fair_force_hardened.lua", "  wake(KEYS[2])\n", ""),

		// The read-write lock.
		source("thirtytwo-rw-listens-as-lock", rw, told,
			"who watches for a loss hears the messages of a lock, so that a forced release of a read-write lock is none to it",
			"hub.go", "\tch := h.open(p.channel)\n\tch.manner = p.manner\n", "\tch := h.open(p.channel)\n"),
		unseen(source("thirtytwo-rw-force-leaves-mode", rw, forces,
			"a forced release leaves the key with its mode, which other programs take for a lock that is held",
			"scripts/rw_force_hardened.lua", "  store(lock, holds, '', nil)\n", ""),
			"no plan mixes generations"),
		source("thirtytwo-rw-last-read-frees-writer", plainRW, "one owner writes, and nobody else reads or writes beside it",
			"a writer that gives back its own last read hold frees the write lock, too",
			"scripts/rw_read_unlock.lua", "  if mode == 'write' then\n    return answered(0)\n  end\n", ""),

		// The semaphore.
		source("thirtytwo-sem-cancel-not-remembered", sem, overtakes,
			"what finds that an acquire which nobody wants any more took nothing is not remembered, so that the acquire takes permits when it comes late",
			"scripts/semaphore_cancel_hardened.lua", "return answer(0)", "return 0"),
		source("thirtytwo-sem-drain-leaves-debt", sem, "Drain gives what is missing where fewer than 0 permits are free",
			"Drain does nothing where no permit is free, also where fewer than 0 are",
			"scripts/semaphore_drain_hardened.lua", "if not free then", "if not free or tonumber(free) <= 0 then"),

		// Permits that expire.
		source("thirtytwo-permit-total-below-none", permits, "AddPermits makes it no fewer than 0 permits, and there is a semaphore still",
			"a number of permits below 0 is written as a deadline that is over, so that the next request removes it",
			"scripts/permits_set_hardened.lua", "math.max(0, permits - (total or 0))", "permits - (total or 0)"),
		unseen(source("thirtytwo-permit-add-ends-life", permits, "a semaphore that was set with a lease ends by itself after it",
			"AddPermits ends the time to live of the semaphore",
			"scripts/permits_set_hardened.lua", "  call('pexpire', KEYS[1], ARGV[6])\nend\n", "  call('pexpire', KEYS[1], ARGV[6])\nelse\n  call('persist', KEYS[1])\nend\n"),
			"no plan adds permits"),

		// Latches, and the spin lock.
		source("thirtytwo-latch-delete-unheard", count, "Delete lets everybody who waits return",
			"a deletion is not published",
			"scripts/latch_delete_hardened.lua", "call('publish', ARGV[3], '0')\n", ""),
		source("thirtytwo-latch-down-of-nothing-forgotten", count, overtakes,
			"a count-down that finds no latch is not remembered, so that a late copy of it counts in the next round",
			"scripts/latch_down_hardened.lua", "if call('del', KEYS[1]) == 1 then\n  call('pexpire', KEYS[3], ARGV[4])\n  call('publish', ARGV[3], '0')\nend\n",
			"if call('del', KEYS[1]) == 0 then\n  return 0\nend\ncall('pexpire', KEYS[3], ARGV[4])\ncall('publish', ARGV[3], '0')\n"),
		unseen(source("thirtytwo-spin-sleeps-past-lease", spin, "nobody who waits for a spin lock sleeps longer than the holder's lease",
			"who spins sleeps for the pause that is due, though the holder's lease ends before",
			"spin.go", "\t\t\tif ttl >= 0 {\n\t\t\t\tsleep = min(sleep, max(ttl, time.Millisecond))\n\t\t\t}\n", ""),
			"a waiter may be a second late"),
	}
}
