package archetypes

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/locktest"
)

// A store is how a lock is kept in Redis. A token tells one owner from another.
type store interface {
	take(ctx context.Context, name, token string, lease time.Duration) (bool, error)
	// give gives one hold back, and returns how many are left; -1: the token has none.
	give(ctx context.Context, name, token string) (left int64, err error)
	extend(ctx context.Context, name, token string, lease time.Duration) (bool, error)
}

// habits are what a lock does around its store.
type habits struct {
	fresh   bool          // a token for each hold, and not for each owner: such a lock is not reentrant
	anew    bool          // it grants its owner anew what it holds, and counts nothing: nor is that
	derived bool          // the watchdog's context comes from that of Acquire
	lazy    bool          // the watchdog looks whether it is still wanted when its time comes, and no sooner
	keeps   bool          // a release has the context of the grant
	shared  bool          // one goroutine of a client renews all its holds
	listens bool          // it waits for a message, which a release publishes
	silent  bool          // its release tells nothing
	again   bool          // it sends requests again that the server knows again
	tardy   bool          // it renews at four fifths of its lease, and soon again what failed
	share   time.Duration // renewals set one so-many-th of the lease; 0: all of it

	oneToken    bool // mistake: all threads of a client have the same token
	neverStops  bool // mistake: the watchdog goes on after the last release
	renewsOnce  bool // mistake
	oldestOnly  bool // mistake: of the holds of a client the first alone is renewed
	errorIsMine bool // mistake: an error of an attempt is taken for a grant
	deaf        bool // mistake: it does not look again after it has subscribed
	waitsOn     bool // mistake: a renewal that failed is tried again when the next is due

}

// client is one process's client.
type client struct {
	habits
	store
	id    string
	lease time.Duration
	close func() error
	wait  waiting // nil: it polls

	mu    sync.Mutex
	holds []*hold
	stop  chan struct{} // of the goroutine that renews all holds; nil: there is none
	dogs  sync.WaitGroup
}

// waiting begins to listen for a lock's release; the channel gets a value for each.
type waiting func(ctx context.Context, name string) (heard <-chan struct{}, stop func(), err error)

// hold is a hold of this client, or several of one owner.
type hold struct {
	name, token string
	count       int
	stop        chan struct{}
}

func newClient(e locktest.Env, h habits, s store) *client {
	id := make([]byte, 8)
	_, _ = io.ReadFull(e.Random, id)
	return &client{habits: h, store: s, id: hex.EncodeToString(id), lease: e.WatchdogTimeout, close: func() error { return nil }}
}

// poll is how long a waiter sleeps between two attempts.
const poll = 150 * time.Millisecond

func (c *client) acquire(ctx context.Context, name, token string, r locktest.Request) error {
	lease, began, heard := cmp.Or(r.Lease, c.lease), time.Now(), (<-chan struct{})(nil)
	for {
		got, err := c.take(ctx, name, token, lease)
		switch {
		case err != nil && !c.errorIsMine:
			return err
		case got || err != nil:
			c.got(ctx, name, token, r.Lease == 0)
			return nil
		case !r.Forever && time.Since(began) >= r.Wait:
			return locktest.ErrBusy
		}
		nap := 4 * poll
		if c.wait == nil {
			nap = poll
		} else if heard == nil {
			all, stop, err := c.wait(ctx, name)
			if err != nil {
				return errors.Join(locktest.ErrFailed, err)
			}
			defer stop()
			if heard = all; !c.deaf {
				continue // it may have been released before anybody listened
			}
		}
		if c.deaf {
			nap = time.Hour
		}
		if !r.Forever {
			nap = min(nap, r.Wait-time.Since(began))
		}
		select {
		case <-heard:
		case <-time.After(nap):
		case <-ctx.Done():
			return errors.Join(locktest.ErrFailed, ctx.Err())
		}
	}
}

// got notes a hold, and has it renewed if it is to be.
func (c *client) got(ctx context.Context, name, token string, renewed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held(name, token)
	if h == nil {
		h = &hold{name: name, token: token}
		c.holds = append(c.holds, h)
	}
	h.count++
	switch {
	case !renewed || h.stop != nil:
	case !c.shared:
		h.stop = make(chan struct{})
		c.dogs.Go(func() { c.watch(ctx, h, h.stop) })
	default:
		if h.stop = make(chan struct{}); c.stop == nil {
			c.stop = make(chan struct{})
			c.dogs.Go(c.watchAll)
		}
	}
}

// held finds a hold; c.mu is held.
func (c *client) held(name, token string) *hold {
	for _, h := range c.holds {
		if h.name == name && h.token == token {
			return h
		}
	}
	return nil
}

// background is the context of what a watchdog sends.
func (c *client) background(ctx context.Context) context.Context {
	if c.derived {
		return context.WithoutCancel(ctx)
	}
	return context.Background()
}

// watch renews one hold.
func (c *client) watch(ctx context.Context, h *hold, stop chan struct{}) {
	ctx = c.background(ctx)
	for next := c.renewEvery(); ; {
		if !c.lazy {
			select {
			case <-stop:
				return
			case <-time.After(next):
			}
		} else if <-time.After(next); closed(stop) {
			return
		}
		mine, err := c.extend(ctx, h.name, h.token, c.lease/max(c.share, 1))
		if err == nil && !mine { // whoever takes it again is watched anew
			c.ended(h.name, h.token, false)
		}
		if err == nil && !mine || c.renewsOnce {
			return
		}
		if next = c.renewEvery(); c.tardy && err != nil && !c.waitsOn {
			next = c.retryEvery()
		}
	}
}

