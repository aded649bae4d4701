package external

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Serve makes this process a worker for a subject, which it opens as it is told to. It returns when
// in, usually standard input, has ended, or with an error when in or out, usually standard output,
// fails, or when it was asked something that the protocol does not know. version is the lock's.
//
// Calls are given up when they are cancelled by the end of their context; the worker claims so. The
// subject's [subjects.Loser], if it claims "lost", is asked after each grant.
func Serve(in io.Reader, out io.Writer, s subjects.Subject, version string) error {
	w := &server{subject: s, out: out, ended: make(chan error, 2), calls: map[int64]context.CancelFunc{}, watched: map[hold]*watch{}}
	can := slices.DeleteFunc(slices.Clone(s.Abilities), func(a string) bool { return !slices.Contains(abilities, a) })
	hello := message{Hello: Version, Name: s.Name, Version: version, Object: s.Object, Abilities: append(can, cancels), Idempotent: s.Idempotent, Round: s.Layout.Round, Taken: s.Layout.Taken}
	if s.Can(string(contract.Fair)) {
		hello.Queue = &queue{Key: s.Layout.Queue, Prefix: s.Layout.QueuePrefix, Kept: s.PlaceKept, KeptPart: s.PlacePart}
	}
	if s.Can(string(contract.WritersFirst)) && hello.Queue == nil {
		hello.MarkKept = s.PlaceKept
	}
	w.say(hello)
	go func() { w.ended <- w.serve(in) }()
	err := <-w.ended
	w.end()
	if err == nil {
		err = w.broken
	}
	return err
}

// server is the worker's side.
type server struct {
	subject subjects.Subject
	client  subjects.Client
	redis   *redis.Client
	work    sync.WaitGroup
	ended   chan error // why nothing more is to be done

	mu      sync.Mutex
	out     io.Writer
	broken  error                        // out failed
	calls   map[int64]context.CancelFunc // under way
	watched map[hold]*watch
}

// watch waits for the loss of a hold.
type watch struct {
	lost <-chan struct{}
	over chan struct{} // closed by the unlock
}

func (w *server) serve(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var r request
		if err := decode(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("a line that is no request (%w): %s", err, quote(lines.Bytes()))
		}
		switch {
		case r.Kind == kindStart && w.client == nil:
			w.say(w.start(r))
		case r.Kind == kindStart || w.client == nil:
			return fmt.Errorf("start must be the first request, and come once: %s", quote(lines.Bytes()))
		case r.Kind == kindCancel:
			w.mu.Lock()
			if cancel := w.calls[r.ID]; cancel != nil {
				cancel()
			}
			w.mu.Unlock()
		default:
			ctx, cancel := context.WithCancel(context.Background())
			w.mu.Lock()
			w.calls[r.ID] = cancel
			w.mu.Unlock()
			w.work.Go(func() { w.call(ctx, r) })
		}
	}
	return lines.Err()
}

// say writes a line.
func (w *server) say(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sayLocked(m)
}

func (w *server) sayLocked(m message) {
	if _, err := w.out.Write(encode(m)); err != nil && w.broken == nil {
		w.broken = err
	}
}

