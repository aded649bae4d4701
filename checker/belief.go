package checker

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// A belief is the time during which an owner took the lock to be its own: from the return of the
// acquiring call to the call of the unlock that gives back its last hold, or to the moment it
// learned that the hold was over, or to the death of its client. Work done in that time is what a
// lock is for. The fresh client does none, and has no beliefs: whoever else holds a lock to the end of its program is not harmed.
type belief struct {
	owner    string
	client   string
	from, to time.Duration // to: the end of the history when open
	open     bool
	acquire  *history.Op // the call that began it
	guards   guards      // when some hold in it had no explicit lease

	// What ended it; all zero when the client died, its programs ended, or nothing did.
	unlock *history.Op
	lost   *history.Event
}

// unheldUnlock is the owner's unlock of a lock that it did not believe in, if that gave back what the owner holds
// otherwise: a member of a group, or a group that needs it.
func (f *facts) unheldUnlock(op *history.Op) *history.Op {
	call := f.inNameOf(op)
	if call == nil || !op.Kind.Unlocks() || !call.Kind.Unlocks() || call.Lock == op.Lock {
		return nil
	}
	all, known := f.asked[call.Lock]
	if !known {
		return nil
	}
	for _, b := range all {
		if b.owner == op.Owner && b.from <= call.Call && b.to >= call.Call {
			return nil
		}
	}
	return call
}

// beliefsOf follows what each owner was told. aside names the owner's unlock of another lock that ended a hold of this one; nil: none did.
func beliefsOf(f *facts, l *lockFacts, aside func(*history.Op) *history.Op) []*belief {
	// Per owner, since one owner's calls are sequential: what it was told of at a return, and
	// what it gave up at a call.
	type step struct {
		at   time.Duration
		op   *history.Op
		call bool
		lost *history.Event
	}
	steps := map[string][]step{}
	var owners []string
	add := func(owner string, s step) {
		if _, known := steps[owner]; !known {
			owners = append(owners, owner)
		}
		steps[owner] = append(steps[owner], s)
	}
	last := map[string]time.Duration{} // when the owner did anything for the last time
	for _, op := range l.resource {
		last[op.Owner] = max(last[op.Owner], op.Call)
	}
	for _, op := range l.ops {
		if !op.Aside {
			last[op.Owner] = max(last[op.Owner], op.Call)
		}
		switch {
		case op.Aside: // its owner knows nothing of it, unless it unlocks a group that it does not hold
			if call := aside(op); call != nil {
				add(op.Owner, step{at: call.Call, op: op, call: true})
				if !call.Pending() {
					add(op.Owner, step{at: call.Return, op: op})
				}
			}
		case givenUp(op): // its owner goes on as before
		case f.fresh(op.Client, op.Call):
		case op.Kind.Unlocks() || op.Kind.Forces():
			add(op.Owner, step{at: op.Call, op: op, call: true})
			if !op.Pending() {
				add(op.Owner, step{at: op.Return, op: op})
			}
		case op.Kind.Acquires() && op.Outcome == history.Acquired && !op.Pending():
			add(op.Owner, step{at: op.Return, op: op})
		}
	}
	for _, e := range l.events {
		if e.Kind == history.Lost && e.Owner != "" {
			add(e.Owner, step{at: e.At, lost: e})
		}
	}
	sort.Strings(owners)

	var all []*belief
	for _, owner := range owners {
		ss := steps[owner]
		sort.SliceStable(ss, func(i, j int) bool { return ss[i].at < ss[j].at })
		var b *belief
		var watched []bool    // its holds, the innermost last: whether it has no explicit lease
		var inner *history.Op // by which it was told of its last hold
		var lost []bool       // as watched, of the holds that it was told at last are over
		end := func(at time.Duration, unlock *history.Op, told *history.Event) {
			if lost = nil; told != nil {
				lost = watched
			}
			if b != nil {
				b.to, b.open, b.unlock, b.lost = at, false, unlock, told
			}
			b, watched = nil, nil
		}
		enter := func(op *history.Op, at time.Duration) {
			watched = append(watched, op.Watchdog)
			b.guards.set(slices.Contains(watched, true), at)
		}
		leave := func(op *history.Op, at time.Duration) {
			watched = watched[:max(len(watched)-1, 0)]
			b.guards.set(slices.Contains(watched, true) || op.Watchdog, at)
		}
		begin := func(s step) {
			b = &belief{owner: owner, client: s.op.Client, from: s.at, acquire: s.op, open: true}
			all = append(all, b)
		}
		for _, s := range ss {
			switch {
			case s.lost != nil:
				last, anew := inner, len(watched) > 1 && l.anew(inner, s.at)
				end(s.at, nil, s.lost)
				if anew {
					begin(step{at: s.at, op: last})
					enter(last, s.at)
				}
			case s.op.Kind.Acquires():
				if b == nil {
					begin(s)
					if inner != nil && s.op.Token != 0 && s.op.Token == inner.Token { // it re-entered what it took for over
						watched = lost
					}
				}
				enter(s.op, s.at)
				inner = s.op
			case s.call:
				// Its owner works under it no more, also if the last hold turns out to be one that it took for
				// another's inner one.
				told := s.op.Kind.Forces() || !f.silent[s.op.ID] && (s.op.Outcome == history.Released || s.op.Outcome == history.NotHeld)
				if len(watched) <= 1 || told {
					end(s.at, s.op, nil)
				}
			case b == nil:
			case s.op.Outcome == history.Decremented, f.silent[s.op.ID]:
				leave(s.op, s.at)
			case s.op.Outcome == history.Failed, // it works under that hold no more
				s.op.Outcome == history.Unknown && last[owner] >= s.at: // nor here, but under the outer one
				leave(s.op, s.at)
			default:
				// Unknown: it cannot know what it holds, and was not seen again.
				end(s.at, s.op, nil)
			}
		}
	}
	for _, b := range all {
		if gone, known := f.ended[b.client]; known && (b.open || gone < b.to) {
			b.to, b.open, b.unlock, b.lost = max(gone, b.from), false, nil, nil
		} else if b.open {
			b.to = max(f.end, b.from)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].from < all[j].from })
	return all
}

