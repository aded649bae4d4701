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
			texts = append(texts, fmt.Sprintf("fault %d, %s, never struck: %s", fault.Index, fault.Kind, what))
		}
	}
	return texts
}

// Unstruck words the faults of the plan that struck nothing.
func Unstruck(h *history.History) []string {
	texts := Missed(h)
	for i := range h.Faults {
		if fault := &h.Faults[i]; !fault.Missed && !fault.Struck() {
			texts = append(texts, fmt.Sprintf("fault %d, %s, struck nothing: it held up or touched no message, timer or key", fault.Index, fault.Kind))
		}
	}
	return texts
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

// A telling is how a fault with an effect is told: once it was, as it begins, and as it ends. Empty: as
// it was.
type telling struct {
	effects           []history.Effect
	was, begins, ends func(f *history.Fault) string
}

func clientText(format string) func(*history.Fault) string {
	return func(f *history.Fault) string { return fmt.Sprintf(format, f.Client) }
}

func keyText(format string) func(*history.Fault) string {
	return func(f *history.Fault) string { return fmt.Sprintf(format, cmp.Or(f.Lock, "every lock")) }
}

func plainText(text string) func(*history.Fault) string {
	return func(*history.Fault) string { return text }
}

// tellings are tried in order: a fault is told by the first all of whose effects it has.
var tellings = []telling{
	{effects: []history.Effect{history.ProcessStopped}, was: func(f *history.Fault) string { return cmp.Or(f.Client, "every client") + " was paused" }},
	{effects: []history.Effect{history.TimersStopped}, was: clientText("the watchdog of %s was paused"), begins: clientText("the watchdog of %s stops"),
		ends: clientText("the watchdog of %s works again")},
	{effects: []history.Effect{history.RequestsHeld, history.RepliesHeld}, was: clientText("%s was cut off from the server"),
		begins: clientText("%s is cut off from the server"), ends: clientText("%s can talk to the server again")},
	{effects: []history.Effect{history.RequestsHeld}, was: clientText("nothing that %s sent reached the server"),
		begins: clientText("nothing that %s sends reaches the server any more"), ends: clientText("%s can talk to the server again")},
	{effects: []history.Effect{history.RepliesHeld}, was: clientText("nothing that the server sent reached %s"),
		begins: clientText("nothing that the server sends reaches %s any more"), ends: clientText("%s can talk to the server again")},
	{effects: []history.Effect{history.ProcessDied}, was: clientText("%s died")},
	{effects: []history.Effect{history.KeyExpired}, was: keyText("the key of %s was expired from outside"), begins: keyText("the key of %s is expired from outside")},
	{effects: []history.Effect{history.KeyDeleted}, was: keyText("the key of %s was deleted from outside")},
	{effects: []history.Effect{history.KeyOverwritten}, was: keyText("the key of %s was overwritten from outside")},
	{effects: []history.Effect{history.ServerDown}, was: plainText("the server was down")},
	{effects: []history.Effect{history.ServerForgot}, was: plainText("the server failed over to a replica")},
}

func tellingOf(fault *history.Fault) (telling, bool) {
	if fault.On != "" && fault.Hits > 0 && !fault.Lasts() && !fault.Has(history.TouchesKey()...) {
		return telling{}, false
	}
	for _, t := range tellings {
		if !slices.ContainsFunc(t.effects, func(e history.Effect) bool { return !fault.Has(e) }) {
			return t, true
		}
	}
	return telling{}, false
}

// Begins tells a fault as it begins.
func Begins(fault *history.Fault) string {
	if t, ok := tellingOf(fault); ok && t.begins != nil {
		return t.begins(fault)
	}
	return Was(fault)
}

// Ends tells a fault as it ends.
func Ends(fault *history.Fault) string {
	if t, ok := tellingOf(fault); ok && t.ends != nil {
		return t.ends(fault)
	}
	return "it is over: " + Was(fault)
}

// Was says what a fault did, without its time.
func Was(fault *history.Fault) string {
	if t, ok := tellingOf(fault); ok {
		return t.was(fault)
	}
	if fault.On != "" && fault.Hits > 0 {
		return fmt.Sprintf("the fault %s struck (%s%s)", fault.Kind, fault.On, of(fault.Client))
	}
	target := fault.Client
	if fault.Lock != "" {
		target = strings.TrimSpace(target + " " + fault.Lock)
	}
	if target == "" {
		return fmt.Sprintf("the fault %s struck", fault.Kind)
	}
	return fmt.Sprintf("the fault %s struck %s", fault.Kind, target)
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
	name    func(f *history.Fault) string
}

// namings are tried in order: a fault is called by the first all of whose effects it has.
var namings = []naming{
	{[]history.Effect{history.ProcessStopped}, func(f *history.Fault) string { return "the pause of " + cmp.Or(f.Client, "every client") }},
	{[]history.Effect{history.TimersStopped}, clientText("the pause of the watchdog of %s")},
	{[]history.Effect{history.RequestsHeld, history.RepliesHeld}, clientText("the partition of %s")},
	{[]history.Effect{history.RequestsHeld}, clientText("the partition of the requests of %s")},
	{[]history.Effect{history.RepliesHeld}, clientText("the partition of the replies to %s")},
	{[]history.Effect{history.ProcessDied}, clientText("the death of %s")},
	{[]history.Effect{history.KeyExpired}, keyText("the forced expiry of the key of %s")},
	{[]history.Effect{history.KeyDeleted}, keyText("the deletion of the key of %s")},
	{[]history.Effect{history.KeyOverwritten}, keyText("the overwriting of the key of %s")},
	{[]history.Effect{history.ForcedFree}, keyText("the forced unlock of %s")},
	{[]history.Effect{history.ServerDown}, plainText("the outage of the server")},
	{[]history.Effect{history.ServerForgot}, plainText("the failover to a replica")},
	{[]history.Effect{history.ClockMoved}, plainText("the jump of the server's clock")},
	{[]history.Effect{history.ScriptsForgotten}, plainText("the loss of the server's scripts")},
	{[]history.Effect{history.ReplicationStopped}, plainText("the stop of the replication")},
	{[]history.Effect{history.MessageLost}, messageText("lost")},
	{[]history.Effect{history.MessageLate}, messageText("late")},
	{[]history.Effect{history.MessageCopied}, messageText("copied")},
	{[]history.Effect{history.RequestRefused}, messageText("refused")},
	{[]history.Effect{history.ServerSlow}, plainText("the slowness of the server")},
	{[]history.Effect{history.ConnectionBroken}, clientText("the end of the connections of %s")},
}

// messageText calls a message by what a fault did to it and by the step that it belongs to.
func messageText(did string) func(*history.Fault) string {
	return func(f *history.Fault) string {
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
