package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// tell says in a few lines what came out, of which so many runs are done now, and took so long.
func (h hunt) tell(w io.Writer, t explore.Total, now int64, took time.Duration) {
	line := fmt.Sprintf("%s, %s: %s runs", h.subject, h.strategy, reports.Thousands(t.Runs))
	if t.Runs > 0 && took > 0 {
		pace := "all done before"
		if now > 0 {
			pace = fmt.Sprintf("%.0f a second", float64(now)/took.Seconds())
		}
		line += fmt.Sprintf(" (%s; %.1f ms of a worker, %s operations and %s messages each)", pace,
			t.Wall.Seconds()*1000/float64(t.Runs), reports.Thousands(t.Ops/t.Runs), reports.Thousands(t.Messages/t.Runs))
	}
	say(w, "%s\n", strings.TrimSpace(indent(line, 2, wide-2)))
	if t.Broken > 0 {
		say(w, "  something broke in %s; the lock is to blame in %s of them\n", reports.Thousands(t.Broken), reports.Thousands(t.Accused))
	}
	if strategy, _ := explore.FindStrategy(h.strategy); strategy.Whole {
		all := "ALL there are"
		if !t.Complete {
			all = "not all there are: the search was ended, or gave up"
		}
		text := fmt.Sprintf("%s orders in %s choices of faults, one of each class of equivalent ones: %s (%s runs besides were given up as equivalent)",
			reports.Thousands(t.Runs), reports.Thousands(t.Parts), all, reports.Thousands(t.Blocked))
		say(w, "%s\n", indent(text, 2, wide-2))
	}
	switch {
	case t.Failed > 0:
		say(w, "  the harness FAILED in %s\n", reports.Thousands(t.Failed))
	case t.Runs == 0:
		say(w, "  no run has ended, so that nothing is known of the lock\n")
	case len(t.Found) == 0:
		say(w, "  nothing that the lock claims was broken\n")
	}
	if t.Undecided > 0 {
		say(w, "  a guarantee is undecided in %s: no checker came to an answer\n", reports.Thousands(t.Undecided))
	}
}

// explored is what simrun explore -json prints of one lock.
type explored struct {
	Subject   string          `json:"subject"`
	Strategy  string          `json:"strategy"`
	Seed      uint64          `json:"seed"`      // of the first run
	Code      int             `json:"code"`      // the exit code that this comes to
	Runs      int             `json:"runs"`      // those of earlier commands of the same search among them
	Broken    int             `json:"broken"`    // runs in which something broke
	Accused   int             `json:"accused"`   // those of them for which the lock is to blame
	Undecided int             `json:"undecided"` // runs of which the checkers did not know
	Failed    int             `json:"failed"`    // runs in which the harness failed
	Complete  bool            `json:"complete"`  // of -strategy exhaustive: all orders were seen
	Found     []exploredCause `json:"found"`
	Failure   string          `json:"failure,omitzero"` // the first of the harness
	Ways      int             `json:"ways"`             // in how many ways faults struck
	States    int             `json:"states"`           // how many states of the lock were visited
	Looked    int             `json:"looked"`           // how many runs were asked for goals
	Goals     []reports.Goal  `json:"goals"`            // those that were reached, and those that could be and were not
	Compared  *nightly        `json:"compared,omitempty"`
	Dir       string          `json:"dir,omitzero"` // where the report, the state and what was found are
}

// exploredCause is one cause for which the lock is to blame.
type exploredCause struct {
	explore.Accusation
	Runs  int    `json:"runs"`
	Seed  uint64 `json:"seed"`          // of the first
	Kept  string `json:"kept,omitzero"` // where its plan, story and test are
	Again string `json:"again,omitzero"`
}

func (h hunt) explored(dir string, t explore.Total, n *nightly, code int) explored {
	strategy, _ := explore.FindStrategy(h.strategy)
	e := explored{Subject: h.subject, Strategy: h.strategy, Seed: h.seed, Code: code, Runs: t.Runs, Broken: t.Broken, Accused: t.Accused,
		Undecided: t.Undecided, Failed: t.Failed, Complete: strategy.Whole && t.Complete, Found: []exploredCause{}, Ways: len(t.Coverage), States: len(t.Visited), Looked: t.Looked, Goals: h.goalsOf(t), Compared: n, Dir: dir}
	if t.Failure != nil {
		e.Failure = t.Failure.Error
	}
	for _, f := range t.Found {
		c := exploredCause{Accusation: f.Accusation, Runs: f.Runs, Seed: f.Seed}
		if dir != "" {
			c.Kept, c.Again = h.keptAt(dir, f)
		}
		e.Found = append(e.Found, c)
	}
	return e
}

