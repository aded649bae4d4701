package lockimpl

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/acquire_classic.lua
var acquireClassicSource string

//go:embed scripts/acquire_combined.lua
var acquireCombinedSource string

//go:embed scripts/acquire_hardened.lua
var acquireHardenedSource string

//go:embed scripts/unlock_plain.lua
var unlockPlainSource string

//go:embed scripts/unlock_latch.lua
var unlockLatchSource string

//go:embed scripts/release_hardened.lua
var releaseHardenedSource string

//go:embed scripts/force_unlock.lua
var forceUnlockSource string

//go:embed scripts/force_hardened.lua
var forceHardenedSource string

//go:embed scripts/renew.lua
var renewSource string

//go:embed scripts/renew_current.lua
var renewCurrentSource string

//go:embed scripts/renew_hardened.lua
var renewHardenedSource string

//go:embed scripts/acquire_multi.lua
var acquireMultiSource string

//go:embed scripts/release_multi.lua
var releaseMultiSource string

var (
	acquireClassic  = newScript(acquireClassicSource)
	acquireCombined = newScript(acquireCombinedSource)
	acquireHardened = newScript(acquireHardenedSource)
	unlockPlain     = newScript(unlockPlainSource)
	unlockLatch     = newScript(unlockLatchSource)
	releaseHardened = newScript(releaseHardenedSource)
	forceUnlock     = newScript(forceUnlockSource)
	forceHardened   = newScript(forceHardenedSource)
	renewPlain      = newScript(renewSource)
	renewCurrent    = newScript(renewCurrentSource)
	renewHardened   = newScript(renewHardenedSource)
	acquireMulti    = newScript(acquireMultiSource)
	releaseMulti    = newScript(releaseMultiSource)
)

// script is a Lua script and the digest by which a server that has seen it knows it.
type script struct {
	source, digest any // strings, boxed once
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, digest: hex.EncodeToString(sum[:])}
}

// The beginning of a command that calls a script: these, the script's digest, the number of keys,
// the keys, the arguments.
const evalsha, eval = "evalsha", "eval"

type scriptCall interface {
	redis.Cmder
	SetFirstKeyPos(int8)
	failures() *atomic.Int32
}

// intCall and intsCall are calls of scripts that answer a number, or several.
type (
	intCall struct {
		redis.IntCmd
		attempts
	}
	intsCall struct {
		redis.IntSliceCmd
		attempts
	}
)

func newIntCall(ctx context.Context, args ...any) *intCall {
	return &intCall{IntCmd: *redis.NewIntCmd(ctx, args...)}
}

func newIntsCall(ctx context.Context, args ...any) *intsCall {
	return &intsCall{IntSliceCmd: *redis.NewIntSliceCmd(ctx, args...)}
}

// attempts counts the attempts at a command that failed: after each, go-redis asks whether it may
// make another. (In pipelines it asks more often; who counts too many takes for unknown what is not.)
type attempts struct {
	failed atomic.Int32
	once   bool // go-redis is to make one attempt only
}

// NoRetry implements [redis.Cmder].
func (a *attempts) NoRetry() bool {
	a.failed.Add(1)
	return a.once
}

func (a *attempts) failures() *atomic.Int32 { return &a.failed }

// resent is a server's refusal of a copy of a command; what became of the copies before is not known.
type resent struct{ refusal error }

func (e *resent) Error() string {
	return e.refusal.Error() + " (so the server to a copy; one sent before may have been executed)"
}
func (e *resent) Unwrap() error { return e.refusal }

// run sends cmd, an EVALSHA of s, and again as an EVAL if the server does not know s. An EVALSHA
// that the server does not know has not run, so this counts nothing twice.
//
// If ctx ends first, run returns an [abandoned] error at once. The command may still run: late, if
// not nil, is called when its outcome is known, in a goroutine that [Client.Close] waits for. Only
// late may look at cmd then.
//
// The refusal of a copy that go-redis sent again comes as a [resent] error.
func (c *Client) run(ctx context.Context, s *script, cmd scriptCall, late func()) error {
	cmd.SetFirstKeyPos(3)
	err := c.process(ctx, cmd, late)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		args := cmd.Args()
		args[0], args[1] = eval, s.source
		cmd.SetErr(nil)
		cmd.failures().Add(-1) // that one did nothing
		err = c.process(ctx, cmd, late)
	}
	var refusal redis.Error
	if err != nil && errors.As(err, &refusal) && !errors.Is(err, redis.Nil) && cmd.failures().Load() > 1 {
		return &resent{err}
	}
	return err
}

