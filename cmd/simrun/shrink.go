package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// shrinkTries is how many smaller plans are tried at most: most need 50 to 300. A plan whose run has many messages gets fewer, so
// that one of a hundred locks does not take minutes.
func shrinkTries(messages int) int { return min(max(120_000/max(messages, 1), 40), 400) }

// shrinkOrder is what the user of simrun shrink asked for: an order of a run, and which guarantee is to break.
type shrinkOrder struct {
	order
	guarantee string
}

func newShrinkOrder() *shrinkOrder {
	return &shrinkOrder{order: order{subject: defaultSubject, seed: 1, out: defaultOut, runs: 1}}
}

func shrinkFlags(o *shrinkOrder) *flag.FlagSet {
	f := newFlags("shrink")
	f.StringVar(&o.subject, "subject", o.subject, "`name` of the lock under test (simrun list); of a stored run, its own")
	f.Var((*seedFlag)(&o.seed), "seed", "`number` that decides everything chance would; of a stored run, its own")
	f.StringVar(&o.out, "out", o.out, "`folder` for the smallest plan and its run, or none")
	o.proofFlag(f)
	f.BoolVar(&o.verbose, "v", false, "the whole story, and every operation")
	f.StringVar(&o.guarantee, "guarantee", "", "`name` of the one that is to break (default: the one that broke first)")
	jsonFlag(f, &o.json, "the smallest plan and its verdict")
	return f
}

// shrink makes the smallest plan that breaks the same guarantee for the same cause, tells its
// story, and writes a test that reproduces it.
func shrink(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := newShrinkOrder()
	f := shrinkFlags(s)
	paths, err := parseMixed(f, args)
	o, guarantee := s.order, s.guarantee
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "shrink")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "shrink: %v", flagError(f, err))
	case len(paths) != 1:
		return fail(stderr, checker.ExitUsage, "shrink: say which plan or run: simrun shrink PLAN|RUN")
	case guarantee != "" && !slices.Contains(contract.Guarantees(), contract.Guarantee(guarantee)):
		var names []string
		for _, g := range contract.Guarantees() {
			names = append(names, string(g))
		}
		return fail(stderr, checker.ExitUsage, "shrink: -guarantee: %v", unknown("guarantee", guarantee, names))
	}
	if err := o.toShrink(ctx, paths[0]); ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "shrink: interrupted before it began")
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "shrink: %v", err)
	}
	if err := writable(o.out); err != nil {
		return fail(stderr, blame(err), "-out %s: %v", o.out, err)
	}
	j := job{Plan: o.plan, Subject: o.subject, Seed: o.seed, Runs: 1, Out: nowhere, Shrink: true, Guarantee: contract.Guarantee(guarantee), Prove: !o.noProof,
		Command: o.command("", o.subject, o.seed)}
	if o.out != nowhere {
		o.planFile = o.shrunk(".json")
		j.Smallest = o.command("", o.subject, o.seed)
	}
	w := &worker{}
	defer w.dismiss()
	r := w.do(ctx, j)[0]
	if ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "shrink: interrupted; no plan is left")
	}
	if r.Error != "" {
		return fail(stderr, r.Code, "shrink: %s", r.Error)
	}
	more := ""
	if r.Tried == r.Tries {
		more = ", in as many tries as it gets (shrink this one again for a smaller one)"
	}
	people := forPeople(stdout, o.json)
	say(people, "%s broke: %s. Of %s plans tried, this is the smallest that still does%s:\n\n", r.Broke, r.Class, reports.Thousands(r.Tried), more)
	code, v := o.tellShrunk(ctx, j, r, people, stderr)
	if !o.json || v == nil {
		return code
	}
	found := smallest{Guarantee: r.Broke, Class: r.Class, Tried: r.Tried, Plan: r.Plan, Verdict: v}
	if o.out != nowhere {
		found.PlanFile, found.Test, found.Again = o.planFile, o.shrunk("_test.go"), o.command("", o.subject, o.seed)
	}
	return checker.Worst(code, printJSON(stdout, stderr, found))
}

