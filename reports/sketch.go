package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// sketch is the picture with the whole run drawn to one fixed width: for paper, and for browsers
// without scripts.
type sketch struct {
	Width, Height, Axis int
	Lanes               []*lane
	Ticks, Names        []caption
	Shapes, Bands       []mark
	Signs               []mark
	Texts, Pins         []caption
	Moments             []mark // lines through all lanes

	labelled map[int]float64 // up to where each row of windows has labels
}

// mark is one shape in its place. X and W are text so that the template need not format them.
type mark struct {
	Form, Class, X, W, Points, Symbol, Title string
	Y, H                                     int
}

// caption is a text in its place.
type caption struct {
	Class, X, Text, Title string
	Y                     int
	Beside                bool // the title stands beside the text, not below it
}

const (
	sketchWidth = 1080
	sketchRight = sketchWidth - 14
	twoLines    = 40   // how high a lane is whose name has two
	besideName  = 16   // how many letters of two words fit beside each other where names stand
	pinWidth    = 18.0 // of a number of the story
	letter      = 6.6  // the width of an average letter of a label, in pixels
)

func newSketch(p *picture) *sketch {
	s := &sketch{Width: sketchWidth, Height: p.Height, Axis: axisHeight, Lanes: p.Lanes, labelled: make(map[int]float64)}
	x, step := p.scale(sketchRight), axisStep(p.End-p.Begin, 8)
	for t := (p.Begin + step - 1) / step * step; t <= p.End; t += step {
		s.Ticks = append(s.Ticks, caption{X: px(x(t)), Y: 18, Text: axisText(t, step)})
	}
	for _, w := range p.Windows {
		s.addWindow(p, w, x)
	}
	for _, l := range p.Lanes {
		s.addLane(l, x)
	}
	s.addGroups(p)
	s.addPins(p, x)
	return s
}

// addPins puts the numbers of the story side by side where they would hide each other. None reaches over the edge.
func (s *sketch) addPins(p *picture, x func(time.Duration) float64) {
	var places []float64
	room := 0.0
	for _, n := range p.Pins {
		at := max(x(n.At), room)
		if at-x(n.At) > n.reach() {
			continue
		}
		s.Pins = append(s.Pins, caption{Class: "w-" + n.Weight, Y: p.pinY(), Text: fmt.Sprint(n.N), Title: n.Text})
		places = append(places, at)
		room = at + pinWidth
	}
	room = sketchWidth - pinWidth/2
	for i := len(places) - 1; i >= 0; i-- {
		at := min(places[i], room)
		s.Pins[i].X = px(at)
		room = at - pinWidth
	}
}

// addGroups names the groups of lanes.
func (s *sketch) addGroups(p *picture) {
	for _, g := range p.Groups {
		s.Names = append(s.Names, caption{Class: "name", Y: g.y, Text: g.Name})
	}
}

// mark draws a line through all lanes at a time.
func (s *sketch) mark(p *picture, at time.Duration, title string) {
	s.Moments = append(s.Moments, mark{X: px(p.scale(sketchRight)(at)), Y: axisHeight - 6, H: p.Height, Title: title})
}

// pinY is the middle of the row of the story's numbers, just above the first lane.
func (p *picture) pinY() int {
	if len(p.Lanes) == 0 {
		return axisHeight
	}
	return p.Top - pinRow/2
}

func (s *sketch) addWindow(p *picture, w window, x func(time.Duration) float64) {
	m := mark{Form: "bar", Class: "k-window", X: px(x(w.From)), W: px(max(2, x(w.To)-x(w.From))), Y: w.Y + 2, H: windowRow - 6, Title: w.Text}
	s.Shapes = append(s.Shapes, m)
	if w.Through {
		m.Class, m.Y = "k-through", w.Y+windowRow-4
		m.H = p.Height - 8 - m.Y
		s.Bands = append(s.Bands, m)
	}
	// The label lies in the window, or else beside it, if none before it lies there.
	at, room := x(w.From)+7, letter*float64(utf8.RuneCountInString(w.Label))+10
	if x(w.To)-x(w.From) < room {
		if at = x(w.To) + 7; at+room > sketchWidth {
			at = x(w.From) - room
		}
	}
	if at < s.labelled[w.Y] {
		return
	}
	s.labelled[w.Y] = max(x(w.To), at+room)
	s.Texts = append(s.Texts, caption{Class: "window-label", X: px(at), Y: w.Y + 15, Text: w.Label})
}

