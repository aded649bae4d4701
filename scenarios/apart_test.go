package scenarios_test

import (
	"testing"

	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// What can occur in a plan can occur when each of its threads is a client of its own.
func TestDrawnPlansAreValidApart(t *testing.T) {
	for seed := range uint64(500) {
		p := scenarios.DrawnBy(seed, scenarios.Whole()).Apart()
		if err := p.Check(fault.Needs()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, c := range p.Clients {
			if len(c.Threads) > 1 {
				t.Errorf("seed %d: %s has %d threads", seed, c.Name, len(c.Threads))
			}
		}
	}
}
