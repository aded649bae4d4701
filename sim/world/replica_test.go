package world

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// A replica that takes over has keys of every kind that a lock may be kept in.
func TestAReplicaHasKeysOfAllKinds(t *testing.T) {
	v, err := (&World{}).newVirtual(plan.Server{Replicas: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	v.now = func() time.Duration { return time.Second }
	var before []value
	for _, command := range [][]string{{"SET", "a", "x"}, {"HSET", "b", "f", "1"}, {"RPUSH", "c", "y", "x"}, {"SADD", "d", "x"}, {"ZADD", "e", "1.5", "x"}} {
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
	if _, err := v.do("XADD", "f", "1-1", "k", "v"); err != nil {
		t.Fatal(err)
	}
	if v.written(); v.promote(1) == nil {
		t.Error("a stream was forgotten in silence")
	}
}
