package checker

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// A read-write lock is a lock to all judges but that of its answers. An owner's hold as a reader and its hold as a writer are
// those of two owners, who do not exclude each other; and readers do not exclude readers.

// shared reports whether several owners may hold the lock at once.
func (l *lockFacts) shared() bool { return l.object == history.ARWLock }

// excludes reports whether the holds of two owners may not last at once.
func (l *lockFacts) excludes(a, b string) bool {
	if !l.shared() {
		return a != b
	}
	return history.ReaderOf(a) != history.ReaderOf(b) && (history.Writes(a) || history.Writes(b))
}

// inTheWay is until when a key keeps a call's owner out: its deadline, or, where each hold has its own, that of the last hold that excludes
// the owner.
func (f *facts) inTheWay(l *lockFacts, op *history.Op, k *history.KeyState) time.Duration {
	if !l.shared() || !f.h.Can(string(contract.LeasePerHold)) {
		return k.Deadline
	}
	var last time.Duration
	for _, h := range k.Holdings {
		switch {
		case h.Deadline == 0: // of another form, which waits for the key's end
			return k.Deadline
		case l.excludes(h.Owner, op.Owner):
			last = max(last, h.Deadline)
		}
	}
	return last
}

// A crowd counts those who believe in a lock at some moment.
type crowd struct {
	of             *lockFacts
	readers, write int
	each           map[string]int // of a read-write lock, by owner
}

// count adds n who believe, as one owner.
func (c *crowd) count(owner string, n int) {
	if !c.of.shared() || history.Writes(owner) {
		c.write += n
	} else {
		c.readers += n
	}
	if c.of.shared() {
		if c.each == nil {
			c.each = map[string]int{}
		}
		c.each[owner] += n
	}
}

// against is how many of them an owner's hold excludes. The owner itself is none of them.
func (c *crowd) against(owner string) int {
	reader := history.ReaderOf(owner)
	switch {
	case !c.of.shared():
		return c.write
	case history.Writes(owner):
		return c.write + c.readers - c.each[reader] - c.each[owner]
	}
	return c.write - c.each[history.WriterOf(reader)]
}

// follow notes the ends of leases that an act on one hold of a read-write lock set for others.
func (r *tenureReplay) follow(a *act) {
	if !r.l.shared() {
		return
	}
	for _, t := range r.open {
		deadline := a.after.Of(t.owner).Deadline
		if deadline == 0 {
			deadline = model.Never
		}
		if !past(deadline, t.deadline) && !past(t.deadline, deadline) {
			continue
		}
		t.end(a.at, deadline)
		if a.op.Owner != t.owner {
			t.ends[len(t.ends)-1].by = a.op
		}
	}
}

// moved is what another hold's call made of the end of a hold last, as far as that is what it came to; nil: none did.
func (t *tenure) moved() (before, after time.Duration, by *history.Op) {
	n := len(t.ends)
	if n < 2 || t.ends[n-1].by == nil {
		return 0, 0, nil
	}
	return t.ends[n-2].deadline, t.ends[n-1].deadline, t.ends[n-1].by
}

// A readLevel is one of a reader's holds, with the call that took it, and when its lease ends.
type readLevel struct {
	by  *history.Op
	end time.Duration
}

// level notes what an owner's act made of the leases of its holds as a reader, where each has one and the key another.
func (r *tenureReplay) level(a *act, t *tenure) {
	if t == nil || !r.l.shared() || history.Writes(t.owner) || r.f.h.Can(string(contract.LeasePerHold)) {
		return
	}
	end := model.Never
	if a.op.Lease > 0 {
		end = a.at + a.op.Lease
	}
	switch n := len(t.levels); answer(a.op) {
	case history.Acquired:
		t.levels = append(t.levels, readLevel{a.op, end})
	case history.Decremented:
		t.levels = t.levels[:max(0, n-1)]
	case history.Renewed:
		for i, level := range t.levels {
			if level.end > a.at {
				t.levels[i].end = end
			}
		}
	}
}

// rest is the levels of a reader that remained when an unlock ended its tenure: an unlock of its own takes the innermost.
func (t *tenure) rest() []readLevel {
	if t.endOp != nil && t.endOp.Owner == t.owner {
		return t.levels[:max(0, len(t.levels)-1)]
	}
	return t.levels
}

// removed reports whether an unlock ended a reader's tenure with holds whose leases were over, though the key lasted for others.
func (t *tenure) removed() bool {
	return t.endOp != nil && t.endOp.Kind.Unlocks() && len(t.rest()) > 0 && !slices.ContainsFunc(t.rest(), func(l readLevel) bool { return past(l.end, t.to) })
}

// own is the tenure of a reader whose holds were removed as long as the level that lasted longest. Nobody promised to renew a lease that
// its owner had asked for.
func (t *tenure) own() *tenure {
	longest := slices.MaxFunc(t.rest(), func(a, b readLevel) int { return cmpTime(a.end, b.end) })
	over := *t
	over.to, over.ends = max(t.from, longest.end), nil // a clock that jumps may end a lease before it began
	over.sets = slices.DeleteFunc(slices.Clone(t.sets), func(s deadlineSet) bool {
		return s.op != longest.by && (s.at > over.to || !longest.by.Watchdog)
	})
	return &over
}
