// Package world is the deterministic world, "sim": real Redis clients talk RESP over an in-memory
// network to miniredis, all in one bubble of virtual time. After each event the world waits until
// every goroutine is blocked, collects what they wrote, and then lets exactly one thing happen:
// the arrival of a message, the end of a program's sleep, the beginning or end of a fault, or the
// expiry of a key, whichever is due first. Messages and clients have instants of their own, if only a
// nanosecond apart: equal timers of two of their goroutines would else end at once, in an order that is
// the scheduler's. So the plan and the seed alone decide what happens.
//
// While it runs, it keeps the server log: what each command did to a lock's key (log.go), to which
// call of a program it belongs (calls.go), and the trace hash over every message.
//
// It must not know what programs do, what a lock library is, or what is right and wrong.
package world
