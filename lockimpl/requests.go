package lockimpl

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Objects without owners (semaphores, latches) have requests that take effect once, too, with generation
// Hardened. A client sends each in a slot of the object, one at a time, as in a session of NFS (RFC 8881,
// section 2.10.6.1). The slot's record on the server holds the number and the answer of its last request:
// a copy of that gets the answer, and a copy of an earlier one does nothing. So there are as many records
// as a client had requests on the object at once, at most, however many it makes.

// slots says which slots have a request under way, or one whose outcome is not known.
type slots struct {
	mu   sync.Mutex
	busy map[string][]bool // by the object's name
}

// request is one request in a slot, or under an id that the caller gave it.
type request struct {
	object *object
	slot   int // -1: none
	line   Owner
	record string
	number int64
	begun  time.Time // when its first copy was sent
}

// request begins a request on o, in the first free slot if id is empty. It must end with done.
func (c *Client) request(o *object, id string) *request {
	r := &request{object: o, slot: -1}
	if id != "" {
		// All requests under one id are one request, so that they have one number.
		r.record, r.number = requestOf(o.name, Owner(id)), requestBase
		return r
	}
	c.slots.mu.Lock()
	busy := c.slots.busy[o.name]
	r.slot = len(busy)
	for i, taken := range busy {
		if !taken {
			r.slot = i
			break
		}
	}
	if r.slot == len(busy) {
		busy = append(busy, true)
	}
	busy[r.slot] = true
	c.slots.busy[o.name] = busy
	c.slots.mu.Unlock()
	r.line = Owner(c.opts.ID + "#" + strconv.Itoa(r.slot))
	r.record = requestOf(o.name, r.line)
	r.number, _ = c.nextRequest(r.line)
	return r
}

// after is a later request in the slot of r, which r must not use any more.
func (r *request) after() *request {
	later := *r
	later.number, _ = r.object.client.nextRequest(r.line)
	return &later
}

// done frees the slot.
func (r *request) done() {
	if r.slot < 0 {
		return
	}
	s := &r.object.client.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := s.busy[r.object.name]
	busy[r.slot] = false
	for len(busy) > 0 && !busy[len(busy)-1] {
		busy = busy[:len(busy)-1]
	}
	if len(busy) == 0 {
		delete(s.busy, r.object.name)
	} else {
		s.busy[r.object.name] = busy
	}
}

// send sends s, a script that begins with once.lua: further are the names of keys besides the object's and
// the record's. Each copy of a request must be the same.
func (r *request) send(ctx context.Context, s *script, channel string, further []string, args ...any) (int64, error) {
	c := r.object.client
	all := append(make([]any, 0, 8+len(further)+len(args)), evalsha, s.digest, 2+len(further), r.object.name, r.record)
	for _, key := range further {
		all = append(all, key)
	}
	all = append(all, r.number, c.remembers().Milliseconds(), channel)
	cmd := newIntCall(ctx, append(all, args...)...)
	err := c.run(ctx, s, cmd, nil)
	switch {
	case err == nil:
		return cmd.Val(), nil
	case redis.HasErrorPrefix(err, "SUPERSEDED"):
		return 0, ErrSuperseded
	}
	return 0, err
}

// begin is send for the first time, with a later number if another client with the same id has used a higher
// one.
func (r *request) begin(ctx context.Context, s *script, channel string, further []string, args ...any) (
	answer int64, err error) {
	r.begun = time.Now()
	for range tries {
		answer, err = r.send(ctx, s, channel, further, args...)
		if !errors.Is(err, ErrSuperseded) || r.slot < 0 {
			break
		}
		r.object.client.overtaken(r.line)
		r.number, _ = r.object.client.nextRequest(r.line)
	}
	return answer, err
}

// settlesFor is how long after its first copy a request of unknown outcome is sent again in the background.
func (c *Client) settlesFor() time.Duration { return 2 * c.memory() }

// remembers is how long the server remembers a request of an object without owners: as long as copies may come of one that was sent
// again at the last moment.
func (c *Client) remembers() time.Duration { return c.settlesFor() + c.memory() }

// memory is how long after a request was sent copies of it may come.
func (c *Client) memory() time.Duration {
	if p, ok := c.proto.(*hardened); ok {
		return p.memory
	}
	return c.opts.latchLifetime()
}

// undecided reports whether the request that ended with err may have been executed, or may be yet.
func undecided(err error) bool {
	var again *resent
	var refused redis.Error
	switch {
	case err == nil, errors.Is(err, errNotSent), errors.Is(err, ErrSuperseded):
		return false
	}
	return errors.As(err, &again) || !errors.As(err, &refused)
}

// settleRequest calls settle in the background until it succeeds, or so late that the server might have forgotten the request when
// the last copy comes, and then ends the request.
func (c *Client) settleRequest(r *request, err error, settle func(ctx context.Context) error) {
	var late *abandoned
	delay := c.opts.settleMin()
	if errors.As(err, &late) { // nothing has failed yet
		delay = 0
	}
	c.work.Add(1) // not 0 before: the operation that calls holds one
	go func() {
		defer c.work.Done()
		defer r.done()
		deadline := r.begun.Add(c.settlesFor())
		for time.Now().Before(deadline) && c.pause(delay) {
			if err := settle(c.closing); err == nil || errors.Is(err, ErrSuperseded) {
				return
			}
			delay = min(max(2*delay, c.opts.settleMin()), c.opts.settleMax())
		}
	}()
}

// effect executes a request that must take effect once it is asked for: if its outcome is not known, it is
// sent again in the background.
func (c *Client) effect(ctx context.Context, o *object, co callOptions, s *script, channel string, further []string,
	args ...any) (int64, error) {
	r := c.request(o, co.request)
	answer, err := r.begin(ctx, s, channel, further, args...)
	if !undecided(err) {
		r.done()
		return answer, err
	}
	c.settleRequest(r, err, func(ctx context.Context) error {
		_, err := r.send(ctx, s, channel, further, args...)
		return err
	})
	return 0, err
}
