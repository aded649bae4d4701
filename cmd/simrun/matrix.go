package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

const matrixHead = `# Locks in Redis, held to what they claim

<!-- Made by "simrun matrix"; a test keeps it current. Do not edit. -->

Every scenario of the [catalogue](scenarios.md) with each library, unmodified, in virtual time: Go libraries in world sim,
others as processes of their own in [world warp](warp.md). [matrix.html](matrix.html) has the story of each cell.
[matrix.json](matrix.json) has the same for machines. Any cell is run again, and explained, by

    go run ./cmd/simrun -scenario ROW -subject COLUMN -seed 1

The worker of a lock of another language is built when it is first asked for. That takes the language's tools and its registry.
No scenario foretells how other people's locks fare: they are held to what they claim. A cell says

* ✓ everything that the lock claims held;
* (✓) so it did, but the faults of the story touched nothing that it did;
* a guarantee, such as *exclusion*: it broke, but not by a defect of the lock. Something failed that every such lock
  assumes, or the lock is documented not to promise it: [guarantees.md](guarantees.md) has the table;
* **a guarantee**: it broke by a defect, and the lock has to answer for it;
* ? the run came to no verdict, or to none that can be trusted: the story of the cell says why;
* – the story is about something that the lock does not offer, or that cannot be had in its world. A table
  leaves out the stories that none of its locks can play.

Of our own locks there are four. rlock-latch is faithful to Redisson 3.24 to 3.36, known limitations included. rlock-hardened is
the one that we would ship. rlock-current and rlock-current-shared are Redisson 3.44 to 4.7 with the [defects](lock.md#what-current-has-of-redissons-client)
of its client: compare redisson-4.7.0 and redisson-4.7.0-shared. Each other kind of object has a table of its own: our two forms beside the one of Redisson.
`

const matrixTail = `
## Not here: rueidislock

rueidislock (part of github.com/redis/rueidis, tried at v1.0.79) learns of releases and of losses by client side
caching, which needs CLIENT TRACKING. miniredis, the server of the simulated world, does not know that command, and
rueidislock refuses to start on it. Its client does run in virtual time over a connection of ours
(ClientOption.DialCtxFn), and without tracking (DisableCache) the lock works there; but then it polls, which its
documentation names for servers that offer nothing better: that is not the lock that people use. Besides, its values
come from math/rand/v2, which cannot be seeded, so that no run would repeat byte for byte. It belongs into the world of
a real server.
`

// The files of the matrix.
const (
	matrixJSON = "matrix.json"
	matrixMD   = "matrix.md"
	matrixHTML = "matrix.html"
	recordMD   = "trackrecord.md"
)

// matrixOrder is what the user of simrun matrix asked for.
type matrixOrder struct {
	out, locks, scenario string
	repeats              int
	json                 bool
}

func matrixFlags(o *matrixOrder) *flag.FlagSet {
	f := newFlags("matrix")
	f.StringVar(&o.out, "out", "docs", "`folder` of matrix.json, matrix.md and matrix.html; what is not run anew is kept as it is there")
	f.StringVar(&o.locks, "locks", everything, "`names` of the locks to run: a name, names with commas, a pattern, or all")
	f.StringVar(&o.scenario, "scenario", everything, "`names` of the scenarios to run, likewise; other cells stay as they are")
	f.IntVar(&o.repeats, "repeats", 9, "how `often` a cell is run again in which a lock of another language has a defect")
	jsonFlag(f, &o.json, "the whole matrix, as in matrix.json,")
	return f
}

// matrixCommand runs every scenario that suits each lock, and writes the pages.
func matrixCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o matrixOrder
	f := matrixFlags(&o)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return helpOn(stdout, "matrix")
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "matrix: %v", flagError(f, err))
	}
	if f.NArg() > 0 {
		return fail(stderr, checker.ExitUsage, "matrix: stray argument %q", f.Arg(0))
	}
	if o.repeats < 0 || o.repeats > mostRuns {
		return fail(stderr, checker.ExitUsage, "matrix: -repeats %d: from 0 to %d", o.repeats, mostRuns)
	}
	if err := known("scenario", o.scenario, storyNames()); err != nil {
		return fail(stderr, checker.ExitUsage, "matrix: %v", err)
	}
	if err := known("lock", o.locks, columnNames()); err != nil {
		return fail(stderr, checker.ExitUsage, "matrix: %v", err)
	}
	if err := writable(o.out); err != nil {
		return fail(stderr, blame(err), "matrix: -out %s: %v", o.out, err)
	}
	var before reports.Matrix
	if text, err := os.ReadFile(filepath.Join(o.out, matrixJSON)); err == nil {
		if before, err = reports.ReadMatrix(text); err != nil {
			return fail(stderr, checker.ExitUsage, "matrix: %s: %v; remove it to begin anew", filepath.Join(o.out, matrixJSON), err)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return fail(stderr, checker.ExitUsage, "matrix: %v", err)
	}
	if err := o.run(ctx, before, forPeople(stdout, o.json), stderr); ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "matrix: interrupted; locks that were done are in %s", o.out)
	} else if err != nil {
		return fail(stderr, checker.ExitHarness, "matrix: %v", err)
	}
	if o.json {
		return o.print(stdout, stderr)
	}
	say(stdout, "%s, %s and %s are in %s\n", matrixMD, matrixHTML, matrixJSON, o.out)
	return checker.ExitExpected
}

