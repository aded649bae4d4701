package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/history"
)

// A telling is how a fault with an effect is told: once it was, as it begins, and as it ends. Empty: as
// it was.
type telling struct {
	effects           []history.Effect
	was, begins, ends text
	link              bool // it is about a client and a server, and may be about more servers
}

// A text is about a fault, and about others like it that strike other servers at once.
type text func(f *history.Fault, also ...string) string

func clientText(format string) text {
	return func(f *history.Fault, _ ...string) string {
		return fmt.Sprintf(format, cmp.Or(f.Client, "every client"))
	}
}

func keyText(format string) text {
	return func(f *history.Fault, _ ...string) string { return fmt.Sprintf(format, cmp.Or(f.Lock, "every lock")) }
}

// linkText names both ends of a link.
func linkText(format string) text {
	return func(f *history.Fault, also ...string) string {
		return fmt.Sprintf(format, cmp.Or(f.Client, "every client"), Server(f.Server, also...))
	}
}

// serverText names the server of a fault, where its history has several.
func serverText(format string) text {
	return func(f *history.Fault, _ ...string) string { return fmt.Sprintf(format, Server(f.Server)) }
}

// sentText is about the messages of a fault, as an object or a subject of a sentence.
func sentText(format string) text {
	return func(f *history.Fault, _ ...string) string { return fmt.Sprintf(format, messages(f)) }
}

// Server is what a server of a name is called, and others besides; the only one has none.
func Server(name string, also ...string) string {
	switch {
	case name == "":
		return "the server"
	case len(also) > 0:
		return "servers " + List(append([]string{name}, also...)...)
	}
	return "server " + name
}

