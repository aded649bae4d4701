package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Clients in processes of their own, and those that use another client library than go-redis. The
// former dial a port that leads into the world's network, the latter that network itself, so that faults
// strike their messages as they strike all others. No context tells to which call a command of theirs
// belongs: it is told by the key and by the owner that it names.

// ErrWhose ends a run in which two threads of a client ask at once, and nothing tells whose their commands are.
var ErrWhose = errors.New("its commands name no owner that tells which is whose: give each thread a client of its own")

// outside is what the world knows of such clients.
type outside struct {
	listeners []net.Listener
	processes map[string][]subjects.Process // by client
	dialing   map[string]bool               // the clients that have dialed by themselves; World.mu guards it
	calling   map[string][]history.Op       // by client, its calls in progress; World.mu guards it
	abandoned map[string][]history.Op       // those that returned without an answer, and may go on; likewise
	asking    map[string]bool               // the shapes of the commands by which calls asked for locks; likewise
}

// Listen opens a port at which a process of a client finds a server, and returns its URL; "" in a world without
// processes.
func (w *World) Listen(client, server string) (url string, err error) {
	if w.ground.Warped {
		return w.listenWarped(client, server)
	}
	if !w.ground.Live {
		return "", nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	w.outside.listeners = append(w.outside.listeners, l)
	s := w.server(server)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				end, err := s.net.Dial(context.Background(), client)
				if err != nil {
					abort(c)
					return
				}
				join(c, end, func() { abort(c) })
			}()
		}
	}()
	return "redis://" + l.Addr().String(), nil
}

// join passes on what comes from either until one of them ends. reset is what to do with c if end was reset.
func join(c io.ReadWriteCloser, end net.Conn, reset func()) {
	go func() {
		_, _ = io.Copy(end, c)
		end.Close()
	}()
	_, err := io.Copy(c, end)
	if errors.Is(err, syscall.ECONNRESET) {
		reset()
		return
	}
	c.Close()
}

// abort closes a connection so that the other side sees it reset.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// Attach names a process that a client is, so that a pause or the end of the client is its.
func (w *World) Attach(client string, p subjects.Process) {
	w.outside.processes[client] = append(w.outside.processes[client], p)
}

// each calls do for the processes of a client.
func (o *outside) each(client string, do func(subjects.Process) error) error {
	var errs []error
	for _, p := range o.processes[client] {
		errs = append(errs, do(p))
	}
	return errors.Join(errs...)
}

// overdue is how many waits of a client's processes a pause has held up, as far as they know.
func (o *outside) overdue(client string) (n int) {
	for _, p := range o.processes[client] {
		if p, ok := p.(interface{ Overdue() int }); ok {
			n += p.Overdue()
		}
	}
	return n
}

// jumpClock sets the clocks of a client's processes forward.
func (o *outside) jumpClock(client string, by time.Duration) {
	for _, p := range o.processes[client] {
		if p, ok := p.(interface{ JumpClock(time.Duration) }); ok {
			p.JumpClock(by)
		}
	}
}

func (o *outside) close() {
	for _, l := range o.listeners {
		l.Close()
	}
}

// Dialer returns what connects a client to a server without go-redis. What it returns may be called at any
// time.
func (w *World) Dialer(client, server string) func(context.Context) (net.Conn, error) {
	s := w.server(server)
	return func(ctx context.Context) (net.Conn, error) {
		w.mu.Lock()
		w.outside.dialing[client] = true
		w.mu.Unlock()
		conn, err := s.net.Dial(ctx, client)
		if end, ok := conn.(*network.End); ok && w.layout.Direct {
			end.StampBy(w.stampIn)
		}
		return conn, err
	}
}

// stampIn is the stamp of what is written in a goroutine that is in a call, or was started in one; "": it is in none.
func (w *World) stampIn() string {
	id := w.inGoroutine()
	if id == 0 {
		return ""
	}
	return stampText(id, w.Now())
}

// inGoroutine is the call in which the calling goroutine is, or was started; 0: there is none. It may have returned.
func (w *World) inGoroutine() int64 {
	label := bubble.Labelled()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls.in[label]
}

// Calling tells the world of a call that begins in the caller's goroutine. Programs may call it.
func (w *World) Calling(op history.Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.layout.Direct {
		w.calls.in[bubble.Enter()] = op.ID
	}
	w.outside.calling[op.Client] = append(w.outside.calling[op.Client], op)
}

// called forgets a call that has returned; one without an answer it only sets aside. w.mu is held.
func (w *World) called(op history.Op) {
	o := &w.outside
	if calls, ok := o.calling[op.Client]; ok {
		o.calling[op.Client] = slices.DeleteFunc(calls, func(c history.Op) bool { return c.ID == op.ID })
		if op.Outcome == history.Unknown {
			o.abandoned[op.Client] = append(o.abandoned[op.Client], op)
		}
	}
}

// guess returns the call that a command belongs to of which no context tells, or 0: that of
// the owner that it names, or of the number of permits or the id of one, or else the only one that may be acquiring the lock that it names.
// w.mu is held.
func (w *World) guess(client string, s *server, args []string) int64 {
	if w.layout.Roles[Shape(args)] == history.StepRenew {
		return 0 // it may come beside a call of its owner
	}
	id := w.guessAmong(w.outside.calling[client], client, s, args)
	if id == 0 {
		return w.guessAmong(w.outside.abandoned[client], client, s, args)
	}
	if w.rec.Op(id).Kind.Acquires() {
		if w.outside.asking == nil {
			w.outside.asking = map[string]bool{}
		}
		w.outside.asking[Shape(args)] = true
	}
	return id
}

