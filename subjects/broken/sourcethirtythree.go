package broken

// plantedThirtyThird are mistakes of one more author who had read the semaphores and the latch and what they promise, and nothing of how they are judged.
// Most concern what adds, takes away and drains permits, and what deletes a latch.
func plantedThirtyThird() []SourceMutant {
	const (
		sem                   = "rsemaphore-hardened"
		permits, plainPermits = "rpermitsemaphore-hardened", "rpermitsemaphore-classic"
		count, plainCount     = "rcountdownlatch-hardened", "rcountdownlatch-classic"
	)
	return []SourceMutant{
		// Drain.
		source("thirtythree-sem-drain-of-none-forgotten", sem, overtakes,
			"a drain that finds no permit is not remembered, so that a late copy of it takes what was released since",
			"scripts/semaphore_drain_hardened.lua", "if not free then\n  return answer(0)\nend\n", "if not free or free == '0' then\n  return 0\nend\n"),
		source("thirtythree-sem-drain-debt-told-as-none", sem, "Drain returns how many permits were free, which may be fewer than 0",
			"a drain that gave what was missing says that none were free",
			"scripts/semaphore_drain_hardened.lua", "answer(tonumber(free))", "answer(math.max(0, tonumber(free)))"),
		source("thirtythree-sem-drain-ends-semaphore", sem, "Drain takes the permits that are free, and there is a semaphore still, to which permits can be released",
			"a drain removes the key",
			"scripts/semaphore_drain_hardened.lua", "call('decrby', KEYS[1], free)", "call('del', KEYS[1])"),

		// AddPermits of a semaphore.
		source("thirtythree-sem-add-tells-what-was-added", sem, "waiters are woken by as many permits as are free",
			"permits that are added are published without those that were free before",
			"scripts/semaphore_add_hardened.lua", "call('publish', ARGV[3], free)", "call('publish', ARGV[3], ARGV[4])"),
		source("thirtythree-sem-add-not-below-none", sem, "AddPermits takes permits away, and then fewer than 0 may be free",
			"permits are taken away only as far as they are free",
			"scripts/semaphore_add_hardened.lua", "if free > 0 then\n", "if free < 0 then\n  free = 0\n  call('set', KEYS[1], free, 'keepttl')\nend\nif free > 0 then\n"),
		source("thirtythree-sem-add-taking-forgotten", sem, once,
			"what adds or takes permits away so that none is free is not remembered, since nobody is to be told of it",
			"scripts/semaphore_add_hardened.lua", "if free > 0 then\n  call('publish', ARGV[3], free)\nend\n", "if free <= 0 then\n  return free\nend\ncall('publish', ARGV[3], free)\n"),
		source("thirtythree-sem-add-makes-none", sem, "where there is no semaphore AddPermits makes one",
			"permits are added only where there is a semaphore, as they are released",
			"scripts/semaphore_add_hardened.lua", "local free = call(", "if call('exists', KEYS[1]) == 0 then\n  return answer(0)\nend\nlocal free = call("),

		// AddPermits of a semaphore of permits that expire.
		source("thirtythree-permit-add-not-below-taken", permits, "AddPermits makes it so many permits fewer, and those that are out stay so",
			"permits are taken away only as far as they are free",
			"scripts/permits_set_hardened.lua", "  permits = math.max(0, permits - (total or 0))\n",
			"  local n = free() or 0\n  permits = math.max(-(total or 0) - n, permits - (total or 0))\n"),
		source("thirtythree-permit-add-unheard", permits, woken,
			"only the first number of permits is published, and not what is added to it",
			"scripts/permits_set_hardened.lua", "  call('pexpire', KEYS[1], ARGV[6])\nend\npublish(ARGV[3])\n", "  call('pexpire', KEYS[1], ARGV[6])\nend\nif not total then\n  publish(ARGV[3])\nend\n"),
		source("thirtythree-permit-add-counts-from-free", permits, "AddPermits makes it so many permits more than there are",
			"permits are added to the number of those that are free, and not of all",
			"scripts/permits_set_hardened.lua", "permits - (total or 0)", "permits + (free() or 0)"),
		source("thirtythree-permit-take-from-none-makes-none", permits, "where there is no semaphore AddPermits makes one, of no fewer than 0 permits",
			"what takes permits away makes no semaphore where there is none",
			"scripts/permits_set_hardened.lua", "if ARGV[5] == '2' then\n", "if ARGV[5] == '2' then\n  if not total and permits < 0 then\n    return answer(0)\n  end\n"),

		// Delete of a latch.
		source("thirtythree-latch-delete-forgotten", count, once,
			"a deletion is not remembered, so that a copy of it says that there was no latch, or deletes the next one",
			"scripts/latch_delete_hardened.lua", "return answer(1)", "return 1"),
		source("thirtythree-latch-delete-of-none-forgotten", count, overtakes,
			"a deletion that finds no latch is not remembered, so that a late copy of it deletes one that was set since",
			"scripts/latch_delete_hardened.lua", "return answer(0)", "return 0"),
		source("thirtythree-latch-delete-of-round", count, "Delete reports whether there was a latch",
			"a deletion takes the number of a round that is over for a latch",
			"scripts/latch_delete_hardened.lua", "if call('del', KEYS[1]) == 0 then", "if call('del', KEYS[1], KEYS[3]) == 0 then"),
		source("thirtythree-latch-round-kept", count, "who waits in one round returns when it is over, though the next has begun",
			"a latch that is set anew keeps the number of the round before as long as that is remembered",
			"scripts/latch_set_hardened.lua", "call('set', KEYS[3], string.format('%.0f', round))", "call('set', KEYS[3], string.format('%.0f', round), 'nx')"),
		source("thirtythree-latch-one-told", count, "Delete, and a count of 0, let everybody who waits return",
			"the message that a round is over wakes one waiter of each client",
			"countdown.go", "\t\tif payload == zeroMessage {\n\t\t\twakeAll(ch, ch.waiters)\n", "\t\tif payload == zeroMessage {\n\t\t\tch.wakeOne()\n"),

		// What they share, and the faithful forms.
		source("thirtythree-sem-cancel-of-last", sem, ghosts,
			"an acquire that nobody wants any more is taken for refused if it left no permit free",
			"scripts/semaphore_cancel_hardened.lua", "tonumber(string.sub(last, 17)) >= 0", "tonumber(string.sub(last, 17)) > 0"),
		source("thirtythree-slot-free-while-unknown", sem, "a release of unknown outcome is repeated in the background until it has taken effect once",
			"a slot is free for other requests while the outcome of its last one is unknown, so that a repetition is refused as one that comes too late",
			"requests.go", "\tgo func() {\n\t\tdefer c.work.Done()\n\t\tdefer r.done()\n", "\tr.done()\n\tgo func() {\n\t\tdefer c.work.Done()\n"),
		source("thirtythree-permit-release-leaves-it", plainPermits, "a permit that was given back is not taken: a second release of it gives nothing",
			"a release leaves the permit among those that are taken, so that another, or the end of its lease, gives it back again",
			"scripts/permits_release.lua", "if call('zrem', KEYS[2], ARGV[2]) ~= 1 then", "if not deadline then"),
		source("thirtythree-latch-zero-stays", plainCount, "a latch whose count is 0 is as one that was never set, and can be set again",
			"the count-down to 0 leaves the key",
			"scripts/latch_down.lua", "if count <= 0 then", "if count < 0 then"),
	}
}
