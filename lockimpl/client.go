package lockimpl

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Owner is who holds a lock: "<client id>:<thread>". Go has no thread ids, so whoever locks says
// as whom. Calls by one owner are re-entrant; calls by two owners exclude each other.
type Owner string

// Client takes locks on one Redis deployment. It owns a watchdog, which renews the locks that its
// owners hold without a lease, and the subscriptions by which its waiters learn of releases. Both
// exist only while there is something to renew or to wait for. It is safe for concurrent use.
//
// Retries: what go-redis does after a network error is the business of the client given to [New]
// (Options.MaxRetries there; by default it sends the same command again, up to three times). The
// generations differ in what a second copy does, and [Current] has some commands sent once: see [Generation].
type Client struct {
	rdb   redis.UniversalClient
	opts  Options
	hub   *hub
	holds *holds
	task  *renewalTask // of generation Current
	proto protocol
	// The protocols of other locks than RLock.
	readers, writers, fair, spin protocol

	slots slots

	lastRequest [requestLines]atomic.Int64 // by the line that an owner draws from

	randomMu sync.Mutex

	closeMu sync.Mutex
	closed  bool
	closing context.Context // ends when Close begins
	stop    context.CancelFunc
	work    sync.WaitGroup // operations, and goroutines they started
}

// New returns a client that sends its commands through rdb, which the caller keeps and closes
// after the client.
//
// rdb's dialer must heed the end of its context, as [net.Dialer] does, and its connections must
// buffer a little of what is written, as TCP does and a bare [net.Pipe] does not: a redis.PubSub is
// written to while it is read.
func New(rdb redis.UniversalClient, o Options) (*Client, error) {
	if rdb == nil {
		return nil, errors.New("lockimpl: no Redis client")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("lockimpl: %w", err)
	}
	c := &Client{rdb: rdb, opts: o, slots: slots{busy: map[string][]bool{}}}
	switch o.Generation {
	case Classic:
		c.proto = faithfulLock(c, acquireClassic, false)
	case Combined:
		c.proto = faithfulLock(c, acquireCombined, false)
	case Latch:
		c.proto = faithfulLock(c, acquireCombined, true)
	case Current:
		p := newCurrent(c)
		c.proto, c.task = p, p.task
	case Hardened:
		c.proto = newHardened(c)
	default:
		return nil, fmt.Errorf("lockimpl: unknown generation %q", o.Generation)
	}
	c.readers, c.writers = rwProtocols(c)
	c.fair, c.spin = fairProtocol(c), spinProtocol(c)
	if o.ID == "" {
		if c.opts.ID, err = c.newUUID(); err != nil {
			return nil, fmt.Errorf("lockimpl: client id: %w", err)
		}
	}
	if err = c.startRequests(); err != nil {
		return nil, fmt.Errorf("lockimpl: request numbers: %w", err)
	}
	c.closing, c.stop = context.WithCancel(context.Background())
	c.hub = newHub(c)
	c.holds = newHolds(c)
	return c, nil
}

// ID returns the client's id.
func (c *Client) ID() string { return c.opts.ID }

// Owner returns the owner for a thread, which may be any number that the caller gives to one
// strand of its program at a time.
func (c *Client) Owner(thread int64) Owner {
	return Owner(c.opts.ID + ":" + strconv.FormatInt(thread, 10))
}

// Lock returns the lock of that name. It costs nothing on the server, and two values of one name
// are the same lock; with generation [Current] each has a lease of its own. A name that cannot be a lock's is reported by the operations.
func (c *Client) Lock(name string) *RLock {
	channel := channelOf(name)
	return &RLock{
		object: object{client: c, name: name, bad: checkName(name)}, proto: c.proto, channel: channel,
		nameArg: name, channelArg: channel, counterArg: counterOf(name),
	}
}

// Close stops the watchdog and the subscriptions, has waiters return [ErrClosed], and returns when
// all calls and goroutines have ended; calls that await a reply end with it, or with go-redis's
// timeouts. Locks that are still held stay so until their leases end. It does not close the Redis
// client. Further calls do nothing.
func (c *Client) Close() error {
	c.closeMu.Lock()
	c.closed = true
	c.closeMu.Unlock()
	c.task.close()
	c.stop()
	c.holds.close()
	c.hub.close()
	c.work.Wait()
	return nil
}

// begin admits an operation, which must end with c.work.Done.
func (c *Client) begin() error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.work.Add(1)
	return nil
}

// pause waits for d, and reports false if the client was closed meanwhile.
func (c *Client) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closing.Done():
		return false
	}
}

func (c *Client) random(b []byte) error {
	c.randomMu.Lock()
	defer c.randomMu.Unlock()
	_, err := io.ReadFull(c.opts.Random, b)
	return err
}

// newRequestID returns 32 hexadecimal digits, as Redisson's request ids.
func (c *Client) newRequestID() (string, error) {
	var b [16]byte
	if err := c.random(b[:]); err != nil {
		return "", fmt.Errorf("request id: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// requestBase makes request numbers have 16 digits from 1970 to 2223, so that scripts can compare
// them as strings.
const requestBase = 1_000_000_000_000_000

// startRequests sets the number before the first request's. Numbers follow the clock in
// microseconds, so that those of a client that takes over an id are higher than its forerunner's;
// they begin up to a second ahead, by chance, so that none is equal.
func (c *Client) startRequests() error {
	var ahead [4]byte
	err := c.random(ahead[:])
	first := requestBase + time.Now().UnixMicro() + int64(binary.BigEndian.Uint32(ahead[:])%1e6)
	for i := range c.lastRequest {
		c.lastRequest[i].Store(first)
	}
	return err
}

// requestLines is how many lines of numbers there are. Numbers need to rise only for one owner, so
// owners draw from lines of their own, as far as these go: what number an owner gets does not depend
// on what others do at the same moment, which would make simulated runs differ.
const requestLines = 64

// requestLine is the owner's.
func (c *Client) requestLine(owner Owner) *atomic.Int64 {
	const offset, prime = 2166136261, 16777619 // FNV-1a, which spreads names that differ in the last digit
	line := uint32(offset)
	for i := range len(owner) {
		line = (line ^ uint32(owner[i])) * prime
	}
	return &c.lastRequest[line%requestLines]
}

// overtaken skips the numbers that the owner's other client may have used.
func (c *Client) overtaken(owner Owner) { c.requestLine(owner).Add(2e6) }

// nextRequest returns the time and a number above all earlier ones of this owner.
func (c *Client) nextRequest(owner Owner) (request int64, now time.Time) {
	now = time.Now()
	line := c.requestLine(owner)
	for {
		last := line.Load()
		request = max(requestBase+now.UnixMicro(), last+1)
		if line.CompareAndSwap(last, request) {
			return request, now
		}
	}
}

func (c *Client) newUUID() (string, error) {
	var b [16]byte
	if err := c.random(b[:]); err != nil {
		return "", err
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
