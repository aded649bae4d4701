package reports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// picture is the timeline as data: what happened in which lane from when to when, and where the
// lanes lie; but not how wide a second is. Two drawers share it: static.go draws the whole run
// once, for paper and for browsers without scripts, and web/timeline.js draws whatever part of it
// the reader wants to see.
type picture struct {
	Begin    time.Duration    `json:"begin,omitempty"` // of a part of a run: nothing is known of what was before
	End      time.Duration    `json:"end"`
	Height   int              `json:"height"`
	Top      int              `json:"top"`    // where the lanes begin
	Gutter   int              `json:"gutter"` // width of the lanes' names
	Lanes    []*lane          `json:"lanes"`
	Groups   []laneGroup      `json:"groups,omitempty"` // of the lanes, by locks; none if there is one lock
	Windows  []window         `json:"windows"`
	Pins     []pin            `json:"pins"`
	Columns  []peer           `json:"columns,omitempty"` // of the sequence view
	Messages []message        `json:"messages,omitempty"`
	Shapes   map[string]shape `json:"shapes"`
}

// lane is one row of the picture: an owner (of one lock), or a lock as the server saw it.
type lane struct {
	Kind  string `json:"kind"` // "owner", "lock" or "server"
	Name  string `json:"name"`
	Sub   string `json:"sub,omitempty"`
	Note  string `json:"note,omitempty"`
	Color int    `json:"color"`
	Y     int    `json:"y"`
	H     int    `json:"h"`
	Base  int    `json:"base"` // from where the items' shapes count: Y, less in a low lane

	Scale time.Duration `json:"scale,omitempty"` // the TTL that a ramp of full height has
	Items items         `json:"items"`

	Group int `json:"g"` // by its index

	client, owner, lock string
	server              string // of a member
}

// laneGroup is what belongs to one lock: the lanes of its owners, which can be folded away, and its own.
type laneGroup struct {
	Name   string `json:"n"`
	Owners int    `json:"owners"`
	y      int
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

	Deadline time.Duration `json:"d,omitempty"` // of a ramp: when it would reach the ground
}

// ramp is how high a ramp stands at a time, from 0 to 1.
func (l *lane) ramp(it item, at time.Duration) float64 {
	if it.Deadline == 0 {
		return 1 // no expiry
	}
	return float64(max(0, it.Deadline-at)) / float64(max(l.Scale, 1))
}

// window is a violation's stretch of time.
type window struct {
	Guarantee string        `json:"g"`
	From      time.Duration `json:"a"`
	To        time.Duration `json:"b"`
	Label     string        `json:"l"`
	Text      string        `json:"t"`
	Through   bool          `json:"through,omitempty"` // drawn across all lanes
	Owners    []string      `json:"o,omitempty"`       // whose lanes it is about
	Y         int           `json:"y"`
}

// pin marks a moment of the story by its number.
type pin struct {
	N      int           `json:"n"`
	At     time.Duration `json:"a"`
	Weight string        `json:"w"`
	Text   string        `json:"t"`
	Who    string        `json:"o"` // whose lane it is about, if somebody's
}

// reach is how far from its moment, in pixels, a pin may stand when others are in its way. What
// matters may stand farther: all else is left to the story.
func (p pin) reach() float64 {
	if p.Weight == string(checker.Plain) {
		return 20
	}
	return 60
}

// The measures of the picture, in pixels.
const (
	axisHeight    = 30
	windowRow     = 24
	pinRow        = 26
	ownerHeight   = 48
	lowHeight     = 32 // of an owner's lane if there are many
	manyOwners    = 16
	lockHeight    = 92
	groupHeight   = 40
	memberHeight  = 26
	processHeight = 32
	roomy         = 420 // of all lanes: what is taller has low ones, so that a picture fits a window
	laneGap       = 6
	lockGap       = 26 // between the owners and the locks, where the messages run
	groupHead     = 30 // above the lanes of a lock, where there are several locks
	gutterWidth   = 132
	colors        = 6 // how many owners' colours the style sheet has
	noColor       = -1
)

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
	below := locksDrawn(h, c, locks, p.End)
	parts := slices.Clone(c.parts)
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(slices.Index(c.locks, a.lock), slices.Index(c.locks, b.lock)), natural(a.owner, b.owner))
	})
	for _, o := range parts {
		if passes(h, v, o) {
			continue
		}
		p.Lanes = append(p.Lanes, ownerLane(h, c, o, read(h, locks[o.lock]), p.End))
	}
	p.Lanes = append(p.Lanes, below...)
	p.group(c)
	p.Columns, p.Messages = sequence(h, v, p.Lanes, c)
	processes := serverLanes(h, p.End)
	addFaults(h, p, len(processes) > 0)
	for _, l := range processes {
		l.Group = max(0, len(p.Groups)-1) // below all others
		p.Lanes = append(p.Lanes, l)
	}
	p.Top, p.Height = top, p.layLanes(top)+8
	return p
}

