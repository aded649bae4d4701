package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// picture is the timeline as data: what happened in which lane from when to when, and where the
// lanes lie; but not how wide a second is. Two drawers share it: static.go draws the whole run
// once, for paper and for browsers without scripts, and web/timeline.js draws whatever part of it
// the reader wants to see.
type picture struct {
	End      time.Duration    `json:"end"`
	Height   int              `json:"height"`
	Gutter   int              `json:"gutter"` // width of the lanes' names
	Lanes    []*lane          `json:"lanes"`
	Windows  []window         `json:"windows"`
	Pins     []pin            `json:"pins"`
	Messages []message        `json:"messages,omitempty"`
	Shapes   map[string]shape `json:"shapes"`
}

// lane is one row of the picture: an owner (of one lock), or a lock as the server saw it.
type lane struct {
	Kind  string `json:"kind"` // "owner" or "lock"
	Name  string `json:"name"`
	Sub   string `json:"sub,omitempty"`
	Color int    `json:"color"`
	Y     int    `json:"y"`
	H     int    `json:"h"`
	Items []item `json:"items"`

	client, owner, lock string
}

// item is one thing in a lane. Its kind says how it is drawn (see shapes) and, in the style sheet,
// what it looks like. To equals From for an instant.
type item struct {
	Kind  string        `json:"k"`
	From  time.Duration `json:"a"`
	To    time.Duration `json:"b"`
	Color int           `json:"o"`
	Label string        `json:"l,omitempty"`
	Tip   string        `json:"t,omitempty"`
	Op    int64         `json:"op,omitempty"`
	Left  float64       `json:"p,omitempty"` // ramps: the height at From, 0 to 1
	Right float64       `json:"q,omitempty"` // and at To
}

// window is a violation's stretch of time.
type window struct {
	Guarantee string        `json:"g"`
	From      time.Duration `json:"a"`
	To        time.Duration `json:"b"`
	Label     string        `json:"l"`
	Text      string        `json:"t"`
	Through   bool          `json:"through,omitempty"` // drawn across all lanes
	Y         int           `json:"y"`
}

// pin marks a moment of the story by its number.
type pin struct {
	N      int           `json:"n"`
	At     time.Duration `json:"a"`
	Weight string        `json:"w"`
	Text   string        `json:"t"`
}

// message is one command with its reply, between two lanes (by index).
type message struct {
	Client int           `json:"client"`
	Server int           `json:"server"`
	Sent   time.Duration `json:"sent"`
	At     time.Duration `json:"at"`
	Got    time.Duration `json:"got,omitempty"` // 0: the reply was lost
	Label  string        `json:"l"`
}

// shape says how a kind of item is drawn and where in its lane.
type shape struct {
	Form string `json:"form"` // bar, ramp, tick, sym
	Y    int    `json:"y"`    // from the lane's top; of a sym its middle
	H    int    `json:"h"`    // 0: as high as the lane
	Says string `json:"says"` // what it means, in words
}

// The measures of the picture, in pixels.
const (
	axisHeight  = 30
	windowRow   = 24
	pinRow      = 26
	ownerHeight = 48
	lockHeight  = 92
	laneGap     = 6
	gutterWidth = 132
	colors      = 6 // how many owners' colours the style sheet has
	noColor     = -1
)

