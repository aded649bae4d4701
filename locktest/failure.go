package locktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	simfault "github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Failure is one guarantee that a lock broke in one scenario or plan, and has to answer for.
type Failure struct {
	Guarantee  string
	Scenario   string     // or the name of a drawn or kept plan
	Rule       string     // that was broken: a sentence without times or names
	Violations []string   // what happened, with names and times: each violation of the guarantee, what tells most first
	Text       string     // the whole story, for people
	Plan       *plan.Plan // the smallest that was found to break the same for the same cause
	Report     string     // the file of the report; "" if none was wanted
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s broke in %s: %s\n\n%s", f.Guarantee, f.Scenario, f.Rule, f.Text)
}

// tries bounds the search for a smaller plan, which is made once for each guarantee: it is a help, and no part of the
// verdict. The bound counts runs and not time, so that the same plan comes out each time.
const tries = 100

// shrunkMessages bounds the same search by the messages of its runs, which are what it costs.
const shrunkMessages = 500_000

// asked is the answer for one guarantee in one trial.
type asked struct {
	skip    string // it does not apply, or is known
	failure error
	notes   []string // which faults struck nothing, and which calls the lock declined
}

// ask runs a trial if need be, and says how it stands with a guarantee; again is how to run it once more.
func (s *suite) ask(b *bubble.Bubbles, t *trial, g contract.Guarantee, again string) asked {
	if t.why != "" {
		return asked{skip: t.why}
	}
	s.accept(b, g)
	s.run(b, t)
	switch {
	case t.why != "":
		return asked{skip: t.why}
	case t.err != nil && t.told:
		return asked{skip: "the run failed, as was said before"}
	case t.err != nil:
		t.told = true
		return asked{failure: fmt.Errorf("%s: the run failed: %w\nagain: %s", t.name, t.err, again)}
	}
	r := t.verdict.Result(g)
	reason, known := s.known[t.name+"/"+string(g)]
	broken := s.broke(t, t.verdict, g)
	switch {
	case r.Status == checker.NotClaimed:
		return asked{skip: r.Summary}
	case broken != nil && known:
		return asked{skip: "known: " + reason}
	case broken != nil && broken[0].known != "":
		return asked{skip: "known: " + broken[0].known}
	case broken != nil:
		return asked{failure: s.tell(b, t, g, broken, again)}
	case r.Status == checker.Undecided:
		return asked{failure: fmt.Errorf("%s in %s is undecided: %s", g, t.name, r.Summary)}
	case known && r.Status == checker.Broken:
		return asked{failure: fmt.Errorf("%s is said to break in %s (%s), and the lock does not answer for that: %s: take it off the list", g, t.name, reason, r.Violations[0].Ruling)}
	case known:
		return asked{failure: fmt.Errorf("%s is said to break in %s (%s), and %s: take it off the list", g, t.name, reason, r.Status)}
	}
	notes := slices.Clone(t.verdict.Unstruck)
	if t.verdict.Untried != "" {
		notes = append(notes, t.verdict.Untried)
	}
	return asked{notes: notes}
}

// renewed reports whether an owner's client renewed the lock ever: then its watchdog outlived the call.
func renewed(h *history.History, v fault) bool {
	return slices.ContainsFunc(h.Ops, func(op history.Op) bool {
		return op.Kind.Renews() && op.Lock == v.Lock && slices.Contains(v.Owners, op.Owner)
	})
}

