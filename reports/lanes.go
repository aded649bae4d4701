package reports

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// ownerLane shows what one owner did with one lock and what it believed.
func ownerLane(h *history.History, c *cast, p part, key []segment, end time.Duration) *lane {
	l := &lane{Kind: "owner", Name: shorten(Visible(p.owner), 18), Color: c.color(p.owner), H: ownerHeight,
		client: p.client, owner: p.owner, lock: p.lock}
	switch {
	case len(c.locks) > 1:
		l.Sub = shorten(Visible(p.lock), 20)
	case !strings.HasPrefix(p.owner, p.client):
		l.Sub = shorten(Visible(p.client), 20)
	}
	add := func(it item) {
		it.Color = l.Color
		l.Items = append(l.Items, it)
	}
	for _, it := range permitsHad(h, p, end) {
		add(it)
	}
	for _, b := range beliefs(h, p, end) {
		for _, s := range against(b, key, p.owner) {
			add(s)
		}
	}
	told := false // whether the history has the renewals as operations
	for _, op := range h.Ops {
		if op.Owner != p.owner || op.Lock != p.lock {
			continue
		}
		addOp(add, op, end)
		told = told || op.Kind.Renews()
	}
	for _, e := range h.Events {
		switch {
		case (e.Kind == history.Lost || e.Kind == history.LostGiving) && e.Owner == p.owner && (e.Lock == p.lock || e.Lock == ""):
			add(item{Kind: "lost", From: e.At, To: e.At, Tip: "told that its hold is lost, " + checker.Stamp(e.At)})
		case e.Kind == history.Died && e.Client == p.client:
			add(item{Kind: "died", From: e.At, To: e.At, Tip: "the client died, " + checker.Stamp(e.At)})
		}
	}
	if !told {
		for _, s := range h.Served {
			if s.Step == history.StepRenew && s.Owner == p.owner && s.Lock == p.lock {
				add(item{Kind: "beat", From: s.At, To: s.At})
			}
		}
	}
	return l
}

// addOp shows one call: how long it took, and a sign if it ended badly.
func addOp(add func(item), op history.Op, end time.Duration) {
	to := op.Return
	if op.Pending() {
		to = end
	}
	sign, waits := "", "wait"
	counted := op.Kind.Object().Counted()
	switch {
	case op.Kind.Awaits():
		waits = "await"
	case counted:
		waits = "queue"
	}
	switch {
	case counted && op.Outcome == history.Rejected: // it is set already
	case counted && op.Outcome == history.NotHeld:
		sign = "failed"
	case op.Uncertain():
		sign = "unknown"
	case op.Outcome == history.Failed || op.Outcome == history.Rejected:
		sign = "failed"
	case op.Outcome == history.NotHeld:
		sign = "refused"
	case op.Kind == history.Read || op.Kind == history.Write:
		sign = string(op.Kind)
	}
	switch {
	case op.Kind.Renews() && sign == "":
		add(item{Kind: "beat", From: op.Call, To: op.Call, Op: op.ID})
	case op.Aside && op.Pending(): // nobody waits for what a lock's client did by itself
	case op.Kind.Asks() || op.Kind.Awaits():
		add(item{Kind: waits, From: op.Call, To: to, Op: op.ID})
	case !op.Kind.Renews() && op.Kind.OnLock(): // a renewal is no part of what its owner does meanwhile
		add(item{Kind: "call", From: op.Call, To: to, Op: op.ID})
	}
	if op.Kind.Renews() && op.Pending() {
		to = op.Call
	}
	if sign != "" {
		add(item{Kind: sign, From: to, To: to, Op: op.ID})
	}
}

// belief is a stretch in which an owner believes that it holds a lock, n times.
type belief struct {
	from, to time.Duration
	n        int
	op       int64 // the call that began it
}

// beliefs finds when an owner believed to hold a lock, by the checker's definition: from the
// return of an acquiring call to the call of the unlock that gives back the last hold, or to the
// moment that it learned of the hold's end, or to its client's end.
func beliefs(h *history.History, p part, end time.Duration) []belief {
	type step struct {
		at   time.Duration
		next func(n int) int // the hold count as the owner has it, from before to after
		op   int64
	}
	over := func(int) int { return 0 }
	var steps []step
	for _, op := range h.Ops {
		if op.Owner != p.owner || op.Lock != p.lock {
			continue
		}
		switch {
		case op.Kind.Acquires() && op.Outcome == history.Acquired:
			steps = append(steps, step{op.Return, func(n int) int { return n + 1 }, op.ID})
		case op.Kind.Forces():
			steps = append(steps, step{at: op.Call, next: over})
		case op.Kind.Unlocks():
			steps = append(steps, step{at: op.Call, next: func(n int) int {
				if n == 1 {
					return 0
				}
				return n
			}})
			switch {
			case op.Pending() || op.Outcome == history.Failed:
			case op.Outcome == history.Decremented:
				steps = append(steps, step{at: op.Return, next: func(n int) int { return max(n-1, 0) }})
			default:
				steps = append(steps, step{at: op.Return, next: over})
			}
		}
	}
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Lost && e.Owner == p.owner && (e.Lock == p.lock || e.Lock == ""),
			(e.Kind == history.Died || e.Kind == history.Finished) && e.Client == p.client:
			steps = append(steps, step{at: e.At, next: over})
		}
	}
	sort.SliceStable(steps, func(i, j int) bool { return steps[i].at < steps[j].at })
	var bs []belief
	var now belief
	for _, s := range append(steps, step{at: end, next: over}) {
		n := s.next(now.n)
		if n == now.n {
			continue
		}
		if now.n > 0 && s.at > now.from {
			now.to = s.at
			bs = append(bs, now)
		}
		op := now.op
		if s.op != 0 {
			op = s.op
		}
		now = belief{from: s.at, n: n, op: op}
	}
	return bs
}