// runAll sends calls of s at once, and those that a server does not know again as EVALs, in so far as they are wanted then: again
// makes the i-th anew, nil: it is not, and cmds has nil there. An error says that the answers are not awaited any more; each call's own
// error is its own.
func (c *Client) runAll(ctx context.Context, s *script, cmds []*intsCall, again func(i int) *intsCall) error {
	if err := c.sendAll(ctx, cmds); err != nil {
		return err
	}
	var unknown []*intsCall
	for i, cmd := range cmds {
		if !redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			continue
		}
		if cmds[i] = again(i); cmds[i] != nil {
			args := cmds[i].Args()
			args[0], args[1] = eval, s.source
			unknown = append(unknown, cmds[i])
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return c.sendAll(ctx, unknown)
}

func (c *Client) sendAll(ctx context.Context, cmds []*intsCall) error {
	for _, cmd := range cmds {
		cmd.SetFirstKeyPos(3)
	}
	if len(cmds) == 1 {
		return waived(c.process(ctx, cmds[0], nil))
	}
	return c.pipeline(ctx, cmds)
}

func (c *Client) pipeline(ctx context.Context, cmds []*intsCall) error {
	pipe := c.rdb.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // queues it
	}
	return waived(c.await(ctx, func() error {
		_, err := pipe.Exec(ctx)
		return err
	}, nil))
}

// waived is err if it says that an answer is not awaited any more, or was not asked for.
func waived(err error) error {
	var late *abandoned
	if errors.As(err, &late) || errors.Is(err, errNotSent) {
		return err
	}
	return nil
}

// abandoned is the error of a command whose reply is no longer awaited, since its context ended.
type abandoned struct{ cause error }

func (e *abandoned) Error() string { return e.cause.Error() + " (with a command under way)" }
func (e *abandoned) Unwrap() error { return e.cause }

// process sends cmd and awaits its reply, but not longer than ctx. go-redis itself does not give
// up a reply when the context ends, so a context that can end costs a goroutine.
func (c *Client) process(ctx context.Context, cmd redis.Cmder, late func()) error {
	if ctx.Done() == nil {
		return c.rdb.Process(ctx, cmd)
	}
	return c.await(ctx, func() error { return c.rdb.Process(ctx, cmd) }, late)
}

func (c *Client) await(ctx context.Context, send func() error, late func()) error {
	if ctx.Err() != nil {
		return notSent(ctx)
	}
	replied := make(chan error)
	c.work.Add(1) // not 0 before: the operation that calls holds one
	go func() {
		defer c.work.Done()
		err := send()
		if ctx.Err() == nil {
			select {
			case replied <- err:
				return
			case <-ctx.Done():
			}
		}
		// Also go-redis may have ended with ctx. Whether its error or ctx is noticed first must not
		// decide who sees to the rest, so ctx it is, always.
		if late != nil {
			late()
		}
	}()
	select {
	case err := <-replied:
		return err
	case <-ctx.Done():
		return &abandoned{ctx.Err()}
	}
}

// resending is how long after the first copy of a command rdb may go on sending others, at the
// worst: when each attempt runs into every timeout, of connecting and of the handshake, too.
func resending(rdb redis.UniversalClient) time.Duration {
	// go-redis's defaults, for clients that do not show their options.
	o := redis.Options{MaxRetries: 3, DialerRetries: 5, DialTimeout: 5 * time.Second, PoolTimeout: 6 * time.Second,
		ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxRetryBackoff: time.Second}
	switch r := rdb.(type) {
	case *redis.Client:
		o = *r.Options()
	case *redis.ClusterClient:
		c := r.Options()
		o = redis.Options{MaxRetries: c.MaxRedirects, DialerRetries: c.DialerRetries, DialTimeout: c.DialTimeout,
			PoolTimeout: c.PoolTimeout, ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout, MaxRetryBackoff: c.MaxRetryBackoff}
	}
	roundTrip := max(0, o.WriteTimeout) + max(0, o.ReadTimeout)
	connect := max(0, o.PoolTimeout) + time.Duration(max(1, o.DialerRetries))*(max(0, o.DialTimeout)+max(0, o.DialerRetryTimeout)) + roundTrip
	if o.MaxRetries <= 0 {
		return 0
	}
	return time.Duration(o.MaxRetries)*(connect+roundTrip+max(0, o.MaxRetryBackoff)) + connect
}
