package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// probed is the lock of the probe: its keys have this in their names, and nothing else has.
const probed = "holdfast:probe"

// Probe learns how a lock is kept in Redis, before it is judged: it watches two owners, each on a fresh server, that
// lock, lock again if they can, wait for a renewal, and give back. Of a lock whose owners exclude each other within their process it watches two of
// one client. An error is that of the run. If the lock cannot be
// read, the layout says why. Where a fair lock's queue is, the subject says. An object of another kind must be kept as Redisson keeps
// it; that it is not is an [UnreadError]. Of a read-write lock it learns besides which commands renew a lease. Of
// all it learns by what it is told to which call a command belongs.
func Probe(b *bubble.Bubbles, s subjects.Subject, o Options) (history.Layout, error) {
	noContext, direct, err := whose(b, s, o)
	if err != nil {
		return history.Layout{}, err
	}
	s.Layout.NoContext, s.Layout.Direct = noContext, direct
	probe := probeLock
	if cmp.Or(s.Object, history.ALock) != history.ALock {
		probe = probeObject
	}
	l, err := probe(b, s, o)
	l.NoContext, l.Direct = noContext, direct
	return l, err
}

func probeLock(b *bubble.Bubbles, s subjects.Subject, o Options) (history.Layout, error) {
	said := s.Layout
	s.Layout = history.Layout{Unknown: "it is being probed", NoContext: said.NoContext, Direct: said.Direct}
	var seen []*watched
	for _, client := range []string{"c1", "c2"} {
		w, err := watch(b, probePlan(s, client), s, o)
		if err != nil {
			return history.Layout{}, err
		}
		seen = append(seen, w)
	}
	layout := learn(seen[0], seen[1])
	if layout.Unknown == "" && s.Can(string(contract.LocalHolds)) {
		w, err := watch(b, turns(), s, o)
		if err != nil {
			return history.Layout{}, err
		}
		if w.oneForAll(layout) {
			layout = history.Layout{Key: layout.Key, Keys: layout.Keys, Roles: layout.Roles, Anew: layout.Anew, Unknown: "what its keys say of its holder is the same for all owners of a client"}
		}
	}
	if layout.Unknown == "" && layout.Margin > time.Second {
		w, err := watch(b, outlived(layout.Margin, !s.Can("watchdog"), s), s, o)
		if err != nil {
			return history.Layout{}, err
		}
		if w.takenEarly(layout) {
			layout = history.Layout{Key: layout.Key, Keys: layout.Keys, Roles: layout.Roles, Anew: layout.Anew, Unknown: staysLonger(layout.KeyOf(probed))}
		}
	}
	layout.Queue, layout.QueuePrefix = said.Queue, said.QueuePrefix
	return layout, nil
}

// staysLonger says of a lock that its key says nothing of its leases by its end.
func staysLonger(key string) string {
	return "its key " + key + " says itself when its lease ends, and stays for longer"
}

// outlived is a plan in which one client keeps a lock for longer than its lease, its own if so asked, and another comes when the lease is over, and
// the key, which lives for longer by a margin, is still there.
func outlived(margin time.Duration, own bool, s subjects.Subject) *plan.Plan {
	keeps := plan.Step{Do: plan.Lock, Lock: probed, Lease: plan.Duration(anotherLease)}
	ends := anotherLease
	if own {
		keeps.Lease, ends = 0, time.Duration(timings(&plan.Plan{}, s).Watchdog)
	}
	comesAt := ends + min(margin/2, time.Minute)
	p := slow("c1", []plan.Step{keeps, {Do: plan.Sleep, For: plan.Duration(comesAt + time.Second)}})
	comes := plan.Thread{ID: 1, Start: plan.Duration(comesAt), Steps: []plan.Step{{Do: plan.TryLock, Lock: probed}, {Do: plan.Unlock, Lock: probed}}}
	p.Clients = append(p.Clients, plan.Client{Name: "c2", Threads: []plan.Thread{comes}})
	return p
}

// takenEarly reports whether the second client was granted the lock before the key of the first would have ended.
func (w *watched) takenEarly(l history.Layout) bool {
	var first history.Op
	for _, op := range w.h.Ops {
		switch {
		case op.Kind == history.Lock && op.Client == "c1" && op.Outcome == history.Acquired:
			first = op
		case op.Kind == history.TryLock && op.Client == "c2" && op.Outcome == history.Acquired && first.ID != 0:
			return op.Return < w.at(first.Return)[l.KeyOf(probed)].Deadline
		}
	}
	return false
}

