// Package linear decides whether what became of one lock is linearizable: whether its calls have an order that the
// sequential lock of package model allows.
//
// Who decides, each faster or stronger where it applies:
//
//   - the interval checker, when no unknown outcome matters (interval.go);
//   - the frontier checker, a search in which the length of the history plays no part
//     (frontier.go, passing.go; its place in the history is in cursor.go, unknown outcomes in
//     tokens.go, what it remembers in memo.go, where it never goes back behind in cut.go, what one
//     owner's answers show by themselves in accounts.go);
//   - porcupine, as a second opinion on small histories and on the part of a long one that shows
//     a violation (porcupine.go, part.go); alone on semaphores, and on locks that the history says are
//     made of others (package composite).
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
// The searching ones see operations reduced to actions (action.go, implied.go) of a machine that does what
// package model says (machine.go). That all agree is tested where histories are drawn, in package checker.
//
// It must not know verdicts, causes, or words for people: it answers in porcupine's terms. Only the budgets of searches
// are in wall time, and what they leave open is unknown, never legal.
package linear
