package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/minimal"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/history/formats"
	"github.com/holdfast-sim/holdfast/model"
	"github.com/holdfast-sim/holdfast/reports"
)

// checkOrder is what the user of simrun check asked for.
type checkOrder struct {
	kind          model.Kind // "": what the history claims
	budget        time.Duration
	shrink        string
	most          int
	verbose, json bool
	files         map[string]string
}

func checkFlags(o *checkOrder) *flag.FlagSet {
	f := newFlags("check")
	f.Func("model", "`kind` of lock: "+kinds()+" (default lease, or what the history claims)", func(name string) (err error) {
		o.kind, err = model.ParseKind(name)
		return err
	})
	f.DurationVar(&o.budget, "budget", checker.DefaultBudget, "`time` that one searching checker may spend on one lock")
	f.StringVar(&o.shrink, "shrink", "", "`file` for the smallest part of a broken history that still breaks the same guarantee")
	f.IntVar(&o.most, "records", mostRecords, "how `many` records of a history, each a line, to read at most; judging one takes about 700 bytes, "+
		"and no more are read than there is memory for")
	f.BoolVar(&o.verbose, "v", false, "the whole story, and every operation")
	machineFlags(f, &o.json, &o.files)
	return f
}

// check judges histories, whoever recorded them: ours, and those that docs/history.md or Jepsen's
// EDN describe. Nothing is run, and nothing is written but what flags ask for, and a history on which the checkers disagree.
func check(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o checkOrder
	f := checkFlags(&o)
	paths, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "check")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "check: %v", flagError(f, err))
	case len(paths) == 0:
		return fail(stderr, checker.ExitUsage, "check: say which histories: simrun check FILE... (- is standard input)")
	case o.budget <= 0:
		return fail(stderr, checker.ExitUsage, "check: -budget %v: must be more than nothing", o.budget)
	case o.most <= 0:
		return fail(stderr, checker.ExitUsage, "check: -records %d: must be more than nothing", o.most)
	case o.shrink != "" && len(paths) > 1:
		return fail(stderr, checker.ExitUsage, "check: -shrink takes one history, not %d", len(paths))
	}
	given := false
	f.Visit(func(f *flag.Flag) { given = given || f.Name == "records" })
	code := checker.ExitExpected
	b := reports.Batch{Command: again(append([]string{"check"}, args...))}
	for _, path := range paths {
		limit := history.Limit(o.most)
		if !given {
			limit = affordable()
		}
		away := waiting(stderr, time.Second, func(took time.Duration) string {
			return fmt.Sprintf("check: reading %s for %.0f s", path, took.Seconds())
		})
		h, err := openHistory(ctx, path, limit)
		away()
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, history.ErrTruncated) {
			fail(stderr, 0, "warning: check: %v; the rest is judged", err)
		} else if errors.Is(err, history.ErrTooLong) && limit < history.Limit(o.most) {
			return fail(stderr, checker.ExitUndecided, "check: %v: there is memory for %d records; -records %d reads more all the same", err, limit, o.most)
		} else if errors.Is(err, history.ErrTooLong) {
			return fail(stderr, checker.ExitUsage, "check: %v: -records %d is the most; judging one takes about 700 bytes", err, limit)
		} else if err != nil {
			return fail(stderr, checker.ExitUsage, "check: %v", err)
		}
		incomplete(h, "check: "+path, stderr)
		options := judging(h)
		options.Model, options.Budget, options.Also = o.kind, o.budget, opinion
		away = waiting(stderr, time.Second, func(took time.Duration) string {
			return fmt.Sprintf("check: judging %s operations for %.0f s", reports.Thousands(len(h.Ops)), took.Seconds())
		})
		v, shown := judge(ctx, h, options)
		away()
		if ctx.Err() != nil {
			break
		}
		if len(v.Refused) > 0 && v.Error == "" {
			return fail(stderr, checker.ExitUsage, "check: %s: %s", path, v.Refused[0])
		}
		command := again([]string{"check", path})
		switch {
		case o.json && len(paths) > 1:
			_ = reports.JSONLine(stdout, v)
		case o.json:
			_ = reports.JSON(stdout, v)
		default:
			s := showOn(stdout, o.verbose)
			_ = reports.Terminal(stdout, v, reports.TerminalOptions{Color: s.Color, Width: s.Width, Verbose: s.Verbose, History: shown, Command: command})
		}
		if v.Disagreement != "" {
			name := "disagreement-" + strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".jsonl"
			fail(stderr, code, "check: %s: %s%s", path, v.Disagreement, leaveDisagreement(ctx, &folder{dir: "."}, name, shown, options))
		}
		if o.shrink != "" && v.Disagreement == "" {
			if err := shrunk(ctx, o.shrink, shown, v, options); err != nil {
				return fail(stderr, blame(err), "check: -shrink %s: %v", o.shrink, err)
			}
		}
		s := reports.Summarize(h, v, true)
		s.Command = command
		b.Runs = append(b.Runs, s)
		code = checker.Worst(code, v.Code())
	}
	code = interrupted(ctx, stderr, code, "check: interrupted after %d of %d histories", len(b.Runs), len(paths))
	return checker.Worst(code, leave(o.files, b, stderr))
}

// incomplete says that a run of ours has no end.
func incomplete(h *history.History, what string, stderr io.Writer) {
	if killed(h) || isSoak(h) && h.End == nil {
		fail(stderr, 0, "warning: %s: incomplete: it has no end, as of a run that was killed; what is certain is judged", what)
	}
}

// openHistory opens a file, a run's folder, or standard input. A run's own history is read together
// with the server log beside it. Nobody waits for a file that is not written any more once ctx has ended.
func openHistory(ctx context.Context, path string, most history.Limit) (*history.History, error) {
	return waited(ctx, func() (*history.History, error) { return openFile(ctx, path, most) })
}

func openFile(ctx context.Context, path string, most history.Limit) (*history.History, error) {
	dir := path
	if filepath.Base(path) == historyFile {
		dir = filepath.Dir(path)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || path == "-" {
		h, err := formats.Open(ctx, path, most)
		if h, err = certain(h, err, false); errors.Is(err, errNoLog) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return h, err
	}
	h, err := loadHistory(ctx, os.DirFS(dir), ".", most)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", path, err)
	case h == nil:
		err = fmt.Errorf("%s: there is no %s in it", path, historyFile)
	}
	return h, err
}

// shrunk writes the smallest part of h that still breaks the first guarantee that broke.
func shrunk(ctx context.Context, file string, h *history.History, v *checker.Verdict, o checker.Options) error {
	for _, r := range v.Results {
		if r.Status != checker.Broken {
			continue
		}
		small, ok := minimal.Violation(ctx, h, r.Guarantee, o)
		if !ok {
			continue
		}
		var b bytes.Buffer
		if err := history.Save(&b, small); err != nil {
			return err
		}
		return cause(writeFile(file, b.Bytes()))
	}
	return errors.New("nothing is broken, so there is nothing to shrink")
}

func kinds() string {
	var names []string
	for _, k := range model.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
