package broken

// inScripts are mistakes in the scripts of generation latch that the one story of the tests may not
// show: exploration must.
func inScripts() []Lock {
	const (
		publish = "redis.call('publish', KEYS[2], ARGV[1])\n"
		lease   = "redis.call('pexpire', KEYS[1], ARGV[1])\n  return nil"
	)
	return []Lock{
		script("latch-not-read", "a re-sent unlock does not look for the first answer", "object",
			"if answer then\n  return tonumber(answer)\nend\n", ""),
		script("latch-not-set", "the last unlock does not remember its answer", "object",
			"redis.call('set', KEYS[3], 1, 'px', ARGV[4])\n", ""),
		script("latch-not-set-partly", "a partial unlock does not remember its answer, and a copy of it counts again", "object",
			"  redis.call('set', KEYS[3], 0, 'px', ARGV[4])\n", ""),
		script("unlock-says-released", "a partial unlock says that the lock is free", "object",
			"  return 0\nend\nredis.call('del'", "  return 1\nend\nredis.call('del'"),
		script("unlock-other-channel", "the release is published where nobody listens", "liveness",
			publish, "redis.call('publish', KEYS[1], ARGV[1])\n"),
		script("unlock-other-message", "the release is published with a message that nobody knows", "liveness",
			publish, "redis.call('publish', KEYS[2], '7')\n"),
		script("unlock-never-last", "the last unlock counts to 0 and goes on holding", "object",
			"redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0", "redis.call('hincrby', KEYS[1], ARGV[3], -1) >= 0"),
		script("unlock-one-too-soon", "the last unlock but one frees the lock", "object",
			"redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0", "redis.call('hincrby', KEYS[1], ARGV[3], -1) > 1"),
		script("reentry-not-counted", "a re-entry sets the hold count to 1", "object",
			"redis.call('hincrby', KEYS[1], ARGV[2], 1)", "redis.call('hset', KEYS[1], ARGV[2], 1)"),
		script("acquire-counts-twice", "acquire counts two holds", "object",
			"redis.call('hincrby', KEYS[1], ARGV[2], 1)", "redis.call('hincrby', KEYS[1], ARGV[2], 2)"),
		script("lease-in-seconds", "milliseconds of a lease are taken for seconds", "object",
			lease, "redis.call('expire', KEYS[1], ARGV[1])\n  return nil"),
		script("lease-long", "the key's time to live is twice the lease", "object",
			lease, "redis.call('pexpire', KEYS[1], ARGV[1] * 2)\n  return nil"),
		script("reentry-endless", "a re-entry takes the time to live away", "object",
			lease, "redis.call('pexpire', KEYS[1], ARGV[1])\n  if redis.call('hget', KEYS[1], ARGV[2]) ~= '1' then\n    redis.call('persist', KEYS[1])\n  end\n  return nil"),
		script("renew-first-for-all", "renewal of several locks renews the first one again and again", "watchdog",
			"    redis.call('pexpire', KEYS[i], ARGV[1])\n", "    redis.call('pexpire', KEYS[1], ARGV[1])\n"),
		script("renew-first-only", "renewal of several locks leaves all out but the first", "watchdog",
			"for i = 1, #KEYS do", "for i = 1, 1 do"),
		script("renew-short", "renewal sets a third of the lease", "object",
			"redis.call('pexpire', KEYS[i], ARGV[1])", "redis.call('pexpire', KEYS[i], math.floor(ARGV[1] / 3))"),
		script("renew-says-no", "renewal works, and says that it did not", "watchdog",
			"    answers[i] = 1\n", "    answers[i] = 0\n"),
	}
}

// inHardened are mistakes in the scripts of generation hardened.
func inHardened() []Lock {
	const hardened = "rlock-hardened"
	return []Lock{
		scriptOf(hardened, "acquire-not-remembered", "acquire does not look for what it answered a copy", "object",
			"local old = call('set', KEYS[3], ARGV[3] .. answer, 'px', memory, 'get')", "local old = false"),
		scriptOf(hardened, "release-not-remembered", "unlock does not look for what it answered a copy", "object",
			"local old = call('set', KEYS[3], ARGV[2] .. answer, 'px', ARGV[3], 'get')", "local old = false"),
		scriptOf(hardened, "late-acquire-taken", "a copy of an acquire that comes after a later request is taken for new", "object",
			"if old and old >= ARGV[3] then", "if old and string.sub(old, 1, 16) == ARGV[3] then"),
		scriptOf(hardened, "late-release-taken", "a copy of an unlock that comes after a later request is taken for new", "object",
			"if old and old >= ARGV[2] then", "if old and string.sub(old, 1, 16) == ARGV[2] then"),
		scriptOf(hardened, "reentry-shortens", "a re-entry with a shorter lease shortens that of the hold", "object",
			"  if answer == -1 and ARGV[5] then\n    lease = lease + ARGV[5]\n  end\n", ""),
		scriptOf(hardened, "hardened-silent", "the release is not published", "liveness",
			"  call('publish', KEYS[2], '0')\n", ""),
		scriptOf(hardened, "hardened-keeps-lease", "a partial unlock does not set the lease anew", "object",
			"  call('pexpire', KEYS[1], ARGV[4])\n", ""),
		scriptOf(hardened, "hardened-leaves-one", "the last unlock leaves the key", "object",
			"  call('del', KEYS[1])\n", ""),
		scriptOf(hardened, "hardened-renew-anybodys", "renewal does not ask who holds the lock", "object",
			"pcall('hexists', lock, ARGV[2 * i + 1]) == 1", "call('exists', lock) == 1"),
		scriptOf(hardened, "hardened-renew-nothing", "renewal says that it renewed, and does not", "watchdog",
			"      lengthen(lock, ARGV[1])\n", ""),
		scriptOf(hardened, "hardened-acquire-anyway", "acquire does not ask whether another holds the lock", "object",
			"elseif call('hexists', KEYS[1], ARGV[2]) == 0 then", "elseif false then"),
	}
}
