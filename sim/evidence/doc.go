// Package evidence concludes from a recorded run what each call did on the server: [Conclude] is a function of
// the calls and the server log alone, so that a stored run can be concluded again.
//
// Each command that the server executed is a transition of its lock: who holds it how often and until when,
// before and after. It is booked to the call that sent it, or else to its client's background.
//
// It must not know what a lock library is, nor what is right and wrong.
package evidence
