package lockimpl

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// hub is the client's one pub/sub connection. Each lock that is waited for has one subscription on
// it, shared by all local waiters; the connection exists while there are subscriptions.
//
// One goroutine (serve) connects and reads. Others only write SUBSCRIBE and UNSUBSCRIBE, and only
// while a connection stands: a redis.PubSub holds its mutex while it dials, and nobody may be
// caught waiting for that mutex. (It would be a stall in production, and in a testing/synctest
// bubble, where waiting for a mutex is not idleness, a deadlock.) So that go-redis does not dial
// again by itself in the middle of a read, everything but connect runs under a context that has
// ended: reads do not look at it, dialing does.
//
// Generation Hardened staggers wake-ups over processes. A release wakes a waiter in each of N
// processes, of which one gets the lock: N-1 attempts are in vain, and in the way. So a few
// processes, by chance, try at once, and the others a little later, unless somebody says that it
// got the lock. Clients that do not take part (the faithful generations, Redisson's) try at once,
// as ever; and if nobody says that the lock was taken, all try.
type hub struct {
	client   *Client
	staggers bool

	mu       sync.Mutex
	channels map[string]*channel
	ps       *redis.PubSub  // nil while no connection stands
	unacked  map[string]int // SUBSCRIBEs written on ps and not yet confirmed
	serving  bool           // serve runs
	sweeper  *time.Timer    // not nil while it is to run
	heard    bool           // something came on ps since the server was last asked
	pinger   *time.Timer    // not nil once a ping was due
	opened   uint64
	closed   bool
}

// channel is one subscription.
type channel struct {
	processes int         // that wait, as last heard
	staggered *time.Timer // not nil while a wake-up is put off

	name      string
	manner    *manner
	opened    uint64    // counts the channels as they are opened
	waiters   []*waiter // in order of arrival
	listeners []*func() // called, each in its own goroutine, at every release
	confirmed bool
	open      bool      // a gate that was opened and not closed since: see gate
	idleSince time.Time // when the last of them left
}

// manner is what the messages on a channel mean to its waiters, where it is not that of a lock, of which
// each release wakes one. Hub.mu guards its calls.
type manner struct {
	// heard wakes waiters for a message.
	heard func(ch *channel, payload string)
	// refused is called when the attempt that a waiter was woken for was refused: what was there may be enough for others. Nil: it is not.
	refused func(ch *channel, w *waiter)
	// leaves is called when a waiter, removed by then, leaves: what it was woken for may be another's.
	leaves func(ch *channel, w *waiter, acquired bool)
	// resumed wakes waiters when a subscription that had broken stands again, for they may have missed messages.
	resumed func(ch *channel, waiters []*waiter)
}

func (ch *channel) idle() bool { return len(ch.waiters) == 0 && len(ch.listeners) == 0 }

// waiter is one local waiter for releases.
type waiter struct {
	ch    *channel
	wake  chan struct{} // holds at most one wake-up
	ready chan struct{} // closed once the subscription was confirmed
	need  int64         // how much it asks for: see place
	offer int64         // how much was there for it, and for those behind it, when it was last woken; 0: not known
	owes  bool          // a wake-up was given to it and no attempt has answered it yet
	isSet bool          // ready is closed
}

// dead has ended: see hub.
var dead = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Delays between attempts to connect: 50 ms to 2 s by default.
func (o Options) reconnectMin() time.Duration { return max(o.RetryDelay/40, time.Millisecond) }
func (o Options) reconnectMax() time.Duration { return max(o.RetryDelay, time.Millisecond) }

func newHub(c *Client) *hub {
	_, staggers := c.proto.(*hardened)
	return &hub{client: c, staggers: staggers, channels: map[string]*channel{}}
}

// joinConfirmed is join for a place whose subscription stands, and nil for any other.
func (h *hub) joinConfirmed(p place) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[p.channel]; ch != nil && ch.confirmed {
		return h.add(ch, p)
	}
	return nil
}

// join adds a waiter at p and sees to it that there is, or will be, a subscription.
func (h *hub) join(p place) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(h.open(p.channel), p)
}

// listen has f called at every release that is published at p, until stop is called.
func (h *hub) listen(p place, f func()) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.open(p.channel)
	ch.manner = p.manner
	ch.listeners = append(ch.listeners, &f)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		ch.listeners = slices.DeleteFunc(ch.listeners, func(other *func()) bool { return other == &f })
		h.left(ch)
	}
}

// open returns the channel, subscribed to or about to be.
func (h *hub) open(name string) *channel {
	ch := h.channels[name]
	if ch == nil {
		h.opened++
		ch = &channel{name: name, opened: h.opened}
		h.channels[name] = ch
		switch {
		case h.ps != nil:
			h.subscribe(name)
		case !h.serving && !h.closed:
			h.serveSoon()
		}
	}
	return ch
}

// serveSoon starts serve, unless the client is closed.
func (h *hub) serveSoon() {
	if h.client.begin() == nil {
		h.serving = true
		go h.serve()
	}
}

