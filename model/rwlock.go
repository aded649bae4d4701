package model

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// RWHold is an owner's hold of one of the two locks of a read-write lock.
type RWHold struct {
	Owner string
	Write bool
	Count int64
	// Fewest is the least that the count may be: when its owner re-entered, the hold may have been over. 0: it is Count.
	Fewest int64
	life   // of the lease: Earliest and Latest are when it may end and when it has ended for certain

	// Of a reader's hold of Redisson's lock, the lease of each level, outermost first. It may end at any time where only the key was
	// seen.
	each []life
}

// RWState is one read-write lock. The zero value is a free one. States compare with ==.
type RWState struct {
	holds string // the holds in order, written out: so that any number of readers compares
	end   life   // of Redisson's key, with all that is in it
}

// Holds lists the holds, in the order of owners.
func (s RWState) Holds() []RWHold {
	var holds []RWHold
	for line := range strings.Lines(s.holds) {
		f := strings.Fields(line)
		h := RWHold{Owner: unquoted(f[0][1:]), Write: f[1] == "true", Count: int64(durationOf(f[2])), Fewest: int64(durationOf(f[3])), life: life{durationOf(f[4]), durationOf(f[5])}}
		for i := 6; i < len(f); i += 2 {
			h.each = append(h.each, life{durationOf(f[i]), durationOf(f[i+1])})
		}
		holds = append(holds, h)
	}
	return holds
}

// unquoted and durationOf read what rwState has written.
func unquoted(text string) string {
	s, err := url.PathUnescape(text)
	if err != nil {
		panic(err)
	}
	return s
}

func durationOf(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return time.Duration(n)
}

// Until is when the key of Redisson's lock ends: not before earliest, and not after latest.
func (s RWState) Until() (earliest, latest time.Duration) { return s.end.Earliest, s.end.Latest }

// MayBeGone reports whether a read unlock may have removed Redisson's key: it is not known whether a lease lasted then.
func (s RWState) MayBeGone() bool { return s.end.Earliest == 0 }

// Ending is the state when its key is seen to end when that of another state does, or to be gone.
func (s RWState) Ending(key RWState) RWState {
	if key == (RWState{}) {
		return key
	}
	s.end = key.end
	return s
}

// RWStateOf is the state with these holds, of which each owner has at most one of each kind.
func RWStateOf(holds ...RWHold) RWState { return rwState(slices.Clone(holds)) }

// mostLevels is of how many levels of a reader the leases are followed: a key may be nonsense.
const mostLevels = 1000

// RWKey is the state of Redisson's lock with these holds, whose key ends at a time. What lease each level of a reader has is not
// known.
func RWKey(end time.Duration, holds ...RWHold) RWState {
	holds = slices.Clone(holds)
	for i, h := range holds {
		if holds[i].life = (life{}); !h.Write {
			holds[i].each = slices.Repeat([]life{{0, Never}}, int(min(max(h.Count, 0), mostLevels)))
		}
	}
	s := rwState(holds)
	if len(holds) > 0 {
		s.end = life{end, end}
	}
	return s
}

// fewest is the least that the count may be.
func (h RWHold) fewest() int64 { return cmp.Or(h.Fewest, h.Count) }

// name is what an operation or an event calls the owner of a hold.
func (h RWHold) name() string {
	if h.Write {
		return history.WriterOf(h.Owner)
	}
	return h.Owner
}

func rwState(holds []RWHold) RWState {
	slices.SortFunc(holds, func(a, b RWHold) int {
		if c := cmp.Compare(a.Owner, b.Owner); c != 0 || a.Write == b.Write {
			return c
		}
		if a.Write {
			return 1
		}
		return -1
	})
	var b strings.Builder
	for _, h := range holds {
		fmt.Fprintf(&b, "=%s %t %d %d %d %d", url.PathEscape(h.Owner), h.Write, h.Count, h.Fewest, h.Earliest, h.Latest)
		for _, l := range h.each {
			fmt.Fprintf(&b, " %d %d", l.Earliest, l.Latest)
		}
		b.WriteByte('\n')
	}
	return RWState{holds: b.String()}
}

// String fits after "but".
func (s RWState) String() string {
	var who []string
	for _, h := range s.Holds() {
		does := "reads"
		if h.Write {
			does = "writes"
		}
		if h.Count > 1 {
			does += fmt.Sprintf(" %d times", h.Count)
		}
		who = append(who, h.Owner+" "+does)
	}
	if len(who) == 0 {
		return "the lock is free"
	}
	return strings.Join(who, ", ")
}

