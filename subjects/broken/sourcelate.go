package broken

// plantedLate are mistakes about leases that something else sets than the call that they are for.
func plantedLate() []SourceMutant {
	return []SourceMutant{
		{Name: "late-renewal-counts", Sound: hardened, Claim: "A renewal that was delayed cannot lengthen a lease that is not its own",
			About: "the number of the request that a renewal knows of is compared the wrong way round",
			Edits: []Edit{
				{"scripts/renew_hardened.lua",
					"string.sub(last, 1, 16) > ARGV[2 * i + 2]",
					"string.sub(last, 1, 16) < ARGV[2 * i + 2]"},
			}},
		{Name: "late-rw-renewal-counts", Sound: "rrwlock-hardened", Claim: "A renewal that was delayed cannot lengthen a lease that is not its own",
			About: "the same of a read-write lock",
			Edits: []Edit{
				{"scripts/rw_renew_hardened.lua",
					"string.sub(last, 1, 16) > ARGV[2 * i + 2]",
					"string.sub(last, 1, 16) < ARGV[2 * i + 2]"},
			}},
		{Name: "late-group-unlock-first-lease", Sound: hardened, Claim: "An unlock that leaves holds leaves each member the longest lease of those",
			About: "the unlock of a group sets the first member's lease on all",
			Edits: []Edit{
				{"multi_hardened.go",
					"leases[i].Milliseconds())",
					"leases[0].Milliseconds())"},
			}},
	}
}
