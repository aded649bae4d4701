// Package health tells whether this machine, and what it grants this process, is enough for a run: open files,
// memory, room on a disk, and processor time. A harness that has none left must not accuse the lock under test:
// it says so before a run, or ends the run undecided.
//
// Each supply is looked at by a function that returns a *[Shortage], or nil where nobody tells how much there is.
// A new supply is one more such function, and a line in docs/real.md.
//
// It must not know runs, plans, locks or servers.
package health
