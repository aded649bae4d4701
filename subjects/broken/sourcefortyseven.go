package broken

// plantedFortySeventh are mistakes that were judged to be right, or for which a plan was needed that no search drew.
func plantedFortySeventh() []SourceMutant {
	const gate = "rcountdownlatch-hardened"
	return []SourceMutant{
		source("fortyseven-settling-ends-with-lease", hardened, ghosts,
			"a client stops refusing a request that may still come when the lease would be over",
			"hardened.go", "deadline := time.Now().Add(lease + p.memory)\n\tfor delay", "deadline := time.Now().Add(lease)\n\tfor delay"),
		source("fortyseven-latch-round-without-end", gate, "whatever keys a latch writes have a time to live when it is gone",
			"the last count-down leaves the latch's round for ever",
			"scripts/latch_down_hardened.lua", "  call('pexpire', KEYS[3], ARGV[4])\n", ""),
		source("fortyseven-context-of-first-member", hardened, told,
			"the context of a group's hold knows what becomes of the first member only",
			"multi.go", "\tfor _, l := range m.members {\n\t\tctx, cancel = l.HoldContext", "\tfor _, l := range m.members[:1] {\n\t\tctx, cancel = l.HoldContext"),
		source("fortyseven-multi-unlock-not-put-back", hardened, told,
			"a group whose unlock failed is not watched any more",
			"multi.go", "\t\tif err != nil {\n\t\t\tback()\n\t\t}\n\t\treturn results, err\n", "\t\t_ = back\n\t\treturn results, err\n"),
	}
}
