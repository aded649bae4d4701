package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// A source mutant is this program, compiled with one mistake in lockimpl: the go command lays the edited
// files over the checkout's, of which none is touched. Its worker is given the jobs of "simrun -scenario
// all" and of "simrun explore -first", which it does with a lock that is broken.

const modulePath = "github.com/holdfast-sim/holdfast"

// patience is how long a mutant may take for a job of some runs, which takes a sound lock a second or
// two. One that spins in virtual time takes for ever.
const patience = 2 * time.Minute

// sourceHunt hunts source mutants.
type sourceHunt struct {
	root        string // of the checkout
	dir         string // for what is built
	runs, seeds int
	config      explore.Config // without subject
	sound       *local         // workers with the lock as it is
}

// huntSources builds and hunts the mutants, as many at once as there are processors, so that the builds
// of some go on beside the hunts of others.
func huntSources(ctx context.Context, mutants []broken.SourceMutant, o *mutantOrder, stdout, stderr io.Writer) int {
	begun := time.Now()
	root, err := checkout(ctx)
	if err != nil {
		return fail(stderr, checker.ExitUsage, "mutants: -source: %v", err)
	}
	dir, err := os.MkdirTemp("", "simrun-mutants-")
	if err != nil {
		return fail(stderr, checker.ExitHarness, "mutants: %v", err)
	}
	defer os.RemoveAll(dir)
	h := sourceHunt{root: root, dir: dir, runs: o.runs, seeds: o.seeds, sound: newLocal(),
		config: explore.Config{Version: explore.Version, Strategy: o.strategy, Scope: scenarios.Whole()}}
	defer h.sound.dismiss()
	bar := newProgress(stderr, len(mutants))
	results := make([][]caught, len(mutants))
	next := make(chan int)
	var mu sync.Mutex
	var slots sync.WaitGroup
	for range runtime.NumCPU() {
		slots.Go(func() {
			for i := range next {
				found := h.hunt(ctx, mutants[i])
				mu.Lock()
				results[i] = found
				bar.done(checker.ExitExpected)
				mu.Unlock()
			}
		})
	}
	var names []string
	unseen := map[string]string{}
	for i, m := range mutants {
		names, unseen[m.Name] = append(names, m.Name), m.Unseen
		next <- i
	}
	close(next)
	slots.Wait()
	bar.clear()
	return tellMutants(ctx, names, unseen, results, begun, o.json, stdout, stderr)
}

// checkout returns the root of the module's source that the working directory is in.
func checkout(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("there is no go command to build mutants with: install Go")
	}
	// Anywhere else the go command fails, or names another module.
	out, _ := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	path, root, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if path != modulePath {
		return "", fmt.Errorf("this is no checkout of %s: mutants are built from its source", modulePath)
	}
	return root, nil
}

// hunt builds a mutant and hunts it.
func (h *sourceHunt) hunt(ctx context.Context, m broken.SourceMutant) []caught {
	var found []caught
	defer func() {
		for n := range found {
			found[n].ended = ctx.Err() != nil
		}
	}()
	program, err := h.build(ctx, m)
	if err != nil {
		return append(found, caught{error: err.Error()})
	}
	defer os.Remove(program)
	by, err := h.scenarios(ctx, m, program)
	if err != nil {
		return append(found, caught{error: err.Error()})
	}
	for n := 0; n < h.seeds && ctx.Err() == nil; n++ {
		one := caught{by: by}
		if by == "" {
			one = h.explore(ctx, m, program, uint64(n)*1_000_000+1)
		}
		found = append(found, one)
	}
	if !slices.ContainsFunc(found, func(c caught) bool { return c.by == "" && c.error == "" }) {
		return found
	}
	if by, err = h.plan(ctx, m, program); err != nil {
		return append(found, caught{error: err.Error()})
	}
	for n := range found {
		if found[n].error == "" {
			found[n].by = cmp.Or(found[n].by, by)
		}
	}
	return found
}

// build compiles the mutant, and returns the program's path.
func (h *sourceHunt) build(ctx context.Context, m broken.SourceMutant) (string, error) {
	lock := filepath.Join(h.root, "lockimpl")
	files, err := m.Apply(func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(lock, file)) })
	if err != nil {
		return "", err
	}
	dir := filepath.Join(h.dir, m.Name)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, source := range files {
		edited := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(edited), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(edited, []byte(source), 0o666); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(lock, file)] = edited
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o666); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "simrun")
	// What is compiled anew for each mutant is not optimized, and what only debuggers read is left out: that
	// halves the time.
	build := exec.CommandContext(ctx, "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program,
		"-buildvcs=false", "-ldflags=-s -w", "-gcflags="+modulePath+"/lockimpl=-N -l", "-gcflags="+modulePath+"/subjects=-N -l",
		"./cmd/simrun")
	build.Dir = h.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(out))
	}
	return program, nil
}

