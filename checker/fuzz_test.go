package checker

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

var honestRuns = flag.Int("honest", 4000, "honest histories that every checker must accept")

var familyRuns = flag.Int("family", 400, "random histories of each kind of object but locks, of which all checkers must say the same")

// patience is how long one checker may search. A fuzzer takes what lasts longer than ten seconds for a hang.
const patience = 2 * time.Second

// noAnswers counts the histories of which a checker came to no answer.
var noAnswers atomic.Int64

// judged holds all checkers of object that apply against each other, and says what is wrong, or "". A history that is
// honest must be held for right.
func (s *simulation) judged(honest bool) string {
	o := Options{Model: s.kind}.withDefaults(s.h)
	o.Budget = patience
	f := collect(s.h, o)
	for _, l := range f.locks {
		if len(l.ops) == 0 {
			continue
		}
		op := judgeLock(context.Background(), f, l)
		switch {
		case op.disagree != "":
			return op.disagree
		case op.status == Undecided:
			noAnswers.Add(1)
			return ""
		case honest && op.status != Holds:
			return "an honest history is refused: " + op.violations.first[0].Text
		}
		if what := apart(f, l); what != "" {
			return what
		}
	}
	return ""
}

// apart asks each checker by itself, with and without the server's times.
func apart(f *facts, l *lockFacts) string {
	said := map[linear.Window]porcupine.CheckResult{}
	for _, w := range []linear.Window{linear.AsCalled, linear.AsExecuted} {
		p := linear.Reduce(f.problem(l, w))
		search, ok := p.Search(context.Background(), f.options.limits())
		if !ok {
			return "too many at once"
		}
		r := search.Run()
		said[w] = r.Result
		second := porcupine.Unknown
		if f.implied() {
			second = search.Reference(patience)
		} else {
			second = askPorcupine(context.Background(), f, l, w)
		}
		if r.Result == porcupine.Unknown || second == porcupine.Unknown {
			noAnswers.Add(1)
			return ""
		}
		if second != r.Result {
			return fmt.Sprintf("window %d: the frontier checker says %s, porcupine %s", w, r.Result, second)
		}
		if interval, ok := p.Intervals(); ok && interval != r.Result {
			return fmt.Sprintf("window %d: the frontier checker says %s, the interval checker %s", w, r.Result, interval)
		}
		if _, broken := search.Overdrawn(); broken && r.Result != porcupine.Illegal {
			return fmt.Sprintf("window %d: one owner's answers are said to show what the search does not see", w)
		}
		if r.Result == porcupine.Illegal && !f.implied() && search.Part(r) == porcupine.Ok {
			return fmt.Sprintf("window %d: porcupine accepts the part that shows the violation", w)
		}
	}
	if said[linear.AsExecuted] == porcupine.Ok && said[linear.AsCalled] != porcupine.Ok {
		return "an order at the server's times is none between calls and returns"
	}
	if !witnessed(f, l) {
		return ""
	}
	found, only := replay(f, l)
	switch {
	case found.all == 0 && !only.lease && said[linear.AsExecuted] != porcupine.Ok:
		return fmt.Sprintf("the witness replay accepts what the frontier checker says is %s at the server's times", said[linear.AsExecuted])
	case found.all > 0 && !only.violation && !doubtful(f, l) && said[linear.AsExecuted] != porcupine.Illegal:
		return "the witness replay refuses what the frontier checker accepts: " + found.first[0].Text
	}
	return ""
}

// A seed corpus of bytes; the tests add many that are drawn.
func seeds(f *testing.F) {
	f.Add([]byte{})
	for n := range 64 {
		d := diceOfSeed(uint64(n))
		b := make([]byte, 16+n)
		for i := range b {
			b[i] = byte(d.n(256))
		}
		f.Add(b)
	}
}

// FuzzHonest: what a right lock did is never refused, and all checkers say so.
func FuzzHonest(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := simulate(diceOf(b))
		if wrong := assumptions(s.h); len(wrong) > 0 {
			t.Fatalf("%v\n%s", wrong, testCase(s.h))
		}
		if what := s.judged(true); what != "" {
			t.Fatalf("%s: %s\n%s", s.kind, what, testCase(s.h))
		}
	})
}

// FuzzCheckers: of histories in which something is untrue all checkers say the same.
func FuzzCheckers(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := simulate(diceOf(b))
		s.corrupt()
		if len(assumptions(s.h)) > 0 {
			return
		}
		if what := s.judged(false); what != "" {
			t.Fatalf("%s: %s\n%s", s.kind, what, testCase(s.h))
		}
	})
}