// RWLock says which read-write lock is meant. The zero value ends each hold with its own lease, and its
// unlocks answer what is left to the owner: hardened.
type RWLock struct {
	// Redisson: all holds count as long as the key lasts, whose end each call sets. Each level of a reader's hold has a lease: an
	// unlock drops the innermost. A re-entry of a writer adds its lease to what is left.
	Redisson bool
	// LastReader: a read unlock answers whether anybody holds either lock.
	LastReader bool
	// RefusesUpgrade: who reads and asks for the write lock is rejected, whoever else reads, so that busy says that another is in the way.
	RefusesUpgrade bool
	// Upgrades: who reads, and nobody else, may be granted the write lock, too.
	Upgrades bool
	// Mutex: an owner has one hold of each lock at most. Who has one may be refused, or granted another in its place.
	Mutex bool
	// OneEnd: all holds are in one key: each may last as long as the longest lease that anybody asked for since the lock was free, or, if it
	// Shortens, no longer than the lease of any call since.
	OneEnd bool
	// Shortens: a call may set a lease that ends before the one that the hold has: a re-entry, or with OneEnd any.
	Shortens bool
}

// Step returns the state after op with its answer, or a [Violation]. Uncertainty is as in the function
// [Step]. The owner of an operation on the write lock may be named [history.WriterOf].
// A hold whose lease may be over, as far as the times of op tell, is there or not, as the answer
// needs it; other operations change nothing.
func (k RWLock) Step(s RWState, op history.Op) (RWState, error) {
	write := op.Kind.OnWriteLock() || op.Kind == history.WriteCount
	if op.Outcome == history.Failed {
		return s, nil
	}
	uncertain := op.Uncertain()
	if uncertain {
		op.Return = 0
	}
	from, to := when(op)
	if uncertain && op.Evidence != history.Executed {
		from, to = 0, 0 // nobody saw that a lease was over: an event tells
	}
	called := op
	op.Owner = history.ReaderOf(op.Owner)
	v := k.view(s, op.Owner, write, from, to)
	if uncertain {
		if op.Outcome = v.answer(k, op); op.Outcome == "" {
			return s, nil
		}
	}
	rule := k.allows(v, op)
	if rule != "" {
		called.Outcome = op.Outcome
		return s, &Violation{Rule: rule, State: s, Op: called}
	}
	if op.Kind.Forces() {
		return v.forced(k, op), nil
	}
	if k.Mutex && op.Outcome == history.Acquired && v.mine >= 0 {
		v.holds, v.mine = slices.Delete(v.holds, v.mine, v.mine+1), -1
	}
	if k.Redisson {
		return v.afterRedisson(k, op), nil
	}
	next := v.after(k, op)
	if !k.OneEnd {
		return next, nil
	}
	end := life{Never, s.end.Latest}
	if op.Outcome == history.Acquired || op.Outcome == history.Renewed || op.Lease > 0 {
		set := lasting(op)
		if end.Latest = max(end.Latest, set.Latest); k.Shortens {
			end.Earliest = set.Earliest
		}
	}
	return next.until(end), nil
}

// until is a state whose holds may be over from the beginning of an end on, and may last until the end of it.
func (s RWState) until(end life) RWState {
	holds := s.Holds()
	for i := range holds {
		holds[i].life = life{min(holds[i].Earliest, end.Earliest), max(holds[i].Latest, end.Latest)}
	}
	if s = rwState(holds); len(holds) > 0 {
		s.end.Latest = end.Latest
	}
	return s
}

// Has reports whether the owner of a reader's call has either lock for certain.
func (k RWLock) Has(s RWState, op history.Op) bool {
	from, to := when(op)
	v := k.view(s, history.ReaderOf(op.Owner), false, from, to)
	return v.mine >= 0 && !v.mineEnds || v.writes && !v.writeEnds
}

// rwView is a lock as the caller of an operation sees it.
type rwView struct {
	write     bool
	holds     []RWHold // but those that are over for certain
	mine      int      // index of the owner's hold of the lock in question; -1: none
	mineEnds  bool     // it may be over
	reads     bool     // the owner reads
	readEnds  bool     // that may be over
	writes    bool     // the owner writes
	writeEnds bool     // that may be over
	hindered  bool     // somebody else is in the way for certain
	maybe     bool     // somebody else may be
	from, to  time.Duration
	end       life // of Redisson's key
}

