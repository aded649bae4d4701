package broken

// inRequests are mistakes in what makes a request take effect once.
func inRequests() []SourceMutant {
	return []SourceMutant{
		source("multi-release-copy", hardened, once, "a copy of a MultiLock's release is not told from a new one",
			"scripts/release_multi.lua", "if old and string.sub(old, 1, 16) >= ARGV[2] then", "if old and string.sub(old, 1, 16) > ARGV[2] then"),
		source("record-without-end", hardened, "whatever keys a lock writes have an end", "the record of an unlock has no time to live",
			"scripts/release_hardened.lua", "local old = call('set', KEYS[3], ARGV[2] .. answer, 'px', ARGV[3], 'get')", "local old = call('set', KEYS[3], ARGV[2] .. answer, 'get')"),
		source("latch-without-end", "rlock-latch", "whatever keys a lock writes have an end", "the latch of an unlock has no time to live, where its client dies before it removes it",
			"scripts/unlock_latch.lua", "redis.call('set', KEYS[3], 1, 'px', ARGV[4])", "redis.call('set', KEYS[3], 1)"),
		source("multi-copy-superseded", hardened, once, "a copy of a MultiLock's acquire is taken for an old request, so that the client begins anew",
			"scripts/acquire_multi.lua", "if request > ARGV[3] then", "if request >= ARGV[3] then"),
		source("multi-refusal-forgotten", hardened, overtakes, "a MultiLock's refusal is not remembered",
			"scripts/acquire_multi.lua", "    call('set', KEYS[3], ARGV[3] .. '0', 'px', math.max(px, ARGV[4]))\n", ""),
		source("refusal-forgotten", hardened, once, "a refusal is not remembered, so that a late copy of it is granted",
			"scripts/acquire_hardened.lua", "local memory = ARGV[4]\n", "if answer < -1 then\n  return answer\nend\nlocal memory = ARGV[4]\n"),
		source("memory-is-least", hardened, once, "of the two times for which copies may come the shorter is taken",
			"hardened.go", "memory: max(c.opts.latchLifetime(), resending(c.rdb))", "memory: min(c.opts.latchLifetime(), resending(c.rdb))"),
		source("memory-is-response-timeout", hardened, once, "records live for one timeout beyond the lease",
			"hardened.go", "memory: max(c.opts.latchLifetime(), resending(c.rdb))", "memory: c.opts.ResponseTimeout"),
		source("acquire-record-without-lease", hardened, overtakes, "the record of an acquire lives as long as the lease",
			"hardened.go", "args = append(args, co.lease.Milliseconds(), h.ownerArg, request, (co.lease + p.memory).Milliseconds())",
			"args = append(args, co.lease.Milliseconds(), h.ownerArg, request, co.lease.Milliseconds())"),
		source("late-acquire-overwrites-record", hardened, overtakes, "a late copy of an acquire leaves its own number in the record",
			"scripts/acquire_hardened.lua", "  call('set', KEYS[3], old, 'px', memory)\n", ""),
		source("record-per-lock", hardened, once, "all owners of a lock share one record",
			"names.go", "return prefixed(\"holdfast\", lock) + \":\" + string(owner)", "return prefixed(\"holdfast\", lock)"),
		source("record-per-client", hardened, once, "all owners of a client share one record",
			"names.go", "return prefixed(\"holdfast\", lock) + \":\" + string(owner)",
			"return prefixed(\"holdfast\", lock) + \":\" + string(owner)[:max(0, strings.LastIndex(string(owner), \":\"))]"),
		source("late-unlock-executes", hardened, overtakes, "the release script knows its own number only, and executes an older one",
			"scripts/release_hardened.lua", "if old and old >= ARGV[2] then", "if old and string.sub(old, 1, 16) == ARGV[2] then"),
		source("late-acquire-executes", hardened, overtakes, "the acquire script knows its own number only, and executes an older one",
			"scripts/acquire_hardened.lua", "if old and old >= ARGV[3] then", "if old and string.sub(old, 1, 16) == ARGV[3] then"),
		source("first-answer-cut", hardened, once, "the acquire script cuts the first digit off the first answer",
			"scripts/acquire_hardened.lua", "return tonumber(string.sub(old, 17))", "return tonumber(string.sub(old, 18))"),
		source("latch-without-partial", latch, once, "a partial unlock is not remembered",
			"scripts/unlock_latch.lua", "  redis.call('set', KEYS[3], 0, 'px', ARGV[4])\n", ""),
		source("latch-answers-one", latch, once, "the latch remembers a partial unlock as the last one",
			"scripts/unlock_latch.lua", "redis.call('set', KEYS[3], 0, 'px', ARGV[4])", "redis.call('set', KEYS[3], 1, 'px', ARGV[4])"),
		source("latch-lives-for-one-attempt", latch, once, "the latch lives for one attempt",
			"options.go", "(o.ResponseTimeout+o.RetryDelay)*time.Duration(o.RetryAttempts)", "o.ResponseTimeout+o.RetryDelay"),
		source("latch-in-seconds", latch, once, "the latch's life is in seconds, and taken for milliseconds",
			"faithful.go", "f.client.opts.latchLifetime().Milliseconds()}", "int64(f.client.opts.latchLifetime().Seconds())}"),
		{Name: "latch-by-owner", Sound: latch, Claim: once, About: "the latch bears the owner's name instead of the request's",
			Edits: []Edit{
				{"faithful.go", "	request, err := f.client.newRequestID()\n	if err != nil {\n		return false, err\n	}\n	latch := latchOf(l.name, request)\n",
					"	latch := latchOf(l.name, string(owner))\n"},
				{"faithful.go", "	err = f.client.run(ctx, f.unlocks, cmd, nil)\n", "	err := f.client.run(ctx, f.unlocks, cmd, nil)\n"}}},
		source("multi-older-copy-executes", hardened, overtakes, "a MultiLock's acquire looks at the last lock's record only",
			"scripts/acquire_multi.lua", "  local old = call('get', KEYS[3 * i])\n", "  local old = call('get', KEYS[3 * n])\n"),
	}
}

