package reports

import (
	"fmt"
	"time"
)

// histogram is a distribution of durations as a chart. Its steps are 1, 2, 5, 10, ...: what it
// shows spans from microseconds to minutes.
//
// It is drawn by a template, as the timeline is: a library of charts would bring more script than
// the whole page has, for two pictures that need none.
type histogram struct {
	Title, About, None      string
	N                       int
	Least, Median, P95, Max string
	Width, Height, Floor    int
	Bars                    []histogramBar
}

type histogramBar struct {
	X, W, Y, H  int
	From, Label string
	Axis        string // From, unless there is no room
	Count       string
	Zero        bool
}

const (
	chartWidth  = 520
	chartHeight = 170
	chartFloor  = 140 // where the bars stand
	chartTop    = 18
)

// newHistogram makes a chart of sorted durations.
func newHistogram(title, about, none string, sorted []time.Duration) histogram {
	h := histogram{Title: title, About: about, None: none, N: len(sorted), Width: chartWidth, Height: chartHeight, Floor: chartFloor}
	if len(sorted) == 0 {
		return h
	}
	at := func(share float64) string { return length(sorted[int(share*float64(len(sorted)-1))]) }
	h.Least, h.Median, h.P95, h.Max = at(0), at(0.5), at(0.95), at(1)

	edges := []time.Duration{floor125(sorted[0])}
	for len(edges) < 2 || edges[len(edges)-1] <= sorted[len(sorted)-1] {
		edges = append(edges, next125(edges[len(edges)-1]))
	}
	counts := make([]int, len(edges)-1)
	most, bin := 0, 0
	for _, d := range sorted {
		for d >= edges[bin+1] {
			bin++
		}
		counts[bin]++
		most = max(most, counts[bin])
	}
	wide := min(64, (chartWidth-40)/len(counts))
	every := 1 + 44/wide // bars to a label
	for i, n := range counts {
		tall := (chartFloor - chartTop) * n / most
		if n > 0 {
			tall = max(tall, 1)
		}
		h.Bars = append(h.Bars, histogramBar{X: 20 + i*wide, W: wide - 2, Y: chartFloor - tall, H: tall, From: roundLength(edges[i]),
			Label: fmt.Sprintf("%s from %s to %s", Thousands(n), roundLength(edges[i]), roundLength(edges[i+1])), Count: Thousands(n), Zero: n == 0})
		if i%every == 0 {
			h.Bars[i].Axis = h.Bars[i].From
		}
	}
	return h
}

// Right is where the last bar ends.
func (h histogram) Right() int {
	last := h.Bars[len(h.Bars)-1]
	return last.X + last.W
}

// floor125 is the greatest of 1, 2, 5, 10, ... µs that is not greater than d, 1 µs at least.
func floor125(d time.Duration) time.Duration {
	at := time.Microsecond
	for next125(at) <= d {
		at = next125(at)
	}
	return at
}

func next125(d time.Duration) time.Duration {
	unit := time.Microsecond
	for unit*10 <= d {
		unit *= 10
	}
	switch d / unit {
	case 1:
		return 2 * unit
	case 2:
		return 5 * unit
	}
	return 10 * unit
}

// roundLength writes a round duration shortly: "5 ms", "20 s".
func roundLength(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d >= time.Millisecond:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
	return fmt.Sprintf("%d µs", d/time.Microsecond)
}
