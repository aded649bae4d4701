package network_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/sim/network"
)

// What was delayed for an hour arrives after a latency, in order, and what was on its way is not touched.
func TestWhatWasDelayedArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		other, otherServer := r.connect("c2")
		write(t, c, command("SLOW")+command("NEXT"))
		r.collect()
		r.net.Postpone(r.net.Next(), time.Now().Add(time.Hour))
		write(t, other, command("OTHER"))
		r.collect()
		was := r.net.Next().Due
		now := time.Now()
		if broken := r.net.Hasten(now); len(broken) > 0 {
			t.Errorf("broke %d connections", len(broken))
		}
		if m := r.net.Next(); m.Link.Client == "c2" && m.Due != was {
			t.Errorf("a message that nobody had delayed was due at %v, and now at %v", was, m.Due)
		}
		r.settle()
		if took := time.Since(now); took > 2*mostLat {
			t.Errorf("it took %v", took)
		}
		if got := received(t, s); got != command("SLOW")+command("NEXT") {
			t.Errorf("the server got %q", got)
		}
		if got := received(t, otherServer); got != command("OTHER") {
			t.Errorf("of another client the server got %q", got)
		}
		r.finish(c, s, other, otherServer)
	})
}

// A connection that lost something delivers nothing more: it breaks, so that its ends know. What is held up by a partition
// stays so.
func TestConnectionsThatLostSomethingBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		other, otherServer := r.connect("c2")
		write(t, c, command("LOST"))
		r.collect()
		r.net.Drop(r.net.Next())
		r.net.Block("c2", network.ToServer)
		write(t, other, command("HELD"))
		r.collect()
		r.net.Tell(r.net.Hasten(time.Now()), func() {})
		if _, err := c.Write([]byte(command("MORE"))); err == nil {
			t.Error("the client can still write")
		}
		if m := r.net.Next(); m != nil {
			t.Errorf("%q is under way", m.Data)
		}
		r.net.Heal("c2", network.ToServer, time.Now())
		r.settle()
		if got := received(t, otherServer); got != command("HELD") {
			t.Errorf("of another client the server got %q", got)
		}
		r.finish(c, s, other, otherServer)
	})
}
