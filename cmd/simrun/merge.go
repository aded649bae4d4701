package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
)

// partFlag is a part of a search, as a flag has it.
type partFlag explore.Part

func (p *partFlag) String() string {
	if p.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Index, p.Of)
}

func (p *partFlag) Set(text string) error {
	i, n, found := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !found || err != nil || err2 != nil || of < 1 || index < 0 || index >= of {
		return errors.New("must be i/n, such as 0/4, 1/4, 2/4 and 3/4 for four machines")
	}
	*p = partFlag{Index: index, Of: of}
	return nil
}

func mergeFlags(h *hunt) *flag.FlagSet {
	f := newFlags("merge")
	f.StringVar(&h.out, "out", defaultOut, "`folder` for the whole: what is there of the same search is a part of it")
	h.proofFlag(f)
	f.BoolVar(&h.verbose, "v", false, "the whole coverage")
	jsonFlag(f, &h.json, "what came out")
	return f
}

// mergeCommand is simrun merge: it puts the parts of a search together that several machines have done.
func mergeCommand(ctx context.Context, args []string, output, stderr io.Writer) int {
	h := hunt{}
	f := mergeFlags(&h)
	parts, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(output, "merge")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "merge: %v", flagError(f, err))
	case len(parts) == 0:
		return fail(stderr, checker.ExitUsage, "merge: name the states of the parts: their %s, or the -out folders that have them", stateFile)
	case h.out == "" || h.out == nowhere:
		return fail(stderr, checker.ExitUsage, "merge: -out %q: name a folder", h.out)
	}
	states, err := statesIn(parts)
	if err != nil {
		return fail(stderr, blame(err), "merge: %v", err)
	}
	if h.config, err = explore.ConfigOf(states[0]); err != nil {
		return fail(stderr, blame(err), "merge: %v", err)
	}
	if h.config.Version != explore.Version {
		return fail(stderr, checker.ExitUsage, "merge: %s: it is of version %d of what a seed means, and this program has version %d", states[0], h.config.Version, explore.Version)
	}
	h.subject, h.strategy = h.config.Subject, h.config.Strategy
	if err := h.checkSubject(); err != nil && !isProcess(h.subject) {
		return fail(stderr, checker.ExitUsage, "merge: %s: %v", states[0], err)
	}
	dir := filepath.Join(h.out, h.folder())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fail(stderr, checker.ExitHarness, "merge: %v", err)
	}
	shards, reports, err := explore.Merge(filepath.Join(dir, stateFile), h.config, states...)
	if err != nil {
		code := blame(err)
		if errors.Is(err, explore.ErrOther) || errors.Is(err, explore.ErrOverlap) {
			code = checker.ExitUsage
		}
		return fail(stderr, code, "merge: %v", err)
	}
	workers := newLocal()
	defer workers.dismiss()
	var grown explore.Growth
	for i, s := range shards {
		grown.Add(s, reports[i])
	}
	if h.seed = 1; len(shards) > 0 {
		h.seed = shards[0].From
	}
	return h.came(ctx, workers, explore.Sum(reports), dir, args, grown.Steps(), output, stderr)
}

// came says what came out of all parts, keeps what they have found, and writes the page.
func (h hunt) came(ctx context.Context, workers *local, t explore.Total, dir string, args []string, grown []explore.Step, output, stderr io.Writer) int {
	stdout := forPeople(output, h.json)
	h.tell(stdout, t, 0, 0)
	code := checker.ExitExpected
	for _, f := range t.Found {
		code = checker.Worst(code, checker.ExitUnexpected)
		if err := h.keepFound(ctx, workers, dir, f, stdout); err != nil {
			code = checker.Worst(code, fail(stderr, checker.ExitHarness, "merge: seed %d: %v", f.Seed, err))
		}
	}
	code = checker.Worst(code, h.failed(t, dir, stderr))
	h.coverage(stdout, t)
	code = checker.Worst(code, h.page(dir, append([]string{"merge"}, args...), t, grown, stdout, stderr))
	say(stdout, "  state   %s (a search with -out %s goes on from there)\n", filepath.Join(dir, stateFile), h.out)
	if h.json {
		code = checker.Worst(code, printJSONLine(output, stderr, h.explored(dir, t, nil, code)))
	}
	return code
}

// statesIn are the state files that are named, or are in folders that are.
func statesIn(names []string) ([]string, error) {
	var states []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, cause(err))
		}
		if !info.IsDir() {
			states = append(states, name)
			continue
		}
		for _, pattern := range []string{stateFile, filepath.Join("*", stateFile), filepath.Join(searchFolder, "*", stateFile)} {
			found, err := filepath.Glob(filepath.Join(name, pattern))
			if err != nil {
				return nil, err
			}
			states = append(states, found...)
		}
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("there is no %s in %s", stateFile, strings.Join(names, ", "))
	}
	slices.Sort(states)
	return slices.Compact(states), nil
}
