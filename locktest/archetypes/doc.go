// Package archetypes has small locks, each kept in Redis in a way that locks in the wild are kept, and each
// with mistakes that such locks make. They stand for the locks that the harness does not know.
//
// It must not know what the harness concludes from. To add one: a line in [All].
package archetypes
