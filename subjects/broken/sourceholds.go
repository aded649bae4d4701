package broken

// inCounts are mistakes in the hold count.
func inCounts() []SourceMutant {
	return []SourceMutant{
		source("reentry-not-counted", classic, counts, "a re-entry sets the count to 1",
			"scripts/acquire_classic.lua", "redis.call('hincrby', KEYS[1], ARGV[2], 1)", "redis.call('hset', KEYS[1], ARGV[2], 1)"),
		source("count-compared-as-text", hardened, counts, "the release script compares the count as a text, so that 10 is less than 2",
			"scripts/release_hardened.lua", "if holds == '1' and not ARGV[5] then", "if holds and holds < '2' and not ARGV[5] then"),
		source("partial-unlock-keeps-level", hardened, counts, "the client does not forget the hold that a partial unlock gave back",
			"hardened.go", "		h.endAt(ends)\n		hs.popOne(h)\n", "		h.endAt(ends)\n"),
		source("partial-unlock-forgets-all", latch, counts, "the client forgets all holds at a partial unlock, so that nobody renews the rest",
			"holds.go", "h.endAt(time.Now().Add(hs.client.opts.WatchdogTimeout))\n		hs.popOne(h)",
			"h.endAt(time.Now().Add(hs.client.opts.WatchdogTimeout))\n		hs.pop(h, 0)"),
		source("multi-reentry-not-counted", hardened, counts, "a MultiLock's re-entry sets the counts to 1",
			"scripts/acquire_multi.lua", "call('hincrby', lock, ARGV[2], 1)", "call('hset', lock, ARGV[2], 1)"),
		source("reconcile-takes-one", hardened, counts, "to leave no hold is taken for giving back one",
			"hardened.go", "if keep >= 0 {", "if keep > 0 {"),
		source("unlock-off-by-one", combined, counts, "the last unlock leaves the key with a count of 0",
			"scripts/unlock_plain.lua", "ARGV[3], -1) > 0 then", "ARGV[3], -1) >= 0 then"),
		source("deep-reentry-forgotten", hardened, counts, "the client has room for two holds and writes the third over the second",
			"holds.go", "h.levels = append(h.levels, level{co.lease, co.watched})",
			"h.levels = append(h.levels[:min(len(h.levels), len(h.room)-1)], level{co.lease, co.watched})"),
	}
}

