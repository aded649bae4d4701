package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// The files that a run leaves, besides its reports.
const (
	planFile    = "plan.json"
	historyFile = "history.jsonl"
	serverFile  = "server.jsonl"
	verdictFile = "verdict.json"
	reportFile  = "report.html"
)

// errNoRun says that a folder is none that a run left.
var errNoRun = errors.New("there is no " + historyFile + " and no " + verdictFile)

// mostRecords is how many records of a history are read if nobody says otherwise: with what it takes to judge
// them, a few gigabytes.
const mostRecords = 8_000_000

// recordSize is about how many bytes of memory it takes to judge one.
const recordSize = 700

// affordable is how many records are read where there is less memory than that: a process that dies of a history
// judges nothing.
func affordable() history.Limit {
	return max(1, history.Limit(health.MemoryLeft(mostRecords*recordSize)/recordSize))
}

// mostBytes is how long any other file of a run may be.
const mostBytes = 64 << 20

// open opens a file of a run. Who opens a pipe waits until somebody writes to it: only regular files are a run's.
func open(files fs.FS, name string) (fs.File, error) {
	info, err := fs.Stat(files, name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return nil, err
	}
	return files.Open(name)
}

// read reads a file of a run whole.
func read(files fs.FS, name string) ([]byte, error) {
	f, err := open(files, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(b) > mostBytes {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it is longer than %d MiB", mostBytes>>20)}
	}
	return b, err
}

// loadRun reads a stored run from its folder. A run without a verdict has none, as when it was
// killed; one of which only the verdict is left has no history.
func loadRun(ctx context.Context, files fs.FS, dir string) (reports.Run, error) {
	var r reports.Run
	var err error
	if r.Verdict, err = loadVerdict(files, dir); err != nil {
		return r, err
	}
	if r.History, err = loadHistory(ctx, files, dir, affordable()); err != nil && !errors.Is(err, history.ErrTruncated) {
		return r, err
	}
	if r.Verdict == nil && r.History == nil {
		return r, errNoRun
	}
	if _, err := fs.Stat(files, path.Join(dir, pictureFile)); err == nil {
		r.Picture = pictureFile
	}
	return r, nil
}

// loadVerdict returns nil if there is none.
func loadVerdict(files fs.FS, dir string) (*checker.Verdict, error) {
	b, err := read(files, path.Join(dir, verdictFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", verdictFile, cause(err))
	}
	v := &checker.Verdict{}
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%s: %w", verdictFile, err)
	}
	if v.Version < 1 || v.Version > checker.VerdictVersion {
		return nil, fmt.Errorf("%s: version %d, but this program reads versions 1 to %d", verdictFile, v.Version, checker.VerdictVersion)
	}
	return v, nil
}

// loadHistory returns nil if there is none. The last line of a killed run may be cut off: then there
// is a history, and an error that is history.ErrTruncated.
func loadHistory(ctx context.Context, files fs.FS, dir string, most history.Limit) (*history.History, error) {
	var readers []io.Reader
	for _, name := range []string{historyFile, serverFile} {
		f, err := open(files, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			if name == historyFile {
				return nil, nil
			}
			continue
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, cause(err))
		}
		defer f.Close()
		readers = append(readers, f)
	}
	h, err := most.Load(ctx, readers...)
	switch {
	case errors.Is(err, history.ErrTruncated):
	case err != nil && len(readers) == 1:
		err = fmt.Errorf("%s: %w", historyFile, err)
	case err != nil:
		err = fmt.Errorf("%s or %s: %w", historyFile, serverFile, err)
	}
	return certain(h, err, len(readers) > 1)
}

// killed reports whether a history is that of a run of ours that was killed. A soak has no server log, and is judged without.
func killed(h *history.History) bool {
	return h != nil && h.End == nil && h.Header.Scenario != "" && !isSoak(h)
}

// errNoLog says that nothing is certain of a killed run.
var errNoLog = errors.New("the run was killed, so that only its server log tells what is certain of it: " + serverFile + " must be beside " + historyFile)

// certain returns what is certain of a history that was read, as far as it could be. logged says that a server log was read with
// it, though it may be empty.
func certain(h *history.History, err error, logged bool) (*history.History, error) {
	switch {
	case err != nil && !errors.Is(err, history.ErrTruncated), !killed(h):
		return h, err
	case !logged && len(h.Served) == 0:
		return nil, errNoLog
	}
	return evidence.Certain(h), err
}

// judging says what a stored run is to be held to: that of a plan to what its lock claims.
func judging(h *history.History) checker.Options {
	if s, ok := scenarios.Find(h.Header.Scenario); ok {
		return judgingOf(s, h.Header.Subject)
	}
	return checker.Options{Unpredicted: true, Told: true}
}

// judge judges a stored history: what simrun soak recorded as that does, so that both say the same. shown
// is the part of it that shows the verdict: all, or the window in which a soak broke.
func judge(ctx context.Context, h *history.History, o checker.Options) (v *checker.Verdict, shown *history.History) {
	if !isSoak(h) {
		return checker.Judge(ctx, h, o), h
	}
	v, part, _ := checker.JudgeInWindows(ctx, h, o)
	if part == nil {
		part = h
	}
	return v, part
}

// commandOf reproduces a stored run. dir is where its plan is.
func commandOf(run reports.Run, dir string) string {
	v := run.Verdict
	if v.Scenario == soak.Scenario {
		return again([]string{"check", dir}) // in real time it does not come again
	}
	words := []string{self(), "-scenario", v.Scenario}
	if _, ok := scenarios.Find(v.Scenario); !ok {
		words = []string{self(), "-plan", quoted(path.Join(dir, planFile))}
	}
	if v.Subject != defaultSubject {
		words = append(words, "-subject", quoted(v.Subject))
	}
	where := place{World: v.World, Timescale: 1}
	if run.History != nil {
		where.Timescale = scale(cmp.Or(run.History.Header.Timescale, 1))
		for program := range run.History.Header.Versions {
			if strings.HasSuffix(program, "-server") && (program != "redis-server" || v.World == warpWorld) {
				where.Server = program
			}
		}
	}
	words = append(words, where.words()...)
	return strings.Join(append(words, "-seed", fmt.Sprint(v.Seed)), " ")
}
