package scenarios

import (
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// modes makes a plan of locks one of read-write locks: it draws of each acquire whether it is one to read or to write, and each
// unlock gives back what was taken last, or of the other kind. So a plan has readers, writers, and owners who do both, one inside of the other.
func (d *drawing) modes(p *plan.Plan) {
	for i := range p.Clients {
		for j := range p.Clients[i].Threads {
			th := &p.Clients[i].Threads[j]
			taken := map[string][]bool{} // of each lock: whether a hold is a writer's, the last one on top
			for k := range th.Steps {
				s := &th.Steps[k]
				kind, holds := history.Kind(s.Do), taken[s.Lock]
				writes := len(holds) > 0 && holds[len(holds)-1]
				switch {
				case kind.Acquires():
					if len(holds) == 0 || d.oneIn(3, "another") {
						writes = d.upTo(0, 1, "writes") == 1
					}
					taken[s.Lock] = append(holds, writes)
				case kind.Forces():
					writes = d.upTo(0, 1, "writes") == 1
				case !kind.Unlocks():
					continue
				case len(holds) > 0:
					at := len(holds) - 1
					if other := slices.Index(holds, !writes); other >= 0 && d.oneIn(2, "the other") { // as a downgrade does
						at, writes = other, !writes
					}
					taken[s.Lock] = slices.Delete(slices.Clone(holds), at, at+1)
				default:
					writes = d.upTo(0, 1, "writes") == 1
				}
				s.Do = inMode(s.Do, writes)
			}
		}
	}
	for i := range p.Faults {
		if when := p.Faults[i].When; when != nil && when.Return != "" {
			when.Return = d.returned(p, when)
		}
	}
}

// inMode is what an action on a lock is on the read lock or the write lock of a read-write lock.
func inMode(a plan.Action, writes bool) plan.Action {
	owner := ""
	if writes {
		owner = history.WriterOf(owner)
	}
	return plan.Action(history.Kind(a).As(history.ARWLock, owner))
}

// returned is the action of a plan of read-write locks whose return a fault waits for: one that the client does, if it does any.
func (d *drawing) returned(p *plan.Plan, when *plan.Trigger) plan.Action {
	read, write := inMode(when.Return, false), inMode(when.Return, true)
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				if s.Do == write && (when.Client == "" || when.Client == c.Name) && (when.Lock == "" || when.Lock == s.Lock) {
					return write
				}
			}
		}
	}
	return read
}