var shapes = map[string]shape{
	// in an owner's lane
	"wait":    {"bar", 21, 6, "asks for the lock"},
	"held":    {"bar", 14, 20, "believes that it holds the lock, and does"},
	"doubt":   {"bar", 14, 20, "believes that it holds the lock, but the server says otherwise"},
	"nested":  {"bar", 29, 5, "holds it more than once"},
	"call":    {"bar", 21, 6, "a call"},
	"beat":    {"tick", 36, 7, "renewal"},
	"refused": {"sym", 24, 14, "refused: it does not hold the lock"},
	"failed":  {"sym", 24, 14, "failed"},
	"unknown": {"sym", 24, 14, "the outcome is unknown to the client"},
	"lost":    {"sym", 24, 14, "told that its hold is over"},
	"died":    {"sym", 24, 14, "the client died"},
	"read":    {"sym", 24, 8, "reads the protected resource"},
	"write":   {"sym", 24, 8, "writes the protected resource"},
	// in a lock's lane
	"ramp":    {"ramp", 10, 54, "the key's time to live"},
	"forever": {"ramp", 10, 54, "the key never expires"},
	"owns":    {"bar", 68, 16, "the owner, as the server has it"},
	"renew":   {"tick", 3, 10, "renewal"},
	"denied":  {"sym", 8, 10, "a renewal that changed nothing"},
	"expire":  {"sym", 64, 14, "the key expired"},
	"delete":  {"sym", 64, 14, "the key was removed from outside"},
	// in both
	"fault":  {"bar", 0, 0, "a fault"},
	"strike": {"tick", 0, 0, "a fault"},
}

// draw arranges a run as a picture.
func draw(h *history.History, v *checker.Verdict) *picture {
	p := &picture{Gutter: gutterWidth, Shapes: shapes, End: runEnd(h, v)}
	p.Pins = pins(v.Story)
	p.Windows = windows(v)
	top := axisHeight + layWindows(p.Windows)
	if len(p.Pins) > 0 {
		top += pinRow
	}
	c := newCast(h)
	locks := make(map[string][]segment, len(c.locks))
	for _, l := range c.locks {
		locks[l] = keySegments(h, l, p.End)
	}
	for _, o := range c.parts {
		p.Lanes = append(p.Lanes, ownerLane(h, c, o, locks[o.lock], p.End))
	}
	scale := longestTTL(locks)
	for _, l := range c.locks {
		p.Lanes = append(p.Lanes, lockLane(h, c, l, locks[l], scale))
	}
	p.Messages = messages(h, v, p.Lanes)
	addFaults(h, p)
	y := top
	for _, l := range p.Lanes {
		l.Y = y
		y += l.H + laneGap
	}
	p.Height = y + axisHeight - laneGap
	return p
}

// runEnd is the last time that anything in the run has.
func runEnd(h *history.History, v *checker.Verdict) time.Duration {
	end := max(v.Virtual, 1)
	if h.End != nil {
		end = max(end, h.End.At)
	}
	for _, op := range h.Ops {
		end = max(end, op.Call, op.Return)
	}
	for _, e := range h.Events {
		end = max(end, e.At)
	}
	return end
}

func pins(story []checker.Moment) []pin {
	var ps []pin
	for i, m := range story {
		ps = append(ps, pin{N: i + 1, At: m.At, Weight: string(m.Weight), Text: name(m.Who) + ": " + visible(m.Text)})
	}
	return ps
}

// windows lists the violations. Those of exclusion go through all lanes, since they are about two
// of them at once.
func windows(v *checker.Verdict) []window {
	var ws []window
	for _, r := range v.Results {
		for _, x := range r.Violations {
			w := window{
				Guarantee: string(r.Guarantee), From: x.From, To: max(x.From, x.To),
				Label: string(r.Guarantee), Text: visible(x.Text),
				Through: r.Guarantee == checker.Exclusion,
			}
			if w.To > w.From {
				w.Label += " broken for " + length(w.To-w.From)
			}
			ws = append(ws, w)
		}
	}
	return ws
}

// layWindows gives each guarantee a row of its own above the lanes, and returns the rows' height.
func layWindows(ws []window) int {
	rows := make(map[string]int)
	for i := range ws {
		row, ok := rows[ws[i].Guarantee]
		if !ok {
			row = len(rows)
			rows[ws[i].Guarantee] = row
		}
		ws[i].Y = axisHeight + row*windowRow
	}
	return len(rows) * windowRow
}

// cast is who plays: owners and locks in the order of their first calls.
type cast struct {
	parts  []part
	locks  []string
	colors map[string]int
}

// part is one owner's dealings with one lock.
type part struct{ client, owner, lock string }