// inGhosts are mistakes in giving back what nobody knows of.
func inGhosts() []SourceMutant {
	return []SourceMutant{
		source("ghost-not-noted", hardened, ghosts, "a call whose outcome is not known does not mark the hold",
			"hardened.go", "	hs := p.client.holds\n	hs.mu.Lock()\n	h.unsettled = true\n	hs.mu.Unlock()\n", ""),
		source("many-locks-forget-what-is-to-be-settled", hardened, ghosts, "a client of many locks forgets an attempt of unknown outcome before it has settled that",
			"hardened.go", "	if !c.holds.settles(h) {\n		return\n	}\n	c.work", "	c.work"),
		source("given-up-unlock-of-a-member-not-noted", hardened, ghosts, "a member that an unlock of a group did not come to has a hold more than its client counts",
			"multi.go", "		e.p.unlockFailedNth(n, l, h, e.error)\n", "		hs.mu.Lock()\n		hs.popOne(h)\n		hs.mu.Unlock()\n"),
		source("settles-once", hardened, ghosts, "the client tries once to give back",
			"hardened.go", "		hs.exit(current)\n		if err == nil || !c.pause(delay) {\n			break\n		}\n", "		hs.exit(current)\n		break\n"),
		source("abandoned-not-settled", hardened, ghosts, "nobody looks at the answer to an attempt that was given up",
			"hardened.go", "p.client.run(ctx, p.acquires, cmd, func() { p.settleAcquire(l, h, again, request, cmd) })", "p.client.run(ctx, p.acquires, cmd, nil)"),
		source("abandoned-unlock-not-settled", hardened, ghosts, "nobody looks at the answer to an unlock that was given up",
			"hardened.go", "p.client.run(ctx, p.releases, cmd, func() { p.settle(l, h, lease) })", "p.client.run(ctx, p.releases, cmd, nil)"),
		{Name: "canceled-acquire-kept", Sound: latch, Claim: ghosts, About: "nobody looks at the answer to an attempt that was given up",
			Edits: []Edit{
				{"faithful.go", "	key := holdKey{l.name, owner}\n	cmd := newIntCall(ctx, f.acquiring(l, owner, co)...)\n	late := func() {\n		if errors.Is(cmd.Err(), redis.Nil) { // granted, and nobody wants it any more\n			_, _ = f.release(f.client.closing, l, owner, f.client.holds.lease(key))\n		}\n	}\n",
					"	cmd := newIntCall(ctx, f.acquiring(l, owner, co)...)\n"},
				{"faithful.go", "err := f.client.run(ctx, f.acquire, cmd, late)", "err := f.client.run(ctx, f.acquire, cmd, nil)"}}},
		source("noscript-forgets-late", latch, ghosts, "an attempt that was given up while its script was loaded is not given back",
			"script.go", "err = c.process(ctx, cmd, late)", "err = c.process(ctx, cmd, nil)"),
		source("ghost-reentered", hardened, ghosts, "an owner without holds does not settle before it locks again",
			"hardened.go", "	defer hs.exit(h)\n	if v.unsettled {\n", "	defer hs.exit(h)\n	if v.unsettled && v.levels > 0 {\n"),
		source("reconcile-keeps-ghost", hardened, ghosts, "settling leaves one hold though the client knows of none",
			"hardened.go", "v.inner, v.inner+p.memory, v.levels)", "v.inner, v.inner+p.memory, max(1, v.levels))"),
		source("refused-copy-not-settled", hardened, ghosts, "a refused copy is taken for a refused request",
			"hardened.go", "errors.As(err, &refused) && !errors.As(err, &again)", "errors.As(err, &refused) || errors.As(err, &again)"),
		source("elapsed-not-given-back", hardened, elapsed, "a grant that came too late is not given back",
			"hardened.go", "			if err := p.reconcile(ctx, l, h); !ends.IsZero() || err != nil {\n", "			if !ends.IsZero() || p.reconcile(ctx, l, h) != nil {\n"),
		source("elapsed-granted", hardened, elapsed, "a grant is believed however late its answer comes",
			"hardened.go", "if !ends.IsZero() && (time.Now().Before(ends) || time.Since(called) < co.lease) {", "if !ends.IsZero() {"),
		source("settling-never-ends", hardened, ghosts, "the client does not note that it is done with settling, and does not begin a second time",
			"hardened.go", "	h.settling = false\n	if len(h.levels)", "	if len(h.levels)"),
		source("settle-keeps-turn", hardened, ghosts, "a settling request that fails keeps the owner's turn",
			"hardened.go", "			err = p.reconcile(c.closing, l, h)\n		}\n		hs.exit(current)\n",
			"			if err = p.reconcile(c.closing, l, h); err != nil {\n				c.pause(delay)\n				continue\n			}\n		}\n		hs.exit(current)\n"),
		source("unlock-not-settled", hardened, ghosts, "an unlock whose outcome is not known is not tried again",
			"hardened.go", "			p.unanswered(l, h, lease, err)\n			return 0, 0, called, err\n", "			return 0, 0, called, err\n"),
		source("attempt-not-settled", hardened, ghosts, "an attempt whose outcome is not known is not given back",
			"hardened.go", "			p.unanswered(l, h, again, err)\n			return 0, err\n", "			return 0, err\n"),
	}
}