// dust gathers the shapes of one class that are too small to tell apart in one path, one spot for
// each pixel, so that a long run's sketch is not much larger than a short one's.
type dust struct {
	class string
	last  int
	path  strings.Builder
}

// addLane draws a lane's items. Of signs that would hide each other, the first is drawn.
func (s *sketch) addLane(l *lane, x func(time.Duration) float64) {
	n := caption{Class: l.colorClass(), Y: l.Y + l.H/2 + 4, Text: l.Name, Title: l.Sub}
	if n.Beside = l.H < twoLines; n.Beside {
		if n.Title = ""; utf8.RuneCountInString(l.Name)+3 < besideName {
			n.Title = shorten(l.Sub, besideName-utf8.RuneCountInString(l.Name))
		}
	}
	s.Names = append(s.Names, n)
	signs := make(map[string]float64) // where the last of each kind is
	var named [][2]float64            // from where to where the names of faults stand
	var dusts []*dust
	for _, it := range l.Items {
		x0, x1 := x(it.From), x(it.To)
		sh := shapes[it.Kind]
		if last, ok := signs[it.Kind]; ok && sh.Form == "sym" && math.Abs(x0-last) < 5 {
			continue
		}
		y, h := l.Base+sh.Y, sh.H
		if h == 0 {
			y, h = l.Y, l.H
		}
		m := mark{Form: sh.Form, Class: it.class(), X: px(x0), W: px(max(1, x1-x0)), Y: y, H: h, Title: it.Tip}
		switch {
		case sh.Form == "sym":
			signs[it.Kind] = x0
			m.Symbol = it.Kind
			s.Signs = append(s.Signs, m)
			continue
		case x1-x0 < 2 && it.Tip == "" && sh.Form != "tick":
			i := slices.IndexFunc(dusts, func(d *dust) bool { return d.class == m.Class })
			if i < 0 {
				i = len(dusts)
				dusts = append(dusts, &dust{class: m.Class, last: -1})
			}
			if d := dusts[i]; d.last != int(x0) {
				d.last = int(x0)
				top := 0
				if sh.Form == "ramp" {
					top = int(float64(h) * (1 - l.ramp(it, it.From)))
				}
				fmt.Fprintf(&d.path, "M%d %dh1v%dh-1z", int(x0), y+top, h-top)
			}
			continue
		case sh.Form == "ramp":
			top := func(at time.Duration) string { return px(float64(y) + float64(h)*(1-l.ramp(it, at))) }
			m.Points = fmt.Sprintf("%s,%d %s,%s %s,%s %s,%d", px(x0), y+h, px(x0), top(it.From), px(x1), top(it.To), px(x1), y+h)
		case sh.Form == "tick":
			m.Form, m.W = "bar", "2"
		}
		s.Shapes = append(s.Shapes, m)
		if it.Label == "" {
			continue
		}
		t := caption{Class: "label l-" + it.Kind, X: px(x0 + 6), Y: y + h/2 + 4, Text: it.Label}
		if sh.H == 0 { // a fault names itself at the top of the lane, where no other does
			end := x0 + letter*float64(utf8.RuneCountInString(it.Label))
			if slices.ContainsFunc(named, func(at [2]float64) bool { return x0 < at[1] && at[0] < end }) {
				continue
			}
			t.Y, named = y+11, append(named, [2]float64{x0, end})
		} else if letter*float64(utf8.RuneCountInString(it.Label))+10 > x1-x0 {
			continue
		}
		s.Texts = append(s.Texts, t)
	}
	for _, d := range dusts {
		s.Shapes = append(s.Shapes, mark{Form: "path", Class: d.class, Points: d.path.String()})
	}
}

func (it item) class() string {
	if it.Color == noColor {
		return "k-" + it.Kind
	}
	return fmt.Sprintf("k-%s o%d", it.Kind, it.Color)
}

func (l *lane) colorClass() string {
	if l.Color == noColor {
		return "name"
	}
	return fmt.Sprintf("name o%d", l.Color)
}

func px(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}

// axisStep is a round step that divides a span into at most n parts.
func axisStep(span time.Duration, n int) time.Duration {
	least := max(float64(span)/float64(n), 1)
	base := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		if base*m >= least {
			return time.Duration(base * m)
		}
	}
	return time.Duration(base * 10)
}

// axisText writes a time with as many decimals as the step needs.
func axisText(t, step time.Duration) string {
	decimals := max(0, -int(math.Floor(math.Log10(step.Seconds()))))
	return fmt.Sprintf("%.*f s", decimals, t.Seconds())
}
