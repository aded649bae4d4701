package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/external"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

// findSubject is [libraries.Find], and knows those that are broken on purpose, and those in processes of their own that
// were opened.
func findSubject(name string) (subjects.Subject, bool) {
	if s, ok := processes[name]; ok {
		return s, true
	}
	if l, ok := broken.Find(name); ok {
		return l.Subject, true
	}
	return libraries.Find(name)
}

// processes are subjects in processes of their own that were opened, by their names.
var processes = map[string]subjects.Subject{}

// isProcess reports whether a subject lives in processes of its own: "exec:" and a command, or a lock whose worker is
// in this program.
func isProcess(name string) bool {
	_, ok := workers.Find(name)
	return ok || strings.HasPrefix(name, external.Prefix)
}

// openProcesses opens those subjects among the names that live in processes of their own, and probes how they are kept
// in Redis. In real time that would take as long as their leases: there they are taken to be kept as by default.
func openProcesses(ctx context.Context, names []string, at place, out io.Writer) error {
	for _, name := range names {
		if !isProcess(name) {
			continue
		}
		if err := openProcess(ctx, name, out); err != nil {
			return err
		}
		if at.World != warpWorld {
			continue
		}
		layout, err := layoutOf(ctx, name, at, out)
		if err != nil {
			return err
		}
		s := processes[name]
		s.Layout = layout
		processes[name] = s
	}
	return nil
}

// openProcess has findSubject know such a subject. It builds its worker where it has not been built, telling out
// before, and starts one, to hear what it claims.
func openProcess(ctx context.Context, name string, out io.Writer) error {
	if processes[name].Name != "" {
		return nil
	}
	var s subjects.Subject
	var err error
	if l, ok := workers.Find(name); ok {
		s, err = l.Subject(ctx, func(what string) { say(out, "simrun: %s\n", what) })
	} else {
		s, err = external.Subject(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("-subject %s: %w", name, err)
	}
	processes[name] = s
	return nil
}
