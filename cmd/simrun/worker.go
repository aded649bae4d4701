package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// A worker process reads jobs and writes results, one JSON object a line.

const workerCommand = "worker"

// job is a run, or several that differ in their seeds.
type job struct {
	Scenario string     `json:"scenario,omitzero"`
	Plan     *plan.Plan `json:"plan,omitempty"` // instead of a scenario
	Subject  string     `json:"subject"`
	Seed     uint64     `json:"seed"` // the first
	Runs     int        `json:"runs"`
	Out      string     `json:"out"` // a folder, or "none"
	Place    place      `json:"place"`
	Show     *show      `json:"show"`           // nil: no summary is wanted
	Whole    bool       `json:"whole,omitzero"` // the whole verdict is wanted, with its story
	Prove    bool       `json:"prove,omitzero"` // causes are to be tried by runs without faults, if the world is sim
	Command  string     `json:"command"`

	Layout *history.Layout `json:"layout,omitempty"` // of the subject, if it was probed
	Probe  bool            `json:"probe,omitzero"`   // its layout is wanted, not a run

	Shrink    bool               `json:"shrink,omitzero"`    // the smallest plan is wanted, not a run
	Smallest  string             `json:"smallest,omitzero"`  // the command that will run it; empty: no page is wanted
	Guarantee contract.Guarantee `json:"guarantee,omitzero"` // that must stay broken; default the first that is
	Cause     string             `json:"cause,omitzero"`     // of the accusation that must stay, instead of Guarantee

	Shard *explore.Shard `json:"shard,omitempty"` // a part of a search, not a run
	Hunt  *explore.Shard `json:"hunt,omitempty"`  // the same, but it ends at the first accusation
}

// show says how to write the summary for the terminal.
type show struct {
	Color   bool `json:"color"`
	Width   int  `json:"width"`
	Verbose bool `json:"verbose"`
}

// result is what came out of one run.
type result struct {
	Seed     uint64          `json:"seed"`
	Code     int             `json:"code"`
	Summary  reports.Summary `json:"summary"`
	Covered  []fault.Count   `json:"covered,omitempty"`
	Dir      string          `json:"dir,omitzero"`
	Text     string          `json:"text,omitzero"`  // for the terminal
	Error    string          `json:"error,omitzero"` // of the harness
	Stack    string          `json:"stack,omitzero"` // where it came from, for -v
	Short    string          `json:"short,omitzero"` // for want of what the worker ended, and with it the run
	died     bool            // the worker did, before it could say where the run is kept
	Warnings []string        `json:"warnings,omitempty"`
	Lost     []string        `json:"lost,omitempty"` // what could not be rendered or written, and why

	// Of shrinking: the smallest plan, how many were tried, and what it breaks, and why.
	Plan  *plan.Plan         `json:"plan,omitempty"`
	Page  []byte             `json:"page,omitempty"` // the report of the whole run, with the smallest beside it
	Tried int                `json:"tried,omitzero"`
	Tries int                `json:"tries,omitzero"` // how many it could try
	Broke contract.Guarantee `json:"broke,omitzero"`
	Class contract.Class     `json:"class,omitzero"`

	Report *explore.Report `json:"report,omitempty"` // of a shard
	Layout *history.Layout `json:"layout,omitempty"` // of a probe
}

// work is the worker's main loop. What becomes of a job when a command is to end, of which every process
// of its group may hear, is for the process that gave it to say; when that is gone, see take.
func work(b *bubble.Bubbles, in io.Reader, out io.Writer) int {
	signal.Notify(make(chan os.Signal, 1), ends...)
	jobs := make(chan job)
	go take(in, jobs)
	results := json.NewEncoder(out)
	var at atomic.Pointer[job] // the run that is done now, or nil
	go health.Watch(nil, func(short error) {
		if j := at.Swap(nil); j != nil { // nobody else says more of it
			_ = results.Encode(result{Seed: j.Seed}.short(*j, short))
			os.Exit(checker.ExitHarness)
		}
	})
	for {
		j, more := <-jobs
		if !more {
			return checker.ExitExpected
		}
		for i := range j.Runs {
			one := j
			one.Seed += uint64(i)
			at.Store(&one)
			r := runOne(b, j, one.Seed)
			if !at.CompareAndSwap(&one, nil) {
				select {} // the process is about to end
			}
			if err := results.Encode(r); err != nil {
				return checker.ExitHarness
			}
		}
	}
}

