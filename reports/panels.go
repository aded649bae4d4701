package reports

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Panels are curves below each other on one axis, with one column for each step of it. Whoever points at a column reads all
// that was measured there. It needs no script: what a column says is its title, which a script shows at once.
type Panels struct {
	Title, About string
	Clock        bool     // the axis is a time in seconds
	Steps        []Step   // of the axis, in order
	Panels       []Panel  // from the top
	Marks        []Marked // rows of marks below the curves
}

// Step is a column of [Panels].
type Step struct {
	At    float64 // where it ends; the first begins at 0
	Label string  // what At is, in words
}

// Panel is one of [Panels]. Each of its lines has a value for each step. NaN is where nothing was measured: a gap.
type Panel struct {
	Title string
	Says  func(float64) string // a value in words
	Log   bool                 // whether equal heights are equal ratios: for what is now and then a thousand times as large
	Lines []Line
}

// Line is one curve of a [Panel].
type Line struct {
	Name   string // empty if there is one line only
	Values []float64
}

// Marked is a row of marks: in which steps something was, and how often.
type Marked struct {
	Name   string
	Counts []int
}

const (
	panelsWidth  = 1040
	panelsLeft   = 200 // of the plot; names are before it
	panelsRight  = 1030
	panelHeight  = 84
	panelPlot    = 60 // of its height
	markHeight   = 18
	panelsLegend = 26 // below all, for the axis
)

// panelsView is what the template sees of it.
type panelsView struct {
	Title, About        string
	Width, Height       int
	Left, Right, Bottom int
	Panels              []panelView
	Marks               []markView
	Columns             []columnView
	Ticks               []tickView
	Cells               [][]string // the same as a table
	Heads               []string
}

type panelView struct {
	Title, Peak string
	Y, Floor    int
	Paths       []pathView
	Rungs       []rungView
}

// tickView is a mark on the axis.
type tickView struct {
	X    float64
	Says string
	End  bool // it stands before its place, not around it
}

// rungView is a line at a round value.
type rungView struct {
	Y    float64
	Says string
}

type pathView struct {
	Class, D, Name string
	X              int // of its name
}

type markView struct {
	Name   string
	Y      int
	Ranges []columnView
}

type columnView struct {
	X, W float64
	Says string
}

// view draws them; nil: there is nothing to be seen.
func (p *Panels) view() *panelsView {
	if p == nil || len(p.Steps) == 0 {
		return nil
	}
	v := &panelsView{Title: p.Title, About: p.About, Width: panelsWidth, Left: panelsLeft, Right: panelsRight,
		Ticks: p.ticks(), Heads: []string{"until"}}
	says := make([][]string, len(p.Steps))
	tell := func(name string, text func(i int) string) {
		v.Heads = append(v.Heads, name)
		for i := range says {
			says[i] = append(says[i], text(i))
		}
	}
	y := 6
	for _, panel := range p.Panels {
		if pv, ok := panel.view(p.Steps, y); ok {
			v.Panels = append(v.Panels, pv)
			y += panelHeight
			for _, l := range panel.Lines {
				tell(strings.TrimSpace(panel.Title+" "+l.Name), func(i int) string { return panel.says(l.Values[i]) })
			}
		}
	}
	for _, m := range p.Marks {
		mv := markView{Name: Visible(m.Name), Y: y}
		for i, n := range m.Counts {
			if n > 0 {
				x, w := column(p.Steps, i)
				mv.Ranges = append(mv.Ranges, columnView{X: x, W: max(w, 2)})
			}
		}
		v.Marks = append(v.Marks, mv)
		y += markHeight
		tell(mv.Name, func(i int) string { return fmt.Sprint(m.Counts[i]) })
	}
	v.Bottom, v.Height = y, y+panelsLegend
	for i, s := range p.Steps {
		x, w := column(p.Steps, i)
		text := []string{s.Label}
		for n, what := range says[i] {
			if what != "0" && what != unmeasured {
				text = append(text, v.Heads[n+1]+": "+what)
			}
		}
		v.Columns = append(v.Columns, columnView{X: x, W: w, Says: strings.Join(text, "\n")})
		v.Cells = append(v.Cells, append([]string{s.Label}, says[i]...))
	}
	return v
}

// unmeasured is what a table has where there is no value.
const unmeasured = "–"

func (p Panel) says(x float64) string {
	if math.IsNaN(x) {
		return unmeasured
	}
	return p.Says(x)
}

