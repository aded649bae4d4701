package world

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// server is one Redis server, with the network that leads to it.
type server struct {
	name  string // "" if it is the only one
	redis *miniredis.Miniredis
	net   *network.Network
	admin net.Conn // for what faults do

	keys   []string                    // of locks, in the order of the plan
	state  map[string]history.KeyState // of each, as last seen; it changes only under our eyes
	values map[string]string           // owner by value, for locks whose key is a string
	scene  *delivery                   // the command that arrived last, whose effect is still to be looked at
	skew   time.Duration               // how far its clock is ahead
	knows  map[string]bool             // scripts, by their digests

	replicas []*replica
}

func (w *World) newServer(p plan.Server, runSeed uint64, l network.Latency) (*server, error) {
	s := &server{name: p.Name, state: map[string]history.KeyState{}, values: map[string]string{}, knows: map[string]bool{}}
	s.redis = miniredis.NewMiniRedis()
	s.redis.ClockTTL(true)
	s.redis.Seed(int(runSeed))
	var err error
	if s.admin, err = s.redis.Dial(); err != nil { // starts it without a listener
		return nil, fmt.Errorf("miniredis: %w", err)
	}
	s.net = network.New(runSeed, l, w.notify, func(c net.Conn) { s.redis.Server().ServeConn(c) }).To(p.Name)
	for range p.Replicas {
		s.replicas = append(s.replicas, &replica{lag: p.Lag.Duration()})
	}
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
func (w *World) do(s *server, args ...string) {
	w.tick(s)
	command := "*" + strconv.Itoa(len(args)) + "\r\n"
	for _, a := range args {
		command += "$" + strconv.Itoa(len(a)) + "\r\n" + a + "\r\n"
	}
	before := w.snapshotStates(s)
	s.admin.Write([]byte(command)) // a pipe that the server reads: it neither fails nor blocks for long
	reply, err := bufio.NewReader(s.admin).ReadString('\n')
	if err != nil {
		w.Fail(fmt.Errorf("the fault injector's %s: %w", args[0], err))
		return
	}
	now := w.Now()
	base := history.Served{At: now, Sent: now, Got: now, Server: s.name, Client: injector, Conn: injector,
		Step: history.StepAdmin, Text: commandText(args), Reply: network.ReplyText([]byte(reply))}
	rows := 0
	for i, key := range s.keys {
		after := w.look(s, key, now)
		if !slices.Contains(args[1:], key) && same(before[i], after) {
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
	w.record(s)
}

// injector is what the server log calls the fault injector.
const injector = "faults"

func (w *World) snapshotStates(s *server) []history.KeyState {
	states := make([]history.KeyState, len(s.keys))
	for i, key := range s.keys {
		states[i] = s.state[key]
	}
	return states
}

func same(a, b history.KeyState) bool {
	return a.Deadline == b.Deadline && slices.Equal(a.Holdings, b.Holdings)
}

// tick sets a server's clock, if it is not that of the run.
func (w *World) tick(s *server) {
	if s.skew != 0 {
		s.redis.SetTime(time.Now().Add(s.skew))
	}
}