func (w *server) start(r request) message {
	failed := func(err error) message { return message{ID: r.ID, Outcome: history.Failed, Error: err.Error()} }
	switch {
	case r.Version != Version:
		return failed(fmt.Errorf("this worker speaks version %d of the protocol, not %d", Version, r.Version))
	case r.Timescale <= 0:
		return failed(fmt.Errorf("start must say a timescale above 0, not %v", r.Timescale))
	case len(r.Redis) != 1:
		return failed(fmt.Errorf("this worker needs one Redis, not %d", len(r.Redis)))
	}
	o, err := redis.ParseURL(r.Redis[0])
	if err != nil {
		return failed(err)
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], r.Seed)
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * r.Timescale) }
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = scaled(5*time.Second), scaled(3*time.Second), scaled(3*time.Second), scaled(4*time.Second)
	if r.NoRetry {
		o.MaxRetries = -1
	}
	rdb := redis.NewClient(o)
	e := subjects.NewEnv(r.Client, rdb, r.WatchdogTimeout, func(err error) {
		select {
		case w.ended <- err:
		default: // it ends already
		}
	})
	e.Addr, e.Owners, e.NoRetry, e.Timescale, e.Random = r.Redis[0], r.Owners, r.NoRetry, r.Timescale, rand.NewChaCha8(seed)
	c, err := w.subject.Open(e)
	if err != nil {
		rdb.Close()
		return failed(err)
	}
	w.mu.Lock()
	w.redis, w.client = rdb, c
	w.mu.Unlock()
	m := message{ID: r.ID, Outcome: history.OK}
	if n, ok := c.(subjects.Namer); ok {
		m.Owners = map[string]string{}
		for _, owner := range r.Owners {
			m.Owners[owner] = n.Named(owner)
		}
	}
	return m
}

