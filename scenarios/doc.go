// Package scenarios is the catalogue of named stories: who holds, what fails, when, and which
// guarantees are expected to break for which subject. A scenario is a plan and an expectation,
// never a verdict.
//
// It must not know how a run is judged or shown. Guarantees are named by strings, which the
// command turns into the checkers' terms; a test there holds the names to theirs.
//
// To add a scenario: copy the one in holders.go whose story is nearest, and add one line to [All].
package scenarios