func (h *hub) add(ch *channel, p place) *waiter {
	ch.manner = p.manner
	if len(ch.waiters) == 0 {
		ch.open = false
	}
	w := &waiter{ch: ch, need: p.need, wake: make(chan struct{}, 1), ready: make(chan struct{})}
	if ch.confirmed {
		w.setReady()
	}
	ch.waiters = append(ch.waiters, w)
	return w
}

func (w *waiter) setReady() {
	if !w.isSet {
		w.isSet = true
		close(w.ready)
	}
}

// confirmed reports whether the subscription was confirmed since the waiter joined.
func (w *waiter) confirmed() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// subscribe writes SUBSCRIBE. An error need not be looked at: it breaks the connection, and serve
// begins anew.
func (h *hub) subscribe(names ...string) {
	for _, name := range names {
		h.unacked[name]++
	}
	_ = h.ps.Subscribe(dead, names...)
}

// attempted records that w's attempt, made after its last wake-up, was answered.
func (h *hub) attempted(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.unread() {
		return
	}
	woken := w.owes
	if w.owes = false; w.ch.open {
		w.wakeUp()
	}
	if woken && w.ch.manner != nil && w.ch.manner.refused != nil {
		w.ch.manner.refused(w.ch, w)
	}
}

// leave removes w. A wake-up that it leaves unread goes to the next, and one that it leaves
// unanswered does, unless it got the lock.
func (h *hub) leave(w *waiter, acquired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := w.ch
	ch.waiters = slices.DeleteFunc(ch.waiters, func(other *waiter) bool { return other == w })
	switch {
	case ch.manner != nil:
		ch.manner.leaves(ch, w, acquired)
	case w.owes && !acquired || w.unread():
		ch.wakeOne()
	}
	h.left(ch)
}

// left begins the lingering of a channel that nobody uses any more.
func (h *hub) left(ch *channel) {
	if ch.idle() && h.channels[ch.name] == ch {
		ch.idleSince = time.Now()
		h.sweepIn(h.linger())
	}
}

func (h *hub) linger() time.Duration { return max(0, h.client.opts.SubscriptionLinger) }

// wakeOne wakes the first waiter that has no wake-up to answer: one release, one attempt.
func (ch *channel) wakeOne() { wakeOne(ch.waiters) }

func wakeOne(waiters []*waiter) {
	for _, w := range waiters {
		if !w.owes {
			w.wakeUp()
			return
		}
	}
	// All that were woken before may have attempts under way that came too early.
	if len(waiters) > 0 && !slices.ContainsFunc(waiters, (*waiter).unread) {
		waiters[0].wakeUp()
	}
}

// wakeUp gives w a wake-up. The one before must have been read.
func (w *waiter) wakeUp() {
	w.owes = true
	w.wake <- struct{}{}
}

func (w *waiter) unread() bool { return len(w.wake) > 0 }

// sweepIn arranges for sweep to run.
func (h *hub) sweepIn(d time.Duration) {
	if h.closed || h.sweeper != nil {
		return
	}
	if d == 0 {
		h.drop()
		return
	}
	h.sweeper = time.AfterFunc(d, h.sweep)
}

// sweep drops the subscriptions that have had no waiter for long enough.
func (h *hub) sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweeper = nil
	if !h.closed {
		h.drop()
	}
}

func (h *hub) drop() {
	var idle []string
	next := time.Duration(-1)
	for name, ch := range h.channels {
		if !ch.idle() {
			continue
		}
		if left := h.linger() - time.Since(ch.idleSince); left > 0 {
			if next < 0 || left < next {
				next = left
			}
			continue
		}
		idle = append(idle, name)
		delete(h.channels, name)
	}
	slices.Sort(idle)
	if h.ps != nil {
		if len(h.channels) == 0 {
			h.disconnect()
		} else if len(idle) > 0 {
			_ = h.ps.Unsubscribe(dead, idle...)
		}
	}
	if next > 0 {
		h.sweepIn(next)
	}
}

// disconnect closes the connection; serve notices.
func (h *hub) disconnect() {
	_ = h.ps.Close()
	h.ended()
}

// ended forgets the connection.
func (h *hub) ended() {
	h.ps = nil
	if h.pinger != nil {
		h.pinger.Stop()
	}
}

// pingLater has the server asked for a sign of life on ps.
func (h *hub) pingLater(ps *redis.PubSub) {
	if every := h.client.opts.PingInterval; every > 0 {
		h.pinger = time.AfterFunc(every, func() { h.ping(ps) })
	}
}

// ping asks the server for a sign of life. A connection on which nothing came since the last time is deaf: whoever
// drops its packets tells neither end, and releases go unheard. It is closed, and serve connects anew.
func (h *hub) ping(ps *redis.PubSub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ps != ps: // it has ended meanwhile
	case h.heard:
		h.heard = false
		_ = h.ps.Ping(dead)
		h.pingLater(ps)
	default:
		_ = ps.Close()
	}
}

