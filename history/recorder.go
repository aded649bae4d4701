package history

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Recorder collects a history while a run goes on. It refuses misuse by panicking with a
// [MisuseError], since recording nonsense would be worse: a second call of an owner before the
// first returned, a return of an unknown or finished call, an outcome that the operation cannot
// have. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	now     func() time.Duration
	sink    func(record any)
	h       History
	index   map[int64]int    // op id -> position in h.Ops
	calling map[string]int64 // owner -> its call in progress
	nextID  int64
}

// MisuseError says how a recorder was misused. It is a bug in the harness or in an adapter, never
// in the lock under test.
type MisuseError struct{ What string }

func (e *MisuseError) Error() string { return "history: " + e.What }

// NewRecorder starts a history. now tells the time since the start of the run. sink, if not nil,
// is called with every record ([Header], [Op], [Event], [Fault], [Served] or [End], by value) as
// it becomes known; an Op is given at its call and again whenever more is known, the last one
// counts. It is called with the recorder's lock held: it must not call back.
func NewRecorder(h Header, now func() time.Duration, sink func(record any)) *Recorder {
	if sink == nil {
		sink = func(any) {}
	}
	h.Version = Version
	r := &Recorder{now: now, sink: sink, index: map[int64]int{}, calling: map[string]int64{}}
	r.h.Header = h
	sink(h)
	return r
}

// Call records the invocation op and returns its id. Call time and id are set by the recorder.
func (r *Recorder) Call(op Op) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !op.Kind.Valid() {
		panic(&MisuseError{fmt.Sprintf("unknown operation %q", op.Kind)})
	}
	if id, busy := r.calling[op.Owner]; busy {
		panic(&MisuseError{fmt.Sprintf("owner %s calls %s while its call %d has not returned", op.Owner, op.Kind, id)})
	}
	op.Call = r.now()
	id := r.add(op)
	r.calling[op.Owner] = id
	return id
}

// Add records a whole operation that is no call of a program, such as a watchdog's renewal seen on
// the wire. The recorder sets only the id.
func (r *Recorder) Add(op Op) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.add(op)
}

func (r *Recorder) add(op Op) int64 {
	r.nextID++
	op.ID = r.nextID
	r.index[op.ID] = len(r.h.Ops)
	r.h.Ops = append(r.h.Ops, op)
	r.sink(op)
	return op.ID
}

// Return records the completion of call id: what the client was told.
func (r *Recorder) Return(id int64, out Outcome, value, token int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op := r.at(id)
	if !op.Pending() {
		panic(&MisuseError{fmt.Sprintf("call %d returns twice", id)})
	}
	if !op.Kind.Allows(out) {
		panic(&MisuseError{fmt.Sprintf("%s cannot be answered %q", op.Kind, out)})
	}
	if op.Kind.Object().Counted() && op.Kind != DrainPermits {
		value = op.Value // what it asked for: no answer changes that
	}
	op.Return, op.Outcome, op.Value, op.Token = r.now(), out, value, token
	if err != nil {
		op.Error = err.Error()
	}
	delete(r.calling, op.Owner)
	r.sink(*op)
}

// Amend changes what is known of operation id: evidence that came to light.
func (r *Recorder) Amend(id int64, change func(*Op)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op := r.at(id)
	change(op)
	r.sink(*op)
}

// Op returns a copy of operation id.
func (r *Recorder) Op(id int64) Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.at(id)
}

func (r *Recorder) at(id int64) *Op {
	i, ok := r.index[id]
	if !ok {
		panic(&MisuseError{fmt.Sprintf("no call %d", id)})
	}
	return &r.h.Ops[i]
}

// Event records an event; its time is now unless it carries one.
func (r *Recorder) Event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.At == 0 {
		e.At = r.now()
	}
	r.h.Events = append(r.h.Events, e)
	r.sink(e)
}

// Begin gives the sink a fault that begins to last, so that a run that is killed leaves it: a fault without an end.
// [Recorder.Fault] records it when it is over.
func (r *Recorder) Begin(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.To = 0
	r.sink(f)
}

// Fault records a fault with the times that came true; call it when the fault is over, or at the
// end of the run. One that is its beginning again, with its end, takes that one's place when it is read.
func (r *Recorder) Fault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Faults = append(r.h.Faults, f)
	r.sink(f)
}

// Served records a command of the server log, in execution order.
func (r *Recorder) Served(s Served) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Served = append(r.h.Served, s)
	r.sink(s)
}

// Close ends the history and returns it, with its operations in order of their calls: what the
// lock did by itself is often recorded only when it is over. The recorder must not be used
// afterwards.
func (r *Recorder) Close(e End) *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.At == 0 {
		e.At = r.now()
	}
	r.h.End = &e
	r.sink(e)
	h := r.h
	h.Ops = inOrder(slices.Clone(h.Ops))
	return &h
}