// take hands on the jobs that it reads, and closes jobs at their end. If that comes while one is being
// done, nobody is there any more who wants to know: the process ends, with all that it has started.
func take(in io.Reader, jobs chan<- job) {
	decoder := json.NewDecoder(bufio.NewReader(in))
	for {
		var j job
		if err := decoder.Decode(&j); errors.Is(err, io.EOF) {
			close(jobs)
			time.Sleep(orphaned)
			os.Exit(checker.ExitHarness)
		} else if err != nil {
			os.Exit(checker.ExitHarness)
		}
		jobs <- j
	}
}

// orphaned is how long a worker that is asked nothing more may take to end by itself.
const orphaned = 2 * time.Second

// runOne runs, saves, judges and reports one run.
func runOne(b *bubble.Bubbles, j job, seed uint64) (res result) {
	if isProcess(j.Subject) {
		if err := openProcess(context.Background(), j.Subject, io.Discard); err != nil {
			return res.failed(j, err)
		}
	}
	subject, _ := findSubject(j.Subject)
	if j.Layout != nil {
		subject.Layout = *j.Layout
	}
	switch {
	case j.Probe:
		layout, err := sim.Probe(b, subject, sim.Options{Seed: seed})
		if err != nil {
			return res.failed(j, err)
		}
		return result{Layout: &layout}
	case j.Shrink:
		return shrinkOne(b, j)
	case j.Shard != nil:
		r := explore.Do(b, subject, *j.Shard)
		return result{Report: &r}
	case j.Hunt != nil:
		broke, _ := broken.Find(j.Subject)
		sound, _ := subjects.Find(broke.Sound)
		r := explore.Hunt(b, subject, sound, *j.Hunt)
		return result{Report: &r}
	}
	res.Seed = seed
	begun := time.Now()
	defer func() { res.Summary.Wall = time.Since(begun) }()
	p, judging, name := j.Plan, checker.Options{Unpredicted: true, Told: true}, j.name()
	if p == nil {
		scenario, _ := scenarios.Find(j.Scenario)
		p, _ = scenario.For(seed, subject.Can)
		judging = judgingOf(scenario, j.Subject)
	} else {
		p, _ = scenarios.Fit(p, subject.Can)
	}
	ground, prefix, err := j.Place.ground()
	if err != nil {
		return res.failed(j, err)
	}
	store, err := newFolder(j.Out, folderName(name), seed)
	if err != nil {
		return res.failed(j, err)
	}
	res.Dir = store.dir
	if prefix != "" {
		p = p.WithPrefix(prefix)
	}
	h, runErr := sim.Run(b, p, subject, sim.Options{Seed: seed, Scenario: name, Ground: ground, Sink: store.record})
	if err := errors.Join(store.close(h), store.write(planFile, append(p.JSON(), '\n'))); err != nil {
		return res.failed(j, err)
	}
	if runErr != nil {
		var panicked *sim.PanicError
		if errors.As(runErr, &panicked) {
			res.Stack = string(panicked.Stack)
		}
		return res.failed(j, runErr)
	}
	judging.Also = opinion
	v := checker.Judge(context.Background(), h, judging)
	if j.Prove && !ground.Live && !ground.Warped && v.Trouble() == "" {
		explore.Prove(b, p, subject, h, v, judging)
	}
	res.judged(j, h, v)
	if v.Disagreement != "" {
		res.Error += leaveDisagreement(context.Background(), store, disagreementFile, h, judging)
	}
	if h.End.Late > sim.Punctual {
		res.Warnings = append(res.Warnings, fmt.Sprintf("the machine was as much as %v late, in the plan's time, so that this may be another story: "+
			"give it less to do, or a longer -timescale", h.End.Late.Round(time.Millisecond)))
	}
	coverage := fault.Coverage{}
	coverage.Add(h)
	res.Covered = coverage.Counts()
	res.report(j, store, h, v)
	return res
}

