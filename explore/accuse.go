package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Accusation is something that a lock did wrong and that nothing excuses.
type Accusation struct {
	Guarantee checker.Guarantee `json:"guarantee"`
	Rule      string            `json:"rule"`
	Class     checker.Class     `json:"class"`
	Call      history.Kind      `json:"call,omitzero"` // of the operation that shows it
	Text      string            `json:"text"`
}

// Cause tells accusations of one cause from those of others. It has no times and no names.
func (a Accusation) Cause() string {
	return fmt.Sprintf("%s: %s (%s, %s)", a.Guarantee, a.Rule, a.Class, a.Call)
}

// Accuse lists what a verdict says against a lock, each cause once, in the order of the guarantees.
// In a run without faults that is every violation whose cause is no failed assumption of every
// lease lock, but for what [unheard], [givenBack], [copied] and [doubled] say. A fault excuses more, while it
// can be felt: see [excuses]; so do the lock's known weaknesses.
//
// What is undecided, and a history that the checkers refuse, are not the lock's fault; the caller
// has to look at them.
func Accuse(h *history.History, v *checker.Verdict, s subjects.Subject) []Accusation {
	var all []Accusation
	for _, r := range v.Results {
		if r.Status != checker.Broken {
			continue
		}
		for _, x := range r.Violations {
			a := Accusation{Guarantee: r.Guarantee, Rule: x.Rule, Class: x.Cause.Class, Call: CallOf(h, x), Text: x.Text}
			x.From = since(r, x)
			if x.Cause.Assumption || unheard(h, a, x) || givenBack(h, a, x) || copied(h, x) || doubled(h, a, x, s) || excusedByFault(h, a, x, s) || weakThere(h, a, x, s) ||
				slices.ContainsFunc(all, func(b Accusation) bool { return a.Cause() == b.Cause() }) {
				continue
			}
			all = append(all, a)
		}
	}
	return all
}

// since is when what a violation tells of began: a hold that is lost unnoticed may overlap with one
// after the other, for one cause.
func since(r checker.Result, x checker.Violation) time.Duration {
	from := x.From
	if r.Guarantee != checker.Exclusion && r.Guarantee != checker.Effect {
		return from
	}
	for _, y := range r.Violations {
		if x.Cause.Text != "" && y.Rule == x.Rule && y.Cause.Text == x.Cause.Text {
			from = min(from, y.From)
		}
	}
	return from
}

// unheard reports whether a lock that somebody waits for became free without his hearing of it: when a
// lease ended earlier than the server had told him when it refused him last, as when its holder set a
// shorter one, of which the server tells nobody; or when what the server published was lost, and with
// it whatever else would have come on that connection. Whoever waits does so for as long as the lease
// that he saw.
func unheard(h *history.History, a Accusation, x checker.Violation) bool {
	expired := func(e history.Event) bool {
		return e.Kind == history.Expire && e.Lock == x.Lock && e.At <= x.From && x.From-e.At < time.Second
	}
	op := opOf(h, x)
	deaf := func(f history.Fault) bool {
		return f.Kind == "drop-message" && f.On == "reply publish" && f.Hits > 0 && f.From <= x.From && op != nil && (f.Client == "" || f.Client == op.Client)
	}
	if a.Rule != checker.FreeIsTaken || !slices.ContainsFunc(h.Events, expired) && !slices.ContainsFunc(h.Faults, deaf) {
		return false
	}
	var seen time.Duration
	for _, s := range h.Served {
		if s.Op == x.Ops[0] && s.At <= x.From && s.After != nil {
			seen = s.After.Deadline
		}
	}
	return seen > x.From && x.To <= seen+time.Second
}

// givenBack reports whether of two who overlapped the first was about to unlock, thinking that it held
// the lock once more than it did, or was told of an error. It may hold the lock
// still, but works under it no more.
func givenBack(h *history.History, a Accusation, x checker.Violation) bool {
	return (a.Guarantee == checker.Exclusion || a.Guarantee == checker.Effect) && len(x.Owners) > 0 && slices.ContainsFunc(h.Ops, func(op history.Op) bool {
		return op.Kind == history.Unlock && op.Owner == x.Owners[0] && op.Lock == x.Lock && op.Call <= x.From && !op.Pending() && x.To <= op.Return
	})
}

