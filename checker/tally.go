package checker

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/windows"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// tally adds up the verdicts on windows.
type tally struct {
	results map[contract.Guarantee]*tallied
	ops     atomic.Int64 // on locks and resources
	windows atomic.Int64
	holds   int
	calls   int // acquiring
	grants  int
	writes  int
	onLock  int
	locks   map[string]bool
	refused []string
	differ  string           // on what checkers disagreed first
	h       *history.History // see Stream.Broken
	v       *Verdict
	rank    rank // of h
}

// A rank says how much a window has to tell.
type rank int

const (
	excused    rank = iota + 1 // something broke
	unanswered                 // nobody knows what did
	accused                    // the lock is to blame for something that did
)

// tallied is what the windows say of one guarantee.
type tallied struct {
	claimed    int // windows in which it was judged
	undecided  int
	broken     int
	found      int // violations
	assumed    int // those that an assumption of every lease lock explains
	defects    int // those that neither does, nor a known limitation of this one
	by         []string
	known      []string // where what defects does not count is documented
	why        string   // of not claimed, or undecided
	violations []Violation
}

func (t *tally) judged() (ops, windows int) { return int(t.ops.Load()), int(t.windows.Load()) }

// judge judges one window.
func (t *tally) judge(w windows.Window, o Options) {
	defer func() {
		t.ops.Add(int64(len(w.History.Ops)))
		t.windows.Add(1)
	}()
	if wrong := assumptions(w.History); len(wrong) > 0 {
		t.refused = appendNew(t.refused, wrong[0])
		return
	}
	f := collect(w.History, o)
	worst := rank(0)
	more := map[contract.Guarantee]Result{} // what is broken by more than the window shows by itself
	for _, r := range results(context.Background(), f) {
		ofTokens := r.Guarantee == contract.Fencing || r.Guarantee == contract.Object && o.Model == model.Fenced
		if ofTokens && r.Status == Holds {
			if r = f.tokensGoOn(r, w.Before); r.Status == Broken {
				more[r.Guarantee] = r
			}
		}
		one := t.results[r.Guarantee]
		if one == nil {
			one = &tallied{}
			t.results[r.Guarantee] = one
		}
		if r.Status == NotClaimed {
			one.why = r.Summary
			continue
		}
		if r.Guarantee == contract.Object && r.Status == Broken {
			r = f.weigh(context.Background(), r)
			more[r.Guarantee] = r
		}
		one.claimed++
		if r.By != "" {
			one.by = appendNew(one.by, strings.Split(r.By, ", ")...)
		}
		switch r.Status {
		case Undecided:
			one.undecided++
			one.why = r.Summary
			worst = max(worst, unanswered)
		case Broken:
			worst = max(worst, excused)
			one.broken++
			for _, v := range r.Violations {
				one.found++
				switch v.Ruling.Kind {
				case Defect:
					one.defects++
					worst = accused
				case KnownLimitation:
					one.known = appendNew(one.known, v.Ruling.Source)
				default:
					one.assumed++
				}
				v.Cause.Faults = nil // they are indexes into the window's
				// Those that count most come first, and are kept.
				if len(one.violations) < MaxViolations {
					one.violations = append(one.violations, v)
				} else if i := len(one.violations) - 1; v.Ruling.Kind == Defect && one.violations[i].Ruling.Kind != Defect {
					one.violations[i] = v
				}
			}
		}
	}
	if t.differ == "" {
		t.differ = f.disagreement
	}
	for _, l := range f.locks {
		t.holds += len(l.beliefs)
		t.onLock += len(l.ops)
		t.locks[l.name] = true
		for _, op := range l.ops {
			if op.Kind.Acquires() {
				if t.calls++; op.Outcome == history.Acquired {
					t.grants++
				}
			}
		}
		for _, op := range l.resource {
			if op.Kind == history.Write && op.Outcome != history.Rejected {
				t.writes++
			}
		}
	}
	if worst > t.rank {
		o.Sparing = false
		t.h, t.v, t.rank = w.History, Judge(context.Background(), w.History, o), worst
		changed := false
		for i := range t.v.Results {
			r := &t.v.Results[i]
			if than := more[r.Guarantee]; len(than.Violations) > len(r.Violations) {
				if r.Status != Broken {
					r.Status, r.Summary = than.Status, than.Summary
				}
				r.Violations, changed = than.Violations, true
			}
		}
		if changed {
			t.v.Story, t.v.Explanation = tell(f, t.v.Results), explain(f, t.v)
		}
	}
}

