package world

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// A replica that is told what commands name has all that its master has, whoever changed it: a command, a script that makes up
// its keys, or a transaction.
func TestAReplicaIsToldOfEveryChange(t *testing.T) {
	commands := [][]string{
		{"SET", "a", "1"}, {"SET", "b", "2", "PX", "5000"}, {"SETNX", "a", "3"}, {"DEL", "a", "b"}, {"HSET", "h", "f", "1"}, {"HDEL", "h", "f"}, {"RPUSH", "l", "x"}, {"LPOP", "l"},
		{"LSET", "l", "0", "y"}, {"LREM", "l", "0", "x"}, {"SADD", "s", "x", "y"}, {"SREM", "s", "x"},
		{"ZADD", "z", "1", "x"}, {"ZADD", "z", "2", "y"}, {"ZINCRBY", "z", "1", "x"}, {"ZREM", "z", "x"},
		{"PEXPIRE", "a", "9000"}, {"PERSIST", "a"}, {"RENAME", "a", "c"}, {"FLUSHALL"}, {"GETDEL", "b"},
		{"MULTI"}, {"EXEC"}, {"DISCARD"}, {"SELECT", "0"},
		{"EVAL", "return redis.call('incr', KEYS[1])", "1", "b"},
		{"EVAL", "local key = 'c' .. ARGV[1] return redis.call('set', key, 'x')", "0", "d"},
		{"EVAL", "local key = 'c' .. ARGV[1] redis.call('publish', 'x', 'y') return redis.call('del', key)", "0", "d"},
		{"EVAL", "math.randomseed(1) return redis.call('append', 'c' .. ARGV[1], 'z')", "0", "d"}, // miniredis runs it
	}
	rapid.Check(t, func(t *rapid.T) {
		v, err := (&World{}).newVirtual(plan.Server{Replicas: 2, Lag: plan.Duration(time.Second)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer v.close()
		now := time.Second
		v.now = func() time.Duration { return now }
		v.replicas[0].lag = 0
		var past map[string]value
		for _, command := range rapid.SliceOfN(rapid.SampledFrom(commands), 1, 30).Draw(t, "commands") {
			_, _ = v.do(command...) // some are wrong where they stand
			v.written()
			if is := v.replicas[0].keys; !same(is, all(v)) {
				t.Fatalf("after %v the replica has %+v, and its master %+v", command, is, all(v))
			}
			if now += time.Second; past != nil {
				v.replicas[1].arrived(now - time.Second)
				if is := v.replicas[1].keys; !same(is, past) {
					t.Fatalf("the replica that is behind has %+v, and not what there was, %+v", is, past)
				}
			}
			past = all(v)
		}
	})
}

// same compares keys; their times to live run on meanwhile.
func same(a, b map[string]value) bool {
	return maps.EqualFunc(a, b, func(a, b value) bool {
		lives := (a.deadline > 0) == (b.deadline > 0)
		a.deadline, b.deadline = 0, 0
		return lives && reflect.DeepEqual(a, b)
	})
}

// all are the keys of a server.
func all(v *virtual) map[string]value {
	keys := map[string]value{}
	for _, key := range v.redis.Keys() {
		one, _ := v.read(key)
		one.items, one.scores, one.fields = slices.Clone(one.items), maps.Clone(one.scores), maps.Clone(one.fields)
		keys[key] = one
	}
	return keys
}

// A replica that takes over has keys of every kind that a lock may be kept in.
func TestAReplicaHasKeysOfAllKinds(t *testing.T) {
	v, err := (&World{}).newVirtual(plan.Server{Replicas: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	v.now = func() time.Duration { return time.Second }
	var before []value
	for _, command := range [][]string{{"SET", "a", "x"}, {"HSET", "b", "f", "1"}, {"RPUSH", "c", "y", "x"}, {"SADD", "d", "x"}, {"ZADD", "e", "1.5", "x"},
		{"XADD", "f", "5-1", "k", "v"}, {"XADD", "g", "7-2", "k", "w", "l", "z"}} {
		if _, err := v.do(command...); err != nil {
			t.Fatal(err)
		}
		one, _ := v.read(command[1])
		before = append(before, one)
	}
	v.written()
	if err := v.promote(1); err != nil {
		t.Fatal(err)
	}
	for _, was := range before {
		if is, _ := v.read(was.key); !reflect.DeepEqual(is, was) {
			t.Errorf("%s was %+v and is %+v", was.key, was, is)
		}
	}
	if _, err := v.do("XGROUP", "CREATE", "f", "readers", "0"); err != nil {
		t.Fatal(err)
	}
	if v.written(); v.promote(1) == nil {
		t.Error("a group of consumers was forgotten in silence")
	}
}