// mayRenew reports whether a command may renew a hold: it names a key that one of its client's owners holds, and him, or nobody.
// w.mu is held.
func (w *World) mayRenew(client string, s *server, args []string) bool {
	named := w.ownerIn(client, s, args)
	return slices.ContainsFunc(s.keys, func(key string) bool {
		return s.touches(args, key) && slices.ContainsFunc(s.state[key].Holdings, func(h history.Holding) bool {
			owner := s.names.Owner(s.part(key), h.Owner)
			return w.calls.owners[owner] == client && (named == "" || named == owner)
		})
	})
}

// ownerIn is the first owner of a client that a command names: who asks to read names himself first, and then as a writer. "": it names none.
// w.mu is held.
func (w *World) ownerIn(client string, s *server, args []string) (named string) {
	for _, a := range args[1:] {
		if named != "" {
			break
		}
		if w.calls.owners[a] == client {
			named = w.owner(a)
		}
		for _, key := range s.keys {
			if p := s.part(key); s.names.Knows(p, a) && w.calls.owners[s.names.Owner(p, a)] == client && s.touches(args, key) {
				named = s.names.Owner(p, a)
			}
		}
	}
	return named
}

// anothers are those of a client's calls to which a command may belong that asks for a lock and names an owner who makes no call, and does not hold
// it: a lock may have one value for all owners of a client, of whom one asks while the others wait within the process. w.mu is held.
func (w *World) anothers(calls []history.Op, s *server, args []string, named string) []history.Op {
	if !w.outside.asking[Shape(args)] {
		return nil
	}
	for _, key := range s.keys {
		if s.touches(args, key) && slices.ContainsFunc(s.state[key].Holdings, func(h history.Holding) bool { return s.names.Owner(s.part(key), h.Owner) == named }) {
			return nil // that may be renewed
		}
	}
	calls = slices.DeleteFunc(slices.Clone(calls), func(op history.Op) bool { return !op.Kind.Acquires() })
	if len(calls) > 0 && calls[0].Owner != calls[len(calls)-1].Owner {
		return nil
	}
	return calls
}

func (w *World) guessAmong(all []history.Op, client string, s *server, args []string) int64 {
	var calls []history.Op
	for _, op := range all {
		if slices.ContainsFunc(w.locks, func(l *lock) bool {
			return l.name == op.Lock && slices.ContainsFunc(l.parts, func(p part) bool {
				return p.server == s && (s.touches(args, p.key) || slices.Contains(w.unnamed(s, args), p.key))
			})
		}) {
			calls = append(calls, op)
		}
	}
	if len(calls) == 0 {
		return 0
	}
	if named := w.ownerIn(client, s, args); named != "" {
		own := slices.DeleteFunc(slices.Clone(calls), func(op history.Op) bool { return op.Owner != named })
		if len(own) == 0 {
			own = w.anothers(calls, s, args, named)
		}
		calls = own
	} else if asking := slices.DeleteFunc(slices.Clone(calls), func(op history.Op) bool { return !op.Kind.Acquires() }); len(asking) > 0 {
		calls = asking
	}
	switch {
	case len(calls) > 1 && calls[0].Kind.Object() == history.ASemaphore:
		calls = withNumber(calls, args)
	case len(calls) > 0 && calls[0].Kind.Object() == history.APermitSemaphore:
		calls = w.withPermit(calls, args)
	}
	switch {
	case len(calls) == 0:
		return 0
	case calls[0].Owner != calls[len(calls)-1].Owner && mistakable(calls):
		w.failLocked(fmt.Errorf("%s and %s of client %s ask for %s at once, and %w",
			calls[0].Owner, calls[len(calls)-1].Owner, client, calls[0].Lock, ErrWhose))
	}
	return calls[0].ID
}

// withNumber keeps those calls on a semaphore whose number of permits a command has after the key, if there are any.
func withNumber(calls []history.Op, args []string) []history.Op {
	of := slices.DeleteFunc(slices.Clone(calls), func(op history.Op) bool {
		return !slices.Contains(args[slices.Index(args, op.Lock)+1:], strconv.FormatInt(op.Value, 10))
	})
	if len(of) == 0 {
		return calls
	}
	return of
}

// withPermit keeps those calls on a permit that a command names by its id; or, if there are none, those that are on none.
// w.mu is held.
func (w *World) withPermit(calls []history.Op, args []string) []history.Op {
	named := map[int64]bool{}
	for _, a := range args[1:] {
		named[w.numbers[idOf(a)]] = true
	}
	return slices.DeleteFunc(slices.Clone(calls), func(op history.Op) bool {
		if op.Kind.OnPermit() {
			return !named[op.Token]
		}
		return slices.ContainsFunc(calls, func(op history.Op) bool { return op.Kind.OnPermit() && named[op.Token] })
	})
}

// mistakable reports whether it matters whose of several calls a command is: calls that await a count only ask.
func mistakable(calls []history.Op) bool {
	if calls[0].Kind.Object() == history.ALatch {
		return slices.ContainsFunc(calls, func(op history.Op) bool { return !op.Kind.Awaits() })
	}
	return calls[0].Kind.Asks() || calls[0].Kind.Object().Counted()
}
