// Command simrun runs a scenario or a plan against a Redis lock, judges what happened, and says so
// in words, in a picture, and in files that a machine can read.
//
//	simrun -scenario watchdog-death
//	simrun list
//
// This package is flags, processes and files; runs are package sim's, verdicts package checker's,
// pictures package reports'. Each run happens in a worker process (this program, started again), so
// that whatever a lock under test does to its process, there is somebody left to say so. To add a
// subcommand: a row in [verbs], and a file.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/health"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == workerCommand:
		bubble.Main(func(b *bubble.Bubbles) int { return work(b, polled(os.Stdin), os.Stdout) })
	case len(os.Args) == 2 && os.Args[1] == shardsCommand:
		os.Exit(shards(os.Stdin, os.Stdout))
	case len(os.Args) > 1 && os.Args[1] == childCommand:
		files, err := inheritance(strings.Join(os.Args[2:min(3, len(os.Args))], ""))
		if err != nil {
			os.Exit(fail(os.Stderr, checker.ExitUsage, "%s is how this program starts itself: %v", childCommand, err))
		}
		os.Exit(inherit(files, os.Args[3:]))
	}
	program, err := os.Executable()
	if err != nil {
		os.Exit(fail(os.Stderr, checker.ExitHarness, "%v", err))
	}
	os.Exit(supervise(program, os.Args[1:], os.Stderr))
}

// command does what the arguments say, and returns the exit code. The end of ctx ends it early: it says so, and
// what is done so far, and returns [checker.ExitUndecided] unless that is worse.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if v, known := findVerb(args[0]); known && args[0] != "" {
			return v.run(ctx, args[1:], stdout, stderr)
		}
		if args[0] == "-version" || args[0] == "--version" { // as other programs are asked
			return version(ctx, args[1:], stdout, stderr)
		}
		if strings.HasPrefix(args[0], completes) {
			return complete(args, stdout)
		}
	}
	return runCommand(ctx, args, stdout, stderr)
}

// interrupted says that ctx ended a command early, if it did, when, and for want of what. It returns the worse of code and what that means.
func interrupted(ctx context.Context, stderr io.Writer, code int, format string, args ...any) int {
	if ctx.Err() == nil {
		return code
	}
	why := ""
	if short := health.Short(context.Cause(ctx)); short != nil {
		why = ": " + short.Error()
	}
	return checker.Worst(code, fail(stderr, checker.ExitUndecided, format+"%s", append(args, why)...))
}

// fail prints one line that says what is wrong, and returns code. On a terminal the line is broken between words.
func fail(stderr io.Writer, code int, format string, args ...any) int {
	line := fmt.Sprintf("simrun: "+format, args...)
	if isTerminal(stderr) && !strings.Contains(line, "\n") {
		line = strings.TrimSpace(indentWords(strings.Split(line, " "), 2, wide-2))
	}
	say(stderr, "%s\n", line)
	return code
}

// say prints what may quote somebody: a user, a file, a worker, a server. Whatever is not printable in it is made
// visible, but for the ends of lines. Everything for people is printed by it, or by package reports.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprint(w, reports.VisibleLines(fmt.Sprintf(format, args...)))
}
