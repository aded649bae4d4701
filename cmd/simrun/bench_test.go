package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// simrunFor runs the program and returns the processor time of it and its workers, and what it
// printed.
func simrunFor(b *testing.B, args ...string) (time.Duration, string) {
	b.Helper()
	cmd := exec.Command(simrun, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), string(out)
}

// One run of a minute of virtual time as a user starts it: two processes, history, verdict, report.
func BenchmarkWatchdogDeath(b *testing.B) {
	out := b.TempDir()
	for b.Loop() {
		simrunFor(b, "-scenario", "watchdog-death", "-out", out)
	}
}

// Seeds 1 to 1000, judged, without reports.
func BenchmarkThousandRuns(b *testing.B) {
	for b.Loop() {
		_, out := simrunFor(b, "-scenario", "watchdog-death", "-runs", "1000", "-out", "none")
		if !strings.Contains(out, "1000 as expected") {
			b.Fatal(out)
		}
	}
}

// What a message costs in processor time, in the whole line from the client's write to the verdict
// and the summary, processes' start included: 10 clients × 100 critical sections.
func BenchmarkMessage(b *testing.B) {
	file := filepath.Join(b.TempDir(), "traffic.json")
	if err := os.WriteFile(file, scenarios.Traffic("traffic", 1, 10, 100).JSON(), 0o666); err != nil {
		b.Fatal(err)
	}
	count := regexp.MustCompile(`([\d,]+) messages`)
	var used time.Duration
	messages := 0
	for b.Loop() {
		t, out := simrunFor(b, "-plan", file, "-out", "none")
		n, err := strconv.Atoi(strings.ReplaceAll(count.FindStringSubmatch(out)[1], ",", ""))
		if err != nil {
			b.Fatal(err)
		}
		used += t
		messages += n
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(messages), "cpu-ns/message")
	b.ReportMetric(float64(messages)/float64(b.N), "messages/op")
}

// A drawn plan of 8 clients and 200 operations, among which some work too long while watchdogs are
// paused, is shrunk to the smallest: the figures are the time, and the clients that are left.
func BenchmarkShrink(b *testing.B) {
	for seed := range uint64(3) {
		b.Run(fmt.Sprint(seed), func(b *testing.B) {
			p := scenarios.Traffic("traffic", seed, 8, 5)
			for i, c := range p.Clients {
				p.Faults = append(p.Faults, plan.Fault{Kind: "pause-watchdog", Client: c.Name, From: plan.Duration(time.Duration(i) * time.Second)})
				if s := c.Threads[0].Steps; s[0].Do == plan.Lock {
					s[1].For = plan.Duration(100 * time.Second) // the work of its first section
				}
			}
			steps := 0
			for _, c := range p.Clients {
				steps += len(c.Threads[0].Steps)
			}
			file := filepath.Join(b.TempDir(), "traffic.json")
			if err := os.WriteFile(file, p.JSON(), 0o666); err != nil {
				b.Fatal(err)
			}
			clients := 0
			for b.Loop() {
				_, out := simrunFor(b, "shrink", file, "-guarantee", "exclusion", "-out", "none")
				clients = strings.Count(out, `"threads"`)
			}
			b.ReportMetric(float64(steps), "steps")
			b.ReportMetric(float64(clients), "clients-left")
		})
	}
}
