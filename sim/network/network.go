package network

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/sim/seed"
)

// Direction is the way a message goes.
type Direction uint8

const (
	ToServer Direction = iota
	ToClient
)

func (d Direction) String() string { return [...]string{"request", "reply"}[d] }

// Kind is what a message carries.
type Kind uint8

const (
	Connect Kind = iota // to the server: a new connection
	Accept              // to the client: the connection stands
	Data
	Close // the sender closed its end
)

// Message is one message on its way.
type Message struct {
	Link  *Link
	Dir   Direction
	Kind  Kind
	Data  []byte
	Args  []string  // of a command to the server, parsed from Data
	Stamp string    // that the client put on the command, see [Stamp]; "": none
	Sent  time.Time // when it was written
	Due   time.Time // when it arrives, unless it is held up
	Note  any       // the world's own
	Born  int       // the world's own
}

// Link is one connection.
type Link struct {
	Name      string // "<client>#<n>", n counting the client's dials from 1
	Client    string
	Copy      bool // a middleman's: what the server replies goes to nobody
	number    int
	ends      [2]*End       // indexed by the direction of what they receive
	queue     [2][]*Message // on their way, in order
	raw       [2][]chunk    // written and not yet collected
	rest      []byte        // the beginning of a command that is not complete
	malformed bool          // it has sent what is no command, and what follows is none
	up        chan struct{} // closed when the accept arrives
	last      [2]time.Time  // the latest due time per direction

	accepted bool         // the server has its end
	isUp     bool         // up is closed
	refused  bool         // nobody listened
	broken   bool         // it was reset
	hole     [2]bool      // data is lost that way
	gap      [2]time.Time // and since when: when the first was sent that was
}

type chunk struct {
	kind  Kind
	data  []byte
	stamp string // of those of its commands that have none, see [End.StampBy]
}

// Latency bounds the one-way delay of a message, which is drawn evenly, or by the connection's
// priority (see priorities.go).
type Latency struct {
	Min, Max   time.Duration
	Priorities bool
	Changes    int // how many connections fall behind all others in the course of the run
}

// Network joins clients to one server. Its methods are safe for concurrent use; those that move
// messages (Collect, Next, Deliver, Block, Heal) are for the world's goroutine.
type Network struct {
	mu      sync.Mutex
	chance  *seed.Chance
	latency Latency
	ranks   *ranks // nil: all connections are equal
	notify  func()
	accept  func(*End)
	links   []*Link // sorted by client and number
	dials   map[string]int
	sources map[string]*rand.Rand
	blocked map[string][2]int // how many partitions are in force
	frozen  map[string]int    // how many pauses are
	cut     map[string]bool   // clients that are no more
	down    bool              // the server refuses connections
	dialing int               // calls of Dial that have not returned
	nowhere []*Link           // that clients dialed after their end
	over    bool              // nobody delivers anything any more
	copies  int
	written bool   // something may be there to be collected
	stirred []*End // to whose servers something may have to be handed over

	server string // for names, when there are several
}

// New returns a network. notify is called, from any goroutine, when something was written; accept
// gets the server's end of each connection as it arrives there.
func New(chance *seed.Chance, l Latency, notify func(), accept func(*End)) *Network {
	n := &Network{chance: chance, latency: l, notify: notify, accept: accept,
		dials: map[string]int{}, sources: map[string]*rand.Rand{}, blocked: map[string][2]int{},
		frozen: map[string]int{}, cut: map[string]bool{}}
	if l.Priorities {
		n.ranks = newRanks(chance, l.Changes)
	}
	return n
}

// To names the server, so that the connections of several networks have different names, and their
// latencies differ. It is to be called before anything else.
func (n *Network) To(server string) *Network {
	n.server = server
	return n
}

// suffix tells this network's names from those of others.
func (n *Network) suffix() string {
	if n.server == "" {
		return ""
	}
	return "@" + n.server
}

// Dial connects a client. It blocks until the connection stands, or ctx ends.
func (n *Network) Dial(ctx context.Context, client string) (net.Conn, error) {
	n.mu.Lock()
	if n.over {
		n.mu.Unlock()
		return nil, ErrRefused
	}
	n.dials[client]++
	n.dialing++
	l := n.newLink(client, n.dials[client], fmt.Sprintf("%s%s#%d", client, n.suffix(), n.dials[client]))
	n.write(l, ToServer, chunk{kind: Connect})
	n.mu.Unlock()
	n.notify()

	defer func() {
		n.mu.Lock()
		n.dialing--
		n.mu.Unlock()
		if ctx.Err() != nil {
			n.notify()
		}
	}()
	end := l.ends[ToClient]
	select {
	case <-l.up:
		if l.refused {
			end.Close()
			return nil, ErrRefused
		}
		return end, nil
	case <-ctx.Done():
		end.Close()
		return nil, ctx.Err()
	}
}

