package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// contestant takes and gives back the lock of a name, which nobody else wants.
type contestant struct {
	name string
	pair func(key string) error
	keys string // how its keys begin: of one length for all
}

// The bare commands: what Redisson's scripts do, and nothing else.
var (
	floorLock = redis.NewScript(`if redis.call('exists',KEYS[1])==0 or redis.call('hexists',KEYS[1],ARGV[2])==1 then
redis.call('hincrby',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end
return redis.call('pttl',KEYS[1])`)
	floorUnlock = redis.NewScript(`if redis.call('hexists',KEYS[1],ARGV[3])==0 then return nil end
if redis.call('hincrby',KEYS[1],ARGV[3],-1)>0 then redis.call('pexpire',KEYS[1],ARGV[2]) return 0 end
redis.call('del',KEYS[1]) redis.call('publish',KEYS[2],ARGV[1]) return 1`)
	floorUnlockLatch = redis.NewScript(`local v=redis.call('get',KEYS[3]) if v then return tonumber(v) end
if redis.call('hexists',KEYS[1],ARGV[3])==0 then return nil end
if redis.call('hincrby',KEYS[1],ARGV[3],-1)>0 then redis.call('pexpire',KEYS[1],ARGV[2]) redis.call('set',KEYS[3],0,'px',ARGV[4]) return 0 end
redis.call('del',KEYS[1]) redis.call('publish',KEYS[2],ARGV[1]) redis.call('set',KEYS[3],1,'px',ARGV[4]) return 1`)
)

const owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1"

func floorPair(rdb *redis.Client) func(string) error {
	return func(key string) error {
		if err := floorLock.Run(ctx, rdb, []string{key}, 30000, owner).Err(); err != redis.Nil {
			return fmt.Errorf("floor: %v", err)
		}
		return floorUnlock.Run(ctx, rdb, []string{key, "redisson_lock__channel:{" + key + "}"}, "0", 30000, owner).Err()
	}
}

func contestants(addr string) []contestant {
	rdb := newRedis(addr)
	all := []contestant{
		{name: "floor", pair: floorPair(rdb)},
		{name: "floor with latch", pair: func(key string) error {
			if err := floorLock.Run(ctx, rdb, []string{key}, 30000, owner).Err(); err != redis.Nil {
				return fmt.Errorf("floor: %v", err)
			}
			var id [16]byte
			rand.Read(id[:])
			latch := "redisson_unlock_latch:{" + key + "}:" + hex.EncodeToString(id[:])
			if err := floorUnlockLatch.Run(ctx, rdb, []string{key, "redisson_lock__channel:{" + key + "}", latch},
				"0", 30000, owner, 20000).Err(); err != nil {
				return err
			}
			return rdb.Del(ctx, latch).Err()
		}},
	}
	ours := func(name string, rdb redis.UniversalClient, g lockimpl.Generation) {
		c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
		check(err)
		o := c.Owner(1)
		all = append(all, contestant{name: name, pair: func(key string) error {
			l := c.Lock(key)
			if err := l.Lock(ctx, o); err != nil {
				return err
			}
			_, err := l.Unlock(ctx, o)
			return err
		}})
	}
	for _, g := range []lockimpl.Generation{lockimpl.Classic, lockimpl.Combined, lockimpl.Latch, lockimpl.Hardened} {
		ours("lockimpl "+string(g), rdb, g)
	}
	batching, err := newRedis(addr).AutoPipeline()
	check(err)
	ours("hardened, autopipelined", batching, lockimpl.Hardened)
	sync := redsync.New(redsyncgoredis.NewPool(rdb))
	all = append(all, contestant{name: "redsync, 1 pool", pair: func(key string) error {
		m := sync.NewMutex(key)
		if err := m.Lock(); err != nil {
			return err
		}
		_, err := m.Unlock()
		return err
	}})
	obtain := redislock.New(rdb)
	all = append(all, contestant{name: "redislock", pair: func(key string) error {
		l, err := obtain.Obtain(ctx, key, 30*time.Second, nil)
		if err != nil {
			return err
		}
		return l.Release(ctx)
	}})
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}}, KeyMajority: 1, NoLoopTracking: true,
	})
	check(err)
	all = append(all, contestant{name: "rueidislock majority=1", pair: func(key string) error {
		// Sometimes it never returns, though nobody else wants the key: such a turn ends here.
		bounded, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		_, cancel, err := locker.WithContext(bounded, key)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		cancel()
		return nil
	}})
	for i := range all {
		all[i].keys = fmt.Sprintf("lock-%02d", i)
	}
	return all
}

