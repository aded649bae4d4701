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
	levels int // grants of the group that were not unlocked
	losses []*groupLoss
}

// groupLoss tells of one loss. groupHolds.mu guards it.
type groupLoss struct {
	left  int  // members whose holds may end, the last of which is the group's loss
	known bool // whether the grants are counted, and so what an unlock leaves
	over  bool // the last was unlocked
	lost  chan struct{}
}

// granted notes that the group was granted to owner, again if it held the group already. until is until when an owner may count on
// the group.
func (g *groupHolds) granted(owner Owner, again bool, until func(Owner) time.Time) {
	if g.full() {
		g.sweep(until)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.m == nil {
		g.m = map[Owner]*groupHold{}
	}
	if !again || g.m[owner] == nil {
		g.m[owner] = &groupHold{}
	}
	g.m[owner].levels++
}

// unlocking notes that owner gives back one hold of the group. After the last nobody is told of a loss.
func (g *groupHolds) unlocking(owner Owner) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.m[owner]
	if h == nil {
		return
	}
	if h.levels--; h.levels > 0 {
		return
	}
	for _, l := range h.losses {
		l.over = true
	}
	delete(g.m, owner)
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
		loss.known = true
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
			if loss.left--; loss.left == 0 && !loss.over {
				close(loss.lost)
			}
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
