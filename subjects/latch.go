package subjects

import (
	"context"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// Latches is a client of count-down latches.
type Latches interface {
	Latch(name string) Latch
}

// Latch is one count-down latch as one client sees it.
type Latch interface {
	// Set sets the count: OK, Rejected (it is not 0), Failed or Unknown.
	Set(ctx context.Context, count int64) Answer
	// Down makes the count one less: OK, Failed or Unknown.
	Down(ctx context.Context) Answer
	// Await waits until the count is 0: OK, Busy, Failed or Unknown.
	Await(ctx context.Context, r Request) Answer
}

// Deleter is a [Latch] that can be deleted.
type Deleter interface {
	// Delete removes it: Released, NotHeld (there was none), Failed or Unknown.
	Delete(ctx context.Context) Answer
}

// AllLatches returns the two forms of the reference latch.
func AllLatches() []Subject {
	return []Subject{
		latch(lockimpl.Classic, "Redisson's RCountDownLatch 4.7.0: copies count, and a waiter hears by messages alone"),
		latch(lockimpl.Hardened, "the latch we would ship: a request counts once, rounds are told apart, and a waiter looks again"),
	}
}

// OfLatches are the limitations of Redisson's latch.
func OfLatches() []history.Limitation {
	const page = "docs/family.md: "
	return []history.Limitation{
		notIdempotent(page+"CountDown sent again", downs),
		notIdempotent(page+"TrySetCount sent again", counts),
		notIdempotent(page+"Delete sent again", deletes),
		without(contract.TellsDeletion, page+"deleted while awaited"),
		without(contract.TakesBack, page+"CountDown whose caller gave up, outcome unknown"),
		without(contract.LooksAgain, page+"message of zero lost, late, or not sent: the latch is deleted or expires"),
		without(contract.Rounds, page+"set anew at once, or before a waiter looks"),
	}
}

// latch is the reference latch in one of its two forms.
func latch(g lockimpl.Generation, about string) Subject {
	s := Subject{Name: "rcountdownlatch-" + string(g), About: about, Object: history.ALatch, Abilities: []string{string(contract.CountsDown), string(contract.Deletes)}}
	open := opened(g)
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return latchClient{c.(rlockClient)}, nil
	}
	if g == lockimpl.Hardened {
		s.Abilities = append(s.Abilities, string(contract.TakesBack), string(contract.Idempotent), string(contract.LooksAgain), string(contract.NoticesSilence), string(contract.Rounds), string(contract.TellsDeletion), string(contract.LeavesNothing), string(contract.ReturnsUnanswered))
		s.Layout.Round = "holdfast_round:{*}"
		s.Idempotent = []history.Idempotence{{Calls: Changing(s.Object), For: resentFor, ForOnce: latchLife}}
		s.SilenceNoticed = 2 * lockimpl.DefaultPingInterval
		return s
	}
	s.Limitations = OfLatches()
	return s
}

var (
	downs   = []history.Kind{history.CountDown}
	counts  = []history.Kind{history.TrySetCount}
	deletes = []history.Kind{history.DeleteLatch}
)

type latchClient struct{ rlockClient }

func (c latchClient) Latch(name string) Latch { return rlatch{c.c.CountDownLatch(name)} }

type rlatch struct{ l *lockimpl.CountDownLatch }

func (l rlatch) Set(ctx context.Context, count int64) Answer {
	return yesOrNo(history.OK, history.Rejected)(l.l.TrySetCount(ctx, count))
}

func (l rlatch) Down(ctx context.Context) Answer {
	return done(l.l.CountDown(ctx))
}

func (l rlatch) Delete(ctx context.Context) Answer {
	return yesOrNo(history.Released, history.NotHeld)(l.l.Delete(ctx))
}

func (l rlatch) Await(ctx context.Context, r Request) Answer {
	answer := yesOrNo(history.OK, history.Busy)
	switch {
	case r.Forever:
		return answer(true, l.l.Await(ctx))
	case r.Wait > 0:
		return answer(l.l.TryAwait(ctx, lockimpl.Wait(r.Wait)))
	}
	return answer(l.l.TryAwait(ctx))
}

// yesOrNo puts an answer that is one of two into history's terms.
func yesOrNo(yes, no history.Outcome) func(is bool, err error) Answer {
	return func(is bool, err error) Answer {
		switch {
		case err != nil:
			return failure(err)
		case !is:
			return Answer{Outcome: no}
		}
		return Answer{Outcome: yes}
	}
}
