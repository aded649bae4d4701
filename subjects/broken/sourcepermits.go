package broken

// inPermits are mistakes in the permit semaphore.
func inPermits() []SourceMutant {
	const classic, hardened = "rpermitsemaphore-classic", "rpermitsemaphore-hardened"
	return []SourceMutant{
		{Name: "permit-cancel-of-nothing", Sound: hardened, Claim: "Requests count once, also those whose caller gave up: what such an acquire took is given back",
			About: "what gives an abandoned acquire back does not say which permit",
			Edits: []Edit{{"permits.go",
				`cancel.send(ctx, permitsReleaseHardened, s.channel, nil, id)`,
				`cancel.send(ctx, permitsReleaseHardened, s.channel, nil, "")`}}},
		{Name: "permit-waits-in-seconds", Sound: hardened, Claim: "A permit whose lease is over is handed on when it is",
			About: "a waiter takes the ms until the next lease ends for seconds",
			Edits: []Edit{{"permits.go",
				`min(time.Duration(-2-answer)*time.Millisecond, c.opts.WatchdogTimeout)`,
				`min(time.Duration(-2-answer)*time.Second, c.opts.WatchdogTimeout)`}}},
		{Name: "permit-waits-for-messages", Sound: classic, Claim: "A permit whose lease is over is handed on when it is",
			About: "a waiter does not look when the lease ends that it was told of",
			Edits: []Edit{{"permits.go",
				`return max(0, time.UnixMilli(cmd.Val()).Sub(now)), nil`,
				"_ = now\n\treturn -1, nil"}}},
		{Name: "permit-late-untold", Sound: classic, Claim: "If a permit is not taken, or its lease is over, Release returns ErrNotHeld",
			About: "a release that gave nothing says nothing of it",
			Edits: []Edit{{"permits.go",
				`if err == nil && given == 0 {`,
				`if err == nil && given < 0 {`}}},
		{Name: "permit-lease-taken-away", Sound: hardened, Claim: "UpdateLease has a permit that is taken end after Lease from now",
			About: "an update of a lease takes the lease away",
			Edits: []Edit{{"permits.go",
				`permitsUpdateHardened, co.leaseOrNone(), string(permit))`,
				`permitsUpdateHardened, 0, string(permit))`}}},
		{Name: "permit-set-unheard", Sound: hardened, Claim: "Who waits for a semaphore is woken when there is one",
			About: "what sets the number of permits publishes nothing",
			Edits: []Edit{{"scripts/permits_set_hardened.lua",
				"publish(ARGV[3])\n",
				""}}},
		{Name: "permit-reclaims-one-of-many", Sound: classic, Claim: "Permits whose leases are over are free",
			About: "what takes permits back whose leases are over counts one, however many there were",
			Edits: []Edit{{"scripts/permits_reclaim.lua",
				`call('incrby', KEYS[1], #over)`,
				`call('incrby', KEYS[1], 1)`}}},
	}
}
