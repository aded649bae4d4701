package locktest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// Run puts a lock through the catalogue of scenarios and through plans drawn at random, in virtual
// time, with a subtest for each guarantee and below it for each scenario and plan. What the lock does
// not offer is skipped, with the reason. A failure tells the story, the smallest plan that still fails,
// and how to run it again. Reports stay after the test, with a page and a table of all that was run ([Reports]).
//
// The runs take turns, with those of other tests that go on in parallel, too. While one goes on, its goroutines draw from
// crypto/rand what the seed decides; nobody else does. It takes a few seconds.
func Run(t *testing.T, newLock NewLock, opts ...Option) {
	t.Helper()
	s, err := newSuite(bubble.In(t), newLock, optionsOf(t.Name(), opts))
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	s.hurry(t)
	s.out = cmp.Or(s.out, folder(t))
	s.sayProbed(t)
	for _, g := range contract.Guarantees() {
		t.Run(string(g), func(t *testing.T) {
			for _, c := range s.cases {
				t.Run(c.name, func(t *testing.T) {
					a := s.ask(bubble.In(t), c, g, s.again(t.Name()))
					for _, note := range a.notes {
						t.Log(note)
					}
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
	switch page, err := s.page(s.again(t.Name())); {
	case err != nil:
		t.Logf("locktest: there is no page: %v", err)
	case page != "":
		t.Logf("locktest: all that was run: %s", page)
	}
}

// sayProbed says why nobody can read the lock's keys, if that is so, and which methods claim nothing.
func (s *suite) sayProbed(t *testing.T) {
	t.Helper()
	for _, method := range s.unclaimed {
		t.Logf("locktest: %s", method)
	}
	if why := s.subject.Layout.Unknown; why != "" {
		t.Logf("locktest: the %s is judged by its answers alone: %s", cmp.Or(s.subject.Object, history.ALock), why)
	}
}

// folder is where a test's reports stay: it is the same each time.
func folder(t *testing.T) string {
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		return t.ArtifactDir()
	}
	parts := append([]string{os.TempDir(), "locktest"}, strings.Split(pkg()+"/"+t.Name(), "/")...)
	return filepath.Join(parts...)
}

// pkg is the path of the package that is tested, or ".".
func pkg() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, ok := strings.CutSuffix(info.Path, ".test"); ok {
			return path
		}
	}
	return "."
}

// again runs one test again.
func (o *options) again(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return fmt.Sprintf("HOLDFAST_SEED=%d HOLDFAST_DRAWN=%d go test -count=1 -run '%s' %s", o.seed, o.drawn, strings.Join(parts, "/"), pkg())
}

// Test is [Run] for programs that are no tests: it returns what failed, each a [*Failure] or an error
// of the run, joined ([errors.Join]), or nil. In a test binary it only says that it is Run that is wanted.
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
	again := func(only string) string {
		return fmt.Sprintf("locktest.Test(newLock, %slocktest.Seed(%d), locktest.Drawn(%d))", only, o.seed, o.drawn)
	}
	var failures []error
	for _, g := range contract.Guarantees() {
		for _, c := range s.cases {
			a := s.ask(b, c, g, again(fmt.Sprintf("locktest.Only(%q), ", c.name)))
			if a.failure != nil {
				failures = append(failures, a.failure)
			}
		}
	}
	if _, err := s.page(again("")); err != nil {
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
