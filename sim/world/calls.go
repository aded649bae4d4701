package world

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/network"
)

// Which call of a program does a command belong to? A program's calls carry their id in the
// context, and lock libraries hand the context on to go-redis. A hook there sees it together with the
// command, and stamps the command with it (see [network.Stamp]), so that each copy that go-redis writes,
// however late, says whose it is. A command whose context has no id, such as a watchdog's renewal, or that of a call
// that has returned, belongs to no call.

type callKey struct{}

// WithCall returns a context that marks commands as belonging to call id.
func WithCall(ctx context.Context, id int64) context.Context {
	return context.WithValue(ctx, callKey{}, id)
}

type calls struct {
	asked  map[int64]bool    // calls that have begun a command
	owners map[string]string // owner, by any of his names -> client
	names  map[string]string // another name of an owner -> owner
	// scripts tells what a script is for, by its digest: the step of the first call that ran it.
	// So a copy of it that belongs to no call, such as an unlock that goes on trying after its
	// call has given up, is not taken for a renewal.
	scripts map[string]history.Step
	// in are the calls by the labels of the goroutines that they are made in, of a lock whose commands do not say so.
	in map[bubble.Label]int64
}

// callHook notes the commands in process, and has them begin one after the other. One event can
// wake several goroutines of a client, such as all waiters for a subscription; which of them is the
// first to take a connection from go-redis's pool must not be left to chance.
type callHook struct {
	w      *World
	client string
	server *server
	under  atomic.Int64 // commands, pipelines and dials that are in process
}

// enter counts a command, pipeline or dial that has begun, until done is called. A dial may outlive the
// command that it was for, and keeps its place among the client's connections.
func (h *callHook) enter() (done func()) {
	if h.under.Add(1) > poolSize {
		h.w.crowded.Store(true)
	}
	return func() { h.under.Add(-1) }
}

func (h *callHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		defer h.enter()()
		return next(ctx, network, addr)
	}
}

func (h *callHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		words := wireWords(cmd)
		if err := h.turn(ctx, words); err != nil {
			return err
		}
		defer h.enter()()
		began := h.began(ctx, words)
		err := next(ctx, h.stamp(ctx, cmd, words, began))
		if err != nil && !errors.Is(err, redis.Nil) {
			h.w.retries.failed(h.key(words), began, h.w.Now(), h.w.ground.atOnce())
		}
		return err
	}
}

// key names a command, and a script by what it is given.
func (h *callHook) key(words []string) string { return sameScript(h.client, words) }

// callIn returns the call whose context a command has; 0: it has none's. If commands of a lock have not that of their call, its goroutine and
// those that it starts make them.
func (h *callHook) callIn(ctx context.Context) int64 {
	if h.w.layout.NoContext && h.w.layout.Direct {
		if id := h.w.inGoroutine(); id != 0 {
			return id
		}
	}
	id, _ := ctx.Value(callKey{}).(int64)
	return id
}

// began is when a client began what a command that begins now is for: it may send again what has failed.
func (h *callHook) began(ctx context.Context, words []string) time.Duration {
	now := h.w.Now()
	if id := h.callIn(ctx); id != 0 && !h.w.over(id, now) {
		return now // the call says so
	}
	return h.w.retries.since(h.key(words), now, h.w.ground.atOnce())
}

func (h *callHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer h.enter()()
		all := make([]redis.Cmder, len(cmds))
		for i, cmd := range cmds {
			words := wireWords(cmd)
			if i == 0 {
				if err := h.turn(ctx, words); err != nil {
					return err
				}
			}
			all[i] = h.stamp(ctx, cmd, words, h.w.Now())
		}
		return next(ctx, all)
	}
}

// turn waits until it is a command's turn; of those that come at once, the order of their words
// decides, and of those that say the same that of their calls. Those of a paused client wait until it
// goes on, unless somebody waits for a mutex meanwhile: then they fail.
func (h *callHook) turn(ctx context.Context, words []string) error {
	if h.w.ended.Load() { // and so is the client, which would see that only after its turn
		return redis.ErrClosed
	}
	id := h.callIn(ctx)
	h.w.mu.Lock()
	h.w.calls.asked[id] = true
	h.w.mu.Unlock()
	h.spun(id, words)
	s := h.w.lie(commandKey(h.client, h.server, words), h.client, id, 0)
	<-s.woke
	return s.refused
}

