package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/external"
)

// runCommand is simrun without a subcommand.
func runCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "")
	case ctx.Err() != nil:
		return interrupted(ctx, stderr, checker.ExitExpected, "interrupted before it began")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "%v", err)
	}
	if o.rerun && len(o.failed) == 0 {
		return fail(stderr, checker.ExitExpected, "-rerun-failed: of %s %s in %s none was unexpected: there is nothing to run again", reports.Thousands(o.ran), plural("run", o.ran), o.last)
	}
	if err := writable(o.out); err != nil {
		return fail(stderr, blame(err), "-out %s: %v", o.out, err)
	}
	if err := o.place.enough(); err != nil {
		return fail(stderr, checker.ExitHarness, "-world %s: %v", o.place.World, err)
	}
	if err := openProcesses(ctx, o.locks(), o.place, stderr); ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "interrupted before it began")
	} else if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fail(stderr, checker.ExitUsage, "%v", err)
	} else if err != nil { // it is there, and no worker
		return fail(stderr, checker.ExitHarness, "%v", err)
	}
	jobs, left := o.jobs()
	if len(jobs) == 0 {
		return fail(stderr, checker.ExitUsage, "-subject %s: nothing to run: %s", o.subject, left[0].why)
	}
	tellLeftOut(left, o.quiet, stderr)
	if len(jobs) == 1 && o.runs == 1 && !o.rerun {
		return single(ctx, o, jobs[0], stdout, stderr).Code
	}
	return several(ctx, o, jobs, args, stdout, stderr)
}

// writable makes the folder and tries it, so that a run is not lost for want of one.
func writable(out string) error {
	if out == nowhere {
		return nil
	}
	if !utf8.ValidString(out) { // workers would be told of another
		return errors.New("it is not valid UTF-8")
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return cause(err)
	}
	// One name for all: what a command leaves that is killed here is removed by the next.
	probe, err := os.OpenFile(filepath.Join(out, ".probe"), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return cause(err)
	}
	defer os.Remove(probe.Name())
	_, err = probe.Write(make([]byte, 1)) // a full disk still takes an empty file
	if err = errors.Join(err, probe.Close()); err != nil {
		return cause(err)
	}
	return health.Disk(out, 0, leastRoom)
}

// A command does not begin with less than that.
const (
	leastRoom   = 16 << 20 // of the disk of a folder, which some hundred runs fill
	leastMemory = 32 << 20 // for a process
)

// blame says whether an error is about what the user named, or about a machine that has nothing left.
func blame(err error) int {
	if health.Exhausted(err) {
		return checker.ExitHarness
	}
	return checker.ExitUsage
}

// cause is what went wrong, without the path, which the caller names.
func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// leftOut is what an order asks for and a subject cannot do.
type leftOut struct{ scenario, subject, why string }

// tellLeftOut says what is not run, and why: a line for each scenario and reason, or one for all to who wants quiet.
func tellLeftOut(left []leftOut, quiet bool, stderr io.Writer) {
	if quiet && len(left) > 1 {
		fail(stderr, checker.ExitExpected, "%s pairs of a scenario and a lock are not run, which do not suit each other: without -quiet each is named", reports.Thousands(len(left)))
		return
	}
	told := map[leftOut]bool{}
	for _, l := range left {
		of := leftOut{scenario: l.scenario, why: l.why}
		if told[of] {
			continue
		}
		told[of] = true
		var locks []string
		for _, other := range left {
			if other.scenario == l.scenario && other.why == l.why {
				locks = append(locks, other.subject)
			}
		}
		fail(stderr, checker.ExitExpected, "%s is not run with %s: %s", l.scenario, strings.Join(locks, ", "), l.why)
	}
}

// jobs are the runs that the order asks for, one job for each scenario and subject, and what is left
// out.
func (o order) jobs() (jobs []job, left []leftOut) {
	if o.rerun {
		return o.failedJobs()
	}
	names := []string{o.scenario}
	if o.plan == nil {
		names = chosen(o.scenario, scenarios.Names())
	}
	var others []leftOut // whoever asks for all means those that go together
	for _, name := range names {
		for _, lock := range o.locks() {
			why := o.lacks(name, lock)
			switch {
			case scenarios.OfAnother(why) && (chooses(o.scenario) || chooses(o.subject)):
				others = append(others, leftOut{name, lock, why})
			case why != "":
				left = append(left, leftOut{name, lock, why})
			default:
				jobs = append(jobs, o.job(name, lock, o.seed, o.runs))
			}
		}
	}
	if len(jobs) == 0 {
		left = append(left, others...)
	}
	return jobs, left
}