func probePlan(s subjects.Subject, client string) *plan.Plan {
	do := func(what plan.Action, d time.Duration) plan.Step {
		return plan.Step{Do: what, Lock: probed, For: plan.Duration(d)}
	}
	steps := []plan.Step{do(plan.Lock, 0), do(plan.Work, time.Second)}
	if s.Can("reentrant") {
		steps = append(steps, do(plan.Lock, 0), do(plan.Work, time.Second), do(plan.Unlock, 0), do(plan.Work, time.Second))
	}
	if s.Can("watchdog") {
		p := timings(&plan.Plan{}, s)
		steps = append(steps, do(plan.Work, 2*s.Renews(time.Duration(p.Watchdog))+time.Second))
	}
	steps = append(steps, do(plan.Unlock, 0), do(plan.Work, time.Second))
	again := do(plan.Lock, 0)
	again.Lease = plan.Duration(anotherLease)
	steps = append(steps, again, do(plan.Work, time.Second))
	if !s.Can("reentrant") {
		again.Do = plan.TryLock // what it has
		steps = append(steps, again, do(plan.Work, time.Second))
	}
	return slow(client, append(steps, do(plan.Unlock, 0)))
}

// turns is a plan of two owners of one client, one after the other.
func turns() *plan.Plan {
	steps := []plan.Step{{Do: plan.Lock, Lock: probed}, {Do: plan.Work, Lock: probed, For: plan.Duration(time.Second)}, {Do: plan.Unlock, Lock: probed}}
	p := slow("c1", steps)
	p.Clients[0].Threads = append(p.Clients[0].Threads, plan.Thread{ID: 2, Start: plan.Duration(time.Minute), Steps: steps})
	return p
}

// oneForAll reports whether a lock's keys say the same of its holder whichever owner of a client that is.
func (w *watched) oneForAll(l history.Layout) bool {
	said := map[string]bool{}
	for _, op := range w.calls(history.Lock) {
		if op.Outcome != history.Acquired {
			return false
		}
		said[saysOf(w.at(op.Return), l.KeyOf(probed), l.Holder)] = true
	}
	return len(said) == 1
}

// slow is a plan of one client.
func slow(client string, steps []plan.Step) *plan.Plan {
	p := &plan.Plan{Version: plan.Version, Name: "probe", Clients: []plan.Client{{Name: client, Threads: []plan.Thread{{ID: 1, Steps: steps}}}}}
	// So slow that it shows whether a lease is counted from the call.
	p.Timings.LatencyMin, p.Timings.LatencyMax = plan.Duration(50*time.Millisecond), plan.Duration(50*time.Millisecond)
	return p
}

// anotherLease is asked for in the end, to see what a lock makes of leases.
const anotherLease = 17 * time.Second

// watched is a run of the probe.
type watched struct {
	h   *history.History
	all []world.Observation
}

// watch runs a plan, and watches the keys.
func watch(b *bubble.Bubbles, p *plan.Plan, s subjects.Subject, o Options) (*watched, error) {
	w := &watched{}
	var err error
	w.h, err = run1(b, p, s, o, func(o world.Observation) { w.all = append(w.all, o) })
	return w, err
}

// calls are those of the probe's owner of a kind, without what asks for another lease.
func (w *watched) calls(kind history.Kind) []history.Op {
	var all []history.Op
	again, asked := w.again()
	for _, op := range w.h.Ops {
		if op.Kind == kind && op.Client != history.Fresh && !(asked && op.Call >= again.Call) {
			all = append(all, op)
		}
	}
	return all
}

// again is the call that asks for another lease, which is the last.
func (w *watched) again() (again history.Op, asked bool) {
	first := true
	for _, op := range w.h.Ops {
		if op.Kind != history.Lock || op.Client == history.Fresh {
			continue
		}
		again, asked, first = op, !first && op.Lease == anotherLease, false
	}
	return again, asked
}

// at are the keys at a time.
func (w *watched) at(t time.Duration) map[string]world.Value {
	var keys map[string]world.Value
	for _, o := range w.all {
		if o.At <= t {
			keys = o.Keys
		}
	}
	return keys
}

// template is a key's name with * for the lock's.
func template(key string) string { return strings.ReplaceAll(key, probed, "*") }

