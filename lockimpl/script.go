package lockimpl

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/acquire_classic.lua
var acquireClassicSource string

//go:embed scripts/acquire_combined.lua
var acquireCombinedSource string

//go:embed scripts/unlock_plain.lua
var unlockPlainSource string

//go:embed scripts/unlock_latch.lua
var unlockLatchSource string

//go:embed scripts/force_unlock.lua
var forceUnlockSource string

//go:embed scripts/renew.lua
var renewSource string

var (
	acquireClassic  = newScript(acquireClassicSource)
	acquireCombined = newScript(acquireCombinedSource)
	unlockPlain     = newScript(unlockPlainSource)
	unlockLatch     = newScript(unlockLatchSource)
	forceUnlock     = newScript(forceUnlockSource)
	renew           = newScript(renewSource)
)

// script is a Lua script and the digest by which a server that has seen it knows it.
type script struct {
	source, digest any // strings, boxed once
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, digest: hex.EncodeToString(sum[:])}
}

// run executes s by its digest and, where the server does not know it, by its text; done gets the
// answer in cmd. An EVALSHA that the server does not know has not run, so this counts nothing twice.
//
// If ctx ends first, run returns its error at once. The command may still run: late, if not nil,
// is called with its outcome when that is known, in a goroutine that [Client.Close] waits for.
func run[C interface {
	redis.Cmder
	SetFirstKeyPos(int8)
}](ctx context.Context, c *Client, s *script, newCmd func(context.Context, ...any) C, late func(C),
	keys []string, args ...any) (C, error) {
	call := make([]any, 0, 3+len(keys)+len(args))
	call = append(call, "evalsha", s.digest, len(keys))
	for _, key := range keys {
		call = append(call, key)
	}
	call = append(call, args...)

	cmd := newCmd(ctx, call...)
	cmd.SetFirstKeyPos(3)
	lateCmd := func() {
		if late != nil {
			late(cmd)
		}
	}
	err := c.process(ctx, cmd, lateCmd)
	if err == nil || !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return cmd, err
	}
	call[0], call[1] = "eval", s.source
	cmd = newCmd(ctx, call...)
	cmd.SetFirstKeyPos(3)
	return cmd, c.process(ctx, cmd, lateCmd)
}

// process sends cmd. go-redis does not give up a reply when the context ends, so a context that
// can end costs a goroutine: see [run].
func (c *Client) process(ctx context.Context, cmd redis.Cmder, late func()) error {
	if ctx.Done() == nil {
		return c.rdb.Process(ctx, cmd)
	}
	if ctx.Err() != nil {
		return notSent(ctx)
	}
	replied := make(chan error)
	c.work.Add(1) // not 0 before: the operation that calls holds one
	go func() {
		defer c.work.Done()
		err := c.rdb.Process(ctx, cmd)
		select {
		case replied <- err:
		case <-ctx.Done():
			select {
			case replied <- err:
			default:
				late()
			}
		}
	}()
	select {
	case err := <-replied:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
