package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// PermitsState is one semaphore of permits that expire. The zero value is none. States compare with ==.
type PermitsState struct {
	Set   bool
	Total int64 // how many permits there are
	held  string
}

// HeldPermit is one that was taken and not given back. Its lease ends between Earliest and Latest.
type HeldPermit struct {
	ID int64
	life
}

// Held lists the permits that were taken, in the order of their ids.
func (s PermitsState) Held() []HeldPermit {
	var held []HeldPermit
	for line := range strings.Lines(s.held) {
		var p HeldPermit
		var earliest, latest int64
		if _, err := fmt.Sscanf(line, "%d %d %d\n", &p.ID, &earliest, &latest); err != nil {
			panic(err) // only with writes them
		}
		p.life = life{time.Duration(earliest), time.Duration(latest)}
		held = append(held, p)
	}
	return held
}

func (s PermitsState) with(held []HeldPermit) PermitsState {
	slices.SortFunc(held, func(a, b HeldPermit) int { return int(a.ID - b.ID) })
	var b strings.Builder
	for _, p := range held {
		fmt.Fprintf(&b, "%d %d %d\n", p.ID, p.Earliest, p.Latest)
	}
	s.held = b.String()
	return s
}

// PermitsShown is the state that a key shows. What is taken, also where there is no semaphore, counts as permits that there are.
func PermitsShown(k history.KeyState) PermitsState {
	s := PermitsState{Set: k.Permits != nil, Total: k.AllPermits()}
	var held []HeldPermit
	for _, p := range k.Taken {
		ends := endless
		if p.Deadline > 0 {
			ends = life{p.Deadline, p.Deadline}
		}
		held = append(held, HeldPermit{p.Permit, ends})
	}
	return s.with(held)
}

// String fits after "but".
func (s PermitsState) String() string {
	if !s.Set {
		return "there is no semaphore"
	}
	n, are := strings.Count(s.held, "\n"), "are"
	if n == 1 {
		are = "is"
	}
	return fmt.Sprintf("%d of %d permits %s taken", n, s.Total, are)
}

// of is what is true of the permit of an operation whose answer is wrong. It fits after "but".
func (s PermitsState) of(op history.Op) string {
	for _, p := range s.Held() {
		switch {
		case p.ID != op.Token:
		case op.Outcome == history.OK:
			return "its lease had ended by " + stamp(p.Latest)
		case p.Earliest == Never:
			return "it is taken, and has no lease"
		default:
			return "its lease lasts until " + stamp(p.Earliest)
		}
	}
	return "it is not taken"
}

// Permits says which semaphore of permits that expire is meant. The zero value never has fewer than 0
// permits.
type Permits struct {
	Redisson bool // permits may be taken away until there are fewer than 0
}

// Step returns the state after op with its answer, or a [Violation]. Uncertainty is as in the function
// [Step]: a permit whose lease may be over, as far as the times of op tell, is taken or not, as the answer
// needs it. Other operations change nothing.
func (k Permits) Step(s PermitsState, op history.Op) (PermitsState, error) {
	if op.Outcome == history.Failed {
		return s, nil
	}
	uncertain := op.Uncertain()
	if uncertain {
		op.Return = 0
	}
	from, to := when(op)
	if uncertain && op.Evidence != history.Executed {
		from, to = 0, 0 // nobody saw that a lease was over
	}
	var held []HeldPermit
	mine, mineEnds, surely := -1, false, int64(0)
	for _, p := range s.Held() {
		if past(from, p.Latest) {
			continue // it is over
		}
		ends := !past(p.Earliest, to) // it may be over: deadlines are in whole milliseconds
		if !ends {
			surely++
		}
		if p.ID == op.Token && op.Token != 0 {
			mine, mineEnds = len(held), ends
		}
		held = append(held, p)
	}
	most, least := s.Total-surely, s.Total-int64(len(held)) // that are free
	if uncertain {
		switch op.Kind {
		case history.TrySetTotal:
			op.Outcome = either(s.Set, history.Rejected, history.OK)
		case history.AcquirePermit, history.TryAcquirePermit:
			op.Outcome = either(least > 0, history.Acquired, history.Busy)
		case history.ReleasePermit, history.UpdateLease:
			op.Outcome = either(mine >= 0, history.OK, history.NotHeld)
		case history.AvailablePermits:
			return s, nil
		}
	}
	refuse := func(r contract.Rule) (PermitsState, error) { return s, &Violation{Rule: r, State: s, Op: op} }
	switch op.Kind {
	case history.TrySetTotal:
		switch {
		case (op.Outcome == history.OK) == s.Set:
			return refuse(contract.SemaphoreSetOnce)
		case s.Set:
			return s, nil
		}
		s.Set, s.Total = true, op.Value
	case history.AddTotal:
		s.Set, s.Total = true, s.Total+op.Value
		if !k.Redisson {
			s.Total = max(0, s.Total)
		}
	case history.AcquirePermit, history.TryAcquirePermit:
		switch {
		case op.Outcome == history.Acquired && mine >= 0 && uncertain: // a copy of a request that has the id
			held[mine].life = lasting(op)
		case op.Outcome == history.Acquired && mine >= 0:
			return refuse(contract.PermitIsNew)
		case op.Outcome == history.Acquired && most <= 0:
			return refuse(contract.PermitsAreFree)
		case op.Outcome != history.Acquired && least > 0:
			return refuse(contract.PermitsAreFew)
		case op.Outcome == history.Acquired:
			held = append(held, HeldPermit{op.Token, lasting(op)})
			s.Set = true
		}
	case history.ReleasePermit, history.UpdateLease:
		switch {
		case op.Outcome == history.OK && mine < 0:
			return refuse(contract.PermitIsHeld)
		case op.Outcome != history.OK && mine >= 0 && !mineEnds:
			return refuse(contract.PermitNotRefused)
		case op.Outcome == history.OK && op.Kind == history.UpdateLease:
			held[mine].life = lasting(op)
		case mine >= 0:
			held = slices.Delete(held, mine, mine+1)
			s.Set = s.Set || k.Redisson // the number of the free ones is written anew
		}
	case history.AvailablePermits:
		if op.Value < least || op.Value > most {
			return refuse(contract.PermitsAreCounted)
		}
	default:
		return s, nil
	}
	return s.with(held), nil
}

// Environment returns the state after something that is no operation, or a [Violation]. What happens to the
// key happens to all permits, unless Event.Count says that so many stay out.
func (k Permits) Environment(s PermitsState, e history.Event) (PermitsState, error) {
	switch e.Kind {
	case history.Delete, history.Expire: // the key's own time to live, which is not looked at
		if e.Count == 0 {
			return PermitsState{}, nil
		}
		s.Set, s.Total = false, e.Count // they are in a key of their own
		return s, nil
	case history.ClockJump:
		held := s.Held()
		for i := range held {
			held[i].life, _, _ = held[i].environment(e)
		}
		return s.with(held), nil
	}
	return s, nil
}
