package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// member is a key on a server: one of a group's.
type member struct{ server, lock string }

// membersOf are the members of a group that the server log shows, and how many of them a hold needs. A lock that is no
// group has none.
func membersOf(h *history.History, lock string) (all []member, needed int) {
	i := slices.IndexFunc(h.Header.Groups, func(g history.Group) bool { return g.Name == lock && g.Seen() })
	if i < 0 {
		return nil, 0
	}
	g := h.Header.Groups[i]
	for n, key := range g.Members {
		all = append(all, member{g.Servers[n], key})
	}
	if g.Kind == history.Red {
		return all, len(all)/2 + 1
	}
	return all, len(all)
}

// memberSegments follows a member's key through the server log. No event tells of its expiry: it ends with its time to
// live, unless the server says otherwise.
func memberSegments(h *history.History, m member, end time.Duration) []segment {
	var t trail
	expire := func(until time.Duration) {
		if d := t.now.state.Deadline; d > t.now.from && d < until {
			t.set(d, history.KeyState{})
		}
	}
	seen := false
	for _, s := range h.Served {
		if s.Server != m.server || s.Lock != m.lock || s.After == nil {
			continue
		}
		seen = true
		expire(s.At)
		if s.Before != nil {
			t.set(s.At, *s.Before)
		}
		t.set(s.At, *s.After)
	}
	if !seen {
		return nil
	}
	expire(end)
	return t.done(end)
}

// groupKeys are the keys of a group's members over time, and how many of them who holds most of them. locks are the parts of the
// server log that are about one lock each.
func groupKeys(members []member, locks map[string]*history.History, end time.Duration) (keys [][]segment, of []share) {
	for _, m := range members {
		log := locks[m.lock]
		if log == nil {
			log = &history.History{}
		}
		keys = append(keys, memberSegments(log, m, end))
	}
	return keys, shares(keys)
}

// share is a stretch of time in which an owner holds some of a group's members.
type share struct {
	from, to time.Duration
	owner    string
	n        int
}

// shares are how many members of a group the owner holds who holds most of them, over time.
func shares(members [][]segment) (all []share) {
	var times []time.Duration
	for _, m := range members {
		for _, s := range m {
			times = append(times, s.from, s.to)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	for i := 1; i < len(times); i++ {
		x := share{from: times[i-1], to: times[i]}
		held := make(map[string]int)
		for _, m := range members {
			for _, owner := range ownersAt(m, x.from) {
				if held[owner]++; held[owner] > x.n {
					x.owner, x.n = owner, held[owner]
				}
			}
		}
		if last := len(all) - 1; last >= 0 && all[last].owner == x.owner && all[last].n == x.n {
			all[last].to = x.to
			continue
		}
		all = append(all, x)
	}
	return all
}

// ownersAt are who is in a key at a time.
func ownersAt(key []segment, at time.Duration) (owners []string) {
	i, _ := slices.BinarySearchFunc(key, at, func(s segment, at time.Duration) int {
		if s.to <= at {
			return -1
		}
		return 1
	})
	if i < len(key) && key[i].from <= at {
		for _, x := range key[i].state.Holdings {
			owners = append(owners, x.Owner)
		}
	}
	return owners
}

// groupSegments is whose a group is, as its members on the servers have it.
func groupSegments(all []share, needed int) (key []segment) {
	for _, x := range all {
		s := segment{from: x.from, to: x.to}
		if x.n >= needed {
			s.state.Holdings = []history.Holding{{Owner: x.owner, Count: 1}}
		}
		key = append(key, s)
	}
	return key
}

// groupLane shows how many members of a group its owner holds.
func groupLane(c *cast, lock string, all []share, members, needed int) *lane {
	l := &lane{Kind: "lock", Name: shorten(Visible(lock), 18), Sub: fmt.Sprintf("needs %d of %d", needed, members), Color: noColor, H: groupHeight, lock: lock}
	for _, x := range all {
		if x.n == 0 {
			continue
		}
		it := item{Kind: "part", From: x.from, To: x.to, Color: c.color(x.owner)}
		if it.Tip = fmt.Sprintf("%s %d/%d", name(x.owner), x.n, members); x.n >= needed {
			it.Kind, it.Label, it.Tip = "quorum", it.Tip, ""
		}
		l.Items = append(l.Items, it)
	}
	return l
}

// memberLane shows a member on its server: whose it is, and how its time to live runs down.
func memberLane(h *history.History, c *cast, m member, key []segment) *lane {
	l := &lane{Kind: "lock", Name: shorten(Visible(m.server), 18), Sub: shorten(Visible(m.lock), 20), Color: noColor, H: memberHeight, lock: m.lock, server: m.server}
	l.Scale = longestTTL(key)
	for _, s := range key {
		if len(s.state.Holdings) == 0 {
			continue
		}
		it := ramp(s, c)
		it.Kind = map[string]string{"ramp": "member", "forever": "kept"}[it.Kind]
		l.Items = append(l.Items, it)
	}
	return l
}

// locksDrawn are the lanes of locks: of a group one for itself, and one for each of its members. A member of several
// groups has one. keys is filled with whose each group is.
func locksDrawn(h *history.History, c *cast, keys map[string][]segment, end time.Duration) (lanes []*lane) {
	objects, drawn := h.Objects(), make(map[member]bool)
	for i, l := range c.locks {
		add := func(some ...*lane) {
			for _, x := range some {
				x.Group = i
			}
			lanes = append(lanes, some...)
		}
		members, needed := membersOf(h, l)
		switch {
		case objects[l].Counted():
			add(numberLane(h, l, keys[l]))
			continue
		case len(members) == 0:
			add(lockLane(h, c, l, keys[l]))
			continue
		}
		var all [][]segment
		var below []*lane
		for _, m := range members {
			key := memberSegments(h, m, end)
			if all = append(all, key); !drawn[m] {
				drawn[m] = true
				below = append(below, memberLane(h, c, m, key))
			}
		}
		of := shares(all)
		keys[l] = groupSegments(of, needed)
		add(append([]*lane{groupLane(c, l, of, len(members), needed)}, below...)...)
	}
	return lanes
}
