package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// worker waits for the lock and gives it back.
type worker interface {
	lock() error
	unlock() error
}

// team is a contestant's workers: of one process, or each of its own.
type team struct {
	name string
	make func(addr string, n int) ([]worker, func())
}

func handoffs(addr string, rounds int) {
	const each = 150 // hand-offs a turn
	rdb := newRedis(addr)
	var one, many []team
	one = append(one, team{"bare pub/sub, 1 process", bare(false)})
	many = append(many, team{"bare pub/sub, N processes", bare(true)})
	for _, g := range []lockimpl.Generation{lockimpl.Latch, lockimpl.Hardened} {
		one = append(one, team{"lockimpl " + string(g) + ", 1 process", locks(g, false)})
		many = append(many, team{"lockimpl " + string(g) + ", N processes", locks(g, true)})
	}
	fmt.Printf("time from before unlock to another's lock; hold 2 ms; %d turns of %d\n", rounds, each)
	fmt.Printf("%-34s %8s %10s %10s %12s\n", "", "waiters", "p50", "p99", "commands")
	for _, n := range []int{2, 8, 32} {
		for _, teams := range [][]team{one, many} {
			times := make([][]float64, len(teams))
			commands := make([]float64, len(teams))
			for range rounds {
				for i, t := range teams {
					workers, closeAll := t.make(addr, n)
					check(rdb.FlushAll(ctx).Err())
					took, sent := handoff(rdb, workers, each)
					closeAll()
					times[i] = append(times[i], took...)
					commands[i] += sent / float64(rounds)
				}
			}
			for i, t := range teams {
				fmt.Printf("%-34s %8d %10v %10v %12.1f\n", t.name, n,
					time.Duration(at(times[i], .5)).Round(time.Microsecond),
					time.Duration(at(times[i], .99)).Round(time.Microsecond), commands[i])
			}
		}
	}
}

// handoff has the workers take the lock in turn. A worker rejoins only after another took it.
func handoff(rdb *redis.Client, workers []worker, n int) (took []float64, commands float64) {
	var mu sync.Mutex
	var released time.Time
	var grants atomic.Int64
	total := int64(n + 20) // the first are warm-up
	var wg sync.WaitGroup
	var before float64
	for _, w := range workers {
		wg.Go(func() {
			for grants.Load() < total {
				check(w.lock())
				now := time.Now()
				g := grants.Add(1)
				mu.Lock()
				if g == 20 {
					before = commandsOf(rdb)
				}
				if g > 20 && !released.IsZero() {
					took = append(took, float64(now.Sub(released)))
				}
				mu.Unlock()
				time.Sleep(2 * time.Millisecond)
				mu.Lock()
				if g == total {
					commands = (commandsOf(rdb)-before)/float64(n) - 1 // the scripts' own DEL
				}
				released = time.Now()
				mu.Unlock()
				check(w.unlock())
				for grants.Load() == g && g < total {
					time.Sleep(50 * time.Microsecond)
				}
			}
		})
	}
	wg.Wait()
	return took, commands
}

// commandsOf counts what a lock sends, and the DELs inside scripts: one for each release.
func commandsOf(rdb *redis.Client) (n float64) {
	info, err := rdb.Info(ctx, "commandstats").Result()
	check(err)
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if slices.Contains([]string{"eval", "evalsha", "subscribe", "unsubscribe", "del"}, name) {
			var calls float64
			fmt.Sscan(strings.Split(rest, ",")[0], &calls)
			n += calls
		}
	}
	return n
}

// bare is the mechanism alone: a subscription and a latch for each process.
func bare(own bool) func(string, int) ([]worker, func()) {
	return func(addr string, n int) (workers []worker, closeAll func()) {
		var processes []*bareProcess
		for i := range n {
			if own || i == 0 {
				p := &bareProcess{rdb: newRedis(addr), latch: make(chan struct{}, 1)}
				p.sub = p.rdb.Subscribe(ctx, "redisson_lock__channel:{x}")
				_, err := p.sub.Receive(ctx)
				check(err)
				go p.listen()
				processes = append(processes, p)
			}
			workers = append(workers, &bareWorker{processes[len(processes)-1], fmt.Sprint("owner:", i)})
		}
		return workers, func() {
			for _, p := range processes {
				p.sub.Close()
				p.rdb.Close()
			}
		}
	}
}

type bareProcess struct {
	rdb   *redis.Client
	sub   *redis.PubSub
	latch chan struct{}
}

func (p *bareProcess) listen() {
	for {
		if _, err := p.sub.ReceiveMessage(ctx); err != nil {
			return
		}
		select {
		case p.latch <- struct{}{}:
		default:
		}
	}
}

type bareWorker struct {
	p     *bareProcess
	owner string
}

func (w *bareWorker) lock() error {
	for {
		ttl, err := floorLock.Run(ctx, w.p.rdb, []string{"x"}, 30000, w.owner).Int64()
		if err == redis.Nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-w.p.latch:
		case <-time.After(time.Duration(ttl) * time.Millisecond):
		}
	}
}

func (w *bareWorker) unlock() error {
	return floorUnlock.Run(ctx, w.p.rdb, []string{"x", "redisson_lock__channel:{x}"}, "0", 30000, w.owner).Err()
}

func locks(g lockimpl.Generation, own bool) func(string, int) ([]worker, func()) {
	return func(addr string, n int) (workers []worker, closeAll func()) {
		var clients []*lockimpl.Client
		var rdbs []*redis.Client
		for i := range n {
			if own || i == 0 {
				rdb := newRedis(addr)
				c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
				check(err)
				clients, rdbs = append(clients, c), append(rdbs, rdb)
			}
			c := clients[len(clients)-1]
			workers = append(workers, &lockWorker{c.Lock("x"), c.Owner(int64(i))})
		}
		return workers, func() {
			for i, c := range clients {
				c.Close()
				rdbs[i].Close()
			}
		}
	}
}

type lockWorker struct {
	l *lockimpl.RLock
	o lockimpl.Owner
}

func (w *lockWorker) lock() error { return w.l.Lock(ctx, w.o) }

func (w *lockWorker) unlock() error {
	_, err := w.l.Unlock(ctx, w.o)
	return err
}
