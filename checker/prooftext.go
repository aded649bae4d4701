package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/history"
)

// How proofs are told: in short sentences, each of one fact.

// tell puts a proof into words. named are the places of the faults that the cause names.
func (a *attempt) tell(p *Proof, least, named []int) string {
	switch p.Outcome {
	case ByItself:
		switch {
		case len(a.struck) == 0:
			return "The run had no fault to leave out."
		case len(named) > 0:
			return fmt.Sprintf("Run again without any fault, %s breaks all the same. The faults named are not needed for that.", a.g)
		}
		return fmt.Sprintf("Run again without any fault, %s breaks all the same.", a.g)
	case NotProved:
		return fmt.Sprintf("The cause of that break of %s is not proved. %s without faults did not show which of them it takes.", a.g, count(p.Runs, "run"))
	}
	text := fmt.Sprintf("Run again without %s: %s.", a.noun(p.Faults[0]), a.holds(p.Outcome, least))
	if more := len(p.Faults) - 1; more > 0 {
		text = fmt.Sprintf("Run again without %s: %s. One is %s. %s. Each is enough to break %s.", count(more+1, "fault"), a.holds(p.Outcome, least),
			a.noun(p.Faults[0]), a.rest(p.Faults[1:]), a.g)
	}
	switch {
	case p.Outcome == Occasion && a.byLock():
		text += " What the lock made of that is its own doing."
	case p.Outcome == Occasion:
		text += " The cause is what a program did, and no fault."
	case p.Outcome == Otherwise && len(named) == 0:
		text += " The argued cause names no fault."
	case p.Outcome == Otherwise:
		text += " The argued cause names another."
	}
	return text
}

// holds says what holds in a run without some faults.
func (a *attempt) holds(outcome ProofOutcome, least []int) string {
	v := a.run(least).v
	switch {
	case clean(v):
		return "every guarantee holds"
	case outcome == Besides:
		return fmt.Sprintf("%s still breaks, but otherwise", a.g)
	}
	var hold []string
	for _, r := range a.v.Results {
		if r.Status == Broken && v.Result(r.Guarantee).Status == Holds {
			hold = append(hold, string(r.Guarantee))
		}
	}
	switch {
	case !slices.Contains(hold, string(a.g)):
		return fmt.Sprintf("that break of %s is gone", a.g)
	case len(hold) == 1:
		return hold[0] + " holds"
	}
	return strings.Join(hold[:len(hold)-1], ", ") + " and " + hold[len(hold)-1] + " hold"
}

// rest names one more fault, or says how many there are.
func (a *attempt) rest(faults []int) string {
	if len(faults) == 1 {
		return "The other is " + a.noun(faults[0])
	}
	return fmt.Sprintf("There are %d more", len(faults))
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

// noun is a fault as an object, with its time: "the pause of c1 from 5.000 s on".
func (f *facts) noun(i int) string {
	fault := &f.h.Faults[i]
	for _, n := range namings {
		if !slices.ContainsFunc(n.effects, func(e history.Effect) bool { return !fault.Has(e) }) {
			return n.name(fault) + f.when(i)
		}
	}
	return "the fault " + fault.Kind + of(fault.Client) + f.when(i)
}
