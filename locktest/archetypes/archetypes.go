package archetypes

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// Archetype is a way in which locks are kept.
type Archetype struct {
	Name     string
	New      locktest.NewLock
	Mistakes []Mistake
}

// Mistake is the same lock with something wrong.
type Mistake struct {
	Name string
	New  locktest.NewLock
	Call string // what goes wrong, as stories have it: a call, or "renew"
	// Shows is a scenario in which it shows.
	Shows string
}

// made is a lock in the making: mistakes change it.
type made struct {
	habits
	scripts
	careless bool
	anyones  bool
	blind    bool
	context  func(context.Context) context.Context // nil: commands have that of their call
	apart    bool                                  // commands are sent by goroutines of their own
	whole    bool                                  // one script takes, gives back and extends
	direct   bool                                  // commands are written by the goroutine that has the call, without its context
}

// archetype makes one of a description.
func archetype(name string, m made, build func(locktest.Env, made) (*client, error), mistakes ...wrong) Archetype {
	if build == nil {
		build = overGoRedis
	}
	of := func(m made) locktest.NewLock {
		return func(e locktest.Env) (locktest.Client, error) { return build(e, m) }
	}
	a := Archetype{Name: name, New: of(m)}
	for _, w := range mistakes {
		broken := m
		w.how(&broken)
		a.Mistakes = append(a.Mistakes, Mistake{w.name, of(broken), w.call, w.shows})
	}
	return a
}

type wrong struct {
	name, call, shows string
	how               func(*made)
}

// replaced is a mistake in the scripts.
func replaced(name, call, shows, old, new string) wrong {
	return wrong{name, call, shows, func(m *made) {
		was := m.scripts
		m.scripts = m.scripts.with(old, new)
		if m.take1 == was.take1 && m.give1 == was.give1 && m.extend1 == was.extend1 {
			panic("archetypes: " + name + " changes nothing")
		}
	}}
}

func overGoRedis(e locktest.Env, m made) (*client, error) {
	m.eval = byEval(e.Redis)
	if m.context != nil {
		m.eval = m.eval.under(m.context)
	}
	if m.apart {
		m.eval = m.eval.apart()
	}
	if m.whole {
		m.eval = m.eval.whole(m.scripts)
	}
	c := newClient(e, m.habits, m.scripts)
	if m.listens {
		c.wait = listen(e.Redis)
	}
	return c, nil
}

// nobodys is no context of any call.
func nobodys(context.Context) context.Context { return context.Background() }

func overScriptLoad(e locktest.Env, m made) (*client, error) {
	c, err := overGoRedis(e, m)
	m.eval = byLoad(e.Redis, m.careless)
	c.store = m.scripts
	return c, err
}

func overRedigo(e locktest.Env, m made) (*client, error) {
	eval, closed := byRedigo(e, m.direct)
	m.eval = eval
	if m.whole {
		m.eval = m.eval.whole(m.scripts)
	}
	c := newClient(e, m.habits, m.scripts)
	c.close = closed
	return c, nil
}

// overScripts sends the digest of a script, and the script where the server does not know it.
func overScripts(e locktest.Env, m made) (*client, error) {
	c, err := overGoRedis(e, m)
	m.eval = func(ctx context.Context, script string, keys []string, args []any) (int64, error) {
		return goredis.NewScript(script).Run(ctx, e.Redis, keys, args...).Int64()
	}
	c.store = m.scripts
	return c, err
}

func byCommands(e locktest.Env, m made) (*client, error) {
	c, err := overGoRedis(e, m)
	m.eval = byEval(e.Redis)
	c.store = commands{m.scripts, e.Redis}
	return c, err
}

// eager connects when it is made.
func eager(e locktest.Env, m made) (*client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.Redis.(*goredis.Client).Ping(ctx).Err(); err != nil {
		return nil, err
	}
	return overGoRedis(e, m)
}

func one(name string) []string { return []string{name} }

// text is a lock that is a string with its holder's token.
var text = scripts{
	take1:   `if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return 1 end return 0`,
	give1:   `if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end redis.call('del', KEYS[1]) return 0`,
	extend1: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('pexpire', KEYS[1], ARGV[2])`,
	keys:    one,
}

// fields is a lock that is a hash: its field is the holder's token, and has the count.
var fields = scripts{
	take1: `if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
		redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
	give1: `if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end
		local left = redis.call('hincrby', KEYS[1], ARGV[1], -1) if left == 0 then redis.call('del', KEYS[1]) end return left`,
	extend1: `if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end return redis.call('pexpire', KEYS[1], ARGV[2])`,
	keys:    one,
}