// print prints the matrix that was written.
func (o matrixOrder) print(stdout, stderr io.Writer) int {
	text, err := os.ReadFile(filepath.Join(o.out, matrixJSON))
	return printed(stdout, stderr, bytes.TrimSpace(text), err)
}

// writeMatrix writes the three files of a matrix.
func writeMatrix(dir string, m reports.Matrix) error {
	var md, page bytes.Buffer
	if err := errors.Join(m.Markdown(&md, matrixHead, matrixTail), m.HTML(&page)); err != nil {
		return err
	}
	return errors.Join(
		writeFile(filepath.Join(dir, matrixJSON), m.JSON()),
		writeFile(filepath.Join(dir, matrixMD), md.Bytes()),
		writeFile(filepath.Join(dir, matrixHTML), page.Bytes()),
		writeFile(filepath.Join(dir, recordMD), []byte(record(m))))
}

const recordHead = `# Known defects, shown on the real libraries

<!-- Made by "simrun matrix"; a test keeps it current. Do not edit. -->

Each is one command. It runs the real library, unmodified, in virtual time. [The matrix](matrix.md) has all scenarios.
`

// record is the page of known defects.
func record(m reports.Matrix) string {
	var b strings.Builder
	b.WriteString(recordHead)
	for _, d := range workers.Defects() {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n\n    go run ./cmd/simrun -scenario %s -subject %s\n\n", d.Lock, d.What, indent(d.Story, 0, 110), d.Scenario, d.Lock)
		fmt.Fprintf(&b, "Versions: %s. Source: %s. It breaks %s. %s\n", d.Versions, d.Source, d.Guarantee, shown(m, d))
	}
	return b.String()
}

// shown says what the matrix shows of a defect.
func shown(m reports.Matrix, d workers.Defect) string {
	l := m.Lock(d.Lock)
	if l == nil || l.Cell(d.Scenario) == nil {
		return "It was not run for this page."
	}
	c := l.Cell(d.Scenario)
	i := slices.IndexFunc(c.Broke, func(b reports.MatrixBreak) bool { return b.Guarantee == d.Guarantee })
	if i < 0 {
		return fmt.Sprintf("On %s it did not show.", l.Date)
	}
	return fmt.Sprintf("On %s, in %d of %d runs: %s.", l.Date, c.Same, c.Runs, strings.TrimSuffix(c.Broke[i].Text, "."))
}

// linked are the locks of the matrix, and the objects of other kinds, that run in world sim. Of these there are only our own.
func linked() []subjects.Subject {
	all := append(onPage(), libraries.Unforetold()...)
	for _, is := range history.Objects() {
		if is != history.ALock {
			all = append(all, subjects.Of(is)...)
		}
	}
	return all
}

// onPage are those of our own locks that others are compared with.
func onPage() []subjects.Subject {
	return slices.DeleteFunc(subjects.All(), func(s subjects.Subject) bool { return s.Name != "rlock-latch" && s.Name != "rlock-hardened" })
}

func columnNames() (names []string) {
	for _, s := range linked() {
		names = append(names, s.Name)
	}
	for _, l := range workers.All() {
		names = append(names, l.Name)
	}
	return names
}

