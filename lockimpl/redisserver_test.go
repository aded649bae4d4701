package lockimpl_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer starts a redis-server of its own, in a directory of its own, and returns its address.
// Without one on PATH the test is skipped, or fails if HOLDFAST_REQUIRE_REDIS is 1.
func redisServer(t testing.TB, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") == "1" {
			t.Fatal("HOLDFAST_REQUIRE_REDIS=1, but no redis-server is on PATH")
		}
		t.Skip("no redis-server is on PATH")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().(*net.TCPAddr)
	listener.Close()
	args = append([]string{"--port", fmt.Sprint(addr.Port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", t.TempDir()}, args...)
	server := exec.Command(path, args...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	rdb := redis.NewClient(&redis.Options{Addr: addr.String(), MaxRetries: -1})
	defer rdb.Close()
	for deadline := time.Now().Add(10 * time.Second); rdb.Ping(ctx).Err() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
	}
	return addr.String()
}

// realRedis is a client of a redis-server of its own.
func realRedis(t testing.TB, args ...string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer(t, args...), PoolSize: 80})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}
