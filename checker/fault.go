package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// How faults are told. What they mean for a verdict is in environment.go.

// missed words the faults of the plan that never struck.
func missed(h *history.History) []string {
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

// unstruck words the faults of the plan that struck nothing.
func unstruck(h *history.History) []string {
	texts := missed(h)
	for i := range h.Faults {
		if fault := &h.Faults[i]; !fault.Missed && !fault.Struck() {
			texts = append(texts, fmt.Sprintf("fault %d, %s, struck nothing: it held up or touched no message, timer or key", fault.Index, fault.Kind))
		}
	}
	return texts
}

// describe is a fault as a clause: "the watchdog of c1 was paused from 5.000 s on".
func (f *facts) describe(i int) string { return faultText(&f.h.Faults[i]) + f.when(i) }

// when is the time of a fault: " from 5.000 s on".
func (f *facts) when(i int) string {
	fault := &f.h.Faults[i]
	from, to := f.span(fault)
	switch {
	case from == to:
		return " at " + Stamp(from)
	case fault.To == 0 || to >= f.healed:
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
	if fault.On != "" && fault.Hits > 0 && !fault.Lasts() && !fault.Has(touches...) {
		return telling{}, false
	}
	for _, t := range tellings {
		if !slices.ContainsFunc(t.effects, func(e history.Effect) bool { return !fault.Has(e) }) {
			return t, true
		}
	}
	return telling{}, false
}

// beginning tells a fault as it begins.
func beginning(fault *history.Fault) string {
	if t, ok := tellingOf(fault); ok && t.begins != nil {
		return t.begins(fault)
	}
	return faultText(fault)
}

// ending tells a fault as it ends.
func ending(fault *history.Fault) string {
	if t, ok := tellingOf(fault); ok && t.ends != nil {
		return t.ends(fault)
	}
	return "it is over: " + faultText(fault)
}

// faultText says what a fault did, without its time.
func faultText(fault *history.Fault) string {
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

func (f *facts) describeAll(faults []int) string {
	texts := make([]string, len(faults))
	for i, n := range faults {
		texts[i] = f.describe(n)
	}
	return strings.Join(texts, " and ")
}

// outside reports whether an expiry was an act from outside the lock: a fault that expired the
// key, rather than its lease that ended.
func (f *facts) outside(e *history.Event) bool {
	if e.Kind != history.Expire {
		return e.Kind == history.Delete
	}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Has(history.KeyExpired) && fault.Lock == e.Lock && fault.From <= e.At && e.At <= fault.From+model.Granularity {
			return true
		}
	}
	return false
}