// newLink makes a connection and puts it into its place.
func (n *Network) newLink(client string, number int, name string) *Link {
	l := &Link{Client: client, number: number, Name: name, up: make(chan struct{})}
	for d := range l.ends {
		l.ends[d] = &End{net: n, link: l, receives: Direction(d), readable: sync.NewCond(&n.mu)}
	}
	at, _ := slices.BinarySearchFunc(n.links, l, func(a, b *Link) int {
		if c := strings.Compare(a.Client, b.Client); c != 0 {
			return c
		}
		return a.number - b.number
	})
	n.links = slices.Insert(n.links, at, l)
	return l
}

// Collect takes what was written since the last time, in a stable order, gives every message its
// latency, and returns the new messages.
func (n *Network) Collect(now time.Time) []*Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.written {
		return nil
	}
	n.written = false
	var fresh []*Message
	for _, l := range slices.Clone(n.links) {
		for d := range l.raw {
			dir := Direction(d)
			if len(l.raw[d]) == 0 {
				continue
			}
			if dir == ToServer && n.cut[l.Client] {
				n.lose(l)
				continue
			}
			if dir == ToServer && n.frozen[l.Client] > 0 {
				n.written = true
				continue
			}
			for _, c := range l.raw[d] {
				fresh = append(fresh, n.messages(l, dir, c, now)...)
			}
			l.raw[d] = nil
		}
	}
	return fresh
}

// write notes what was written on a connection. n.mu is held.
func (n *Network) write(l *Link, dir Direction, c chunk) {
	l.raw[dir] = append(l.raw[dir], c)
	n.written = true
}

// lose loses what a client wrote after its end.
func (n *Network) lose(l *Link) {
	connecting := l.raw[ToServer][0].kind == Connect
	l.raw[ToServer] = nil
	if i := slices.Index(n.links, l); connecting && i >= 0 {
		n.links = slices.Delete(n.links, i, i+1) // no server will ever hear of it
		n.nowhere = append(n.nowhere, l)
	}
}

// messages turns what one Write wrote into messages: to the server one for each command, all of
// one Write with one latency.
func (n *Network) messages(l *Link, dir Direction, c chunk, now time.Time) []*Message {
	var out []*Message
	if dir == ToServer && c.kind == Data {
		if l.malformed {
			return nil
		}
		l.rest = append(l.rest, c.data...)
		for {
			args, size, ok := parseCommand(l.rest)
			if ok && size == 0 {
				break
			}
			m := &Message{Link: l, Dir: dir, Kind: Data, Sent: now}
			switch {
			case !ok:
				m.Args, m.Data = []string{"?"}, []byte(malformed)
				l.malformed = true
			case l.rest[0] == '*':
				m.Stamp, m.Args, m.Data = unstamp(args, l.rest[:size:size])
			default: // not every server knows this form
				m.Args, m.Data = args, inArray(args)
			}
			m.Stamp = cmp.Or(m.Stamp, c.stamp)
			if len(m.Args) > 0 {
				out = append(out, m)
			}
			if l.malformed {
				l.rest = nil
				break
			}
			l.rest = l.rest[size:]
		}
	} else {
		out = []*Message{{Link: l, Dir: dir, Kind: c.kind, Data: c.data, Sent: now}}
	}
	due := now.Add(n.delay(l))
	for _, m := range out {
		l.enqueue(m, due)
	}
	return out
}

// enqueue puts m last, due at due or just after what is before it.
func (l *Link) enqueue(m *Message, due time.Time) {
	if !due.After(l.last[m.Dir]) {
		due = l.last[m.Dir].Add(1)
	}
	m.Due, l.last[m.Dir] = due, due
	l.queue[m.Dir] = append(l.queue[m.Dir], m)
}

// delay is how long what was just written on a connection takes.
func (n *Network) delay(l *Link) time.Duration {
	if n.ranks != nil {
		return n.ranks.delay(n.latency, l.Name)
	}
	return n.draw(l.Client)
}

func (n *Network) draw(client string) time.Duration {
	src := n.sources[client]
	if src == nil {
		src = n.chance.Source("network/" + client + n.suffix())
		n.sources[client] = src
	}
	return n.latency.Min + time.Duration(src.Int64N(int64(n.latency.Max-n.latency.Min)+1))
}

// Next returns the message that is due first, and is not held up, or nil.
func (n *Network) Next() *Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	var first *Message
	for _, l := range n.links {
		for d, q := range l.queue {
			if len(q) > 0 && n.blocked[l.Client][d] == 0 && (first == nil || q[0].Due.Before(first.Due)) {
				first = q[0]
			}
		}
	}
	return first
}

// Held returns the first connection on which something is held up or was lost, or nil.
func (n *Network) Held() *Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.links, func(l *Link) bool {
		lost := l.hole[ToServer] || l.hole[ToClient] || n.cut[l.Client] && !l.ends[ToClient].closed
		return !l.broken && (lost || len(l.queue[ToServer])+len(l.queue[ToClient])+len(l.raw[ToServer]) > 0)
	})
	if i >= 0 {
		return n.links[i]
	}
	if i = slices.IndexFunc(n.nowhere, func(l *Link) bool { return !l.broken && !l.ends[ToClient].closed }); i >= 0 {
		return n.nowhere[i]
	}
	return nil
}

