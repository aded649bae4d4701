package archetypes

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// watched keeps a lock in a string, and changes it in a transaction only if nobody else has since it looked.
type watched struct {
	rdb     goredis.UniversalClient
	anyones bool // mistake: it gives back what another holds
	blind   bool // mistake: a transaction that was not executed is taken for one that was
}

// change does something to a key in a transaction if what it looked at allows that, as often as others interfere.
func (w watched) change(ctx context.Context, name string, may func(holder string) bool, do func(goredis.Pipeliner)) (done bool, err error) {
	for {
		done = false
		err = w.rdb.Watch(ctx, func(tx *goredis.Tx) error {
			holder, err := tx.Get(ctx, name).Result()
			if err != nil && !errors.Is(err, goredis.Nil) {
				return err
			}
			if !may(holder) {
				return nil
			}
			_, err = tx.TxPipelined(ctx, func(p goredis.Pipeliner) error { do(p); return nil })
			done = err == nil
			return err
		}, name)
		switch {
		case !errors.Is(err, goredis.TxFailedErr):
			return done, err
		case w.blind:
			return true, nil
		}
	}
}

func (w watched) take(ctx context.Context, name, token string, lease time.Duration) (bool, error) {
	return w.change(ctx, name, func(holder string) bool { return holder == "" }, func(p goredis.Pipeliner) { p.Set(ctx, name, token, lease) })
}

func (w watched) give(ctx context.Context, name, token string) (int64, error) {
	done, err := w.change(ctx, name, func(holder string) bool { return holder == token || w.anyones && holder != "" }, func(p goredis.Pipeliner) { p.Del(ctx, name) })
	if !done {
		return -1, err
	}
	return 0, err
}

func (w watched) extend(ctx context.Context, name, token string, lease time.Duration) (bool, error) {
	return w.change(ctx, name, func(holder string) bool { return holder == token }, func(p goredis.Pipeliner) { p.PExpire(ctx, name, lease) })
}

func byWatch(e locktest.Env, m made) (*client, error) {
	return newClient(e, m.habits, watched{e.Redis, m.anyones, m.blind}), nil
}

// queued takes a lock in a transaction that watches nothing, and counts the attempts in it.
type queued struct {
	scripts
	rdb goredis.UniversalClient
}

func (q queued) take(ctx context.Context, name, token string, lease time.Duration) (bool, error) {
	var got *goredis.BoolCmd
	_, err := q.rdb.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		p.Incr(ctx, name+":attempts")
		got = p.SetNX(ctx, name, token, lease)
		return nil
	})
	return got != nil && got.Val(), err
}

func byQueue(e locktest.Env, m made) (*client, error) {
	m.eval = byEval(e.Redis)
	return newClient(e, m.habits, queued{m.scripts, e.Redis}), nil
}

// bySendingAgain sends a script again after an error, up to three times, under the name that it gave the request first: the server
// keeps the answer under it.
func bySendingAgain(rdb goredis.UniversalClient, id string) eval {
	var made atomic.Int64
	return func(ctx context.Context, script string, keys []string, args []any) (n int64, err error) {
		request := fmt.Sprintf("%s:answer:%s:%d", keys[0], id, made.Add(1))
		for range 3 {
			if n, err = rdb.Eval(ctx, script, []string{keys[0], request}, args...).Int64(); err == nil || ctx.Err() != nil {
				break
			}
		}
		return n, err
	}
}

// remembering has scripts answer what they answered to the same request before.
func remembering(s scripts) scripts {
	for _, script := range []*string{&s.take1, &s.give1, &s.extend1} {
		*script = `local kept = redis.call('get', KEYS[2]) if kept then return tonumber(kept) end
			local function run() ` + *script + ` end
			local answer = run() redis.call('set', KEYS[2], answer, 'px', 10000) return answer`
	}
	return s
}

func overAndOver(e locktest.Env, m made) (*client, error) {
	c := newClient(e, m.habits, nil)
	m.eval = bySendingAgain(e.Redis, c.id)
	c.store = m.scripts
	return c, nil
}

// remembers is a lock whose requests the server knows again.
type remembers struct{ plain }

// Idempotent implements [locktest.Idempotent].
func (remembers) Idempotent() time.Duration { return 10 * time.Second }
