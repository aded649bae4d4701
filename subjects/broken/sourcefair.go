package broken

// inQueues are mistakes in the queue of a fair lock.
func inQueues() []SourceMutant {
	const plain, sound = "rfair-classic", "rfair-hardened"
	const turn, place, leaves = "a fair lock is granted in the order in which owners began to wait", "who waits keeps its place", "who stops waiting gives its place up"
	return []SourceMutant{
		source("fair-newcomer-overtakes", sound, turn, "whoever finds the lock free gets it",
			"scripts/fair_acquire_hardened.lua", "elseif ttl == -2 and (not head or head == owner) then", "elseif ttl == -2 then"),
		source("fair-newcomer-overtakes-plainly", plain, turn, "whoever finds Redisson's lock free gets it",
			"scripts/fair_acquire.lua", "(call('exists', KEYS[2]) == 0 or call('lindex', KEYS[2], 0) == owner)", "true"),
		source("fair-turns-are-equal", sound, turn, "all who wait have the same turn, so that their names order them",
			"scripts/fair_acquire_hardened.lua", "math.max(back[2] or 0, 0) + 1", "1"),
		source("fair-last-comes-first", plain, turn, "who begins to wait comes in at the head of the queue",
			"scripts/fair_acquire.lua", "call('rpush', KEYS[2], owner)", "call('lpush', KEYS[2], owner)"),
		source("fair-asks-itself-back", sound, place, "who asks again comes in at the end of the queue",
			"scripts/fair_acquire_hardened.lua", "if not call('zscore', queue, 'q:' .. owner) then", "if true then"),
		source("fair-place-kept-for-half-as-long", sound, place, "a place is kept for as long as it takes to ask again, and no longer",
			"fair.go", "	return 2 * f.poll\n", "	return f.poll\n"),
		source("fair-dead-keep-their-places", sound, leaves, "a place that nobody keeps stays",
			"scripts/fair_line.lua", "for _, dead in ipairs(call('zrangebyscore', queue, string.format('%.0f', -now), -1)) do", "for _, dead in ipairs({}) do"),
		source("fair-cancelled-stay", sound, leaves, "who is given up while it waits does not leave the queue",
			"fair.go", "		p.leave(ctx, l, owner, err == nil)\n		return\n", "		if err == nil {\n			p.leave(ctx, l, owner, true)\n		}\n		return\n"),
		source("fair-late-stay", plain, leaves, "who has waited for its time does not leave the queue",
			"fair.go", "	if err != nil {\n		return // Redisson leaves its place to the deadline\n	}\n", "	if err == nil {\n		return\n	}\n"),
		source("fair-queue-without-end", sound, "whatever keys a lock writes have an end", "the queue has no time to live, so that who dies in it leaves it there",
			"scripts/fair_acquire_hardened.lua", "    call('pexpire', queue, keep)\n", ""),
		source("fair-late-leave-of-a-new-place", sound, leaves, "what gives up an earlier place goes on when its owner waits again",
			"hardened.go", "		hs.waitsAgain(h)\n", "		_ = hs\n"),
		source("fair-holder-waits", sound, "a lock is reentrant", "who holds the lock waits for it while others wait",
			"scripts/fair_acquire_hardened.lua", "if ttl ~= -2 and call('hexists'", "if ttl ~= -2 and not head and call('hexists'"),
		source("fair-wakes-the-dead", sound, woken, "an unlock wakes who is first, though its place is over",
			"scripts/fair_line.lua", "local function wake(channel)\n  local head = first()\n  if head then\n    call('publish', channel .. ':' .. head, '0')",
			"local function wake(channel)\n  local head = call('zrangebyscore', queue, 1, '+inf', 'limit', 0, 1)[1]\n  if head then\n    call('publish', channel .. ':' .. string.sub(head, 3), '0')"),
		source("fair-force-tells-nobody", sound, "a forced release is told to the holder at once", "the holder of a fair lock is not told that it was forced free",
			"scripts/fair_force_hardened.lua", "  call('publish', KEYS[2] .. ':' .. holder, ARGV[1]) -- it is told of its loss\n", ""),
		source("fair-release-wakes-nobody", sound, woken, "the unlock of a fair lock publishes nothing",
			"scripts/fair_release_hardened.lua", "  call('del', KEYS[1])\n  wake(KEYS[2])\n", "  call('del', KEYS[1])\n"),
		source("fair-leaving-wakes-nobody", sound, woken, "who leaves the queue while the lock is free wakes nobody",
			"scripts/fair_leave_hardened.lua", "  wake(ARGV[4]) -- it may have been the head\n", "  local _ = 0\n"),
		source("fair-wakes-the-last", plain, woken, "an unlock wakes who came last",
			"scripts/fair_unlock.lua", "call('lindex', KEYS[2], 0)", "call('lindex', KEYS[2], -1)"),
	}
}