func (k RWLock) view(s RWState, owner string, write bool, from, to time.Duration) rwView {
	v := rwView{write: write, mine: -1, from: from, to: to, end: s.end}
	for _, h := range s.Holds() {
		if k.Redisson {
			h.life = s.end
		}
		if past(from, h.Latest) {
			continue
		}
		ends := to > asked(h.Earliest) // it may be over
		v.holds = append(v.holds, h)
		switch {
		case h.Owner == owner && h.Write == write:
			v.mine, v.mineEnds = len(v.holds)-1, ends
		case h.Owner == owner:
			if v.writes = h.Write; !h.Write {
				v.reads, v.readEnds = true, ends
			} else {
				v.writeEnds = ends
			}
		case write || h.Write:
			v.maybe = true
			v.hindered = v.hindered || !ends
		}
	}
	return v
}

// answer is what the lock says to op; empty: nobody needs it.
func (v rwView) answer(k RWLock, op history.Op) history.Outcome {
	switch op.Kind {
	case history.ReadLock, history.TryRead, history.WriteLock, history.TryWrite:
		if v.mine >= 0 || !v.maybe && (k.Upgrades || !(v.write && v.reads)) {
			return history.Acquired
		}
		if k.RefusesUpgrade && v.write && v.reads {
			return history.Rejected
		}
		return history.Busy
	case history.ReadUnlock, history.WriteUnlock:
		switch {
		case v.mine < 0:
			return history.NotHeld
		case v.holds[v.mine].Count > 1 && !(k.Redisson && !v.write && !v.stays()):
			return history.Decremented
		}
		return history.Released
	case history.RenewRead, history.RenewWrite:
		if v.mine < 0 {
			return history.NotHeld
		}
		return history.Renewed
	case history.ForceRead, history.ForceWrite:
		if frees, _ := v.frees(k); !frees {
			return history.NotHeld
		}
		return history.Released
	}
	return ""
}

// allows returns the rule that the answer of op breaks.
func (k RWLock) allows(v rwView, op history.Op) contract.Rule {
	mine := v.mine >= 0
	switch op.Kind {
	case history.ReadLock, history.TryRead, history.WriteLock, history.TryWrite:
		upgrade := v.write && v.reads
		switch {
		case op.Outcome == history.Acquired && mine:
		case op.Outcome == history.Acquired && (v.hindered || upgrade && !v.readEnds && !k.Upgrades):
			if v.write {
				return contract.WritersAlone
			}
			return contract.ReadersWithReaders
		case op.Outcome == history.Rejected && (!upgrade || mine && !v.mineEnds):
			return contract.UpgradeOfAReader
		case op.Outcome == history.Busy && k.Mutex && (mine || v.reads || v.writes): // its own hold is in the way
		case op.Outcome == history.Busy && k.RefusesUpgrade && upgrade && !mine && !v.readEnds: // whoever else reads, it would wait for itself
			return contract.UpgradeIsRefused
		case op.Outcome == history.Busy && (mine && !v.mineEnds || !v.maybe && (!upgrade || k.RefusesUpgrade)):
			return contract.SharedIsBusy
		}
	case history.ReadUnlock, history.WriteUnlock:
		switch {
		case op.Outcome == history.NotHeld && mine && !v.mineEnds:
			return contract.SharedNotRefused
		case op.Outcome == history.NotHeld:
		case !mine:
			return contract.SharedIsHeld
		case k.Redisson && !v.write:
			released, goes, stays := op.Outcome == history.Released, v.goes(), v.stays()
			if last := v.holds[v.mine].Count == 1; !k.LastReader && last {
				goes, stays = true, false // it answers for the owner, who has none left
			}
			if released && !goes || !released && !stays {
				return contract.SharedIsReleased
			}
		case op.Outcome == history.Released && v.holds[v.mine].fewest() > 1, op.Outcome != history.Released && v.holds[v.mine].Count == 1:
			return contract.SharedIsReleased
		}
	case history.RenewRead, history.RenewWrite:
		switch {
		case op.Outcome == history.Renewed && !mine:
			return contract.SharedIsHeld
		case op.Outcome == history.NotHeld && mine && !v.mineEnds:
			return contract.SharedNotRefused
		}
	case history.ForceRead, history.ForceWrite:
		if frees, surely := v.frees(k); op.Outcome == history.Released && !frees || op.Outcome == history.NotHeld && surely {
			return contract.ForceTellsTruth
		}
	case history.ReadCount, history.WriteCount:
		count := int64(0)
		if mine {
			count = v.holds[v.mine].Count
		}
		fewest := count
		if mine {
			fewest = v.holds[v.mine].fewest()
		}
		if (op.Value < fewest || op.Value > count) && !(op.Value == 0 && v.mineEnds) {
			return contract.SharedTellsTruth
		}
	}
	return ""
}

