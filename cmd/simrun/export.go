package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

// exportOrder is what the user of simrun export asked for.
type exportOrder struct {
	format, out string
	json        bool
}

func exportFlags(o *exportOrder) *flag.FlagSet {
	f := newFlags("export")
	jsonFlag(f, &o.json, "the name of the file that is written")
	var forms []string
	for _, e := range reports.Exports() {
		forms = append(forms, e.Name+" ("+e.About+")")
	}
	f.StringVar(&o.format, "format", "", "`name` of the form: "+strings.Join(forms, " or "))
	f.StringVar(&o.out, "out", "", "`file` to write, or - for standard output (default: perfetto.json or otlp.json in the run's folder)")
	return f
}

func exportNames() (names []string) {
	for _, e := range reports.Exports() {
		names = append(names, e.Name)
	}
	return names
}

// export writes a stored run for other tools.
func export(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o exportOrder
	f := exportFlags(&o)
	dirs, err := parseMixed(f, args)
	form := slices.Index(exportNames(), o.format)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "export")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "export: %v", flagError(f, err))
	case len(dirs) != 1:
		return fail(stderr, checker.ExitUsage, "export: say which run: simrun export -format perfetto OUT/SCENARIO/RUN")
	case o.format == "":
		return fail(stderr, checker.ExitUsage, "export: say in which form: -format %s", strings.Join(exportNames(), " or "))
	case form < 0:
		return fail(stderr, checker.ExitUsage, "export: -format: %v", unknown("form", o.format, exportNames()))
	case given(f, "out") && o.out == "":
		return fail(stderr, checker.ExitUsage, `export: -out "": name a file, or - for standard output`)
	case o.out == "-" && o.json:
		return fail(stderr, checker.ExitUsage, "export: -out - and -json both want standard output: leave one of them out")
	}
	store := &folder{dir: filepath.Clean(dirs[0])}
	if filepath.Base(store.dir) == historyFile { // as completed by a shell
		store.dir = filepath.Dir(store.dir)
	}
	if info, err := os.Stat(store.dir); err == nil && !info.IsDir() {
		return fail(stderr, checker.ExitUsage, "export: %s: it is no folder of a run", dirs[0])
	}
	run, err := loadRun(ctx, os.DirFS(store.dir), ".")
	if err == nil && run.History == nil {
		err = reports.ErrNoHistory
	}
	if ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "export: interrupted: nothing is written")
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "export: %s: %v", dirs[0], err)
	}
	incomplete(run.History, "export: "+dirs[0], stderr)
	e := reports.Exports()[form]
	var text bytes.Buffer
	if err := e.Write(&text, run, beginning(store.dir)); err != nil {
		return fail(stderr, checker.ExitHarness, "export: %s: %v", e.Name, err)
	}
	if o.out == "-" {
		_, _ = stdout.Write(text.Bytes()) // what is lost of it is told at the end, as of every command
		return checker.ExitExpected
	}
	file := o.out
	if file == "" {
		file = filepath.Join(store.dir, e.File)
	}
	if err := replaceFile(file, text.Bytes()); err != nil {
		return fail(stderr, blame(err), "export: %s: %v", file, cause(err))
	}
	if o.json {
		return printJSON(stdout, stderr, written{Files: []string{file}})
	}
	say(stdout, "%s is written\n", file)
	return checker.ExitExpected
}

// beginning is when a stored run began, by the name of its folder. The history has no time of day.
func beginning(dir string) time.Time {
	if whole, err := filepath.EvalSymlinks(dir); err == nil { // latest
		dir = whole
	}
	if whole, err := filepath.Abs(dir); err == nil { // "."
		dir = whole
	}
	stamp, _, _ := strings.Cut(filepath.Base(dir), "-")
	begun, err := time.Parse("20060102T150405Z", stamp)
	if err != nil {
		return time.Unix(0, 0)
	}
	return begun
}

// replaceFile writes a file that the user named, whole or not at all. What is no file, such as a pipe, is written to.
func replaceFile(name string, content []byte) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeFile(name, content)
	}
	to := &folder{dir: filepath.Dir(name)}
	return to.write(filepath.Base(name), content)
}
