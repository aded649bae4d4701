package plan

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// crowd is a plan of many clients and steps, in which two things matter: that c3 works for at least
// 40 s, and that a watchdog of c3 is paused before 9 s.
func crowd() (*Plan, func(*Plan) bool) {
	p := &Plan{Version: Version}
	for _, name := range []string{"c1", "c2", "c3", "c4"} {
		th := Thread{ID: 1, Start: Duration(time.Second)}
		for range 10 {
			th.Steps = append(th.Steps, Step{Do: Lock, Lock: "a"}, Step{Do: Work, Lock: "a", For: Duration(50 * time.Second)}, Step{Do: Unlock, Lock: "a"})
		}
		p.Clients = append(p.Clients, Client{Name: name, Threads: []Thread{th, {ID: 2, Steps: th.Steps}}})
		p.Faults = append(p.Faults, Fault{Kind: "pause-watchdog", Client: name, From: Duration(7 * time.Second)})
	}
	return p, func(p *Plan) bool {
		i := slices.IndexFunc(p.Clients, func(c Client) bool { return c.Name == "c3" })
		if i < 0 || len(p.Clients[i].Threads) == 0 {
			return false
		}
		works := slices.ContainsFunc(p.Clients[i].Threads[0].Steps, func(s Step) bool {
			return s.Do == Work && s.For >= Duration(40*time.Second)
		})
		paused := slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Client == "c3" && f.From < Duration(9*time.Second) })
		return works && paused
	}
}

func TestShrinkLeavesOnlyWhatMatters(t *testing.T) {
	p, still := crowd()
	before := p.Clone()
	got, tried := Shrink(p, 0, still)
	want := &Plan{Version: Version,
		Clients: []Client{{Name: "c3", Threads: []Thread{{ID: 1, Steps: []Step{{Do: Work, Lock: "a", For: Duration(50 * time.Second)}}}}}},
		Faults:  []Fault{{Kind: "pause-watchdog", Client: "c3"}},
	}
	if !reflect.DeepEqual(got.JSON(), want.JSON()) {
		t.Errorf("after %d plans: %s", tried, got.JSON())
	}
	if !reflect.DeepEqual(p, before) {
		t.Error("the plan that was given has changed")
	}
	again, triedAgain := Shrink(p, 0, still)
	if !reflect.DeepEqual(again.JSON(), got.JSON()) || triedAgain != tried {
		t.Errorf("the second time, after %d plans: %s", triedAgain, again.JSON())
	}
}

func TestShrinkKeepsAPlanThatIsSmallest(t *testing.T) {
	p, still := crowd()
	smallest, _ := Shrink(p, 0, still)
	got, _ := Shrink(smallest, 0, still)
	if !reflect.DeepEqual(got.JSON(), smallest.JSON()) {
		t.Errorf("a smaller one still: %s", got.JSON())
	}
}

// What a budget ends keeps what it has: each try more may make it smaller, none larger, and enough of them the smallest.
func TestShrinkKeepsToItsTries(t *testing.T) {
	p, still := crowd()
	smallest, all := Shrink(p, 0, still)
	before := len(p.JSON())
	for tries := 1; tries <= all; tries++ {
		got, tried := Shrink(p, tries, still)
		size := len(got.JSON())
		if tried != tries || !still(got) || size > before {
			t.Fatalf("%d tries: tried %d, and %d bytes after %d", tries, tried, size, before)
		}
		before = size
	}
	if before != len(smallest.JSON()) {
		t.Errorf("%d bytes are left, not the smallest plan's %d", before, len(smallest.JSON()))
	}
}
