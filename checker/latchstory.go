package checker

import (
	"fmt"

	"github.com/holdfast-sim/holdfast/history"
)

// latch tells what callers did with a latch, and what became of it on the server.
func (t *teller) latch(l *lockFacts) {
	left := map[*history.Op]string{} // the count after the first effect of each
	for i := range l.acts {
		a := &l.acts[i]
		if a.op == nil || a.op.Kind.Awaits() || t.leaves(a.op.Client, l.name, a.op.Owner, a.at) {
			continue
		}
		is := ""
		if a.after != nil {
			is = fmt.Sprintf("; the count is %s", Thousands(a.after.Number()))
		}
		owners := []string{a.op.Owner}
		switch {
		case a.again:
			t.add(a.at, "server", Key, scoreKey, l.name, owners, "the %s of %s takes effect once more%s", a.op.Kind, a.op.Owner, is)
		case a.op.Aside:
			t.add(a.at, a.op.Client, Key, scoreKey, l.name, owners, "does the %s of %s by itself%s", a.op.Kind, l.name, is)
		default:
			left[a.op] = is
		}
	}
	for _, op := range l.ops {
		if !op.Aside && !t.leaves(op.Client, l.name, op.Owner, op.Call) {
			t.latchCall(l, op, left[op])
		}
	}
	for _, e := range l.events {
		switch e.Kind {
		case history.Delete, history.Expire:
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "the key of %s is gone", l.name)
		case history.Restore:
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "has a count of %s of %s again, as the replica knew it", Thousands(e.Count), l.name)
		default:
			t.environment(e)
		}
	}
}

func (t *teller) latchCall(l *lockFacts, op *history.Op, is string) {
	tell := func(weight Weight, score int, format string, args ...any) {
		at, ok := took(op)
		if !ok || op.Kind.Awaits() {
			at = max(op.Call, op.Return)
		}
		t.add(at, op.Owner, weight, score, l.name, []string{op.Owner}, format, args...)
	}
	if callsFor(op) && op.Outcome != history.Busy && waits(op) > t.f.prompt() {
		t.add(op.Call, op.Owner, Plain, scoreOrdinary, l.name, []string{op.Owner}, "awaits %s", l.name)
	}
	switch {
	case op.Uncertain() && op.Kind.Awaits():
	case op.Uncertain():
		if !op.Pending() {
			t.add(op.Return, op.Owner, Key, scoreKey, l.name, []string{op.Owner}, "does not learn what became of its %s", op.Kind)
		}
		if op.Evidence == history.Executed && effective(op, op.Answer) {
			t.add(op.Executed, "server", Key, scoreKey, l.name, []string{op.Owner}, "the %s of %s takes effect%s", op.Kind, op.Owner, is)
		}
	case op.Kind == history.TrySetCount && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "sets %s to %s", l.name, Thousands(op.Value))
	case op.Kind == history.DeleteLatch && op.Outcome == history.Released:
		tell(Key, scoreKey, "deletes %s", l.name)
	case op.Kind == history.CountDown && op.Outcome == history.OK:
		tell(Plain, scoreOrdinary, "counts %s down%s", l.name, is)
	case passes(op):
		waited := ""
		if w := waits(op); w > t.f.prompt() {
			waited = ", having waited " + short(w)
		}
		tell(Plain, scoreOrdinary, "passes %s%s", l.name, waited)
	case op.Kind.Awaits() && op.Outcome == history.Busy:
		tell(Plain, scoreOrdinary, "gives up on %s after %s: its count is not 0", l.name, short(op.Return-op.Call))
	default:
		tell(Key, scoreKey, "is told %s of its %s of %s", op.Outcome, op.Kind, l.name)
	}
}
