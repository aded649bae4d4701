package external

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// call is a request that has not been answered.
type call struct {
	request
	answer chan message // nil is nobody's: it was given up
}

// hold is an owner's, who of a write lock is [history.WriterOf] himself.
type hold struct{ lock, owner string }

// holdOf is the hold that a request is about.
func holdOf(r request) hold {
	if r.Kind.OnWriteLock() {
		return hold{r.Lock, history.WriterOf(r.Owner)}
	}
	return hold{r.Lock, r.Owner}
}

// held is how often an owner holds a lock, as far as it was told.
type held struct {
	times int
	lost  chan struct{} // closed when it is lost
}

// answered hands an answer to the call that waits for it. What it means for who holds what is noted
// here, in the order of the lines. c.mu is held.
func (c *client) answered(m message) error {
	w := c.waiting[m.ID]
	switch {
	case w == nil && (m.ID < 0 || m.ID > c.last):
		return fmt.Errorf("it answered request %d, which there was not", m.ID)
	case w == nil:
		return fmt.Errorf("it answered request %d a second time", m.ID)
	}
	if err := checkAnswer(w.request, m, c.hello); err != nil {
		return err
	}
	delete(c.waiting, m.ID)
	h := holdOf(w.request)
	switch m.Outcome {
	case history.Acquired:
		if !w.Kind.Acquires() { // permits are nobody's
			break
		}
		if !c.holding(h) {
			c.holds[h] = &held{lost: make(chan struct{})}
		}
		c.holds[h].times++
	case history.Decremented, history.Unlocked:
		if held := c.holds[h]; held != nil {
			if held.times--; held.times == 0 && m.Outcome == history.Unlocked {
				delete(c.holds, h)
			}
		}
	case history.Released, history.NotHeld:
		delete(c.holds, h)
	case history.OK:
		if w.Kind.Unlocks() { // of which its caller was told nothing
			delete(c.holds, h)
		}
	}
	if w.Kind == kindStart {
		c.names = m.Owners
	}
	if w.answer != nil {
		w.answer <- m
	}
	return nil
}

// holding reports whether there is a hold that is not known to be lost. c.mu is held.
func (c *client) holding(h hold) bool {
	held := c.holds[h]
	if held == nil {
		return false
	}
	select {
	case <-held.lost:
		return false
	default:
		return true
	}
}

// lost takes the notice of a loss. One of a hold that is no more has crossed its unlock. c.mu is held.
func (c *client) lost(m message) error {
	if !slices.Contains(c.hello.Abilities, "lost") {
		return errors.New("it told of a loss, but does not claim lost")
	}
	if h := (hold{m.Lost, m.Owner}); c.holding(h) {
		close(c.holds[h].lost)
	}
	return nil
}

// do has the worker do something, and returns what it said. When ctx ends, the worker is asked to
// give the call up, if it can; what it says soon after counts.
func (c *client) do(ctx context.Context, r request) subjects.Answer {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.failure != nil {
		c.mu.Unlock()
		return subjects.Answer{Outcome: history.Failed, Err: c.failure} // it was never asked
	}
	c.last++
	r.ID = c.last
	c.waiting[r.ID] = &call{r, answer}
	c.mu.Unlock()
	if err := c.send(ctx, r); err != nil {
		c.mu.Lock()
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		return subjects.Answer{Outcome: history.Failed, Err: err}
	}
	select {
	case m := <-answer:
		return c.told(m)
	case <-c.dead:
	case <-ctx.Done():
		if slices.Contains(c.hello.Abilities, cancels) {
			c.cancel(r.ID, answer)
		}
	}
	return c.giveUp(ctx, r.ID, answer)
}

// send hands a line to the writer.
func (c *client) send(ctx context.Context, r request) error {
	select {
	case c.lines <- encode(r):
		return nil
	case <-c.dead:
		return c.failed()
	case <-c.ending:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancel asks the worker to give up a call, and waits a little for its answer.
func (c *client) cancel(id int64, answer chan message) {
	ctx, stop := context.WithTimeout(context.Background(), c.limits.cancel)
	defer stop()
	if c.send(ctx, request{ID: id, Kind: kindCancel}) != nil {
		return
	}
	select {
	case m := <-answer:
		answer <- m
	case <-c.dead:
	case <-ctx.Done():
	}
}

// giveUp returns the answer if it has come after all, or that it did not; nobody waits for it any more.
func (c *client) giveUp(ctx context.Context, id int64, answer chan message) subjects.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case m := <-answer:
		return c.told(m)
	default:
	}
	if w := c.waiting[id]; w != nil {
		w.answer = nil
	}
	err := c.failure
	if err == nil {
		err = noAnswerError{ctx.Err()}
	}
	return subjects.Answer{Outcome: history.Unknown, Err: err}
}

// noAnswerError is the end of a call's context before the worker answered.
type noAnswerError struct{ error }

func (e noAnswerError) Unwrap() error { return e.error }

// told puts an answer into the harness's terms.
func (c *client) told(m message) subjects.Answer {
	a := subjects.Answer{Outcome: m.Outcome, Value: m.Value, Token: m.Token, Permit: m.Permit}
	if m.Error != "" {
		a.Err = errors.New(c.hush(m.Error))
	} else if m.Outcome == history.Failed || m.Outcome == history.Unknown {
		a.Err = errors.New("the worker did not say why")
	}
	return a
}
