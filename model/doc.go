// Package model holds the sequential specifications: what a lock may answer when it is asked one
// thing at a time. A specification is a comparable value, the state, and pure functions that take
// a state and something that happened and return the next state, or an [Illegal] error that says
// in words which rule was broken. Nothing here searches, waits, or remembers.
//
// It must not know worlds, concurrency, or how a history was recorded: uncertainty (which order,
// whether a lost call took effect) is the business of package checker, which tries these
// functions. So they never change their arguments and never look anything up.
//
// violation.go is what the specifications of the rest of the family have in common: semaphore.go,
// permits.go, latch.go, rwlock.go, fair.go. Checkers search with the first of them alone.
//
// lease.go is the reentrant lease lock, kind.go what a mutex and a fenced lock have of their own,
// quorum.go a lock made of several: MultiLock and RedLock. To add another object, copy it: a state type that is
// comparable with ==, one step for operations, one for the environment, and the table of rules.
package model