// FuzzWindows: windows say of object what the whole says.
func FuzzWindows(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := simulate(diceOf(b))
		if s.n(2) == 0 {
			s.corrupt()
		}
		if len(assumptions(s.h)) > 0 {
			return
		}
		if what := s.inWindows(); what != "" {
			t.Fatalf("%s: %s\n%s", s.kind, what, testCase(s.h))
		}
	})
}

func (s *simulation) inWindows() string {
	o := Options{Model: s.kind, Budget: patience}
	whole := judgeObject(context.Background(), collect(s.h, o.withDefaults(s.h)))
	stream := newStream(s.h.Header, o, 1+s.n(4))
	stream.windows.Replay(context.Background(), s.h)
	v := stream.finish(s.h.End, s.h.Over())
	if got := v.Result(contract.Object); got.Status == Broken && whole.Status == Holds && brokenAtServerTimes(s.h, o.withDefaults(s.h)) {
		return "" // the server's times are known of a whole window, though not of the whole history
	}
	if whole.Status == Undecided || v.Result(contract.Object).Status == Undecided && v.Disagreement == "" {
		noAnswers.Add(1)
		return ""
	}
	if got := v.Result(contract.Object); got.Status != whole.Status || v.Disagreement != "" {
		return fmt.Sprintf("%s in windows (%s; %s), but %s as a whole (%s)", got.Status, got.Summary, v.Trouble(), whole.Status, whole.Summary)
	}
	return ""
}

func brokenAtServerTimes(h *history.History, o Options) bool {
	f := collect(h, o)
	for _, l := range f.locks {
		if o := blackBox(context.Background(), f, l, linear.AsExecuted); o.status == Broken {
			return true
		}
	}
	return false
}

// TestHonestHistories is FuzzHonest without a fuzzer, for numbers.
func TestHonestHistories(t *testing.T) {
	many(t, func(s *simulation) string { return s.judged(true) })
}

// TestCorruptedHistories is FuzzCheckers without a fuzzer.
func TestCorruptedHistories(t *testing.T) {
	many(t, func(s *simulation) string {
		if s.corrupt(); len(assumptions(s.h)) > 0 {
			return ""
		}
		return s.judged(false)
	})
}

// TestWindowsOfHistories is FuzzWindows without a fuzzer.
func TestWindowsOfHistories(t *testing.T) {
	many(t, func(s *simulation) string {
		if s.n(2) == 0 {
			s.corrupt()
		}
		if len(assumptions(s.h)) > 0 {
			return ""
		}
		return s.inWindows()
	})
}

// TestSeedsThatCheckersOnceDisagreedOn are found by the tests above, in larger numbers than they run by default.
func TestSeedsThatCheckersOnceDisagreedOn(t *testing.T) {
	t.Run("a lease ended before it was set", func(t *testing.T) {
		s := simulate(diceOfSeed(23216))
		if s.corrupt(); len(assumptions(s.h)) > 0 {
			t.Fatal("this seed draws another history now: find the case anew")
		}
		if what := s.judged(false); what != "" {
			t.Error(what)
		}
	})
	t.Run("a window ended between a grant and an unlock of one owner at one time", func(t *testing.T) {
		s := simulate(diceOfSeed(7478))
		if s.n(2) == 0 {
			s.corrupt()
		}
		if what := s.inWindows(); what != "" {
			t.Error(what)
		}
	})
}

func TestWhatPorcupineDoesNotKnowOf(t *testing.T) {
	// A lease that is longer by less than linear.Slack, of which somebody asks how long it lasts, and which is given back in time.
	s := simulate(diceOfSeed(951999))
	if s.corrupt(); len(assumptions(s.h)) > 0 {
		t.Fatal("this seed draws another history now: find the case anew")
	}
	if what := s.judged(false); what != "" {
		t.Error(what)
	}
}

func many(t *testing.T, wrong func(*simulation) string) {
	var next, bad atomic.Int64
	noAnswers.Store(0)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for n := next.Add(1); n <= int64(*honestRuns) && bad.Load() == 0; n = next.Add(1) {
				s := simulate(diceOfSeed(uint64(n)))
				if what := wrong(s); what != "" && bad.Add(1) == 1 {
					t.Errorf("%d, %s: %s\n%s", n, s.kind, what, testCase(s.h))
				}
			}
		})
	}
	workers.Wait()
	if n := noAnswers.Load(); n > int64(*honestRuns)/50 {
		t.Errorf("of %d of %d histories a checker came to no answer", n, *honestRuns)
	}
}
