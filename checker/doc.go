// Package checker judges a history: for each guarantee whether the run kept it, and when it did
// not, what happened, to whom, and why. [Judge] is the whole of it for most callers.
//
// The guarantees, each in the file of its name:
//
//   - object: is each lock linearizable with respect to the sequential lock of package model?
//   - exclusion: did two owners ever believe at once that they held the same lock?
//   - effect: did the critical sections protect anything, or was an update lost?
//   - fencing: do tokens increase from grant to grant, and are stale writers refused?
//   - watchdog: is a lease renewed in time while its holder lives, and never after?
//   - liveness: do waiters get a free lock promptly, do calls and holds end?
//
// All of them read the same facts, collected once (facts.go): per lock what took effect in which
// order, who held on the server (tenure.go), who believed to hold (belief.go), when that overlapped (overlaps.go), what
// the server log shows (served.go), and what faults kept whom from acting (environment.go). Causes are found
// in the faults and the server log (cause.go) and told as a story (story.go).
//
// Its files are in layers, none of which uses one after it: layers_test.go lists them, and holds them to it.
//
// Who decides object (object.go, blackbox.go): the witness replay, when the server's order is known (witness.go), and the
// searching checkers of packages linear and composite. The doc.go of linear says which there are, and how they order what
// happens at one instant.
//
// That all agree is tested on random histories: go test ./checker -run Agree -agree 300000,
// go test ./checker -run Histories -honest 1000000, and go test ./checker -fuzz
// with FuzzHonest, FuzzCheckers or FuzzWindows. If they ever do not, the verdict says so, and package minimal
// finds the smallest history that shows it.
//
// It must not know worlds, plans, or subjects: a history is all it gets, and two equal histories
// get equal verdicts. Only the budgets of the searching checkers are in wall time, and what they
// leave open is undecided, never held.
//
// To add a guarantee: its name in verdict.go, one line in [judges], and a file with one function
// from facts to [Result]; copy effect.go, the smallest.
package checker
