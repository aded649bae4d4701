package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

// progress shows how far many runs are: how many are done, at what rate, how many were not as
// expected so far, and how long the rest will take. It says nothing where there is no terminal, or a dumb one,
// and nothing in the first second.
type progress struct {
	bar      *progressbar.ProgressBar // nil: nothing is shown
	quiet    func() bool              // whether it is too early to show anything
	behind   int                      // runs that the bar has not been told of
	failures int
	told     int // failures that the bar has been told of
}

func newProgress(w io.Writer, runs int) *progress {
	if !redraws(w) {
		return &progress{}
	}
	begun := time.Now()
	return newBar(w, runs, 100*time.Millisecond, func() bool { return time.Since(begun) < time.Second })
}

// redraws reports whether w is a terminal that can draw over what it shows, which a dumb one cannot.
func redraws(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// newBar draws at most once in every.
func newBar(w io.Writer, runs int, every time.Duration, quiet func() bool) *progress {
	bar := progressbar.NewOptions(runs,
		progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("runs"),
		progressbar.OptionSetPredictTime(true), progressbar.OptionSetWidth(24), progressbar.OptionThrottle(every),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(false))
	bar.StartWithoutRender() // or it would count the time from when it is shown first
	return &progress{quiet: quiet, bar: bar}
}

// done counts one run.
func (p *progress) done(code int) {
	if p.bar == nil {
		return
	}
	p.behind++
	if code != checker.ExitExpected {
		p.failures++
	}
	if p.quiet() {
		return
	}
	if p.failures > p.told {
		p.told = p.failures
		p.bar.Describe(fmt.Sprintf("%d not as expected", p.failures))
	}
	_ = p.bar.Add(p.behind) // a bar that cannot be drawn harms nobody
	p.behind = 0
}

// clear takes the bar away, so that a line can be printed; the next run brings it back.
func (p *progress) clear() {
	if p.bar != nil && !p.quiet() {
		_ = p.bar.Clear()
	}
}

// waiting tells a terminal what takes long and for how long it has, from the first second on, in a line that the caller takes away.
func waiting(w io.Writer, every time.Duration, says func(time.Duration) string) (away func()) {
	if !redraws(w) {
		return func() {}
	}
	begun, end, gone := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		shown, tick := 0, time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				if shown > 0 {
					_, _ = io.WriteString(w, "\r"+strings.Repeat(" ", shown)+"\r")
				}
				return
			case <-tick.C:
				text := reports.Visible(says(time.Since(begun)))
				if wider := []rune(text); len(wider) >= wide { // what goes on below cannot be drawn over
					text = string(wider[:wide-2]) + "…"
				}
				_, _ = io.WriteString(w, fmt.Sprintf("\r%-*s", shown, text)) // of text nothing is unprintable
				shown = max(shown, utf8.RuneCountInString(text))
			}
		}
	}()
	return func() { close(end); <-gone }
}

// running says for how long a run has been under way, in the time of its plan too where that is another.
func (j job) running(took time.Duration) string {
	text := fmt.Sprintf("%s: running for %.0f s", j.name(), took.Seconds())
	if j.Place.World != simWorld && j.Place.World != warpWorld && j.Place.Timescale != 1 {
		text += fmt.Sprintf(", %.0f s of its plan", took.Seconds()/float64(j.Place.Timescale))
	}
	return text
}
