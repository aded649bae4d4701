package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

const matrixHead = `# Go libraries for locks in Redis, held to what they claim

<!-- Made by "simrun list -matrix", which runs it all; a test keeps it current. Do not edit. -->

Every scenario of the [catalogue](scenarios.md) with each library, unmodified, in virtual time. Any cell is run
again, and explained, by

    go run ./cmd/simrun -scenario ROW -subject COLUMN -seed 1

No scenario foretells how other people's locks fare: they are held to what they claim. A cell says

* ✓ everything that the lock claims held;
* (✓) so it did, but the faults of the story touched nothing that it did;
* a guarantee, such as *exclusion*: it broke, but not by a defect of the lock. Something failed that every such lock
  assumes, or the lock is documented not to promise it: [guarantees.md](guarantees.md) has the table;
* **a guarantee**: it broke by a defect, and the lock has to answer for it;
* – the story is about something that the lock does not offer.

Of our own locks there are two: rlock-latch is faithful to today's Redisson, known limitations included; rlock-hardened is the
one that we would ship.

`

// libraryPage writes docs/matrix.md. It runs every scenario with every subject of the page.
func libraryPage(ctx context.Context, w io.Writer) error {
	var page bytes.Buffer // a part of it is of no use
	out, w := w, &page
	columns := append(onPage(), libraries.All()...)
	fmt.Fprint(w, matrixHead)
	for _, s := range columns {
		from := "this module"
		if s.Module != "" {
			from = s.Module + " " + versionOf(s.Module)
		}
		fmt.Fprintf(w, "* `%s` (%s): %s\n", s.Name, from, s.About)
	}
	fmt.Fprint(w, "\n| scenario |")
	for _, s := range columns {
		fmt.Fprintf(w, " %s |", s.Name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(columns)))

	var jobs []job
	for _, sc := range scenarios.Stories() {
		for _, s := range columns {
			if _, why := sc.For(1, s.Can); why == "" {
				jobs = append(jobs, job{Scenario: sc.Name, Subject: s.Name, Seed: 1, Runs: 1, Out: nowhere, Whole: true, Place: place{World: simWorld, Timescale: 1}})
			}
		}
	}
	cells := map[[2]string]reports.Summary{}
	crew := newCrew(len(jobs))
	defer crew.dismiss()
	var failed error
	crew.run(ctx, slices.Values(jobs), func(j job, r result) {
		if r.Error != "" && failed == nil {
			failed = fmt.Errorf("%s with %s: %s", j.Scenario, j.Subject, r.Error)
		}
		cells[[2]string{j.Scenario, j.Subject}] = r.Summary
	})
	if err := cmp.Or(ctx.Err(), failed); err != nil {
		return err
	}
	var guilty, known []string
	for _, sc := range scenarios.Stories() {
		fmt.Fprintf(w, "| [%s](scenarios.md#%s) |", sc.Name, sc.Name)
		for _, s := range columns {
			run, ran := cells[[2]string{sc.Name, s.Name}]
			if !ran {
				fmt.Fprint(w, " – |")
				continue
			}
			fmt.Fprintf(w, " %s |", cell(sc, run))
			for _, r := range brokenIn(run.Verdict) {
				if len(r.Defects()) > 0 {
					guilty = append(guilty, fmt.Sprintf("* **%s** in %s, %s: %s.\n\n      go run ./cmd/simrun -scenario %s -subject %s -seed 1\n",
						r.Guarantee, sc.Name, s.Name, strings.TrimSuffix(r.Defects()[0].Text, "."), sc.Name, s.Name))
				}
				for _, v := range r.Violations {
					row := fmt.Sprintf("| %s | %s | %s | %s |\n", s.Name, sc.Name, r.Guarantee, v.Ruling.Source)
					if v.Ruling.Kind == checker.KnownLimitation && !slices.Contains(known, row) {
						known = append(known, row)
					}
				}
			}
		}
		fmt.Fprintln(w)
	}
	if guilty == nil {
		guilty = []string{"Nothing that these stories show.\n"}
	}
	fmt.Fprintf(w, "\n## What they have to answer for\n\n%s", strings.Join(guilty, ""))
	if known != nil {
		fmt.Fprintf(w, "\n## What they are documented not to promise\n\n| lock | scenario | what broke | where it is documented |\n|---|---|---|---|\n%s", strings.Join(known, ""))
	}
	claims(w, columns)
	fmt.Fprint(w, matrixTail)
	_, err := page.WriteTo(out)
	return err
}

// onPage are those of our own locks that others are compared with.
func onPage() []subjects.Subject {
	return slices.DeleteFunc(subjects.All(), func(s subjects.Subject) bool { return s.Name != "rlock-latch" && s.Name != "rlock-hardened" })
}

func brokenIn(v *checker.Verdict) []checker.Result {
	return slices.DeleteFunc(slices.Clone(v.Results), func(r checker.Result) bool { return r.Status != checker.Broken })
}

// cell says what became of a run.
func cell(sc scenarios.Scenario, run reports.Summary) string {
	var words []string
	for _, r := range brokenIn(run.Verdict) {
		mark := "*"
		if len(r.Defects()) > 0 {
			mark = "**"
		}
		words = append(words, mark+string(r.Guarantee)+mark)
	}
	switch {
	case words != nil:
		return strings.Join(words, ", ")
	case len(run.Faults) > 0 && !slices.ContainsFunc(run.Faults, func(f history.Fault) bool { return f.Struck() }):
		return "(✓)"
	}
	return "✓"
}

// claims lists what the libraries' documentation says, in our words.
func claims(w io.Writer, columns []subjects.Subject) {
	fmt.Fprint(w, "\n## What they claim, and where\n\nIn our words. Effect is asked of whoever claims exclusion; watchdog and fencing of nobody who does not offer them.\n\n"+
		"| library | guarantee | what its documentation says | where |\n|---|---|---|---|\n")
	for _, s := range columns {
		for _, c := range s.Claims {
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", s.Name, c.Guarantee, c.Text, c.Source)
		}
	}
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