// scenarios runs all default scenarios, as "simrun -scenario all" does, and says which verdict, if any,
// shows the mutant: one that is not as expected, or a run that the harness could not finish.
func (h *sourceHunt) scenarios(ctx context.Context, m broken.SourceMutant, program string) (by string, err error) {
	return h.shown(ctx, m, program, "-scenario", everything)
}

// plan runs the plan that was written for the mutant, if there is one, with its seed, and says what shows it there.
func (h *sourceHunt) plan(ctx context.Context, m broken.SourceMutant, program string) (by string, err error) {
	plans := filepath.Join(h.root, "testdata", "plans")
	file := filepath.Join(plans, m.Name+".json")
	if _, err := os.Stat(file); err != nil {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(plans, "seeds.json"))
	if err != nil {
		return "", err
	}
	var seeds map[string]uint64 // 1 where none is named
	if err := json.Unmarshal(b, &seeds); err != nil {
		return "", err
	}
	return h.shown(ctx, m, program, "-plan", file, "-seed", strconv.FormatUint(cmp.Or(seeds[m.Name], 1), 10))
}

// shown runs what arguments of simrun name, and says which run, if any, shows the mutant. A run that ends so with the sound lock,
// too, shows nothing.
func (h *sourceHunt) shown(ctx context.Context, m broken.SourceMutant, program string, args ...string) (by string, err error) {
	o, err := parse(context.Background(), append(args, "-subject", m.Sound, "-out", nowhere))
	if err != nil {
		return "", err
	}
	w, sound := &worker{program: program}, &worker{}
	defer w.dismiss()
	defer sound.dismiss()
	jobs, _ := o.jobs()
	for _, j := range jobs {
		name := cmp.Or(j.Scenario, "its plan")
		r, err := h.ask(ctx, w, j)
		switch {
		case err != nil:
			return "", err
		case r.Code == checker.ExitUnexpected:
			as, err := h.ask(ctx, sound, j)
			if err != nil {
				return "", err
			}
			if as.Code != checker.ExitUnexpected || whyNot(as.Summary.Verdict) != whyNot(r.Summary.Verdict) {
				return fmt.Sprintf("%s: %s", name, strings.TrimPrefix(whyNot(r.Summary.Verdict), unexpected)), nil
			}
		case r.Code == checker.ExitHarness:
			return fmt.Sprintf("%s: %s", name, r.Error), nil
		}
	}
	return "", nil
}

// explore explores until the mutant is accused, as "simrun explore -first" does, in a run that does not
// accuse the sound lock of the same.
func (h *sourceHunt) explore(ctx context.Context, m broken.SourceMutant, program string, seed uint64) caught {
	w := &worker{program: program}
	defer w.dismiss()
	config := h.config
	config.Subject = m.Sound
	for done := 0; done < h.runs; done += explore.ShardRuns {
		shard := explore.Shard{Config: config, From: seed + uint64(done), Runs: min(explore.ShardRuns, h.runs-done)}
		r, err := h.ask(ctx, w, job{Subject: m.Sound, Shard: &shard, Runs: 1, Out: nowhere})
		switch {
		case err != nil:
			return caught{error: err.Error()}
		case r.Report == nil:
			return caught{runs: done + 1, by: "its process died"}
		case r.Report.Failure != nil:
			return caught{runs: int(r.Report.Failure.Seed-seed) + 1, by: "a run failed"}
		}
		var first *explore.Found
		for i, f := range r.Report.Found {
			if first != nil && first.Seed <= f.Seed {
				continue
			}
			sound, err := h.accusesSound(ctx, config, f)
			if err != nil {
				return caught{error: err.Error()}
			}
			if !sound {
				first = &r.Report.Found[i]
			}
		}
		if first != nil {
			return caught{runs: int(first.Seed-seed) + 1, by: string(first.Guarantee)}
		}
	}
	return caught{runs: h.runs}
}

// accusesSound reports whether the lock as it is would be accused of the same in the same run.
func (h *sourceHunt) accusesSound(ctx context.Context, config explore.Config, f explore.Found) (bool, error) {
	report, err := h.sound.Run(ctx, explore.Shard{Config: config, From: f.Seed, Runs: 1})
	if err != nil {
		return false, err
	}
	for _, same := range report.Found {
		if same.Cause() == f.Cause() {
			return true, nil
		}
	}
	return false, nil
}

// ask has a mutant's worker do a job of one result, within its patience.
func (h *sourceHunt) ask(ctx context.Context, w *worker, j job) (result, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := w.do(limited, j)[0]
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		r.Error = cmp.Or(r.Error, "it does not end")
	}
	return r, ctx.Err()
}
