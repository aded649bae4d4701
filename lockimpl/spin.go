package lockimpl

import (
	"context"
	"encoding/binary"
	"time"
)

// spinLock is what [SpinLock] has of an [RLock]; nobody can take it out and put it into a [MultiLock].
type spinLock = RLock

// SpinLock is an [RLock] whose waiters do not subscribe to anything: they ask again after 1 ms, 2 ms and so
// on, up to 128 ms. It is Redisson's RSpinLock (4.7) with its default back-off, for many locks that are held
// for a short time. It shares the key, not the messages, with locks of other kinds, and excludes them.
//
// Classic, Combined and Latch are one form here: the two-branch acquire and the unlock latch of Redisson
// 4.7.0. A release is not published, so that who waits for an RLock of the name sleeps out its lease. TryLock
// asks no more once its time is over, and may sleep up to 128 ms beyond that.
//
// Hardened has the scripts of RLock, and so publishes releases; TryLock returns when its time is over; and
// nobody sleeps longer than the holder's lease.
type SpinLock struct{ *spinLock }

// SpinLock returns the spin lock of that name. It costs nothing on the server.
func (c *Client) SpinLock(name string) *SpinLock {
	l := c.Lock(name)
	l.proto, l.spins = c.spin, true
	return &SpinLock{l}
}

// spinProtocol returns that of the client's spin locks.
func spinProtocol(c *Client) protocol {
	if _, ok := c.proto.(*hardened); ok {
		return c.proto
	}
	return &faithful{client: c, acquire: acquireClassic, unlocks: spinUnlock, latch: true, forces: forceUnlock, renews: renewPlain,
		message: unlockMessage}
}

// The back-off of Redisson's LockOptions.ExponentialBackOff.
const (
	spinFirst = time.Millisecond
	spinMost  = 128 * time.Millisecond
)

// spin is place.acquire of those who ask again and again.
func (p place) spin(ctx context.Context, co callOptions,
	attempt func(ctx context.Context, contended bool) (time.Duration, error)) (bool, error) {
	wait := waiting{place: p, bounded: co.bounded, deadline: time.Now().Add(co.wait)}
	attempting, cancel := p.client.attempting(ctx, p.eager && co.wait > 0, wait.deadline)
	defer cancel()
	for n := uint64(0); ; n++ {
		ttl, err := attempt(attempting, n > 0)
		if err != nil || ttl == granted {
			return err == nil, noReply(attempting, err)
		}
		left := time.Until(wait.deadline)
		if wait.bounded && left <= 0 {
			return false, nil
		}
		sleep := spinFirst << min(n, 7)
		var b [8]byte
		if n > 0 && p.client.random(b[:]) == nil {
			sleep += time.Duration(binary.BigEndian.Uint64(b[:])%n) * time.Millisecond
		}
		sleep = min(sleep, spinMost)
		again := func() (bool, error) { return true, nil }
		if p.eager {
			if ttl >= 0 {
				sleep = min(sleep, max(ttl, time.Millisecond))
			}
			if wait.bounded && left < sleep {
				sleep, again = left, func() (bool, error) { return false, nil }
			}
		}
		if ok, err := wait.pause(ctx, nil, sleep, again); !ok {
			return false, err
		}
	}
}
