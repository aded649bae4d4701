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
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// reportOrder is what the user of simrun report asked for.
type reportOrder struct {
	verbose, json bool
	open          bool
	files         map[string]string
}

func reportFlags(o *reportOrder) *flag.FlagSet {
	f := newFlags("report")
	f.BoolVar(&o.verbose, "v", false, "the whole story, and every operation")
	openFlag(f, &o.open)
	machineFlags(f, &o.json, &o.files)
	return f
}

// report renders stored runs again, from their files. A run that was never judged is judged first;
// the verdict of any other stays as it is.
func report(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o reportOrder
	f := reportFlags(&o)
	dirs, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "report")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "report: %v", flagError(f, err))
	case len(dirs) == 0:
		return fail(stderr, checker.ExitUsage, "report: say which runs: simrun report OUT/SCENARIO/RUN...")
	case o.open && len(dirs) > 1:
		return fail(stderr, checker.ExitUsage, "report: -open shows one report: name one run")
	}
	code := checker.ExitExpected
	b := reports.Batch{Command: again(append([]string{"report"}, args...))}
	for _, dir := range dirs {
		store := &folder{dir: filepath.Clean(dir)}
		if filepath.Base(store.dir) == historyFile { // as completed by a shell
			store.dir = filepath.Dir(store.dir)
		}
		if ctx.Err() != nil {
			break
		}
		if info, err := os.Stat(store.dir); err == nil && !info.IsDir() {
			return fail(stderr, checker.ExitUsage, "report: %s: it is no folder of a run; simrun check judges histories", dir)
		}
		run, err := loadRun(ctx, os.DirFS(store.dir), ".")
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return fail(stderr, checker.ExitUsage, "report: %s: %v", dir, err)
		}
		incomplete(run.History, "report: "+dir, stderr)
		warn := func(what string, err error) {
			if err != nil {
				code = checker.Worst(code, fail(stderr, checker.ExitHarness, "report: %s: %v", what, err))
			}
		}
		whole, judged := run.History, run.Verdict == nil
		var counted *soak.Result // of a soak
		switch {
		case isSoak(whole):
			if counted = soaked(ctx, &run); judged {
				warn(partFile, leavePart(store, run.History))
			}
		case judged:
			run.Verdict, _ = judge(ctx, run.History, judging(run.History))
			run.Picture = picture(store, run.History, run.Verdict, warn)
		}
		if ctx.Err() != nil {
			break
		}
		run.Command = commandOf(run, filepath.ToSlash(store.dir))
		page := render(store, run, !judged, warn)
		switch {
		case o.json && len(dirs) > 1:
			_ = reports.JSONLine(stdout, run.Verdict)
		case o.json:
			_ = reports.JSON(stdout, run.Verdict)
		default:
			s := showOn(stdout, o.verbose)
			warn("summary", reports.Terminal(stdout, run.Verdict, reports.TerminalOptions{Color: s.Color, Width: s.Width, Verbose: s.Verbose,
				History: run.History, Report: page, Command: run.Command}))
			if counted != nil {
				say(stdout, "%s", counts(counted))
			}
			if len(dirs) > 1 {
				say(stdout, "\n")
			}
		}
		s := reports.Summarize(whole, run.Verdict, true)
		s.Command = run.Command
		b.Runs = append(b.Runs, s)
		code = checker.Worst(code, run.Verdict.Code())
		if o.open && page != "" {
			openPage(page, stderr)
		}
	}
	code = interrupted(ctx, stderr, code, "report: interrupted after %d of %d runs", len(b.Runs), len(dirs))
	return checker.Worst(code, leave(o.files, b, stderr))
}

// render writes a run's reports into its folder, but for its verdict if that is to be kept, and
// returns where the page is, or "" if there is none.
func render(store *folder, run reports.Run, keepVerdict bool, warn func(string, error)) (page string) {
	for _, f := range reports.Formats() {
		if keepVerdict && f.File == verdictFile {
			continue
		}
		var b bytes.Buffer
		err := f.Write(&b, run)
		if err == nil {
			err = store.write(f.File, b.Bytes())
		}
		warn(f.File, err)
		if err == nil && f.File == reportFile {
			page = filepath.Join(store.dir, f.File)
		}
	}
	return page
}

// parseMixed reads flags that may stand before, between and after the other arguments, which it
// returns.
func parseMixed(f *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) == 0 {
			return others, nil
		}
		others, args = append(others, args[0]), args[1:]
	}
}
