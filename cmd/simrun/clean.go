package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// cleanOrder is what the user of simrun clean asked for.
type cleanOrder struct {
	addr string
	tls  redisserver.TLS
	runs []string // all that are known to be killed runs, if empty
	out  string   // the folder of stored runs
	json bool
	keep int // how many of each scenario are kept; 0: nothing below out is removed
}

// cleaned is what simrun clean -json prints.
type cleaned struct {
	Where   string   `json:"where"`         // the server, or the folder
	Removed []string `json:"removed"`       // runs: of a server their names, of a folder their folders in it
	Keys    int      `json:"keys,omitzero"` // how many keys of them, of a server
	Kept    int      `json:"kept,omitzero"` // how many runs stay, in a folder
	Left    []string `json:"left"`          // what may be somebody else's, on a server
}

func cleanFlags(o *cleanOrder) *flag.FlagSet {
	f := newFlags("clean")
	jsonFlag(f, &o.json, "what was removed")
	addressFlags(f, &o.addr, &o.tls)
	f.Func("run", "`name` of a run whose keys are removed, and no others; again for another", func(name string) error {
		if !redisserver.IsRunName(name) {
			return errors.New("a run is called holdfast: and 18 characters, with which the names of its keys begin")
		}
		o.runs = append(o.runs, name)
		return nil
	})
	f.IntVar(&o.keep, "keep", 0, "below -out, remove all but the newest so `many` runs of each scenario; what \"latest\" points to stays")
	f.StringVar(&o.out, "out", defaultOut, "with -keep: `folder` with what runs left behind")
	return f
}

// clean removes what runs that were killed have left on somebody else's server, or old runs from a folder of ours.
func clean(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o cleanOrder
	f := cleanFlags(&o)
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "clean")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "clean: %v", flagError(f, err))
	case f.NArg() > 0:
		return fail(stderr, checker.ExitUsage, "clean: stray argument %q", f.Arg(0))
	case given(f, "keep") && (o.addr != "" || len(o.runs) > 0):
		return fail(stderr, checker.ExitUsage, "clean: -keep is about a folder, and -addr and -run are about a server: one after the other")
	case given(f, "keep"):
		return cleanRuns(ctx, o, stdout, stderr)
	case given(f, "out"):
		return fail(stderr, checker.ExitUsage, "clean: -out goes with -keep, which says how many runs of each scenario stay")
	case o.addr == "":
		return fail(stderr, checker.ExitUsage, "clean: say which server, or how many stored runs stay: simrun clean -addr URL, or simrun clean -keep N")
	}
	url, err := address(o.addr, o.tls)
	if err != nil {
		return fail(stderr, checker.ExitUsage, "clean: %v", err)
	}
	server, err := redisserver.Connect(ctx, url, redisserver.Needs{TLS: o.tls, Prefix: "holdfast:"})
	if err != nil {
		return fail(stderr, checker.ExitHarness, "clean: %v", err)
	}
	c, err := server.Clean(ctx, o.runs)
	if o.json {
		_ = printJSON(stdout, stderr, cleaned{Where: server.Name(), Removed: append([]string{}, c.Runs...), Keys: c.Removed, Left: append([]string{}, c.Left...)})
		stdout = io.Discard
	}
	say(stdout, "%s: %s %s of %s %s removed\n", server.Name(), reports.Thousands(c.Removed), plural("key", c.Removed), reports.Thousands(len(c.Runs)), plural("run", len(c.Runs)))
	if len(c.Runs) > 0 {
		say(stdout, "  %s\n", strings.Join(c.Runs, "\n  "))
	}
	if len(c.Left) > 0 {
		say(stdout, "not removed, since these may be runs of an older simrun or keys of somebody else (-run NAME removes them):\n  %s\n", strings.Join(c.Left, "\n  "))
	}
	if ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "clean: interrupted: keys may be left")
	} else if err != nil {
		return fail(stderr, checker.ExitHarness, "clean: %v", err)
	}
	return checker.ExitExpected
}
