package broken

// plantedThirtyFirst are mistakes of another author who had read the lock, its family and what they promise, and nothing of how they are judged.
func plantedThirtyFirst() []SourceMutant {
	const (
		fair                  = "rfair-hardened"
		rw, plainRW           = "rrwlock-hardened", "rrwlock-classic"
		sem                   = "rsemaphore-hardened"
		permits, plainPermits = "rpermitsemaphore-hardened", "rpermitsemaphore-classic"
		count                 = "rcountdownlatch-hardened"
		spin                  = "rspin-hardened"
	)
	return []SourceMutant{
		// The lock, and several locks.
		source("thirtyone-unanswered-unlock-lengthens", hardened, told,
			"a partial unlock that gets no answer has its client count on the lease that it would have set, also if that ends later",
			"hardened.go", "\tif sooner := safe(called, lease); sooner.Before(ends) {\n\t\th.endAt(sooner)\n\t}\n", "\th.endAt(safe(called, lease))\n"),
		source("thirtyone-multi-refusal-tells-first-ttl", hardened, "a waiter sleeps no longer than the remaining lease seen at the last attempt",
			"who is refused several locks is told how long the first of them lasts, and not the one that is held",
			"scripts/acquire_multi.lua", "return {0, i, ttls[i]}", "return {0, i, ttls[1]}"),
		unseen(source("thirtyone-multi-again-before-waiting", hardened, untold,
			"whether a group is taken once more is asked before the call waits, and not before each attempt",
			"multi.go", "\tfor moves := 0; ; {\n\t\tagain := time.Now().Before(allUntil(m.members, owner))\n", "\tagain := time.Now().Before(allUntil(m.members, owner))\n\tfor moves := 0; ; {\n"),
			"the harness asks to be told of a loss after each grant, and a group whose owner was told so begins anew all the same"),
		{Name: "thirtyone-pong-is-no-sign", Sound: hardened, Claim: quiet,
			About:  "an answer to a ping does not count as a sign of life, so that a quiet connection is made anew",
			Unseen: "a waiter may ask a hundred times a second, and what the new connection costs is far below that",
			Edits: []Edit{
				{"hub.go", "\t\tworked = true\n\t\th.hears()\n", "\t\tworked = true\n"},
				{"hub.go", "\t\tcase *redis.Message:\n", "\t\tcase *redis.Message:\n\t\t\th.hears()\n"},
			}},
		source("thirtyone-multi-until-of-the-last", hardened, all,
			"several locks of different clients count as held until the last of their leases ends, and not the first",
			"multi.go", "ends.Before(least)", "ends.After(least)"),
		source("thirtyone-watch-listens-on", hardened, lingers,
			"what tells of a loss goes on listening when the hold is over",
			"lost.go", "\tw.unhear()\n", ""),
		source("thirtyone-multi-longest-of-others", hardened, leased,
			"a lock that is taken once more, with others, gets the longest lease that its owner has of one before it",
			"multi_hardened.go", "again[i] = max(co.lease, hs.viewOf(h).longest)", "again[i] = max(longest, hs.viewOf(h).longest)"),

		// The fair lock.
		source("thirtyone-fair-sleeps-out-lease", fair, "who waits asks again at the latest every third of the watchdog's timeout, and so keeps its place",
			"who waits for a lease that is longer than its place is kept asks again when that is over",
			"scripts/fair_acquire_hardened.lua", "if ttl < 0 or ttl > tonumber(ARGV[7]) then", "if ttl < 0 then"),
		source("thirtyone-fair-leaving-goes-on", fair, "who waits keeps its place",
			"who could not tell that it waits no more goes on telling so when it waits again",
			"hardened.go", "\tif l.fair != nil && l.fair.keep(co) > 0 {\n\t\ths.waitsAgain(h)\n\t}\n", ""),
		source("thirtyone-fair-leave-wakes-nobody", fair, woken,
			"who leaves the queue of a free lock, as its head, wakes nobody",
			"scripts/fair_leave_hardened.lua", "if call('exists', KEYS[1]) == 0 then\n  wake(ARGV[4]) -- it may have been the head\nend\n", ""),

		// The read-write lock.
		source("thirtyone-rw-writer-that-reads-refused", rw, counts,
			"a writer that reads, too, is refused when it takes the write lock once more",
			"scripts/rw_acquire_hardened.lua",
			"elseif holds[owner] then\n  answer = -1\n  lease, memory = lease + (ARGV[5] or 0), memory + (ARGV[5] or 0)\nelseif writes(owner) and holds[base] then\n  answer = -9000000000000000\n",
			"elseif writes(owner) and holds[base] then\n  answer = -9000000000000000\nelseif holds[owner] then\n  answer = -1\n  lease, memory = lease + (ARGV[5] or 0), memory + (ARGV[5] or 0)\n"),
		source("thirtyone-rw-owner-by-prefix", rw, "one owner writes, and nobody else reads or writes beside it",
			"an owner takes for its own holds those of all owners whose names begin with its name",
			"scripts/rw_acquire_hardened.lua", "local mine = other == base or other == base .. ':write'", "local mine = string.sub(other, 1, #base) == base"),
		source("thirtyone-rw-outer-lease-ends", plainRW, counts,
			"an unlock that leaves a reader a hold ends the lease of that hold, and not of the one that it took back",
			"scripts/rw_read_unlock.lua", "rwlock_timeout:' .. (left + 1))", "rwlock_timeout:' .. left)"),

		// The semaphore.
		source("thirtyone-sem-refused-repetition-ends", sem, "a release of unknown outcome is repeated until it has taken effect once",
			"a release that is repeated is given up when the server refuses a repetition, for it is busy",
			"requests.go", "if err := settle(c.closing); err == nil || errors.Is(err, ErrSuperseded) {", "if err := settle(c.closing); !undecided(err) {"),
		source("thirtyone-sem-offer-of-before", sem, "a waiter is woken when what it asks for is free",
			"who was woken and has not asked yet does not note that more permits are free since, and hands on too few if it leaves",
			"semaphore.go", "\t\t\tw.offer = max(w.offer, permits)\n", ""),

		// Permits that expire.
		source("thirtyone-permit-reclaims-one", plainPermits, "a permit whose lease is over is free",
			"of several permits whose leases are over together one is given back",
			"scripts/permits_reclaim.lua", "call('incrby', KEYS[1], #over)", "call('incr', KEYS[1])"),
		source("thirtyone-permit-cancel-is-a-copy", permits, ghosts,
			"what gives back a permit that nobody knows to have bears the number of the acquire, and so gets its answer",
			"permits.go", "\t\tcancel := r.after()\n", "\t\tcancel := r\n"),

		// Latches, and the spin lock.
		source("thirtyone-latch-awaits-the-silent", count, "TryAwait waits as long as Wait says, and not much longer",
			"who waits for a latch awaits an attempt that is under way for as long as go-redis does",
			"countdown.go", "at.manner, at.eager = rounds, true", "at.manner = rounds"),
		source("thirtyone-latch-repeated-without-round", count, woken,
			"a count-down that is repeated does not name the key of the round, so that the last one fails before it wakes anybody",
			"requests.go", "_, err := r.send(ctx, s, channel, further, args...)", "_, err := r.send(ctx, s, channel, nil, args...)"),
		unseen(source("thirtyone-spin-shift-overflows", spin, "who waits for a spin lock asks again after up to 128 ms, and not at once",
			"the pause of who spins is doubled without end, and so is none after some forty times",
			"spin.go", "sleep := spinFirst << min(n, 7)", "sleep := spinFirst << n"),
			"a waiter may ask a hundred times a second, and this one asks some thirty times"),
	}
}