// tokensGoOn holds a window's tokens against the latest one of the windows before.
func (f *facts) tokensGoOn(r Result, before *history.Op) Result {
	if before == nil {
		return r
	}
	for _, l := range f.locks {
		for _, op := range l.ops {
			granted := op.Outcome == history.Acquired || r.Guarantee == contract.Object && answer(op) == history.Acquired
			if granted && op.Token > 0 && op.Token <= before.Token && op.Call > before.Return {
				v := f.tokenViolation(l, contract.TokensIncrease, op, before,
					fmt.Sprintf("%s got %s with token %d at %s, after %s had got it with token %d", op.Owner, l.name, op.Token,
						Stamp(op.Return), before.Owner, before.Token))
				f.complete(r.Guarantee, &v)
				r.Status, r.Violations = Broken, append(r.Violations, v)
				r.Summary = r.Violations[0].Text
				return r
			}
		}
	}
	return r
}

// verdict is what the windows say together.
func (t *tally) verdict(h history.Header, end history.End) *Verdict {
	ops, windows := t.judged()
	v := &Verdict{
		Version: VerdictVersion, Scenario: h.Scenario, Subject: h.Subject, World: h.World, Seed: h.Seed, Story: []Moment{},
		Refused: t.refused, Disagreement: t.differ, Ops: ops, Virtual: end.At, Messages: end.Messages, Trace: end.Trace, Error: end.Error,
	}
	held := map[contract.Guarantee]string{
		contract.Object:    fmt.Sprintf("%s on %s fit the sequential lock", count(t.onLock, "operation"), count(len(t.locks), "lock")),
		contract.Exclusion: fmt.Sprintf("%s, never two at once on one lock", count(t.holds, "hold")),
		contract.Effect:    fmt.Sprintf("%s, none lost", count(t.writes, "update")),
		contract.Fencing:   fmt.Sprintf("%s with increasing tokens", count(t.grants, "grant")),
		contract.Watchdog:  "all leases were renewed in their time",
		contract.Liveness:  fmt.Sprintf("%s, none was late and nothing was left behind", count(t.calls, "acquiring call")),
		contract.Fairness:  "each grant was for who was first in the queue",
	}
	for _, g := range contract.Guarantees() {
		r := Result{Guarantee: g, Status: NotClaimed, Summary: "nothing happened"}
		if one := t.results[g]; one != nil {
			r = one.result(g, held[g], windows)
		}
		v.Results = append(v.Results, r)
	}
	if v.Explanation = t.explain(windows, end.At); t.v != nil {
		v.Story = t.v.Story
	}
	return v
}

func (one *tallied) result(g contract.Guarantee, held string, windows int) Result {
	r := Result{Guarantee: g, Status: Holds, Summary: held, By: strings.Join(one.by, ", ")}
	switch {
	case one.claimed == 0:
		r.Status, r.Summary = NotClaimed, one.why
	case one.broken > 0:
		r.Status, r.Violations = Broken, one.violations
		r.Summary = fmt.Sprintf("%s in %s of %s; the first: %s", count(one.found, "violation"), Thousands(one.broken), count(windows, "window"), one.violations[0].Text)
		if one.defects == 0 && one.undecided == 0 {
			how := "what breaks it for every lease lock"
			if one.assumed == 0 {
				how = "a known limitation of this lock"
			} else if len(one.known) > 0 {
				how += ", or a known limitation of this one"
			}
			if len(one.known) > 0 {
				how += fmt.Sprintf(" (%s)", strings.Join(one.known, "; "))
			}
			r.Expected = Broken
			r.Summary = fmt.Sprintf("%s in %s of %s, each by %s; the first: %s",
				count(one.found, "violation"), Thousands(one.broken), count(windows, "window"), how, one.violations[0].Text)
		}
	case one.undecided > 0:
		r.Status, r.Summary = Undecided, fmt.Sprintf("in %s of %s: %s", Thousands(one.undecided), count(windows, "window"), one.why)
	}
	return r
}

// explain says what the first bad window shows.
func (t *tally) explain(windows int, length time.Duration) string {
	if t.v == nil {
		return fmt.Sprintf("Nothing broke: %s in %s, judged in %s.", count(t.holds, "hold"), Stamp(length), count(windows, "window"))
	}
	return t.v.Explanation
}
