package checker

import (
	"cmp"
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
)

// leases tells what callers did with a permit semaphore, and what became of it on the server.
func (t *teller) leases(l *lockFacts) {
	free := map[*history.Op]string{} // how many are free after the first effect of each
	for i := range l.acts {
		a := &l.acts[i]
		if a.op == nil || t.leaves(a.op.Client, l.name, a.op.Owner, a.at) {
			continue
		}
		left := ""
		if a.after != nil {
			left = fmt.Sprintf("; %s free", Thousands(a.after.NumberAt(a.at)))
		}
		owners := []string{a.op.Owner}
		switch {
		case a.again:
			t.add(a.at, "server", Key, scoreKey, l.name, owners, "the %s of %s takes effect once more%s", a.op.Kind, a.op.Owner, left)
		case a.op.Aside && a.op.Kind == history.ReleasePermit:
			t.add(a.at, a.op.Client, Key, scoreKey, l.name, owners, "gives permit %d of %s by itself%s", a.op.Token, l.name, left)
		case a.op.Aside:
			t.add(a.at, a.op.Client, Key, scoreKey, l.name, owners, "does %s of permit %d of %s by itself%s", a.op.Kind, a.op.Token, l.name, left)
		default:
			free[a.op] = left
		}
	}
	for _, op := range l.ops {
		if op.Aside || t.leaves(op.Client, l.name, op.Owner, op.Call) {
			continue
		}
		if op.Kind.Sets() || op.Kind.Adds() {
			t.permitCall(l, op, free[op])
			continue
		}
		t.leaseCall(l, op, free[op])
	}
	for _, e := range l.events {
		switch {
		case e.Kind != history.Delete && e.Kind != history.Expire:
			t.environment(e)
		case e.Count > 0:
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "the number of free permits of %s is gone, and %s stay out", l.name, permits(e.Count))
		default:
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "the key of %s is gone", l.name)
		}
	}
}

func (t *teller) leaseCall(l *lockFacts, op *history.Op, left string) {
	owners := []string{op.Owner}
	tell := func(weight Weight, score int, format string, args ...any) {
		at, ok := took(op)
		if !ok || op.Outcome == history.Busy {
			at = max(op.Call, op.Return)
		}
		t.add(at, op.Owner, weight, score, l.name, owners, format, args...)
	}
	if callsFor(op) && op.Outcome != history.Busy && waits(op) > t.f.prompt() {
		t.add(op.Call, op.Owner, Plain, scoreOrdinary, l.name, owners, "asks for a permit of %s and has to wait", l.name)
	}
	lease := ""
	if asked := cmp.Or(op.Asked, op.Lease); asked > 0 {
		lease = " for " + short(asked)
	}
	switch {
	case op.Uncertain():
		if !op.Pending() {
			t.add(op.Return, op.Owner, Key, scoreKey, l.name, owners, "does not learn what became of its %s", op.Kind)
		}
		if op.Evidence == history.Executed && effective(op, op.Answer) {
			t.add(op.Executed, "server", Key, scoreKey, l.name, owners, "the %s of %s, permit %d, takes effect%s", op.Kind, op.Owner, op.Token, left)
		}
	case op.Kind.Asks() && op.Outcome == history.Acquired:
		waited := ""
		if w := waits(op); w > t.f.prompt() {
			waited = ", having waited " + short(w)
		}
		tell(Plain, scoreOrdinary, "gets permit %d of %s%s%s%s", op.Token, l.name, lease, waited, left)
	case op.Kind.Asks() && op.Outcome == history.Busy:
		tell(Plain, scoreOrdinary, "gives up on a permit of %s after %s: none is free", l.name, short(op.Return-op.Call))
	case op.Kind == history.ReleasePermit && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "gives permit %d of %s%s", op.Token, l.name, left)
	case op.Kind == history.UpdateLease && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "has its permit %d of %s%s from now", op.Token, l.name, lease)
	default:
		tell(Key, scoreKey, "is told %s of its %s of permit %d", op.Outcome, op.Kind, op.Token)
	}
}
