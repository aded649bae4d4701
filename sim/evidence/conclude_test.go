package evidence_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// What was stored is concluded again as it was concluded at first, and without the server log there is nothing to
// conclude from.
func TestAStoredRunIsConcludedAgain(t *testing.T) {
	for _, name := range []string{"baseline", "lost-acquire-reply", "lost-unlock-reply-reentrant", "lease-mixing", "failover-old-holder", "clock-jump", "multilock-partial",
		"multilock-unlock-partial", "redlock-restart", "shared-handle", "delayed-write", "restart-empty"} {
		sc, _ := scenarios.Find(name)
		for _, subject := range []string{"rlock-latch", "rlock-hardened", "redislock"} {
			s, _ := libraries.Find(subject)
			p, why := sc.For(1, s.Can)
			if why != "" {
				continue
			}
			h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			var file, log bytes.Buffer
			if err := history.Save(&file, h); err != nil {
				t.Fatal(err)
			}
			if err := history.SaveServed(&log, h); err != nil {
				t.Fatal(err)
			}
			stored, err := history.Load(&file, &log)
			if err != nil {
				t.Fatal(err)
			}
			again := evidence.Conclude(stored)
			for _, what := range [][2]any{{h.Ops, again.Ops}, {h.Events, again.Events}, {h.Served, again.Served}} {
				if !reflect.DeepEqual(what[0], what[1]) {
					t.Errorf("%s of %s: concluded %+v\nand again %+v", name, subject, what[0], what[1])
				}
			}
			stored.Served = nil
			for _, op := range evidence.Conclude(stored).Ops {
				if op.Kind.OnLock() && op.Evidence == history.Executed {
					t.Errorf("%s of %s: without the server log it is concluded that %+v", name, subject, op)
				}
			}
		}
	}
}
