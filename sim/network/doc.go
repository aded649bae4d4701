// Package network is an in-memory network between Redis clients and a server, whose every message
// is delivered when its owner, the world, says so. A write never blocks: it is queued, and the
// world is told. Latencies are drawn per client from the run's seed, with nanosecond precision, so
// that two events hardly ever tie; on one connection and direction messages keep their order, as
// TCP's do.
//
// A partition holds messages back and delivers them after it has healed, as TCP's retransmission
// does, even those of a connection that its client has given up meanwhile; what is on its way to a
// closed end is dropped.
//
// The server's end of a connection is read like any other, or a [Server] takes it, to whom commands are
// handed as they arrive.
//
// It must not know what the messages mean, except for where one RESP command ends and the next
// begins (resp.go): each is a message of its own.
package network
