package broken

// inSpins are mistakes in how waiters of a spin lock ask again, and in what its unlock does.
func inSpins() []SourceMutant {
	const plain, sound = "rspin-classic", "rspin-hardened"
	return []SourceMutant{
		source("spin-without-pause", sound, quiet, "who waits for a spin lock asks again after a microsecond",
			"spin.go", "		sleep = min(sleep, spinMost)\n", "		sleep = min(sleep, time.Microsecond)\n"),
		source("spin-backs-off-for-ever", plain, woken, "the pause between two attempts doubles without a bound",
			"spin.go", "		sleep = min(sleep, spinMost)\n", "		sleep = spinFirst << min(n, 20)\n"),
		source("spin-gives-up-at-once", sound, budget, "a bounded wait for a spin lock ends after its first refusal",
			"spin.go", "		if wait.bounded && left <= 0 {\n", "		if wait.bounded {\n"),
		source("spin-forgets-its-time", plain, budget, "a bounded wait for a spin lock never ends before the lock is free",
			"spin.go", "		if wait.bounded && left <= 0 {\n", "		if wait.bounded && left < -time.Hour {\n"),
		source("spin-unlock-without-latch", plain, once, "an unlock of a spin lock that is sent again is a new one",
			"spin.go", "unlocks: spinUnlock, latch: true,", "unlocks: unlockPlain, latch: false,"),
		source("spin-unlock-keeps-the-lease", plain, partial, "an unlock of a spin lock that leaves a hold does not set its lease anew",
			"scripts/spin_unlock.lua", "  redis.call('pexpire', KEYS[1], ARGV[2])\n", ""),
	}
}