// unconfirmed closes the connection on which w's subscription was not confirmed in time. A waiter that joined later would wait for the
// same confirmation, which does not come. So serve subscribes anew.
func (h *hub) unconfirmed(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ps != nil && h.channels[w.ch.name] == w.ch && !w.ch.confirmed {
		_ = h.ps.Close()
	}
}

func (h *hub) hears() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = true
}

// close ends serve. It waits for nothing: serve is part of the client's work.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.sweeper != nil {
		h.sweeper.Stop()
		h.sweeper = nil
	}
	for _, ch := range h.channels {
		if ch.staggered != nil {
			ch.staggered.Stop()
			ch.staggered = nil
		}
	}
	if h.ps != nil {
		h.disconnect()
	}
}

// serve keeps a connection with a subscription for each channel, until there are no channels.
func (h *hub) serve() {
	defer h.client.work.Done()
	delay := h.client.opts.reconnectMin()
	for {
		ps, err := h.connect()
		if ps == nil {
			return
		}
		if err == nil && h.read(ps) {
			delay = h.client.opts.reconnectMin() // it worked: begin with the shortest delay again
		}
		broke := h.lost(ps) || err != nil
		_ = ps.Close()
		if !broke {
			continue // we closed it: connect at once if somebody waits again
		}
		h.client.pause(delay)
		delay = min(2*delay, h.client.opts.reconnectMax())
	}
}

// connect dials and subscribes. A nil PubSub says that nobody waits any more.
func (h *hub) connect() (*redis.PubSub, error) {
	h.mu.Lock()
	if h.closed || len(h.channels) == 0 {
		h.serving = false
		h.mu.Unlock()
		return nil, nil
	}
	first := h.oldest()
	h.mu.Unlock()

	// The others follow when the connection stands. Whether one that is opened just now is among them already is for nobody
	// to see.
	ps := h.client.rdb.Subscribe(h.client.closing) // no channel, no connection yet
	if err := ps.Subscribe(h.client.closing, first); err != nil {
		return ps, err
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	h.ps = ps
	h.heard = false // the SUBSCRIBE is a question, too
	h.pingLater(ps)
	h.unacked = map[string]int{first: 1}
	// Meanwhile channels came and went.
	var came, gone []string
	for _, name := range h.names() {
		if name != first {
			came = append(came, name)
		}
	}
	if h.channels[first] == nil {
		gone = append(gone, first)
	}
	switch {
	case h.closed || len(h.channels) == 0:
		h.disconnect()
	default:
		if len(gone) > 0 {
			_ = ps.Unsubscribe(dead, gone...)
		}
		if len(came) > 0 {
			h.subscribe(came...)
		}
	}
	return ps, nil
}

// oldest returns the channel that was opened first.
func (h *hub) oldest() string {
	var first *channel
	for _, ch := range h.channels {
		if first == nil || ch.opened < first.opened {
			first = ch
		}
	}
	return first.name
}

// names returns the channels, sorted.
func (h *hub) names() []string {
	names := make([]string, 0, len(h.channels))
	for name := range h.channels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// read handles what the server sends, until the connection breaks or is closed. It reports
// whether anything came.
func (h *hub) read(ps *redis.PubSub) (worked bool) {
	for {
		message, err := ps.ReceiveTimeout(dead, 0)
		if err != nil {
			return worked
		}
		worked = true
		h.hears()
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				h.confirm(m.Channel)
			}
		case *redis.Message:
			if h.heardBy(m.Channel, m.Payload) {
				continue
			}
			if m.Payload == unlockMessage {
				h.released(m.Channel)
			} else if n, ok := strings.CutPrefix(m.Payload, takenMessage); ok && h.staggers {
				h.taken(m.Channel, n)
			}
		}
	}
}

// confirm handles the confirmation of a SUBSCRIBE. Only the last one written for a channel counts:
// between an earlier one and it lies an UNSUBSCRIBE.
func (h *hub) confirm(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unacked[name]--; h.unacked[name] > 0 {
		return
	}
	delete(h.unacked, name)
	ch := h.channels[name]
	if ch == nil {
		return
	}
	ch.confirmed = true
	// Waiters from before a reconnection may have missed a release: one of them looks. The others
	// make an attempt anyway, now that they become ready.
	before := slices.DeleteFunc(slices.Clone(ch.waiters), func(w *waiter) bool { return !w.isSet })
	if ch.manner != nil {
		ch.manner.resumed(ch, before)
	} else {
		wakeOne(before)
	}
	for _, w := range ch.waiters {
		w.setReady()
	}
}

// heardBy hands a message to the channel's manner, and reports whether it has one.
func (h *hub) heardBy(name, payload string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	if ch == nil || ch.manner == nil {
		return false
	}
	ch.manner.heard(ch, payload)
	for _, listener := range ch.listeners {
		go (*listener)()
	}
	return true
}

// lost forgets a connection that ended, and reports whether it ended by itself.
func (h *hub) lost(ps *redis.PubSub) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.channels {
		ch.confirmed = false
	}
	if h.ps != ps {
		return false
	}
	h.ended()
	return true
}
