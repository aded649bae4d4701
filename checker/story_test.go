package checker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// lines is a story as people see it.
func lines(story []Moment) string {
	var b strings.Builder
	for _, m := range story {
		fmt.Fprintf(&b, "%s %s %s: %s\n", Stamp(m.At), m.Weight, m.Who, m.Text)
	}
	return b.String()
}

func TestStoryOfWatchdogDeath(t *testing.T) {
	want := `0.412 s plain c1:1: gets order:42 with a lease of 30 s that its watchdog renews
1.000 s plain c2:1: asks for order:42 and has to wait
5.000 s fault fault: the watchdog of c1 stops
10.412 s breaking verdict: the renewal of c1:1's lease on order:42 is due and does not come
30.412 s key server: the lease of c1:1 on order:42 ends, last set at 0.412 s; the key expires; c1:1 does not know
30.415 s key c2:1: gets order:42 with a lease of 30 s that its watchdog renews, having waited 29.415 s, while c1:1 still believes it holds it
30.416 s breaking verdict: c1:1 and c2:1 now both believe they hold order:42
40.416 s plain c2:1: renews its lease on order:42
44.000 s breaking verdict: c1:1 read 0 at 0.500 s and wrote 1 at 44.000 s; the 1 that c2:1 wrote at 31.000 s in between is lost
45.000 s breaking verdict: the overlap of c1:1 and c2:1 ends after 14.584 s
45.002 s key c1:1: wants to unlock order:42 and is refused: it does not hold it
50.001 s plain c2:1: releases order:42
`
	if got := lines(verdict(t, watchdogDeath()).Story); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// A fault that removes a key from outside may find none.
func TestAFaultThatFindsNoKeySaysSo(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	for _, when := range []float64{1, 1, 2} {
		s.fault("expire-key", "", at(when), 0).Lock = "order:42"
	}
	s.h.Faults[1].Hits, s.h.Faults[2].Hits = 0, 0
	s.event(history.Expire, at(1))
	if got, want := lines(verdict(t, s).Story), "there is none"; strings.Count(got, "is expired from outside") != 3 || strings.Count(got, want) != 2 {
		t.Errorf("want twice %q:\n%s", want, got)
	}
}

// Everything that can happen to a lock has words of its own.
func TestStoryHasWordsForEverything(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.op("c2:1", history.TryLock, at(1), at(1.002), history.Busy)
	s.fault("kill", "c9", at(1.5), 0)
	s.fault("partition", "c1", at(2), at(3)).Step = "requests"
	s.fault("partition", "c1", at(3), at(4)).Step = "replies"
	s.event(history.ForceTTL, at(5)).Deadline = at(30)
	s.op("c3:1", history.ForceUnlock, at(6), at(6.002), history.Released)
	s.renew("c1:1", at(10), history.NotHeld)
	s.take("c3:2", at(11), at(11.002), 5*sec)
	s.unlock("c4:1", at(12), history.Released)
	s.event(history.Lost, at(13)).Owner = "c3:2"
	s.unlock("c1:1", at(14), history.Unknown).Answer = history.NotHeld
	s.take("c3:1", at(15), at(15.002), 0)
	s.event(history.Restart, at(16)).Lock = ""
	s.event(history.Delete, at(16))
	s.event(history.Failover, at(17)).Lock = ""
	jump := s.event(history.ClockJump, at(18))
	jump.Lock, jump.By = "", 3*sec
	s.died("c3", at(20))
	s.take("c5:1", at(119), at(119.002), 0)
	s.event(history.Leftover, at(120)).Deadline = at(149.001)

	got := lines(verdict(t, s).Story)
	for _, want := range []string{
		"c2:1: gives up on order:42 after 0.002 s: it is busy",
		"fault: the fault kill struck c9",
		"fault: nothing that c1 sends reaches the server any more",
		"fault: nothing that the server sends reaches c1 any more",
		"fault: c1 can talk to the server again",
		"server: the time to live of order:42 is changed from outside",
		"c3:1: forces order:42 free; c1:1 held it",
		"c1:1: wants to renew its lease on order:42 and is refused; it works on",
		"c4:1: frees order:42, which c3:2 holds",
		"c3:2: is told that its hold on order:42 is over",
		"c1:1: does not learn what became of its unlock of order:42",
		"server: the key of order:42 is gone under its holder c3:1",
		"server: restarts", "server: dies; a replica takes its place", "server: the clock of the server jumps by 3 s",
		"c3: dies",
		"server: the key of order:42 is left behind, until 149.001 s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the story does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the story:\n%s", got)
	}
}

// What a fault does to a server is told once, by the server's name, and what comes of it after it.
func TestStoryTellsACauseOnceAndFirst(t *testing.T) {
	for kind, want := range map[string]string{
		"restart":  "5.000 s fault fault: server s3 goes down and loses its data\n5.000 s key server: the key of order:42 on server s3 is gone under its holder c1:1\n",
		"failover": "5.000 s fault fault: server s3 dies; a replica takes its place\n5.000 s key server: the key of order:42 on server s3 is gone under its holder c1:1\n",
		"":         "5.000 s key server: restarts\n5.000 s key server: the key of order:42 is gone under its holder c1:1\n",
	} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		s.event(history.Delete, at(5))
		event := history.Restart
		if kind == "failover" {
			event = history.Failover
		}
		s.event(event, at(5)).Lock = ""
		if kind != "" {
			s.fault(kind, "", at(5), at(5)).Server = "s3"
		}
		s.unlock("c1:1", at(6), history.NotHeld)
		got := lines(verdict(t, s).Story)
		if !strings.Contains(got, want) || strings.Count(got, "restarts")+strings.Count(got, "goes down")+strings.Count(got, "dies") != 1 {
			t.Errorf("%q: got\n%swant\n%s", kind, got, want)
		}
	}
}

