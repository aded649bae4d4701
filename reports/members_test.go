package reports

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// quorum is a run in which c1 takes three servers of five, for 8 s, and the fifth is down.
func quorum() *history.History {
	h := &history.History{
		Header: history.Header{Version: history.Version, World: "sim", Groups: []history.Group{{Name: "orders", Kind: history.Red,
			Members: []string{"l", "l", "l", "l", "l"}, Servers: []string{"s1", "s2", "s3", "s4", "s5"}}}},
		Ops:    []history.Op{{ID: 1, Client: "c1", Owner: "c1:1", Lock: "orders", Kind: history.Lock, Call: sec(1), Return: sec(2), Outcome: history.Acquired}},
		Faults: []history.Fault{{Kind: "crash-server", Effects: []history.Effect{history.ServerDown}, Server: "s5", From: sec(0.5), To: sec(3)}},
		End:    &history.End{At: sec(12)},
	}
	for i, server := range []string{"s1", "s2", "s3"} {
		at := sec(1.1 + float64(i)/10)
		h.Served = append(h.Served, history.Served{At: at, Sent: sec(1), Got: at + sec(0.1), Server: server, Client: "c1", Owner: "c1:1", Op: 1, Lock: "l",
			Step: history.StepAcquire, Before: &history.KeyState{}, After: held("c1:1", 1, at.Seconds()+8)})
	}
	return h
}

// Each server of a group has a lane, and the group one that says how many its owner holds: a belief that outlives the
// leases is drawn as one.
func TestEachServerOfAGroupHasALane(t *testing.T) {
	p := draw(quorum(), &checker.Verdict{Virtual: sec(12)})
	var names []string
	for _, l := range p.Lanes {
		names = append(names, l.Name)
	}
	if want := []string{"c1:1", "orders", "s1", "s2", "s3", "s4", "s5"}; !slices.Equal(names, want) {
		t.Fatalf("lanes %q, want %q", names, want)
	}
	type stretch struct {
		kind     string
		from, to time.Duration
		label    string
	}
	of := func(l *lane, kinds ...string) (all []stretch) {
		for _, it := range l.Items {
			if slices.Contains(kinds, it.Kind) {
				all = append(all, stretch{it.Kind, it.From, it.To, it.Label + it.Tip})
			}
		}
		return all
	}
	if got, want := of(p.Lanes[1], "quorum", "part"), []stretch{
		{"part", sec(1.1), sec(1.2), "c1:1 1/5"}, {"part", sec(1.2), sec(1.3), "c1:1 2/5"}, {"quorum", sec(1.3), sec(9.1), "c1:1 3/5"},
		{"part", sec(9.1), sec(9.2), "c1:1 2/5"}, {"part", sec(9.2), sec(9.3), "c1:1 1/5"},
	}; !slices.Equal(got, want) {
		t.Errorf("the group: %v, want %v", got, want)
	}
	if got, want := of(p.Lanes[2], "member"), []stretch{{"member", sec(1.1), sec(9.1), ""}}; !slices.Equal(got, want) {
		t.Errorf("s1: %v, want %v", got, want)
	}
	if got, want := of(p.Lanes[0], "held", "doubt"), []stretch{{"held", sec(2), sec(9.1), "holds"}, {"doubt", sec(9.1), sec(12), "believes it holds"}}; !slices.Equal(got, want) {
		t.Errorf("the owner: %v, want %v", got, want)
	}
	for _, l := range p.Lanes {
		if struck := len(of(l, "down")) > 0; struck != (l.Name == "s5") {
			t.Errorf("the fault of s5 is in the lane of %s: %v", l.Name, struck)
		}
	}
	for _, m := range p.Messages {
		if l := p.Lanes[m.Server]; !slices.Contains([]string{"s1", "s2", "s3"}, l.Name) {
			t.Errorf("a command goes to the lane of %s", l.Name)
		}
	}
	if len(p.Messages) != 3 {
		t.Errorf("%d commands", len(p.Messages))
	}
}

