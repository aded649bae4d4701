package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// overwrittenFor is a key that another program overwrites at 1 s, with an end or without, and deletes at 5 s, and a waiter that is told of it at 2 s,
// and asks again at 30 s.
func overwrittenFor(until time.Duration) *script {
	s := newScript()
	s.fault("overwrite-key", "", at(1), at(1)).Lock = job
	restore := s.event(history.Restore, at(1))
	restore.Owner, restore.Count, restore.Deadline = history.AnotherProgram, 1, until
	s.fault("delete-key", "", at(5), at(5)).Lock = job
	s.event(history.Delete, at(5))
	s.take("c2:1", at(0.5), at(30.002), 0)
	op := &s.h.Ops[len(s.h.Ops)-1]
	other := key(history.AnotherProgram, 1, until)
	s.h.Served = append(s.h.Served, history.Served{At: at(2), Sent: at(1.999), Got: at(2.001), Client: "c2", Op: op.ID, Lock: job, Before: other, After: other})
	return s
}

// wakeTakenBy has c3 wait at the server for a wake-up from a time on, for so many seconds, while c2 does from 3 s on. From another time until 20 s c3 is
// paused; 0: it is not.
func wakeTakenBy(s *script, since time.Duration, timeout string, paused time.Duration) {
	s.h.Served = append(s.h.Served,
		history.Served{At: since, Sent: since - lat, Client: "c3", Step: history.StepCleanup, Text: "blpop wake:" + job + " " + timeout},
		history.Served{At: at(3), Sent: at(3) - lat, Client: "c2", Op: s.h.Ops[1].ID, Step: history.StepCleanup, Text: "blpop wake:" + job + " 30"})
	slices.SortStableFunc(s.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
	if paused > 0 {
		s.fault("pause-client", "c3", paused, at(20))
	}
}
