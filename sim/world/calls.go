package world

import (
	"context"
	"encoding"
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
	"github.com/holdfast-sim/holdfast/sim/network"
)

// Which call of a program does a command belong to? A program's calls carry their id in the
// context, lock libraries hand the context on to go-redis, and a hook there sees it together with
// the command. What goes over the wire is then known by its words: while a command is in process,
// the same words from the same client are that command, or a copy of it that go-redis sends again.
// A command without an id, such as a watchdog's renewal, belongs to no call.

type callKey struct{}

// WithCall returns a context that marks commands as belonging to call id.
func WithCall(ctx context.Context, id int64) context.Context {
	return context.WithValue(ctx, callKey{}, id)
}

type calls struct {
	inFlight map[string][]int64       // by client, server and words
	came     map[int64]time.Duration  // calls whose command is in flight: when that began
	begun    map[string]time.Duration // commands of no call that are in process, by the same: when they began
	owners   map[string]string        // owner -> client
	// scripts tells what a script is for, by its digest: the step of the first call that ran it.
	// So a copy of it that belongs to no call, such as an unlock that goes on trying after its
	// call has given up, is not taken for a renewal.
	scripts map[string]history.Step
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
		key := commandKey(h.client, h.server, words)
		h.turn(key)
		defer h.enter()()
		defer h.note(ctx, key, words)()
		return next(ctx, cmd)
	}
}

func (h *callHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer h.enter()()
		for i, cmd := range cmds {
			words := wireWords(cmd)
			key := commandKey(h.client, h.server, words)
			if i == 0 {
				h.turn(key)
			}
			defer h.note(ctx, key, words)()
		}
		return next(ctx, cmds)
	}
}

// turn waits until it is a command's turn; of those that come at once, the order of their words
// decides. Those of a paused client wait until it goes on.
func (h *callHook) turn(key string) { <-h.w.lie(key, h.client, 0).woke }

// note records that a command is in process until the returned function is called.
func (h *callHook) note(ctx context.Context, key string, words []string) (done func()) {
	id, ok := ctx.Value(callKey{}).(int64)
	if !ok {
		h.w.mu.Lock()
		defer h.w.mu.Unlock()
		h.w.calls.begun[key] = h.w.Now()
		return func() {
			h.w.mu.Lock()
			defer h.w.mu.Unlock()
			delete(h.w.calls.begun, key)
		}
	}
	step := stepOf(h.w.rec.Op(id).Kind)
	c := &h.w.calls
	h.w.mu.Lock()
	if digest := scriptDigest(words); digest != "" && c.scripts[digest] == "" {
		c.scripts[digest] = step
	}
	c.inFlight[key] = append(c.inFlight[key], id)
	c.came[id] = h.w.Now()
	h.w.mu.Unlock()
	return func() {
		h.w.mu.Lock()
		defer h.w.mu.Unlock()
		delete(c.came, id)
		ids := c.inFlight[key]
		for i, other := range ids {
			if other == id {
				c.inFlight[key] = append(ids[:i:i], ids[i+1:]...)
				break
			}
		}
		if len(c.inFlight[key]) == 0 {
			delete(c.inFlight, key)
		}
	}
}

// callOf returns the call that a command just written belongs to, or 0.
func (w *World) callOf(l *network.Link, s *server, args []string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.outside.processes[l.Client]) > 0 {
		return w.guess(l.Client, s, args)
	}
	key := commandKey(l.Client, s, args)
	ids := w.calls.inFlight[key]
	switch {
	case len(ids) == 0 && w.outside.dialing[l.Client]:
		return w.guess(l.Client, s, args)
	case len(ids) == 0:
		return 0
	}
	id := ids[0]
	if len(ids) > 1 {
		id = w.writerOf(l, ids)
	}
	turn := slices.Index(ids, id)
	w.calls.inFlight[key] = append(slices.Delete(slices.Clone(ids), turn, turn+1), id)
	return id
}

// writerOf tells which of several calls that say the same at once, such as two queries, has just written
// it. Each does, but who has to connect first is the later one. Whose copy it is that go-redis sends
// again is a guess: they take turns.
func (w *World) writerOf(l *network.Link, ids []int64) int64 {
	unsent := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return w.log.sent[id] })
	now := w.Now()
	for _, id := range unsent {
		if w.log.opened[l] == id || w.log.opened[l] == 0 && w.calls.came[id] == now {
			return id
		}
	}
	switch len(unsent) {
	case 0:
		unsent = ids
	case 1:
		return unsent[0]
	}
	for _, id := range unsent {
		if stepOf(w.rec.Op(id).Kind) == history.StepQuery {
			w.log.shared[id] = true
		}
	}
	return unsent[0]
}

// beganAt is when a command of no call that was just written began: before it is written go-redis
// may have to connect.
func (w *World) beganAt(client string, s *server, args []string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls.begun[commandKey(client, s, args)]
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
