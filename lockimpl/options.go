package lockimpl

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"time"
)

// Generation is a version of the lock's scripts. All use the same key, field, channel and message,
// so clients of different generations, and Redisson's, can share a lock.
type Generation string

const (
	// Classic acquires in two branches and unlocks without a latch: Redisson 2.2.4 to 3.18.
	Classic Generation = "classic"
	// Combined acquires under one condition and unlocks without a latch: Redisson 3.19 to 3.23.
	Combined Generation = "combined"
	// Latch remembers an unlock's answer under a request id until the client has it, so that an
	// unlock that is re-sent gets the first answer: Redisson 3.24 to 3.36.
	Latch Generation = "latch"
	// Current is Latch with what Redisson's client does besides, from 3.44 to 4.7, defects included. Use it to
	// see them, not to lock.
	//
	// An [RLock] has a lease, at first WatchdogTimeout, which all share that use that value. A grant of a
	// [Lease] sets it. A call without one asks for it, though the watchdog renews by WatchdogTimeout. A partial
	// unlock sets what is left to it. A full or a refused one resets it (redisson#4818, since 3.19.2). So the
	// unlock of an inner hold of 2 s leaves the key 2 s.
	//
	// One bad key stops the renewal of other locks (redisson#6303). Holds that are gone keep later ones from
	// being renewed. An unlock ends the renewal of one hold whichever hold it gives back, also if it fails. If
	// ctx ends while Lock or TryLock has an attempt under way which is then granted, that hold is renewed until
	// the client is closed (redisson#5358).
	//
	// On one server an acquire and an unlock are sent once, whatever MaxRetries says, also where they were not
	// written or the server refused them, which Redisson tries again. Elsewhere go-redis sends them again as
	// ever (redisson#7367).
	//
	// Locks of other kinds than RLock are those of Latch.
	Current Generation = "current"
	// Hardened numbers an owner's requests, so that acquire and unlock take effect once however
	// often and late their copies arrive; it gives every grant a fencing token, and tells a
	// holder of a loss in time ([RLock.Lost]).
	Hardened Generation = "hardened"
)

// Options configure a [Client]. The zero value is usable.
type Options struct {
	// Generation of the scripts. Default Hardened.
	Generation Generation

	// ID names the client in owners; it must differ between any two clients that live at once.
	// Default: a random UUID.
	ID string

	// WatchdogTimeout is the lease of locks that are taken without one. The watchdog renews
	// them every third of it. Default 30 s, as Redisson's lockWatchdogTimeout; at least 3 ms.
	WatchdogTimeout time.Duration

	// WatchdogBatch is the largest number of locks that one renewal command covers. Default
	// 100, as Redisson's lockWatchdogBatchSize.
	WatchdogBatch int

	// Now is the clock by which a [PermitExpirableSemaphore] of the faithful generations tells the server the
	// time. It must be safe for concurrent use. Default time.Now.
	Now func() time.Time

	// FairWaitTimeout is how long the faithful generations keep the place of a waiter for a [FairLock] that asked without
	// [Wait], beyond what those before it may take. Default 5 min, as Redisson's fairLockWaitTimeout. Hardened
	// keeps a place for two thirds of WatchdogTimeout, and who waits asks again in half of that.
	FairWaitTimeout time.Duration

	// ResponseTimeout, RetryAttempts and RetryDelay say how long after its first copy another
	// copy of a request may still be sent; Latch keeps an unlock's answer, and Hardened that of
	// every request beyond the lease it set, for (ResponseTimeout + RetryDelay) × RetryAttempts,
	// at least 1 ms; Hardened at least for as long as the go-redis client may go on sending copies
	// (over three minutes with its defaults, when it runs into every timeout on the way). They do
	// not configure retries, which are that client's. Defaults 3 s, 4 and 2 s, as Redisson's, with
	// its longest delay: 20 s in all.
	ResponseTimeout time.Duration
	RetryAttempts   int
	RetryDelay      time.Duration

	// SubscribeTimeout bounds the wait for a subscription to be confirmed. Default 7.5 s, as
	// Redisson's subscriptionTimeout.
	SubscribeTimeout time.Duration

	// SubscriptionLinger is how long a subscription outlives its last waiter, so that a lock
	// that is waited for again and again is not subscribed to each time. Default 1 s; negative:
	// not at all.
	SubscriptionLinger time.Duration

	// PingInterval is how often the server is asked for a sign of life on the connection for
	// subscriptions. A connection on which nothing came since the last time is made anew, so that
	// one that went deaf without a word is noticed within two intervals. Default 1 min, twice
	// Redisson's pingConnectionInterval; negative: the server is not asked.
	PingInterval time.Duration

	// Scheduler starts the watchdog's timer, and nothing else. Default: time.AfterFunc.
	Scheduler Scheduler

	// Random is read for ids. It need not be safe for concurrent use. Default:
	// crypto/rand.Reader as it is at the time of the read.
	Random io.Reader
}

