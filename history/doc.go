// Package history is the record of one run: what clients called and were told, what the
// environment did to the locks, which faults struck, and what the server executed.
//
// It is pure data plus a recorder and a JSONL codec, and it stands alone on purpose: it imports
// nothing of the harness, so that other harnesses can write the format and any tool can read it.
// It must not know worlds, checkers, or any lock implementation.
//
// All times are [time.Duration] since the start of the run, on the run's one clock (the header
// names it), and integer nanoseconds in JSON. The first call may be at 0; a return is always
// later than 0, so that 0 can stand for "not yet".
//
// To add a kind of operation: add the constant in op.go, its legal outcomes in the table there,
// its object in object.go, and a rule in package model. To add a kind of event: the constant in event.go.
package history
