// Package fault is the fault injector: the kinds of faults that a plan can name, and what each
// does to a world. It must not know how a world works inside ([Target] is all it asks of one), nor
// anything about locks.
//
// To add a kind: copy expirekey.go, and add one line to [Kinds].
package fault
