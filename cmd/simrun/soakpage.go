package main

import (
	"bytes"
	"context"
	"fmt"
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
		{Name: "calls", Value: fmt.Sprintf("%d, %.0f a second", r.Calls, r.Rate())},
		{Name: "granted", Value: fmt.Sprint(r.Granted)}, {Name: "busy", Value: fmt.Sprint(r.Busy)},
		{Name: "failed", Value: fmt.Sprint(r.Failed)}, {Name: "unknown", Value: fmt.Sprint(r.Unknown)},
		{Name: "clients that died", Value: fmt.Sprint(r.Deaths)},
		{Name: "tryLock", Value: quantiles(&r.Acquire)}, {Name: "unlock", Value: quantiles(&r.Release)},
		{Name: "clients, locks, lease", Value: fmt.Sprintf("%d, %d, %v", c.Clients, c.Locks, c.Watchdog)},
		{Name: "faults", Value: fmt.Sprint(r.Faults)},
	}}
	for _, k := range c.Faults {
		l.Numbers = append(l.Numbers, reports.Number{Name: k.Name, Value: fmt.Sprint(r.Struck[k.Name])})
	}
	calls, memory := reports.Series{Title: "Calls", Unit: "/s"}, reports.Series{Title: "Memory", Unit: "MB"}
	var last soak.Sample
	for _, s := range r.Samples {
		calls.Points = append(calls.Points, reports.Point{At: s.At, Value: float64(s.Calls-last.Calls) / (s.At - last.At).Seconds()})
		memory.Points = append(memory.Points, reports.Point{At: s.At, Value: float64(s.RSS) / (1 << 20)})
		last = s
	}
	l.Series = []reports.Series{calls, memory}
	return l
}

func quantiles(l *soak.Latencies) string {
	return fmt.Sprintf("half within %v, 99 %% within %v", l.Quantile(0.5).Round(10*time.Microsecond), l.Quantile(0.99).Round(10*time.Microsecond))
}
