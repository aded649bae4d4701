package model

import (
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// FairState is one fair lock: a lease lock and a queue. The zero value is free. States compare with ==.
type FairState struct {
	Lock  State
	queue string // the owners that wait, each with an end of line
}

// Queue lists the owners that wait, the next one first.
func (s FairState) Queue() []string {
	return slices.Collect(strings.FieldsFuncSeq(s.queue, func(r rune) bool { return r == '\n' }))
}

func (s FairState) with(queue []string) FairState {
	s.queue = ""
	for _, owner := range queue {
		s.queue += owner + "\n"
	}
	return s
}

// String fits after "but".
func (s FairState) String() string {
	if s.queue == "" {
		return "the lock is " + s.Lock.String()
	}
	return "the lock is " + s.Lock.String() + ", waited for by " + strings.Join(s.Queue(), ", ")
}

// Fair says which fair lock is meant. The zero value refuses the unlock of a lock that nobody holds.
type Fair struct {
	Redisson bool // such an unlock is told that it released the lock
}

// Step returns the state after op with its answer, a [Violation], or the [Illegal] error of the lease lock
// ([Step]). Uncertainty is as there. A call that waits is two operations or more: [history.Enqueue] when it
// comes, [history.Grant] when it asks again, and [history.Leave] if it gives up.
func (k Fair) Step(s FairState, op history.Op) (FairState, error) {
	if op.Outcome == history.Failed {
		return s, nil
	}
	queue := s.Queue()
	waits := slices.Contains(queue, op.Owner)
	// Nobody else has waited for longer.
	first := len(queue) == 0 || queue[0] == op.Owner
	mine := s.Lock.Owner == op.Owner && !s.Lock.Free()
	refuse := func(r contract.Rule) (FairState, error) { return s, &Violation{Rule: r, State: s, Op: op} }
	lock := op // as the lease lock has it
	switch op.Kind {
	case history.Leave:
		return s.with(slices.DeleteFunc(queue, func(o string) bool { return o == op.Owner })), nil
	case history.TryLock, history.Enqueue, history.Grant:
		lock.Kind = history.TryLock
		asks := op.Outcome
		if op.Uncertain() {
			asks = either(mine || s.Lock.Free() && first, history.Acquired, history.Busy)
		}
		switch {
		case op.Kind == history.Grant && !waits && !op.Uncertain():
			return refuse(contract.QueuePlace)
		case asks == history.Acquired && !mine && !first:
			return refuse(contract.QueueOrder)
		case asks == history.Acquired:
			next, err := Step(s.Lock, lock)
			if err != nil {
				return s, err
			}
			s.Lock = next
			return s.with(slices.DeleteFunc(queue, func(o string) bool { return o == op.Owner })), nil
		case mine || s.Lock.Free() && first:
			return refuse(contract.QueueBusy)
		}
		if !s.Lock.Free() {
			if _, err := Step(s.Lock, lock); err != nil { // it may be over
				return s, err
			}
		}
		if op.Kind == history.Enqueue && !waits {
			queue = append(queue, op.Owner)
		}
		return s.with(queue), nil
	case history.Unlock:
		if k.Redisson && s.Lock.Free() {
			if !op.Uncertain() && op.Outcome != history.Released {
				return refuse(contract.HolderReleases)
			}
			return s, nil
		}
	}
	next, err := Step(s.Lock, lock)
	if err != nil {
		return s, err
	}
	s.Lock = next
	return s, nil
}

func either(ok bool, yes, no history.Outcome) history.Outcome {
	if ok {
		return yes
	}
	return no
}

// Environment returns the state after something that is no operation: what happens to the lock's key leaves
// the queue alone, and [history.GivenUp] takes an owner from it.
func (k Fair) Environment(s FairState, e history.Event) (FairState, error) {
	if e.Kind == history.GivenUp {
		queue := s.Queue()
		i := slices.Index(queue, e.Owner)
		if i < 0 {
			return s, &Violation{Rule: contract.QueuePlace, State: s, Event: e}
		}
		return s.with(slices.Delete(queue, i, i+1)), nil
	}
	next, err := Environment(s.Lock, e)
	if err != nil {
		return s, err
	}
	s.Lock = next
	return s, nil
}
