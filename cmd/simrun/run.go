package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/scenarios"
)

// runCommand is simrun without a subcommand.
func runCommand(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
		return checker.ExitExpected
	case err != nil:
		return fail(stderr, checker.ExitUsage, "%v", err)
	}
	if err := writable(o.out); err != nil {
		return fail(stderr, checker.ExitUsage, "-out %s: %v", o.out, err)
	}
	jobs := o.jobs()
	if len(jobs) == 1 && o.runs == 1 {
		return single(o, jobs[0], stdout, stderr)
	}
	return several(o, jobs, stdout, stderr)
}

// writable makes the folder and tries it, so that a run is not lost for want of one.
func writable(out string) error {
	if out == nowhere {
		return nil
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return cause(err)
	}
	probe, err := os.CreateTemp(out, ".probe-*")
	if err != nil {
		return cause(err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// cause is what went wrong, without the path, which the caller names.
func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// jobs are the runs that the order asks for, one job for each scenario and subject.
func (o order) jobs() []job {
	names := []string{o.scenario}
	if o.scenario == everything {
		names = scenarios.Names()
	}
	locks := []string{o.subject}
	if o.subject == everything {
		locks = subjectNames()
	}
	var jobs []job
	for _, name := range names {
		for _, lock := range locks {
			jobs = append(jobs, job{Scenario: name, Plan: o.plan, Subject: lock, Seed: o.seed, Runs: o.runs, Out: nowhere,
				Command: o.command(name, lock, o.seed)})
		}
	}
	return jobs
}

// command reproduces one run.
func (o order) command(scenario, subject string, seed uint64) string {
	words := []string{"simrun"}
	if self, err := os.Executable(); err == nil && strings.Contains(self, "go-build") {
		words = []string{"go run ./cmd/simrun"} // as the reader of the README started it
	}
	if o.planFile != "" {
		words = append(words, "-plan", o.planFile)
	} else {
		words = append(words, "-scenario", scenario)
	}
	if subject != defaultSubject {
		words = append(words, "-subject", subject)
	}
	return strings.Join(append(words, "-seed", fmt.Sprint(seed)), " ")
}

// single runs once and tells the story.
func single(o order, j job, stdout, stderr io.Writer) int {
	j.Out = o.out
	j.Show = &show{Verbose: o.verbose}
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		j.Show.Color = os.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			j.Show.Width = min(width, 120)
		}
	}
	code := checker.ExitHarness
	newCrew(1).run([]job{j}, func(_ job, r result) {
		code = r.Code
		fmt.Fprint(stdout, r.Text)
		for _, w := range r.Warnings {
			fail(stderr, code, "warning: %s", w)
		}
		if r.Error != "" {
			fail(stderr, code, "%s%s", r.Error, saved(j, r))
			if o.verbose {
				fmt.Fprint(stderr, r.Stack)
			}
		}
	})
	return code
}

// saved says where the history of a failed run is, if it was to be kept.
func saved(j job, r result) string {
	dir := r.Dir
	if dir == "" && j.Out != nowhere { // the worker died before it could say
		name := j.Scenario
		if j.Plan != nil {
			name = j.Plan.Name
		}
		found, _ := filepath.Glob(filepath.Join(j.Out, folderName(name), fmt.Sprintf("*-%d", r.Seed)))
		if len(found) > 0 {
			dir = found[len(found)-1] // the names begin with the time
		}
	}
	if dir == "" {
		return ""
	}
	return "; the history until then is in " + filepath.Join(dir, "history.jsonl")
}

// chunk is how many seeds a worker is given at a time.
const chunk = 25

// several runs many times and counts.
func several(o order, jobs []job, stdout, stderr io.Writer) int {
	code := checker.ExitExpected
	for _, j := range jobs {
		code = checker.Worst(code, batch(o, j, stdout, stderr))
	}
	return code
}

// batch runs one scenario for one subject with every seed, prints a line that says what came out,
// and runs the first that was not as expected again, to keep its report.
func batch(o order, j job, stdout, stderr io.Writer) int {
	var parts []job
	for done := 0; done < j.Runs; done += chunk {
		part := j
		part.Seed, part.Runs = j.Seed+uint64(done), min(chunk, j.Runs-done)
		parts = append(parts, part)
	}
	counts, codes := tally{}, map[int]int{}
	code := checker.ExitExpected
	var first *result
	newCrew(len(parts)).run(parts, func(_ job, r result) {
		counts.add(r)
		codes[r.Code]++
		code = checker.Worst(code, r.Code)
		if r.Code != checker.ExitExpected && first == nil {
			first = &r
		}
	})
	name := j.Scenario
	if j.Plan != nil {
		name = o.planFile
	}
	fmt.Fprintf(stdout, "%-22s %-15s %d %s: %s; %s\n", name, j.Subject, j.Runs, plural("run", j.Runs), outcomes(codes), counts)
	if first != nil {
		why := first.Error
		if why == "" {
			why = fmt.Sprintf("not as expected: %v", first.Strays)
		}
		again := j
		again.Seed, again.Runs, again.Out = first.Seed, 1, o.out
		again.Command = o.command(j.Scenario, j.Subject, first.Seed)
		where := ""
		newCrew(1).run([]job{again}, func(_ job, r result) { where = r.Dir })
		fmt.Fprintf(stdout, "  seed %d: %s\n    %s\n", first.Seed, why, again.Command)
		if where != "" {
			fmt.Fprintf(stdout, "    %s\n", where)
		}
	}
	return code
}

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// outcomes words the counts of exit codes.
func outcomes(codes map[int]int) string {
	var parts []string
	for _, c := range []struct {
		code int
		text string
	}{
		{checker.ExitExpected, "as expected"}, {checker.ExitUnexpected, "UNEXPECTED"},
		{checker.ExitUndecided, "undecided"}, {checker.ExitHarness, "FAILED"},
	} {
		if n := codes[c.code]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.text))
		}
	}
	return strings.Join(parts, ", ")
}

// String says which guarantees broke how often.
func (t tally) String() string {
	var parts []string
	for _, g := range checker.Guarantees() {
		if n := t[g][checker.Broken]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s broken in %d", g, n))
		}
	}
	if len(parts) == 0 {
		return "nothing broken"
	}
	return strings.Join(parts, ", ")
}
