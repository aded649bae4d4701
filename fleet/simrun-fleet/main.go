// Command simrun-fleet has many machines do one search of simrun explore, over NATS JetStream.
//
//	simrun-fleet serve -store DIR                    a broker, for one machine or a first try
//	simrun-fleet work -on nats://HOST:4222           do shards, until it is ended
//	simrun explore -on nats://HOST:4222 ...          hand them out, and say what came out
//
// simrun starts "simrun-fleet hand" by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/holdfast-sim/holdfast/fleet/queue"
)

// Exit codes, as simrun has them.
const (
	exitUsage   = 254
	exitHarness = 255
)

var commands = []struct {
	name, about string
	run         func(ctx context.Context, args []string, std std) error
}{
	{"serve", "run a broker, for one machine or a first try", serve},
	{"work", "do shards of searches, until it is ended", work},
	{"hand", "hand out the shards of a search: simrun explore -on starts it", hand},
}

// std is where a command reads and writes.
type std struct {
	in       io.Reader
	out, err io.Writer
}

// usage is an error of whoever wrote the command line.
type usage struct{ error }

// Unwrap returns what it was made of.
func (u usage) Unwrap() error { return u.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], std{os.Stdin, os.Stdout, os.Stderr}))
}

func command(ctx context.Context, args []string, s std) int {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name != args[0] {
				continue
			}
			err := c.run(ctx, args[1:], s)
			var wrong usage
			switch {
			case err == nil, errors.Is(err, flag.ErrHelp):
				return 0
			case errors.As(err, &wrong):
				fmt.Fprintf(s.err, "simrun-fleet: %s: %v\n", c.name, err)
				return exitUsage
			default:
				fmt.Fprintf(s.err, "simrun-fleet: %s: %v\n", c.name, err)
				return exitHarness
			}
		}
	}
	to, code := s.err, exitUsage
	if len(args) > 0 && (args[0] == "help" || args[0] == "-help" || args[0] == "--help" || args[0] == "-h") {
		to, code = s.out, 0
	} else if len(args) > 0 {
		fmt.Fprintf(s.err, "simrun-fleet: unknown command %q\n", args[0])
	}
	fmt.Fprintln(to, "simrun-fleet COMMAND [flags]; -help after a command lists its flags")
	for _, c := range commands {
		fmt.Fprintf(to, "  %-6s %s\n", c.name, c.about)
	}
	return code
}

// parse reads flags, and prints help.
func parse(f *flag.FlagSet, args []string, s std) error {
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(s.out)
		fmt.Fprintf(s.out, "simrun-fleet %s [flags]\n", f.Name())
		f.PrintDefaults()
		return err
	case err != nil:
		return usage{err}
	case f.NArg() > 0:
		return usage{fmt.Errorf("stray argument %q: everything is a flag", f.Arg(0))}
	}
	return nil
}

// connect connects to a broker, and says so when it has to wait. It returns nil, and no error, when ctx ends before.
func connect(ctx context.Context, url string, to io.Writer) (*queue.Queue, error) {
	q, err := queue.Open(ctx, url, func(err error) { fmt.Fprintf(to, "simrun-fleet: waiting for %s: %v\n", url, err) })
	switch {
	case err == nil:
		return q, nil
	case ctx.Err() != nil:
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", url, err)
}

// program finds simrun: by the name given, or in the folder of this one, or else where programs are.
func program(name string) (string, error) {
	if name != "" {
		return exec.LookPath(name)
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "simrun")); err == nil {
			return beside, nil
		}
	}
	return exec.LookPath("simrun")
}