// Heads returns the first message of each queue that is not held up, in a stable order.
func (n *Network) Heads() []*Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	var heads []*Message
	for _, l := range n.links {
		for d, q := range l.queue {
			if len(q) > 0 && n.blocked[l.Client][d] == 0 {
				heads = append(heads, q[0])
			}
		}
	}
	return heads
}

// Deliver takes m, which Next returned, off its queue and has it arrive. It reports whether the
// receiving end was there to take it.
func (n *Network) Deliver(m *Message) bool {
	n.mu.Lock()
	l := m.Link
	l.take(m)
	end := l.ends[m.Dir]
	taken := !end.closed && !(m.Dir == ToClient && n.cut[l.Client])
	arrives := m.Kind == Connect && !n.down
	switch m.Kind {
	case Connect:
		n.write(l, ToClient, chunk{kind: Accept})
		if l.accepted, l.refused = !n.down, n.down; n.down {
			end.closed = true
		}
	case Accept:
		if taken || end.closed {
			l.isUp = true
			close(l.up)
		}
	case Data:
		if taken = taken && !l.hole[m.Dir]; taken {
			end.take(m)
		}
	case Close:
		end.eof = true
	}
	end.stir()
	n.forget(l)
	n.mu.Unlock()
	if arrives {
		n.accept(l.ends[ToServer])
	}
	return taken
}

// Arrives reports whether m, which Next returned, will reach the server: nothing does behind a gap, or once the server
// has closed its end.
func (n *Network) Arrives(m *Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !m.Link.hole[m.Dir] && !m.Link.ends[m.Dir].closed
}

// Follows reports whether m, which Next returned, was sent on a connection that had lost what was sent there before, the same way.
func (n *Network) Follows(m *Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return m.Link.hole[m.Dir] && m.Sent.After(m.Link.gap[m.Dir])
}

// forget drops a connection that both ends have closed and that has nothing under way.
func (n *Network) forget(l *Link) {
	if !l.ends[0].closed || !l.ends[1].closed || len(l.queue[0])+len(l.queue[1])+len(l.raw[0])+len(l.raw[1]) > 0 {
		return
	}
	if i := slices.Index(n.links, l); i >= 0 {
		n.links = slices.Delete(n.links, i, i+1)
	}
}

// Block holds up all that a client sends (ToServer) or is sent (ToClient), until as many calls of
// [Network.Heal].
func (n *Network) Block(client string, dir Direction) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.blocked[client]
	b[dir]++
	n.blocked[client] = b
}

// Heal undoes one Block. If it was the last, it lets through what was held up, each message after
// a new latency, and returns how many messages that were.
func (n *Network) Heal(client string, dir Direction, now time.Time) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.blocked[client]
	b[dir] = max(b[dir]-1, 0)
	n.blocked[client] = b
	if b[dir] > 0 {
		return 0
	}
	held := 0
	for _, l := range n.links {
		if l.Client != client {
			continue
		}
		waiting := l.queue[dir]
		l.queue[dir] = nil
		l.last[dir] = now
		for _, m := range waiting {
			due := m.Due
			if !due.After(now) {
				held++
				due = now.Add(n.delay(l))
			}
			l.enqueue(m, due)
		}
	}
	return held
}

// Answered reports whether the server has replied on a connection since the last Collect, or never
// will because the connection is gone. What it publishes is no reply.
func (n *Network) Answered(l *Link) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.broken || l.ends[ToServer].closed {
		return true
	}
	return slices.ContainsFunc(l.raw[ToClient], func(c chunk) bool { return c.kind != Accept && Published(c.data) == "" })
}

// Links returns how many connections there are.
func (n *Network) Links() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.links)
}

// Dialing returns how many calls of Dial have not returned. Of one whose client was cut off there is no
// connection, and it waits until its context ends.
func (n *Network) Dialing() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialing
}

// Close refuses whoever dials, and whoever will: nobody delivers anything any more.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	for _, l := range slices.Concat(n.links, n.nowhere) {
		if !l.isUp {
			l.refused = true
			n.reset(l)
		}
	}
	n.nowhere = nil
}

// HealAll undoes every Block, Freeze, Cut and Refuse. Whoever still dials after its client's end is let go.
func (n *Network) HealAll(now time.Time) {
	n.mu.Lock()
	for _, l := range n.nowhere {
		n.reset(l)
	}
	n.nowhere = nil
	clients := slices.Sorted(maps.Keys(n.blocked))
	for client := range n.blocked {
		n.blocked[client] = [2]int{}
	}
	clear(n.cut)
	n.down = false
	thaw := slices.Sorted(maps.Keys(n.frozen))
	for client := range n.frozen {
		n.frozen[client] = 1
	}
	n.mu.Unlock()
	for _, client := range thaw {
		n.Thaw(client, now)
	}
	for _, client := range clients {
		n.Heal(client, ToServer, now)
		n.Heal(client, ToClient, now)
	}
}