// tell makes a failure of violations, of which the first tells most.
func (s *suite) tell(b *bubble.Bubbles, t *trial, g contract.Guarantee, all []fault, again string) *Failure {
	s.prove(b, t)
	f := &Failure{Guarantee: string(g), Scenario: t.name, Rule: string(all[0].Rule), Plan: t.plan}
	for _, v := range all {
		f.Violations = append(f.Violations, v.Text)
	}
	var text strings.Builder
	_ = reports.Terminal(&text, t.verdict, reports.TerminalOptions{Width: 100, History: t.history, Command: again, Rest: "in the report"})
	if len(all) > 1 {
		fmt.Fprintf(&text, "\n  All %s violations of %s that the lock answers for:\n\n", reports.Thousands(len(all)), g)
		for _, v := range all {
			fmt.Fprintf(&text, "  * %s (%s)\n", v.Text, v.Rule)
		}
	}
	if all[0].Rule == contract.RenewedInTime && len(all[0].Cause.Faults) == 0 && !renewed(t.history, all[0]) {
		text.WriteString("\n  The context of a call ends with it. If the library's watchdog lives on that context, the adapter needs\n  context.WithoutCancel.\n")
	}
	if !s.told[g] {
		s.told[g] = true
		tried := 0
		f.Plan, tried = s.shrink(b, t, g, all[0])
		if s.late() {
			text.WriteString("\n  The time that go test gives it, -timeout, is nearly over: a smaller plan may break the same.\n")
		}
		if tried > 0 {
			fmt.Fprintf(&text, "\n  The smallest of %s plans that break the same; kept as %s/NAME.json it is run every time:\n\n%s\n", reports.Thousands(tried), corpus, f.Plan.JSON())
		}
	}
	if s.out != "" {
		f.Report = s.file(t.name + "-" + string(g) + ".html")
		if err := s.report(t, f, again); err != nil {
			f.Report = ""
			fmt.Fprintf(&text, "\n  There is no report: %v\n", err)
		} else {
			t.report = filepath.Base(f.Report)
			fmt.Fprintf(&text, "\n  report  %s\n", f.Report)
		}
	}
	f.Text = text.String()
	return f
}

// prove tries the causes in a trial by runs without faults, once, unless the lock does something else each time.
func (s *suite) prove(b *bubble.Bubbles, t *trial) {
	if t.proved || s.stopAt || s.late() {
		return
	}
	t.proved = true
	if same, _, err := s.judged(b, t, t.plan, 0); err != nil || same.End.Trace != t.history.End.Trace {
		return
	}
	explore.Prove(b, t.plan, s.subject, t.history, t.verdict, judging())
}

// file is the whole path of a file in the folder of reports.
func (s *suite) file(name string) string {
	path := filepath.Join(s.out, name)
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// report writes the report of a trial, and its smallest plan beside it.
func (s *suite) report(t *trial, f *Failure, again string) error {
	if err := os.MkdirAll(filepath.Dir(f.Report), 0o777); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := reports.HTML(&page, t.history, t.verdict, reports.HTMLOptions{Command: again}); err != nil {
		return err
	}
	if err := os.WriteFile(f.Report, page.Bytes(), 0o666); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(f.Report, ".html")+".json", append(f.Plan.JSON(), '\n'), 0o666)
}

// shrink looks for the smallest plan that breaks the same rule for the same cause.
func (s *suite) shrink(b *bubble.Bubbles, t *trial, g contract.Guarantee, v fault) (*plan.Plan, int) {
	tried, messages, most := 0, 0, sim.MostShrunk(t.history.End.Messages)
	smallest, _ := plan.Shrink(t.plan, 0, func(p *plan.Plan) bool {
		if tried >= tries || messages >= shrunkMessages || s.stopAt || s.late() || p.Check(simfault.Needs()) != nil {
			return false
		}
		tried++
		p, why := scenarios.Fit(p, s.subject.Can) // as it will be run when it is kept
		if why != "" {
			return false
		}
		h, verdict, err := s.judged(b, t, p, most)
		if h != nil && h.End != nil {
			messages += int(h.End.Messages)
		}
		return err == nil && slices.ContainsFunc(s.broke(t, verdict, g), v.same)
	})
	if smallest != t.plan {
		smallest, _ = scenarios.Fit(smallest, s.subject.Can)
	} else {
		smallest = new(*t.plan) // which keeps its name
	}
	smallest.Name, smallest.Story = t.name+"-shrunk", ""
	return smallest, tried
}
