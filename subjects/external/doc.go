// Package external speaks the worker protocol (docs/worker.md): a lock under test may live in a program
// of its own, in whatever language, that is asked on its standard input and answers on its standard
// output, one JSON object a line.
//
// It has both sides. [Subject] makes a subject of a command: each client is a process of it
// (client.go, calls.go, process.go); objects that are no locks are in objects.go. [Serve] makes a worker
// of a subject, for those who write theirs in Go (serve.go). [Check] tells whether a worker does what it
// says (check.go, checks.go, checkobjects.go).
//
// It must not know worlds, plans or checkers. To add a check: a function in checks.go, and a line in
// the table there.
package external