// frees reports whether a forced release frees anybody, or does so for certain. Redisson's asks what the key is: one that is written
// it does not free from its readers.
func (v rwView) frees(k RWLock) (frees, surely bool) {
	for _, h := range v.holds {
		if k.Redisson && h.Write && !v.write {
			return false, false
		}
		if h.Write == v.write {
			frees, surely = true, surely || v.to <= asked(h.Earliest)
		}
	}
	return frees, surely
}

// forced is the state that a forced release leaves. Redisson's deletes the key.
func (v rwView) forced(k RWLock, op history.Op) RWState {
	kept := v.holds[:0:0]
	for _, h := range v.holds {
		if op.Outcome != history.Released || h.Write != v.write && !k.Redisson {
			kept = append(kept, h)
		}
	}
	v.holds = kept
	if k.Redisson {
		return v.state()
	}
	return rwState(v.holds)
}

// after is the state that op leaves.
func (v rwView) after(k RWLock, op history.Op) RWState {
	switch op.Outcome {
	case history.Acquired:
		kept := v.holds[:0:0]
		count, fewest, lease := int64(0), int64(0), lasting(op)
		for i, h := range v.holds {
			switch {
			case i == v.mine:
				if count = h.Count; v.mineEnds { // it is taken anew, if that is over
					fewest = 1
				} else if h.Fewest > 0 {
					fewest = h.Fewest + 1
				}
				if op.Fresh > 0 && op.Evidence == history.NoEvidence { // it shortens nothing, and perhaps lengthens nothing
					lease.Earliest = later(v.from, op.Fresh)
				}
				if !v.mineEnds && !k.Shortens {
					lease.Earliest = max(lease.Earliest, h.Earliest)
				}
				lease.Latest = max(lease.Latest, h.Latest)
			case h.Owner != op.Owner && (v.write || h.Write), v.mine < 0 && v.write && !k.Upgrades:
				// That is over, or this would not have been granted.
			default:
				kept = append(kept, h)
			}
		}
		return rwState(append(kept, RWHold{Owner: op.Owner, Write: v.write, Count: count + 1, Fewest: fewest, life: lease}))
	case history.Decremented, history.Released:
		if h := &v.holds[v.mine]; op.Outcome == history.Decremented {
			last := h.Fewest == 1 && op.Pending() // it was the last, or was not
			if h.Count--; h.Count == 1 || h.Fewest == 0 {
				h.Fewest = 0
			} else {
				h.Fewest = max(h.Fewest-1, 1)
			}
			if op.Lease > 0 {
				h.life = lasting(op)
			}
			if last {
				h.Earliest = 0
			}
		} else {
			v.holds = slices.Delete(v.holds, v.mine, v.mine+1)
		}
	case history.NotHeld:
		if v.mine >= 0 {
			v.holds = slices.Delete(v.holds, v.mine, v.mine+1)
		}
	case history.Renewed:
		h := &v.holds[v.mine]
		lease := lasting(op)
		if h.Earliest == Never {
			h.Earliest = lease.Earliest
		}
		h.life = life{max(h.Earliest, lease.Earliest), max(h.Latest, lease.Latest)}
	}
	return rwState(v.holds)
}

// Environment returns the state after something that is no operation, or a [Violation]. An [history.Expire]
// is that of the lock's key: no lease may last beyond it. One with an Owner, a writer's by [history.WriterOf], is that of this
// owner's hold alone.
func (k RWLock) Environment(s RWState, e history.Event) (RWState, error) {
	holds := s.Holds()
	if e.Kind == history.Expire && len(holds) == 0 {
		return s, &Violation{Rule: contract.ExpiryOfAHold, State: s, Event: e}
	}
	if k.Redisson && len(holds) > 0 {
		return k.befalls(s, e)
	}
	kept := holds[:0:0]
	for _, h := range holds {
		if e.Owner != "" && e.Owner != h.name() {
			kept = append(kept, h)
			continue
		}
		next, gone, rule := h.environment(e)
		if rule != "" {
			return s, &Violation{Rule: rule, State: s, Event: e}
		}
		if h.life = next; !gone {
			kept = append(kept, h)
		}
	}
	return rwState(kept), nil
}
