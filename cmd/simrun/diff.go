package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

// diffOrder is what the user of simrun diff asked for.
type diffOrder struct {
	verbose, json bool
	page          string
}

func diffFlags(o *diffOrder) *flag.FlagSet {
	f := newFlags("diff")
	f.BoolVar(&o.verbose, "v", false, "the whole plans and stories, and not only what changed")
	jsonFlag(f, &o.json, "the difference")
	f.StringVar(&o.page, "html", "", "`file` for a page with both on one axis")
	return f
}

// diff says how two stored runs differ. Nothing of them is changed.
func diff(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o diffOrder
	f := diffFlags(&o)
	dirs, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "diff")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "diff: %v", flagError(f, err))
	case len(dirs) != 2:
		return fail(stderr, checker.ExitUsage, "diff: say which two runs: simrun diff OUT/SCENARIO/RUN OUT/SCENARIO/RUN")
	case given(f, "html") && o.page == "":
		return fail(stderr, checker.ExitUsage, `diff: -html "": name a file`)
	}
	var sides [2]reports.Side
	for i, dir := range dirs {
		run, err := runOf(ctx, dir)
		if ctx.Err() != nil {
			return interrupted(ctx, stderr, checker.ExitExpected, "diff: interrupted")
		} else if err != nil {
			return fail(stderr, checker.ExitUsage, "diff: %s: %v", dir, err)
		}
		sides[i] = reports.Side{Run: run, Title: dir}
	}
	code := checker.ExitExpected
	d := reports.Differ(sides[0], sides[1])
	if o.json {
		code = printJSON(stdout, stderr, d)
	} else {
		s := showOn(stdout, o.verbose)
		_ = d.Text(stdout, reports.TerminalOptions{Color: s.Color, Width: s.Width, Verbose: s.Verbose})
	}
	if o.page == "" {
		return code
	}
	var page bytes.Buffer
	if err := reports.Compare(&page, sides[0], sides[1]); err != nil {
		return fail(stderr, checker.ExitHarness, "diff: -html: %v", err)
	}
	if err := replaceFile(o.page, page.Bytes()); err != nil {
		return fail(stderr, blame(err), "diff: -html %s: %v", o.page, cause(err))
	}
	return code
}

// runOf reads a stored run from its folder, or from one of the files that shells complete to. One without a verdict is judged.
func runOf(ctx context.Context, dir string) (reports.Run, error) {
	where := filepath.Clean(dir)
	if filepath.Base(where) == historyFile {
		where = filepath.Dir(where)
	}
	if info, err := os.Stat(where); err != nil {
		return reports.Run{}, cause(err)
	} else if !info.IsDir() {
		return reports.Run{}, errors.New("it is no folder of a run")
	}
	run, err := loadRun(ctx, os.DirFS(where), ".")
	if err != nil {
		return run, err
	}
	if run.Verdict == nil {
		run.Verdict, _ = judge(ctx, run.History, judging(run.History))
	}
	run.Command = commandOf(run, filepath.ToSlash(where))
	return run, nil
}
