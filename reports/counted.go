package reports

import (
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// permitsHad are the times in which an owner believes that it has permits of a semaphore: from the return of the call that
// took them to the call that gives them.
func permitsHad(h *history.History, p part, end time.Duration) (items []item) {
	var n int64
	from, by := time.Duration(0), int64(0)
	change := func(at time.Duration, to, op int64) {
		if n > 0 && at > from {
			items = append(items, item{Kind: "permits", From: from, To: at, Op: by, Label: "has " + count(int(n), "permit", "permits")})
		}
		n, from, by = max(to, 0), at, op
	}
	for _, op := range h.Ops { // which follow each other
		switch {
		case op.Owner != p.owner || op.Lock != p.lock || op.Aside:
		case op.Kind == history.DrainPermits && op.Outcome == history.OK && op.Value > 0:
			change(op.Return, n+op.Value, op.ID)
		case op.Kind.Asks() && op.Outcome == history.Acquired && !op.Pending():
			change(op.Return, n+op.Value, op.ID)
		case (op.Kind == history.ReleasePermits || op.Kind == history.ReleasePermit) && n > 0 && op.Outcome != history.Failed:
			change(op.Call, n-op.Value, by)
		}
	}
	for _, e := range h.Events {
		if e.Kind == history.Died && e.Client == p.client {
			end = min(end, e.At)
		}
	}
	change(end, 0, 0)
	return items
}

// numberLane shows what the key of a counted object said on the server: permits that are free, or count-downs that are left.
func numberLane(h *history.History, lock string, key []segment) *lane {
	l := &lane{Kind: "lock", Name: shorten(Visible(lock), 18), Sub: "free on the server", Color: noColor, H: ownerHeight, lock: lock}
	kind := "free"
	if h.Objects()[lock] == history.ALatch {
		l.Sub, kind = "count on the server", "left"
	}
	if len(key) == 0 {
		l.Sub = "server not recorded"
	}
	for _, s := range key {
		if !s.state.Absent() && len(s.state.Holdings) == 0 {
			l.Items = append(l.Items, item{Kind: kind, From: s.from, To: s.to, Color: noColor, Label: checker.Thousands(s.state.Number()) + " " + kind})
		}
	}
	for _, e := range h.Events {
		if e.Lock == lock && (e.Kind == history.Expire || e.Kind == history.Delete) {
			l.Items = append(l.Items, item{Kind: "delete", From: e.At, To: e.At, Color: noColor, Tip: "the key was removed, " + checker.Stamp(e.At)})
		}
	}
	return l
}
