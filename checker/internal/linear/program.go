package linear

import "slices"

// A program is what is known of each owner by its own calls alone, which follow each other. (A
// renewal is nobody's call: a watchdog works while its owner does.)
type program struct {
	before  []int32 // action -> the one of its owner before it, or -1
	touches []int32 // the same when the two share an instant, so that time does not order them; of the end of a lease, its setting
	local   []local // action -> what is known after its answer
	crowded []bool  // owner -> some of its renewals overlap other actions of it, or nobody counts its holds

	closes  [][]int64 // owner -> when windows of its unknown outcomes ended
	strikes []strike  // what may end anybody's hold or move its deadline, in order of beginnings
	calm    bool      // there are only calls, without leases, and unknown outcomes never close
}

// local is what an owner's answers up to one of them say. Each tells how many holds it had, so
// that unknown outcomes are needed to explain a difference: the fewest that do are counted.
type local struct {
	count  int64
	takes  int64 // unknown acquires that must have taken effect
	gives  int64 // and unknown releases
	first  int32 // the acquire that began the hold
	pinned int64 // the call of the last answer that told the count; -1: none
}

type strike struct {
	call int64
	last int64 // the latest end among this and all before
}

func programOf(actions []action, owners int, m machine) *program {
	p := &program{
		before: make([]int32, len(actions)), touches: make([]int32, len(actions)), local: make([]local, len(actions)),
		crowded: make([]bool, owners), closes: make([][]int64, owners), calm: m.counts,
	}
	last := make([]int32, owners) // its last certain call
	ends := make([]int64, owners) // of all its certain actions so far
	for o := range last {
		last[o], ends[o] = -1, -1
	}
	latest := int64(-1)
	settings := settingsOf(actions)
	for i := range actions {
		a := &actions[i]
		p.before[i], p.touches[i] = -1, -1
		if setting, known := settings[a.set]; known && a.verb == lapses {
			p.touches[i] = setting
		}
		if a.early != open || a.late != open && a.verb != findsTTL || !a.certain && a.ret != open || a.owner == 0 || a.verb == forces {
			p.calm = false
		}
		if !a.certain && a.ret != open {
			p.closes[a.owner] = append(p.closes[a.owner], a.ret)
		}
		if a.owner == 0 && !a.verb.reads() || a.verb == forces {
			latest = max(latest, a.ret)
			if a.verb == restores {
				latest = open // from then on an owner may have more holds than its answers say
			}
			p.strikes = append(p.strikes, strike{a.call, latest})
		}
		if a.owner == 0 {
			continue
		}
		if a.certain {
			if !m.counts || a.call <= ends[a.by] && (a.beside || last[a.by] < 0 || ends[a.by] != actions[last[a.by]].ret) {
				p.crowded[a.owner], p.calm = true, false // a renewal must come before the release that it overlaps
			}
			ends[a.by] = max(ends[a.by], a.ret)
		}
		if a.beside {
			if a.certain && a.verb != renews && !a.verb.reads() {
				p.crowded[a.owner], p.calm = true, false
			}
			continue
		}
		before := last[a.by]
		if p.before[i] = before; before >= 0 && actions[before].ret >= a.call {
			p.touches[i] = before
			if a.verb != findsBusy && a.verb != findsNotMine {
				p.calm = false // that it came in passing must not put it before the one that it follows
			}
		}
		if a.certain {
			l := local{pinned: -1}
			if before >= 0 {
				l = p.local[before]
			}
			p.local[i] = l.then(int32(i), a, m.reentrant)
			last[a.by] = int32(i)
		}
	}
	for o := range p.closes {
		slices.Sort(p.closes[o])
	}
	return p
}

// settingsOf returns the action that made each setting of a lease, if it is certain and its window closes.
func settingsOf(actions []action) map[int32]int32 {
	settings := map[int32]int32{}
	for i := range actions {
		if a := &actions[i]; a.set > 0 && a.verb != lapses && a.certain && a.ret != open {
			settings[a.set] = int32(i)
		}
	}
	return settings
}

// then is what is known after one more answer.
func (l local) then(i int32, a *action, reentrant bool) local {
	need := func(least, most int64) {
		switch {
		case l.count > most:
			l.gives += l.count - most
			l.count = most
		case l.count < least:
			l.takes += least - l.count
			l.count = least
		}
	}
	switch a.verb {
	case acquires:
		if l.count == 0 {
			l.first = i
		}
		l.count++
		return l
	case decrements:
		need(2, maxCount)
		l.count--
		return l
	case releases:
		need(1, 1)
		l.count = 0
	case findsBusy, findsNotMine:
		if a.verb == findsBusy && !reentrant {
			return l // its own hold is a reason too
		}
		need(0, 0)
	case findsMine:
		need(1, maxCount)
		return l
	case findsCount:
		need(a.value, a.value)
	default:
		return l
	}
	l.pinned = a.call
	return l
}

const maxCount = 1 << 62

// struck reports whether something may have ended anybody's hold between two times.
func (p *program) struck(from, to int64) bool {
	n, _ := slices.BinarySearchFunc(p.strikes, to, func(s strike, to int64) int {
		if s.call <= to {
			return -1
		}
		return 1
	})
	return n > 0 && p.strikes[n-1].last >= from
}

// closed reports whether the window of an unknown outcome of an owner ended between two times.
func (p *program) closed(owner int32, from, to int64) bool {
	c := p.closes[owner]
	n, _ := slices.BinarySearch(c, from)
	return n < len(c) && c[n] <= to
}
