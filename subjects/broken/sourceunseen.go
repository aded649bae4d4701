package broken

// plantedUnseen are mistakes of an author who had read the lock and what it promises, and nothing of how it is judged.
func plantedUnseen() []SourceMutant {
	return []SourceMutant{
		// The scripts of the lock.
		{
			Name: "unseen-copy-cuts-memory", Sound: hardened, Claim: "a delayed copy of an acquire does nothing",
			About: "a copy of an acquire has the record of the request end with the lease, and not a memory later",
			Edits: []Edit{{"scripts/acquire_hardened.lua",
				`  call('set', KEYS[3], old, 'px', memory)`,
				`  call('set', KEYS[3], old, 'px', ARGV[1])`}},
		},
		{
			Name: "unseen-group-unlock-argument", Sound: hardened, Claim: "an unlock sets the lease anew to that of the hold that remains",
			About: "an unlock of several locks sets as the lease of what remains the time to remember the request",
			Edits: []Edit{{"scripts/release_multi.lua",
				`call('pexpire', lock, ARGV[2 * i + 2])`,
				`call('pexpire', lock, ARGV[2 * i + 1])`}},
		},
		{
			Name: "unseen-group-regrant-lasts", Sound: hardened, Claim: "a lock that is taken with a lease ends by itself after that lease",
			About: "a member that its owner had lost and is granted anew gets the longer lease of a re-entry",
			Edits: []Edit{{"scripts/acquire_multi.lua",
				"    more = 0\n",
				""}},
		},
		{
			Name: "unseen-latch-partial-remembered", Sound: latch, Claim: "an unlock whose reply is lost, sent again, gets the first answer",
			About: "the latch of an unlock that leaves a hold remembers the answer of one that frees the lock",
			Edits: []Edit{{"scripts/unlock_latch.lua",
				`redis.call('set', KEYS[3], 0, 'px', ARGV[4])`,
				`redis.call('set', KEYS[3], 1, 'px', ARGV[4])`}},
		},
		{
			Name: "unseen-fenced-forgotten", Sound: fenced, Claim: "the tokens of a FencedLock come from a counter from 1 that is never forgotten",
			About: "a first grant leaves out the argument before the one that asks for a counter from 1",
			Edits: []Edit{{"hardened.go",
				`if again > co.lease || l.fenced || l.fair != nil {`,
				`if again > co.lease || l.fair != nil {`}},
		},
		// What the client notes of answers.
		{
			Name: "unseen-classic-refused-unlock", Sound: classic, Claim: "a lock that was taken with a lease is not renewed",
			About: "an unlock that is refused forgets the innermost hold alone, so that the outer ones of a lost lock count with later holds",
			Edits: []Edit{{"faithful.go",
				`f.client.holds.unlocked(key, mark, err, free || errors.Is(err, ErrNotHeld))`,
				`f.client.holds.unlocked(key, mark, err, free)`}},
		},
		{
			Name: "unseen-late-refusal", Sound: hardened, Claim: "Lost is not closed while the hold stands",
			About: "the late answer to an attempt that was given up ends a hold that a later call was granted",
			Edits: []Edit{{"hardened.go",
				`if request > h.request && (answer > 0 || answer < -1 && answer != upgrades) {`,
				`if answer > 0 || answer < -1 && answer != upgrades {`}},
		},
		{
			Name: "unseen-renewal-shortens", Sound: hardened, Claim: "Lost is not closed while the hold stands",
			About: "the answer to a renewal sets the end of the lease that the client counts on, though a longer one stands",
			Edits: []Edit{{"watchdog.go",
				`case answer == 1 && h.request == batch[i].request && ends.After(h.ends):`,
				`case answer == 1 && h.request == batch[i].request:`}},
		},
		{
			Name: "unseen-refused-unlock", Sound: hardened, Claim: "Lost is closed as soon as an answer says that the owner does not hold the lock any more",
			About:  "an unlock that is refused ends the holds as if it had taken back the last, and tells nobody of the loss",
			Unseen: "the answer itself tells the owner, and no program listens on",
			Edits: []Edit{{"hardened.go",
				"case remain < 0:\n\t\ths.lose(h)\n",
				"case remain < 0:\n\t\ths.pop(h, 0)\n"}},
		},
		{
			Name: "unseen-ended-context", Sound: hardened, Claim: "the watchdog forgets the hold whatever becomes of its unlock",
			About: "an unlock under a context that had ended before it leaves the hold, which is renewed for ever",
			Edits: []Edit{{"unlock.go", "owner); over {\n", "owner); over && false {\n"}},
		},
		// What is settled in the background.
		{
			Name: "unseen-settles-once", Sound: hardened, Claim: "an unlock of unknown outcome is tried in the background until the lease is over",
			About: "once a re-entry was settled in the background, nobody does so again while that hold is known",
			Edits: []Edit{{"hardened.go",
				"\th.settling = false\n\tif len(h.levels) == 0 && !h.busy {\n\t\th.unsettled = false // the lease is over",
				"\tif len(h.levels) == 0 && !h.busy {\n\t\th.settling, h.unsettled = false, false // the lease is over"}},
		},
		{
			Name: "unseen-settled-meanwhile", Sound: hardened, Claim: "after a call of unknown outcome locking again counts right",
			About: "an answer settles a hold though the client has forgotten a level of it since the question",
			Edits: []Edit{{"hardened.go",
				`h.unsettled, h.owes = remain > int64(len(h.levels)), false`,
				`h.unsettled, h.owes = false, false`}},
		},
		{
			Name: "unseen-slot-freed-early", Sound: "rcountdownlatch-hardened", Claim: "a count-down of unknown outcome is repeated until it has taken effect once",
			About: "a slot is free while its request is still repeated, so that the next request overtakes it",
			Edits: []Edit{{"requests.go",
				`defer r.done()`,
				`r.done()`}},
		},
		// Waiting, and who is woken.
		{
			Name: "unseen-watcher-behind-waiter", Sound: hardened, Claim: "Lost is closed as soon as a forced release is published",
			About: "who watches for a loss is not told of a release for which the client has a waiter",
			Edits: []Edit{{"wake.go",
				"\t\th.stagger(ch)\n",
				"\t\tif len(ch.waiters) > 0 {\n\t\t\th.stagger(ch)\n\t\t\treturn\n\t\t}\n"}},
		},
		{
			Name: "unseen-subscribes-anew", Sound: hardened, Claim: "a call fails whose subscription is not confirmed in SubscribeTimeout",
			About:  "the time for a confirmation begins anew with each attempt that is made meanwhile",
			Unseen: "no fault keeps down the connection of subscriptions alone",
			Edits: []Edit{{"acquire.go",
				`limit := c.opts.SubscribeTimeout - time.Since(wt.joined)`,
				`limit := c.opts.SubscribeTimeout`}},
		},
		{
			Name: "unseen-closed-while-connecting", Sound: hardened, Claim: "Close returns when all calls and goroutines have ended",
			About: "a connection for messages that stands only after Close has begun is read for ever",
			Edits: []Edit{{"hub.go",
				`case h.closed || len(h.channels) == 0:`,
				`case len(h.channels) == 0:`}},
		},
		// Several locks.
		{
			Name: "unseen-loss-while-unlocking", Sound: hardened, Claim: "Lost of a MultiLock is closed when its owner holds one of the locks no more",
			About: "a loss during an unlock of several locks that did not begin is told to nobody",
			Edits: []Edit{{"grouplost.go",
				"\t\tl.over = false\n\t\tl.tell()\n",
				"\t\tl.over = false\n"}},
		},
		{
			Name: "unseen-red-asks-unknown", Sound: hardened, Claim: "where there is an outer hold, an unlock leaves alone the servers whose clients did not learn whether they granted the inner one",
			About: "an unlock of a RedLock asks the servers whose clients give back by themselves, and no others of unknown outcome",
			Edits: []Edit{{"redlock.go",
				`OutcomeUnknown(result.err) && !r.members[i].proto.takesBack(result.err)`,
				`OutcomeUnknown(result.err) && r.members[i].proto.takesBack(result.err)`}},
		},
		// Read-write locks.
		{
			Name: "unseen-sharer-gives-up", Sound: "rrwlock-hardened", Claim: "a release wakes a waiter",
			About: "a waiter for a read-write lock that gives up during an attempt keeps the wake-up that had it try",
			Edits: []Edit{{"rwlock.go",
				`if w.owes && !acquired || w.unread() {`,
				`if w.unread() {`}},
		},
		{
			Name: "unseen-last-read-lease", Sound: "rrwlock-classic", Claim: "after a read unlock the key lasts as long as the longest lease of a reader",
			About: "of a reader's several holds a read unlock looks at the last lease only",
			Edits: []Edit{{"scripts/rw_read_unlock.lua",
				`for i = 1, holds or 0 do`,
				`for i = holds or 1, holds or 0 do`}},
		},
		// Semaphores.
		{
			Name: "unseen-acquirer-keeps-wake-up", Sound: "rsemaphore-hardened", Claim: "a waiter is woken when what it asks for is free",
			About: "a waiter that is granted its permits does not hand on a wake-up that came during the attempt",
			Edits: []Edit{{"semaphore.go",
				"\t\tcase acquired && w.unread():\n\t\t\tif ch.wakeFor(w.need) == w.need { // nobody wants so few: those who were too many beside it may be served\n\t\t\t\tch.wakeFor(w.offer)\n\t\t\t}\n",
				"\t\tcase acquired:\n"}},
		},
		{
			Name: "unseen-big-wish-blocks", Sound: "rsemaphore-hardened", Claim: "a release of permits wakes those whose wishes they fulfil",
			About: "a waiter that asks for more than is free keeps those behind it from being woken",
			Edits: []Edit{{"semaphore.go",
				"\t\t\tw.wakeUp()\n\t\t\tpermits -= w.need\n",
				"\t\t\tw.wakeUp()\n\t\t\tpermits -= w.need\n\t\tdefault:\n\t\t\treturn\n"}},
		},
		{
			Name: "unseen-many-permits-wake-one", Sound: "rsemaphore-classic", Claim: "a release of m permits wakes m waiters",
			About: "a message wakes one waiter, however many permits it tells of",
			Edits: []Edit{{"semaphore.go",
				`for range min(m, int64(len(ch.waiters))) {`,
				`if m > 0 && len(ch.waiters) > 0 {`}},
		},
		// Latches.
		{
			Name: "unseen-counts-below-zero", Sound: "rcountdownlatch-classic", Claim: "a latch whose count is 0 is as one that was never set, and can be set",
			About: "a count-down where there is no latch leaves a key of -1, which keeps the latch from being set",
			Edits: []Edit{{"scripts/latch_down.lua",
				`if count <= 0 then`,
				`if count == 0 then`}},
		},
	}
}
