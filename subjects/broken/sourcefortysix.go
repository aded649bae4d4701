package broken

// plantedFortySixth are mistakes of one more author who had read the lock and what it promises, and nothing of how it is judged. What they do
// takes two or three things that come together. No search found them in 1,000 to 3,000 plans. The first two were judged to be right.
func plantedFortySixth() []SourceMutant {
	const takenBack = "an unlock whose context has ended fails, and the hold is given back in the background"
	return []SourceMutant{
		source("fortysix-unlock-not-begun-forgotten", hardened, takenBack,
			"an unlock that did not begin leaves its hold to the lease",
			"multi.go", "\t\te.p.unlockFailedNth(n, l, h, e.error)\n", "\t\ths.mu.Lock()\n\t\ths.popKept(h)\n\t\ths.mu.Unlock()\n"),
		source("fortysix-settles-once", hardened, takenBack,
			"what an owner has given up is settled once, whatever it gives up meanwhile",
			"hardened.go", "for v := hs.viewOf(h); v.unsettled; v = hs.viewOf(h) {", "if v := hs.viewOf(h); v.unsettled {"),
		source("fortysix-renewal-ignores-unanswered", hardened, told,
			"a renewal counts for its whole lease, though a request with a shorter one is under way",
			"watchdog.go", "\t\tif h.unanswered > 0 {\n\t\t\tlease = min(lease, h.unanswered)\n\t\t}\n\t\tswitch ends", "\t\tswitch ends"),
		source("fortysix-renewal-counts-after-later-request", hardened, told,
			"the answer to a renewal counts though a later request has set the lease",
			"watchdog.go", "answer == 1 && h.request == batch[i].request && ends.After(h.ends)", "answer == 1 && ends.After(h.ends)"),
		source("fortysix-late-answer-loses-next-hold", hardened, untold,
			"the late answer to a call that was given up takes the next hold away",
			"hardened.go", "if request > h.request && (answer > 0", "if answer != 0 && (answer > 0"),
		source("fortysix-refused-copy-undoes-all", hardened, ghosts,
			"a refusal of one copy is taken for one of all that were sent",
			"hardened.go", "\tvar again *resent\n\tvar refused redis.Error\n\tif errors.As(err, &late) || errors.As(err, &refused) && !errors.As(err, &again) {", "\tvar refused redis.Error\n\tif errors.As(err, &late) || errors.As(err, &refused) {"),
		source("fortysix-unknown-script-undoes-all", hardened, ghosts,
			"a server that does not know the script is taken for one that executed no copy",
			"script.go", "cmd.failures().Add(-1)", "cmd.failures().Store(0)"),
		source("fortysix-failed-question-is-a-loss", hardened, untold,
			"a question whether the hold stands that fails is taken for a no",
			"lost.go", "\t\theld, err = false, nil // another program has written over the key\n\t}\n\tif err != nil || held {", "\t\theld = false // another program has written over the key\n\t}\n\tif held {"),
		source("fortysix-late-request-never-settled", hardened, renews,
			"a renewal that hears of a later request leaves that unsettled",
			"watchdog.go", "\t\tcase answer == 2 && !h.busy:\n\t\t\th.unsettled = true\n\t\t\tunknown = append(unknown, h)\n", ""),
		source("fortysix-only-first-connection-pinged", hardened, woken,
			"a subscription that is made anew is not asked whether it still speaks",
			"hub.go", "\n\th.pingLater(ps)\n", "\n\tif h.pinger == nil {\n\t\th.pingLater(ps)\n\t}\n"),
		source("fortysix-fair-end-of-dead-head-untold", "rfair-hardened", woken,
			"the next in the queue is not told when the place of the first one ends",
			"scripts/fair_acquire_hardened.lua", "    if ttl == -2 then -- the head is about to take it, or dead\n      ttl = math.max(1, -call('zscore', queue, 'd:' .. head) - now)\n    end\n", ""),
		source("fortysix-rw-one-looks-again", "rrwlock-hardened", woken,
			"when the subscription is there again one waiter looks, and not all",
			"rwlock.go", "leaves: sharersLeave, resumed: wakeAll}", "leaves: sharersLeave, resumed: func(_ *channel, before []*waiter) { wakeOne(before) }}"),
		source("fortysix-rw-leaves-with-wake-up", "rrwlock-hardened", woken,
			"who was woken and gives up while it asks passes the wake-up to nobody",
			"rwlock.go", "if w.owes && !acquired || w.unread() {", "if w.unread() {"),
		source("fortysix-sem-second-message-unread", "rsemaphore-hardened", woken,
			"a message that came while its reader was granted what it asked for wakes nobody",
			"semaphore.go", "\t\tcase acquired && w.unread():\n\t\t\tif ch.wakeFor(w.need) == w.need { // nobody wants so few: those who were too many beside it may be served\n\t\t\t\tch.wakeFor(w.offer)\n\t\t\t}\n\t\tcase w.owes && !acquired || w.unread():", "\t\tcase w.owes && !acquired:"),
		{
			Name: "fortysix-red-unlock-asks-all", Sound: hardened, Claim: "the unlock of a re-entry leaves alone the members that refused it",
			About: "an inner unlock takes a hold from members that the re-entry did not get",
			Edits: []Edit{
				{"redlock.go", "\tasks, _ := r.holds.unlocking(owner)\n\tresults := make([]Unlocked, len(r.members))\n", "\tr.holds.unlocking(owner)\n\tresults := make([]Unlocked, len(r.members))\n"},
				{"redlock.go", "results[i].Left = asks != nil && !asks[i] && time.Now().Before(l.client.holds.until(l, owner)); results[i].Left {", "results[i].Left = false; results[i].Left {"},
			},
		},
	}
}
