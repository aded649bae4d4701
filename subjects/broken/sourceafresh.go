package broken

// plantedOnceMore are mistakes of one more author who had read the lock and what it promises, and nothing of how it is judged.
func plantedOnceMore() []SourceMutant {
	const (
		rw    = "rrwlock-hardened"
		sem   = "rsemaphore-hardened"
		count = "rcountdownlatch-hardened"
	)
	return []SourceMutant{
		// The lock.
		{
			Name: "afresh-late-renewal-counts", Sound: hardened, Claim: told,
			About: "a renewal's answer that comes after that of a partial unlock counts, though the unlock set a shorter lease since",
			Edits: []Edit{{"watchdog.go",
				`case answer == 1 && h.request == batch[i].request && ends.After(h.ends):`,
				`case answer == 1 && ends.After(h.ends):`}},
		},
		{
			Name: "afresh-lower-silent", Sound: hardened, Claim: told,
			About: "while a partial unlock is unanswered the lease counts as the shorter one, but who is to be told of the loss is told at the old end",
			Edits: []Edit{{"hardened.go",
				"sooner.Before(ends) {\n\t\th.endAt(sooner)",
				"sooner.Before(ends) {\n\t\th.ends = sooner"}},
		},
		{
			Name: "afresh-lost-not-settled", Sound: hardened, Claim: counts,
			About: "a hold that is called lost, and that the server may have still, is not given back before the owner locks anew",
			Edits: []Edit{{"lost.go",
				"h.past, h.owes = h.levels, h.unsettled\n\th.unsettled = true\n",
				"h.past, h.owes = h.levels, h.unsettled\n"}},
		},
		{
			Name: "afresh-last-single-decides", Sound: hardened, Claim: retries,
			About: "of locks that are renewed singly, since the server refused them together, the last alone decides whether the round is tried again soon",
			Edits: []Edit{
				{"hardened.go", "\t\"cmp\"\n", ""},
				{"hardened.go", `failed = cmp.Or(p.renew([][]renewal{batch[j : j+1]}), failed)`, `failed = p.renew([][]renewal{batch[j : j+1]})`},
			},
		},
		// Several locks.
		{
			Name: "afresh-half-is-a-quorum", Sound: hardened, Claim: quorum,
			About: "of an even number of servers a half is a quorum",
			Edits: []Edit{{"redlock.go",
				`quorum: len(locks)/2 + 1}`,
				`quorum: (len(locks) + 1) / 2}`}},
		},
		{
			Name: "afresh-multi-first-busy", Sound: hardened, Claim: woken,
			About: "a MultiLock goes on waiting for the member that was busy first, when that is free and another is busy",
			Edits: []Edit{{"multi.go",
				`if at := busy.waitsAt(owner); wait.place != at {`,
				`if at := busy.waitsAt(owner); wait.w == nil {`}},
		},
		{
			Name: "afresh-multi-longest-counts", Sound: hardened, Claim: told,
			About: "an unlock of several locks has the client count on the longest lease that it set for each of them",
			Edits: []Edit{{"multi_hardened.go",
				`err = hs.unlockedOne(held[i], request, remain, safe(called, leases[i]))`,
				`err = hs.unlockedOne(held[i], request, remain, safe(called, longest))`}},
		},
		// The read-write lock.
		{
			Name: "afresh-rw-unlock-keeps-lease", Sound: rw, Claim: partial,
			About: "a partial unlock leaves the longer lease of the hold that was taken back",
			Edits: []Edit{{"scripts/rw_release_hardened.lua",
				`{answer, now + ARGV[4]}`,
				`{answer, math.max(hold[2], now + ARGV[4])}`}},
		},
		{
			Name: "afresh-rw-one-looks", Sound: rw, Claim: woken,
			About: "after a broken subscription one waiter looks, and not all, though all may be readers",
			Edits: []Edit{{"rwlock.go",
				`sharers = &manner{heard: sharersHeard, leaves: sharersLeave, resumed: wakeAll}`,
				`sharers = &manner{heard: sharersHeard, leaves: sharersLeave, resumed: func(_ *channel, waiters []*waiter) { wakeOne(waiters) }}`}},
		},
		{
			Name: "afresh-rw-reentry-upgrades", Sound: rw, Claim: counts,
			About: "a writer who also reads is refused to write once more, as a reader who would write is",
			Edits: []Edit{{"scripts/rw_acquire_hardened.lua",
				`elseif holds[owner] then`,
				`elseif holds[owner] and not (writes(owner) and holds[base]) then`}},
		},
		// Semaphores.
		{
			Name: "afresh-cancel-last-permit", Sound: sem, Claim: ghosts,
			About: "an acquire that nobody wants any more, and that took the last permits, does not give them back",
			Edits: []Edit{{"scripts/semaphore_cancel_hardened.lua",
				`tonumber(string.sub(last, 17)) >= 0`,
				`tonumber(string.sub(last, 17)) > 0`}},
		},
		{
			Name: "afresh-offer-forgotten", Sound: sem, Claim: woken,
			About: "a waiter that was woken and leaves without permits hands on as many as it asked for, and not as many as there were",
			Edits: []Edit{{"semaphore.go",
				`ch.wakeFor(max(w.need, w.offer)) // of that it took nothing`,
				`ch.wakeFor(w.need)`}},
		},
		{
			Name: "afresh-refused-after-resend", Sound: sem, Claim: ghosts,
			About: "a request that was sent again, and whose second copy was refused, counts as one that took no effect",
			Edits: []Edit{
				{"requests.go", "\tvar again *resent\n", ""},
				{"requests.go", `return errors.As(err, &again) || !errors.As(err, &refused)`, `return !errors.As(err, &refused)`},
			},
		},
		// Count-down latches.
		{
			Name: "afresh-round-within-ms", Sound: count, Claim: "who waits in a round returns when it is over, though the next has begun",
			About: "rounds are numbered by the millisecond, so that two within one have the same number",
			Edits: []Edit{{"scripts/latch_set_hardened.lua",
				`math.max(now[1] * 1000000 + now[2], (call('get', KEYS[3]) or 0) + 1)`,
				`now[1] * 1000 + math.floor(now[2] / 1000)`}},
		},
		{
			Name: "afresh-round-keeps-ttl", Sound: count, Claim: "who waits in a round returns when it is over, though the next has begun",
			About: "the number of a new round ends when that of the round before would have",
			Edits: []Edit{{"scripts/latch_set_hardened.lua",
				`string.format('%.0f', round))`,
				`string.format('%.0f', round), 'keepttl')`}},
		},
		// Wake-ups.
		{
			Name: "afresh-stagger-once", Sound: hardened, Claim: woken,
			About: "a wake-up that was put off and called off, since another process has the lock, is still there to those that come later",
			Edits: []Edit{{"wake.go",
				"\t\tch.staggered.Stop()\n\t\tch.staggered = nil\n",
				"\t\tch.staggered.Stop()\n"}},
		},
	}
}
