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
	return startServer(t, freePorts(t, 1)[0], args...).addr
}

// process is a redis-server, or a Sentinel.
type process struct {
	*os.Process
	addr string
}

func startServer(t testing.TB, port string, args ...string) process {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") == "1" {
			t.Fatal("HOLDFAST_REQUIRE_REDIS=1, but no redis-server is on PATH")
		}
		t.Skip("no redis-server is on PATH")
	}
	args = append(args, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	server := exec.Command(path, args...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	p := process{server.Process, net.JoinHostPort("127.0.0.1", port)}
	rdb := redis.NewClient(&redis.Options{Addr: p.addr, MaxRetries: -1})
	defer rdb.Close()
	eventually(t, "redis-server answers", func() error { return rdb.Ping(ctx).Err() })
	return p
}

// freePorts returns so many different ports that nobody listens on.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	ports := make([]string, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		ports[i] = fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	}
	return ports
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
func realRedis(t testing.TB, args ...string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer(t, args...), PoolSize: 80})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}
