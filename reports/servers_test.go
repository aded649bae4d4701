package reports

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/history"
)

// failedOver is the watchdog's death on a server with two replicas, the second of which is cut off and then becomes the master.
func failedOver() *history.History {
	h, _ := watchdogDeath()
	h.Header.Plan = json.RawMessage(`{"servers":[{"name":"s1","replicas":2}],"faults":[{"kind":"stop-replication","replica":2},{"kind":"failover","replica":2},{"kind":"restart"}]}`)
	h.Faults = []history.Fault{
		{Index: 1, Kind: "failover", Effects: []history.Effect{history.ServerForgot}, From: sec(20)},
		{Index: 0, Kind: "stop-replication", Effects: []history.Effect{history.ReplicationStopped}, From: sec(10), To: sec(15)},
		{Index: 2, Kind: "restart", Effects: []history.Effect{history.ServerDown, history.ServerForgot}, From: sec(30), To: sec(31)},
		{Index: 1, Kind: "failover", Effects: []history.Effect{history.ServerForgot}, From: sec(40)},
	}
	return h
}

// Each process of a server that has replicas has a lane: what it was when, and what befell it. Who was the master takes the place
// of the replica that becomes it.
func TestEveryReplicaHasALane(t *testing.T) {
	h := failedOver()
	_, v := watchdogDeath()
	var got []string
	for _, l := range draw(h, v).Lanes {
		if l.Kind != "server" {
			for _, it := range l.Items {
				if it.Label == "stop-replication" || strings.Contains(it.Tip, "stop-replication") {
					t.Errorf("what befell a replica alone is in the lane of %s", l.Name)
				}
			}
			continue
		}
		text := l.Name + ":"
		for _, it := range l.Items {
			text += fmt.Sprintf(" %s %.0f-%.0f", it.Kind, it.From.Seconds(), it.To.Seconds())
		}
		got = append(got, text)
	}
	end := fmt.Sprintf("%.0f", draw(h, v).End.Seconds())
	want := []string{
		"s1: master 0-20 replica 20-40 master 40-" + end + " promoted 40-40",
		"s1 replica 1: replica 0-" + end,
		"s1 replica 2: replica 0-20 master 20-40 replica 40-" + end + " fault 10-15 promoted 20-20 down 30-31",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, plan := range []string{"", "[]", `{"servers":[{"name":"s1"}]}`} {
		h.Header.Plan = json.RawMessage(plan)
		for _, l := range draw(h, v).Lanes {
			if l.Kind == "server" {
				t.Errorf("the plan %q gives %s a lane", plan, l.Name)
			}
		}
	}
}

// In a window of 1280 by 800 the lanes of five servers are all in sight, and so is the legend when the picture is.
func TestFiveServersFitAWindow(t *testing.T) {
	b := browser(t)
	h := quorum()
	_, v := watchdogDeath()
	for i := range h.Ops {
		h.Ops[i].Kind = history.Lock
	}
	op := h.Ops[0]
	op.ID, op.Client, op.Owner = 9, "c2", "c2:1"
	h.Ops = append(h.Ops, op)
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	if got := eval[string](tb, `[...document.querySelectorAll("#timeline .name:not(.sub)")].filter(n => { const r = n.getBoundingClientRect(), b = document.getElementById("timeline").getBoundingClientRect(); return r.bottom <= Math.min(innerHeight, b.bottom); }).map(n => n.firstChild.textContent).join(" ")`); !strings.HasSuffix(got, "s1 s2 s3 s4 s5") {
		t.Errorf("in sight are %s", got)
	}
	for _, box := range []string{"#timeline", "figcaption.legend"} {
		if eval[bool](tb, fmt.Sprintf(`(() => { const e = document.querySelector(%q); return e.scrollHeight > e.clientHeight + 1; })()`, box)) {
			t.Errorf("%s is cut: %s", box, eval[string](tb, fmt.Sprintf(`document.querySelector(%q).scrollHeight + " of " + document.querySelector(%q).clientHeight`, box, box)))
		}
	}
	if got := eval[string](tb, overlaps); got != "" {
		t.Errorf("words lie on each other: %s", got)
	}
	tb.quiet()
	tb = open(t, b, failedOver(), v, "", chromedp.EmulateViewport(1280, 1200))
	if got := eval[string](tb, overlaps); got != "" {
		t.Errorf("words of a failover lie on each other: %s", got)
	}
	tb.quiet()
}