// constant is a lock whose key says only that it is held; who holds it is in another.
var constant = scripts{
	take1: `if redis.call('exists', KEYS[1]) == 1 then return 0 end
		redis.call('set', KEYS[1], 'locked', 'px', ARGV[2]) redis.call('set', KEYS[2], ARGV[1], 'px', ARGV[2]) return 1`,
	give1: `if redis.call('exists', KEYS[1]) == 0 or redis.call('get', KEYS[2]) ~= ARGV[1] then return -1 end
		redis.call('del', KEYS[1]) redis.call('del', KEYS[2]) return 0`,
	extend1: `if redis.call('get', KEYS[2]) ~= ARGV[1] then return 0 end
		redis.call('pexpire', KEYS[2], ARGV[2]) return redis.call('pexpire', KEYS[1], ARGV[2])`,
	keys: func(name string) []string { return []string{name, name + ":holder"} },
}

// beating is a lock that lasts as long as the second of its keys; the first is only to go some day.
var beating = scripts{
	take1: `if redis.call('exists', KEYS[2]) == 1 then return 0 end
		redis.call('set', KEYS[1], ARGV[1], 'px', 86400000) redis.call('set', KEYS[2], ARGV[1], 'px', ARGV[2]) return 1`,
	give1:   `if redis.call('get', KEYS[2]) ~= ARGV[1] then return -1 end redis.call('del', KEYS[1], KEYS[2]) return 0`,
	extend1: `if redis.call('get', KEYS[2]) ~= ARGV[1] then return 0 end return redis.call('pexpire', KEYS[2], ARGV[2])`,
	keys:    func(name string) []string { return []string{name, name + ":beat"} },
}

// counted is a lock whose key has the holder, and another how often it holds.
var counted = scripts{
	take1: `local holder = redis.call('get', KEYS[1])
		if not holder then redis.call('del', KEYS[2]) elseif holder ~= ARGV[1] then return 0 end
		redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) redis.call('incr', KEYS[2]) redis.call('pexpire', KEYS[2], ARGV[2]) return 1`,
	give1: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end
		local left = redis.call('decr', KEYS[2]) if left <= 0 then redis.call('del', KEYS[1], KEYS[2]) return 0 end return left`,
	extend1: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call('pexpire', KEYS[2], ARGV[2]) return redis.call('pexpire', KEYS[1], ARGV[2])`,
	keys: func(name string) []string { return []string{name, name + ":count"} },
}

// countedApart is one whose second key is its holder's own, named after what the first says of him.
var countedApart = apart("ARGV[1]")

// countedHidden is one whose second key is its holder's own, and does not show whose.
var countedHidden = apart("redis.sha1hex(ARGV[1])")

func apart(named string) scripts {
	s := counted
	for _, script := range []*string{&s.take1, &s.give1, &s.extend1} {
		*script = "local count = KEYS[1] .. ':count:' .. " + named + " " + *script
	}
	s = s.with("KEYS[2]", "count")
	s.keys = one
	return s
}

// absolute is a lock whose deadline is told by its clients' clocks.
var absolute = func() scripts {
	s := text.with("'px', ARGV[2]", "'pxat', ARGV[2]").with("'pexpire'", "'pexpireat'")
	s.absolute = true
	s.args = func(_, token string, lease time.Duration) []any {
		return []any{token, time.Now().Add(lease).UnixMilli()}
	}
	return s
}()

// byDeadline is a lock whose renewals tell the server when the lease ends, and whose grants how long it lasts.
var byDeadline = func() scripts {
	s := text.with("redis.call('pexpire', KEYS[1], ARGV[2])", "redis.call('pexpireat', KEYS[1], ARGV[3])")
	s.args = func(_, token string, lease time.Duration) []any {
		return []any{token, lease.Milliseconds(), time.Now().Add(lease).UnixMilli()}
	}
	return s
}()

// hidden is a lock whose scripts make up its key.
var hidden = func() scripts {
	s := text
	for _, script := range []*string{&s.take1, &s.give1, &s.extend1} {
		*script = "local key = 'lock:{' .. ARGV[3] .. '}' " + *script
	}
	s = s.with("KEYS[1]", "key")
	s.keys = func(string) []string { return nil }
	s.args = func(name, token string, lease time.Duration) []any { return []any{token, lease.Milliseconds(), name} }
	return s
}()

// secret is a lock whose key does not show its name.
func secret(s scripts) scripts {
	s.keys = func(name string) []string {
		sum := sha1.Sum([]byte(name))
		return []string{hex.EncodeToString(sum[:])}
	}
	return s
}

