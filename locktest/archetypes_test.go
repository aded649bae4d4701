package locktest_test

import (
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/locktest/archetypes"
)

// unsound are the scenarios that a sound archetype cannot stand, and why.
var unsound = map[string]string{
	"absolute/clock-jump": "its clients tell the server by their clocks when a lease ends, and the server's is an hour ahead",
}

// Locks that are kept in ways that the harness was not written for are not accused.
func TestSoundArchetypesAreNotAccused(t *testing.T) {
	for _, a := range archetypes.All() {
		t.Run(a.Name, func(t *testing.T) {
			stories, err := locktest.Accused(t, a.New, locktest.Drawn(10))
			if err != nil {
				t.Error(err)
			}
			for _, story := range stories {
				if _, scenario, _ := strings.Cut(story, " in "); unsound[a.Name+"/"+strings.SplitN(scenario, ":", 2)[0]] == "" {
					t.Error(story)
				}
			}
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
			})
		}
	}
}
