package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// A lock that keeps the longest lease knows of an earlier one by the answer to that alone: what its re-entry left on the server is not known to it.
func TestTheLeaseThatAReEntryLeftIsKnownByItsOwnGrant(t *testing.T) {
	for _, tt := range []struct {
		name  string
		asked time.Duration // what the re-entry asked for, where it is known that it left another end; 0: it set its lease
		early bool
	}{
		{"it left a later end, of a grant whose request was late", 100 * ms, false},
		{"it set that lease", 0, true},
	} {
		s := claiming(newScript(), contract.TellsLoss, contract.KeepsLongest)
		first := s.take("c1:1", at(0), at(10.002), 2*sec) // its client counts from when it sent that
		first.Executed = at(10)
		again := s.take("c1:1", at(10.003), at(10.005), 0)
		again.Executed, again.Lease, again.Asked, again.Watchdog = at(10.004), 1996*ms, tt.asked, false
		for _, row := range []history.Served{
			{At: at(10), Sent: 0, Got: at(10.002), Op: s.h.Ops[0].ID, Before: key("", 0, 0), After: key("c1:1", 1, at(12))},
			{At: at(10.004), Sent: at(10.003), Got: at(10.005), Op: s.h.Ops[1].ID, Before: key("c1:1", 1, at(12)), After: key("c1:1", 2, at(12))},
		} {
			row.Client, row.Lock, row.Owner, row.Step, row.Text = "c1", job, "c1:1", history.StepAcquire, "evalsha 12345678"
			s.h.Served = append(s.h.Served, row)
		}
		lost := s.event(history.Lost, at(10.105))
		lost.Owner, lost.Client = "c1:1", "c1"
		s.event(history.Expire, at(12))
		if is := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); is != tt.early {
			t.Errorf("%s: told too early: %v, want %v", tt.name, is, tt.early)
		}
	}
}

// What a call took of which its client has no answer is not known to it, nor is what is left of that once the client has given one hold back: it knows of
// its own grant.
func TestALeaseOfWhichNobodyHeardIsNotKnown(t *testing.T) {
	for lease, early := range map[time.Duration]bool{10 * sec: false, 30 * sec: true} {
		s := claiming(newScript(), contract.TellsLoss, contract.KeepsLongest)
		row := func(op *history.Op, when float64, was, is *history.KeyState, got time.Duration) {
			s.h.Served = append(s.h.Served, history.Served{At: at(when), Sent: at(when) - lat, Got: got, Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
				Text: "evalsha 12345678", Before: was, After: is})
		}
		first := s.take("c1:1", at(0), at(0.002), lease)
		row(first, 0.001, key("", 0, 0), key("c1:1", 1, at(0.001)+lease), at(0.002))
		unheard := s.op("c1:1", history.TryLock, at(1), at(2), history.Unknown)
		unheard.Lease, unheard.Evidence, unheard.Executed, unheard.Answer = 40*sec, history.Executed, at(1.5), history.Acquired
		row(unheard, 1.5, key("c1:1", 1, at(0.001)+lease), key("c1:1", 2, at(41.5)), 0)
		back := s.op("c1:1", history.Unlock, at(3), at(3.002), history.Decremented)
		back.Aside, back.Executed, back.Answer, back.Lease = true, at(3.001), history.Decremented, at(38.499)
		row(back, 3.001, key("c1:1", 2, at(41.5)), key("c1:1", 1, at(41.5)), at(3.002))
		lost := s.event(history.Lost, at(9.9))
		lost.Owner, lost.Client = "c1:1", "c1"
		s.event(history.Expire, at(41.5))
		if is := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); is != early {
			t.Errorf("a grant of %s: told too early: %v, want %v", lease, is, early)
		}
	}
}

// A key may live for longer than the lease, always by as much. Then the lease is over for its holder when what it asked for is, and not before.
func TestALeaseEndsBeforeItsKeyByTheMargin(t *testing.T) {
	for _, tt := range []struct {
		margin time.Duration
		told   float64
		renews bool
		early  bool
	}{
		{sec, 10, false, false}, {sec, 9.4, false, true}, {0, 10, false, true}, {sec, 15, true, false}, {sec, 14.4, true, true}, {0, 15, true, true},
	} {
		s := claiming(newScript(), contract.TellsLoss, "watchdog")
		s.h.Header.Layout.Margin = tt.margin
		first := s.take("c1:1", at(0), at(0.002), 11*sec)
		if tt.margin > 0 {
			first.Asked = 10 * sec
		}
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: 0, Got: at(0.002), Op: first.ID, Before: key("", 0, 0), After: key("c1:1", 1, at(11.001)),
			Client: "c1", Lock: job, Owner: "c1:1", Step: history.StepAcquire, Text: "evalsha 12345678"})
		ends := at(11.001)
		if tt.renews {
			ends = at(16.001)
			renewal := s.renew("c1:1", at(5), history.Renewed)
			renewal.Executed, renewal.Lease = at(5.001), 11*sec
		}
		lost := s.event(history.Lost, at(tt.told))
		lost.Owner, lost.Client = "c1:1", "c1"
		s.event(history.Expire, ends)
		if is := slices.Contains(rules(verdict(t, s), contract.Object), contract.NotToldEarly); is != tt.early {
			t.Errorf("margin %v, renewed %v, told at %v s: too early: %v, want %v", tt.margin, tt.renews, tt.told, is, tt.early)
		}
	}
}
