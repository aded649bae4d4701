package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// judgeEffect looks for lost updates: a write that was computed from a read, after which another
// owner wrote; and for two reads under one read lock between which one did. The resource of a lock is the one that has its name.
func judgeEffect(_ context.Context, f *facts) Result {
	found := f.found(contract.Effect)
	writes, gone, between := 0, map[*history.Op]bool{}, 0 // writes between two reads of one hold
	for _, l := range f.locks {
		read := map[string]*history.Op{} // what each owner read last and has not yet written back
		var written []*history.Op
		seen := map[string]int{} // how many writes each owner had seen when it read
		for _, op := range l.resource {
			if _, ok := took(op); !ok {
				continue
			}
			if op.Kind == history.Read {
				if r := read[op.Owner]; r != nil && l.shared() && l.oneHold(op.Owner, tookOrCall(r), tookOrCall(op)) {
					for _, write := range written[seen[op.Owner]:] {
						if !l.excludes(write.Owner, op.Owner) { // the reader writes, too
							continue
						}
						between++
						found.add(func() Violation { return f.readTwice(l, r, write, op) })
					}
				}
				read[op.Owner], seen[op.Owner] = op, len(written)
				continue
			}
			if op.Outcome == history.Rejected {
				continue
			}
			if r := read[op.Owner]; r != nil {
				for _, lost := range written[seen[op.Owner]:] {
					if lost.Owner == op.Owner {
						continue
					}
					gone[lost] = true
					found.add(func() Violation { return f.lostUpdate(l, r, lost, op) })
				}
			}
			delete(read, op.Owner)
			written = append(written, op)
			writes++
		}
	}
	if writes == 0 {
		return notClaimed("nothing was written to a shared resource")
	}
	broke := fmt.Sprintf("%s of %s lost", Thousands(len(gone)), count(writes, "update"))
	switch {
	case between > 0 && len(gone) == 0:
		broke = fmt.Sprintf("%s between two reads under one hold", count(between, "update"))
	case between > 0:
		broke += fmt.Sprintf(", and %s between two reads under one hold", Thousands(between))
	}
	return conclude("order of reads and writes", fmt.Sprintf("%s, none lost", count(writes, "update")), broke, found)
}

// oneHold reports whether an owner believed in one hold from one time to another.
func (l *lockFacts) oneHold(owner string, from, to time.Duration) bool {
	b := l.owner(owner).belief(from)
	return !history.Writes(owner) && b != nil && to <= b.to
}

func (f *facts) readTwice(l *lockFacts, read, between, again *history.Op) Violation {
	v := Violation{
		Rule: contract.ReadsAgree, Lock: l.name, From: tookOrCall(read), To: tookOrCall(again),
		Text: fmt.Sprintf("%s read %d at %s and %d at %s under one read lock; %s wrote %d at %s in between",
			again.Owner, read.Value, Stamp(tookOrCall(read)), again.Value, Stamp(tookOrCall(again)), between.Owner, between.Value, Stamp(tookOrCall(between))),
		Ops:    []int64{again.ID, between.ID, read.ID},
		Owners: []string{between.Owner, again.Owner},
		Cause:  Cause{Class: contract.Unexplained, Text: "the two did not hold the lock at once: the write came late or without the lock"},
	}
	if between.Aside {
		v.Cause = Cause{Class: contract.LateWrite, Text: fmt.Sprintf("the write that %s sent at %s was under way until %s",
			between.Owner, Stamp(between.Call), Stamp(tookOrCall(between)))}
	}
	if o, ok := l.between(between.Owner, again.Owner, v.From, v.To); ok {
		v.Cause = f.overlapped(l, o).Cause
	}
	return v
}

func (f *facts) lostUpdate(l *lockFacts, read, lost, write *history.Op) Violation {
	v := Violation{
		Rule: contract.NoLostUpdate, Lock: l.name, From: tookOrCall(read), To: tookOrCall(write),
		Text: fmt.Sprintf("%s read %d at %s and wrote %d at %s; the %d that %s wrote at %s in between is lost",
			write.Owner, read.Value, Stamp(tookOrCall(read)), write.Value, Stamp(tookOrCall(write)),
			lost.Value, lost.Owner, Stamp(tookOrCall(lost))),
		Ops:    []int64{write.ID, lost.ID, read.ID},
		Owners: []string{lost.Owner, write.Owner},
		Cause:  Cause{Class: contract.Unexplained, Text: "the two did not hold the lock at once: the write came late or without the lock"},
	}
	if write.Aside {
		v.Cause = Cause{Class: contract.LateWrite, Text: fmt.Sprintf("the write that %s sent at %s was under way until %s",
			write.Owner, Stamp(write.Call), Stamp(tookOrCall(write)))}
	}
	if o, ok := l.between(lost.Owner, write.Owner, v.From, v.To); ok {
		v.Cause = f.overlapped(l, o).Cause
	}
	return v
}
