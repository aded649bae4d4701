package network

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// What faults do to messages, connections and clients. All of it is for the world's goroutine, at
// a moment when everything is at rest and collected.

// Drop takes m, which Next returned, off its queue and loses it. What follows it on its connection
// the same way is lost as well, since TCP delivers nothing behind a gap; only the end of the
// connection still arrives.
func (n *Network) Drop(m *Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m.Link.take(m)
	if !m.Link.hole[m.Dir] {
		m.Link.hole[m.Dir], m.Link.gap[m.Dir] = true, m.Sent
	}
	n.forget(m.Link)
}

// Take takes m, which Next returned, off its queue. Somebody else answers it, with Answer.
func (n *Network) Take(m *Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m.Link.take(m)
}

// Answer sends data to the client on a connection, as the server would.
func (n *Network) Answer(l *Link, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.write(l, ToClient, chunk{kind: Data, data: data})
}

// Postpone has m, which Next returned, arrive at due instead. What follows it on its connection
// the same way waits for it.
func (n *Network) Postpone(m *Message, due time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m.Due = due
}

// Copy has copies of requests of one connection arrive at due, in order, on a connection of their own, as from a middleman that
// sends again what it thinks was lost. The server's answers to them go to nobody.
func (n *Network) Copy(due time.Time, requests ...*Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.copies++
	first := requests[0]
	l := n.newLink(first.Link.Client, copyNumber+n.copies, fmt.Sprintf("%s+%d", first.Link.Name, n.copies))
	l.Copy, l.ends[ToClient].closed = true, true
	l.enqueue(&Message{Link: l, Dir: ToServer, Kind: Connect, Sent: first.Sent}, due.Add(-time.Microsecond))
	for _, m := range requests {
		l.enqueue(&Message{Link: l, Dir: ToServer, Kind: Data, Data: m.Data, Args: m.Args, Sent: m.Sent, Note: m.Note}, due)
	}
	l.enqueue(&Message{Link: l, Dir: ToServer, Kind: Close, Sent: first.Sent}, due.Add(time.Microsecond))
}

// copyNumber is above the numbers of all connections that clients dial.
const copyNumber = 1 << 30

// Reset breaks a connection: what is under way on it is lost, and both ends learn of it at once.
func (n *Network) Reset(l *Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reset(l)
}

// Break breaks all connections of a client, or of all clients for "", and returns them. Their ends have yet to
// be told.
func (n *Network) Break(client string) (broken []*Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		if (client == "" || l.Client == client) && !l.broken {
			l.snap()
			broken = append(broken, l)
		}
	}
	return broken
}

// Hasten ends what faults did to messages under way: what was delayed takes a latency from now, and connections that lost
// data break, and are returned. Their ends have yet to be told. What partitions and pauses hold up it leaves alone.
func (n *Network) Hasten(now time.Time) (broken []*Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	soon := now.Add(n.latency.Max)
	for _, l := range n.links {
		if (l.hole[ToServer] || l.hole[ToClient]) && !l.broken {
			l.snap()
			broken = append(broken, l)
		}
		for dir, q := range l.queue {
			if !slices.ContainsFunc(q, func(m *Message) bool { return m.Due.After(soon) }) {
				continue
			}
			l.queue[dir], l.last[dir] = nil, now
			for _, m := range q {
				due := m.Due
				if due.After(soon) {
					due = now.Add(n.delay(l))
				}
				l.enqueue(m, due)
			}
		}
	}
	return broken
}

// Tell tells the ends of broken connections, one after the other; apart is called in between.
func (n *Network) Tell(broken []*Link, apart func()) {
	for i, l := range broken {
		if i > 0 {
			apart()
		}
		n.mu.Lock()
		n.snapped(l)
		n.mu.Unlock()
	}
}

func (n *Network) reset(l *Link) {
	l.snap()
	n.snapped(l)
}

// snap breaks a connection, and snapped tells its ends.
func (l *Link) snap() {
	l.broken = true
	l.queue, l.raw = [2][]*Message{}, [2][]chunk{}
	if !l.accepted {
		l.ends[ToServer].closed = true // the server never had it
	}
}

func (n *Network) snapped(l *Link) {
	if !l.isUp {
		l.isUp = true
		close(l.up)
	}
	for _, e := range l.ends {
		e.stir()
	}
	n.forget(l)
}

// Refuse has the server refuse connections, or accept them again.
func (n *Network) Refuse(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

// ErrRefused is what Dial returns when nobody listens.
var ErrRefused = fmt.Errorf("connect: %w", syscall.ECONNREFUSED)

// ErrReset is what reading from a connection that was broken returns.
var ErrReset = fmt.Errorf("connection: %w", syscall.ECONNRESET)

// Freeze stops a client's process: what it writes stays where it is, what it is sent waits to be
// read, and its read deadlines do not come, until as many calls of [Network.Thaw].
func (n *Network) Freeze(client string) {
	n.mu.Lock()
	n.frozen[client]++
	n.mu.Unlock()
	n.Block(client, ToClient)
}

// Grace is how long after a thaw those deadlines come that came due before: a process that wakes up
// reads what waits in its sockets before it calls anything late.
const Grace = 50 * time.Millisecond

// Thaw undoes one Freeze. It returns how many messages had been waiting for the client.
func (n *Network) Thaw(client string, now time.Time) int {
	n.mu.Lock()
	if n.frozen[client]--; n.frozen[client] == 0 {
		for _, l := range n.links {
			if e := l.ends[ToClient]; l.Client == client && e.overslept {
				e.overslept = false
				e.wakeAfter(Grace)
			}
		}
	}
	n.mu.Unlock()
	return n.Heal(client, ToClient, now)
}

// Cut ends a client's process: from now on nothing that it writes leaves it, and nothing reaches
// it. Its connections linger, or are reset by its operating system.
func (n *Network) Cut(client string, reset bool, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[client] = true
	for _, l := range n.links {
		if l.Client == client && reset && l.accepted {
			l.enqueue(&Message{Link: l, Dir: ToServer, Kind: Close, Sent: now}, now.Add(n.delay(l)))
		}
	}
}

// Down reports whether the server refuses connections.
func (n *Network) Down() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.down
}

// take removes m, the first of its queue.
func (l *Link) take(m *Message) {
	if !l.first(m) {
		panic(errors.New("network: a message that is not the first of its connection"))
	}
	l.queue[m.Dir] = l.queue[m.Dir][1:]
}

// Ready reports whether m, which Next returned, could still be delivered: it is where it was, and
// nothing holds it up.
func (n *Network) Ready(m *Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return m.Link.first(m) && n.blocked[m.Link.Client][m.Dir] == 0
}

// Queued reports whether m, which Next returned, is still there.
func (n *Network) Queued(m *Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return m.Link.first(m)
}

func (l *Link) first(m *Message) bool {
	q := l.queue[m.Dir]
	return len(q) > 0 && q[0] == m
}
