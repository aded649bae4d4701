package world

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/evidence"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/seed"
)

// backend is a Redis server, as the world needs it. Replicas are numbered from 1. An error ends the
// run.
type backend interface {
	// serve takes the server's end of a client's connection.
	serve(end *network.End)
	// tick is called before a message arrives.
	tick()
	// do executes a command of the fault injector, and returns the first line of the reply.
	do(args ...string) (string, error)
	// read returns what a key holds, and stored which keys of the run there are, in order.
	read(key string) (value, error)
	stored() ([]string, error)
	// written is called after data may have changed.
	written()

	stop() error
	start() error
	// jump moves the clock, or has the keys given see it so.
	jump(by time.Duration, keys []string) error
	// timeOf puts a time of the server's clock, in ms, into that of the run.
	timeOf(ms int64) time.Duration

	stopReplication(replica int)
	resumeReplication(replica int)
	// promote has a replica become the master.
	promote(replica int) error
	// acknowledged returns how many replicas have received everything, and when one more will have; 0
	// if none will. If it is not known here, the server itself answers WAIT.
	acknowledged() (n int, next time.Duration, known bool)

	close()
}

// value is what a key holds.
type value struct {
	key      string
	kind     string             // as TYPE says; "": there is no such key
	text     string             // of a string
	fields   map[string]string  // of a hash
	items    []string           // of a list or a set, as far as a replica needs them
	scores   map[string]float64 // of a sorted set, likewise
	entries  []entry            // of a stream, likewise
	deadline time.Duration      // 0: none
}

// entry is one of a stream: its id, and fields and values in turn.
type entry struct {
	id     string
	fields []string
}

// server is one Redis server, with the network that leads to it.
type server struct {
	backend
	name string // "" if it is the only one
	net  *network.Network

	keys    []string          // of locks, by their names, in the order of the plan
	longest []string          // the same, the longest first
	lockOf  map[string]string // of each key that the server can have, one of those
	// objects are the kinds of objects that its keys are.
	objects map[string]history.Object
	state   map[string]history.KeyState // of each, as last seen; it changes only under our eyes
	names   evidence.Names              // whose values of keys are
	scene   *delivery                   // the command that arrived last, whose effect is still to be looked at
	knows   map[string]bool             // scripts, by their digests
}

func (w *World) newServer(p plan.Server, chance *seed.Chance, l network.Latency) (*server, error) {
	s := &server{name: p.Name, lockOf: map[string]string{}, objects: map[string]history.Object{}, state: map[string]history.KeyState{}, knows: map[string]bool{}}
	var err error
	if s.backend, err = w.ground.open(w, p, chance.Seed); err != nil {
		return nil, err
	}
	s.net = network.New(chance, l, w.Notify, s.serve).To(p.Name)
	return s, nil
}

// server returns the server of that name, "" being the first.
func (w *World) server(name string) *server {
	if name == "" {
		return w.servers[0]
	}
	return w.servers[slices.IndexFunc(w.servers, func(s *server) bool { return s.name == name })]
}

// do sends a command of the fault injector, awaits the answer, and writes it into the server log.
func (w *World) do(s *server, args ...string) { w.doSince(w.snapshotStates(s), s, args...) }

// doSince is do, after something that has changed keys: the log then shows the keys as they were before
// that.
func (w *World) doSince(before []history.KeyState, s *server, args ...string) {
	reply, err := s.do(args...)
	if err != nil {
		w.Fail(fmt.Errorf("the fault injector's %s: %w", args[0], err))
		return
	}
	w.logged(s, before, history.Served{Text: commandText(args), Reply: network.ReplyText([]byte(reply))}, args[1:]...)
	s.written()
}

// logged writes what the fault injector did into the server log: what became of the keys named, and
// of those that changed.
func (w *World) logged(s *server, before []history.KeyState, base history.Served, named ...string) {
	now := w.Now()
	base.At, base.Sent, base.Got = now, now, now
	base.Server, base.Client, base.Conn, base.Step = s.name, injector, injector, history.StepAdmin
	rows := 0
	for i, key := range s.keys {
		after := w.look(s, key)
		if !slices.ContainsFunc(named, func(k string) bool { return s.lockOf[k] == key }) && before[i].Equal(after) {
			continue
		}
		r := base
		r.Lock, r.Before, r.After = key, &before[i], &after
		w.log.rows = append(w.log.rows, &row{Served: r, done: true})
		rows++
	}
	if rows == 0 {
		w.log.rows = append(w.log.rows, &row{Served: base, done: true})
	}
	w.flush(false)
}

// injector is what the server log calls the fault injector.
const injector = "faults"

// snapshotStates are the keys of locks, as last seen.
func (w *World) snapshotStates(s *server) []history.KeyState {
	states := make([]history.KeyState, len(s.keys))
	for i, key := range s.keys {
		states[i] = s.state[key]
	}
	return states
}

// part is how the server log names a key.
func (s *server) part(key string) evidence.Part { return evidence.Part{Server: s.name, Key: key} }

// check ends the run if err is not nil.
func (w *World) check(err error) {
	if err != nil {
		w.Fail(err)
	}
}

// wireCommand writes a command as RESP.
func wireCommand(args []string) []byte {
	command := "*" + strconv.Itoa(len(args)) + "\r\n"
	for _, a := range args {
		command += "$" + strconv.Itoa(len(a)) + "\r\n" + a + "\r\n"
	}
	return []byte(command)
}
