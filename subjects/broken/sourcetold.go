package broken

// plantedTold are mistakes of an author who had read the reference lock and what it promises, and nothing of how that is judged: by what its
// client hears, an owner is told that a hold is over which it has.
func plantedTold() []SourceMutant {
	const early = "Lost is closed when the hold is over, or by an answer that says so; not while owner holds the lock"
	return []SourceMutant{
		source("told-late-of-what-settles", hardened, "Lost is closed before the server can have given the lock to anybody else",
			"an unlock that is settled in the background, and leaves the outer hold its own lease, lowers nothing until it is answered",
			"hardened.go", "lower(h, called, lease, keep)", "lower(h, called, lease, -1)"),
		source("told-late-grant-is-a-loss", hardened, early,
			"a re-entry whose caller did not wait for its answer, which granted it, counts as a loss of the hold",
			"hardened.go", "answer < -1 && answer != upgrades", "answer < 0 && answer != upgrades"),
		source("told-late-group-grant-is-a-loss", hardened, early,
			"of a re-entry of a group whose caller did not wait for its answer, each member is told the answer to another",
			"multi_hardened.go", "hs.answeredLate(h, request, answer[i+1])", "hs.answeredLate(h, request, answer[i])"),
		source("told-refusal-of-another-is-a-loss", hardened, early,
			"the refusal of a group for one of its members counts as a loss of all of them",
			"multi_hardened.go", "			hs.refused(held[answer[1]-1])\n", "			for _, h := range held {\n				hs.refused(h)\n			}\n"),
	}
}