type turn struct {
	pairs          int64
	seconds        float64
	allocs         float64 // for one pair
	client, server time.Duration
	p50, p99       time.Duration
	before, beyond float64 // the floor's rates around it
}

func (t turn) rate() float64 { return float64(t.pairs) / t.seconds }

// run has goroutines use a contestant for a while.
func (c contestant) run(slice time.Duration, goroutines int) turn {
	var stop atomic.Bool
	var wg sync.WaitGroup
	took := make([][]time.Duration, goroutines)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, client, server := time.Now(), cpu(), serverCPU()
	for i := range goroutines {
		wg.Go(func() {
			key := fmt.Sprintf("%s:%02d", c.keys, i)
			for !stop.Load() {
				began := time.Now()
				check(c.pair(key))
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	time.Sleep(slice)
	stop.Store(true)
	wg.Wait()
	t := turn{seconds: time.Since(start).Seconds()}
	t.client, t.server = cpu()-client, serverCPU()-server
	runtime.ReadMemStats(&after)
	all := slices.Concat(took...)
	slices.Sort(all)
	t.pairs = int64(len(all))
	t.allocs = float64(after.Mallocs-before.Mallocs) / float64(t.pairs)
	t.p50, t.p99 = all[len(all)/2], all[len(all)*99/100]
	return t
}

func pairs(addr string, rounds int, slice time.Duration, goroutines int, seed uint64) {
	all := contestants(addr)
	floor := all[0]
	for _, c := range all { // connections, scripts
		c.run(slice, goroutines)
	}
	turns := make([][]turn, len(all))
	random := mrand.New(mrand.NewPCG(seed, 0))
	before := floor.run(slice, goroutines)
	for range rounds {
		for _, i := range random.Perm(len(all)) {
			t := all[i].run(slice, goroutines)
			after := floor.run(slice, goroutines)
			t.before, t.beyond = before.rate(), after.rate()
			turns[i] = append(turns[i], t)
			before = after
		}
	}
	fmt.Printf("%d goroutines, %d keys, %d turns of %v each\n", goroutines, goroutines, rounds, slice)
	fmt.Printf("%-24s %9s %22s %9s %9s %7s %12s\n", "", "pairs/s", "ratio to floor (IQR)", "p50", "p99", "allocs", "CPU µs")
	for i, c := range all {
		var ratios, rates, allocs, p50, p99 []float64
		var client, server, n float64
		for _, t := range turns[i] {
			client += float64(t.client.Microseconds())
			server += float64(t.server.Microseconds())
			n += float64(t.pairs)
			if max(t.before, t.beyond) > 1.25*min(t.before, t.beyond) {
				continue
			}
			ratios = append(ratios, t.rate()/((t.before+t.beyond)/2))
			rates, allocs = append(rates, t.rate()), append(allocs, t.allocs)
			p50, p99 = append(p50, float64(t.p50)), append(p99, float64(t.p99))
		}
		if len(ratios) == 0 {
			fmt.Printf("%-24s the machine's pace never held still\n", c.name)
			continue
		}
		fmt.Printf("%-24s %9.0f %8.2f (%4.2f to %4.2f) %9v %9v %7.1f %5.1f + %4.1f\n", c.name, at(rates, .5),
			at(ratios, .5), at(ratios, .25), at(ratios, .75),
			time.Duration(at(p50, .5)).Round(time.Microsecond), time.Duration(at(p99, .5)).Round(time.Microsecond),
			at(allocs, .5), client/n, server/n)
	}
}

// at is a quantile.
func at(values []float64, q float64) float64 {
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}
