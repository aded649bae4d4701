package linear

import (
	"errors"
	"time"

	"github.com/anishathalye/porcupine"
)

// Reference is porcupine on the very actions that the search sees, the inferred ends of leases among them: it is what
// tests hold the search against.
func (s *Search) Reference(budget time.Duration) porcupine.CheckResult {
	actions, p := s.c.actions, s.c.order
	ops := make([]porcupine.Operation, len(actions))
	setters := map[int32]int64{}
	for i := range actions {
		if a := &actions[i]; a.set > 0 && a.verb != lapses && a.ret != open {
			setters[a.set] = int64(i)
		}
	}
	for i := range actions {
		a := &actions[i]
		in := &Step{id: int64(i), Maybe: !a.certain && a.ret != open}
		if p.touches[i] >= 0 {
			in.after = []int64{int64(p.touches[i])}
		}
		if setter, known := setters[a.set]; known && a.verb == lapses { // a lease ends after it was set
			in.after, in.Later, in.Maybe = append(in.after, setter), in.Maybe, false
		}
		ops[i] = porcupine.Operation{ClientId: int(a.owner), Input: in, Call: a.call, Return: a.ret}
	}
	step := func(in *Step, st state) (state, error) {
		next, ok := s.machine.step(st, &actions[in.id])
		if !ok {
			return st, errRefused
		}
		return next, nil
	}
	return porcupine.CheckOperationsTimeout(Model(state{}, step, ops), ops, budget)
}

var errRefused = errors.New("refused")