// ticks are round values of the axis, and its end. None stands where the end is named.
func (p *Panels) ticks() []tickView {
	const most, room = 8, 70 // how many, and how wide a name is
	last := p.Steps[len(p.Steps)-1]
	step := max(1, float64(axisStep(time.Duration(last.At), most)))
	says := func(x float64) string { return Thousands(int(x)) }
	if p.Clock {
		every := clockStep(time.Duration(last.At*float64(time.Second)), most)
		step, says = every.Seconds(), func(x float64) string { return clockText(time.Duration(math.Round(x*float64(time.Second))), every) }
	}
	var ts []tickView
	for n := 0.0; ; n++ {
		x := panelsLeft + n*step/last.At*(panelsRight-panelsLeft)
		if n > 0 && x > panelsRight-room {
			break
		}
		ts = append(ts, tickView{X: x, Says: says(n * step)})
	}
	return append(ts, tickView{X: panelsRight, Says: last.Label, End: true})
}

// clockStep is a step that clocks have, which divides a time into at most n parts.
func clockStep(span time.Duration, n int) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Minute, time.Hour} {
		for _, m := range []time.Duration{1, 2, 5, 10, 20, 30} {
			if step := m * unit; span > time.Duration(n)*time.Second && span <= time.Duration(n)*step {
				return step
			}
		}
	}
	if span > time.Duration(n)*time.Second {
		return 24 * time.Hour * (1 + span/(time.Duration(n)*24*time.Hour))
	}
	return axisStep(span, n)
}

// clockText is a time on an axis in the unit of its step.
func clockText(t, step time.Duration) string {
	switch {
	case t == 0:
		return "0"
	case step >= time.Hour:
		return fmt.Sprintf("%d h", t/time.Hour)
	case step >= time.Minute:
		return fmt.Sprintf("%d min", t/time.Minute)
	}
	return axisText(t, step)
}

// column is where a step lies in the plot, and how wide it is.
func column(steps []Step, i int) (x, w float64) {
	end := steps[len(steps)-1].At
	at := func(t float64) float64 { return panelsLeft + t/end*(panelsRight-panelsLeft) }
	from := 0.0
	if i > 0 {
		from = steps[i-1].At
	}
	return at(from), at(steps[i].At) - at(from)
}

// view draws a panel; ok is false if all its values are 0.
func (p Panel) view(steps []Step, y int) (v panelView, ok bool) {
	peak := 0.0
	for _, l := range p.Lines {
		for _, x := range l.Values {
			if x > peak { // NaN is not
				peak = x
			}
		}
	}
	if peak <= 0 {
		return v, false
	}
	v = panelView{Title: p.Title, Peak: "at most " + p.Says(peak), Y: y, Floor: y + 18 + panelPlot}
	share := func(x float64) float64 { return max(x, 0) / peak }
	if p.Log {
		share = p.rungs(&v, peak)
	} else {
		p.level(&v, peak)
	}
	for n, l := range p.Lines {
		var d strings.Builder
		gap := true // nothing is drawn before
		for i, value := range l.Values {
			if math.IsNaN(value) {
				gap = true
				continue
			}
			x, w := column(steps, i)
			high := float64(v.Floor) - panelPlot*share(value)
			if gap {
				gap = false
				fmt.Fprintf(&d, "M%.1f %.1f", x, high)
			}
			fmt.Fprintf(&d, "V%.1fH%.1f", high, x+w)
		}
		v.Paths = append(v.Paths, pathView{Class: fmt.Sprintf("line o%d", n), D: d.String(), Name: l.Name, X: n * 42})
	}
	return v, true
}

// level draws lines at round values, three at most.
func (p Panel) level(v *panelView, peak float64) {
	step := max(1, float64(axisStep(time.Duration(peak), 3)))
	for at := step; at <= peak; at += step {
		v.Rungs = append(v.Rungs, rungView{Y: float64(v.Floor) - panelPlot*at/peak, Says: p.Says(at)})
	}
}

// rungs draws a line at each power of ten, and returns how high a value stands, from 0 to 1. What is nothing stands on the floor.
func (p Panel) rungs(v *panelView, peak float64) func(float64) float64 {
	least := peak
	for _, l := range p.Lines {
		for _, x := range l.Values {
			if x > 0 {
				least = min(least, x)
			}
		}
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(peak))
	high = max(high, low+1)
	every := math.Ceil((high - low) / 4) // more lines than four lie too close to be named
	share := func(x float64) float64 {
		if x <= 0 {
			return 0
		}
		return (math.Log10(x) - low) / (high - low)
	}
	for at := low + every; at <= high; at += every {
		v.Rungs = append(v.Rungs, rungView{Y: float64(v.Floor) - panelPlot*(at-low)/(high-low), Says: p.Says(math.Pow(10, at))})
	}
	return share
}
