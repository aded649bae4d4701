package network_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/sim/network"
)

func TestAPartitionHoldsOneDirectionAndHealsInOrder(t *testing.T) {
	tests := []struct {
		name    string
		blocked network.Direction
	}{{"requests", network.ToServer}, {"replies", network.ToClient}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				c, s := r.connect("c1")
				other, otherServer := r.connect("c2")
				far := map[network.Direction]net.Conn{network.ToServer: s, network.ToClient: c}
				write(t, c, command("BEFORE")) // on its way when the partition begins: held as well
				write(t, s, "+before\r\n")
				r.collect()
				r.net.Block("c1", tt.blocked)
				write(t, c, command("WITHIN"))
				write(t, s, "+within\r\n")
				write(t, other, command("OTHER"))
				r.settle()
				if got := received(t, far[tt.blocked]); got != "" {
					t.Errorf("%q came through", got)
				}
				both := map[network.Direction]string{
					network.ToServer: command("BEFORE") + command("WITHIN"), network.ToClient: "+before\r\n+within\r\n",
				}
				if got := received(t, far[tt.blocked^1]); got != both[tt.blocked^1] {
					t.Errorf("the other direction got %q", got)
				}
				if got := received(t, otherServer); got != command("OTHER") {
					t.Errorf("another client's server end got %q", got)
				}

				time.Sleep(time.Minute)
				healed := time.Now()
				if held := r.net.Heal("c1", tt.blocked, healed); held != 2 {
					t.Errorf("%d were held, want 2", held)
				}
				var last time.Time
				for _, m := range r.settle() {
					if lat := m.Due.Sub(healed); lat < leastLat || lat > mostLat+1 || !m.Due.After(last) {
						t.Errorf("%q came %v after healing", m.Data, lat)
					}
					last = m.Due
				}
				if got := received(t, far[tt.blocked]); got != both[tt.blocked] {
					t.Errorf("after healing %q", got)
				}
				r.finish(c, s, other, otherServer)
			})
		})
	}
}

func TestNestedPartitionsHealWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		r.net.Block("c1", network.ToServer)
		r.net.Block("c1", network.ToServer)
		write(t, c, command("PING"))
		r.collect()
		time.Sleep(time.Second)
		if held := r.net.Heal("c1", network.ToServer, time.Now()); held != 0 || r.net.Next() != nil {
			t.Error("the first healing let something through")
		}
		if held := r.net.Heal("c1", network.ToServer, time.Now()); held != 1 || r.net.Next() == nil {
			t.Error("the last healing let nothing through")
		}
		// One healing too many is none for the next partition.
		r.net.Heal("c1", network.ToServer, time.Now())
		r.settle()
		r.net.Block("c1", network.ToServer)
		write(t, c, command("PING"))
		if m := r.step(); m != nil {
			t.Errorf("%q came through", m.Data)
		}
		r.finish(c, s)
	})
}

func TestAPartitionShorterThanTheLatencyHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		write(t, c, command("PING"))
		due := r.collect()[0].Due
		r.net.Block("c1", network.ToServer)
		time.Sleep(leastLat / 2)
		if held := r.net.Heal("c1", network.ToServer, time.Now()); held != 0 {
			t.Errorf("%d were held", held)
		}
		if m := r.step(); m == nil || !m.Due.Equal(due) {
			t.Errorf("%+v, want it at its old time %v", m, due)
		}
		r.finish(c, s)
	})
}

func TestWhatAnAbandonedConnectionSentArrivesAfterHealing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		c, s := r.connect("c1")
		r.net.Block("c1", network.ToServer)
		write(t, c, command("DEL", "k"))
		c.Close()
		if m := r.step(); m != nil {
			t.Fatalf("%v came through", m.Kind)
		}
		r.net.Heal("c1", network.ToServer, time.Now())
		var kinds []network.Kind
		for _, m := range r.settle() {
			kinds = append(kinds, m.Kind)
		}
		if want := []network.Kind{network.Data, network.Close}; !slices.Equal(kinds, want) {
			t.Errorf("%v arrived, want %v", kinds, want)
		}
		if got := received(t, s); got != command("DEL", "k") {
			t.Errorf("the server got %q", got)
		}
		r.finish(s)
	})
}

func TestDialUnderAPartition(t *testing.T) {
	for _, dir := range []network.Direction{network.ToServer, network.ToClient} {
		t.Run(dir.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				r.net.Block("c1", dir)
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := r.net.Dial(ctx, "c1")
					failed <- err
				}()
				lasting := make(chan net.Conn, 1)
				go func() {
					c, err := r.net.Dial(context.Background(), "c1")
					if err != nil {
						t.Error(err)
					}
					lasting <- c
				}()
				r.settle()
				if err := <-failed; !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				if r.settle(); len(lasting) != 0 {
					t.Fatal("a dial came through a partition")
				}
				r.net.Heal("c1", dir, time.Now())
				r.settle()
				if len(lasting) != 1 {
					t.Fatal("the dial did not come through after healing")
				}
				// The server accepted the abandoned dial too, and learns of its close.
				c := <-lasting
				if len(r.accepted) != 2 {
					t.Fatalf("%d accepted", len(r.accepted))
				}
				r.finish(append(r.accepted, c)...)
				if n := r.net.Links(); n != 0 {
					t.Errorf("%d links are left", n)
				}
			})
		})
	}
}

func TestHealAllEndsEveryPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		var ends []net.Conn
		for _, name := range []string{"c1", "c2"} {
			c, s := r.connect(name)
			ends = append(ends, c, s)
			r.net.Block(name, network.ToServer)
			r.net.Block(name, network.ToServer)
			r.net.Block(name, network.ToClient)
			write(t, c, command("PING"))
			write(t, s, "+OK\r\n")
		}
		r.net.HealAll(time.Now())
		if got := len(r.settle()); got != 4 {
			t.Errorf("%d messages came through, want 4", got)
		}
		r.finish(ends...)
	})
}
