// Package libraries adapts other people's locks, unmodified, as subjects. It is a package of its own, so that
// whoever only tests a lock of his own does not depend on them.
//
// To add one: copy redislock.go, and add one line to [All].
package libraries

import (
	"slices"

	"github.com/holdfast-sim/holdfast/subjects"
)

// All returns other people's locks: each with its defaults, and as its documentation has
// careful users use it. Scenarios expect nothing of them in particular.
func All() []subjects.Subject {
	return []subjects.Subject{redsyncDefault(), redsyncExtend(), redislockDefault(), redislockRefresh()}
}

// Find returns the subject of that name, of [All] or of [subjects.All].
func Find(name string) (subjects.Subject, bool) {
	if i := slices.IndexFunc(All(), func(s subjects.Subject) bool { return s.Name == name }); i >= 0 {
		return All()[i], true
	}
	return subjects.Find(name)
}