// NoKey says of a lock that the names of its keys do not show which they are.
const NoKey = "no key with the lock's name in its own comes with a hold and goes with it"

// learn concludes how a lock is kept from two owners' runs.
func learn(one, two *watched) history.Layout {
	unknown := func(why string) history.Layout { return history.Layout{Unknown: why, Anew: one.regranted()} }
	locks, unlocks := one.calls(history.Lock), one.calls(history.Unlock)
	if len(locks) == 0 || len(unlocks) == 0 || locks[0].Outcome != history.Acquired || len(two.calls(history.Lock)) == 0 {
		return unknown("a client alone does not get it and give it back")
	}
	first, last := locks[0], unlocks[len(unlocks)-1]
	held, other, free := one.at(first.Return), two.at(two.calls(history.Lock)[0].Return), one.at(last.Return)
	var keys, owned []string // owned: another owner has others
	for _, key := range slices.Sorted(maps.Keys(held)) {
		_, stays := free[key]
		_, shared := other[key]
		switch {
		case stays || !strings.Contains(key, probed):
		case shared:
			keys = append(keys, key)
		default:
			owned = append(owned, key)
		}
	}
	// The lock's is the one that lives as long as its lease, rather than one that is only to go some day.
	outlives := func(key string) int {
		if held[key].Deadline > first.Return+first.Lease+time.Second {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Or(outlives(a)-outlives(b), len(a)-len(b)) })
	if len(keys) == 0 {
		return unknown(NoKey)
	}
	key := keys[0]
	l := history.Layout{Key: template(key)}
	for _, k := range keys[1:] {
		l.Keys = append(l.Keys, template(k))
	}
	if l.Key == "*" {
		l.Key = ""
	}
	unknown = func(why string) history.Layout { // but which commands are the lock's is known
		return history.Layout{Unknown: why, Key: l.Key, Keys: l.Keys, Roles: one.roles(l), Anew: one.regranted()}
	}
	switch v := held[key]; {
	case v.Deadline == 0:
		return unknown("its key " + key + " has no time to live")
	case v.Kind != "string" && v.Kind != "hash":
		return unknown("its key " + key + " is a " + v.Kind + ", in which nobody can read its holder")
	case v.Deadline > first.Return+first.Lease+time.Second && one.renewsWithin(key):
		return unknown(staysLonger(key))
	}
	stays := func(p history.Place) bool { return one.stays(key, p, first, last) }
	l.Holder = holderIn(keys, held, other, stays)
	switch {
	case l.Holder == history.Place{} && len(held[key].Fields) > 1:
		return unknown("its key " + key + " has several fields, and none is known to be its holder's")
	case !stays(l.Holder):
		return unknown("what its keys say of its holder changes while he holds it")
	}
	if len(locks) > 1 && locks[1].Outcome == history.Acquired {
		again := one.at(locks[1].Return)
		var ok bool
		if l.Count, ok = countIn(l, keys, held, again); !ok {
			l.Count, ok = countOfOwner(owned, saysOf(held, key, l.Holder), held, again)
		}
		if !ok && len(owned) > 0 {
			return unknown("its key " + owned[0] + " has a name of its holder's own, and nothing else counts how often he holds it")
		} else if !ok {
			return unknown("nothing in its keys counts how often its holder holds it")
		}
	}
	l.Absolute = one.absolute(key, first)
	if !l.Absolute {
		l.Margin = one.margin(key, first)
		l.Renewal, l.Absolute = one.renewal(key, first, l.Margin)
	}
	l.Anew, l.Roles = one.anew(l), one.roles(l)
	return l
}

// saysOf is what keys say of the holder of a lock: the value at a place, by default that of the lock's key, or its fields.
func saysOf(keys map[string]world.Value, key string, p history.Place) string {
	switch v := keys[key]; {
	case p != history.Place{}:
		at := p.Of(probed)
		if at.Field != "" {
			return keys[at.Key].Fields[at.Field]
		}
		return keys[at.Key].Text
	case v.Fields != nil:
		return strings.Join(slices.Sorted(maps.Keys(v.Fields)), "\x00")
	default:
		return v.Text
	}
}

// stays reports whether what a place says of a lock's holder stays the same from a grant to the last unlock.
func (w *watched) stays(key string, p history.Place, grant, unlock history.Op) bool {
	at := saysOf(w.at(grant.Return), key, p)
	return !slices.ContainsFunc(w.all, func(o world.Observation) bool {
		_, there := o.Keys[key]
		return there && grant.Return <= o.At && o.At < unlock.Call && saysOf(o.Keys, key, p) != at
	})
}

