package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/subjects/external"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

func workerCheckFlags(asJSON *bool) *flag.FlagSet {
	f := newFlags("worker-check")
	f.BoolVar(asJSON, "json", false, "each check's result on standard output, as JSON, one a line")
	return f
}

// workerCheck finds out whether a program is a worker (docs/worker.md).
func workerCheck(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var asJSON bool
	f := workerCheckFlags(&asJSON)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return helpOn(stdout, "worker-check")
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "worker-check: %v", flagError(f, err))
	}
	command := strings.TrimPrefix(strings.Join(f.Args(), " "), external.Prefix)
	words := strings.Fields(command)
	if len(words) == 0 {
		return fail(stderr, checker.ExitUsage, "worker-check: say which program: simrun worker-check ./my-worker")
	}
	if l, ok := workers.Find(command); ok {
		var err error
		if words, err = l.Command(ctx, func(what string) { say(stderr, "simrun: %s\n", what) }); ctx.Err() != nil {
			return interrupted(ctx, stderr, checker.ExitExpected, "worker-check: interrupted: nothing was checked")
		} else if err != nil {
			return fail(stderr, checker.ExitHarness, "worker-check: %s: %v", command, err)
		}
	} else if _, err := exec.LookPath(words[0]); err != nil {
		return fail(stderr, checker.ExitUsage, "worker-check: %v", err)
	}
	server, err := checkServer(ctx)
	if ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "worker-check: interrupted: nothing was checked")
	} else if err != nil {
		return fail(stderr, checker.ExitHarness, "worker-check: %v", err)
	}
	defer server.close()
	if !asJSON {
		say(stdout, "%s, on %s\n\n", command, server.name)
	}
	counts := map[external.Status]int{}
	passed := external.Check(ctx, words, server.url, health.Lateness, func(r external.Result) {
		counts[r.Status]++
		if asJSON {
			line, _ := json.Marshal(r) // strings, always encodable
			say(stdout, "%s\n", reports.VisibleJSON(line))
			return
		}
		say(stdout, "  %-11s  %-15s  %s\n", r.Status, r.Name, strings.TrimLeft(indent(r.About, 32, 46), " "))
		if r.Said != "" {
			say(stdout, "%31s it is %s\n", "", r.Said)
		}
		if r.Got != "" {
			say(stdout, "%s\n", indent("but: "+r.Got, 32, 46))
		}
	})
	undecided := ""
	if n := counts[external.Undecided]; n > 0 {
		undecided = fmt.Sprintf(", %d undecided", n)
	}
	if !asJSON {
		say(stdout, "\n%d ok, %d FAILED, %d not claimed, %d not reached%s\n",
			counts[external.Passed], counts[external.Failed], counts[external.NotClaimed], counts[external.NotReached], undecided)
	}
	code := checker.ExitExpected
	switch {
	case passed || ctx.Err() != nil:
	case counts[external.Failed] == 0:
		code = checker.ExitUndecided
	default:
		code = checker.ExitUnexpected
	}
	return interrupted(ctx, stderr, code, "worker-check: interrupted: what follows was not checked")
}

// checkedOn is the Redis server that a worker is checked on.
type checkedOn struct {
	name, url string
	close     func()
}

// checkServer starts a redis-server, or a miniredis if there is none.
func checkServer(ctx context.Context) (checkedOn, error) {
	if _, err := exec.LookPath("redis-server"); err == nil {
		s, err := redisserver.Start(ctx, redisserver.Options{})
		if err != nil {
			return checkedOn{}, err
		}
		return checkedOn{s.Software().String(), "redis://" + s.Addr(), func() { s.Close() }}, nil
	}
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return checkedOn{}, err
	}
	done := make(chan struct{})
	go passTime(m, done)
	return checkedOn{"miniredis (no redis-server is on PATH)", "redis://" + m.Addr(), func() { close(done); m.Close() }}, nil
}

// passTime has a miniredis's keys expire in real time, to a few milliseconds.
func passTime(m *miniredis.Miniredis, done <-chan struct{}) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case now := <-tick.C:
			m.FastForward(now.Sub(last))
			last = now
		case <-done:
			return
		}
	}
}
