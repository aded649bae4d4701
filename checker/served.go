package checker

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// served finds the server log's entries for an operation.
type served struct {
	log    []history.Served
	byOp   map[int64][]int
	at     map[servedKey]int // of commands that belong to no call, or, by owner, to any; of renewals, by client
	owners map[string]bool   // all owners of the history
	groups map[string]history.Group
}

type servedKey struct {
	at   time.Duration
	lock string
	by   string // the owner; "" for what belongs to no call
	from string // the client that renewed
}

func indexServed(h *history.History) *served {
	s := &served{log: h.Served, byOp: map[int64][]int{}, at: map[servedKey]int{}, owners: map[string]bool{}, groups: map[string]history.Group{}}
	for _, g := range h.Header.Groups {
		s.groups[g.Name] = g
	}
	for i := range h.Ops {
		s.owners[h.Ops[i].Owner] = true
	}
	for i := range h.Served {
		e := &h.Served[i]
		switch {
		case e.Lock == "" || e.Before == nil || e.After == nil || e.Step == history.StepAdmin: // no client's command
		case e.Op != 0:
			s.byOp[e.Op] = append(s.byOp[e.Op], i)
			s.at[servedKey{at: e.At, lock: e.Lock, by: e.Owner}] = i
		default:
			s.at[servedKey{at: e.At, lock: e.Lock}] = i
		}
		if e.Step == history.StepRenew && e.After != nil {
			s.at[servedKey{at: e.At, lock: e.Lock, from: e.Client}] = i
		}
	}
	return s
}

// execution finds the command with which an operation took effect.
func (s *served) execution(op *history.Op, at time.Duration) (int, bool) {
	for _, i := range s.byOp[op.ID] {
		if s.log[i].At == at && s.log[i].Lock == op.Lock {
			return i, true
		}
	}
	if op.Aside { // something else that was done in the name of a call
		for _, key := range append([]string{op.Lock}, s.groups[op.Lock].Members...) {
			if i, found := s.at[servedKey{at: at, lock: key, by: op.Owner}]; found {
				return i, true
			}
		}
	}
	i, found := s.at[servedKey{at: at, lock: op.Lock}]
	if !found && op.Kind.Renews() { // one command renews for all owners of a client
		i, found = s.at[servedKey{at: at, lock: op.Lock, from: op.Client}]
	}
	return i, found
}

// done is the command of an operation that had taken effect at a time, in real time, where that is known no better; -1: there is none.
func (s *served) done(op *history.Op, at time.Duration) int {
	for _, i := range s.byOp[op.ID] {
		if s.log[i].Done > 0 && s.log[i].Done == at && s.log[i].Lock == op.Lock {
			return i
		}
	}
	return -1
}

// repeats lists the commands of an operation on a lock with which it may have taken effect again. Of a group
// they are those by which its owner had the whole more or less often than before.
func (s *served) repeats(op *history.Op, lock string) []int {
	var found []int
	g, isGroup := s.groups[lock]
	switch {
	case op.Repeats == 0:
		return nil
	case isGroup:
		return s.changesOf(g, op)
	}
	for _, i := range s.byOp[op.ID] {
		if s.log[i].Lock == lock {
			found = append(found, i)
		}
	}
	return found
}

// changesOf lists the commands of an operation on a group that changed how often its owner had the whole.
func (s *served) changesOf(g history.Group, op *history.Op) []int {
	var found []int
	members, needed := map[memberKey]*history.KeyState{}, model.QuorumOf(g).Needed
	whole := func(at time.Duration) int64 {
		counts := make([]int64, 0, len(g.Members))
		for i, name := range g.Members {
			n := int64(0)
			if k := members[memberKey{g.Servers[i], name}]; k != nil && (k.Deadline == 0 || k.Deadline > at) {
				n = k.Count(op.Owner)
			}
			counts = append(counts, n)
		}
		slices.Sort(counts)
		return counts[len(counts)-needed]
	}
	for i := range s.log {
		r := &s.log[i]
		if !g.Has(r.Server, r.Lock) || r.Before == nil || r.After == nil {
			continue
		}
		key := memberKey{r.Server, r.Lock}
		members[key] = r.Before
		before := whole(r.At)
		members[key] = r.After
		if r.Op == op.ID && before != whole(r.At) {
			found = append(found, i)
		}
	}
	return found
}

// setting finds the command, if it was one, that an event tells of: with which a lock set a time to live without being called, or by which the
// key was overwritten or deleted from outside. In the order of the log it comes after what the server executed at that instant before.
func (s *served) setting(e *history.Event) int {
	first, _ := slices.BinarySearchFunc(s.log, e.At, func(l history.Served, at time.Duration) int { return cmpTime(l.At, at) })
	for i := first; i < len(s.log) && s.log[i].At == e.At; i++ {
		if l := &s.log[i]; l.Lock == e.Lock && l.Before != nil && l.After != nil && does(l, e) {
			return i
		}
	}
	return -1
}

// does reports whether a command did to its key what an event tells of.
func does(l *history.Served, e *history.Event) bool {
	switch {
	case e.Kind == history.ForceTTL:
		return l.Owner != "" && l.Before.Deadline != e.Deadline && l.After.Deadline == e.Deadline
	case l.Step != history.StepAdmin:
		return false
	case e.Kind == history.Restore:
		return l.Before.Count(e.Owner) != e.Count && l.After.Count(e.Owner) == e.Count
	case e.Kind == history.Delete, e.Kind == history.Expire:
		return len(l.Before.Holdings) > 0 && len(l.After.Holdings) == 0
	}
	return false
}

// key is the lock's key after a command; nil when it does not name owners as the history does,
// which locks of other libraries need not.
func (s *served) key(i int) *history.KeyState {
	for _, h := range s.log[i].After.Holdings {
		if !s.owners[h.Owner] {
			return nil
		}
	}
	return s.log[i].After
}

// inNameOf is the call in whose name the server executed something that its owner had not asked for; nil: there is none.
func (f *facts) inNameOf(op *history.Op) *history.Op {
	i, found := f.log.execution(op, op.Executed)
	if !op.Aside || !found || f.h.Served[i].Op == op.ID {
		return nil
	}
	call := f.op(f.h.Served[i].Op)
	if call == nil || call.Aside { // what one command did to another lock in the background is no call
		return nil
	}
	return call
}

// answeredDuring reports whether the answer to what a call did to another lock came while the call went on.
func (f *facts) answeredDuring(op, call *history.Op) bool {
	i, found := f.log.execution(op, op.Executed)
	return found && f.h.Served[i].Got > 0 && (call.Pending() || f.h.Served[i].Got <= call.Return)
}

// serversOf tells on which servers the keys of each lock are, as far as the server log shows it. Those are where calls on it were
// executed. Another server may have a key of that name as a member of a group. It counts if no call on the lock itself was executed.
func serversOf(h *history.History) map[string][]string {
	on := make(map[int64]string, len(h.Ops)) // the lock of an operation
	for i := range h.Ops {
		on[h.Ops[i].ID] = h.Ops[i].Lock
	}
	own, servers := map[string][]string{}, map[string][]string{}
	for i := range h.Served {
		s := &h.Served[i]
		if s.Lock == "" || s.Server == "" {
			continue
		}
		if !slices.Contains(servers[s.Lock], s.Server) {
			servers[s.Lock] = append(servers[s.Lock], s.Server)
		}
		if on[s.Op] == s.Lock && !slices.Contains(own[s.Lock], s.Server) {
			own[s.Lock] = append(own[s.Lock], s.Server)
		}
	}
	maps.Copy(servers, own)
	return servers
}
