package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// least returns the least remaining lease of the locks, in ms, and how many there are.
var least = redis.NewScript(`local least, n = -1, 0
for i = 0, ARGV[1] - 1 do
  local ttl = redis.call('pttl', 'lock' .. i)
  if ttl >= 0 then
    n = n + 1
    if least < 0 or ttl < least then least = ttl end
  end
end
return {least, n}`)

// watchdog holds 10,000 locks for a minute and more, and says what their renewal costs the client
// and how near they come to their end.
func watchdog(addr string) {
	const n = 10_000
	rdb := newRedis(addr)
	probe := newRedis(addr)
	for _, g := range []lockimpl.Generation{lockimpl.Latch, lockimpl.Hardened} {
		check(rdb.FlushAll(ctx).Err())
		c, err := lockimpl.New(rdb, lockimpl.Options{Generation: g})
		check(err)
		for i := range n {
			check(c.Lock(fmt.Sprint("lock", i)).Lock(ctx, c.Owner(1)))
		}
		time.Sleep(10 * time.Second) // one round
		calls := renewals(rdb)
		start, used, worst := time.Now(), cpu(), time.Hour
		for time.Since(start) < 60*time.Second {
			time.Sleep(500 * time.Millisecond)
			answer, err := least.Run(ctx, probe, nil, n).Int64Slice()
			check(err)
			if answer[1] != n {
				fmt.Println("LOST:", n-answer[1])
			}
			worst = min(worst, time.Duration(answer[0])*time.Millisecond)
		}
		spent := cpu() - used
		fmt.Printf("%-10s %d locks: %.2f %% of one core (probe included), %.0f commands a round, least remaining lease %v of 30s\n",
			g, n, 100*spent.Seconds()/time.Since(start).Seconds(), (renewals(rdb)-calls-120)/6, worst)
		check(c.Close())
	}
}

func renewals(rdb *redis.Client) (calls float64) {
	info, err := rdb.Info(ctx, "commandstats").Result()
	check(err)
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			fmt.Sscan(strings.Split(rest, ",")[0], &calls)
		}
	}
	return calls
}
