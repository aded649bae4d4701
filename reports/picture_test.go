package reports

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// spans lists the items of one kind in a lane.
func spans(l *lane, kinds ...string) [][2]time.Duration {
	var got [][2]time.Duration
	for _, it := range l.Items {
		if slices.Contains(kinds, it.Kind) {
			got = append(got, [2]time.Duration{it.From, it.To})
		}
	}
	return got
}

func TestPictureOfWatchdogDeath(t *testing.T) {
	h, v := watchdogDeath()
	p := draw(h, v)
	if len(p.Lanes) != 3 {
		t.Fatalf("%d lanes, want c1:1, c2:1 and the lock", len(p.Lanes))
	}
	c1, c2, lock := p.Lanes[0], p.Lanes[1], p.Lanes[2]
	for _, c := range []struct {
		what string
		got  [][2]time.Duration
		want [][2]time.Duration
	}{
		{"c1 holds", spans(c1, "held"), [][2]time.Duration{{sec(0.413), sec(30.410)}}},
		{"c1 only believes so", spans(c1, "doubt"), [][2]time.Duration{{sec(30.410), sec(45.400)}}},
		{"c1's unlock is refused", spans(c1, "refused"), [][2]time.Duration{{sec(45.408), sec(45.408)}}},
		{"c1's watchdog is paused", spans(c1, "fault"), [][2]time.Duration{{sec(5), sec(75.4)}}},
		{"c2 is not struck", spans(c2, "fault", "strike"), nil},
		{"c2 waits", spans(c2, "wait"), [][2]time.Duration{{sec(2.001), sec(30.418)}}},
		{"c2 holds", spans(c2, "held", "doubt"), [][2]time.Duration{{sec(30.418), sec(60.5)}}},
		{"the lock's owners", spans(lock, "owns"), [][2]time.Duration{{sec(0.410), sec(30.410)}, {sec(30.415), sec(60.503)}}},
		{"the lock's TTL", spans(lock, "ramp"), [][2]time.Duration{{sec(0.410), sec(30.410)}, {sec(30.415), sec(40.421)},
			{sec(40.421), sec(50.425)}, {sec(50.425), sec(60.431)}, {sec(60.431), sec(60.503)}}},
		{"renewals", spans(lock, "renew"), [][2]time.Duration{{sec(40.421), sec(40.421)}, {sec(50.425), sec(50.425)}, {sec(60.431), sec(60.431)}}},
		{"the key expires", spans(lock, "expire"), [][2]time.Duration{{sec(30.410), sec(30.410)}}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	ramp := lock.Items[slices.IndexFunc(lock.Items, func(it item) bool { return it.Kind == "ramp" })]
	if lock.ramp(ramp, ramp.From) != 1 || lock.ramp(ramp, ramp.To) != 0 || lock.ramp(ramp, sec(15.410)) != 0.5 {
		t.Errorf("the ramp does not run from 1 to 0: %+v", ramp)
	}
}

// Where nobody can read in a key who holds the lock, no belief is doubted because of it.
func TestPictureOfAKeyThatNobodyCanRead(t *testing.T) {
	h, v := watchdogDeath()
	h.Header.Layout.Unknown = "its value changes while he holds it"
	p := draw(h, v)
	c1, lock := p.Lanes[0], p.Lanes[2]
	if got, want := spans(c1, "held"), [][2]time.Duration{{sec(0.413), sec(45.400)}}; !slices.Equal(got, want) || len(spans(c1, "doubt")) > 0 {
		t.Errorf("c1 holds %v, and in doubt %v; want %v", got, spans(c1, "doubt"), want)
	}
	if len(spans(lock, "ramp")) == 0 || lock.Sub != "not read: whose it is" {
		t.Errorf("the key's lane is %q, with %v", lock.Sub, spans(lock, "ramp"))
	}
}

// TestPictureAgreesWithCheckers holds the picture to the checkers' idea of a belief: what is drawn
// as two bars at once must be what exclusion calls an overlap.
func TestPictureAgreesWithCheckers(t *testing.T) {
	for name, sample := range map[string]func() (*history.History, *checker.Verdict){
		"watchdog-death": watchdogDeath, "busy": busy, "quiet": func() (*history.History, *checker.Verdict) { return quiet(40) },
	} {
		t.Run(name, func(t *testing.T) {
			h, v := sample()
			var want [][2]time.Duration
			for _, x := range checker.Judge(context.Background(), h, checker.Options{}).Result(contract.Exclusion).Violations {
				want = append(want, [2]time.Duration{x.From, x.To})
			}
			var got [][2]time.Duration
			lanes := draw(h, v).Lanes
			for i, a := range lanes {
				for _, b := range lanes[i+1:] {
					if a.Kind != "owner" || b.Kind != "owner" || a.lock != b.lock {
						continue
					}
					for _, x := range merged(spans(a, "held", "doubt")) {
						for _, y := range merged(spans(b, "held", "doubt")) {
							if from, to := max(x[0], y[0]), min(x[1], y[1]); from < to {
								got = append(got, [2]time.Duration{from, to})
							}
						}
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("drawn overlaps %v, judged %v", got, want)
			}
		})
	}
}

// merged joins stretches that touch.
func merged(spans [][2]time.Duration) [][2]time.Duration {
	var out [][2]time.Duration
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1][1] >= s[0] {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}

func TestBeliefsFollowWhatTheOwnerWasTold(t *testing.T) {
	const owner, lock = "c1:1", "l"
	acquire := func(at float64) history.Op {
		return history.Op{Client: "c1", Owner: owner, Lock: lock, Kind: history.Lock, Call: sec(at - 0.1), Return: sec(at), Outcome: history.Acquired}
	}
	unlock := func(at float64, out history.Outcome) history.Op {
		return history.Op{Client: "c1", Owner: owner, Lock: lock, Kind: history.Unlock, Call: sec(at), Return: sec(at + 0.1), Outcome: out}
	}
	refused := acquire(1)
	refused.Outcome = history.Busy
	other := acquire(1)
	other.Owner = "c1:2"
	pending := unlock(2, "")
	pending.Return = 0
	type b struct {
		from, to float64
		n        int
	}
	for _, c := range []struct {
		name   string
		ops    []history.Op
		events []history.Event
		want   []b
	}{
		{"never acquired", []history.Op{refused, other}, nil, nil},
		{"released", []history.Op{acquire(1), unlock(2, history.Released)}, nil, []b{{1, 2, 1}}},
		{"still held at the end", []history.Op{acquire(1)}, nil, []b{{1, 9, 1}}},
		{"re-entered", []history.Op{acquire(1), acquire(2), unlock(3, history.Decremented), unlock(4, history.Released)}, nil, []b{{1, 2, 1}, {2, 3.1, 2}, {3.1, 4, 1}}},
		{"refused", []history.Op{acquire(1), unlock(2, history.NotHeld)}, nil, []b{{1, 2, 1}}},
		{"refused at two", []history.Op{acquire(1), acquire(2), unlock(3, history.NotHeld)}, nil, []b{{1, 2, 1}, {2, 3.1, 2}}},
		{"unlock never returned", []history.Op{acquire(1), pending}, nil, []b{{1, 2, 1}}},
		{"told that it is lost", []history.Op{acquire(1), unlock(5, history.NotHeld)}, []history.Event{{At: sec(3), Kind: history.Lost, Owner: owner, Lock: lock}}, []b{{1, 3, 1}}},
		{"another was told", []history.Op{acquire(1), unlock(5, history.Released)}, []history.Event{{At: sec(3), Kind: history.Lost, Owner: "c2:1", Lock: lock}}, []b{{1, 5, 1}}},
		{"died", []history.Op{acquire(1)}, []history.Event{{At: sec(3), Kind: history.Died, Client: "c1"}}, []b{{1, 3, 1}}},
		{"acquired twice", []history.Op{acquire(1), unlock(2, history.Released), acquire(3), unlock(4, history.Released)}, nil, []b{{1, 2, 1}, {3, 4, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []b
			for _, x := range beliefs(&history.History{Ops: c.ops, Events: c.events}, part{"c1", owner, lock}, sec(9)) {
				got = append(got, b{x.from.Seconds(), x.to.Seconds(), x.n})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestKeyIsFollowedThroughTheServerLog(t *testing.T) {
	const lock = "l"
	serve := func(at float64, before, after *history.KeyState) history.Served {
		return history.Served{At: sec(at), Lock: lock, Before: before, After: after}
	}
	free := &history.KeyState{}
	for _, c := range []struct {
		name   string
		served []history.Served
		events []history.Event
		want   []segment
	}{
		{"nothing recorded", []history.Served{serve(1, nil, nil)}, []history.Event{{At: sec(2), Kind: history.Expire, Lock: lock}}, nil},
		{"taken, renewed and freed", []history.Served{serve(1, free, held("a", 1, 4)), serve(2, nil, held("a", 1, 5)), serve(3, nil, free)}, nil,
			[]segment{{0, sec(1), *free}, {sec(1), sec(2), *held("a", 1, 4)}, {sec(2), sec(3), *held("a", 1, 5)}, {sec(3), sec(9), *free}}},
		{"a refused attempt changes nothing", []history.Served{serve(1, free, held("a", 1, 8)), serve(2, held("a", 1, 8), held("a", 1, 8)), serve(3, nil, free)}, nil,
			[]segment{{0, sec(1), *free}, {sec(1), sec(3), *held("a", 1, 8)}, {sec(3), sec(9), *free}}},
		{"expires after the last command", []history.Served{serve(1, free, held("a", 1, 4))}, []history.Event{{At: sec(4), Kind: history.Expire, Lock: lock}},
			[]segment{{0, sec(1), *free}, {sec(1), sec(4), *held("a", 1, 4)}, {sec(4), sec(9), history.KeyState{}}}},
		{"another lock's expiry is not ours", []history.Served{serve(1, free, held("a", 1, 8))}, []history.Event{{At: sec(4), Kind: history.Expire, Lock: "m"}},
			[]segment{{0, sec(1), *free}, {sec(1), sec(9), *held("a", 1, 8)}}},
		{"expires and is taken at once", []history.Served{serve(1, free, held("a", 1, 4)), serve(4, free, held("b", 1, 7))}, []history.Event{{At: sec(4), Kind: history.Expire, Lock: lock}},
			[]segment{{0, sec(1), *free}, {sec(1), sec(4), *held("a", 1, 4)}, {sec(4), sec(9), *held("b", 1, 7)}}},
		{"vanishes unseen, as by a restart", []history.Served{serve(1, free, held("a", 1, 8)), serve(3, free, free)}, nil,
			[]segment{{0, sec(1), *free}, {sec(1), sec(3), *held("a", 1, 8)}, {sec(3), sec(9), *free}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := keySegments(&history.History{Served: c.served, Events: c.events}, lock, sec(9))
			if !slices.EqualFunc(got, c.want, func(a, b segment) bool {
				return a.from == b.from && a.to == b.to && sameState(a.state, b.state)
			}) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestEveryKindDrawnHasAShapeAndALook(t *testing.T) {
	style, err := web.ReadFile("web/style.css")
	if err != nil {
		t.Fatal(err)
	}
	for kind, s := range shapes {
		if s.Says == "" || !slices.Contains([]string{"bar", "ramp", "tick", "sym"}, s.Form) {
			t.Errorf("%s: %+v", kind, s)
		}
		if s.Form != "sym" && !containsWord(string(style), ".k-"+kind) {
			t.Errorf("the style sheet does not know .k-%s", kind)
		}
	}
	h, v := busy()
	for _, l := range draw(h, v).Lanes {
		for _, it := range l.Items {
			if _, ok := shapes[it.Kind]; !ok {
				t.Errorf("an item of kind %q, which nobody can draw", it.Kind)
			}
			if it.To < it.From {
				t.Errorf("an item that ends before it begins: %+v", it)
			}
		}
	}
}

func TestManyOwnersGetLowLanes(t *testing.T) {
	var h history.History
	for i := range 50 {
		owner := string(rune('A' + i))
		h.Ops = append(h.Ops, history.Op{ID: int64(i), Client: owner, Owner: owner, Lock: "l", Kind: history.Lock, Call: sec(1), Return: sec(2), Outcome: history.Busy})
	}
	p := draw(&h, &checker.Verdict{})
	if p.Height > 50*(lowHeight+laneGap)+300 {
		t.Errorf("50 owners make a picture of %d pixels", p.Height)
	}
	for i, l := range p.Lanes[1:] {
		if before := p.Lanes[i]; l.Y < before.Y+before.H {
			t.Fatalf("lane %s lies on lane %s", l.Name, before.Name)
		}
	}
}

func TestAxisStepIsRound(t *testing.T) {
	for _, c := range []struct {
		span, want time.Duration
		text       string
	}{
		{75 * time.Second, 10 * time.Second, "10 s"},
		{15 * time.Second, 2 * time.Second, "2 s"},
		{40 * time.Millisecond, 5 * time.Millisecond, "0.005 s"},
		{time.Hour, 500 * time.Second, "500 s"},
		{1, 1, "0.000000001 s"},
	} {
		step := axisStep(c.span, 8)
		if step != c.want || axisText(step, step) != c.text {
			t.Errorf("axisStep(%v) = %v, %q; want %v, %q", c.span, step, axisText(step, step), c.want, c.text)
		}
	}
}

// A renewal whose reply never came is over for its owner, who goes on:
//
//	c1:1 lock=====believes======...
//	renew       ?
func TestARenewalWithoutAReplyIsAnInstant(t *testing.T) {
	h, v := watchdogDeath()
	h.Ops = append(h.Ops, history.Op{ID: 99, Client: "c1", Owner: "c1:1", Lock: lockName, Kind: history.Renew, Call: sec(10.4)})
	found := false
	for _, it := range draw(h, v).Lanes[0].Items {
		if it.Op != 99 {
			continue
		}
		found = true
		if it.Kind != "unknown" || it.From != sec(10.4) || it.To != it.From {
			t.Errorf("drawn as %+v", it)
		}
	}
	if !found {
		t.Error("not drawn")
	}
}