// anew reports whether a call that returned at a time granted its owner the lock anew. If the owner was told of a loss at that
// instant, the holds before are over, and this one is not.
func (l *lockFacts) anew(op *history.Op, at time.Duration) bool {
	return op != nil && op.Return == at && slices.ContainsFunc(l.tenures, func(t *tenure) bool { return t.grant == op && !t.restored })
}

// givenUp reports whether an unlock was given up before anything was sent, as its context ended meanwhile: the hold is as it
// was, and its owner knows. Who unlocks under a context that has ended before does not call again, and believes no more.
func givenUp(op *history.Op) bool {
	return op.Kind.Unlocks() && op.Outcome == history.Failed && op.Evidence == history.NotSent && op.Cancel != history.Ended &&
		(strings.Contains(op.Error, context.DeadlineExceeded.Error()) || strings.Contains(op.Error, context.Canceled.Error()))
}

// A sweep goes over beliefs by their beginnings and knows which of them last.
type sweep struct {
	rest    []*belief // that have not begun
	lasting []*belief // and perhaps some that are over
	looked  int       // how many lasted when it was last looked after
}

// other is the first who believes at a time that it holds a lock from which it excludes owner, or nil. Times must not go back.
func (s *sweep) other(l *lockFacts, owner string, at time.Duration) *belief {
	n := 0
	for n < len(s.rest) && s.rest[n].from <= at {
		n++
	}
	s.lasting, s.rest = append(s.lasting, s.rest[:n]...), s.rest[n:]
	if len(s.lasting) > 2*s.looked+16 { // often enough, and no more often than there is something to do
		s.lasting = slices.DeleteFunc(s.lasting, func(b *belief) bool { return b.to <= at })
		s.looked = len(s.lasting)
	}
	for _, b := range s.lasting {
		if l.excludes(b.owner, owner) && at < b.to {
			return b
		}
	}
	return nil
}