// smallest is what simrun shrink -json prints.
type smallest struct {
	Guarantee contract.Guarantee `json:"guarantee"` // what breaks
	Class     contract.Class     `json:"class"`     // and why
	Tried     int                `json:"tried"`     // how many plans were tried
	Plan      *plan.Plan         `json:"plan"`
	PlanFile  string             `json:"planFile,omitzero"`
	Test      string             `json:"test,omitzero"` // the file with a test that reproduces it
	Again     string             `json:"again,omitzero"`
	Verdict   *checker.Verdict   `json:"verdict"` // of the smallest plan
}

// toShrink finds out what to shrink: a plan, or a run's folder with its plan, subject and seed.
func (o *order) toShrink(ctx context.Context, path string) error {
	o.planFile = path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		o.planFile = filepath.Join(path, planFile)
		h, err := loadHistory(ctx, os.DirFS(path), ".", affordable())
		switch {
		case err != nil && !errors.Is(err, history.ErrTruncated):
			return fmt.Errorf("%s: %w", path, err)
		case h == nil:
			return fmt.Errorf("%s: there is no %s in it", path, historyFile)
		}
		o.subject, o.seed = h.Header.Subject, h.Header.Seed
	}
	if o.subject == everything {
		return errors.New("-subject all: a plan is shrunk for one subject")
	}
	return o.readPlan(ctx)
}

// shrunk is the name of a file about the smallest plan, with a suffix.
func (o order) shrunk(suffix string) string {
	return filepath.Join(o.out, shrunkName(o.plan.Name)+suffix)
}

func shrunkName(name string) string {
	return strings.TrimSuffix(folderName(name), "-shrunk") + "-shrunk"
}

// tellShrunk runs the smallest plan, keeps it with a test that reproduces it, and tells its story. It returns the run's
// verdict, if there is one.
func (o order) tellShrunk(ctx context.Context, j job, r result, stdout, stderr io.Writer) (code int, v *checker.Verdict) {
	j.Plan, j.Shrink = r.Plan, false
	lost := checker.ExitExpected
	if o.out == nowhere {
		say(stdout, "%s\n\n", r.Plan.JSON())
	} else {
		test, err := reproducingTest(r, o)
		if err == nil {
			err = errors.Join(writeFile(o.planFile, append(r.Plan.JSON(), '\n')), writeFile(o.shrunk("_test.go"), test))
		}
		if err != nil {
			return fail(stderr, checker.ExitHarness, "shrink: %v", err), nil
		}
		say(stdout, "  plan    %s\n  test    %s\n", o.planFile, o.shrunk("_test.go"))
		if len(r.Page) > 0 {
			if err := writeFile(o.shrunk(".html"), r.Page); err != nil {
				lost = fail(stderr, checker.ExitHarness, "shrink: %v", err)
			} else {
				say(stdout, "  both    %s (the whole story, and this one beside it)\n", o.shrunk(".html"))
			}
		}
		for _, w := range r.Warnings {
			fail(stderr, 0, "warning: shrink: %s", w)
		}
		say(stdout, "\n")
	}
	j.Command = o.command("", o.subject, o.seed)
	o.json = false // it is told in one with the plan
	told := single(ctx, o, j, stdout, stderr)
	if ctx.Err() != nil {
		return checker.Worst(lost, told.Code), nil
	}
	if status := told.Summary.Verdict.Result(r.Broke).Status; status != checker.Broken {
		return fail(stderr, checker.ExitHarness, "shrink: in the smallest plan, run again, %s is %s", r.Broke, status), nil
	}
	if len(told.Lost) > 0 {
		lost = checker.ExitHarness
	}
	return lost, told.Summary.Verdict
}

//go:embed shrunk_test.go.tmpl
var testTemplate string