// call does an operation and answers.
func (w *server) call(ctx context.Context, r request) {
	a := w.do(ctx, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[r.ID]()
	delete(w.calls, r.ID)
	h := holdOf(r)
	if r.Kind.Unlocks() && (a.Outcome == history.Released || a.Outcome == history.NotHeld) {
		w.unwatch(h)
	}
	m := message{ID: r.ID, Outcome: a.Outcome, Value: a.Value, Token: a.Token, Permit: a.Permit}
	if a.Err != nil {
		m.Error = a.Err.Error()
	}
	w.sayLocked(m)
	if a.Outcome == history.Acquired && r.Kind.Acquires() && w.subject.Can("lost") {
		w.watch(h, r)
	}
}

func (w *server) do(ctx context.Context, r request) subjects.Answer {
	req := subjects.Request{Forever: !r.Kind.Tries(), Wait: r.Wait, Lease: r.Lease}
	if r.Watchdog {
		req.Lease = 0
	}
	if r.Kind.Alters() {
		return w.alter(ctx, r)
	}
	if c, ok := w.client.(subjects.Semaphores); ok && r.Kind.Object() == history.ASemaphore {
		return permits(ctx, c.Semaphore(r.Lock), r, req)
	}
	if c, ok := w.client.(subjects.Latches); ok && r.Kind.Object() == history.ALatch {
		return counts(ctx, c.Latch(r.Lock), r, req)
	}
	if c, ok := w.client.(subjects.PermitSemaphores); ok && r.Kind.Object() == history.APermitSemaphore {
		return onPermit(ctx, c.PermitSemaphore(r.Lock), r, req)
	}
	l := w.lock(r)
	switch {
	case l == nil:
	case r.Kind.Acquires():
		return l.Acquire(ctx, r.Owner, req)
	case r.Kind.Unlocks():
		return l.Release(ctx, r.Owner)
	}
	if f, ok := l.(subjects.ForceReleaser); ok && r.Kind.Forces() {
		return f.ForceRelease(ctx)
	}
	if i, ok := l.(subjects.Inspector); ok && slices.Contains(queries, r.Kind) {
		return i.Inspect(ctx, r.Kind, r.Owner)
	}
	return cannot(r)
}

func cannot(r request) subjects.Answer {
	return subjects.Answer{Outcome: history.Failed, Err: fmt.Errorf("this worker cannot do %q", r.Kind)}
}

// alter changes an object as a whole, if the subject can.
func (w *server) alter(ctx context.Context, r request) subjects.Answer {
	var object any
	switch r.Kind.Object() {
	case history.ASemaphore:
		if c, ok := w.client.(subjects.Semaphores); ok {
			object = c.Semaphore(r.Lock)
		}
	case history.APermitSemaphore:
		if c, ok := w.client.(subjects.PermitSemaphores); ok {
			object = c.PermitSemaphore(r.Lock)
		}
	case history.ALatch:
		if c, ok := w.client.(subjects.Latches); ok {
			object = c.Latch(r.Lock)
		}
	}
	if is, ok := object.(subjects.Resizer); ok && r.Kind.Adds() {
		return is.Add(ctx, r.Value)
	}
	if is, ok := object.(subjects.Drainer); ok && r.Kind == history.DrainPermits {
		return is.Drain(ctx)
	}
	if is, ok := object.(subjects.Deleter); ok && r.Kind == history.DeleteLatch {
		return is.Delete(ctx)
	}
	return cannot(r)
}

// lock is the lock that a request is about, which may be one of the two of a read-write lock; nil: there is none.
func (w *server) lock(r request) subjects.Lock {
	c, shared := w.client.(subjects.ReadWriteLocks)
	switch {
	case shared && r.Kind.OnWriteLock():
		return c.WriteLock(r.Lock)
	case shared && r.Kind.Object() == history.ARWLock:
		return c.ReadLock(r.Lock)
	case r.Kind.Object() == history.ALock:
		return w.client.Lock(r.Lock)
	}
	return nil
}

// permits does an operation on a semaphore.
func permits(ctx context.Context, s subjects.Semaphore, r request, how subjects.Request) subjects.Answer {
	switch r.Kind {
	case history.TrySetPermits:
		return s.Set(ctx, r.Value)
	case history.ReleasePermits:
		return s.Give(ctx, r.Value)
	}
	return s.Take(ctx, r.Value, how)
}

// onPermit does an operation on a semaphore whose permits have ids.
func onPermit(ctx context.Context, s subjects.PermitSemaphore, r request, how subjects.Request) subjects.Answer {
	switch r.Kind {
	case history.TrySetTotal:
		return s.Set(ctx, r.Value)
	case history.ReleasePermit:
		return s.Give(ctx, r.Permit)
	case history.UpdateLease:
		return s.Update(ctx, r.Permit, r.Lease)
	}
	return s.Take(ctx, how)
}

// counts does an operation on a latch.
func counts(ctx context.Context, l subjects.Latch, r request, how subjects.Request) subjects.Answer {
	switch r.Kind {
	case history.TrySetCount:
		return l.Set(ctx, r.Value)
	case history.CountDown:
		return l.Down(ctx)
	}
	return l.Await(ctx, how)
}

var queries = []history.Kind{history.IsLocked, history.IsHeldBy, history.HoldCount, history.RemainingTTL}

// watch has a loss of the hold told that a request got, if it can be. w.mu is held.
func (w *server) watch(h hold, r request) {
	loser, ok := w.lock(r).(subjects.Loser)
	if !ok {
		return
	}
	lost := loser.Lost(r.Owner)
	if old := w.watched[h]; lost == nil || old != nil && old.lost == lost {
		return
	}
	w.unwatch(h)
	one := &watch{lost, make(chan struct{})}
	w.watched[h] = one
	w.work.Go(func() {
		select {
		case <-one.over:
			return
		case <-lost:
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.watched[h] == one {
			delete(w.watched, h)
			w.sayLocked(message{Lost: h.lock, Owner: h.owner})
		}
	})
}

// unwatch ends a watch, if there is one. w.mu is held.
func (w *server) unwatch(h hold) {
	if one := w.watched[h]; one != nil {
		close(one.over)
		delete(w.watched, h)
	}
}

// end gives up what is under way, and closes the client. Nobody listens any more.
func (w *server) end() {
	w.mu.Lock()
	w.out = io.Discard
	for _, cancel := range w.calls {
		cancel()
	}
	for h := range w.watched {
		w.unwatch(h)
	}
	client := w.client
	w.mu.Unlock()
	if client != nil {
		_ = errors.Join(client.Close(), w.redis.Close()) // it is over anyway
	}
	w.work.Wait()
}
