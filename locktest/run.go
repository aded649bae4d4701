package locktest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// Run puts a lock through the catalogue of scenarios and through plans drawn at random, in virtual
// time, with a subtest for each guarantee and below it for each scenario and plan. What the lock does
// not offer is skipped, with the reason. A failure tells the story, the smallest plan that still fails,
// and how to run it again; its report is a test artifact, which go test -artifacts keeps.
//
// The runs take turns, and while one goes on crypto/rand is not random for the whole process: Run must
// not be called in parallel with other tests. It takes a few seconds.
func Run(t *testing.T, newLock NewLock, opts ...Option) {
	t.Helper()
	s, err := newSuite(bubble.In(t), newLock, optionsOf(t.Name(), opts))
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	for _, g := range contract.Guarantees() {
		t.Run(string(g), func(t *testing.T) {
			for _, c := range s.cases {
				t.Run(c.name, func(t *testing.T) {
					a := s.ask(bubble.In(t), c, g, t.ArtifactDir, command(t.Name()))
					switch {
					case a.skip != "":
						t.Skip(a.skip)
					case a.failure != nil:
						t.Error(a.failure)
					}
				})
			}
		})
	}
}

// command runs one subtest again.
func command(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return fmt.Sprintf("go test -run '%s' -artifacts", strings.Join(parts, "/"))
}

// Test is [Run] for programs that are no tests: it returns what failed, each a [*Failure] or an error
// of the run, joined ([errors.Join]), or nil. The program must not have run two of them at once. In a
// test binary it only says that it is Run that is wanted.
func Test(newLock NewLock, opts ...Option) error {
	if testing.Testing() {
		return errors.New("locktest: Test is for programs; in a test, call Run")
	}
	return test(bubble.Program(), newLock, optionsOf("lock", opts))
}

func test(b *bubble.Bubbles, newLock NewLock, o *options) error {
	s, err := newSuite(b, newLock, o)
	if err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	var failures []error
	for _, g := range contract.Guarantees() {
		for _, c := range s.cases {
			a := s.ask(b, c, g, func() string { return o.out }, fmt.Sprintf("locktest.Test(newLock, locktest.Only(%q))", c.name))
			if a.failure != nil {
				failures = append(failures, a.failure)
			}
		}
	}
	return errors.Join(failures...)
}
