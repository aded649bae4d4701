package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"

	"github.com/holdfast-sim/holdfast/locktest"
)

// newRedsyncOverRedigo is redsync over another client library, which connects by Env.Dial.
func newRedsyncOverRedigo(e locktest.Env) (locktest.Client, error) {
	pool := &redigolib.Pool{MaxIdle: 5, DialContext: func(ctx context.Context) (redigolib.Conn, error) {
		conn, err := e.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return redigolib.NewConn(conn, 3*time.Second, 3*time.Second), nil
	}}
	rs := redsync.New(redigo.NewPool(pool))
	return redigoClient{locktest.Locks(func(name, _ string) locktest.Lock { return &redsyncMutex{rs, name, rs.NewMutex(name)} }), pool}, nil
}

type redigoClient struct {
	locktest.Client
	pool *redigolib.Pool
}

func (c redigoClient) Close() error { return c.pool.Close() }

// Redsync over redigo, a client library that the harness knows nothing of.
func Example_redigo() {
	var t *testing.T // that of your test
	locktest.Run(t, newRedsyncOverRedigo, locktest.Lease(8*time.Second))
}
