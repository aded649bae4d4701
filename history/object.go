package history

import "fmt"

// Object is a kind of object that clients share. Each has operations of its own.
type Object string

// The kinds of objects that are judged.
const (
	ALock      Object = "lock"
	ASemaphore Object = "semaphore"
)

// Object is the kind of object that an operation is on; the resource is a part of its lock.
func (k Kind) Object() Object {
	switch k {
	case TrySetPermits, AcquirePermits, TryAcquirePermits, ReleasePermits:
		return ASemaphore
	}
	return ALock
}

// Asks reports whether the operation asks for what others may have: it may be refused, or wait.
func (k Kind) Asks() bool {
	return k.Acquires() || k == AcquirePermits || k == TryAcquirePermits
}

// Tries reports whether the operation asks, and waits at most Op.Wait.
func (k Kind) Tries() bool { return k == TryLock || k == TryAcquirePermits }

// Gives reports whether the operation gives back what one that asks has taken.
func (k Kind) Gives() bool { return k == Unlock || k == ReleasePermits }

// MaxPermits is the largest number of permits of one call: what Redisson can represent.
const MaxPermits = 1<<31 - 1

// Objects tells of each name in a history which kind of object it is. A name that no operation has is a lock's.
func (h *History) Objects() map[string]Object {
	all := map[string]Object{}
	for i := range h.Ops {
		all[h.Ops[i].Lock] = h.Ops[i].Kind.Object()
	}
	return all
}

// Mixed says which name stands for two kinds of objects, or "".
func (h *History) Mixed() string {
	_, what := h.mixed()
	return what
}

// mixed also says by which operation that shows.
func (h *History) mixed() (i int, what string) {
	all := map[string]Object{}
	for i := range h.Ops {
		op := &h.Ops[i]
		before, known := all[op.Lock]
		if all[op.Lock] = op.Kind.Object(); known && before != op.Kind.Object() {
			return i, fmt.Sprintf("op %d: %s of %s, which is a %s; a name stands for one object", op.ID, op.Kind, op.Lock, before)
		}
	}
	return 0, ""
}

// Unanswered is the operation as it was before its caller was told anything.
func (o Op) Unanswered() Op {
	o.Return, o.Outcome, o.Token, o.Error = 0, "", 0, ""
	if o.Kind.Object() == ALock {
		o.Value = 0 // that of permits is no answer
	}
	return o
}