// copied reports whether a server refused a request, and then executed a copy of it that the network
// had made: what it refuses it does not remember. Of the copies that go-redis sends the lock knows.
func copied(h *history.History, x checker.Violation) bool {
	op := opOf(h, x)
	return op != nil && op.Outcome == history.Failed && slices.ContainsFunc(h.Faults, func(f history.Fault) bool {
		return f.Kind == "duplicate-message" && !f.Missed && (f.Client == "" || f.Client == op.Client) && f.From <= op.Return && max(f.From, f.To) >= op.Call
	})
}

// doubled reports whether a lock that is known to count an acquire twice that is sent again has done so
// before, or has counted one whose caller was not told: it is then held once more than its holder knows, for as
// long as the client lives, and so long lasts what comes of it.
func doubled(h *history.History, a Accusation, x checker.Violation, s subjects.Subject) bool {
	known := func(w subjects.Weakness) bool { return w.Rule == checker.AtMostOnce && w.Call.Acquires() }
	if a.Guarantee == checker.Object || a.Guarantee == checker.Fencing || !slices.ContainsFunc(s.Weaknesses, known) {
		return false
	}
	return slices.ContainsFunc(h.Ops, func(op history.Op) bool {
		return (tookTwice(op, x) || untold(op, x)) && (a.Guarantee == checker.Liveness || slices.Contains(x.Owners, op.Owner))
	})
}

// tookTwice reports whether a call took a violation's lock more than once.
func tookTwice(op history.Op, x checker.Violation) bool {
	return op.Kind.Acquires() && op.Repeats > 0 && op.Lock == x.Lock && op.Call <= x.From
}

// untold reports whether a call took a violation's lock without its caller's learning of it.
func untold(op history.Op, x checker.Violation) bool {
	return op.Kind.Acquires() && op.Outcome == history.Unknown && op.Answer == history.Acquired && op.Lock == x.Lock && op.Return <= x.From
}

// opOf is the operation that shows a violation, or nil.
func opOf(h *history.History, x checker.Violation) *history.Op {
	for i := range h.Ops {
		if len(x.Ops) > 0 && h.Ops[i].ID == x.Ops[0] {
			return &h.Ops[i]
		}
	}
	return nil
}

// CallOf is the kind of the operation that shows a violation; empty: none does.
func CallOf(h *history.History, x checker.Violation) history.Kind {
	if op := opOf(h, x); op != nil {
		return op.Kind
	}
	return ""
}

// excuses reports whether a fault excuses that a guarantee is broken while it can be felt.
//
//   - watchdog, liveness: every fault does; of watchdog, one that struck the holder. How well a
//     lock recovers is no claim.
//   - exclusion, effect: every fault does, that struck one of those who overlapped, for a lock that
//     does not tell its holder of a loss; beside those, for every lock, that are assumptions, and so
//     no accusations.
//   - object, fencing: what a lock cannot know: a server that forgets, with the key, what it
//     remembered of requests and tokens. It does throughout the run.
func excuses(f history.Fault, g checker.Guarantee, tells bool) bool {
	switch g {
	case checker.Watchdog, checker.Liveness:
		return true
	case checker.Exclusion, checker.Effect:
		return !tells
	}
	return f.Kind == "restart" || f.Kind == "failover" || f.Kind == "delete-key" && f.Lock == ""
}

// onKeys are the faults that strike keys.
var onKeys = map[string]bool{"expire-key": true, "delete-key": true, "overwrite-key": true, "force-unlock": true}

func excusedByFault(h *history.History, a Accusation, x checker.Violation, s subjects.Subject) bool {
	always := a.Guarantee == checker.Object || a.Guarantee == checker.Fencing
	return slices.ContainsFunc(h.Faults, func(f history.Fault) bool {
		return !f.Missed && excuses(f, a.Guarantee, s.Can("lost")) && (always || feltIn(h, f, x)) && concerns(h, f, a, x)
	})
}

