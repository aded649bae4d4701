// Package contract has the words of an agreement between a lock and whoever judges it, as typed
// names and pure data:
//
//   - what can be asked of a lock: [Guarantee] and [Rule];
//   - what a lock can promise: [Claim], with its numbers in history.Header;
//   - why a guarantee broke: [Class];
//   - who answers for that: the table of [Exemptions]. What no row of it exempts is a defect.
//
// Package checker finds violations and their causes, and rules by this table; nobody else decides
// who is to blame. docs/guarantees.md shows the table; it is generated from here.
//
// It must not know how anything is judged. To add a rule, a claim or an exemption: a line in the
// table of its file, and for an exemption a test on both sides of its edge (checker/ruling_test.go).
package contract
