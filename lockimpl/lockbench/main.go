// Command lockbench measures lockimpl against other Go locks, and against the bare commands, on a
// redis-server that it starts itself. It is a module of its own, so that nobody who uses lockimpl
// gets the others.
//
//	go run . pairs     lock and unlock without contention
//	go run . handoff   from unlock to the next holder
//	go run . watchdog  10,000 held locks
//
// Contestants are interleaved in one run, since machines change their pace: what counts is the
// ratio to the bare commands ("floor") measured right before and after.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 15, "pairs, handoff: how often each contestant has a turn")
	slice := flag.Duration("slice", 150*time.Millisecond, "pairs: length of a turn")
	goroutines := flag.Int("goroutines", 64, "pairs: goroutines, each with a key of its own")
	seed := flag.Uint64("seed", 1, "pairs: order of the turns")
	flag.Parse()
	if flag.NArg() > 1 { // flags after the name, too
		name := flag.Arg(0)
		flag.CommandLine.Parse(flag.Args()[1:])
		os.Args = []string{os.Args[0], name}
	} else {
		os.Args = append(os.Args[:1], flag.Args()...)
	}
	if len(os.Args) != 2 {
		log.Fatal("usage: lockbench [flags] pairs|handoff|watchdog")
	}
	addr, stop := startServer()
	defer stop()
	switch os.Args[1] {
	case "pairs":
		pairs(addr, *rounds, *slice, *goroutines, *seed)
	case "handoff":
		handoffs(addr, *rounds)
	case "watchdog":
		watchdog(addr)
	default:
		log.Fatalf("no measurement %q: pairs, handoff, watchdog", os.Args[1])
	}
}

// startServer starts a redis-server without persistence on a free port.
func startServer() (addr string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	a := listener.Addr().(*net.TCPAddr)
	listener.Close()
	dir, err := os.MkdirTemp("", "lockbench")
	check(err)
	server := exec.Command("redis-server", "--port", fmt.Sprint(a.Port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", dir)
	check(server.Start())
	serverPID = server.Process.Pid
	rdb := newRedis(a.String())
	defer rdb.Close()
	for rdb.Ping(ctx).Err() != nil {
		time.Sleep(10 * time.Millisecond)
	}
	return a.String(), func() {
		server.Process.Kill()
		server.Wait()
		os.RemoveAll(dir)
	}
}

func newRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 80})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

var serverPID int

// serverCPU is the time that the server has computed, to 10 ms.
func serverCPU() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", serverPID))
	check(err)
	_, fields, _ := strings.Cut(string(stat), ") ")
	var user, system int64
	columns := strings.Fields(fields)
	fmt.Sscan(columns[11], &user)
	fmt.Sscan(columns[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// cpu is the time that this process has computed.
func cpu() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
