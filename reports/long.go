package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

// Long is what the report of a long run has instead of its whole history, which nobody could look
// at: how it went over time, and the part in which something broke first, if anything did.
type Long struct {
	// Window is the verdict on the history that the page is given, which is a part of the run; nil if
	// it is given none.
	Window  *checker.Verdict
	Numbers []Number
	Series  []Series
}

// Number is something that was counted.
type Number struct{ Name, Value string }

// Series is something that was measured from time to time.
type Series struct {
	Title, Unit string
	Points      []Point
}

// Point is one measurement; it counts for the time since the one before.
type Point struct {
	At    time.Duration
	Value float64
}

// longView is what the template sees of it.
type longView struct {
	Numbers []fact
	Charts  []seriesChart
	Part    string // which part the picture shows; empty: there is none
}

type seriesChart struct {
	Title, About         string
	Width, Height, Floor int
	Area                 string // a path
	Peak, End            string
}

const (
	seriesHeight = 120
	seriesFloor  = 100
	seriesTop    = 16
)

func (l *Long) view(length time.Duration) *longView {
	v := &longView{}
	for _, n := range l.Numbers {
		v.Numbers = append(v.Numbers, fact{Visible(n.Name), Visible(n.Value)})
	}
	for _, s := range l.Series {
		if c, ok := s.chart(length); ok {
			v.Charts = append(v.Charts, c)
		}
	}
	if l.Window != nil {
		v.Part = "The picture and the operations are those of the first part of the run in which something broke."
	}
	return v
}

// chart draws a series; ok is false if there is nothing to be seen.
func (s Series) chart(length time.Duration) (c seriesChart, ok bool) {
	var peak, sum float64
	for _, p := range s.Points {
		peak = max(peak, p.Value)
		sum += p.Value
	}
	if len(s.Points) == 0 || peak <= 0 || length <= 0 {
		return c, false
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M0 %d", seriesFloor)
	for _, p := range s.Points {
		x := float64(min(p.At, length)) / float64(length) * chartWidth
		fmt.Fprintf(&path, "V%.1fH%.1f", seriesFloor-(seriesFloor-seriesTop)*max(p.Value, 0)/peak, x)
	}
	fmt.Fprintf(&path, "V%dz", seriesFloor)
	amount := func(v float64) string { return strings.TrimSpace(thousands(int(v+0.5)) + " " + s.Unit) }
	return seriesChart{
		Title: Visible(s.Title), Width: chartWidth, Height: seriesHeight, Floor: seriesFloor, Area: path.String(),
		Peak: "at most " + amount(peak), End: checker.Stamp(length),
		About: fmt.Sprintf("%s on average, at most %s, %s at the end", amount(sum/float64(len(s.Points))), amount(peak), amount(s.Points[len(s.Points)-1].Value)),
	}, true
}