// concerns reports whether a fault may have to do with a violation: what struck a client of none of
// its owners, or another lock's key, has not. A message that names one lock may name others, and a
// waiter may wait for whom it struck.
func concerns(h *history.History, f history.Fault, a Accusation, x checker.Violation) bool {
	switch {
	case a.Guarantee != checker.Exclusion && a.Guarantee != checker.Effect && a.Guarantee != checker.Watchdog:
		return true
	case onKeys[f.Kind] && f.Lock != "" && f.Lock != x.Lock:
		return false
	}
	return f.Client == "" || slices.ContainsFunc(h.Ops, func(op history.Op) bool {
		return op.Client == f.Client && slices.Contains(x.Owners, op.Owner)
	})
}

func weakThere(h *history.History, a Accusation, x checker.Violation, s subjects.Subject) bool {
	fits := func(named, is string) bool { return named == "" || named == is }
	return slices.ContainsFunc(s.Weaknesses, func(w subjects.Weakness) bool {
		return fits(w.Guarantee, string(a.Guarantee)) && fits(w.Class, string(a.Class)) && fits(string(w.Call), string(a.Call)) && fits(w.Rule, a.Rule) &&
			inTime(h, w, x) && shownBy(h, w, x)
	})
}

// Known says where it is documented that a lock's call takes effect twice if it is sent again after one of those
// faults, in a history of which nobody saw the server. Empty: nowhere.
func Known(call history.Op, faults []history.Fault, s subjects.Subject) string {
	for _, w := range s.Weaknesses {
		if w.Guarantee == string(checker.Object) && w.Rule == checker.AtMostOnce && w.Call == call.Kind && !w.Returned && call.Return-call.Call > w.After &&
			slices.ContainsFunc(faults, func(f history.Fault) bool { return slices.Contains(w.Faults, f.Kind) }) {
			return w.Source
		}
	}
	return ""
}

// shownBy reports whether a fault struck that a weakness needs: at the time of the call, or, where
// any fault will do, in some call before, such as one whose copy took the lock, however late.
func shownBy(h *history.History, w subjects.Weakness, x checker.Violation) bool {
	if len(w.Faults) == 0 {
		return slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return feltIn(h, f, x) }) ||
			slices.ContainsFunc(h.Ops, func(op history.Op) bool { return tookTwice(op, x) })
	}
	return slices.ContainsFunc(x.Cause.Faults, func(i int) bool { return slices.Contains(w.Faults, h.Faults[i].Kind) })
}

// inTime reports whether a violation comes as late as a weakness needs.
func inTime(h *history.History, w subjects.Weakness, x checker.Violation) bool {
	if w.After == 0 && !w.Returned {
		return true
	}
	op := opOf(h, x)
	return op != nil && !op.Pending() && (w.After == 0 || op.Return-op.Executed > w.After) && (!w.Returned || x.From >= answered(h, op))
}

// answered is when a lock's client had an answer to an operation: that of its first execution, with which it
// may have some work before it returns, or that of a copy, with which it returned. Of an unlock the first answer
// is the only one.
func answered(h *history.History, op *history.Op) time.Duration {
	for _, s := range h.Served {
		if s.Op == op.ID && s.Lock == op.Lock && s.Got > 0 &&
			(s.At == op.Executed || op.Kind == history.Unlock && !strings.HasPrefix(s.Reply, "NOSCRIPT")) {
			return min(s.Got, op.Return)
		}
	}
	return op.Return
}

// feltIn reports whether a fault, whomever it struck, can still have been felt when a violation
// began: what was lost to one client, such as a wake-up, others may wait for as long as the lease
// that they saw, and go-redis goes on trying.
func feltIn(h *history.History, f history.Fault, x checker.Violation) bool {
	const leases, tries = 40 * time.Second, 20 * time.Second
	felt := max(h.Header.WatchdogTimeout, leases) + tries
	return !f.Missed && f.From <= x.To && max(f.From, f.To)+felt >= x.From
}