// List joins words as a sentence does: "a, b and c".
func List(words ...string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// tellings are tried in order: a fault is told by the first all of whose effects it has.
var tellings = []telling{
	{effects: []history.Effect{history.ProcessStopped}, was: clientText("%s was paused"), begins: clientText("%s is paused"), ends: clientText("%s goes on")},
	{effects: []history.Effect{history.TimersStopped}, was: clientText("the watchdog of %s was paused"), begins: clientText("the watchdog of %s stops"),
		ends: clientText("the watchdog of %s works again")},
	{effects: []history.Effect{history.RequestsHeld, history.RepliesHeld}, link: true, was: linkText("%[1]s was cut off from %[2]s"),
		begins: linkText("%[1]s is cut off from %[2]s"), ends: linkText("%[1]s can talk to %[2]s again")},
	{effects: []history.Effect{history.RequestsHeld}, link: true, was: linkText("nothing that %[1]s sent reached %[2]s"),
		begins: linkText("nothing that %[1]s sends reaches %[2]s any more"), ends: linkText("%[1]s can talk to %[2]s again")},
	{effects: []history.Effect{history.RepliesHeld}, link: true, was: linkText("nothing that %[2]s sent reached %[1]s"),
		begins: linkText("nothing that %[2]s sends reaches %[1]s any more"), ends: linkText("%[1]s can talk to %[2]s again")},
	{effects: []history.Effect{history.ProcessDied}, was: clientText("%s died"), begins: clientText("%s dies")},
	{effects: []history.Effect{history.KeyExpired}, was: keyText("the key of %s was expired from outside"), begins: keyText("the key of %s is expired from outside")},
	{effects: []history.Effect{history.KeyDeleted}, was: keyText("the key of %s was deleted from outside")},
	{effects: []history.Effect{history.KeyOverwritten}, was: keyText("the key of %s was overwritten from outside")},
	{effects: []history.Effect{history.ForcedFree}, was: keyText("an operator forced %s free"), begins: keyText("an operator forces %s free")},
	{effects: []history.Effect{history.ServerDown, history.ServerForgot}, was: serverText("%s was down and lost its data"),
		begins: serverText("%s goes down and loses its data"), ends: serverText("%s serves again, without its data")},
	{effects: []history.Effect{history.ServerDown}, was: serverText("%s was down"), begins: serverText("%s goes down"), ends: serverText("%s serves again")},
	{effects: []history.Effect{history.ServerForgot}, was: serverText("%s failed over to a replica"), begins: serverText("%s dies; a replica takes its place")},
	{effects: []history.Effect{history.ReplicationStopped}, was: serverText("a replica of %s received nothing"),
		begins: serverText("a replica of %s receives nothing any more"), ends: serverText("a replica of %s receives what it missed")},
	{effects: []history.Effect{history.ServerSlow}, was: serverText("%s was slow"), begins: serverText("%s becomes slow"), ends: serverText("%s is as fast as before")},
	{effects: []history.Effect{history.ClockMoved}, was: serverText("the clock of %s jumped"), begins: serverText("the clock of %s jumps")},
	{effects: []history.Effect{history.ClientClockMoved}, was: clientText("the clock of %s jumped"), begins: clientText("the clock of %s jumps")},
	{effects: []history.Effect{history.ScriptsForgotten}, was: serverText("%s forgot its scripts"), begins: serverText("%s forgets its scripts")},
	{effects: []history.Effect{history.MessageLost}, was: sentText("the network lost %s"), begins: sentText("the network loses %s")},
	{effects: []history.Effect{history.MessageLate}, was: sentText("the network held up %s"), begins: sentText("the network holds up %s"),
		ends: sentText("the network lets %s through")},
	{effects: []history.Effect{history.MessageCopied}, was: sentText("the network delivered %s twice"), begins: sentText("the network delivers %s twice")},
	{effects: []history.Effect{history.RequestRefused}, was: refusal("refused"), begins: refusal("refuses")},
	{effects: []history.Effect{history.ConnectionBroken}, was: clientText("the connections of %s were reset"), begins: clientText("the connections of %s are reset")},
}

func refusal(verb string) text {
	return func(f *history.Fault, _ ...string) string { return Server(f.Server) + " " + verb + " " + messages(f) }
}

// messages are what a fault struck on its way, as far as its record says which: "the reply to c1's acquire".
func messages(f *history.Fault) string {
	side, step, _ := strings.Cut(f.On, " ")
	whose := "a"
	if f.Client != "" {
		whose = f.Client + "'s"
	}
	first := ""
	switch {
	case step == "publish":
		first = "the news of a release" + strings.Replace(of(f.Client), "of", "for", 1)
	case side == "reply" && step != "":
		first = "the reply to " + article(whose, step) + " " + step
	case side == "reply":
		first = "a reply" + strings.Replace(of(f.Client), "of", "to", 1)
	case side == "request" && step != "":
		first = "the request of " + article(whose, step) + " " + step
	case side == "request":
		first = "a request" + of(f.Client)
	case f.Client != "":
		first = "a message between " + f.Client + " and " + Server(f.Server)
	default:
		first = "a message"
	}
	if f.Hits > 1 {
		return fmt.Sprintf("%s and %s", first, Count(f.Hits-1, "other message"))
	}
	return first
}

// article is whose a step is: "an acquire" is nobody's.
func article(whose, step string) string {
	if whose == "a" && strings.ContainsAny(step[:1], "aeiou") {
		return "an"
	}
	return whose
}

func tellingOf(fault *history.Fault) (telling, bool) {
	for _, t := range tellings {
		if !slices.ContainsFunc(t.effects, func(e history.Effect) bool { return !fault.Has(e) }) {
			return t, true
		}
	}
	return telling{}, false
}

// Links reports whether a fault is told of a client and one server that has a name, so that more servers can be named with it.
func Links(fault *history.Fault) bool {
	t, ok := tellingOf(fault)
	return ok && t.link && fault.Server != ""
}

// Begins tells a fault as it begins; also are further servers of which the same is to be told.
func Begins(fault *history.Fault, also ...string) string {
	if t, ok := tellingOf(fault); ok && t.begins != nil {
		return t.begins(fault, also...)
	}
	return Was(fault)
}

// Ends tells a fault as it ends; also are further servers of which the same is to be told.
func Ends(fault *history.Fault, also ...string) string {
	if t, ok := tellingOf(fault); ok && t.ends != nil {
		return t.ends(fault, also...)
	}
	return "it is over: " + Was(fault)
}

// Was says what a fault did, without its time.
func Was(fault *history.Fault) string {
	if t, ok := tellingOf(fault); ok {
		return t.was(fault)
	}
	target := strings.TrimSpace(fault.Client + " " + fault.Lock)
	switch {
	case fault.On != "" && fault.Hits > 0:
		return fmt.Sprintf("the fault %s struck (%s%s)", fault.Kind, fault.On, of(fault.Client))
	case target == "":
		return fmt.Sprintf("the fault %s struck", fault.Kind)
	}
	return fmt.Sprintf("the fault %s struck %s", fault.Kind, target)
}