// inLeases are mistakes in the leases of re-entries and of partial unlocks.
func inLeases() []SourceMutant {
	return []SourceMutant{
		source("reentry-shortens", hardened, longest, "a re-entry sets the lease that it asks for",
			"hardened.go", "again := max(co.lease, v.longest) // a re-entry does not shorten", "again := co.lease"),
		source("longest-is-innermost", hardened, longest, "the longest lease is taken to be that of the innermost hold",
			"holds.go", "v.longest = max(v.longest, level.lease)", "v.longest = level.lease"),
		source("reentry-script-shortens", hardened, longest, "the script adds what is left of the longest lease to the record's life only",
			"scripts/acquire_hardened.lua", "    lease = lease + ARGV[5]\n", "    lease = ARGV[1]\n"),
		source("regrant-keeps-longest", hardened, leased, "a grant after a loss gets the longest lease of the holds that were lost",
			"scripts/acquire_hardened.lua", "local lease = ARGV[1]\n  if answer == -1 and ARGV[5] then", "local lease = ARGV[1]\n  if ARGV[5] then"),
		source("reentry-ends-early", hardened, untold, "the client expects a re-entry to end with the lease that it asked for",
			"hardened.go", "if ends = safe(called, again); len(h.levels) > 0 && h.ends.After(ends) {", "if len(h.levels) > 0 && h.ends.After(ends) {"),
		source("reentry-notes-short-lease", hardened, longest, "the client notes the lease that a re-entry asked for, not the one that it got",
			"hardened.go", "		co.lease = again\n", ""),
		source("multi-reentry-shortens", hardened, longest, "a MultiLock's re-entry sets the lease that it asks for",
			"multi_hardened.go", "again[i] = max(co.lease, hs.viewOf(h).longest)", "again[i] = co.lease"),
		source("multi-script-mixes-members", hardened, longest, "a MultiLock's script extends every lock by what the first one needs",
			"scripts/acquire_multi.lua", "ARGV[4 + i]\n", "ARGV[5]\n"),
		source("multi-regrant-keeps-longest", hardened, leased, "a MultiLock's grant after a loss gets the longest lease of the holds that were lost",
			"scripts/acquire_multi.lua", "    more = 0\n", ""),
		source("classic-reentry-keeps-lease", classic, leased, "a re-entry does not set the lease anew",
			"scripts/acquire_classic.lua", "redis.call('hincrby', KEYS[1], ARGV[2], 1)\n  redis.call('pexpire', KEYS[1], ARGV[1])",
			"redis.call('hincrby', KEYS[1], ARGV[2], 1)"),

		source("partial-unlock-keeps-lease", hardened, partial, "a partial unlock does not set the lease",
			"scripts/release_hardened.lua", "  call('pexpire', KEYS[1], ARGV[4])\n", ""),
		source("partial-unlock-inner-lease", latch, partial, "a partial unlock sets the lease of the hold that it gives back",
			"holds.go", "return h.mark, hs.leaseOf(butLast(h.levels))", "return h.mark, hs.leaseOf(h.levels)"),
		source("partial-unlock-inner-lease-hardened", hardened, partial, "a partial unlock sets the lease of the hold that it gives back",
			"holds.go", "outer: hs.leaseOf(butLast(h.unlockable()))}", "outer: hs.leaseOf(h.unlockable())}"),
		source("partial-unlock-outermost-lease", latch, partial, "the lease that remains is taken to be that of the outermost hold",
			"holds.go", "return levels[len(levels)-1].lease", "return levels[0].lease"),
		source("partial-unlock-347-days", hardened, partial, "the release script gets the lease in nanoseconds, and takes them for milliseconds",
			"hardened.go", "request, memory.Milliseconds(), lease.Milliseconds())", "request, memory.Milliseconds(), lease.Nanoseconds())"),
		source("multi-partial-unlock-347-days", hardened, partial, "a MultiLock's release script gets leases in nanoseconds, and takes them for milliseconds",
			"multi_hardened.go", "(leases[i] + p.memory).Milliseconds(), leases[i].Milliseconds())", "(leases[i] + p.memory).Milliseconds(), leases[i].Nanoseconds())"),
		source("latch-partial-unlock-347-days", latch, partial, "the unlock script gets the lease in nanoseconds, and takes them for milliseconds",
			"faithful.go", "unlockMessage, lease.Milliseconds(), string(owner), f.client.opts.latchLifetime().Milliseconds())",
			"unlockMessage, int64(lease), string(owner), f.client.opts.latchLifetime().Milliseconds())"),
		source("partial-unlock-ends-inner", hardened, told, "after a partial unlock the client counts on the lease of the hold that was given back",
			"hardened.go", "hs.unlockedOne(h, request, remain, safe(called, v.outer))", "hs.unlockedOne(h, request, remain, safe(called, v.inner))"),
		source("partial-unlock-latch-lifetime", latch, partial, "a partial unlock sets the latch's life as the lease",
			"scripts/unlock_latch.lua", "redis.call('pexpire', KEYS[1], ARGV[2])", "redis.call('pexpire', KEYS[1], ARGV[4])"),
		source("partial-unlock-of-multi-first-lease", hardened, partial, "a MultiLock's partial unlock sets the lease of the first lock for all",
			"scripts/release_multi.lua", "call('pexpire', lock, ARGV[2 * i + 2])", "call('pexpire', lock, ARGV[4])"),
	}
}
