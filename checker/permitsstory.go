package checker

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
)

// permits tells what callers did with a semaphore, and what became of it on the server.
func (t *teller) permits(l *lockFacts) {
	free := map[*history.Op]string{} // how many are free after the first effect of each
	for i := range l.acts {
		a := &l.acts[i]
		if a.op == nil {
			continue
		}
		left := ""
		if a.after != nil {
			left = fmt.Sprintf("; %s free", Thousands(a.after.Number()))
		}
		if t.leaves(a.op.Client, l.name, a.op.Owner, a.at) {
			continue
		}
		owners := []string{a.op.Owner}
		switch {
		case a.again:
			t.add(a.at, "server", Key, scoreKey, l.name, owners, "the %s of %s, %s, takes effect once more%s", a.op.Kind, a.op.Owner, permits(a.op.Value), left)
		case a.op.Aside && a.op.Kind == history.ReleasePermits:
			t.add(a.at, a.op.Client, Key, scoreKey, l.name, owners, "gives %s of %s by itself%s", permits(a.op.Value), l.name, left)
		case a.op.Aside:
			t.add(a.at, a.op.Client, Key, scoreKey, l.name, owners, "does %s of %s on %s by itself%s", a.op.Kind, permits(a.op.Value), l.name, left)
		default:
			free[a.op] = left
		}
	}
	for _, op := range l.ops {
		if op.Aside || t.leaves(op.Client, l.name, op.Owner, op.Call) {
			continue
		}
		t.permitCall(l, op, free[op])
	}
	for _, e := range l.events {
		switch e.Kind {
		case history.Delete, history.Expire:
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "the key of %s is gone", l.name)
		case history.Restore:
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "has %s of %s free again, as the replica knew it", permits(e.Count), l.name)
		default:
			t.environment(e)
		}
	}
}

func (t *teller) permitCall(l *lockFacts, op *history.Op, left string) {
	owners := []string{op.Owner}
	tell := func(weight Weight, score int, format string, args ...any) {
		at, ok := took(op)
		if !ok || op.Outcome == history.Busy {
			at = max(op.Call, op.Return)
		}
		t.add(at, op.Owner, weight, score, l.name, owners, format, args...)
	}
	if callsFor(op) && op.Outcome != history.Busy && waits(op) > t.f.prompt() {
		t.add(op.Call, op.Owner, Plain, scoreOrdinary, l.name, owners, "asks for %s of %s and has to wait", permits(op.Value), l.name)
	}
	switch {
	case op.Uncertain():
		if !op.Pending() {
			t.add(op.Return, op.Owner, Key, scoreKey, l.name, owners, "does not learn what became of its %s of %s", op.Kind, permits(op.Value))
		}
		if op.Evidence == history.Executed && effective(op, op.Answer) {
			t.add(op.Executed, "server", Key, scoreKey, l.name, owners, "the %s of %s, %s, takes effect%s", op.Kind, op.Owner, permits(op.Value), left)
		}
	case op.Kind.Sets() && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "makes %s, of %s", l.name, permits(op.Value))
	case op.Kind.Adds() && op.Outcome == history.OK && op.Value < 0:
		tell(Plain, scoreOrdinary, "takes %s of %s away%s", permits(-op.Value), l.name, left)
	case op.Kind.Adds() && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "adds %s to %s%s", permits(op.Value), l.name, left)
	case op.Kind == history.DrainPermits && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "takes all that is free of %s: %s", l.name, permits(op.Value))
	case op.Kind.Asks() && op.Outcome == history.Acquired:
		waited := ""
		if w := waits(op); w > t.f.prompt() {
			waited = ", having waited " + short(w)
		}
		tell(Plain, scoreOrdinary, "gets %s of %s%s%s", permits(op.Value), l.name, waited, left)
	case op.Kind.Asks() && op.Outcome == history.Busy:
		tell(Plain, scoreOrdinary, "gives up on %s of %s after %s: fewer are free", permits(op.Value), l.name, short(op.Return-op.Call))
	case op.Kind == history.ReleasePermits && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "gives %s of %s%s", permits(op.Value), l.name, left)
	default:
		tell(Key, scoreKey, "is told %s of its %s of %s", op.Outcome, op.Kind, permits(op.Value))
	}
}
