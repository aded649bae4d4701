package archetypes

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/locktest"
)

// scripts keep a lock. Each gets the token and the lease in ms as ARGV. take answers 1 or 0; give the holds that
// are left, or -1; extend 1 or 0.
type scripts struct {
	take1, give1, extend1 string
	keys                  func(name string) []string
	args                  func(name, token string, lease time.Duration) []any // nil: token and lease
	absolute              bool                                                // the server is told when a lease ends
	eval                  eval
}

// eval runs a script, whatever the client library.
type eval func(ctx context.Context, script string, keys []string, args []any) (int64, error)

// under runs scripts under other contexts than those that it is given.
func (e eval) under(other func(context.Context) context.Context) eval {
	return func(ctx context.Context, script string, keys []string, args []any) (int64, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return e(other(ctx), script, keys, args)
	}
}

// apart runs each script in a goroutine of its own.
func (e eval) apart() eval {
	return func(ctx context.Context, script string, keys []string, args []any) (n int64, err error) {
		done := make(chan struct{})
		go func() {
			n, err = e(ctx, script, keys, args)
			close(done)
		}()
		<-done
		return n, err
	}
}

// whole runs one script in the place of all: its last argument says which it is.
func (e eval) whole(s scripts) eval {
	verbs := map[string]string{s.take1: "take", s.give1: "give", s.extend1: "extend"}
	all := ""
	for _, script := range []string{s.take1, s.give1, s.extend1} {
		all += "local function " + verbs[script] + "() " + script + " end\n"
	}
	all += "return ({take = take, give = give, extend = extend})[ARGV[#ARGV]]()"
	return func(ctx context.Context, script string, keys []string, args []any) (int64, error) {
		return e(ctx, all, keys, append(args[:len(args):len(args)], verbs[script]))
	}
}

func (s scripts) run(ctx context.Context, script, name, token string, lease time.Duration) (int64, error) {
	args := []any{token, lease.Milliseconds()}
	if s.args != nil {
		args = s.args(name, token, lease)
	}
	return s.eval(ctx, script, s.keys(name), args)
}

func (s scripts) take(ctx context.Context, name, token string, lease time.Duration) (bool, error) {
	began := time.Now()
	n, err := s.run(ctx, s.take1, name, token, lease)
	if n == 1 && s.absolute && time.Since(began) >= lease {
		return false, errors.New("the lease was over when the answer came")
	}
	return n == 1, err
}

func (s scripts) give(ctx context.Context, name, token string) (int64, error) {
	return s.run(ctx, s.give1, name, token, 0)
}

func (s scripts) extend(ctx context.Context, name, token string, lease time.Duration) (bool, error) {
	n, err := s.run(ctx, s.extend1, name, token, lease)
	return n == 1, err
}

// with returns the scripts with some text in them replaced.
func (s scripts) with(old, new string) scripts {
	for _, text := range []*string{&s.take1, &s.give1, &s.extend1} {
		*text = strings.ReplaceAll(*text, old, new)
	}
	return s
}

// byEval sends a script each time.
func byEval(rdb goredis.UniversalClient) eval {
	return func(ctx context.Context, script string, keys []string, args []any) (int64, error) {
		return rdb.Eval(ctx, script, keys, args...).Int64()
	}
}

// byLoad loads scripts before it uses them, and again when the server does not know them. careless takes a script that
// is not known for one that said yes.
func byLoad(rdb goredis.UniversalClient, careless bool) eval {
	loaded := map[string]bool{}
	return func(ctx context.Context, script string, keys []string, args []any) (int64, error) {
		sum := sha1.Sum([]byte(script))
		digest := hex.EncodeToString(sum[:])
		for {
			if !loaded[digest] {
				if err := rdb.ScriptLoad(ctx, script).Err(); err != nil {
					return 0, err
				}
				loaded[digest] = true
			}
			n, err := rdb.EvalSha(ctx, digest, keys, args...).Int64()
			switch {
			case !goredis.HasErrorPrefix(err, "NOSCRIPT"):
				return n, err
			case careless:
				return 0, nil
			}
			delete(loaded, digest)
		}
	}
}

// byRedigo runs scripts by another client library, and a connection each. That library has a goroutine of its own for what it sends under a
// context: direct is without one.
func byRedigo(e locktest.Env, direct bool) (eval, func() error) {
	pool := &redis.Pool{MaxIdle: 4, DialContext: func(ctx context.Context) (redis.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		c, err := e.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return redis.NewConn(c, 3*time.Second, 3*time.Second), nil
	}}
	return func(ctx context.Context, script string, keys []string, args []any) (int64, error) {
		c, err := pool.GetContext(ctx)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		all := []any{script, len(keys)}
		for _, k := range keys {
			all = append(all, k)
		}
		if direct {
			return redis.Int64(c.Do("EVAL", append(all, args...)...))
		}
		return redis.Int64(redis.DoContext(c, ctx, "EVAL", append(all, args...)...))
	}, pool.Close
}

// commands keep a lock without a script to take it.
type commands struct {
	scripts
	rdb goredis.UniversalClient
}

func (c commands) take(ctx context.Context, name, token string, lease time.Duration) (bool, error) {
	return c.rdb.SetNX(ctx, name, token, lease).Result()
}

// listen subscribes by go-redis.
func listen(rdb goredis.UniversalClient) waiting {
	return func(ctx context.Context, name string) (<-chan struct{}, func(), error) {
		s := rdb.Subscribe(ctx, name+":free")
		if _, err := s.ReceiveTimeout(ctx, 7500*time.Millisecond); err != nil { // nobody confirms what was lost
			s.Close()
			return nil, nil, err
		}
		heard := make(chan struct{}, 1)
		go func() {
			for range s.Channel() {
				select {
				case heard <- struct{}{}:
				default:
				}
			}
		}()
		return heard, func() { s.Close() }, nil
	}
}
