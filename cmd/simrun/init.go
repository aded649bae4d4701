package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
)

// starter is a file to start from.
type starter struct {
	name, file string
	text       string
	next       string // what to do with it, where the file's name is FILE
}

//go:embed starters/plan.json
var starterPlan string

//go:embed starters/lock_test.go.txt
var starterLocktest string

//go:embed starters/workflow.yml
var starterWorkflow string

func starters() []starter {
	return []starter{
		{"plan", "plan.json", starterPlan, "simrun -plan FILE runs it (docs/plans.md)"},
		{"locktest", "lock_test.go", starterLocktest, "put your lock into its adapter; go get github.com/holdfast-sim/holdfast/locktest, then go test runs it (docs/locktest.md)"},
		{"workflow", ".github/workflows/locks.yml", starterWorkflow, "GitHub runs it on each commit (docs/ci.md)"},
	}
}

func starterNames() (names []string) {
	for _, s := range starters() {
		names = append(names, s.name)
	}
	return names
}

// initOrder is what the user of simrun init asked for.
type initOrder struct {
	out  string
	json bool
}

func initFlags(o *initOrder) *flag.FlagSet {
	f := newFlags("init")
	jsonFlag(f, &o.json, "the name of the file that is written")
	f.StringVar(&o.out, "out", "", "`file` to write (default: plan.json, lock_test.go, or .github/workflows/locks.yml)")
	return f
}

// initCommand is simrun init.
func initCommand(_ context.Context, args []string, stdout, stderr io.Writer) int {
	var o initOrder
	f := initFlags(&o)
	names, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "init")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "init: %v", flagError(f, err))
	case len(names) != 1:
		return fail(stderr, checker.ExitUsage, "init: say what to write, one of: %s", strings.Join(starterNames(), ", "))
	}
	i := slices.Index(starterNames(), names[0])
	switch {
	case i < 0:
		return fail(stderr, checker.ExitUsage, "init: %v", unknown("file to start from", names[0], starterNames()))
	case given(f, "out") && o.out == "":
		return fail(stderr, checker.ExitUsage, `init: -out "": name a file`)
	}
	s, file := starters()[i], o.out
	if file == "" {
		file = filepath.FromSlash(s.file)
	}
	if _, err := os.Lstat(file); err == nil {
		return fail(stderr, checker.ExitUsage, "init: %s is there already, and stays as it is: -out names another file", file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fail(stderr, checker.ExitUsage, "init: %s: %v", file, cause(err))
	}
	text := s.text
	if s.name == "locktest" {
		text = strings.Replace(text, "package locks_test", "package "+testPackage(filepath.Dir(file)), 1)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return fail(stderr, blame(err), "init: %s: %v", file, cause(err))
	}
	to := &folder{dir: filepath.Dir(file)}
	if err := to.write(filepath.Base(file), []byte(text)); err != nil {
		return fail(stderr, blame(err), "init: %s: %v", file, cause(err))
	}
	if o.json {
		return printJSON(stdout, stderr, written{Files: []string{file}})
	}
	say(stdout, "%s is written: %s\n", file, strings.ReplaceAll(s.next, "FILE", quoted(file)))
	return checker.ExitExpected
}

// testPackage names the package of tests in a folder: that of the Go files there, if there are any.
func testPackage(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil {
			return strings.TrimSuffix(f.Name.Name, "_test") + "_test"
		}
	}
	return "locks_test"
}
