package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// soakProgress shows how a soak goes: on a terminal in one line that changes, elsewhere in a line
// every ten seconds.
type soakProgress struct {
	w    io.Writer
	bar  *progressbar.ProgressBar // nil: lines
	last soak.Sample
}

// plainEvery is the time between two lines where there is no terminal.
const plainEvery = 10 * time.Second

func newSoakProgress(w io.Writer, length time.Duration) *soakProgress {
	p := &soakProgress{w: w}
	if redraws(w) {
		p.bar = progressbar.NewOptions(int(length/time.Second), progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(16),
			progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(false))
	}
	return p
}

// show takes a sample, and how many operations have been judged.
func (p *soakProgress) show(s soak.Sample, judged int) {
	if p.bar == nil && s.At-p.last.At < plainEvery-time.Second/2 {
		return
	}
	rate := float64(s.Calls-p.last.Calls) / (s.At - p.last.At).Seconds()
	text := fmt.Sprintf("%s calls/s, %s faults, %s died, %d MB", reports.Thousands(int(math.Round(rate))), reports.Thousands(int(s.Faults)), soak.Clients(s.Deaths, reports.Thousands), s.RSS>>20)
	if judged > 0 {
		text += fmt.Sprintf(", %s operations judged", reports.Thousands(judged))
	}
	if p.last = s; p.bar == nil {
		fmt.Fprintf(p.w, "%4.0f s  %s\n", s.At.Seconds(), text)
		return
	}
	p.bar.Describe(text)
	_ = p.bar.Set(int(s.At / time.Second)) // a bar that cannot be drawn harms nobody
}

func (p *soakProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