// reproducingTest writes a Go test that fails as long as the smallest plan breaks the guarantee.
func reproducingTest(r result, o order) ([]byte, error) {
	t, err := template.New("test").Parse(testTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": camel(r.Plan.Name), "Plan": strings.ReplaceAll(string(r.Plan.JSON()), "`", "` + \"`\" + `"),
		"Subject": o.subject, "Seed": o.seed, "Guarantee": r.Broke, "Class": r.Class, "Broken": isBroken(o.subject),
	})
	return b.Bytes(), err
}

// camel makes a name of a plan one of a Go function.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		first, rest := utf8.DecodeRuneInString(word)
		b.WriteString(string(unicode.ToUpper(first)) + word[rest:])
	}
	return b.String()
}

// shrinkOne is the worker's part: it runs the plan, and then every plan that is tried, as they are run
// elsewhere: without the re-entries that a lock does not know, say.
func shrinkOne(b *bubble.Bubbles, j job) (r result) {
	r.Seed = j.Seed
	subject, _ := findSubject(j.Subject)
	most := 0
	run := func(p *plan.Plan) (explore.Run, error) {
		if err := p.Check(fault.Needs()); err != nil {
			return explore.Run{}, err
		}
		fitted, why := scenarios.Fit(p, subject.Can)
		if why != "" {
			return explore.Run{}, fmt.Errorf("not run: %s", why)
		}
		return explore.Within(b, fitted, subject, j.Seed, most)
	}
	first, err := run(j.Plan)
	if err != nil {
		r.Code, r.Error = checker.ExitHarness, err.Error()
		return r
	}
	still := func(explore.Run) bool { return false }
	if j.Cause != "" {
		for _, a := range first.Accusations {
			if a.Cause() == j.Cause {
				r.Broke, r.Class = a.Guarantee, a.Class
				still = func(r explore.Run) bool { return r.Accuses(j.Cause) }
			}
		}
	} else {
		for _, result := range first.Verdict.Results {
			if result.Status == checker.Broken && (j.Guarantee == "" || j.Guarantee == result.Guarantee) {
				r.Broke, r.Class = result.Guarantee, result.Violations[0].Cause.Class
				still = func(one explore.Run) bool {
					result := one.Verdict.Result(r.Broke)
					return result.Status == checker.Broken && result.Violations[0].Cause.Class == r.Class
				}
				break
			}
		}
	}
	if r.Broke == "" {
		r.Code, r.Error = checker.ExitUsage, "nothing is broken, so there is nothing to shrink"
		return r
	}
	most = sim.MostShrunk(first.History.End.Messages)
	r.Tries = shrinkTries(first.History.End.Messages)
	r.Plan, r.Tried = plan.Shrink(j.Plan, r.Tries, func(p *plan.Plan) bool {
		one, err := run(p)
		return err == nil && one.Verdict.Error == "" && still(one)
	})
	r.Plan, _ = scenarios.Fit(r.Plan, subject.Can)
	r.Plan.Name, r.Plan.Story = shrunkName(r.Plan.Name), ""
	if j.Smallest == "" {
		return r
	}
	told := func(p *plan.Plan) (*history.History, *checker.Verdict, error) {
		h, err := sim.Run(b, p, subject, sim.Options{Seed: j.Seed, Scenario: p.Name})
		if err != nil {
			return nil, nil, err
		}
		judging := checker.Options{Unpredicted: true}
		v := checker.Judge(context.Background(), h, judging)
		if j.Prove && v.Trouble() == "" {
			explore.Prove(b, p, subject, h, v, judging)
		}
		return h, v, nil
	}
	small := &reports.Run{Command: j.Smallest}
	var page bytes.Buffer
	h, v, err := told(j.Plan)
	if err == nil {
		if small.History, small.Verdict, err = told(r.Plan); err == nil {
			err = reports.HTML(&page, h, v, reports.HTMLOptions{Command: j.Command, Shrunk: small})
		}
	}
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
		return r
	}
	r.Page = page.Bytes()
	return r
}