// inTokens are mistakes in fencing tokens.
func inTokens() []SourceMutant {
	return []SourceMutant{
		source("reentry-changes-token", hardened, tokens, "a re-entry writes its answer over the token",
			"hardened.go", "		co.lease = again\n", "		co.lease = again\n		h.token = answer\n"),
		source("token-counter-in-seconds", hardened, tokens, "the counter's life of a day is in seconds, and taken for milliseconds",
			"scripts/acquire_hardened.lua", "'px', 86400000)", "'px', 86400)"),
		source("token-counts-seconds", hardened, tokens, "a new counter starts at the seconds of the clock",
			"scripts/acquire_hardened.lua", "answer = now[1] * 10000 + math.floor(now[2] / 100)", "answer = tonumber(now[1])"),
		source("token-counts-from-one", hardened, tokens, "a new counter starts at 1",
			"scripts/acquire_hardened.lua", "if answer == 1 and not ARGV[6] then", "if answer == 1 and ARGV[6] then"),
		source("multi-token-counts-from-one", hardened, tokens, "a MultiLock's new counters start at 1",
			"scripts/acquire_multi.lua", "if answer == 1 and not ARGV[5 + n] then", "if answer == 1 and not ARGV[4 + n] then"),
		source("multi-token-of-first", hardened, tokens, "a MultiLock's members all get the first one's token",
			"multi_hardened.go", "hs.granted(h, co, again[i], request, answer[i+1], called)", "hs.granted(h, co, again[i], request, answer[1], called)"),
		source("regrant-keeps-token", hardened, tokens, "a grant after a loss keeps the token of the hold that was lost",
			"hardened.go", "		h.token = answer\n", "		if h.token == 0 {\n			h.token = answer\n		}\n"),
		source("fenced-arguments-shift", fenced, eternal, "a FencedLock's word to the script comes in the place of another argument",
			"hardened.go", "if again > co.lease || l.fenced || l.fair != nil {", "if again > co.lease || l.fair != nil {"),
		source("fenced-counter-shared", fenced, eternal, "a FencedLock counts on RLock's key",
			"fenced.go", "l.counterArg = prefixed(\"redisson_lock_token\", name)", "l.counterArg = counterOf(name)"),
		source("fenced-ignores-lease", fenced, leased, "LockAndGetToken ignores its options",
			"fenced.go", "f.Lock(ctx, owner, opts...); err != nil", "f.Lock(ctx, owner); err != nil"),
		source("fenced-busy-is-lost", fenced, eternal, "TryLockAndGetToken looks for a token although the lock was not acquired",
			"fenced.go", "	ok, err := f.TryLock(ctx, owner, opts...)\n	if !ok || err != nil {\n", "	_, err := f.TryLock(ctx, owner, opts...)\n	if err != nil {\n"),
		unseen(source("fenced-multi-counts-time", fenced, eternal, "a MultiLock of FencedLocks does not say that counters count for ever",
			"multi_hardened.go", "		if locks[0].fenced {\n			args = append(args, 1)\n		}\n", ""),
			"Its tokens rise, and a history does not say with which number they must begin. The counter's day outlasts every run."),
	}
}

