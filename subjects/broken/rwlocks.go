package broken

// RWLocks returns the read-write locks that are broken on purpose.
func RWLocks() []Lock {
	const classic, hardened = "rrwlock-classic", "rrwlock-hardened"
	return []Lock{
		scriptOf(classic, "rw-reads-anyway", "a read lock is granted beside a writer", "object",
			"if mode and mode ~= 'read' and not (mode == 'write' and call('hexists', lock, owner .. ':write') == 1) then", "if false then"),
		scriptOf(classic, "rw-writes-beside-readers", "a write lock is granted beside readers", "object",
			"if not mode then\n  call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)", "if mode ~= 'write' then\n  call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)"),
		scriptOf(classic, "rw-write-unlock-silent", "a writer's last unlock publishes nothing", "liveness",
			"  call('del', KEYS[1])\n  call('publish', KEYS[2], ARGV[1])\nelse", "  call('del', KEYS[1])\nelse"),
		scriptOf(classic, "rw-last-reader-silent", "the last reader's unlock publishes nothing", "liveness",
			"call('del', lock)\ncall('publish', KEYS[2], ARGV[1])\n", "call('del', lock)\n"),
		scriptOf(classic, "rw-read-unlock-anybodys", "a read unlock does not ask who reads", "object",
			"if call('hexists', lock, owner) == 0 then\n  return nil\nend\n", ""),
		scriptOf(classic, "rw-write-unlock-frees-all", "a writer's last unlock takes its read locks, too", "object",
			"if call('hlen', KEYS[1]) == 1 then", "if true then"),
		scriptOf(hardened, "rw-lease-short", "a hold's lease is half of what was asked for", "object",
			"math.max(hold[2], now + lease)", "math.max(hold[2], now + lease / 2)"),
		scriptOf(hardened, "rw-upgrade-granted", "who reads is granted the write lock", "object",
			"elseif writes(owner) and holds[base] then\n  answer = -9000000000000000\n", ""),
		scriptOf(hardened, "rw-renews-nothing", "renewal says that it renewed, and does not", "watchdog",
			"        store(lock, holds, owner, {hold[1], math.max(hold[2], now + ARGV[1])})\n", ""),
		scriptOf(hardened, "rw-downgrade-silent", "a writer's unlock publishes nothing if its owner reads on", "liveness",
			"    call('publish', KEYS[2], '1') -- everybody looks", "    if not left then call('publish', KEYS[2], '1') end -- everybody looks"),
		scriptOf(hardened, "rw-writer-wakes-one", "a writer's unlock wakes one of those who wait", "liveness",
			"    call('publish', KEYS[2], '1') -- everybody looks", "    call('publish', KEYS[2], '0') -- everybody looks"),
		scriptOf(hardened, "rw-token-again", "a grant gets the token of the grant before it", "fencing",
			"answer = call('incr', KEYS[2])\n", "answer = tonumber(call('get', KEYS[2]) or call('incr', KEYS[2]))\n"),
	}
}