// inFields is a lock that is a hash of two fields: its holder, and how often he holds it.
var inFields = scripts{
	take1: `local holder = redis.call('hget', KEYS[1], 'holder') if holder and holder ~= ARGV[1] then return 0 end
		redis.call('hset', KEYS[1], 'holder', ARGV[1]) redis.call('hincrby', KEYS[1], 'times', 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
	give1: `if redis.call('hget', KEYS[1], 'holder') ~= ARGV[1] then return -1 end
		local left = redis.call('hincrby', KEYS[1], 'times', -1) if left <= 0 then redis.call('del', KEYS[1]) return 0 end return left`,
	extend1: `if redis.call('hget', KEYS[1], 'holder') ~= ARGV[1] then return 0 end return redis.call('pexpire', KEYS[1], ARGV[2])`,
	keys:    one,
}

// sorted is a lock that is a sorted set, of which nobody but it knows what its members are.
var sorted = scripts{
	take1: `if redis.call('exists', KEYS[1]) == 1 then return 0 end
		redis.call('zadd', KEYS[1], 1, ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
	give1:   `if not redis.call('zscore', KEYS[1], ARGV[1]) then return -1 end redis.call('del', KEYS[1]) return 0`,
	extend1: `if not redis.call('zscore', KEYS[1], ARGV[1]) then return 0 end return redis.call('pexpire', KEYS[1], ARGV[2])`,
	keys:    one,
}

// dated is a lock whose value has its holder's token, and when it was last renewed.
var dated = scripts{
	take1: `if redis.call('exists', KEYS[1]) == 1 then return 0 end local now = redis.call('time')
		redis.call('set', KEYS[1], ARGV[1] .. ' ' .. now[1] .. now[2], 'px', ARGV[2]) return 1`,
	give1: `local v = redis.call('get', KEYS[1]) if not v or string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return -1 end
		redis.call('del', KEYS[1]) return 0`,
	extend1: `local v = redis.call('get', KEYS[1]) if not v or string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
		local now = redis.call('time') redis.call('set', KEYS[1], ARGV[1] .. ' ' .. now[1] .. now[2], 'px', ARGV[2]) return 1`,
	keys: one,
}

// kept is a lock that says in a field when its lease ends, by the server's clock; its key stays for longer.
var kept = scripts{
	take1: `local now = redis.call('time') now = now[1] * 1000 + math.floor(now[2] / 1000)
		local over = redis.call('hget', KEYS[1], 'until') if over and tonumber(over) > now then return 0 end
		redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', now + ARGV[2]) redis.call('pexpire', KEYS[1], 2 * ARGV[2]) return 1`,
	give1: `local now = redis.call('time') now = now[1] * 1000 + math.floor(now[2] / 1000)
		if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] or tonumber(redis.call('hget', KEYS[1], 'until')) <= now then return -1 end
		redis.call('del', KEYS[1]) return 0`,
	extend1: `local now = redis.call('time') now = now[1] * 1000 + math.floor(now[2] / 1000)
		if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] or tonumber(redis.call('hget', KEYS[1], 'until')) <= now then return 0 end
		redis.call('hset', KEYS[1], 'until', now + ARGV[2]) redis.call('pexpire', KEYS[1], 2 * ARGV[2]) return 1`,
	keys: one,
}

// longer is a lock whose key lives for half a second more than was asked for. Its owner is granted anew what it has.
var longer = scripts{
	take1: `local lease = ARGV[2] + 500 if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[1], 'px', lease) return 1 end
		if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', lease) then return 1 end return 0`,
	give1:   text.give1,
	extend1: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('pexpire', KEYS[1], ARGV[2] + 500)`,
	keys:    one,
}

// anew is a lock that its owner is granted anew while it has it: one hold, with another lease.
var anew = text.with("if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return 1 end return 0",
	`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) return 1 end
		if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return 1 end return 0`)

// loud is a lock whose release publishes.
var loud = text.with("redis.call('del', KEYS[1])", "redis.call('del', KEYS[1]) redis.call('publish', KEYS[1] .. ':free', '1')")

// The mistakes that many locks can have.
var (
	anyonesString = replaced("frees-anyones", "unlock", "old-owner-unlock", "if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end", "if redis.call('exists', KEYS[1]) == 0 then return -1 end")
	anyonesKept   = replaced("extends-anyones", "renew", "key-expiry", "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end", "")
	halfLease     = replaced("half-lease", "lock", "baseline", "'px', ARGV[2]", "'px', ARGV[2] / 2")
	oneToken      = wrong{"one-token", "lock", "shared-handle", func(m *made) { m.oneToken = true }}
	neverStops    = wrong{"never-stops", "renew", "baseline", func(m *made) { m.neverStops = true }}
	resurrects    = replaced("resurrects", "renew", "renewal-outlives-unlock", "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end", "if redis.call('exists', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[1]) end if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end")
	renewsOnce    = wrong{"renews-once", "renew", "renewal-error", func(m *made) { m.renewsOnce = true }}
	forgetsCount  = replaced("forgets-count", "unlock", "baseline", "if left == 0 then redis.call('del', KEYS[1]) end", "redis.call('del', KEYS[1])")
)

// All are the archetypes.
func All() []Archetype {
	one := habits{fresh: true}
	return []Archetype{
		archetype("hash-uuid", made{scripts: fields}, nil,
			replaced("frees-anyones", "unlock", "old-owner-unlock", "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end", "if redis.call('exists', KEYS[1]) == 0 then return -1 end if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then redis.call('del', KEYS[1]) return 0 end"),
			replaced("extends-anyones", "renew", "key-expiry", "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end", ""),
			replaced("for-a-year", "unlock", "baseline", "if left == 0 then", "if left > 0 then redis.call('pexpire', KEYS[1], 30000000000) else")),
		archetype("constant", made{scripts: constant, habits: one}, nil,
			replaced("frees-anyones", "unlock", "old-owner-unlock", " or redis.call('get', KEYS[2]) ~= ARGV[1]", ""),
			replaced("no-lease", "lock", "old-owner-unlock", "'locked', 'px', ARGV[2]", "'locked'")),
		archetype("beat", made{scripts: beating, habits: one}, nil,
			replaced("frees-anyones", "unlock", "old-owner-unlock", "if redis.call('get', KEYS[2]) ~= ARGV[1] then return -1 end", "if redis.call('exists', KEYS[2]) == 0 then return -1 end"),
			replaced("extends-anyones", "renew", "key-expiry", "if redis.call('get', KEYS[2]) ~= ARGV[1] then return 0 end", ""),
			replaced("half-lease", "lock", "baseline", "ARGV[1], 'px', ARGV[2]", "ARGV[1], 'px', ARGV[2] / 2")),
		archetype("count-elsewhere", made{scripts: counted}, nil,
			replaced("forgets-count", "unlock", "baseline", "if left <= 0 then", "redis.call('del', KEYS[1]) if left <= 0 then"),
			oneToken),
		archetype("count-apart", made{scripts: countedApart}, nil, oneToken, anyonesKept,
			replaced("forgets-count", "unlock", "baseline", "if left <= 0 then", "redis.call('del', KEYS[1]) if left <= 0 then")),
		archetype("count-hidden", made{scripts: countedHidden}, nil, oneToken,
			replaced("forgets-count", "unlock", "baseline", "if left <= 0 then", "redis.call('del', KEYS[1]) if left <= 0 then")),
		archetype("absolute", made{scripts: absolute, habits: one}, nil,
			replaced("half-lease", "lock", "baseline", "'pxat', ARGV[2]", "'pxat', ARGV[2] - 15000"),
			anyonesKept),
		archetype("renewal-deadline", made{scripts: byDeadline, habits: one}, overScripts, anyonesKept,
			replaced("half-renewed", "renew", "watchdog-death", "ARGV[3])", "ARGV[3] - 15000)")),
		archetype("derived-context", made{scripts: text, habits: habits{fresh: true, derived: true}}, nil, neverStops, renewsOnce),
		archetype("no-context", made{scripts: text, habits: one, context: nobodys}, nil, anyonesString, oneToken, resurrects),
		archetype("no-context-hash", made{scripts: fields, context: nobodys}, nil, forgetsCount,
			replaced("extends-anyones", "renew", "key-expiry", "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end", "")),
		archetype("no-context-secret", made{scripts: secret(fields), context: nobodys}, nil, forgetsCount, oneToken),
		archetype("no-context-void", made{scripts: fields, habits: habits{silent: true}, context: nobodys}, nil, forgetsCount),
		archetype("no-context-goroutine", made{scripts: text, habits: one, context: nobodys, apart: true}, nil, anyonesString, oneToken),
		archetype("kept-context", made{scripts: fields, habits: habits{derived: true, keeps: true}}, nil, forgetsCount, oneToken, neverStops),
		archetype("one-goroutine", made{scripts: fields, habits: habits{shared: true}}, nil,
			wrong{"oldest-only", "renew", "batch-poison", func(m *made) { m.oldestOnly = true }}, forgetsCount),
		archetype("script-load", made{scripts: fields}, overScriptLoad,
			wrong{"unknown-is-done", "lock", "script-flush", func(m *made) { m.careless = true }}, forgetsCount),
		archetype("key-in-script", made{scripts: hidden, habits: one}, nil,
			oneToken, replaced("no-lease", "lock", "old-owner-unlock", ", 'px', ARGV[2]", "")),
		archetype("pub-sub", made{scripts: loud, habits: habits{fresh: true, listens: true}}, nil,
			wrong{"deaf", "lock", "subscribe-race", func(m *made) { m.deaf = true }}, anyonesString),
		archetype("polling", made{scripts: text, habits: one}, byCommands,
			replaced("lies", "unlock", "key-expiry", "then return -1 end", "then return 0 end"), anyonesString),
		archetype("redigo", made{scripts: text, habits: one}, overRedigo, anyonesString, renewsOnce, resurrects),
		archetype("one-script", made{scripts: fields, whole: true}, nil, forgetsCount, oneToken),
		archetype("one-script-redigo", made{scripts: fields, whole: true}, overRedigo, forgetsCount, oneToken),
		archetype("one-script-direct", made{scripts: fields, whole: true, direct: true}, overRedigo, forgetsCount, oneToken),
		archetype("eager", made{scripts: text, habits: one}, eager, halfLease,
			wrong{"error-is-mine", "lock", "server-errors", func(m *made) { m.errorIsMine = true }}),
		archetype("named-fields", made{scripts: inFields}, nil, oneToken,
			replaced("extends-anyones", "renew", "key-expiry", "if redis.call('hget', KEYS[1], 'holder') ~= ARGV[1] then return 0 end return", "return")),
		archetype("secret-key", made{scripts: secret(text), habits: one}, nil, anyonesString, oneToken),
		archetype("secret-hash", made{scripts: secret(fields)}, nil, forgetsCount, oneToken),
		archetype("sorted-set", made{scripts: sorted, habits: one}, nil, oneToken,
			replaced("frees-anyones", "unlock", "old-owner-unlock", "if not redis.call('zscore', KEYS[1], ARGV[1]) then return -1 end redis.call('del'", "redis.call('del'")),
		archetype("dated-value", made{scripts: dated, habits: one}, nil, oneToken,
			replaced("frees-anyones", "unlock", "old-owner-unlock", "if not v or string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return -1 end", "")),
		archetype("kept-key", made{scripts: kept, habits: one}, nil, oneToken,
			replaced("frees-anyones", "unlock", "old-owner-unlock", "~= ARGV[1] or tonumber(redis.call('hget', KEYS[1], 'until')) <= now then return -1", "== '' then return -1")),
		archetype("transaction", made{habits: one}, byWatch,
			wrong{"frees-anyones", "unlock", "old-owner-unlock", func(m *made) { m.anyones = true }},
			wrong{"blind", "lock", "many-waiters", func(m *made) { m.blind = true }}),
		archetype("queued", made{scripts: text, habits: one}, byQueue, anyonesString, renewsOnce),
		archetype("kept-answers", made{scripts: remembering(text), habits: habits{fresh: true, again: true}}, overAndOver, anyonesString,
			replaced("forgets", "unlock", "lost-unlock-reply", "'px', 10000", "'px', 1")),
		archetype("longer", made{scripts: longer, habits: habits{anew: true}}, nil, anyonesString,
			replaced("half-lease", "lock", "baseline", "ARGV[2] + 500", "ARGV[2] / 2 + 500"),
			replaced("as-long-as-it-likes", "lock", "explicit-lease", "ARGV[2] + 500", "30500")),
		archetype("own-renewals", made{scripts: text, habits: habits{fresh: true, derived: true, lazy: true, share: 2}}, nil,
			anyonesKept, resurrects,
			replaced("too-long", "renew", "watchdog-death", "return redis.call('pexpire', KEYS[1], ARGV[2])", "return redis.call('pexpire', KEYS[1], ARGV[2] * 1000)"),
			wrong{"too-short", "renew", "watchdog-death", func(m *made) { m.share = 6 }}),
		archetype("granted-anew", made{scripts: anew, habits: habits{anew: true}}, nil, anyonesString, oneToken,
			replaced("keeps-lease", "lock", "same-owner-retry", "redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) return 1", "return 1"),
			replaced("no-lease-anew", "lock", "same-owner-retry", "redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])", "redis.call('set', KEYS[1], ARGV[1])")),
		archetype("tardy", made{scripts: fields, habits: habits{tardy: true}}, nil, renewsOnce,
			wrong{"waits-on", "renew", "renewal-error", func(m *made) { m.waitsOn = true }}),
		archetype("void", made{scripts: fields, habits: habits{silent: true}}, nil, forgetsCount, oneToken),
	}
}
