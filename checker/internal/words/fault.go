package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Missed words the faults of the plan that never struck.
func Missed(h *history.History) []string {
	var texts []string
	for i := range h.Faults {
		if fault := &h.Faults[i]; fault.Missed {
			what := "its time never came"
			switch {
			case fault.Why != "":
				what = fault.Why
			case fault.On != "":
				what = fmt.Sprintf("what it waited for (%s) never came", fault.On)
			}
			texts = append(texts, fmt.Sprintf("%s never struck: %s", place(fault), what))
		}
	}
	return texts
}

// Unstruck words the faults of the plan that struck nothing.
func Unstruck(h *history.History) []string {
	texts := Missed(h)
	for i := range h.Faults {
		if fault := &h.Faults[i]; !fault.Missed && !fault.Struck() {
			texts = append(texts, fmt.Sprintf("%s struck nothing: it held up or touched no message, timer or key", place(fault)))
		}
	}
	return texts
}

// place is which fault of the plan one is, as people count: from one.
func place(fault *history.Fault) string {
	return fmt.Sprintf("fault %d, %s,", fault.Index+1, fault.Kind)
}

// When is the time of a fault, in a history that was healed at a time: " from 5.000 s on".
func When(fault *history.Fault, healed time.Duration) string {
	from, to := fault.Span(healed)
	switch {
	case from == to:
		return " at " + Stamp(from)
	case fault.To == 0 || to >= healed:
		return fmt.Sprintf(" from %s on", Stamp(from))
	}
	return fmt.Sprintf(" from %s to %s", Stamp(from), Stamp(to))
}

func of(client string) string {
	if client == "" {
		return ""
	}
	return " of " + client
}

// A naming is what a fault with an effect is called.
type naming struct {
	effects []history.Effect
	name    text
}

// namings are tried in order: a fault is called by the first all of whose effects it has.
var namings = []naming{
	{[]history.Effect{history.ProcessStopped}, func(f *history.Fault, _ ...string) string { return "the pause of " + cmp.Or(f.Client, "every client") }},
	{[]history.Effect{history.TimersStopped}, clientText("the pause of the watchdog of %s")},
	{[]history.Effect{history.RequestsHeld, history.RepliesHeld}, clientText("the partition of %s")},
	{[]history.Effect{history.RequestsHeld}, clientText("the partition of the requests of %s")},
	{[]history.Effect{history.RepliesHeld}, clientText("the partition of the replies to %s")},
	{[]history.Effect{history.ProcessDied}, clientText("the death of %s")},
	{[]history.Effect{history.KeyExpired}, keyText("the forced expiry of the key of %s")},
	{[]history.Effect{history.KeyDeleted}, keyText("the deletion of the key of %s")},
	{[]history.Effect{history.KeyOverwritten}, keyText("the overwriting of the key of %s")},
	{[]history.Effect{history.ForcedFree}, keyText("the forced unlock of %s")},
	{[]history.Effect{history.ServerDown}, serverText("the outage of %s")},
	{[]history.Effect{history.ServerForgot}, func(f *history.Fault, _ ...string) string { return "the failover" + of(f.Server) + " to a replica" }},
	{[]history.Effect{history.ClockMoved}, serverText("the jump of the clock of %s")},
	{[]history.Effect{history.ClientClockMoved}, clientText("the jump of the clock of %s")},
	{[]history.Effect{history.ScriptsForgotten}, serverText("the loss of the scripts of %s")},
	{[]history.Effect{history.ReplicationStopped}, func(f *history.Fault, _ ...string) string { return "the stop of the replication" + of(f.Server) }},
	{[]history.Effect{history.MessageLost}, messageText("lost")},
	{[]history.Effect{history.MessageLate}, messageText("late")},
	{[]history.Effect{history.MessageCopied}, messageText("copied")},
	{[]history.Effect{history.RequestRefused}, messageText("refused")},
	{[]history.Effect{history.ServerSlow}, serverText("the slowness of %s")},
	{[]history.Effect{history.ConnectionBroken}, clientText("the end of the connections of %s")},
}

// messageText calls a message by what a fault did to it and by the step that it belongs to.
func messageText(did string) text {
	return func(f *history.Fault, _ ...string) string {
		message := "request"
		if f.Hits > 1 {
			message = "requests"
		}
		if side, step, _ := strings.Cut(f.On, " "); side == "reply" || side == "request" && step != "" {
			message = strings.Replace(message, "request", side, 1) + " (" + step + ")"
			if side == "reply" && f.Hits > 1 {
				message = "replies (" + step + ")"
			}
		}
		return "the " + did + " " + message + of(f.Client)
	}
}

// Noun is a fault as an object, without its time: "the pause of c1".
func Noun(fault *history.Fault) string {
	for _, n := range namings {
		if !slices.ContainsFunc(n.effects, func(e history.Effect) bool { return !fault.Has(e) }) {
			return n.name(fault)
		}
	}
	return "the fault " + fault.Kind + of(fault.Client)
}