// inForce are mistakes in ForceUnlock.
func inForce() []SourceMutant {
	return []SourceMutant{
		source("force-silent", latch, forces, "ForceUnlock does not publish the release",
			"scripts/force_unlock.lua", "redis.call('publish', KEYS[2], ARGV[1])\n", ""),
		source("force-silent-hardened", hardened, forces, "ForceUnlock publishes only if there was nothing to free",
			"scripts/force_hardened.lua", "if freed == 1 then", "if freed == 0 then"),
		source("force-forgets-all", latch, stops, "ForceUnlock of one lock has the client renew none of its holds any more",
			"holds.go", "		if key.lock == lock {\n			before := h.watched()\n", "		if key.lock != \"\" {\n			before := h.watched()\n"),
		source("force-copy-executes", hardened, once, "ForceUnlock does not remember its answer",
			"scripts/force_hardened.lua", "redis.call('set', KEYS[3], freed, 'px', ARGV[2])\n", ""),
		{Name: "force-once-per-client", Sound: hardened, Claim: forces,
			About: "all ForceUnlock calls of a client are one request",
			Edits: []Edit{
				{"hardened.go", "	request, err := p.client.newRequestID()\n	if err != nil {\n		return false, err\n	}\n", ""},
				{"hardened.go", "latchOf(l.name, request)}", "latchOf(l.name, p.client.opts.ID)}"}}},
		source("force-answer-turned", latch, forces, "ForceUnlock of a free lock publishes, and says that it was held",
			"scripts/force_unlock.lua", "if redis.call('del', KEYS[1]) == 0 then\n  return 0\nend\n", "redis.call('del', KEYS[1])\n"),
		source("force-memory-in-seconds", hardened, once, "the life of ForceUnlock's answer is in seconds, and taken for milliseconds",
			"hardened.go", "append(args, p.message, p.memory.Milliseconds())", "append(args, p.message, int64(p.memory.Seconds()))"),
	}
}