// keptAt is where a cause is kept, and what reproduces it.
func (h hunt) keptAt(dir string, f explore.Found) (at, again string) {
	at = filepath.Join(dir, "found", slug(f.Accusation))
	h.planFile = filepath.Join(at, planFile)
	return at, h.command("", h.subject, f.Seed)
}

// keepFound shrinks the first run of a cause, and keeps the plan, its story, a test that reproduces
// it, and its report. What was kept before is told again.
func (h hunt) keepFound(ctx context.Context, workers *local, dir string, f explore.Found, stdout io.Writer) error {
	text := fmt.Sprintf("in %s %s, first with seed %d: %s", reports.Thousands(f.Runs), plural("run", f.Runs), f.Seed, f.Text)
	say(stdout, "\n  ✗ %s\n%s\n", strings.TrimSpace(indent(f.Cause(), 4, wide-4)), indent(text, 4, wide-4))
	o := h.order
	o.seed = f.Seed
	if dir == "" {
		return nil
	}
	at, again := h.keptAt(dir, f)
	o.planFile = filepath.Join(at, planFile)
	if _, err := os.Stat(o.planFile); errors.Is(err, os.ErrNotExist) {
		if err := h.keep(ctx, workers, o, at, f); err != nil {
			return err
		}
	}
	say(stdout, "    kept    %s (plan, story, test)\n    again   %s\n", at, again)
	return nil
}

// slug is a name of a cause that can be one of a folder.
func slug(a explore.Accusation) string {
	sum := sha256.Sum256([]byte(a.Cause()))
	words := strings.Join([]string{string(a.Guarantee), string(a.Class), string(a.Call)}, "-")
	return strings.ReplaceAll(words, " ", "-") + "-" + hex.EncodeToString(sum[:3])
}

func (h hunt) keep(ctx context.Context, workers *local, o order, at string, f explore.Found) error {
	ctx = context.WithoutCancel(ctx) // an interruption comes after what was found is kept
	r, err := workers.do(ctx, job{Plan: f.Plan, Subject: h.subject, Seed: f.Seed, Place: h.place, Shrink: true, Cause: f.Cause()})
	if err != nil {
		return err
	}
	if r.Plan == nil { // it could not be shrunk: a worker died, say
		r.Plan, r.Broke, r.Class = f.Plan, f.Guarantee, f.Class
	}
	// What is there lacks its plan: a search that was killed has left half of it.
	if err := errors.Join(os.RemoveAll(at), os.MkdirAll(at, 0o777)); err != nil {
		return err
	}
	test, err := reproducingTest(r, o)
	if err != nil {
		return err
	}
	told, err := workers.do(ctx, job{Plan: r.Plan, Subject: h.subject, Seed: f.Seed, Place: h.place, Out: at, Show: &show{Verbose: true}, Prove: !h.noProof,
		Command: o.command("", h.subject, f.Seed)})
	if err != nil {
		return err
	}
	kept := folder{dir: at}
	return errors.Join(
		kept.write("drawn.json", append(f.Plan.JSON(), '\n')),
		kept.write("story.txt", []byte(told.Text)),
		kept.write("reproduction_test.go", test),
		kept.write(planFile, append(r.Plan.JSON(), '\n'))) // the last: it says that all is there
}

// failed says in which run the harness failed, or the checkers disagreed, and returns the exit code that this comes to, and what nobody could decide.
func (h hunt) failed(t explore.Total, dir string, stderr io.Writer) int {
	code := checker.ExitExpected
	if t.Failure != nil {
		for _, f := range append([]explore.Failure{*t.Failure}, t.Failures...) {
			this := checker.ExitHarness
			if f.Disagree {
				this = checker.ExitDisagree
			}
			code = checker.Worst(code, this)
			fail(stderr, this, "explore: seed %d: %s%s", f.Seed, f.Error, h.keepFailure(dir, &f))
		}
	}
	if t.Undecided > 0 {
		code = checker.Worst(code, checker.ExitUndecided)
	}
	return code
}

// keepFailure keeps the plan of a run in which the harness failed, and says where.
func (h hunt) keepFailure(dir string, f *explore.Failure) string {
	if dir == "" || f.Plan == nil {
		return ""
	}
	name := fmt.Sprintf("failed-%d.json", f.Seed)
	if err := (&folder{dir: dir}).write(name, append(f.Plan.JSON(), '\n')); err != nil {
		return ""
	}
	kept := "; its plan is in " + filepath.Join(dir, name)
	if len(f.Smallest) > 0 {
		name = fmt.Sprintf("disagreement-%d.jsonl", f.Seed)
		if err := (&folder{dir: dir}).write(name, f.Smallest); err == nil {
			kept += ", the smallest history that shows it in " + filepath.Join(dir, name)
		}
	}
	return kept
}

