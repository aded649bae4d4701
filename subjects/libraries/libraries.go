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

// Unforetold returns all subjects of which scenarios expect nothing in particular: [All], which have no defect in the
// stories, and [subjects.Ported], which have.
func Unforetold() []subjects.Subject { return slices.Concat(subjects.Ported(), All()) }

// Find returns the subject of that name, of [Unforetold] or of [subjects.Everything].
func Find(name string) (subjects.Subject, bool) {
	all := Unforetold()
	if i := slices.IndexFunc(all, func(s subjects.Subject) bool { return s.Name == name }); i >= 0 {
		return all[i], true
	}
	return subjects.Find(name)
}