// group puts the lanes of each lock together, where there are several locks.
func (p *picture) group(c *cast) {
	if len(c.locks) < 2 {
		return
	}
	for _, l := range c.locks {
		p.Groups = append(p.Groups, laneGroup{Name: name(l)})
	}
	for _, l := range p.Lanes {
		if l.Kind == "owner" {
			l.Group = slices.Index(c.locks, l.lock)
			p.Groups[l.Group].Owners++
		}
	}
	slices.SortStableFunc(p.Lanes, func(a, b *lane) int { return cmp.Compare(a.Group, b.Group) })
}

// natural compares names as people do: c2 comes before c10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, restA := leading(a)
		y, restB := leading(b)
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 && isDigit(x[0]) && isDigit(y[0]) {
			return c
		} else if c := strings.Compare(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

// leading splits off what a name, which is not empty, begins with: a number without zeros before it, or one byte.
func leading(name string) (first, rest string) {
	n := 0
	for n < len(name) && isDigit(name[n]) {
		n++
	}
	if n == 0 {
		return name[:1], name[1:]
	}
	number := strings.TrimLeft(name[:n], "0")
	return cmp.Or(number, "0"), name[n:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// passes reports whether an owner's lane is left out: the fresh client of the healed phase has one only where a violation is
// about it.
func passes(h *history.History, v *checker.Verdict, o part) bool {
	if o.client != history.Fresh || !slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Healed }) {
		return false
	}
	for _, r := range v.Results {
		if slices.ContainsFunc(r.Violations, func(x checker.Violation) bool { return x.Lock == o.lock && slices.Contains(x.Owners, o.owner) }) {
			return false
		}
	}
	return true
}

// layLanes puts the lanes below each other, low ones if there are many, and returns where they end.
func (p *picture) layLanes(y int) int {
	lanes, owners, tall := p.Lanes, 0, 0
	for _, l := range lanes {
		if tall += l.H + laneGap; l.Kind == "owner" {
			owners++
		}
	}
	low := owners > manyOwners || tall > roomy
	for i, l := range lanes {
		if l.Kind == "owner" && low {
			l.H = lowHeight
		}
		switch {
		case len(p.Groups) > 0 && (i == 0 || l.Group != lanes[i-1].Group):
			y += groupHead
			p.Groups[l.Group].y = y - groupHead/2 + 6
		case i > 0 && l.Kind != lanes[i-1].Kind:
			y += lockGap
		case i > 0:
			y += laneGap
		}
		l.Y, l.Base = y, y
		if l.Kind == "owner" {
			l.Base -= (ownerHeight - l.H) / 2
		}
		y += l.H
	}
	return y
}

// runBegin is the first time that a part of a run tells of.
func runBegin(h *history.History, end time.Duration) time.Duration {
	begin := end - 1
	for _, op := range h.Ops {
		begin = min(begin, op.Call)
	}
	for _, s := range h.Served {
		begin = min(begin, s.Sent)
	}
	for _, e := range h.Events {
		begin = min(begin, e.At)
	}
	return max(begin, 0)
}

// scale is how wide a nanosecond is, in pixels up to a place, and where a time lies then. What began before the picture begins with it.
func (p *picture) scale(right int) func(time.Duration) float64 {
	wide := float64(right-p.Gutter) / float64(max(p.End-p.Begin, 1))
	return func(t time.Duration) float64 { return float64(p.Gutter) + float64(max(t-p.Begin, 0))*wide }
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
		ps = append(ps, pin{N: i + 1, At: m.At, Weight: string(m.Weight), Text: name(m.Who) + ": " + flat(m.Text), Who: shorten(Visible(m.Who), 18)})
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
				Label: string(r.Guarantee), Text: flat(x.Text),
				Through: r.Guarantee == contract.Exclusion,
			}
			for _, o := range x.Owners {
				w.Owners = append(w.Owners, shorten(Visible(o), 18))
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

// cast is who plays: owners in the order of their first calls, locks in that of their names.
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
	slices.SortFunc(c.locks, natural)
	return c
}

// color of an owner; one that never called has none.
func (c *cast) color(owner string) int {
	if n, ok := c.colors[owner]; ok {
		return n
	}
	return noColor
}