// renewsWithin reports whether a command of no call changes what a key contains: when its lease ends, it seems.
func (w *watched) renewsWithin(key string) bool {
	var before world.Value
	for _, o := range w.all {
		v := o.Keys[key]
		called := slices.ContainsFunc(w.h.Ops, func(op history.Op) bool { return op.Kind.OnLock() && op.Call <= o.Sent && o.Sent <= op.Return })
		if !called && before.Kind != "" && v.Kind == before.Kind && (v.Text != before.Text || !maps.Equal(v.Fields, before.Fields)) {
			return true
		}
		before = v
	}
	return false
}

// holderIn finds the place that tells one owner from another, and stays as it is, if that is not the default.
func holderIn(keys []string, held, other map[string]world.Value, stays func(history.Place) bool) history.Place {
	for i, key := range keys {
		a, b := held[key], other[key]
		same := slices.Equal(slices.Sorted(maps.Keys(a.Fields)), slices.Sorted(maps.Keys(b.Fields)))
		switch {
		case a.Fields == nil && a.Text != b.Text && i == 0, !same && i == 0:
			return history.Place{}
		case a.Fields == nil && a.Text != b.Text:
			return history.Place{Key: template(key)}
		case same:
			for _, f := range slices.Sorted(maps.Keys(a.Fields)) {
				if p := (history.Place{Key: template(key), Field: f}); a.Fields[f] != b.Fields[f] && stays(p) {
					return p
				}
			}
		}
	}
	return history.Place{} // a value that says nothing: whoever set it last
}

// countIn finds the place that a re-entry counts up, if that is not the default; ok is false if there is none.
func countIn(l history.Layout, keys []string, held, again map[string]world.Value) (p history.Place, ok bool) {
	for i, key := range keys {
		a, b := held[key], again[key]
		if a.Fields == nil && more(a.Text, b.Text) {
			return history.Place{Key: template(key)}, true
		}
		for _, f := range slices.Sorted(maps.Keys(a.Fields)) {
			switch {
			case !more(a.Fields[f], b.Fields[f]):
			case i == 0 && l.Holder == history.Place{} && len(a.Fields) == 1:
				return history.Place{}, true
			default:
				return history.Place{Key: template(key), Field: f}, true
			}
		}
	}
	return p, false
}

// more reports whether a number is one more than another.
func more(a, b string) bool {
	n, err := strconv.ParseInt(a, 10, 64)
	m, err2 := strconv.ParseInt(b, 10, 64)
	return err == nil && err2 == nil && m == n+1
}

// countOfOwner finds the count in a key in whose name is what the lock's keys say of its holder.
func countOfOwner(owned []string, holder string, held, again map[string]world.Value) (p history.Place, ok bool) {
	for _, key := range owned {
		if holder != "" && strings.Contains(key, holder) && !strings.Contains(key, "@") && held[key].Fields == nil && more(held[key].Text, again[key].Text) {
			return history.Place{Key: strings.ReplaceAll(template(key), holder, "@"), Owned: true}, true
		}
	}
	return p, false
}

// absolute reports whether the lease of a grant ends where the client counted it from the call.
func (w *watched) absolute(key string, grant history.Op) bool {
	for _, o := range w.all {
		if v, set := o.Keys[key]; set && o.At >= grant.Call {
			return v.Deadline < o.At+grant.Lease-2*time.Millisecond && v.Deadline >= grant.Call+grant.Lease-2*time.Millisecond
		}
	}
	return false
}

// margin is how much longer than its lease a grant has the key live, whatever lease was asked for.
func (w *watched) margin(key string, first history.Op) time.Duration {
	again, asked := w.again()
	one := w.given(key, first) - first.Lease
	switch {
	case !asked || one < exactly:
		return 0
	case again.Outcome == history.Failed && again.Evidence == history.NotSent: // it has no other lease
		return one
	case again.Outcome != history.Acquired || w.given(key, again)-again.Lease != one:
		return 0
	}
	return one
}

