package lockimpl_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// startServer starts a redis-server of the test's own. Without one on PATH the test is skipped, or fails if
// HOLDFAST_REQUIRE_REDIS is set.
func startServer(t testing.TB, o redisserver.Options) *redisserver.Server {
	t.Helper()
	redisserver.Need(t)
	s, err := redisserver.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// eventually asks until there is no error: real servers tell nobody that they are ready.
func eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-pause.C:
		case <-deadline:
			t.Fatalf("not within 30s: %s: %v", what, err)
		}
	}
}

// realRedis is a client of a redis-server of its own.
func realRedis(t testing.TB) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: startServer(t, redisserver.Options{}).Addr(), PoolSize: 80})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}
