package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-sim/holdfast/sim/network"
)

// conn is a connection at a miniredis. Commands that arrive are executed then and there, by the world's
// goroutine: miniredis would have two goroutines read each connection, and parse again what the network
// has parsed, which was a tenth of what a run in virtual time cost.
type conn struct {
	server  *mini.Server
	end     *network.End
	peer    *mini.Peer
	info    func() string // what it answers to INFO
	fail    func(error)   // ends the run
	listens bool          // it has ever subscribed to something

	mu    sync.Mutex
	heeds map[string]bool // channels that it is subscribed to
	queue [][]string      // a command that may block, and what came behind it
}

// LacksError ends a run in which somebody listens for what a real Redis tells of its keys, and miniredis does not: nobody would be woken.
type LacksError struct{ Client, Channel string }

func (e *LacksError) Error() string {
	return fmt.Sprintf("%s subscribes to %s, and the server of this world has no keyspace notifications: a worker with -world redis has a real one", e.Client, e.Channel)
}

// tellsOfKeys reports whether a channel, or a pattern of channels, is one of keyspace notifications.
func tellsOfKeys(channel string) bool {
	return strings.HasPrefix(channel, "__keyspace") || strings.HasPrefix(channel, "__keyevent") || strings.HasPrefix(channel, "__key*")
}

// Command implements [network.Server]. A command that may block is executed by a goroutine of its own.
func (c *conn) Command(args []string) {
	if name := strings.ToUpper(args[0]); name == "SUBSCRIBE" || name == "PSUBSCRIBE" {
		c.listens = true
		if i := slices.IndexFunc(args[1:], tellsOfKeys); i >= 0 {
			client, _, _ := strings.Cut(c.end.Name(), "#")
			c.fail(&LacksError{client, args[1+i]})
		}
	}
	c.mu.Lock()
	behind := len(c.queue) > 0
	now := !behind && !blocks(args)
	if !now {
		c.queue = append(c.queue, args)
	}
	c.mu.Unlock()
	switch {
	case now:
		c.execute(args)
	case !behind:
		go c.work()
	}
}

// work executes what is in the queue.
func (c *conn) work() {
	for more := true; more; {
		c.mu.Lock()
		args := c.queue[0]
		c.mu.Unlock()
		c.execute(args)
		c.mu.Lock()
		c.queue = c.queue[1:]
		more = len(c.queue) > 0
		c.mu.Unlock()
	}
}

func (c *conn) execute(args []string) {
	if c.peer.Closed() {
		return
	}
	if strings.EqualFold(args[0], "info") { // miniredis knows two of its sections
		c.peer.WriteBulk(c.info())
	} else {
		c.server.Dispatch(c.peer, args)
		c.subscribed(args)
	}
	c.peer.Flush()
	if c.peer.Closed() { // it has said QUIT
		c.end.Close()
	}
}

// subscribed notes what a command does to the subscriptions to channels.
func (c *conn) subscribed(args []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch name := strings.ToUpper(args[0]); {
	case name == "SUBSCRIBE":
		if c.heeds == nil {
			c.heeds = map[string]bool{}
		}
		for _, channel := range args[1:] {
			c.heeds[channel] = true
		}
	case name == "UNSUBSCRIBE" && len(args) == 1:
		c.heeds = nil
	case name == "UNSUBSCRIBE":
		for _, channel := range args[1:] {
			delete(c.heeds, channel)
		}
	}
}

// channels lists the channels that an open connection is subscribed to, in the order of their names.
func (c *conn) channels() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer.Closed() {
		return nil
	}
	return slices.Sorted(maps.Keys(c.heeds))
}

// A Listener is a client that is subscribed to a channel.
type Listener struct{ Client, Channel string }

// Listeners lists who is subscribed at servers in virtual time, by server and connection. What real servers know is not asked for.
func (w *World) Listeners() (all []Listener) {
	for _, s := range w.servers {
		v, ok := s.backend.(*virtual)
		if !ok {
			continue
		}
		for _, c := range v.conns {
			client, _, _ := strings.Cut(c.end.Name(), "#")
			client, _, _ = strings.Cut(client, "@") // "<client>@<server>" has a group's members
			for _, channel := range c.channels() {
				all = append(all, Listener{client, channel})
			}
		}
	}
	return all
}

// Gone implements [network.Server].
func (c *conn) Gone() {
	c.peer.Close()
	c.end.Close()
	if c.listens { // miniredis forgets by itself only those connections that it reads
		c.listens = false
		c.server.Dispatch(c.peer, []string{"UNSUBSCRIBE"})
		c.server.Dispatch(c.peer, []string{"PUNSUBSCRIBE"})
	}
}
