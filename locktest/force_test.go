package locktest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/locktest"
)

// forceClient is a client of the reference lock whose forced release removes the key, and tells nobody.
type forceClient struct {
	referenceClient
	rdb    redis.UniversalClient
	claims bool
}

type quietForce struct {
	reference
	rdb  redis.UniversalClient
	name string
}

// unclaimed is a lock that does not claim to tell of a forced release.
type unclaimed struct {
	locktest.Lock
	locktest.Reentrant
	locktest.Watchdog
	locktest.ForceReleaser
	locktest.LeaseKeeper
	locktest.LeaseSetter
	locktest.Idempotent
}

func (c forceClient) Lock(name, owner string) locktest.Lock {
	l := quietForce{c.referenceClient.Lock(name, owner).(reference), c.rdb, name}
	if c.claims {
		return l
	}
	return unclaimed{l, l, l, l, l, l, l}
}

// ForceRelease sends its command under another context than that of the call.
func (l quietForce) ForceRelease(context.Context) error {
	n, err := l.rdb.Del(context.Background(), l.name).Result()
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}

// forced is a plan in which an operator forces a lock free that one holds, and for which another waits.
const forced = `{"version": 1, "name": "forced-while-one-waits",
	"clients": [
		{"name": "c1", "threads": [{"id": 1, "steps": [{"do": "lock", "lock": "a"}, {"do": "sleep", "for": "40s"}, {"do": "unlock", "lock": "a"}]}]},
		{"name": "c2", "threads": [{"id": 1, "start": "1s", "steps": [{"do": "lock", "lock": "a"}, {"do": "unlock", "lock": "a"}]}]}],
	"faults": [{"kind": "force-unlock", "lock": "a", "from": "5s"}]}`

// A lock that claims to tell of a forced release wakes who waits, and tells the holder; one that makes no such claim need not.
func TestAForcedReleaseThatTellsNobody(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("testdata/locktest", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/locktest/forced-while-one-waits.json", []byte(forced), 0o666); err != nil {
		t.Fatal(err)
	}
	for claims, want := range map[bool][]contract.Guarantee{true: {contract.Exclusion, contract.Liveness}, false: nil} {
		stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
			c, err := newReference(e)
			return forceClient{c.(referenceClient), e.Redis, claims}, err
		}, locktest.Only("forced-while-one-waits"), locktest.Drawn(0))
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(stories, "\n")
		for _, g := range want {
			if !strings.Contains(all, string(g)+" in") {
				t.Errorf("no story tells that %s broke: %s", g, all)
			}
		}
		if !claims && strings.Contains(all, string(contract.FreeIsTaken)) {
			t.Errorf("it makes no such claim, and is accused: %s", all)
		}
	}
}
