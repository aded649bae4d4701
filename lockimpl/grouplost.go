package lockimpl

import (
	"maps"
	"sync"
	"time"
)

// groupHolds is what the owners hold of several locks as one, a [MultiLock] or a [RedLock], and who is to be told of a loss. The zero
// value is that of a group which nobody holds.
type groupHolds struct {
	mu      sync.Mutex // taken after holds.mu of a member's client
	m       map[Owner]*groupHold
	sweepAt int // number of owners at which holds that ended without an unlock are looked for
}

type groupHold struct {
	grants [][]bool // those of the group that were not unlocked, with the members that an unlock asks; nil: all
	losses []*groupLoss
	lost   bool // its owner was told that it is over
}

// groupLoss tells of one loss. groupHolds.mu guards it.
type groupLoss struct {
	hold  *groupHold // nil: the group was granted through another value of its kind
	left  int        // members whose holds may end, the last of which is the group's loss
	known bool       // whether the grants are counted, and so what an unlock leaves
	over  bool       // the last was unlocked
	told  bool
	lost  chan struct{}
}

// tell closes the channel if the loss is due.
func (l *groupLoss) tell() {
	if l.left <= 0 && !l.over && !l.told {
		if l.told = true; l.hold != nil {
			l.hold.lost = true
		}
		close(l.lost)
	}
}

// granted notes that the group was granted to owner by members, again if it held the group already. until is until when an owner may
// count on the group.
func (g *groupHolds) granted(owner Owner, again bool, members []bool, until func(Owner) time.Time) {
	if g.full() {
		g.sweep(until)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.m == nil {
		g.m = map[Owner]*groupHold{}
	}
	if !again || g.m[owner] == nil || g.m[owner].lost {
		g.m[owner] = &groupHold{}
	}
	g.m[owner].grants = append(g.m[owner].grants, members)
}

// unlocking notes that owner gives back its innermost hold of the group, and returns the members that it is to ask; nil: all. After the
// last nobody is told of a loss. back is to be called if the unlock did not begin: owner then holds the group as before.
func (g *groupHolds) unlocking(owner Owner) (members []bool, back func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.m[owner]
	if h == nil {
		return nil, func() {}
	}
	last := len(h.grants) - 1
	members, h.grants = h.grants[last], h.grants[:last]
	if last == 0 {
		for _, l := range h.losses {
			l.over = true
		}
		delete(g.m, owner)
	}
	return members, func() { g.keep(owner, h, members) }
}

// keep takes back that owner gave a hold back, unless the group was granted anew since, and tells of losses meanwhile.
func (g *groupHolds) keep(owner Owner, h *groupHold, members []bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.m[owner]; now != nil && now != h {
		return
	}
	g.m[owner], h.grants = h, append(h.grants, members)
	for _, l := range h.losses {
		l.over = false
		l.tell()
	}
}

// lost returns a channel that is closed when owner's holds of so many of locks are over, at the moment at which the last of them is,
// while owner has a hold of the group. If the group was granted through another value of its kind, an unlocked member does not count:
// it may be the last unlock's. It is nil if one of the locks does not tell.
func (g *groupHolds) lost(locks []*RLock, owner Owner, many int) <-chan struct{} {
	for _, l := range locks {
		if _, ok := l.proto.(*hardened); !ok {
			return nil
		}
	}
	loss := &groupLoss{left: many, lost: make(chan struct{})}
	g.mu.Lock()
	if h := g.m[owner]; h != nil {
		loss.known, loss.hold = true, h
		h.losses = append(h.losses, loss)
	}
	g.mu.Unlock()
	for _, l := range locks {
		l.whenOver(owner, func(reason error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if reason == nil && !loss.known {
				return
			}
			loss.left--
			loss.tell()
		})
	}
	return loss.lost
}

func (g *groupHolds) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.m) >= max(g.sweepAt, 64)
}

// sweep forgets the owners whose holds ended without an unlock. It costs a constant time per grant.
func (g *groupHolds) sweep(until func(Owner) time.Time) {
	g.mu.Lock()
	known := maps.Clone(g.m)
	g.mu.Unlock()
	maps.DeleteFunc(known, func(owner Owner, _ *groupHold) bool { return !until(owner).IsZero() })
	g.mu.Lock()
	defer g.mu.Unlock()
	for owner, h := range known {
		if g.m[owner] == h {
			delete(g.m, owner)
		}
	}
	g.sweepAt = 2 * len(g.m)
}
