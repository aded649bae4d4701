package network_test

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/sim/network"
)

// Whatever a command is, the network takes its stamp off, and a command in the same write without one keeps
// what it has.
func TestAStampIsTakenOffItsCommand(t *testing.T) {
	words := rapid.SliceOfN(rapid.String(), 1, 120)
	rapid.Check(t, func(rt *rapid.T) {
		bare, stamp := words.Draw(rt, "words"), rapid.String().Draw(rt, "stamp")
		sent := command(append(append([]string(nil), bare...), network.Stamp(stamp))...) + command(bare...)
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 1)
			c, s := r.connect("c1")
			cut := rapid.IntRange(0, len(sent)).Draw(rt, "cut")
			write(t, c, sent[:cut])
			all := r.collect()
			write(t, c, sent[cut:])
			all = append(all, r.collect()...)
			for i, m := range all {
				if want := []string{stamp, ""}[i]; m.Stamp != want || string(m.Data) != command(bare...) || len(m.Args) != len(bare) {
					rt.Errorf("message %d: stamp %q, %q, %q", i, m.Stamp, m.Args, m.Data)
				}
			}
			if len(all) != 2 {
				rt.Errorf("%d messages", len(all))
			}
			r.settle()
			r.finish(c, s)
		})
	})
}
