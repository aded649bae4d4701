package linear

import "encoding/binary"

// tokens are the operations of which it is not known whether they took effect, and that may still
// do so at any time after their call. What one does depends only on its owner and its verb, so
// that those of one owner and verb are interchangeable: they are counted, not told apart. (When
// holds expire, each also has its own earliest deadline, and is a group by itself.)
type tokens struct {
	groups  []group
	of      []int32   // action -> group
	byOwner [][]int32 // owner -> groups of its acquires, releases and renewals
	force   []int32   // groups of forced releases, of all owners
	called  []int32   // group -> how many were called before the cursor
	all     int32     // how many were called before the cursor
	spent   [][]spending
	known   map[string]int32 // spendings -> index in spent
}

type group struct {
	verb    verb
	owner   int32
	members []int32 // actions, in order of their calls
	settled int32   // how many a cut took as spent for good
}

// A spending is how many tokens of a group have taken effect.
type spending struct {
	group int32
	n     int32
}

func tokensOf(actions []action, owners int) tokens {
	t := tokens{of: make([]int32, len(actions)), byOwner: make([][]int32, owners)}
	timeless := true
	for i := range actions {
		switch actions[i].verb {
		case expires, lapses, findsTTL:
			timeless = false
		}
	}
	find := func(a *action) int32 {
		if !timeless {
			return -1
		}
		same := t.byOwner[a.owner]
		if a.verb == forces {
			same = t.force
		}
		for _, g := range same {
			if t.groups[g].verb == a.verb && t.groups[g].owner == a.owner { // an owner's are ordered with what else it calls
				return g
			}
		}
		return -1
	}
	for i := range actions {
		a := &actions[i]
		if a.ret != open {
			continue
		}
		g := find(a)
		if g < 0 {
			g = int32(len(t.groups))
			t.groups = append(t.groups, group{verb: a.verb, owner: a.owner})
			if a.verb == forces {
				t.force = append(t.force, g)
			} else {
				t.byOwner[a.owner] = append(t.byOwner[a.owner], g)
			}
		}
		t.groups[g].members = append(t.groups[g].members, int32(i))
		t.of[i] = g
	}
	t.called = make([]int32, len(t.groups))
	t.forget()
	return t
}

func (t *tokens) call(action int32, forward bool) {
	step := int32(1)
	if !forward {
		step = -1
	}
	t.called[t.of[action]] += step
	t.all += step
}

// used is how many tokens of group g a configuration has spent.
func (t *tokens) used(spent, g int32) int32 {
	n := t.groups[g].settled
	for _, s := range t.spent[spent] {
		if s.group == g {
			n += s.n
		}
	}
	return n
}

// next is the token of group g that would take effect now, the oldest.
func (t *tokens) next(spent, g int32) (action int32, ok bool) {
	n := t.used(spent, g)
	if n >= t.called[g] {
		return 0, false
	}
	return t.groups[g].members[n], true
}

// spend returns spent with one more of group g.
func (t *tokens) spend(spent, g int32) int32 {
	var list []spending
	added := false
	for _, s := range t.spent[spent] {
		if !added && s.group >= g {
			if added = true; s.group == g {
				s.n++
			} else {
				list = append(list, spending{g, 1})
			}
		}
		list = append(list, s)
	}
	if !added {
		list = append(list, spending{g, 1})
	}
	key := make([]byte, 0, 8*len(list))
	for _, s := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(s.group))
		key = binary.LittleEndian.AppendUint32(key, uint32(s.n))
	}
	id, known := t.known[string(key)]
	if !known {
		id = int32(len(t.spent))
		t.spent = append(t.spent, list)
		t.known[string(key)] = id
	}
	return id
}

// fewer reports whether a spends no more of any group than b does.
func (t *tokens) fewer(a, b int32) bool {
	if a == b || a == 0 {
		return true
	}
	rest := t.spent[b]
	for _, s := range t.spent[a] {
		for len(rest) > 0 && rest[0].group < s.group {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].group != s.group || rest[0].n < s.n {
			return false
		}
	}
	return true
}

// settle takes what was spent as spent for good.
func (t *tokens) settle(spent int32) {
	for _, s := range t.spent[spent] {
		t.groups[s.group].settled += s.n
	}
	t.forget()
}

func (t *tokens) forget() {
	t.spent, t.known = [][]spending{nil}, map[string]int32{}
}
