package main

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

// storedName is the name of a folder that [makeFolder] makes: when it began, its seed, and a number if there are several.
var storedName = regexp.MustCompile(`^(\d{8}T\d{6}Z)-(\d{1,20})(?:-(\d{1,9}))?$`)

// newerFirst compares names of stored runs. Runs of one second come in the order of their seeds.
func newerFirst(a, b string) int {
	x, y := storedName.FindStringSubmatch(a), storedName.FindStringSubmatch(b)
	number := func(text string) uint64 {
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	}
	return cmp.Or(cmp.Compare(y[1], x[1]), cmp.Compare(number(y[2]), number(x[2])), cmp.Compare(number(y[3]), number(x[3])))
}

// cleanRuns removes all but the newest runs of each scenario below a folder. A run that was killed is removed like
// any other: its folder has the same name.
func cleanRuns(ctx context.Context, o cleanOrder, stdout, stderr io.Writer) int {
	if o.keep < 1 {
		return fail(stderr, checker.ExitUsage, "clean: -keep %d: at least one run of each scenario stays", o.keep)
	}
	root, err := os.OpenRoot(o.out) // nothing outside of it can be removed, through links either
	if err != nil {
		return fail(stderr, checker.ExitUsage, "clean: -out %s: %v; it should be a folder with what runs left behind", o.out, cause(err))
	}
	defer root.Close()
	scenarios, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fail(stderr, checker.ExitHarness, "clean: -out %s: %v", o.out, cause(err))
	}
	code, kept := checker.ExitExpected, 0
	var removed []string
	for _, scenario := range scenarios {
		if !scenario.IsDir() || ctx.Err() != nil {
			continue
		}
		old, stay, err := oldRuns(root, scenario.Name(), o.keep)
		if err != nil {
			code = fail(stderr, checker.ExitHarness, "clean: %s: %v", path.Join(o.out, scenario.Name()), cause(err))
			continue
		}
		kept += stay
		for _, run := range old {
			if ctx.Err() != nil {
				break
			}
			name := path.Join(scenario.Name(), run)
			if err := root.RemoveAll(name); err != nil {
				code = fail(stderr, checker.ExitHarness, "clean: %s: %v", path.Join(o.out, name), cause(err))
				continue
			}
			removed = append(removed, name)
		}
	}
	if o.json {
		_ = printJSON(stdout, stderr, cleaned{Where: o.out, Removed: append([]string{}, removed...), Kept: kept, Left: []string{}})
		stdout = io.Discard
	}
	say(stdout, "%s: %s %s removed, %s kept\n", o.out, reports.Thousands(len(removed)), plural("run", len(removed)), reports.Thousands(kept))
	for _, name := range removed {
		say(stdout, "  %s\n", name)
	}
	return interrupted(ctx, stderr, code, "clean: interrupted: old runs may be left")
}

// oldRuns are the runs of a scenario that are not among the newest, the oldest last, and how many stay.
func oldRuns(root *os.Root, scenario string, keep int) (old []string, stay int, err error) {
	entries, err := fs.ReadDir(root.FS(), scenario)
	if err != nil {
		return nil, 0, err
	}
	latest, err := root.Readlink(path.Join(scenario, "latest"))
	if err != nil {
		latest = "" // the only run was killed before it could have one
	}
	var runs []string
	for _, e := range entries {
		if e.IsDir() && storedName.MatchString(e.Name()) {
			runs = append(runs, e.Name())
		}
	}
	slices.SortFunc(runs, newerFirst)
	for i, run := range runs {
		if i >= keep && run != path.Clean(latest) {
			old = append(old, run)
		}
	}
	return old, len(runs) - len(old), nil
}
