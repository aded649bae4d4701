package locktest_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-sim/holdfast/locktest"
)

// patient is a lock whose Redis client waits for an answer for longer than others do.
type patient struct{ claimed }

const patience = 25 * time.Second

func (patient) AnswerTimeout() time.Duration { return patience }

func (p patients) Close() error { return p.rdb.Close() }

type patients struct {
	*registry
	says bool
}

func (p patients) Lock(name, owner string) locktest.Lock {
	l := claimed{&registered{p.registry, name, owner}}
	if p.says {
		return patient{l}
	}
	return l
}

// A lock whose client waits longer for an answer says for how long, and is not accused of the time that this takes. One that does not say so is.
func TestALockMayBePatient(t *testing.T) {
	for _, says := range []bool{true, false} {
		stories, err := locktest.Accused(t, func(e locktest.Env) (locktest.Client, error) {
			rdb := redis.NewClient(&redis.Options{ReadTimeout: patience, WriteTimeout: patience, ContextTimeoutEnabled: false, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
				Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.Dial(ctx) }})
			r := &registry{rdb: rdb, id: e.ID, lease: e.WatchdogTimeout, owner: map[string]string{}, holds: map[string]int{}}
			return patients{r, says}, nil
		}, locktest.Drawn(60))
		if err != nil || (len(stories) == 0) != says {
			t.Errorf("of one that says so (%t): %v %v", says, stories, err)
		}
	}
}
