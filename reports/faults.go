package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// addFaults lays each fault over the lanes that it concerns. With lanes of replicas, what befalls only those is there.
func addFaults(h *history.History, p *picture, replicas bool) {
	end := healed(h, p.End)
	servers := make(map[string]bool) // that have lanes
	for _, l := range p.Lanes {
		servers[l.server] = true
	}
	for _, f := range h.Faults {
		if f.Missed || replicas && f.Has(history.ReplicationStopped) {
			continue
		}
		it := item{Kind: "strike", From: f.From, To: f.From, Color: noColor, Tip: faultTip(f)}
		if to := faultEnd(f, end); to > f.From {
			it.Kind, it.To = "fault", to
		}
		label := Visible(f.Kind)
		kind, state := serverState(f)
		for _, l := range p.Lanes {
			if !concerns(f, l, servers) {
				continue
			}
			it := it
			if l.Kind == "lock" && kind != "" {
				it.Kind = kind
				it.Label, state = state, "" // only the first lane of each kind is labelled
			} else {
				it.Label, label = label, ""
			}
			l.Items = append([]item{it}, l.Items...)
			if it.Kind == "promoted" {
				l.Items[0].To = it.From // from then on it is there
				l.Sub = strings.Replace(l.Sub, "on the server", "on the master", 1)
			}
		}
	}
}

// serverState is what a fault makes of a server, as the lanes of its locks show it, and in words. Empty: it stays as it is.
func serverState(f history.Fault) (kind, words string) {
	switch {
	case f.Has(history.ServerDown):
		return "down", "down"
	case f.Has(history.ServerForgot):
		return "promoted", "replica promoted"
	}
	return "", ""
}

// healed is when all faults were over: at the healed phase of the run, or else at its end.
func healed(h *history.History, end time.Duration) time.Duration {
	for _, e := range h.Events {
		if e.Kind == history.Healed {
			return e.At
		}
	}
	return end
}

// faultEnd says until when a fault lasted. One without an end either struck once or lasted until all
// faults were over; its effects tell.
func faultEnd(f history.Fault, end time.Duration) time.Duration {
	if f.To > 0 {
		return f.To
	}
	if f.Lasts() {
		return end
	}
	return f.From
}

// concerns reports whether a fault is about a lane: one of a server about that server's, if there are such.
func concerns(f history.Fault, l *lane, servers map[string]bool) bool {
	switch {
	case f.Client != "":
		return l.client == f.Client
	case f.Lock != "":
		return l.Kind == "lock" && l.lock == f.Lock
	case f.Server != "" && servers[f.Server]:
		return l.server == f.Server
	}
	return true
}

func faultTip(f history.Fault) string {
	s := "fault: " + Visible(f.Kind)
	for _, target := range []string{f.Client, f.Server, f.Lock} {
		if target != "" {
			s += " " + name(target)
		}
	}
	s += ", " + checker.Stamp(f.From)
	if f.To > 0 {
		s += " to " + checker.Stamp(f.To) + " (" + length(f.To-f.From) + ")"
	}
	if f.Step != "" {
		s += ", at " + Visible(f.Step)
	}
	for _, e := range f.Effects {
		s += ", " + strings.ReplaceAll(Visible(string(e)), "-", " ")
	}
	if f.Hits > 0 {
		s += fmt.Sprintf(", touched %s", Thousands(f.Hits))
	}
	return s
}
