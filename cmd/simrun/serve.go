package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

const defaultAddress = "127.0.0.1:8317"

// serveOrder is what the user of simrun serve asked for.
type serveOrder struct {
	out, addr string
	json      bool
}

func serveFlags(o *serveOrder) *flag.FlagSet {
	f := newFlags("serve")
	f.StringVar(&o.out, "out", defaultOut, "`folder` with what runs left behind")
	f.StringVar(&o.addr, "addr", defaultAddress, "`address` to listen on; whoever can reach it can read every run")
	jsonFlag(f, &o.json, "the address of the pages")
	return f
}

// serve shows the stored runs to a browser, until it is told to end.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o serveOrder
	f := serveFlags(&o)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return helpOn(stdout, "serve")
	} else if err != nil {
		return fail(stderr, checker.ExitUsage, "serve: %v", flagError(f, err))
	}
	if f.NArg() > 0 {
		return fail(stderr, checker.ExitUsage, "serve: stray argument %q", f.Arg(0))
	}
	root, err := os.OpenRoot(o.out) // nothing outside of it can be reached, by links either
	if err != nil {
		return fail(stderr, checker.ExitUsage, "serve: -out %s: %v; run a scenario first", o.out, cause(err))
	}
	defer root.Close()
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fail(stderr, checker.ExitUsage, "serve: -addr %s: %v", o.addr, err)
	}
	name, err := filepath.Abs(o.out)
	if err != nil {
		name = o.out
	}
	host, _, _ := net.SplitHostPort(l.Addr().String())
	local := net.ParseIP(host).IsLoopback()
	server := &http.Server{Handler: newDesk(root.FS(), name, local), ReadTimeout: 10 * time.Second, WriteTimeout: stall, IdleTimeout: time.Minute}
	if url := "http://" + l.Addr().String() + "/"; o.json {
		printJSONLine(stdout, stderr, serving{url, name})
	} else {
		say(stdout, "%s shows the runs in %s; Ctrl-C ends it\n", url, name)
	}
	if !local {
		fail(stderr, 0, "warning: %s is no loopback address: whoever can reach it can read every run", l.Addr())
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err = <-done:
		return fail(stderr, checker.ExitHarness, "serve: %v", err)
	case <-ctx.Done():
	}
	soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(soon); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close() // a reader that is not done by now is let go
	} else if err != nil {
		return fail(stderr, checker.ExitHarness, "serve: %v", err)
	}
	return checker.ExitExpected
}
