package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/explore/night"
	"github.com/holdfast-sim/holdfast/reports"
)

// nightly is what a search found, compared with one before it. Nil: there is nothing to compare it with.
type nightly struct {
	State    string          `json:"state"`      // the file with what was before
	Before   int             `json:"beforeRuns"` // how many runs that were judged are compared
	Now      int             `json:"nowRuns"`
	Findings []night.Finding `json:"findings"`
}

// earlier is what was found before.
type earlier struct {
	file string
	own  bool // it is the state of the same search: what it does now is compared with what it did
	sum  night.Sum
}

// before reads what -compare names; nil: it names nothing.
func (h hunt) before() (*earlier, error) {
	if h.compare == "" {
		return nil, nil
	}
	e := &earlier{file: h.compare}
	mine := filepath.Join(h.out, h.folder(), stateFile)
	if info, err := os.Stat(h.compare); err == nil && info.IsDir() {
		e.file = filepath.Join(h.compare, h.folder(), stateFile)
	}
	e.own = h.out != nowhere && sameFile(e.file, mine)
	if e.own && h.fresh {
		return nil, errors.New("-fresh forgets what it would be compared with")
	}
	all, err := explore.ReadState(e.file, h.config)
	switch {
	case e.own && errors.Is(err, fs.ErrNotExist): // this is the first night
	case errors.Is(err, explore.ErrOther):
		return nil, fmt.Errorf("it is of another search: %w", explore.ErrOther)
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no state of the same search")
	case err != nil:
		return nil, err
	}
	for _, r := range all {
		e.sum.Add(r)
	}
	return e, nil
}

// sameFile reports whether two names are of one file, be it there or not.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// findings compares a search with what was before.
func (e *earlier) findings(t explore.Total, done *counting) *nightly {
	if e == nil {
		return nil
	}
	var now night.Sum
	if now.Add(t.Whole()); e.own {
		now = done.found
	}
	return &nightly{State: e.file, Before: e.sum.Runs, Now: now.Runs, Findings: night.Compare(e.sum, now)}
}

// IsNew reports whether something is there that was not before.
func (n *nightly) IsNew() bool { return n != nil && night.IsNew(n.Findings) }

// tell says what became of each finding.
func (n *nightly) tell(w io.Writer) {
	if n == nil {
		return
	}
	say(w, "\ncompared with %s: %s runs before, %s now\n", n.State, reports.Thousands(n.Before), reports.Thousands(n.Now))
	if len(n.Findings) == 0 {
		say(w, "  nothing was found, neither then nor now\n")
	}
	for _, f := range n.Findings {
		say(w, "  %-8s  %s\n", f.State, f.Cause())
		say(w, "%s\n", indent(becameOf(f), 12, wide-12))
	}
}

// becameOf says how often a finding comes, and what one may believe of it.
func becameOf(f night.Finding) string {
	rate := fmt.Sprintf("%s of all runs (%s to %s)", percent(f.Rate), percent(f.Low), percent(f.High))
	switch f.State {
	case night.New:
		return fmt.Sprintf("in %s: %s; %s clean runs would say with 95 %% that it is gone", of(f.Now.Runs, f.Now.Of), rate, reports.Thousands(f.Clean))
	case night.Ongoing:
		return fmt.Sprintf("in %s, before in %s of %s: %s; %s clean runs would say with 95 %% that it is gone", of(f.Now.Runs, f.Now.Of), reports.Thousands(f.Before.Runs), reports.Thousands(f.Before.Of), rate, reports.Thousands(f.Clean))
	case night.Rare:
		return fmt.Sprintf("before in %s: %s; none in %s now, and it takes %s more to say with 95 %% that it is gone", of(f.Before.Runs, f.Before.Of), rate, reports.Thousands(f.Now.Of), reports.Thousands(f.Left))
	}
	return fmt.Sprintf("before in %s: %s; none in %s now, and %s are enough to say with 95 %% that it is gone", of(f.Before.Runs, f.Before.Of), rate, reports.Thousands(f.Now.Of), reports.Thousands(f.Clean))
}

// of says in how many of all runs something came.
func of(runs, all int) string {
	return reports.Thousands(runs) + " of " + reports.Thousands(all) + " " + plural("run", all)
}

// percent writes a share with two digits that say something.
func percent(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}
