package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// sent is a command of an unlock that gives a hold back.
type sent struct {
	request       int64
	sent, at, got float64 // in seconds; got 0: its answer was lost
}

// A second effect of a call is excused by faults if it may be that of a copy. A client that has the answer sends no copy.
func TestARequestThatIsSentAnewIsNoCopy(t *testing.T) {
	for _, c := range []struct {
		name     string
		commands []sent
		fault    string
		from, to time.Duration
		excused  bool
	}{
		{"the network's copy", []sent{{1, 1.01, 1.05, 1.1}, {1, 1.01, 4, 4.1}}, "duplicate-message", at(1), at(1), true},
		{"the answer was lost, and the client sends the request again", []sent{{1, 1.01, 1.05, 0}, {1, 3.9, 4, 4.1}}, "drop-message", at(1.05), at(1.05), true},
		{"the answer was lost, and the lock sends another request", []sent{{1, 1.01, 1.05, 0}, {2, 3.9, 4, 4.1}}, "drop-message", at(1.05), at(1.05), true},
		{"the answer was late", []sent{{1, 1.01, 1.05, 3.95}, {2, 3.9, 4, 4.1}}, "delay-message", at(1.05), at(1.05), true},
		{"the client had the answer", []sent{{1, 1.01, 1.05, 1.1}, {2, 3.9, 4, 4.1}}, "duplicate-message", at(1), at(1), false},
		{"the client had the answer, and a copy came, too", []sent{{1, 1.01, 1.05, 1.1}, {2, 3.9, 4, 4.1}, {2, 3.9, 4.5, 4.6}}, "duplicate-message", at(3.9), at(3.9), false},
		{"after the answer something was lost that the lock may have sent", []sent{{1, 1.01, 1.05, 1.1}, {2, 3.9, 4, 4.1}}, "partition", at(2), at(3), true},
		{"it is not known which commands are copies", []sent{{0, 1.01, 1.05, 1.1}, {0, 3.9, 4, 4.1}}, "duplicate-message", at(1), at(1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.op("c1:1", history.Unlock, at(1), at(1.1), history.Released)
			op.Repeats, op.Executed, op.Lease = len(c.commands)-1, at(1.05), dog
			for _, r := range c.commands {
				s.h.Served = append(s.h.Served, history.Served{At: at(r.at), Sent: at(r.sent), Got: at(r.got), Client: "c1", Op: op.ID, Lock: job,
					Request: r.request, Before: key("c1:1", 1, at(40)), After: key("", 0, 0)})
			}
			s.take("c1:1", at(2), at(2.1), 0)
			s.fault(c.fault, "c1", c.from, c.to)
			v := verdict(t, s)
			found := v.Result(contract.Object).Violations
			if len(found) == 0 || found[0].Rule != contract.AtMostOnce {
				t.Fatalf("%+v", found)
			}
			if got := found[0].Ruling; got.Kind == Defect == c.excused || c.excused && got.Row != "sent-again" {
				t.Errorf("%v: %s", got, found[0].Cause.Text)
			}
		})
	}
}

// A call on a group may take a member, give it back and take it again. That a copy of what took it again takes it once more
// is no defect, though the client had the answer to what took it first.
func TestWhatWasGivenBackMayBeTakenAgain(t *testing.T) {
	free, one, two := key("", 0, 0), key("c1:1", 1, at(40)), key("c1:1", 2, at(40))
	for name, again := range map[string]int64{"copy": 3, "anew": 4} {
		s := newScript()
		op := s.take("c1:1", at(0), at(6), 0)
		op.Executed = at(5)
		row := func(request int64, when float64, before, after *history.KeyState) {
			s.h.Served = append(s.h.Served, history.Served{At: at(when), Sent: at(when) - lat, Got: at(when) + lat, Client: "c1", Op: op.ID, Lock: job,
				Request: request, Before: before, After: after})
		}
		row(1, 1, free, one)
		row(2, 2, one, free)
		row(3, 3, free, one)
		row(again, 4, one, two)
		f := collect(s.done(), Options{})
		if _, anew := f.sentAnew(op, at(1)); anew != (name == "anew") {
			t.Errorf("%s: sent anew: %v", name, anew)
		}
	}
}

// A failed attempt on a group gives back in the background what came too late for it, and the next one takes it again. Who takes it
// again without that sends one request too many.
func TestWhatTheBackgroundGaveBackMayBeTakenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		client string
		anew   bool
	}{
		"its client gave it back":     {"c1", false},
		"another client gave it back": {"c2", true},
	} {
		s := newScript()
		op := s.take("c1:1", at(0), at(6), 0)
		op.Executed = at(5)
		row := func(client string, call, request int64, when float64, before, after *history.KeyState) {
			s.h.Served = append(s.h.Served, history.Served{At: at(when), Sent: at(when) - lat, Got: at(when) + lat, Client: client, Owner: "c1:1", Op: call,
				Lock: job, Request: request, Before: before, After: after})
		}
		row("c1", op.ID, 1, 1, key("", 0, 0), key("c1:1", 1, at(40)))
		row(c.client, 0, 2, 2, key("c1:1", 1, at(40)), key("", 0, 0))
		row("c1", op.ID, 3, 3, key("", 0, 0), key("c1:1", 1, at(43)))
		if _, anew := collect(s.done(), Options{}).sentAnew(op, at(1)); anew != c.anew {
			t.Errorf("%s: sent anew: %v", name, anew)
		}
	}
}

// A call whose client gave all back that it had taken, and took the lock anew, took it twice before that. That is all that can be said
// against it, unless it has more than one hold at the end.
func TestWhatTookTheLockAnewTookItTwiceBefore(t *testing.T) {
	for holds, want := range map[int64][]contract.Rule{1: {contract.AtMostOnce}, 2: {contract.AtMostOnce, contract.KeyFits, contract.OneHoldAnUnlock}} {
		v := verdict(t, tookAnew("failover", holds))
		if got := rules(v, contract.Object); !slices.Equal(got, want) {
			t.Errorf("%d holds: broke %q, want %q: %s", holds, got, want, v.Explanation)
		}
	}
}