// Scheduler starts timers. It lets a program run the watchdog's rounds on a scheduler of its own.
// It must be safe for concurrent use.
type Scheduler interface {
	// AfterFunc calls f in its own goroutine once d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a started timer.
type Timer interface {
	// Stop prevents the call, and reports whether it did: false if it was made or stopped before.
	Stop() bool
}

type systemScheduler struct{}

func (systemScheduler) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

type systemRandom struct{}

func (systemRandom) Read(p []byte) (int, error) { return rand.Reader.Read(p) }

// The defaults of timeouts other than the watchdog's, for programs that run on another scale.
const (
	DefaultResponseTimeout    = 3 * time.Second
	DefaultRetryDelay         = 2 * time.Second
	DefaultSubscribeTimeout   = 7500 * time.Millisecond
	DefaultSubscriptionLinger = time.Second
	DefaultPingInterval       = time.Minute
	DefaultFairWaitTimeout    = 5 * time.Minute
)

func (o Options) withDefaults() (Options, error) {
	o.Generation = orDefault(o.Generation, Hardened)
	o.WatchdogTimeout = orDefault(o.WatchdogTimeout, 30*time.Second)
	o.WatchdogBatch = orDefault(o.WatchdogBatch, 100)
	o.ResponseTimeout = orDefault(o.ResponseTimeout, DefaultResponseTimeout)
	o.RetryAttempts = orDefault(o.RetryAttempts, 4)
	o.RetryDelay = orDefault(o.RetryDelay, DefaultRetryDelay)
	o.SubscribeTimeout = orDefault(o.SubscribeTimeout, DefaultSubscribeTimeout)
	o.SubscriptionLinger = orDefault(o.SubscriptionLinger, DefaultSubscriptionLinger)
	o.FairWaitTimeout = orDefault(o.FairWaitTimeout, DefaultFairWaitTimeout)
	o.PingInterval = orDefault(o.PingInterval, DefaultPingInterval)
	if o.Scheduler == nil {
		o.Scheduler = systemScheduler{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = systemRandom{}
	}
	switch {
	case o.WatchdogTimeout < 3*time.Millisecond:
		return o, fmt.Errorf("watchdog timeout %v: must be at least 3ms", o.WatchdogTimeout)
	case o.WatchdogBatch < 0:
		return o, fmt.Errorf("watchdog batch %d: must be positive", o.WatchdogBatch)
	case o.ResponseTimeout < 0 || o.RetryAttempts < 0 || o.RetryDelay < 0 || o.SubscribeTimeout < 0 || o.FairWaitTimeout < 0:
		return o, fmt.Errorf("timeouts, delays and attempts must be positive")
	}
	return o, nil
}

func orDefault[T comparable](value, def T) T {
	var zero T
	if value == zero {
		return def
	}
	return value
}

// latchLifetime is Redisson's formula, with its delay taken at the longest.
func (o Options) latchLifetime() time.Duration {
	return max(time.Millisecond, (o.ResponseTimeout+o.RetryDelay)*time.Duration(o.RetryAttempts))
}

// Option is an argument of one call. An operation that does not take an option refuses it with [ErrBadOption].
type Option struct {
	kind optionKind
	d    time.Duration
	id   string
}

type optionKind uint8

const (
	leaseOption optionKind = iota + 1
	waitOption
	requestOption
)

// Lease has the lock end by itself after d, counted from its execution on the server and rounded
// down to milliseconds. The watchdog does not renew it. At least 1 ms.
func Lease(d time.Duration) Option { return Option{kind: leaseOption, d: d} }

// Wait has TryLock wait up to d for the lock. 0: a single attempt.
func Wait(d time.Duration) Option { return Option{kind: waitOption, d: d} }

// RequestID names a call, so that it can be repeated when its outcome is unknown: of all calls on one semaphore or
// latch with one id, not empty, one takes effect, and the others get its answer. That holds for as long as a request is
// remembered (see [Options.ResponseTimeout]), counted from when it took effect. Ids of different calls must
// differ also between clients. It needs generation Hardened; others return [ErrGeneration].
func RequestID(id string) Option { return Option{kind: requestOption, id: id} }

// callOptions are the options of one call together.
type callOptions struct {
	lease   time.Duration
	watched bool // no lease was given: the watchdog renews
	wait    time.Duration
	bounded bool // a wait was given
	request string

	contended bool // it was refused before, or somebody of this client was: others may wait, too
}

// call reads the options of a call that takes a lock.
func (o Options) call(opts []Option) (callOptions, error) {
	return o.callWith(opts, leaseOption, waitOption)
}

// callWith reads the options of a call that takes those of some kinds.
func (o Options) callWith(opts []Option, kinds ...optionKind) (callOptions, error) {
	co := callOptions{lease: o.WatchdogTimeout, watched: true}
	for _, opt := range opts {
		if !slices.Contains(kinds, opt.kind) {
			return co, ErrBadOption
		}
		switch opt.kind {
		case leaseOption:
			if opt.d < time.Millisecond {
				return co, ErrBadLease
			}
			co.lease, co.watched = opt.d.Truncate(time.Millisecond), false
		case waitOption:
			if opt.d < 0 {
				return co, ErrBadWait
			}
			co.wait, co.bounded = opt.d, true
		case requestOption:
			if opt.id == "" {
				return co, ErrBadOption
			}
			co.request = opt.id
		}
	}
	return co, nil
}
