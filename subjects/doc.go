// Package subjects adapts locks to the harness: each subject is one lock library, or one of its
// versions, behind the smallest contract that every Redis lock can meet. More is offered by
// optional interfaces, in the way package io does it.
//
// It must not know worlds, plans or checkers: a subject is handed a Redis client and is called by
// programs, and it says what it was told in the terms of package history.
//
// To add a subject: copy libraries/redislock.go, and add one line to All there; or rlock.go and [All], if
// scenarios are to foretell how it fares.
package subjects
