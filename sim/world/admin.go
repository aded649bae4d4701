package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// adminTime bounds what the world itself asks of a server.
const adminTime = 10 * time.Second

// admin is the world's own client of a server that is a process of its own.
type admin struct {
	*redis.Client
	timeOf func(ms int64) time.Duration        // of the run, of a time of the server's clock
	real   func(d time.Duration) time.Duration // of the server's clock, of one of the plan
	part   string                              // of the names of the run's keys, on a server that stays; "": all keys are the run's
}

// adminOf is the world's own client of a server.
func adminOf(o *redis.Options) *redis.Client {
	own := *o
	own.MaxRetries, own.PoolSize, own.DisableIdentity = 2, 1, true
	own.MaintNotificationsConfig = noMaintenanceNotices()
	return redis.NewClient(&own)
}

func (a *admin) do(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	words := make([]any, len(args))
	for i, word := range args {
		words[i] = word
	}
	answer, err := a.Client.Do(ctx, words...).Result()
	if err != nil {
		return "", err
	}
	return "+" + fmt.Sprint(answer) + "\r\n", nil
}

// readKey reads a key at one moment.
var readKey = redis.NewScript(`
local kind = redis.call('type', KEYS[1]).ok
local at = redis.call('pexpiretime', KEYS[1])
if kind == 'hash' then
  return {kind, at, redis.call('hgetall', KEYS[1])}
elseif kind == 'string' then
  return {kind, at, {redis.call('get', KEYS[1])}}
elseif kind == 'list' then
  return {kind, at, redis.call('lrange', KEYS[1], 0, -1)}
elseif kind == 'zset' then
  return {kind, at, redis.call('zrange', KEYS[1], 0, -1, 'withscores')}
end
return {kind, at, {}}`)

func (a *admin) read(key string) (value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	answer, err := readKey.Run(ctx, a.Client, []string{key}).Slice()
	if err != nil {
		return value{}, fmt.Errorf("reading %s: %w", key, err)
	}
	v := value{key: key, kind: answer[0].(string)}
	if v.kind == "none" {
		v.kind = ""
	}
	content, _ := answer[2].([]any)
	switch v.kind {
	case "hash":
		v.fields = map[string]string{}
		for i := 0; i+1 < len(content); i += 2 {
			v.fields[content[i].(string)] = content[i+1].(string)
		}
	case "string":
		v.text = content[0].(string)
	case "list":
		for _, item := range content {
			v.items = append(v.items, item.(string))
		}
	case "zset":
		v.scores = map[string]float64{}
		for i := 0; i+1 < len(content); i += 2 {
			if v.scores[content[i].(string)], err = strconv.ParseFloat(content[i+1].(string), 64); err != nil {
				return value{}, fmt.Errorf("reading %s: %w", key, err)
			}
		}
	}
	if at := answer[1].(int64); at > 0 {
		v.deadline = max(a.timeOf(at+1), 1) // a key is there to the end of its last millisecond
	}
	return v, nil
}

func (a *admin) stored() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	var all []string
	keys := a.Client.Scan(ctx, 0, "*"+a.part+"*", 1000).Iterator()
	for keys.Next(ctx) {
		all = append(all, keys.Val())
	}
	slices.Sort(all)
	return slices.Compact(all), keys.Err()
}

// moveKey brings a key's deadline forward by ARGV[1] ms.
var moveKey = redis.NewScript(`
local at = redis.call('pexpiretime', KEYS[1])
if at > 0 then redis.call('pexpireat', KEYS[1], at - tonumber(ARGV[1])) end
return at`)

// jump moves the deadlines of the keys given: no process can be handed another clock without
// privileges, and to those keys it is the same.
func (a *admin) jump(by time.Duration, keys []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTime)
	defer cancel()
	for _, key := range keys {
		if err := moveKey.Run(ctx, a.Client, []string{key}, a.real(by).Milliseconds()).Err(); err != nil {
			return err
		}
	}
	return nil
}
