package locktest_test

import (
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/locktest/archetypes"
)

// Locks that are kept in ways that the harness was not written for are not accused, nor in plans of which some was once accused.
func TestSoundArchetypesAreNotAccused(t *testing.T) {
	t.Chdir("archetypes") // there such plans are
	drawn := 10
	if testing.Short() {
		drawn = 1
	}
	for i, a := range archetypes.All() {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			stories, err := locktest.Accused(t, a.New, locktest.Drawn(drawn))
			if err != nil {
				t.Error(err)
			}
			for _, story := range stories {
				t.Error(story)
			}
		})
	}
}

// Nor in plans with faults of all kinds; HOLDFAST_RUNS says in how many.
func TestSoundArchetypesExplored(t *testing.T) {
	for i, a := range archetypes.All() {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			locktest.Explore(t, a.New, locktest.Runs(10), locktest.Reports(t.TempDir()))
		})
	}
}

// Nor is any of their mistakes overlooked, and the story tells of the call that goes wrong.
func TestMistakesOfArchetypesAreCaught(t *testing.T) {
	for _, a := range archetypes.All() {
		for _, m := range a.Mistakes {
			t.Run(a.Name+"/"+m.Name, func(t *testing.T) {
				stories, err := locktest.Accused(t, m.New, locktest.Only(m.Shows), locktest.Drawn(0))
				if !strings.Contains(strings.Join(stories, "\n"), m.Call) {
					t.Errorf("no story tells of its %s: %q, %v", m.Call, stories, err)
				}
				if stories, err := locktest.Accused(t, a.New, locktest.Only(m.Shows), locktest.Drawn(0)); err != nil || len(stories) > 0 {
					t.Errorf("without the mistake: %q, %v", stories, err)
				}
			})
		}
	}
}

// What cannot be read is not guessed: the log says why the lock is judged by its answers alone. That an owner is granted anew
// what it has is learned of locks that do so, and of no others.
func TestWhatTheProbeLearns(t *testing.T) {
	why := map[string]string{"secret-key": "no key with the lock's name", "secret-hash": "no key with the lock's name", "sorted-set": "is a zset",
		"dated-value": "changes while he holds it", "kept-key": "says itself when its lease ends", "count-hidden": "has a name of its holder's own", "no-context-secret": "no key with the lock's name"}
	for _, a := range archetypes.All() {
		anew := a.Name == "granted-anew" || a.Name == "longer"
		noContext := strings.Contains(a.Name, "-context") && a.Name != "derived-context"
		l, err := locktest.Learned(t, a.New)
		if l.NoContext != noContext {
			t.Errorf("%s: that its commands do not carry their call's context: %v", a.Name, l.NoContext)
		}
		if err != nil || !strings.Contains(l.Unknown, why[a.Name]) || (l.Unknown == "") != (why[a.Name] == "") || l.Anew != anew {
			t.Errorf("%s: %q, %v, %v", a.Name, l.Unknown, l.Anew, err)
		}
	}
}
