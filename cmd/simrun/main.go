// Command simrun runs a scenario or a plan against a Redis lock, judges what happened, and says so
// in words, in a picture, and in files that a machine can read.
//
//	simrun -scenario watchdog-death
//	simrun list
//
// This package is flags, processes and files; runs are package sim's, verdicts package checker's,
// pictures package reports'. Each run happens in a worker process (this program, started again), so
// that whatever a lock under test does to its process, there is somebody left to say so. To add a
// subcommand: a case in [command], and a file.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == workerCommand {
		bubble.Main(func(b *bubble.Bubbles) int { return work(b, os.Stdin, os.Stdout) })
	}
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// command does what the arguments say, and returns the exit code.
func command(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "list":
			return list(args[1:], stdout, stderr)
		case "report":
			return report(args[1:], stdout, stderr)
		case "check":
			return check(args[1:], stdout, stderr)
		case "shrink":
			return shrink(args[1:], stdout, stderr)
		case "explore":
			return exploreCommand(args[1:], stdout, stderr)
		case "mutants":
			return mutants(args[1:], stdout, stderr)
		case "soak":
			return soakCommand(args[1:], stdout, stderr)
		case "serve":
			return serve(args[1:], stdout, stderr)
		case "worker-check":
			return workerCheck(args[1:], stdout, stderr)
		case "help":
			usage(stdout)
			return checker.ExitExpected
		}
	}
	return runCommand(args, stdout, stderr)
}

// fail prints one line that says what is wrong, and returns code.
func fail(stderr io.Writer, code int, format string, args ...any) int {
	fmt.Fprintf(stderr, "simrun: "+format+"\n", args...)
	return code
}