func newCast(h *history.History) *cast {
	c := &cast{colors: make(map[string]int)}
	parts, locks := make(map[part]bool), make(map[string]bool)
	for _, op := range h.Ops {
		if _, ok := c.colors[op.Owner]; !ok {
			c.colors[op.Owner] = len(c.colors) % colors
		}
		if p := (part{op.Client, op.Owner, op.Lock}); !parts[p] {
			parts[p] = true
			c.parts = append(c.parts, p)
		}
		if !locks[op.Lock] {
			locks[op.Lock] = true
			c.locks = append(c.locks, op.Lock)
		}
	}
	return c
}

// color of an owner; one that never called has none.
func (c *cast) color(owner string) int {
	if n, ok := c.colors[owner]; ok {
		return n
	}
	return noColor
}

// messages draws the shown part of the server log between lanes. A command that names no lock is
// taken to be about that of the call it belongs to.
func messages(h *history.History, v *checker.Verdict, lanes []*lane) []message {
	log, _ := logAround(h.Served, v)
	owners, clients, locks := make(map[part]int), make(map[string]int), make(map[string]int)
	for i, l := range lanes {
		if l.Kind == "lock" {
			locks[l.lock] = i
			continue
		}
		owners[part{l.client, l.owner, l.lock}] = i
		if _, ok := clients[l.client]; !ok {
			clients[l.client] = i
		}
	}
	ops := make(map[int64]*history.Op, len(h.Ops))
	for i := range h.Ops {
		ops[h.Ops[i].ID] = &h.Ops[i]
	}
	var ms []message
	for _, s := range log {
		p := part{s.Client, s.Owner, s.Lock}
		if op := ops[s.Op]; op != nil {
			p = part{op.Client, op.Owner, op.Lock}
		}
		server, ok := locks[p.lock]
		if !ok {
			continue
		}
		client, ok := owners[p]
		if !ok {
			if client, ok = clients[p.client]; !ok {
				continue
			}
		}
		ms = append(ms, message{client, server, s.Sent, s.At, s.Got, visible(string(s.Step))})
	}
	return ms
}

// addFaults lays each fault over the lanes that it concerns.
func addFaults(h *history.History, p *picture) {
	for _, f := range h.Faults {
		it := item{Kind: "strike", From: f.From, To: f.From, Color: noColor, Tip: faultTip(f)}
		if to := faultEnd(f, p.End); to > f.From {
			it.Kind, it.To = "fault", to
		}
		label := visible(f.Kind)
		for _, l := range p.Lanes {
			if !concerns(f, l) {
				continue
			}
			it.Label, label = label, "" // only the first lane is labelled
			l.Items = append([]item{it}, l.Items...)
		}
	}
}

// faultEnd says until when a fault lasted. One without an end either struck once or lasted; only
// its kind tells.
func faultEnd(f history.Fault, end time.Duration) time.Duration {
	if f.To > 0 {
		return f.To
	}
	for _, lasting := range []string{"pause", "partition", "slow", "kill"} {
		if strings.HasPrefix(f.Kind, lasting) {
			return end
		}
	}
	return f.From
}

func concerns(f history.Fault, l *lane) bool {
	switch {
	case f.Client != "":
		return l.client == f.Client
	case f.Lock != "":
		return l.Kind == "lock" && l.lock == f.Lock
	}
	return true
}

func faultTip(f history.Fault) string {
	s := "fault: " + visible(f.Kind)
	for _, target := range []string{f.Client, f.Lock} {
		if target != "" {
			s += " " + name(target)
		}
	}
	s += ", " + checker.Stamp(f.From)
	if f.To > 0 {
		s += " to " + checker.Stamp(f.To) + " (" + length(f.To-f.From) + ")"
	}
	if f.Step != "" {
		s += ", at " + visible(f.Step)
	}
	if f.Hits > 0 {
		s += fmt.Sprintf(", touched %d", f.Hits)
	}
	return s
}
