package checker

import (
	"context"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
)

// How much evidence is worth: of 120 histories with one wrong answer (3,000 operations, 4 clients,
// 5 % lost replies) how many are found out. Where it is open for ever whether a call took effect,
// nearly everything can be explained: of the same histories none is found.
func TestDetection(t *testing.T) {
	for _, tt := range []struct {
		name    string
		traffic traffic
		least   int
	}{
		{"the server's log", traffic{server: true}, 120},
		{"windows", traffic{windows: true}, 117},
	} {
		found, undecided := 0, 0
		for seed := range uint64(60) {
			for _, acquire := range []bool{true, false} {
				tr := tt.traffic
				tr.seed, tr.ops, tr.clients, tr.unknown = seed, 3000, 4, 0.05
				h := tr.make()
				if flipAt(h, len(h.Ops)*7/10, acquire) == 0 {
					t.Fatal("nothing to flip")
				}
				o := Options{Budget: time.Hour, Memory: 1 << 20} // which, unlike time, is the same on every machine
				f, l := lockOf(h, o)
				if tr.server {
					l.acts = actsOf(f, l, indexServed(h))
					if v, _ := replay(f, l); v.all > 0 {
						found++
					}
					continue
				}
				s, _ := linear.Reduce(f.problem(l, linear.AsCalled)).Search(context.Background(), o.limits())
				switch s.Run().Result {
				case porcupine.Illegal:
					found++
				case porcupine.Unknown:
					undecided++
				}
			}
		}
		t.Logf("%s: %d of 120 found, %d undecided", tt.name, found, undecided)
		if found < tt.least {
			t.Errorf("%s: %d of 120 found, want at least %d", tt.name, found, tt.least)
		}
	}
}

// Without a lie the same histories are accepted.
func TestTrafficIsLegal(t *testing.T) {
	for seed := range uint64(30) {
		for _, tr := range []traffic{{server: true}, {windows: true}, {}, {waits: true}, {waits: true, windows: true}, {waits: true, server: true}} {
			tr.seed, tr.ops, tr.clients, tr.unknown = seed, 2000, 6, 0.04
			v := Judge(context.Background(), tr.make(), Options{})
			if r := v.Result(contract.Object); r.Status != Holds || len(v.Refused) > 0 {
				t.Fatalf("%+v: %s: %s %v", tr, r.Status, r.Summary, v.Refused)
			}
		}
	}
}