// inAnswers are mistakes in inspections.
func inAnswers() []SourceMutant {
	return []SourceMutant{
		source("ttl-in-seconds", latch, tells, "RemainingTTL is rounded to seconds",
			"lock.go", "redis.NewDurationCmd(ctx, time.Millisecond, \"pttl\", l.name)", "redis.NewDurationCmd(ctx, time.Second, \"ttl\", l.name)"),
		source("held-by-anybody", hardened, tells, "IsHeldBy asks whether anybody holds the lock",
			"lock.go", "redis.NewBoolCmd(ctx, \"hexists\", l.name, string(owner))", "redis.NewBoolCmd(ctx, \"exists\", l.name)"),
		source("held-by-memory", hardened, tells, "IsHeldBy believes the client without asking the server",
			"lock.go", "	held, err := l.isHeldBy(ctx, owner)\n",
			"	if time.Now().Before(l.client.holds.until(l, owner)) {\n		return true, nil\n	}\n	held, err := l.isHeldBy(ctx, owner)\n"),
		source("count-by-memory", latch, tells, "HoldCount answers what the client knows, if it knows anything",
			"lock.go", "	cmd := redis.NewStringCmd(ctx, \"hget\", l.name, string(owner))\n",
			"	l.client.holds.mu.Lock()\n	if h := l.client.holds.m[holdKey{l.name, owner}]; h != nil && len(h.levels) > 0 {\n		defer l.client.holds.mu.Unlock()\n		return int64(len(h.levels)), nil\n	}\n	l.client.holds.mu.Unlock()\n	cmd := redis.NewStringCmd(ctx, \"hget\", l.name, string(owner))\n"),
		source("locked-by-expiry", latch, tells, "IsLocked asks for the time to live, and takes no expiry and no key for the same",
			"lock.go", "	cmd := redis.NewIntCmd(ctx, \"exists\", l.name)\n	err := l.wrap(\"IsLocked\", \"\", l.query(ctx, cmd))\n	return err == nil && cmd.Val() == 1, err\n",
			"	cmd := redis.NewIntCmd(ctx, \"ttl\", l.name)\n	err := l.wrap(\"IsLocked\", \"\", l.query(ctx, cmd))\n	return err == nil && cmd.Val() > 0, err\n"),
		{Name: "not-held-is-an-error", Sound: latch, Claim: tells, About: "HoldCount of an owner that holds nothing is an error",
			Edits: []Edit{
				{"lock.go", "	if errors.Is(err, redis.Nil) {\n		return 0, nil\n	}\n", ""},
				{"lock.go", "	\"errors\"\n", ""}}},
	}
}

// inErrors are mistakes in what errors say.
func inErrors() []SourceMutant {
	return []SourceMutant{
		source("no-reply-is-certain", hardened, outcome, "an attempt that was not answered within the wait is said to have had no effect",
			"errors.go", "ErrBadPermits, ErrBadOption}", "ErrBadPermits, ErrBadOption, ErrNoReply}"),
		{Name: "refused-copy-is-certain", Sound: hardened, Claim: outcome, About: "the refusal of a copy is said to be one of the request",
			Edits: []Edit{{"errors.go", "	var again *resent\n", ""}, {"errors.go", "	case errors.As(err, &again):\n		return true\n", ""}}},
		source("refusal-is-uncertain", latch, outcome, "the refusal of a request that was sent once is taken for that of a copy",
			"script.go", "cmd.failures().Load() > 1 {", "cmd.failures().Load() > 0 {"),
		source("idle-cancel-is-uncertain", latch, outcome, "a wait that was given up while nothing was under way is said to have an unknown outcome",
			"acquire.go", "	case <-ctx.Done():\n		return false, notSent(ctx)\n", "	case <-ctx.Done():\n		return false, ctx.Err()\n"),
		source("abandoned-is-not-sent", hardened, outcome, "a request that was given up while it was under way is said not to have been sent",
			"script.go", "return &abandoned{ctx.Err()}", "return notSent(ctx)"),
		source("not-held-is-fine", hardened, refusal, "the unlock of a hold that the server does not know is no error",
			"hardened.go", "		h.unsettled = false\n		return ErrNotHeld\n", "		h.unsettled = false\n"),
		source("latch-not-held-is-fine", latch, refusal, "an unlock by an owner that does not hold the lock is no error if the latch could be removed",
			"faithful.go", "		_ = f.client.process(ctx, redis.NewIntCmd(ctx, \"del\", latch), nil)\n", "		err = f.client.process(ctx, redis.NewIntCmd(ctx, \"del\", latch), nil)\n"),
		source("unlock-knows-better", hardened, refusal, "an unlock of a hold that the client calls lost is refused without asking the server",
			"hardened.go", "	memory := p.memory\n	if v.levels != 1 {", "	memory := p.memory\n	if v.levels == 0 {\n		return false, ErrNotHeld\n	}\n	if v.levels != 1 {"),
		source("unlock-error-hidden", latch, outcome, "Unlock returns no error when the release is not answered",
			"faithful.go", "	case err != nil:\n		return false, err\n	}\n	return cmd.Val() == 1, nil\n", "	}\n	return cmd.Val() == 1, nil\n"),
	}
}
