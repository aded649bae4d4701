package checker

import (
	"context"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// The verdicts that the catalogue expects of a faithful lock, on histories as such a lock makes
// them. What the simulated runs give is tested where they are run.

// c1 |--hold--|  c2 |--hold--|  c1 |--hold twice--|
func baseline() *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.take("c2:1", at(0.1), at(25.005), 0)
	s.read("c1:1", at(0.2), 0)
	s.write("c1:1", at(24), 1)
	s.renewals("c1:1", at(0.002), at(25))
	s.unlock("c1:1", at(25), history.Released)
	s.read("c2:1", at(25.1), 1)
	s.write("c2:1", at(25.2), 2)
	s.unlock("c2:1", at(26), history.Released)
	s.take("c1:1", at(27), at(27.002), 0)
	s.take("c1:1", at(28), at(28.002), 0)
	s.unlock("c1:1", at(29), history.Decremented)
	s.unlock("c1:1", at(30), history.Released)
	return s
}

// lostLease is c1 holding without renewal from 0.412 s while c2 waits; c1 works on to 45 s.
func lostLease() *script {
	s := newScript()
	s.take("c1:1", at(0.410), at(0.413), 0) // executed at 0.412
	s.take("c2:1", at(1), at(30.416), 0)
	s.read("c1:1", at(0.5), 0)
	s.event(history.Expire, at(30.412))
	s.read("c2:1", at(30.5), 0)
	s.write("c2:1", at(31), 1)
	s.write("c1:1", at(44), 1)
	s.unlock("c1:1", at(45), history.NotHeld)
	s.renewals("c2:1", at(30.415), at(50))
	s.unlock("c2:1", at(50), history.Released)
	return s
}

func watchdogDeath() *script {
	s := lostLease()
	s.fault("pause-watchdog", "c1", at(5), 0)
	return s
}

func watchdogPauseShort() *script {
	s := newScript()
	s.take("c1:1", at(0.410), at(0.413), 0)
	s.fault("pause-watchdog", "c1", at(5), at(20))
	s.renew("c1:1", at(20), history.Renewed)
	s.renew("c1:1", at(30), history.Renewed)
	s.unlock("c1:1", at(35), history.Released)
	s.take("c2:1", at(1), at(35.005), 0)
	s.unlock("c2:1", at(36), history.Released)
	return s
}

func partitionHolder() *script {
	s := lostLease()
	s.fault("partition", "c1", at(5), at(40)).Step = "both"
	return s
}

func keyExpiry() *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0) // its lease would last until 30.001
	s.take("c2:1", at(1), at(30.005), 0)
	s.read("c1:1", at(0.5), 0)
	s.fault("expire-key", "", at(4), 0).Lock = job
	s.event(history.Expire, at(4))
	s.renew("c1:1", at(10), history.NotHeld)
	s.read("c2:1", at(30.5), 0)
	s.write("c2:1", at(31), 1)
	s.write("c1:1", at(32), 1)
	s.unlock("c1:1", at(33), history.NotHeld)
	s.unlock("c2:1", at(35), history.Released)
	return s
}

func oldOwnerUnlock() *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 5*sec)
	s.read("c1:1", at(0.5), 0)
	s.take("c2:1", at(1), at(5.005), 0)
	s.event(history.Expire, at(5.001))
	s.read("c2:1", at(5.5), 0)
	s.write("c2:1", at(6), 1)
	s.write("c1:1", at(6.5), 1)
	s.unlock("c1:1", at(7), history.NotHeld)
	s.unlock("c2:1", at(9), history.Released)
	return s
}

func nonOwnerUnlock() *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.unlock("c1:2", at(1), history.NotHeld)
	s.unlock("c2:1", at(2), history.NotHeld)
	s.unlock("c1:1", at(3), history.Released)
	return s
}

func TestCatalogueVerdicts(t *testing.T) {
	tests := []struct {
		name       string
		script     *script
		broken     []contract.Guarantee
		class      contract.Class // of the first violation of exclusion, or of watchdog
		assumption bool
	}{
		{"baseline", baseline(), nil, "", false},
		{"watchdog-death", watchdogDeath(), []contract.Guarantee{contract.Exclusion, contract.Effect, contract.Watchdog}, contract.PausedHolder, true},
		{"watchdog-pause-short", watchdogPauseShort(), []contract.Guarantee{contract.Watchdog}, contract.PausedHolder, true},
		{"partition-holder", partitionHolder(), []contract.Guarantee{contract.Exclusion, contract.Effect, contract.Watchdog}, contract.CutOff, true},
		{"key-expiry", keyExpiry(), []contract.Guarantee{contract.Exclusion, contract.Effect}, contract.KeyLost, true},
		{"old-owner-unlock", oldOwnerUnlock(), []contract.Guarantee{contract.Exclusion, contract.Effect}, contract.LeaseOutlived, true},
		{"non-owner-unlock", nonOwnerUnlock(), nil, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict(t, tt.script)
			want(t, v, tt.broken...)
			// Beliefs, effects and most of the times need no server log.
			b := Judge(context.Background(), blind(tt.script.done()), Options{})
			want(t, b, tt.broken...)
			for _, g := range tt.broken {
				for _, x := range v.Result(g).Violations {
					if x.Cause.Class != tt.class || x.Ruling.Kind != Defect != tt.assumption {
						t.Errorf("%s: cause %q, assumption %v: %s", g, x.Cause.Class, x.Ruling.Kind != Defect, x.Cause.Text)
					}
				}
			}
		})
	}
}
