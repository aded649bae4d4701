// Command go is a worker (docs/worker.md) in Go: it speaks for the reference lock. To make one of a
// lock of your own, write a subjects.Subject for it, as subjects/rlock.go is one, and hand that to
// external.Serve.
//
//	go build -o my-worker ./examples/workers/go
//	simrun worker-check ./my-worker
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/holdfast-sim/holdfast/subjects/external"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

func main() {
	name := flag.String("lock", "rlock-hardened", "`name` of the subject to speak for (simrun list)")
	flag.Parse()
	lock, ok := libraries.Find(*name)
	if !ok {
		fmt.Fprintf(os.Stderr, "no such subject: %s\n", *name)
		os.Exit(2)
	}
	if err := external.Serve(os.Stdin, os.Stdout, lock, "1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