// job is some runs of the order.
func (o order) job(scenario, lock string, seed uint64, runs int) job {
	return job{Scenario: scenario, Plan: o.plan, Subject: lock, Seed: seed, Runs: runs, Out: nowhere, Place: o.place, Command: o.command(scenario, lock, seed)}
}

// chooses reports whether a name stands for more than one.
func chooses(name string) bool { return name == everything || strings.ContainsAny(name, "*?[,") }

// locks are the names of the subjects that the order asks for.
func (o order) locks() (names []string) {
	switch {
	case strings.HasPrefix(o.subject, external.Prefix):
		return []string{o.subject}
	case o.subject == everything:
		for _, s := range subjects.Everything() {
			names = append(names, s.Name)
		}
		return names
	}
	return chosen(o.subject, subjectNames())
}

// command reproduces one run.
func (o order) command(scenario, subject string, seed uint64) string {
	words := []string{self()}
	if o.planFile != "" {
		words = append(words, "-plan", quoted(o.planFile))
	} else {
		words = append(words, "-scenario", scenario)
	}
	if subject != defaultSubject {
		words = append(words, "-subject", quoted(subject))
	}
	words = append(words, o.place.words()...)
	return strings.Join(append(words, "-seed", fmt.Sprint(seed)), " ")
}

// self is what the user calls this program.
func self() string {
	file, err := os.Executable()
	switch _, here := os.Stat("cmd/simrun/main.go"); {
	case err != nil || !strings.Contains(file, "go-build"):
		return "simrun"
	case here != nil:
		return "go run " + modulePath + "/cmd/simrun"
	}
	return "go run ./cmd/simrun" // as the reader of the README started it
}

// single runs once and tells the story.
func single(ctx context.Context, o order, j job, stdout, stderr io.Writer) result {
	j.Out, j.Whole, j.Prove = o.out, true, !o.noProof
	if !o.json {
		j.Show = showOn(stdout, o.verbose)
	}
	w := &worker{}
	defer w.dismiss()
	begun, away := time.Now(), waiting(stderr, time.Second, j.running)
	r := w.do(ctx, j)[0]
	away()
	if ctx.Err() != nil {
		r.Code = interrupted(ctx, stderr, checker.ExitExpected, "interrupted%s", saved(j, r))
		return r
	}
	r.Summary.Command = j.Command
	if !o.quiet || r.Code != checker.ExitExpected {
		fmt.Fprint(stdout, r.Text)
	}
	if o.quiet && !o.json {
		if r.Code != checker.ExitExpected {
			say(stdout, "\n") // below its story
		}
		total(stdout, []reports.Summary{r.Summary}, time.Since(begun))
	}
	if o.json {
		_ = reports.JSON(stdout, r.Summary.Verdict)
	}
	r.Code = checker.Worst(r.Code, o.leave(reports.Batch{Runs: []reports.Summary{r.Summary}, Command: j.Command}, stderr))
	if o.verbose && !o.json {
		coverage := fault.Coverage{}
		coverage.Merge(r.Covered)
		struck(coverage, stdout, true)
	}
	for _, m := range r.Summary.Verdict.Missed {
		fail(stderr, r.Code, "%s", m)
	}
	for _, w := range r.Warnings {
		fail(stderr, r.Code, "warning: %s", w)
	}
	for _, l := range r.Lost {
		r.Code = checker.Worst(r.Code, fail(stderr, checker.ExitHarness, "%s", l))
	}
	if r.Error != "" {
		where := ""
		if r.Code == checker.ExitHarness || r.Short != "" {
			where = saved(j, r)
		}
		fail(stderr, r.Code, "%s%s", r.Error, where)
		if o.verbose {
			say(stderr, "%s", r.Stack)
		}
	}
	if page := filepath.Join(r.Dir, reportFile); o.open && r.Dir != "" && exists(page) {
		openPage(page, stderr)
	}
	return r
}

// showOn says how the summary is to look where it goes.
func showOn(stdout io.Writer, verbose bool) *show {
	s := &show{Verbose: verbose}
	if f, ok := stdout.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.Width = min(width, 120)
		}
	}
	return s
}

// saved says where the history of a failed run is, if it was to be kept.
func saved(j job, r result) string {
	dir := r.Dir
	if r.died && j.Out != nowhere {
		found, _ := filepath.Glob(filepath.Join(j.Out, folderName(j.name()), fmt.Sprintf("*-%d", r.Seed)))
		if len(found) > 0 {
			dir = found[len(found)-1] // the names begin with the time
		}
	}
	if dir == "" {
		return ""
	}
	return "; the history until then is in " + filepath.Join(dir, historyFile)
}
