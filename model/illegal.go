package model

import "fmt"

// Rule is one rule of a specification: a stable sentence without names or times, so that many
// failures can be counted by it.
type Rule string

// Illegal says that something happened that no state of the lock at that point allows. It is the
// only error type this package returns; recognise it with [errors.As].
type Illegal struct {
	Rule Rule
	Text string // what happened and what the state was, in words
}

func (e *Illegal) Error() string { return e.Text }

func illegal(r Rule, format string, args ...any) error {
	return &Illegal{Rule: r, Text: fmt.Sprintf(format, args...)}
}