// A renewal makes a member's time longer, and what the server saw before a command counts.
func TestAMemberIsFollowed(t *testing.T) {
	h := quorum()
	m := member{"s1", "l"}
	h.Served = append(h.Served,
		history.Served{At: sec(5), Server: "s1", Lock: "l", Step: history.StepRenew, After: held("c1:1", 1, 13)},
		history.Served{At: sec(6), Server: "s1", Lock: "l", Step: history.StepAcquire, Before: &history.KeyState{}, After: held("c2:1", 1, 7)},
		history.Served{At: sec(6), Server: "s2", Lock: "l", Step: history.StepRelease, After: &history.KeyState{}})
	var got []string
	for _, s := range memberSegments(h, m, sec(12)) {
		got = append(got, s.from.String()+" "+keyText(history.KeyState{Holdings: s.state.Holdings}, 0))
	}
	if want := []string{"0s free", "1.1s c1:1 ×1, no expiry", "5s c1:1 ×1, no expiry", "6s c2:1 ×1, no expiry", "7s free"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if key := memberSegments(h, member{"s5", "l"}, sec(12)); key != nil {
		t.Errorf("a server that was not heard of: %v", key)
	}
}

// What became of a server is in the lanes of its locks: when it was down, and when a replica took its place. Its clients
// are struck, too.
func TestLanesShowWhatBecameOfTheirServer(t *testing.T) {
	h, v := watchdogDeath()
	for effect, want := range map[history.Effect]string{
		history.ServerDown:   "down down on the server",
		history.ServerForgot: "promoted replica promoted on the master",
		history.ServerSlow:   "fault  on the server", // it is there, and the same
	} {
		h.Faults = []history.Fault{{Kind: "x", Effects: []history.Effect{effect}, From: sec(5), To: sec(6)}}
		for i, l := range draw(h, v).Lanes {
			got := fmt.Sprint(l.Items[0].Kind, " ", l.Items[0].Label, " ", l.Sub)
			if l.Kind == "lock" && got != want || l.Kind != "lock" && (l.Items[0].Kind != "fault" || (l.Items[0].Label == "x") != (i == 0)) {
				t.Errorf("%s: lane %s %q has %q, want %q", effect, l.Kind, l.Name, got, want)
			}
		}
	}
}

// The steps of a group's members are folded into the call that they are parts of; the log names the server of each.
func TestTheStepsOfMembersAreFoldedIntoTheirCall(t *testing.T) {
	h := quorum()
	h.Ops = append(h.Ops, history.Op{ID: 2, Client: "c1", Owner: "c1:1", Lock: "alone", Kind: history.Lock, Call: sec(3), Return: sec(4), Outcome: history.Acquired})
	h.Served = append(h.Served,
		history.Served{At: sec(3.5), Sent: sec(3), Server: "s10", Client: "c1", Owner: "c1:1", Op: 1, Lock: "l", Step: history.StepRelease, Reply: "1"},
		history.Served{At: sec(3.6), Sent: sec(3), Got: sec(3.7), Server: "s1", Client: "c1", Op: 1, Step: "session", Text: "hello 3"},
		history.Served{At: sec(3.8), Sent: sec(3), Got: sec(3.9), Server: "s1", Client: "c1", Owner: "c1:1", Op: 2, Lock: "alone", Step: history.StepAcquire})
	p := newPage(h, &checker.Verdict{Virtual: sec(12)}, HTMLOptions{})
	var got []string
	for _, op := range p.Ops {
		got = append(got, fmt.Sprintf("%d %d %s", op.ID, len(op.Steps), op.Servers))
	}
	if want := []string{"1 4 s1, s2, s3, s10", "2 0 "}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if last := p.Ops[0].Steps[3]; last != (stepView{"3.500 s", "s10", "release", "1", true}) {
		t.Errorf("the last step: %+v", last)
	}
	if !p.Servers || p.Log[3].Server != "s10" {
		t.Errorf("the log does not name its servers: %v, %+v", p.Servers, p.Log[3])
	}
	h.Served = h.Served[:1]
	if p := newPage(h, &checker.Verdict{Virtual: sec(12)}, HTMLOptions{}); p.Servers {
		t.Error("the log of one server names it")
	}
}