// against cuts a belief into what was true on the server and what was not. Without a server log
// the belief stands uncontradicted.
func against(b belief, key []segment, owner string) []item {
	label := "holds"
	if b.n > 1 {
		label = fmt.Sprintf("holds ×%d", b.n)
	}
	var items []item
	piece := func(kind string, from, to time.Duration) {
		if n := len(items); n > 0 && items[n-1].Kind == kind && items[n-1].To == from {
			items[n-1].To = to
			return
		}
		it := item{Kind: kind, From: from, To: to, Op: b.op, Label: label}
		if kind == "doubt" {
			it.Label = "believes it holds"
		}
		items = append(items, it)
	}
	if len(key) == 0 {
		piece("held", b.from, b.to)
	}
	first := sort.Search(len(key), func(i int) bool { return key[i].to > b.from })
	for _, s := range key[min(first, len(key)):] {
		if s.from >= b.to {
			break
		}
		kind := "doubt"
		if s.holds(owner) {
			kind = "held"
		}
		if from, to := max(s.from, b.from), min(s.to, b.to); to > from {
			piece(kind, from, to)
		}
	}
	if b.n > 1 {
		items = append(items, item{Kind: "nested", From: b.from, To: b.to, Op: b.op})
	}
	return items
}

// lockLane shows a lock as the server saw it: whose it was, and how its TTL ran down.
func lockLane(h *history.History, c *cast, lock string, key []segment) *lane {
	l := &lane{Kind: "lock", Name: shorten(Visible(lock), 18), Sub: "on the server", Color: noColor, H: lockHeight, lock: lock}
	if h.Header.Layout.Unknown != "" {
		l.Sub = "not read: whose it is"
	}
	l.Scale = longestTTL(key)
	switch {
	case len(key) == 0:
		l.Sub, l.H = "server not recorded", ownerHeight
	case l.Scale > 0:
		l.Note = "TTL to " + axisText(l.Scale, l.Scale)
	}
	for i, s := range key {
		if len(s.state.Holdings) == 0 {
			continue
		}
		l.Items = append(l.Items, ramp(s, c))
		// One strip for as long as the owners and counts stay: renewals do not cut it.
		if i == 0 || !sameHoldings(key[i-1].state.Holdings, s.state.Holdings) {
			to := s.to
			for _, next := range key[i+1:] {
				if !sameHoldings(next.state.Holdings, s.state.Holdings) {
					break
				}
				to = next.to
			}
			label, color := holders(s.state.Holdings, c)
			l.Items = append(l.Items, item{Kind: "owns", From: s.from, To: to, Color: color, Label: label})
		}
	}
	own := isOf(h, lock)
	for _, s := range h.Served {
		if own(s) && s.Step == history.StepRenew {
			l.Items = append(l.Items, renewal(s, c))
		}
	}
	for _, e := range h.Events {
		if e.Lock != lock {
			continue
		}
		switch e.Kind {
		case history.Expire:
			l.Items = append(l.Items, item{Kind: "expire", From: e.At, To: e.At, Color: noColor, Tip: "the key expired, " + checker.Stamp(e.At)})
		case history.Delete:
			l.Items = append(l.Items, item{Kind: "delete", From: e.At, To: e.At, Color: noColor, Tip: "the key was removed from outside, " + checker.Stamp(e.At)})
		}
	}
	return l
}

// ramp is the TTL of a key over one segment.
func ramp(s segment, c *cast) item {
	_, color := holders(s.state.Holdings, c)
	it := item{Kind: "ramp", From: s.from, To: s.to, Color: color, Deadline: s.state.Deadline}
	if it.Deadline == 0 {
		it.Kind = "forever"
	}
	return it
}

// renewal is one renewal as the server executed it; one that found the lock in other hands
// changed nothing.
func renewal(s history.Served, c *cast) item {
	it := item{Kind: "denied", From: s.At, To: s.At, Color: c.color(s.Owner)}
	what := "renewal for " + name(s.Owner) + " found nothing to renew, "
	if s.After != nil && (segment{state: *s.After}).holds(s.Owner) {
		it.Kind = "renew"
		what = "renewed for " + name(s.Owner) + ", "
	}
	it.Tip = what + checker.Stamp(s.At)
	return it
}

// holders names the owners in a key with their hold counts, and picks the colour of the first.
func holders(hs []history.Holding, c *cast) (string, int) {
	var names []string
	for _, x := range hs {
		n := name(x.Owner)
		if x.Count != 1 {
			n += fmt.Sprintf(" ×%d", x.Count)
		}
		names = append(names, n)
	}
	return strings.Join(names, " + "), c.color(hs[0].Owner)
}
