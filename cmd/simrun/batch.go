package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// chunk is how many seeds a worker is given at a time.
func (o order) chunk() int {
	if o.place.exact() {
		return 25
	}
	return 1
}

// parts are the jobs as workers are given them. What does not come again as it was is kept at once.
func (o order) parts(jobs []job) iter.Seq[job] {
	return func(yield func(job) bool) {
		for _, j := range jobs {
			for done := 0; done < j.Runs; done += o.chunk() {
				part := j
				if !o.place.exact() {
					part.Out = o.out
				}
				part.Seed, part.Runs, part.Whole = j.Seed+uint64(done), min(o.chunk(), j.Runs-done), o.json
				if !yield(part) {
					return
				}
			}
		}
	}
}

// several runs many times and counts. One crew does all jobs, so that they keep every processor
// busy together.
func several(ctx context.Context, o order, jobs []job, args []string, stdout, stderr io.Writer) int {
	var dirs []string // where each run is kept
	code, begun := checker.ExitExpected, time.Now()
	running, stop := context.WithCancel(ctx)
	defer stop()
	at, before := 0, 0 // which group is under way, and how many runs came before it
	var stray []string // of groups of which not all was as expected
	groupDone := func(j job, runs []reports.Summary) {
		text, expected := tell(o, j, runs)
		if !expected {
			stray = append(stray, text)
		}
		if !o.quiet {
			say(stdout, "%s", text)
		}
	}
	b := reports.Batch{Command: again(args)}
	if o.rerun {
		b.Note = "These are the runs that were not as expected in " + o.last
	}
	for _, k := range fault.Kinds() {
		b.Faults = append(b.Faults, k.Name)
	}
	coverage := fault.Coverage{}
	all, parts := 0, 0
	for _, j := range jobs {
		all, parts = all+j.Runs, parts+(j.Runs+o.chunk()-1)/o.chunk()
	}
	groups := grouped(jobs)
	bar := newProgress(stderr, all)
	crew := crewFor(o, parts)
	defer crew.dismiss()
	crew.run(running, o.parts(jobs), func(j job, r result) {
		if running.Err() != nil && ctx.Err() == nil {
			return // the first failure has ended it
		}
		bar.done(r.Code)
		if o.failFast && r.Code != checker.ExitExpected {
			stop()
		}
		code = checker.Worst(code, r.Code)
		for _, l := range r.Lost {
			bar.clear()
			code = checker.Worst(code, fail(stderr, checker.ExitHarness, "%s", l))
		}
		coverage.Merge(r.Covered)
		s := r.Summary
		s.Command = o.command(j.Scenario, j.Subject, r.Seed)
		b.Runs, dirs = append(b.Runs, s), append(dirs, r.Dir)
		if o.json {
			bar.clear()
			_ = reports.JSONLine(stdout, s.Verdict)
		} else if n := len(b.Runs); n-before == groups[at].Runs {
			bar.clear()
			groupDone(groups[at], b.Runs[before:])
			before, at = n, at+1
		}
	})
	bar.clear()
	n := len(b.Runs)
	if n < all {
		if n > before && !o.json {
			groupDone(groups[at], b.Runs[before:])
		}
		code = interrupted(ctx, stderr, code, "interrupted after %s of %s runs", reports.Thousands(n), reports.Thousands(all))
		if ctx.Err() == nil {
			fail(stderr, code, "-fail-fast: ended after %s of %s runs", reports.Thousands(n), reports.Thousands(all))
		}
		if n == 0 {
			return code
		}
	}
	if !o.json && !o.quiet {
		if len(groups) > 1 {
			matrix(stdout, b.Runs)
		}
		covered(stdout, coverage, o.verbose)
	}
	if !o.json {
		if (len(groups) > 1 || o.quiet) && len(stray) > 0 {
			say(stdout, "\nNot as expected:\n%s", strings.Join(stray, ""))
		}
		if !o.quiet || len(stray) > 0 {
			say(stdout, "\n") // something is above
		}
		total(stdout, b.Runs, time.Since(begun))
	}
	code = checker.Worst(code, o.keep(&b, dirs, crew, stdout, stderr))
	return checker.Worst(code, o.leave(b, stderr))
}

// grouped are jobs of which those of one scenario and subject that follow each other are one, which has all their runs.
func grouped(jobs []job) (groups []job) {
	for _, j := range jobs {
		if n := len(groups); n > 0 && groups[n-1].sameAs(j.Scenario, j.Subject) {
			groups[n-1].Runs += j.Runs
			continue
		}
		groups = append(groups, j)
	}
	return groups
}