// asksAgain returns the attempt of an owner on what it holds, and how it took that; ok is false if there is none that was granted.
func (w *watched) asksAgain() (held, try history.Op, ok bool) {
	held, asked := w.again()
	i := slices.IndexFunc(w.h.Ops, func(op history.Op) bool { return op.Kind == history.TryLock && op.Client != history.Fresh })
	if !asked || held.Outcome != history.Acquired || i < 0 {
		return held, try, false
	}
	try = w.h.Ops[i]
	return held, try, try.Outcome == history.Acquired && try.Return < held.Call+anotherLease // or else its lease was over
}

// regranted reports whether the owner was granted what it had, whatever the keys say.
func (w *watched) regranted() bool {
	_, _, ok := w.asksAgain()
	return ok
}

// anew reports whether the owner was granted what it had, and its keys then say what they said.
func (w *watched) anew(l history.Layout) bool {
	held, try, ok := w.asksAgain()
	if !ok {
		return false
	}
	before, after := w.at(held.Return), w.at(try.Return)
	return !slices.ContainsFunc(l.KeysOf(probed, saysOf(before, l.KeyOf(probed), l.Holder)), func(key string) bool {
		a, b := before[key], after[key]
		return a.Kind == "" || a.Text != b.Text || !maps.Equal(a.Fields, b.Fields)
	})
}

// given is how long a grant has the key live.
func (w *watched) given(key string, grant history.Op) time.Duration {
	for _, o := range w.all {
		if v, set := o.Keys[key]; set && o.At >= grant.Call {
			return v.Deadline - o.At
		}
	}
	return 0
}

// exactly is how exact deadlines are at the worst.
const exactly = 2 * time.Millisecond

// renewal is the share of its lease that each renewal of a grant sets; 0 if it is not the same each time, or all of it, but for the
// margin. absolute says that it is the lease, which the client counted from when it sent the renewal.
func (w *watched) renewal(key string, grant history.Op, margin time.Duration) (share float64, absolute bool) {
	var before, given time.Duration
	times, same, counted := 0, true, true
	is := func(a, b time.Duration) bool { return a-b < exactly && b-a < exactly }
	for _, o := range w.all {
		v := o.Keys[key]
		called := slices.ContainsFunc(w.h.Ops, func(op history.Op) bool { return op.Kind.OnLock() && op.Call <= o.Sent && o.Sent <= op.Return })
		if !called && before > 0 && v.Deadline > 0 && v.Deadline != before {
			same = same && (times == 0 || given == v.Deadline-o.At)
			given, counted = v.Deadline-o.At, counted && is(v.Deadline-o.Began, grant.Lease)
			times++
		}
		before = v.Deadline
	}
	switch {
	case times < 2, same && (is(given, grant.Lease) || is(given, grant.Lease+margin)):
		return 0, false
	case counted:
		return 0, true
	case !same:
		return 0, false
	}
	if 2*given < grant.Lease || given > 2*grant.Lease { // so little that it is over before one renewal has failed, or far too much: that is held against the lock
		return 0, false
	}
	return float64(given) / float64(grant.Lease), false
}

// roles finds the commands that touch the lock and do not name its keys, and those by which its holder's client renews.
func (w *watched) roles(l history.Layout) map[string]history.Step {
	roles, called := map[string]history.Step{}, map[string]bool{}
	before := map[string]world.Value{}
	for _, o := range w.all {
		shape, touched, named := world.Shape(o.Args), false, false
		for _, key := range l.KeysOf(probed, saysOf(o.Keys, l.KeyOf(probed), l.Holder)) {
			touched = touched || !sameValue(before[key], o.Keys[key])
			named = named || slices.Contains(o.Args, key)
		}
		before = o.Keys
		i := slices.IndexFunc(w.h.Ops, func(op history.Op) bool { return op.Kind.OnLock() && op.Call <= o.Sent && o.Sent <= op.Return })
		switch {
		case strings.EqualFold(o.Args[0], "exec"): // whatever was queued
		case i >= 0:
			called[shape] = true
			if op := w.h.Ops[i]; touched && !named {
				roles[shape] = history.StepRelease
				if op.Kind.Acquires() {
					roles[shape] = history.StepAcquire
				}
			}
		case touched && !called[shape]:
			roles[shape] = history.StepRenew
		}
	}
	for shape, step := range roles {
		if called[shape] && step == history.StepRenew {
			delete(roles, shape)
		}
	}
	return roles
}

func sameValue(a, b world.Value) bool {
	return a.Text == b.Text && a.Deadline == b.Deadline && maps.Equal(a.Fields, b.Fields)
}
