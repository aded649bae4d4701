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
// order, who held on the server (tenure.go), who believed to hold (belief.go). Causes are found
// in the faults and the server log (cause.go) and told as a story (story.go).
//
// Who decides object, each faster or stronger where it applies (object.go, blackbox.go):
//
//   - the witness replay, when the server's order is known (witness.go);
//   - the interval checker, when no unknown outcome matters (interval.go);
//   - the frontier checker, a search in which the length of the history plays no part
//     (frontier.go, passing.go; its place in the history is in cursor.go, unknown outcomes in
//     tokens.go, what it remembers in memo.go, where it never goes back behind in cut.go, what one
//     owner's answers show by themselves in accounts.go);
//   - porcupine, as a second opinion on small histories and on the part of a long one that shows
//     a violation (porcupine.go); alone on locks that the history says are made of others
//     (composite.go).
//
// What happens at one instant (instant.go) is ordered by one rule, the same for all of them:
//
//   - Where the server log has an order, that is the order.
//   - An owner's calls come in the order in which they stand in the history.
//   - On a virtual clock what the environment did comes before all else of its instant: there a fault strikes before the
//     message that arrives. An event whose time is not exact has no such order at its last instant.
//   - Otherwise every order is possible. Calls last from their first instant to their last one, both included: what
//     touches overlaps. A lock is accused only if it is wrong in every order. (Where the order of the
//     server's times is in doubt, the replay hands over to the searching checkers.)
//
// The searching ones see operations reduced to actions (action.go) of a machine that does what
// package model says (machine.go). That all agree is tested on random histories: go test
// ./checker -run Agree -agree 300000, go test ./checker -run Histories -honest 1000000, and go test ./checker -fuzz
// with FuzzHonest, FuzzCheckers or FuzzWindows. If they ever do not, the verdict says so, and [ShrinkDisagreement]
// finds the smallest history that shows it.
//
// It must not know worlds, plans, or subjects: a history is all it gets, and two equal histories
// get equal verdicts. Only the budgets of the searching checkers are in wall time, and what they
// leave open is undecided, never held.
//
// To add a guarantee: its name in verdict.go, one line in [judges], and a file with one function
// from facts to [Result]; copy effect.go, the smallest.
package checker
