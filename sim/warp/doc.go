// Package warp runs processes of other languages in virtual time: their clocks show the time that the caller says, and
// whoever waits for a time is woken when it has come. An hour of sleep takes a millisecond.
//
// A library (preload/warp.c) stands before libc in the processes. It is compiled once, with cc. Clocks read the time
// from memory that is shared with this process, and timed waits leave their ends in it. Connections to ports of
// the world become Unix sockets, whose other end is here, as are the other ends of standard input, output and error. So
// nothing is under way that is not seen here.
//
// [Coordinator.Rest] lets the processes run until they are at rest: every thread sleeps, and nothing that they wrote is
// unread. It returns when the next wait of theirs ends, so that [Coordinator.Wake] can end it then. The caller decides
// what else happens at which time; package world does, as for all its other events. The processes are thus one more
// source of events of the world's loop, in its bubble of virtual time: no network, no fault and no server is written for
// them.
//
// A thread is at rest when /proc says so: its state is that of a sleeper, and the kernel tells its system call,
// which it does only of a thread that has left its processor. The state alone is not enough, since a thread takes it
// before it looks a last time whether it has to wait. That no thread has run between two looks at all of them is known
// by their schedstat, which counts how often a thread was put on a processor. One look is enough if the processor time
// of all processes is the same before and after it. So there was a moment at which all slept. Nobody but this process
// can wake them after it: what wakes a thread otherwise is another thread, or a time.
//
// What the processes do between two events is theirs, and its order is the scheduler's. What reaches them, and when,
// depends on the caller alone. So what comes out is the same again, though perhaps not byte for byte.
//
// It must not know what the processes are, nor the bubble that it may be called from. What it waits for itself it waits
// for in real time.
package warp