// again is the command that was given, for a shell.
func again(args []string) string {
	words := []string{self()}
	for i, a := range args {
		if strings.Contains(a, "://") || i > 0 && strings.HasSuffix(args[i-1], "-addr") {
			a = withoutPassword(a)
		}
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}

// quoted is a word as shells read it, and people: what is not printable in it is escaped.
func quoted(word string) string {
	switch {
	case reports.Visible(word) != word:
		escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
		return "$'" + reports.Visible(escape.Replace(word)) + "'"
	case word == "" || strings.ContainsAny(word, " \t\n\"'$`\\|&;<>()*?[]{}#~!"):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// total says what came out of all runs, how long they took together, and how long one took its worker.
func total(stdout io.Writer, runs []reports.Summary, took time.Duration) {
	codes := map[int]int{}
	var work, longest time.Duration
	timed := 0
	for _, r := range runs {
		codes[r.Verdict.Code()]++
		if r.Wall > 0 { // of one whose worker died nobody knows
			work, longest, timed = work+r.Wall, max(longest, r.Wall), timed+1
		}
	}
	each := ""
	if timed > 1 {
		each = fmt.Sprintf(", %v each and %v at most", rounded(work/time.Duration(timed)), rounded(longest))
	}
	text := fmt.Sprintf("%s %s in %v%s: %s", reports.Thousands(len(runs)), plural("run", len(runs)), rounded(took), each, outcomes(codes))
	say(stdout, "%s\n", indent(text, 0, wide))
}

// rounded is a duration to two digits or more.
func rounded(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(max(unit/100, time.Microsecond))
		}
	}
	return d
}

// tell is a line that says what came out of all runs of one scenario with one subject, and how to see the first
// that was not as expected, if one was not.
func tell(o order, j job, runs []reports.Summary) (text string, expected bool) {
	counts, codes := tally{}, map[int]int{}
	var first *reports.Summary
	var others []string // seeds of further runs that were not as expected
	for i := range runs {
		counts.add(runs[i].Verdict)
		code := runs[i].Verdict.Code()
		codes[code]++
		switch {
		case code == checker.ExitExpected:
		case first == nil:
			first = &runs[i]
		default:
			others = append(others, fmt.Sprint(runs[i].Verdict.Seed))
		}
	}
	name := j.Scenario
	if j.Plan != nil {
		name = o.planFile
	}
	text = folded(fmt.Sprintf("%-22s %-15s", name, j.Subject), fmt.Sprintf("%s %s: %s; %s", reports.Thousands(len(runs)), plural("run", len(runs)), outcomes(codes), counts))
	if first != nil {
		text += folded(fmt.Sprintf("  seed %d:", first.Verdict.Seed), whyNot(first.Verdict)+firstStray(first.Verdict)) + "    " + first.Command + "\n"
	}
	if n := len(others); n > 0 {
		named := others[:min(n, mostSeeds)]
		if n > mostSeeds {
			named = append(named, fmt.Sprintf("and %s more", reports.Thousands(n-mostSeeds)))
		}
		text += folded("  not as expected either: "+plural("seed", n), strings.Join(named, ", "))
	}
	return text, first == nil
}

// mostSeeds is how many seeds of runs that were not as expected are named in a line.
const mostSeeds = 10

// wide is how many columns a terminal has at least.
const wide = 80

// folded is a line with a head, or several where one is too long for a terminal.
func folded(head, text string) string {
	if line := head + " " + text; utf8.RuneCountInString(line) <= wide {
		return line + "\n"
	}
	return strings.TrimRight(head, " ") + "\n" + indent(text, 4, wide-4) + "\n"
}

// unexpected begins what is said of a verdict that is not as expected.
const unexpected = "not as expected: "

// whyNot says why a verdict is not as expected: the same of any two runs that broke the same guarantees.
func whyNot(v *checker.Verdict) string {
	switch {
	case v.Error != "":
		return v.Error
	case v.Trouble() != "":
		return v.Trouble()
	}
	var strays []string
	for _, g := range contract.Guarantees() {
		if !v.Result(g).AsExpected() {
			strays = append(strays, string(g))
		}
	}
	if len(strays) == len(contract.Guarantees()) && v.Results[0].Status == checker.Undecided {
		return v.Results[0].Summary // it was not judged
	}
	if len(strays) == 0 && len(v.Missed) > 0 {
		return v.Missed[0]
	}
	return unexpected + strings.Join(strays, ", ")
}

// firstStray is the first violation of what is not as expected; "": there is none.
func firstStray(v *checker.Verdict) string {
	for _, r := range v.Results {
		if !r.AsExpected() && len(r.Violations) > 0 {
			return ": " + reports.Visible(r.Violations[0].Text)
		}
	}
	return ""
}

// keep has the crew run the examples again, to keep their reports, and writes the page about all runs. It returns the
// exit code that this comes to.
//
// Only in the sim world a run comes again as it was. In others all were kept at once, in the folders dirs.
func (o order) keep(b *reports.Batch, dirs []string, crew crew, stdout, stderr io.Writer) int {
	if o.out == nowhere {
		return checker.ExitExpected
	}
	var jobs []job
	examples := b.Examples()
	for _, i := range examples {
		v := b.Runs[i].Verdict
		j := job{Scenario: v.Scenario, Plan: o.plan, Subject: v.Subject, Seed: v.Seed, Runs: 1, Out: o.out, Prove: !o.noProof, Command: b.Runs[i].Command}
		if o.place.exact() {
			jobs = append(jobs, j)
		}
	}
	store, err := makeFolder(o.out, batchFolder, b.Runs[0].Verdict.Seed)
	if err != nil {
		return fail(stderr, checker.ExitHarness, "the batch report: %v", err)
	}
	link := func(run int, dir string) {
		if rel, err := filepath.Rel(store.dir, filepath.Join(dir, reportFile)); err == nil && dir != "" {
			b.Runs[run].Report = filepath.ToSlash(rel)
		}
	}
	if !o.place.exact() {
		for run, dir := range dirs {
			link(run, dir)
		}
	}
	n, code := 0, checker.ExitExpected
	crew.run(context.Background(), slices.Values(jobs), func(_ job, r result) {
		for _, l := range r.Lost {
			code = fail(stderr, checker.ExitHarness, "%s", l)
		}
		if r.Error == "" {
			link(examples[n], r.Dir)
		}
		n++
	})
	var page bytes.Buffer
	err = reports.BatchHTML(&page, *b)
	if err == nil {
		err = errors.Join(store.write(reportFile, page.Bytes()), o.storeBatch(store, b.Command, b.Runs))
	}
	if err = errors.Join(err, store.latest()); err != nil {
		return fail(stderr, checker.ExitHarness, "the batch report: %v", err)
	}
	if !o.json {
		say(stdout, "\n  report  %s\n", filepath.Join(store.dir, reportFile))
	}
	if o.open {
		openPage(filepath.Join(store.dir, reportFile), stderr)
	}
	return code
}

const batchFolder = "batch"

// leave writes what machines read, and returns the exit code that this comes to: what cannot be written is lost.
func (o order) leave(b reports.Batch, stderr io.Writer) int { return leave(o.files, b, stderr) }

func leave(files map[string]string, b reports.Batch, stderr io.Writer) int {
	code := checker.ExitExpected
	for _, f := range reports.BatchFormats() {
		file := files[f.Name]
		if file == "" {
			continue
		}
		var text bytes.Buffer
		err := f.Write(&text, b)
		if err == nil {
			err = writeFile(file, text.Bytes())
		}
		if err != nil {
			code = fail(stderr, checker.ExitHarness, "-%s: %v", f.Name, err)
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
		{checker.ExitUndecided, "undecided"}, {checker.ExitDisagree, "DISAGREED ON"}, {checker.ExitHarness, "FAILED"},
	} {
		if n := codes[c.code]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", reports.Thousands(n), c.text))
		}
	}
	return strings.Join(parts, ", ")
}

// tally counts how often each guarantee broke.
type tally map[contract.Guarantee]int

func (t tally) add(v *checker.Verdict) {
	for _, r := range v.Results {
		if r.Status == checker.Broken {
			t[r.Guarantee]++
		}
	}
}

// String says which guarantees broke how often.
func (t tally) String() string {
	var parts []string
	for _, g := range contract.Guarantees() {
		if n := t[g]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s broken in %s", g, reports.Thousands(n)))
		}
	}
	if len(parts) == 0 {
		return "nothing broken"
	}
	return strings.Join(parts, ", ")
}
