//go:build linux

package main

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// BenchmarkSoakRecording says what recording and judging cost a soak:
//
//	go test ./cmd/simrun -run '^$' -bench SoakRecording -benchtime 30x
//
// Each iteration is the same two seconds of it without either, recorded, and recorded and judged, on one
// server, in an order that turns. What else the machine does changes from second to second, so that
// the figures are medians over the iterations: of the calls in a second, and of what is lost of them
// against the neighbour without; and of the processor time of a call, the server's included, and what
// is added to it. Where processors are what there is too little of the two say the same; the second
// less noisily.
func BenchmarkSoakRecording(b *testing.B) {
	needRedis(b)
	s, err := redisserver.Start(b.Context(), redisserver.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	o, err := parseSoak([]string{"-for", "2s", "-faults", "none"})
	if err != nil {
		b.Fatal(err)
	}
	o.Server, o.Name = soak.Server{Own: s, Options: s.RedisOptions}, "holdfast:bench"

	const off, recorded, judged = "off", "recorded", "judged"
	file := filepath.Join(b.TempDir(), historyFile)
	once := func(way string) (rate, work float64) {
		c, done := o.Config, func(*soak.Result) {}
		if way != off {
			j, err := newJournal(file)
			if err != nil {
				b.Fatal(err)
			}
			judge := checker.NewStream(c.Header(nil), checker.Options{})
			add := func(any) {}
			if way == judged {
				add, c.Crowded = judge.Add, judge.Crowded
			}
			c.Out = func(r any) {
				j.record(r)
				add(r)
			}
			done = func(r *soak.Result) {
				if err := j.close(); err != nil {
					b.Fatal(err)
				}
				if v := judge.Close(context.Background(), history.End{At: r.Length}); way == judged && v.Ops < int(r.Calls) {
					b.Fatalf("%d of %d calls judged", v.Ops, r.Calls)
				}
			}
		}
		begun, used := time.Now(), processorTime(b, s)
		r, err := soak.Run(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		done(r)
		calls := float64(r.Calls)
		return calls / time.Since(begun).Seconds(), float64((processorTime(b, s) - used).Microseconds()) / calls
	}

	ways, figures, turn := []string{off, recorded, judged}, map[string][]float64{}, 0
	for b.Loop() {
		rate, work := map[string]float64{}, map[string]float64{}
		for i := range ways {
			way := ways[(turn+i)%len(ways)]
			rate[way], work[way] = once(way)
		}
		turn++
		note := func(name string, v float64) { figures[name] = append(figures[name], v) }
		for _, way := range ways {
			note(way+"-calls/s", rate[way])
			note(way+"-cpu-µs/call", work[way])
			if way != off {
				note(way+"-%-fewer", 100*(1-rate[way]/rate[off]))
				note(way+"-%-cpu", 100*(work[way]/work[off]-1))
			}
		}
	}
	for name, all := range figures {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name)
	}
}

// processorTime is what we have used, and the server.
func processorTime(b *testing.B, s *redisserver.Server) time.Duration {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	used := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	info, err := s.Client().Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			used += time.Duration(seconds * float64(time.Second))
		}
	}
	return used
}