// judgingOf says what a run is to be held to: what its scenario foretells of our own locks, and of
// others what they claim.
func judgingOf(s scenarios.Scenario, subject string) checker.Options {
	found, own := subjects.Find(subject)
	if !own || !predicted(subject) {
		return checker.Options{Unpredicted: true}
	}
	o := checker.Options{Expect: checker.Expectation{}}
	for _, g := range s.Breaks(found.Can) {
		o.Expect[g] = checker.Broken
	}
	return o
}

// predicted reports whether scenarios foretell how a subject fares.
func predicted(subject string) bool {
	return slices.ContainsFunc(subjects.Everything(), func(s subjects.Subject) bool { return s.Name == subject })
}

// folderName is a name of a run that can be one of a folder.
func folderName(name string) string {
	name = filepath.Base(filepath.Clean("/" + name))
	if name == "/" || name == "." {
		return "plan"
	}
	return name
}

func (r result) failed(j job, err error) result {
	r.Code, r.Error = checker.ExitHarness, err.Error()
	r.Summary = reports.Failed(j.name(), j.Subject, r.Seed, r.Error)
	return r
}

// short is the result of a run for which there was too little of something.
func (r result) short(j job, err error) result {
	r.Code, r.Error, r.Short = checker.ExitUndecided, err.Error(), err.Error()
	r.Summary = reports.Undecided(j.name(), j.Subject, r.Seed, r.Error)
	return r
}

// sameAs reports whether a job is of a scenario and a subject.
func (j job) sameAs(scenario, subject string) bool {
	return j.Scenario == scenario && j.Subject == subject
}

// name is what the job's runs are runs of.
func (j job) name() string {
	if j.Plan != nil {
		return j.Plan.Name
	}
	return j.Scenario
}

func (r *result) judged(j job, h *history.History, v *checker.Verdict) {
	r.Code = v.Code()
	r.Summary = reports.Summarize(h, v, j.Whole)
	r.Error = v.Trouble()
}

// report writes the run's reports and the summary. The verdict stands where they cannot be written, but not the
// exit code.
func (r *result) report(j job, store *folder, h *history.History, v *checker.Verdict) {
	warn := func(what string, err error) {
		if err != nil {
			r.Lost, r.Code = append(r.Lost, fmt.Sprintf("%s: %v", what, err)), checker.Worst(r.Code, checker.ExitHarness)
		}
	}
	page := ""
	if store.dir != "" {
		run := reports.Run{Verdict: v, History: h, Command: j.Command}
		run.Picture = picture(store, h, v, warn)
		page = render(store, run, false, warn)
		warn("latest", store.latest())
	}
	if j.Show != nil {
		var b bytes.Buffer
		o := reports.TerminalOptions{Color: j.Show.Color, Width: j.Show.Width, Verbose: j.Show.Verbose,
			History: h, Report: page, Command: j.Command}
		warn("summary", reports.Terminal(&b, v, o))
		r.Text = b.String()
	}
}

const pictureFile = "porcupine.html"

// picture writes porcupine's own picture of the lock that broke first, or of the first lock, and
// returns its name, or "" if there is none.
func picture(store *folder, h *history.History, v *checker.Verdict, warn func(string, error)) string {
	lock := ""
	for _, op := range h.Ops {
		if op.Kind.OnLock() {
			lock = op.Lock
			break
		}
	}
	for _, r := range v.Results {
		if len(r.Violations) > 0 && r.Violations[0].Lock != "" {
			lock = r.Violations[0].Lock
			break
		}
	}
	var drawn, b bytes.Buffer
	switch err := checker.Picture(&drawn, h, lock, checker.DefaultBudget); {
	case errors.Is(err, checker.ErrTooLarge), errors.Is(err, checker.ErrNoSuchLock):
		return ""
	case err != nil:
		warn(pictureFile, err)
		return ""
	}
	err := reports.Porcupine(&b, drawn.Bytes(), reports.PorcupineOf{Lock: lock, Run: fmt.Sprintf("%s, %s, seed %d", v.Scenario, v.Subject, v.Seed)})
	if err == nil {
		err = store.write(pictureFile, b.Bytes())
	}
	if err != nil {
		warn(pictureFile, err)
		return ""
	}
	return pictureFile
}
