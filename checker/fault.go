package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Kinds of faults, as plans name them, that a checker has to tell apart. A kind that is not here
// is told in the story by its name and can be blamed when it struck the client at the time.
const (
	pauseWatchdog = "pause-watchdog"
	pauseClient   = "pause-client"
	pauseHarness  = "pause-harness" // of the process in which all clients are
	killClient    = "kill-client"
	partition     = "partition"
	expireKey     = "expire-key"
	deleteKey     = "delete-key"
	overwriteKey  = "overwrite-key"
	restart       = "restart"
	slowServer    = "slow-server"
	delayMessage  = "delay-message"
	closing       = "close-connection"
	killing       = "kill-connection" // as the one before, by the server
	failover      = "failover"
)

// span is the time of a fault; one without an end lasted until everything was healed, or struck once. Later than that none acts:
// a message that was to be late arrives.
func (f *facts) span(fault *history.Fault) (from, to time.Duration) {
	switch {
	case fault.To > 0:
		return fault.From, max(fault.From, min(fault.To, f.healed))
	case strikesOnce(fault.Kind):
		return fault.From, fault.From
	}
	return fault.From, max(fault.From, f.healed)
}

// strikesOnce reports whether a fault of this kind is a single act.
func strikesOnce(kind string) bool {
	return !strings.HasPrefix(kind, "pause") && kind != partition && kind != restart
}

// pauses reports whether a fault of this kind stops a client's watchdog or the whole client.
func pauses(kind string) bool { return strings.HasPrefix(kind, "pause") }

// stopsRenewal reports whether a fault of this kind keeps a client from renewing.
func stopsRenewal(kind string) bool { return pauses(kind) || kind == partition }

// concernsCalls reports whether a fault of this kind concerns the calls of a client: all but the
// pause of its watchdog alone.
func concernsCalls(kind string) bool { return kind != pauseWatchdog }

// hinders reports whether a fault of this kind keeps a client from calling, so that it cannot be
// expected to be prompt.
func hinders(kind string) bool {
	return stopsRenewal(kind) && concernsCalls(kind) || kind == restart || kind == failover || kind == slowServer || kind == delayMessage
}

// breaksConnections reports whether a fault of this kind breaks connections, so that replies are lost and
// requests are sent again.
func breaksConnections(kind string) bool {
	return kind == closing || kind == killing || kind == restart || kind == failover
}

func anyKind(string) bool { return true }

// missed words the faults of the plan that never struck.
func missed(h *history.History) []string {
	var texts []string
	for i := range h.Faults {
		if fault := &h.Faults[i]; fault.Missed {
			what := "its time never came"
			if fault.On != "" {
				what = fmt.Sprintf("what it waited for (%s) never came", fault.On)
			}
			texts = append(texts, fmt.Sprintf("fault %d, %s, never struck: %s", fault.Index, fault.Kind, what))
		}
	}
	return texts
}

// strikes lists the faults on a client that were there at some time in [from, to], by index into
// History.Faults. A fault that names no client strikes all, or all that use the lock it names.
func (f *facts) strikes(client, lock string, from, to time.Duration, kind func(string) bool) []int {
	var found []int
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Missed {
			continue
		}
		if fault.Client != client && (fault.Client != "" || fault.Lock != "" && fault.Lock != lock) {
			continue
		}
		if begin, end := f.span(fault); kind(fault.Kind) && begin <= to && end >= from {
			found = append(found, i)
		}
	}
	return found
}

// describe is a fault as a clause: "the watchdog of c1 was paused from 5.000 s on".
func (f *facts) describe(i int) string {
	fault := &f.h.Faults[i]
	from, to := f.span(fault)
	when := fmt.Sprintf(" from %s to %s", Stamp(from), Stamp(to))
	switch {
	case from == to:
		when = " at " + Stamp(from)
	case fault.To == 0 || to >= f.healed:
		when = fmt.Sprintf(" from %s on", Stamp(from))
	}
	return faultText(fault) + when
}

// faultText says what a fault does, without its time.
func faultText(fault *history.Fault) string {
	switch fault.Kind {
	case pauseWatchdog:
		return fmt.Sprintf("the watchdog of %s was paused", fault.Client)
	case partition:
		switch fault.Step {
		case "requests":
			return fmt.Sprintf("nothing that %s sent reached the server", fault.Client)
		case "replies":
			return fmt.Sprintf("nothing that the server sent reached %s", fault.Client)
		}
		return fmt.Sprintf("%s was cut off from the server", fault.Client)
	case pauseClient:
		return fmt.Sprintf("%s was paused", fault.Client)
	case killClient:
		return fmt.Sprintf("%s died", fault.Client)
	case expireKey:
		return fmt.Sprintf("the key of %s was expired from outside", fault.Lock)
	case deleteKey:
		return fmt.Sprintf("the key of %s was deleted from outside", cmp.Or(fault.Lock, "every lock"))
	case overwriteKey:
		return fmt.Sprintf("the key of %s was overwritten from outside", fault.Lock)
	case restart:
		return "the server was down"
	case failover:
		return "the server failed over to a replica"
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

// onMessages lists the faults that struck messages of a client.
func (f *facts) onMessages(client, lock string, from, to time.Duration) []int {
	return slices.DeleteFunc(f.strikes(client, lock, from, to, anyKind), func(i int) bool { return !f.onMessage(i) })
}

// onMessage reports whether a fault struck messages.
func (f *facts) onMessage(i int) bool {
	on := f.h.Faults[i].On
	return strings.HasPrefix(on, "request") || strings.HasPrefix(on, "reply") || strings.HasPrefix(on, "between")
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
