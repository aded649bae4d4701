package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// crew runs jobs in worker processes, one for each processor. They are started when there is work
// for them, and stay until the crew is dismissed.
type crew struct {
	workers []worker
}

// newCrew makes a crew for as many jobs at once; no more than are of use.
func newCrew(jobs int) crew { return crew{make([]worker, min(jobs, runtime.NumCPU()))} }

// crewFor makes the crew that an order asks for. Runs in real time wait more than they work, so that several share a
// processor; more of them would be late too often.
func crewFor(o order, jobs int) crew {
	most := runtime.NumCPU()
	if o.place.live() {
		most *= 4
	}
	return crew{make([]worker, min(jobs, cmp.Or(o.atOnce, most)))}
}

// dismiss ends the workers' processes.
func (c crew) dismiss() {
	for i := range c.workers {
		c.workers[i].dismiss()
	}
}

// ahead is how many jobs may be done whose results wait for those of a job before them.
const ahead = 100

// run does all jobs, which it draws as workers are free for them, and hands each result, in the order of the jobs
// and their seeds, to each. A worker that dies costs the run it was at, which gets a result that says so, and
// is replaced. When ctx ends, jobs that are under way are done, and no others.
func (c crew) run(ctx context.Context, jobs iter.Seq[job], each func(j job, r result)) {
	type task struct {
		job
		results chan []result // of one
	}
	tasks, order := make(chan task), make(chan task, ahead)
	var crew sync.WaitGroup
	for n := range c.workers {
		crew.Go(func() {
			for t := range tasks {
				t.results <- c.workers[n].do(context.Background(), t.job)
			}
		})
	}
	go func() {
		defer close(order)
		defer close(tasks)
		for j := range jobs {
			t := task{j, make(chan []result, 1)}
			select {
			case tasks <- t:
				order <- t
			case <-ctx.Done():
				return
			}
		}
	}()
	for t := range order {
		for _, r := range <-t.results {
			each(t.job, r)
		}
	}
	crew.Wait()
}

// worker is one worker process. The zero value is one that has yet to be started.
type worker struct {
	program string // "": this one
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *lastWords
}

func (w *worker) start() error {
	w.stderr = &lastWords{}
	program := w.program
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		program = self
	}
	w.process = exec.Command(program, workerCommand)
	w.process.Env = workerEnvironment()
	w.process.Stderr = w.stderr
	var err error
	if w.in, err = w.process.StdinPipe(); err != nil {
		return err
	}
	out, err := w.process.StdoutPipe()
	if err != nil {
		return err
	}
	w.out = bufio.NewReader(out)
	return w.process.Start()
}

// workerEnvironment is ours, with two settings of Go's runtime: a bubble is fastest on one processor,
// and a run makes much garbage but keeps little, so that collecting it less often saves a fifth of
// the time for some 30 MB (unless the user has an opinion).
func workerEnvironment() []string {
	env := append(os.Environ(), "GOMAXPROCS=1")
	if os.Getenv("GOGC") == "" {
		env = append(env, "GOGC=400")
	}
	return env
}

// do has the worker do a job, and returns a result for each of its runs. The end of ctx is the end of the
// worker's process.
func (w *worker) do(ctx context.Context, j job) []result {
	var results []result
	if s, probed := processes[j.Subject]; probed && !j.Probe {
		j.Layout = &s.Layout
	}
	for len(results) < j.Runs {
		rest := j
		rest.Seed, rest.Runs = j.Seed+uint64(len(results)), j.Runs-len(results)
		if err := w.ask(ctx, rest, &results); err != nil {
			at := result{Seed: j.Seed + uint64(len(results))}.failed(j, err)
			at.Stack, at.died = w.stderr.String(), w.process != nil
			results = append(results, at)
			w.process = nil
		}
	}
	return results
}

// ask sends the job and reads results until there is one for each run, or the worker dies.
func (w *worker) ask(ctx context.Context, j job, results *[]result) error {
	if w.process == nil {
		if err := w.start(); err != nil {
			w.process = nil
			return fmt.Errorf("cannot start a worker process: %w", err)
		}
	}
	process := w.process.Process
	defer context.AfterFunc(ctx, func() { _ = process.Kill() })()
	if err := json.NewEncoder(w.in).Encode(j); err != nil {
		return w.died(err)
	}
	for range j.Runs {
		line, err := w.out.ReadBytes('\n')
		if err != nil {
			return w.died(err)
		}
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			_ = process.Kill() // it runs still, and is of no use
			return w.died(fmt.Errorf("it wrote %.80q", line))
		}
		*results = append(*results, r)
		if r.Short != "" { // it has ended
			(*results)[len(*results)-1].died = true
			w.in.Close()
			_ = w.process.Wait()
			w.process = nil
			return nil
		}
	}
	return nil
}

// died says how the worker ended, by the last lastWords of its runtime if there are any. A worker that has closed its output is about
// to end by itself. A signal would hide why.
func (w *worker) died(err error) error {
	w.in.Close()
	process := w.process.Process
	hung := time.AfterFunc(exitTime, func() { _ = process.Kill() })
	defer hung.Stop()
	state := w.process.Wait()
	if state != nil {
		err = state
	}
	return fmt.Errorf("the worker process died: %w", w.stderr.of(err))
}

// exitTime is how long a worker that has closed its output may take to end.
const exitTime = 5 * time.Second

func (w *worker) dismiss() {
	if w.process != nil {
		w.in.Close()
		_ = w.process.Wait() // it has answered everything: how it ends does not matter
	}
}