// coverage prints how faults struck, and which states of the lock were visited.
func (h hunt) coverage(w io.Writer, t explore.Total) {
	say(w, "\n")
	covered(w, t.Coverage, h.verbose)
	say(w, "states of the lock visited: %s\n", reports.Thousands(len(t.Visited)))
	if h.verbose {
		for _, v := range t.Visited.Visits() {
			say(w, "  %-44s %s\n", v.LockState, reports.Thousands(v.Times))
		}
	}
	h.tellGoals(w, t)
}

// searched names the search for people.
func (h hunt) searched(runs int) string {
	return fmt.Sprintf("%s explored %s with %s", reports.Thousands(runs), plural("run", runs), h.subject)
}

// page writes the page about the runs, and returns the exit code that this comes to.
func (h hunt) page(dir string, args []string, t explore.Total, grown []explore.Step, stdout, stderr io.Writer) int {
	b := reports.Batch{Command: again(args), Title: h.searched(t.Runs), Runs: t.Samples, Goals: h.goalsOf(t), Growth: growth(grown)}
	kept := map[uint64]string{} // what is kept of a run, by its seed
	for _, f := range t.Found {
		found := h.finding(dir, f)
		if b.Findings = append(b.Findings, found); len(found.Links) > 0 && kept[f.Seed] == "" {
			kept[f.Seed] = found.Links[0].Href
		}
	}
	for _, k := range fault.Kinds() {
		b.Faults = append(b.Faults, k.Name)
	}
	if len(b.Runs) < t.Runs {
		b.Note = fmt.Sprintf("The tables are about %s of the runs: some of each part of the search, and the first of each cause for which the lock is to blame.",
			reports.Thousands(len(b.Runs)))
	}
	strategy, _ := explore.FindStrategy(h.strategy)
	for i := range b.Runs { // what another run has taught is shown by its plan alone, which is kept
		v := b.Runs[i].Verdict
		b.Runs[i].Report = kept[v.Seed]
		if strategy.Learn == nil && v.Code() == checker.ExitUnexpected {
			b.Runs[i].Command = fmt.Sprintf("%s explore -subject %s -strategy %s -seed %d -runs 1", self(), h.subject, h.strategy, v.Seed)
		}
	}
	if len(b.Runs) == 0 {
		return checker.ExitExpected
	}
	var page bytes.Buffer
	err := reports.BatchHTML(&page, b)
	if err == nil {
		err = (&folder{dir: dir}).write(reportFile, page.Bytes())
	}
	if err != nil {
		return fail(stderr, checker.ExitHarness, "explore: the report: %v", err)
	}
	say(stdout, "\n  report  %s\n", filepath.Join(dir, reportFile))
	return checker.ExitExpected
}

// finding is a cause as the page tells it, with links to what is kept of it.
func (h hunt) finding(dir string, f explore.Found) reports.Finding {
	at, again := h.keptAt(dir, f)
	found := reports.Finding{What: f.Cause(), Text: f.Text, Runs: f.Runs, Seed: f.Seed, Command: again}
	reportAt, _ := filepath.Glob(filepath.Join(at, "*", "*", reportFile)) // the run's own folder, and "latest"
	names := []struct{ name, file string }{{"plan", filepath.Join(at, planFile)}, {"story", filepath.Join(at, "story.txt")},
		{"test", filepath.Join(at, "reproduction_test.go")}, {"plan as drawn", filepath.Join(at, "drawn.json")}}
	if len(reportAt) > 0 {
		names = append(names[:0:0], append([]struct{ name, file string }{{"report", reportAt[0]}}, names...)...)
	}
	for _, n := range names {
		rel, err := filepath.Rel(dir, n.file)
		if err == nil && exists(n.file) {
			found.Links = append(found.Links, reports.Link{Name: n.name, Href: (&url.URL{Path: filepath.ToSlash(rel)}).String()})
		}
	}
	return found
}

// growth is how much a search came to know, over its runs; nil: it has done nothing.
func growth(steps []explore.Step) *reports.Panels {
	if len(steps) == 0 {
		return nil
	}
	p := &reports.Panels{Title: "What the search came to know", About: "Goals reached, states of the lock visited and findings, over the runs. Point at a part to read it."}
	var goals, states, found []float64
	for _, s := range steps {
		p.Steps = append(p.Steps, reports.Step{At: float64(s.Runs), Label: "run " + reports.Thousands(s.Runs)})
		goals, states, found = append(goals, float64(s.Goals)), append(states, float64(s.States)), append(found, float64(s.Found))
	}
	whole := func(v float64) string { return reports.Thousands(int(v)) }
	for _, l := range []struct {
		title  string
		values []float64
	}{{"goals", goals}, {"states", states}, {"findings", found}} {
		p.Panels = append(p.Panels, reports.Panel{Title: l.title, Says: whole, Lines: []reports.Line{{Values: l.values}}})
	}
	return p
}
