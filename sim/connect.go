package sim

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// redis is a Redis client of a client process for a server. noRetry has it send nothing again.
func (r *run) redis(name, server string, noRetry bool) *redis.Client {
	c := r.world.Redis(name, server, func(o *redis.Options) {
		if noRetry {
			o.MaxRetries = -1
		}
		if r.subject.ConnectsOnce {
			o.DialerRetries = 1
		}
	})
	if r.subject.ConnectsOnce {
		c.AddHook(greetsOnce{})
	}
	return c
}

// greetsOnce has a client send the first command on a connection once: if that fails, so does the connection.
type greetsOnce struct{}

func (greetsOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (greetsOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (greetsOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hello" {
			cmd = once{cmd}
		}
		return next(ctx, cmd)
	}
}

// once is a command that go-redis does not send again.
type once struct{ redis.Cmder }

func (once) NoRetry() bool { return true }
