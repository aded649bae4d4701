package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// isSoak reports whether a history is a soak's, which is judged in windows and has a page of its own.
func isSoak(h *history.History) bool { return h != nil && h.Header.Scenario == soak.Scenario }

// soaked makes of a soak's stored run what its page shows: the part in which it broke first, if it did, and
// what the history tells of the whole. It is judged for that; a verdict that it has stays.
func soaked(ctx context.Context, run *reports.Run) *soak.Result {
	v, part, window := checker.JudgeInWindows(ctx, run.History, judging(run.History))
	if run.Verdict == nil {
		run.Verdict = v
	}
	c, r := soak.Recount(run.History)
	run.Long = long(c, r, window)
	if run.History.End == nil {
		run.Long.Numbers = append(run.Long.Numbers, reports.Number{Name: "end", Value: "none: the run was killed"})
	}
	run.History, run.Picture = part, ""
	return r
}

// leavePart writes the part of a soak's history in which it broke first; nil: it did not.
func leavePart(dir *folder, part *history.History) error {
	if part == nil {
		return nil
	}
	var b bytes.Buffer
	if err := history.Save(&b, part); err != nil {
		return err
	}
	return dir.write(partFile, b.Bytes())
}

// long is what the report shows of the whole run.
func long(c soak.Config, r *soak.Result, window *checker.Verdict) *reports.Long {
	l := &reports.Long{Window: window, Numbers: []reports.Number{
		{Name: "calls", Value: fmt.Sprintf("%s, %s a second", reports.Thousands(int(r.Calls)), reports.Thousands(int(math.Round(r.Rate()))))},
		{Name: "granted", Value: reports.Thousands(int(r.Granted))}, {Name: "busy", Value: reports.Thousands(int(r.Busy))},
		{Name: "failed", Value: reports.Thousands(int(r.Failed))}, {Name: "unknown", Value: reports.Thousands(int(r.Unknown))},
		{Name: "clients that died", Value: reports.Thousands(int(r.Deaths))},
		{Name: "tryLock", Value: quantiles(&r.Acquire)}, {Name: "unlock", Value: quantiles(&r.Release)},
		{Name: "clients, locks, lease", Value: fmt.Sprintf("%s, %s, %g s", reports.Thousands(c.Clients), reports.Thousands(c.Locks), c.Watchdog.Seconds())},
		{Name: "faults", Value: reports.Thousands(int(r.Faults))},
	}}
	for _, k := range c.Faults {
		l.Numbers = append(l.Numbers, reports.Number{Name: k.Name, Value: reports.Thousands(int(r.Struck[k.Name]))})
	}
	l.Chart = course(r.Samples)
	return l
}

// course is how a soak went, on one axis: what was done, how long it took, what failed, which faults struck.
func course(samples []soak.Sample) *reports.Panels {
	whole := func(unit string) func(float64) string {
		return func(v float64) string { return strings.TrimSpace(reports.Thousands(int(math.Round(v))) + " " + unit) }
	}
	took := func(v float64) string {
		if v >= 999.5 {
			return fmt.Sprintf("%.3g s", v/1000)
		}
		return fmt.Sprintf("%.3g ms", v)
	}
	var rate, half, most, nearly, errors, memory []float64
	p := &reports.Panels{Clock: true, Title: "The course of the run", About: "Throughput, how long a tryLock took, errors and faults on one axis. Point at a moment to read it."}
	var last soak.Sample
	for _, s := range samples {
		p.Steps = append(p.Steps, reports.Step{At: s.At.Seconds(), Label: checker.Stamp(s.At.Round(time.Millisecond))})
		rate = append(rate, float64(s.Calls-last.Calls)/(s.At-last.At).Seconds())
		half = append(half, within(&s, 0.5))
		most = append(most, within(&s, 0.95))
		nearly = append(nearly, within(&s, 0.99))
		errors = append(errors, float64(s.Errors-last.Errors))
		memory = append(memory, float64(s.RSS)/(1<<20))
		last = s
	}
	p.Panels = []reports.Panel{
		{Title: "calls", Says: whole("/s"), Lines: []reports.Line{{Values: rate}}},
		{Title: "tryLock", Says: took, Log: true, Lines: []reports.Line{{Name: "p50", Values: half}, {Name: "p95", Values: most}, {Name: "p99", Values: nearly}}},
		{Title: "errors", Says: whole(""), Lines: []reports.Line{{Values: errors}}},
		{Title: "memory", Says: whole("MB"), Lines: []reports.Line{{Values: memory}}},
	}
	for _, kind := range struckKinds(samples) {
		m := reports.Marked{Name: kind}
		for _, s := range samples {
			m.Counts = append(m.Counts, s.Struck[kind])
		}
		p.Marks = append(p.Marks, m)
	}
	return p
}

// struckKinds are the kinds of faults that struck in the time of the samples, sorted.
func struckKinds(samples []soak.Sample) []string {
	all := map[string]bool{}
	for _, s := range samples {
		for kind := range s.Struck {
			all[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// within is how many milliseconds a part of a sample's calls took at most. Where none returned there is no such time.
func within(s *soak.Sample, part float64) float64 {
	d := s.Took.Quantile(part)
	if d == 0 {
		return math.NaN()
	}
	return milliseconds(d)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantiles(l *soak.Latencies) string {
	return fmt.Sprintf("half within %.2f ms, 99 %% within %.2f ms", milliseconds(l.Quantile(0.5)), milliseconds(l.Quantile(0.99)))
}
