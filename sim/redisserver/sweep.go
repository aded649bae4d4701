package redisserver

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Sweep removes the keys whose names contain part, and to which match says yes if it is not nil, and returns how many. Its
// error says which may stay.
func Sweep(ctx context.Context, client *redis.Client, part string, match func(key string) bool) (removed int, err error) {
	keys := client.Scan(ctx, 0, "*"+part+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if key := keys.Val(); match == nil || match(key) {
			if err = client.Del(ctx, key).Err(); err != nil {
				break
			}
			removed++
		}
	}
	if err = errors.Join(err, keys.Err()); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return removed, fmt.Errorf("keys with %s in their names may stay on the server: locks until their leases end, others until "+
			"somebody removes them, as simrun clean does (%s)", part, text)
	}
	return removed, nil
}

// ours is how names of keys of runs begin that are on a server of somebody else.
var ours = regexp.MustCompile(`holdfast:[a-z2-7]{8,10}:`)

// Clean removes what runs have left on the server, and returns how many keys of which runs. A run that is under way loses its keys as well.
func (r *Remote) Clean(ctx context.Context) (removed int, runs []string, err error) {
	client := redis.NewClient(r.RedisOptions())
	defer client.Close()
	removed, err = Sweep(ctx, client, "holdfast:", func(key string) bool {
		run := strings.TrimSuffix(ours.FindString(key), ":")
		if run != "" && !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
		return run != ""
	})
	return removed, runs, err
}