// storyNames are the rows.
func storyNames() (names []string) {
	for _, is := range history.Objects() {
		for _, s := range scenarios.Of(is) {
			if !s.Sweep {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// run runs the locks that were asked for and whose tools are here. The others stay as they were before. After each lock
// it writes the files.
func (o matrixOrder) run(ctx context.Context, before reports.Matrix, stdout, stderr io.Writer) error {
	m := reports.Matrix{Version: reports.MatrixVersion}
	m.Scenarios = storyNames()
	asked := chosen(o.locks, columnNames())
	for _, s := range linked() {
		module, version := "this module", ""
		if s.Module != "" {
			module, version = s.Module, versionOf(s.Module)
		}
		l := reports.MatrixLock{Name: s.Name, Language: "go", Object: s.Object, Package: module, Version: version, About: s.About, Claims: claimsOf(s.Claims)}
		if err := o.fill(ctx, &l, &m, before, slices.Contains(asked, s.Name), place{World: simWorld, Timescale: 1}, stdout); err != nil {
			return err
		}
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for _, w := range workers.All() {
		l := reports.MatrixLock{Name: w.Name, Language: w.Language(), Object: w.Object, Package: w.Package, Version: w.Version, About: w.About, Date: today, Claims: claimsOf(w.Claims)}
		here := slices.Contains(asked, w.Name)
		if lacks := w.Lacks(); here && (len(lacks) > 0 || !warps(runtime.GOOS)) {
			fail(stderr, checker.ExitExpected, "matrix: %s stays as it was published: there is no %s here", w.Name, cmp.Or(strings.Join(lacks, ", no "), "Linux"))
			here = false
		}
		if here {
			if err := openProcesses(ctx, []string{w.Name}, place{World: warpWorld, Timescale: 1}, stderr); err != nil {
				return err
			}
		}
		if err := o.fill(ctx, &l, &m, before, here, place{World: warpWorld, Timescale: 1}, stdout); err != nil {
			return err
		}
	}
	return writeMatrix(o.out, m)
}

// fill adds a lock, run now or as it was before. One that was neither is left out.
func (o matrixOrder) fill(ctx context.Context, l *reports.MatrixLock, m *reports.Matrix, before reports.Matrix, now bool, at place, stdout io.Writer) error {
	if !now {
		if old := before.Lock(l.Name); old != nil {
			m.Locks = append(m.Locks, *old)
		}
		return nil
	}
	begun := time.Now()
	asked := slices.DeleteFunc(slices.Clone(m.Scenarios), func(name string) bool { return !slices.Contains(chosen(o.scenario, storyNames()), name) })
	cells, err := cellsOf(ctx, l.Name, asked, at)
	if err != nil {
		return err
	}
	var guilty []string
	for _, c := range cells {
		if c.Guilty() {
			guilty = append(guilty, c.Scenario)
		}
	}
	for i := 0; i < o.repeats && len(guilty) > 0 && !at.exact(); i++ {
		again, err := cellsOf(ctx, l.Name, guilty, at)
		if err != nil {
			return err
		}
		for _, a := range again {
			for j := range cells {
				if cells[j].Scenario == a.Scenario {
					cells[j].Runs++
					if cells[j].Agrees(a) {
						cells[j].Same++
					}
				}
			}
		}
	}
	if old := before.Lock(l.Name); old != nil && len(asked) < len(m.Scenarios) {
		l.Date = old.Date // of the oldest cells
		for _, c := range old.Cells {
			if !slices.Contains(asked, c.Scenario) {
				cells = append(cells, c)
			}
		}
		slices.SortStableFunc(cells, func(a, b reports.MatrixCell) int {
			return slices.Index(m.Scenarios, a.Scenario) - slices.Index(m.Scenarios, b.Scenario)
		})
	}
	l.Cells = cells
	m.Locks = append(m.Locks, *l)
	say(stdout, "%-30s %2d scenarios, %d with a defect, %v\n", l.Name, len(cells), len(guilty), time.Since(begun).Round(time.Second))
	far := *m
	for _, name := range columnNames() {
		if old := before.Lock(name); old != nil && m.Lock(name) == nil {
			far.Locks = append(slices.Clip(far.Locks), *old)
		}
	}
	return writeMatrix(o.out, far)
}

// cellsOf runs a lock in scenarios, in their order.
func cellsOf(ctx context.Context, lock string, names []string, at place) (cells []reports.MatrixCell, failed error) {
	subject, _ := findSubject(lock)
	worker, _ := workers.Find(lock)
	var jobs []job
	for _, name := range names {
		o := order{scenario: name, subject: lock, seed: 1, runs: 1, place: at}
		if o.lacks(name, lock) != "" {
			continue
		}
		command := fmt.Sprintf("simrun -scenario %s -subject %s -seed 1", name, lock)
		if why := worker.Unjudged[name]; why != "" {
			cells = append(cells, reports.MatrixCell{Scenario: name, Trouble: "not judged rightly yet: " + why, Command: command, Runs: 1, Same: 1})
			continue
		}
		jobs = append(jobs, job{Scenario: name, Subject: subject.Name, Seed: 1, Runs: 1, Out: nowhere, Whole: true, Place: at,
			Show: &show{Width: 80}, Command: command})
	}
	crew := newCrew(len(jobs))
	defer crew.dismiss()
	crew.run(ctx, slices.Values(jobs), func(j job, r result) {
		switch {
		case r.Error == "":
			r.Summary.Command = j.Command
			cells = append(cells, reports.NewMatrixCell(j.Scenario, r.Summary, strings.TrimSpace(r.Text)))
		case at.exact():
			failed = cmp.Or(failed, fmt.Errorf("%s with %s: %s", j.Scenario, j.Subject, r.Error))
		default: // the other cells are worth having
			cells = append(cells, reports.MatrixCell{Scenario: j.Scenario, Trouble: r.Error, Command: j.Command, Runs: 1, Same: 1})
		}
	})
	slices.SortStableFunc(cells, func(a, b reports.MatrixCell) int {
		return slices.Index(names, a.Scenario) - slices.Index(names, b.Scenario)
	})
	return cells, cmp.Or(ctx.Err(), failed)
}

// claimsOf puts claims into the form of the matrix.
func claimsOf(claims []subjects.Claim) (all []reports.MatrixClaim) {
	for _, c := range claims {
		all = append(all, reports.MatrixClaim{Guarantee: c.Guarantee, Text: c.Text, Source: c.Source})
	}
	return all
}

// versionOf is the version of a module that this program is built with.
func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "(unknown version)"
}
