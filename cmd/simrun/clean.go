package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// clean removes what runs that were killed have left on somebody else's server.
func clean(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("simrun clean", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	var addr string
	var t redisserver.TLS
	addressFlags(f, &addr, &t)
	var names []string
	f.Func("run", "`name` of a run whose keys are removed, and no others; again for another", func(name string) error {
		if !redisserver.IsRunName(name) {
			return errors.New("a run is called holdfast: and 18 characters, with which the names of its keys begin")
		}
		names = append(names, name)
		return nil
	})
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
		return checker.ExitExpected
	case err != nil:
		return fail(stderr, checker.ExitUsage, "clean: %v", flagError(f, err))
	case f.NArg() > 0:
		return fail(stderr, checker.ExitUsage, "clean: stray argument %q", f.Arg(0))
	case addr == "":
		return fail(stderr, checker.ExitUsage, "clean: say which server: simrun clean -addr URL")
	}
	url, err := address(addr, t)
	if err != nil {
		return fail(stderr, checker.ExitUsage, "clean: %v", err)
	}
	server, err := redisserver.Connect(ctx, url, redisserver.Needs{TLS: t, Prefix: "holdfast:"})
	if err != nil {
		return fail(stderr, checker.ExitHarness, "clean: %v", err)
	}
	c, err := server.Clean(ctx, names)
	say(stdout, "%s: %d %s of %d %s removed\n", server.Name(), c.Removed, plural("key", c.Removed), len(c.Runs), plural("run", len(c.Runs)))
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