// renewEvery is how often a hold is renewed. Who comes when a round through many holds has begun waits for the next.
func (c *client) renewEvery() time.Duration {
	switch {
	case c.tardy:
		return c.lease * 4 / 5
	case c.shared:
		return c.lease / 2
	}
	return c.lease / 3
}

// retryEvery is how soon a renewal that failed is tried again.
func (c *client) retryEvery() time.Duration { return c.lease / 40 }

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// watchAll renews all holds of the client, one after the other, however long that takes.
func (c *client) watchAll() {
	rounds := time.NewTicker(c.lease / 3)
	defer rounds.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-rounds.C:
		}
		c.mu.Lock()
		var all []*hold
		for _, h := range c.holds {
			if h.stop != nil && (len(all) == 0 || !c.oldestOnly) {
				all = append(all, h)
			}
		}
		c.mu.Unlock()
		for _, h := range all {
			select {
			case <-h.stop: // it was given back meanwhile
				continue
			default:
			}
			if mine, err := c.extend(context.Background(), h.name, h.token, c.lease); err == nil && !mine {
				c.ended(h.name, h.token, false)
			}
		}
	}
}

// ended notes that a hold was given back, and whether any may be left in Redis. After its owner's last none is renewed, whatever
// a copy of a request may have left there.
func (c *client) ended(name, token string, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held(name, token)
	if h == nil {
		return
	}
	if h.count--; left && h.count > 0 {
		return
	}
	if h.stop != nil && !c.neverStops {
		close(h.stop)
	}
	for i, o := range c.holds {
		if o == h && !c.neverStops {
			c.holds = append(c.holds[:i:i], c.holds[i+1:]...)
			return
		}
	}
}

// Close implements [io.Closer].
func (c *client) Close() error {
	c.mu.Lock()
	for _, h := range c.holds {
		if h.stop != nil {
			close(h.stop)
		}
	}
	c.holds = nil
	if c.stop != nil {
		close(c.stop)
	}
	c.mu.Unlock()
	err := c.close()
	if !c.lazy {
		c.dogs.Wait()
	}
	return err
}

// lock is a lock in the hands of one owner.
type lock struct {
	*client
	name, owner string
	token       string          // of the hold acquired last
	granted     context.Context // of its grant
	made        int             // tokens
}

// Lock implements [locktest.Client].
func (c *client) Lock(name, owner string) locktest.Lock {
	l := &lock{client: c, name: name, owner: owner}
	switch {
	case c.again:
		return remembers{plain{l}}
	case c.fresh, c.anew:
		return plain{l}
	case c.tardy:
		return tardy{reentrant{plain{l}}}
	case c.silent:
		return silent{reentrant{plain{l}}}
	}
	return reentrant{plain{l}}
}

func (l *lock) next() string {
	switch {
	case l.oneToken:
		return l.id
	case !l.fresh:
		return l.id + l.owner[strings.LastIndex(l.owner, ":"):]
	}
	l.made++
	return l.id + l.owner + "/" + hex.EncodeToString([]byte{byte(l.made >> 8), byte(l.made)})
}

func (l *lock) releaseOne(ctx context.Context) (last bool, err error) {
	if l.token == "" {
		return false, locktest.ErrNotHeld
	}
	if l.keeps {
		ctx = l.granted
	}
	left, err := l.give(ctx, l.name, l.token)
	l.ended(l.name, l.token, err != nil || left > 0)
	if err == nil && left < 0 {
		err = locktest.ErrNotHeld
	}
	return left == 0, err
}

// plain is a lock that its owner cannot take again.
type plain struct{ *lock }

// Acquire implements [locktest.Lock].
func (l plain) Acquire(ctx context.Context, r locktest.Request) error {
	token := l.next()
	err := l.acquire(ctx, l.name, token, r)
	if err == nil {
		l.token, l.granted = token, context.WithoutCancel(ctx)
	}
	return err
}

// Release implements [locktest.Lock].
func (l plain) Release(ctx context.Context) error {
	_, err := l.releaseOne(ctx)
	return err
}

// RenewEvery implements [locktest.Watchdog].
func (l plain) RenewEvery() time.Duration { return l.renewEvery() }

// reentrant is a lock that its owner can.
type reentrant struct{ plain }

// ReleaseOne implements [locktest.Reentrant].
func (l reentrant) ReleaseOne(ctx context.Context) (last bool, err error) { return l.releaseOne(ctx) }

// silent is a lock whose release returns nothing.
type silent struct{ reentrant }

// Silent implements [locktest.Silent].
func (l silent) Silent() {}

// ReleaseOne hides what the release tells.
func (l silent) ReleaseOne(ctx context.Context) (last bool, err error) {
	if _, err = l.releaseOne(ctx); errors.Is(err, locktest.ErrNotHeld) {
		err = nil
	}
	return false, err
}

// tardy is a lock that renews late, and soon again what failed.
type tardy struct{ reentrant }

// RetryEvery implements [locktest.Retrier].
func (l tardy) RetryEvery() time.Duration { return l.retryEvery() }
