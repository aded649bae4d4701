package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// rwFirst is a history of a read-write lock whose keys nobody sees. Its writers are first if it claims so, and a mark is kept for 20 s.
func rwFirst(claims bool) *script {
	s := newRW()
	if s.h.Header.PlaceKept = 20 * sec; claims {
		s.h.Header.Abilities = append(s.h.Header.Abilities, string(contract.WritersFirst))
	}
	return s
}

// behind is a reader that is told busy at a time, while c1 reads from 1 s to 40 s and the writer c2 waits from 5 s to 10 s.
func behind(when float64) func(*script) {
	return func(s *script) {
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
		w := s.held(writer2, history.TryWrite, 5, 10, history.Busy, time.Minute)
		w.Wait = 5 * sec
		s.held("c3:1", history.TryRead, when, when+0.004, history.Busy, time.Minute)
		s.held("c1:1", history.ReadUnlock, 40, 40.004, history.Released, 0)
	}
}

// waitsBehind is a reader that waits from 6 s on, and reads at a time, while another reads and a writer waits until 10 s.
func waitsBehind(until float64) func(*script) {
	return func(s *script) {
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
		w := s.held(writer2, history.TryWrite, 5, 10, history.Busy, time.Minute)
		w.Wait = 5 * sec
		s.held("c3:1", history.ReadLock, 6, until, history.Acquired, time.Minute)
		s.held("c3:1", history.ReadUnlock, until+1, until+1.004, history.Released, 0)
		s.held("c1:1", history.ReadUnlock, 40, 40.004, history.Released, 0)
	}
}

// letInBefore is a reader that calls at a time and is let in while a writer waits from 5 s to 20 s. wrote says that another writes meanwhile, and again
// that the reader reads already.
func letInBefore(when float64, wrote, again bool) func(*script) {
	return func(s *script) {
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
		if again {
			s.held("c3:1", history.ReadLock, 2, 2.004, history.Acquired, time.Minute)
		}
		w := s.held(writer2, history.TryWrite, 5, 20, history.Busy, time.Minute)
		w.Wait = 15 * sec
		if wrote {
			s.held("c1:1", history.ReadUnlock, 6, 6.004, history.Released, 0)
			s.held("c4:1"+history.WriterSuffix, history.WriteLock, 6.1, 6.104, history.Acquired, time.Minute)
			s.held("c4:1"+history.WriterSuffix, history.WriteUnlock, 7, 7.004, history.Released, 0)
		}
		s.held("c3:1", history.ReadLock, when, when+0.004, history.Acquired, time.Minute)
		s.held("c3:1", history.ReadUnlock, 21, 21.004, history.Released, 0)
		if again {
			s.held("c3:1", history.ReadUnlock, 22, 22.004, history.Released, 0)
		}
		if !wrote {
			s.held("c1:1", history.ReadUnlock, 40, 40.004, history.Released, 0)
		}
	}
}

// refusedAgain is a reader that is told busy at 7 s while a writer waits, though it reads: it may have been told at a time, 0: never, that it does not.
func refusedAgain(lost float64) func(*script) {
	return func(s *script) {
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
		w := s.held(writer2, history.TryWrite, 5, 10, history.Busy, time.Minute)
		w.Wait = 5 * sec
		if lost > 0 {
			s.event(history.Lost, at(lost)).Owner = "c1:1"
		}
		s.held("c1:1", history.TryRead, 7, 7.004, history.Busy, time.Minute)
		s.held("c1:1", history.ReadUnlock, 40, 40.004, history.Released, 0)
	}
}

// diedWaiting is a reader that is told busy at a time, after a writer that waited died at 6 s.
func diedWaiting(when float64) func(*script) {
	return func(s *script) {
		s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, time.Minute)
		w := s.held(writer2, history.WriteLock, 5, 0, "", time.Minute)
		w.Evidence = history.Sent
		s.died("c2", at(6))
		s.held("c3:1", history.TryRead, when, when+0.004, history.Busy, time.Minute)
		s.held("c1:1", history.ReadUnlock, 40, 40.004, history.Released, 0)
	}
}

func TestWritersAreFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims bool
		of     contract.Guarantee
		write  func(*script)
		rules  []contract.Rule
	}{
		{"a reader is refused while a writer waits", true, contract.Object, behind(7), nil},
		{"so it is by a lock that does not claim that", false, contract.Object, behind(7), []contract.Rule{contract.SharedIsBusy}},
		{"so it is before the writer comes", true, contract.Object, behind(4), []contract.Rule{contract.SharedIsBusy}},
		{"so it is when the writer has left", true, contract.Object, behind(11), []contract.Rule{contract.SharedIsBusy}},
		{"the mark of a writer that died", true, contract.Object, diedWaiting(20), nil},
		{"the mark of a writer that died is over", true, contract.Object, diedWaiting(35), []contract.Rule{contract.Linearizable}},
		{"a reader waits for as long as a writer does", true, contract.Liveness, waitsBehind(10.5), nil},
		{"so it does of a lock that does not claim that", false, contract.Liveness, waitsBehind(10.5), []contract.Rule{contract.FreeIsTaken}},
		{"it waits for longer", true, contract.Liveness, waitsBehind(14), []contract.Rule{contract.FreeIsTaken}},
		{"a reader is let in before a writer", true, contract.Liveness, letInBefore(8, false, false), []contract.Rule{contract.WriterIsNext}},
		{"so it is by a lock that does not claim that", false, contract.Liveness, letInBefore(8, false, false), nil},
		{"it comes as the writer does", true, contract.Liveness, letInBefore(5.1, false, false), nil},
		{"it reads already", true, contract.Liveness, letInBefore(8, false, true), nil},
		{"a reader that has it already is refused", true, contract.Object, refusedAgain(0), []contract.Rule{contract.SharedIsBusy}},
		{"so is one that was told that it has it no more", true, contract.Object, refusedAgain(6), nil},
		{"another writes meanwhile", true, contract.Liveness, letInBefore(8, true, false), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rwFirst(c.claims)
			c.write(s)
			got := slices.DeleteFunc(rules(verdict(t, s), c.of), func(r contract.Rule) bool {
				return c.of == contract.Liveness && r != contract.FreeIsTaken && r != contract.WriterIsNext
			})
			if !slices.Equal(got, c.rules) {
				t.Errorf("%q; want %q", got, c.rules)
			}
		})
	}
}

func TestTheAnswerIsNamedAtWhichNoOrderIsLeft(t *testing.T) {
	s := rwFirst(true)
	diedWaiting(35)(s)
	all := verdict(t, s).Result(contract.Object).Violations
	if want := "none is left when tryRead by c3:1 (operation 3) returns busy at 35.004 s"; len(all) != 1 || !strings.Contains(all[0].Text, want) {
		t.Errorf("%+v; want %q", all, want)
	}
}

func TestDefectsAreToldFirst(t *testing.T) {
	result := func(g contract.Guarantee, kind RulingKind) Result {
		return Result{Guarantee: g, Status: Broken, Violations: []Violation{{Ruling: Ruling{Kind: kind}}}}
	}
	for _, c := range []struct {
		results []Result
		want    []contract.Guarantee
	}{
		{[]Result{result(contract.Exclusion, FailedAssumption), result(contract.Effect, FailedAssumption), result(contract.Liveness, Defect)},
			[]contract.Guarantee{contract.Liveness, contract.Exclusion, contract.Effect}},
		{[]Result{result(contract.Exclusion, FailedAssumption), result(contract.Effect, Defect), result(contract.Object, FailedAssumption), result(contract.Liveness, Defect)},
			[]contract.Guarantee{contract.Exclusion, contract.Effect, contract.Liveness, contract.Object}},
		{[]Result{result(contract.Exclusion, FailedAssumption), result(contract.Liveness, FailedAssumption)}, []contract.Guarantee{contract.Exclusion, contract.Effect}},
	} {
		if got := inTurn(&Verdict{Results: c.results}, true)[:len(c.want)]; !slices.Equal(got, c.want) {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}
