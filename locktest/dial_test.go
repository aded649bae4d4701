package locktest_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	redigolib "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/locktest"
)

// careless is a lock over redigo that gives back whatever is there.
type careless struct {
	*carelessClient
	name  string
	owner string
}

func newCareless(e locktest.Env) (locktest.Client, error) {
	return &carelessClient{dial: e.Dial, lease: e.WatchdogTimeout}, nil
}

type carelessClient struct {
	dial  func(context.Context) (net.Conn, error)
	lease time.Duration
	conn  redigolib.Conn
}

func (c *carelessClient) Lock(name, owner string) locktest.Lock { return &careless{c, name, owner} }

func (c *carelessClient) do(command string, args ...any) (any, error) {
	if c.conn == nil {
		conn, err := c.dial(context.Background())
		if err != nil {
			return nil, err
		}
		c.conn = redigolib.NewConn(conn, 0, 0)
	}
	return c.conn.Do(command, args...)
}

func (c *carelessClient) Close() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

func (l *careless) Acquire(ctx context.Context, r locktest.Request) error {
	lease := l.lease
	if r.Lease > 0 {
		lease = r.Lease
	}
	for began := time.Now(); ; {
		got, err := redigolib.String(l.do("SET", l.name, l.owner, "NX", "PX", lease.Milliseconds()))
		switch {
		case got == "OK":
			return nil
		case !errors.Is(err, redigolib.ErrNil):
			return err
		case !r.Forever && time.Since(began) >= r.Wait:
			return locktest.ErrBusy
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(locktest.ErrFailed, ctx.Err())
		}
	}
}

func (l *careless) Release(context.Context) error {
	n, err := redigolib.Int(l.do("DEL", l.name))
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}

// A client that connects when it is made is answered, and that costs no time of the story.
func TestAClientMayConnectWhenItIsMade(t *testing.T) {
	eager := func(e locktest.Env) (locktest.Client, error) {
		conn, err := e.Dial(context.Background())
		if err != nil {
			return nil, err
		}
		if _, err = redigolib.NewConn(conn, 0, 0).Do("PING"); err != nil {
			return nil, err
		}
		if err = e.Redis.Ping(context.Background()).Err(); err != nil {
			return nil, err
		}
		return newRedsyncOverRedigo(e)
	}
	if err := locktest.Inside(t, eager, locktest.Lease(8*time.Second), locktest.Only("baseline"), locktest.Drawn(0)); err != nil {
		t.Error(err)
	}
}

// What a lock sends by a connection of Env.Dial is seen and judged as what others send by go-redis, and
// in the same way each time.
func TestALockOverAnotherLibraryIsJudged(t *testing.T) {
	told := ""
	for range 2 {
		var f *locktest.Failure
		if err := locktest.Inside(t, newCareless, locktest.Only("key-expiry"), locktest.Drawn(0)); !errors.As(err, &f) || f.Guarantee != "object" {
			t.Fatalf("its unlock frees the lock of another, and it is told: %v", err)
		}
		if told != "" && told != f.Text {
			t.Errorf("the same lock is told\n%s\nand\n%s", told, f.Text)
		}
		told = f.Text
	}
	if !strings.Contains(strings.Join(strings.Fields(told), " "), "Run again without the forced expiry of the key") {
		t.Errorf("its cause is not tried: %s", told)
	}
}

// A lock that does something else each time cannot be tried by other runs.
func TestALockThatIsNotRepeatableIsNotProved(t *testing.T) {
	clients := 0
	restless := func(e locktest.Env) (locktest.Client, error) {
		clients++
		return locktest.Locks(func(name, owner string) locktest.Lock {
			c := &carelessClient{dial: e.Dial, lease: e.WatchdogTimeout}
			return c.Lock(name, owner+strings.Repeat("x", clients))
		}), nil
	}
	var f *locktest.Failure
	if err := locktest.Inside(t, restless, locktest.Only("key-expiry"), locktest.Drawn(0)); !errors.As(err, &f) {
		t.Fatalf("it is told: %v", err)
	}
	if strings.Contains(f.Text, "Run again") {
		t.Errorf("it is proved: %s", f.Text)
	}
}

// Several threads of a client may use a semaphore whose library connects by itself: the probe of a family sees that, too.
func TestASemaphoreOverConnectionsOfItsOwnIsJudged(t *testing.T) {
	newSemaphores := func(e locktest.Env) (locktest.Client, error) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", DisableIdentity: true,
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.Dial(ctx) }})
		return dialled{locktest.Semaphores(func(name string) locktest.Semaphore { return listSemaphore{rdb, name, false} }), rdb}, nil
	}
	stories, err := locktest.Accused(t, newSemaphores, locktest.Drawn(3))
	if err != nil || len(stories) > 0 {
		t.Errorf("%v: %q", err, stories)
	}
	// A plan says of no such client that it sends a request once.
	for want, newLock := range map[bool]locktest.NewLock{true: newSemaphores, false: foreign(false)[history.ASemaphore]} {
		if got, err := locktest.Resends(t, newLock); err != nil || got != want {
			t.Errorf("requests may be sent again: %t, want %t: %v", got, want, err)
		}
	}
	if got, err := locktest.Resends(t, newCareless); err != nil || !got {
		t.Errorf("a lock over connections of its own: %t, %v", got, err)
	}
}

type dialled struct {
	locktest.Semaphores
	rdb *redis.Client
}

func (d dialled) Close() error { return d.rdb.Close() }