// Asked reports whether a call of a client has begun a command, or may have. Programs may call it.
func (w *World) Asked(client string, id int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls.asked[id] || w.layout.NoContext || w.outside.dialing[client] || len(w.outside.processes[client]) > 0
}

// stamped is a command that says when its client began it, and for which call.
type stamped struct {
	redis.Cmder
	args []any
}

func (s stamped) Args() []any { return s.args }

// stamp stamps a command. It leaves MULTI alone, of which go-redis expects that it is no
// other type; it names no lock.
func (h *callHook) stamp(ctx context.Context, cmd redis.Cmder, words []string, began time.Duration) redis.Cmder {
	if len(words) == 1 && strings.EqualFold(words[0], "multi") {
		return cmd
	}
	id := h.callIn(ctx)
	if digest := scriptDigest(words); id != 0 && digest != "" && !h.w.over(id, h.w.Now()) {
		h.w.mu.Lock()
		if c := &h.w.calls; c.scripts[digest] == "" {
			c.scripts[digest] = stepOf(h.w.rec.Op(id).Kind)
		}
		h.w.mu.Unlock()
	}
	return stamped{cmd, append(slices.Clip(cmd.Args()), network.Stamp(stampText(id, began)))}
}

// stampText says for which call, or 0, and when a client began a command.
func stampText(call int64, began time.Duration) string {
	return strconv.FormatInt(call, 10) + " " + strconv.FormatInt(int64(began), 10)
}

// callOf returns the call that a command just written belongs to, or 0, and, of one that belongs to
// none, with the context of which call that had returned its client began it, and when, if that is known.
func (w *World) callOf(s *server, m *network.Message) (call, after int64, began time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	client := m.Link.Client
	switch {
	case len(w.outside.processes[client]) > 0, m.Stamp == "" && w.outside.dialing[client]:
		return w.guess(client, s, m.Args), 0, 0
	case m.Stamp == "":
		return 0, 0, 0
	}
	id, at, _ := strings.Cut(m.Stamp, " ")
	call, _ = strconv.ParseInt(id, 10, 64)
	ns, _ := strconv.ParseInt(at, 10, 64)
	if call != 0 && !w.over(call, time.Duration(ns)) {
		return call, 0, 0
	}
	background := call != 0 && w.layout.Direct && w.mayRenew(client, s, m.Args) // of a call that has returned
	if !background && (w.layout.NoContext || w.outside.dialing[client]) {
		if id := w.guess(client, s, m.Args); id != 0 {
			return id, 0, 0
		}
	}
	return 0, call, time.Duration(ns)
}

// direct reports whether the goroutine of a call says that a command is its, or one that it has started, rather than a context or what the
// command names.
func (w *World) direct(call int64, m *network.Message) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	client := m.Link.Client
	id, at, _ := strings.Cut(m.Stamp, " ")
	ns, _ := strconv.ParseInt(at, 10, 64)
	return call != 0 && id == strconv.FormatInt(call, 10) && !w.over(call, time.Duration(ns)) && (w.outside.dialing[client] || w.layout.NoContext)
}

// over reports whether a call had returned by a time. What its client begins after that with the call's context, such as
// a watchdog's renewal, belongs to no call.
func (w *World) over(call int64, at time.Duration) bool {
	op := w.rec.Op(call)
	return !op.Pending() && op.Return <= at
}

func commandKey(client string, s *server, words []string) string {
	size := len(client) + len(s.name) + 1
	for _, word := range words {
		size += len(word) + 1
	}
	var key strings.Builder
	key.Grow(size)
	key.WriteString(client)
	key.WriteByte(0)
	key.WriteString(s.name)
	for _, word := range words {
		key.WriteByte(0)
		key.WriteString(word)
	}
	return key.String()
}

func wireWords(cmd redis.Cmder) []string {
	words := make([]string, len(cmd.Args()))
	for i, a := range cmd.Args() {
		words[i] = wire(a)
	}
	return words
}

// wire writes an argument as go-redis does.
func wire(a any) string {
	switch v := a.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10)
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		if err != nil {
			return ""
		}
		return string(b)
	case net.IP:
		return string(v)
	}
	return fmt.Sprint(a)
}

// quiet has go-redis not print complaints about the faults that we inject; it knows only one logger
// for all clients.
var quiet = sync.OnceFunc(logging.Disable)

func noMaintenanceNotices() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
