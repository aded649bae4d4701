package world

import (
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
	listens bool          // it has ever subscribed to something

	mu    sync.Mutex
	queue [][]string // a command that may block, and what came behind it
}

// Command implements [network.Server]. A command that may block is executed by a goroutine of its own.
func (c *conn) Command(args []string) {
	if name := strings.ToUpper(args[0]); name == "SUBSCRIBE" || name == "PSUBSCRIBE" {
		c.listens = true
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
	}
	c.peer.Flush()
	if c.peer.Closed() { // it has said QUIT
		c.end.Close()
	}
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