// A clock that jumps is told once, whatever locks it is about, and before the leases that it ends.
func TestStoryTellsAJumpOnceAndFirst(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.event(history.Expire, at(5))
	for _, lock := range []string{"order:42", "order:43"} {
		jump := s.event(history.ClockJump, at(5))
		jump.Lock, jump.By = lock, 60*sec
	}
	s.fault("clock-jump", "", at(5), at(5)).Server = "s2"
	s.unlock("c1:1", at(6), history.NotHeld)
	got := lines(verdict(t, s).Story)
	want := "5.000 s key server: the clock of server s2 jumps by 60 s\n5.000 s key server: the lease of c1:1 on order:42 ends"
	if !strings.Contains(got, want) || strings.Count(got, "jumps") != 1 {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestExplanationWhenNothingBroke(t *testing.T) {
	s := baseline()
	want := "Nothing broke: 3 holds in 120.000 s, and 5 guarantees kept."
	if v := verdict(t, s); v.Explanation != want {
		t.Errorf("got %q, want %q", v.Explanation, want)
	}
	s.fault("partition", "c2", at(50), at(60)).Step = "both"
	want += " The lock withstood that c2 was cut off from the server from 50.000 s to 60.000 s."
	if v := verdict(t, s); v.Explanation != want {
		t.Errorf("got %q, want %q", v.Explanation, want)
	}
	s.h.Ops = nil
	if v := Judge(context.Background(), s.h, Options{}); v.Explanation == "" || v.Code() != ExitExpected {
		t.Errorf("a history without operations: %d, %q", v.Code(), v.Explanation)
	}
}

func TestStoryOfAHoldThatIsBroughtBack(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	s.unlock("c1:1", at(1), history.Released)
	s.take("c2:1", at(2), at(2.002), 0)
	s.event(history.Failover, at(5)).Lock = ""
	back := s.event(history.Restore, at(5))
	back.Owner, back.Count, back.Deadline = "c1:1", 1, at(30)
	s.event(history.Expire, at(30))
	s.unlock("c2:1", at(40), history.NotHeld)
	got := lines(verdict(t, s).Story)
	for _, want := range []string{
		"server: the hold of c2:1 on order:42 is gone: the replica does not know it; c2:1 does not know",
		"server: has order:42 held by c1:1 again, as the replica knew it",
		"server: the lease that c1:1 had on order:42 ends",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A client that is cut off from several servers at once is told of in one line. What differs in its times, its client or its effect is not.
func TestStoryTellsACutFromSeveralServersOnce(t *testing.T) {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	for _, server := range []string{"s3", "s4", "s5"} {
		s.fault("partition", "c1", at(2), at(4)).Server = server
	}
	s.fault("partition", "c1", at(2), at(5)).Server = "s1"
	s.fault("partition", "c2", at(2), at(4)).Server = "s1"
	missed := s.fault("partition", "c1", at(2), at(4))
	missed.Server, missed.Missed, missed.Hits = "s2", true, 0
	s.unlock("c1:1", at(6), history.Released)
	got := lines(verdict(t, s).Story)
	for _, want := range []string{
		"2.000 s fault fault: c1 is cut off from servers s3, s4 and s5\n", "4.000 s fault fault: c1 can talk to servers s3, s4 and s5 again\n",
		"2.000 s fault fault: c1 is cut off from server s1\n", "5.000 s fault fault: c1 can talk to server s1 again\n",
		"2.000 s fault fault: c2 is cut off from server s1\n",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "cut off") != 3 || strings.Contains(got, "s2") {
		t.Errorf("got\n%s", got)
	}
}

// A lease that ends at another time is told with the call that is under way, or as its client's doing. An unlock is told as one.
func TestStoryTellsWhoHasALeaseEndAtAnotherTime(t *testing.T) {
	for when, want := range map[float64]string{3: "is now to hold order:42 until 40.000 s: its client sets the lease anew, in the background\n",
		5.001: "is now to hold order:42 until 40.000 s: its tryLock is under way\n", 6.0001: ""} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 0)
		s.op("c1:1", history.TryLock, at(5), at(5.002), history.Failed)
		s.unlock("c1:1", at(6), history.Released)
		e := s.event(history.ForceTTL, at(when))
		e.Owner, e.Deadline = "c1:1", at(40)
		got := lines(verdict(t, s).Story)
		if want == "" && strings.Contains(got, "now to hold") || !strings.Contains(got, want) {
			t.Errorf("at %v s: got\n%swant %s", when, got, want)
		}
	}
}

// Who was told nothing by its unlock is not said to be refused.
func TestAnUnlockThatTellsNothingIsNotRefused(t *testing.T) {
	for told, want := range map[history.Outcome]string{history.NotHeld: "is refused: it does not hold it", history.OK: "which it does not hold; nobody tells it"} {
		s := newScript()
		s.take("c1:1", at(0), at(0.002), 5*sec)
		s.event(history.Expire, at(5.001))
		s.unlock("c1:1", at(6), told).Answer = history.NotHeld
		if got := lines(verdict(t, s).Story); !strings.Contains(got, want) {
			t.Errorf("told %s: %s", told, got)
		}
	}
}
