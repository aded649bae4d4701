package lockimpl

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// RLock is a re-entrant lock with a lease: Redisson's RLock, with explicit owners. On the server
// it is a hash from its one owner to the hold count, with the lease as its time to live.
//
// It is a handle, safe for concurrent use; all state is the server's and the [Client]'s, but for the lease that an
// RLock of generation [Current] remembers.
type RLock struct {
	object
	proto   protocol
	channel string

	// Arguments of commands, boxed once.
	nameArg, channelArg, counterArg any

	leased atomic.Int64 // with generation Current, the lease that was asked for last, in ns; 0: the watchdog timeout

	fenced bool // counterArg counts from 1, for ever

	// Where the lock is not a hash from owner to count, or its messages are not those of an RLock.
	asks   *script // how often ARGV[1] holds it
	anyone string  // what asks takes for anybody
	manner *manner

	spins bool      // those who wait ask again and again
	fair  *fairKeys // not nil: those who wait stand in a queue
}

// Answers of [RLock.RemainingTTL] that are not durations.
const (
	TTLNoExpiry time.Duration = -1 // locked for ever: somebody else removed the lease
	TTLNoKey    time.Duration = -2 // not locked
)

// IsLocked reports whether anybody holds the lock.
func (l *RLock) IsLocked(ctx context.Context) (bool, error) {
	if l.asks != nil {
		count, err := l.ask(ctx, l.anyone)
		return count > 0, l.wrap("IsLocked", "", err)
	}
	cmd := redis.NewIntCmd(ctx, "exists", l.name)
	err := l.wrap("IsLocked", "", l.query(ctx, cmd))
	return err == nil && cmd.Val() == 1, err
}

// IsHeldBy reports whether owner holds the lock.
func (l *RLock) IsHeldBy(ctx context.Context, owner Owner) (bool, error) {
	if owner == "" {
		return false, l.wrap("IsHeldBy", owner, ErrBadOwner)
	}
	held, err := l.isHeldBy(ctx, owner)
	return held, l.wrap("IsHeldBy", owner, err)
}

func (l *RLock) isHeldBy(ctx context.Context, owner Owner) (bool, error) {
	if l.asks != nil {
		count, err := l.ask(ctx, string(owner))
		return count > 0, err
	}
	cmd := redis.NewBoolCmd(ctx, "hexists", l.name, string(owner))
	err := l.query(ctx, cmd)
	return err == nil && cmd.Val(), err
}

// HoldCount returns how many times owner holds the lock.
func (l *RLock) HoldCount(ctx context.Context, owner Owner) (int64, error) {
	if owner == "" {
		return 0, l.wrap("HoldCount", owner, ErrBadOwner)
	}
	if l.asks != nil {
		count, err := l.ask(ctx, string(owner))
		return count, l.wrap("HoldCount", owner, err)
	}
	cmd := redis.NewStringCmd(ctx, "hget", l.name, string(owner))
	err := l.query(ctx, cmd)
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, l.wrap("HoldCount", owner, err)
	}
	count, err := cmd.Int64()
	return count, l.wrap("HoldCount", owner, err)
}

// RemainingTTL returns how long the present lease lasts, to the millisecond, [TTLNoKey] or
// [TTLNoExpiry].
func (l *RLock) RemainingTTL(ctx context.Context) (time.Duration, error) {
	cmd := redis.NewDurationCmd(ctx, time.Millisecond, "pttl", l.name)
	if err := l.query(ctx, cmd); err != nil {
		return 0, l.wrap("RemainingTTL", "", err)
	}
	return cmd.Val(), nil
}

// ask executes the script that says how often a lock is held.
func (l *RLock) ask(ctx context.Context, who string) (int64, error) {
	if err := l.begin(); err != nil {
		return 0, err
	}
	defer l.client.work.Done()
	cmd := newIntCall(ctx, evalsha, l.asks.digest, 1, l.nameArg, who)
	if err := l.client.run(ctx, l.asks, cmd, nil); err != nil {
		return 0, err
	}
	return cmd.Val(), nil
}

// waitsAt is where calls of an owner wait for a release.
func (l *RLock) waitsAt(owner Owner) place {
	_, eager := l.proto.(*hardened)
	channel := l.channel
	if l.fair != nil {
		channel += ":" + string(owner)
	}
	return place{client: l.client, channel: channel, manner: l.manner, eager: eager}
}
