// Package soak runs a lock for a long time against a real Redis server, in the manner of production:
// many clients that lock and unlock as fast as they can, while faults drawn from a seed strike them
// and the server. What happened is handed out as it is recorded, and nothing of it is kept, so that
// a run may last as long as it likes.
//
// Everything is in real time. A call's time is taken before its request can be sent, its return
// after its reply was read, on one monotonic clock and in the order of the records, so that no
// violation can come from their order. Nobody sees the server: histories are [history.Implied].
//
// A client is one strand with a Redis client and a lock client of its own, whose connections go
// through a wire (wire.go) that faults can cut or hold up. One whose call ended unknown, or that waited
// for a lock until its patience ended, goes no
// further: once the server has nothing of it any more it is recorded as dead, and another takes its
// place.
//
// It must not know what is right or wrong; checkers judge. To add a fault: a line in [Kinds].
package soak
