package subjects

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// Env is what the world gives to one client process. [NewEnv] makes it, so that no field is ever missing.
type Env struct {
	Redis redis.UniversalClient
	// Dial connects to the server that Redis leads to, for a lock over another client library. Faults
	// strike such connections as any other.
	Dial            func(ctx context.Context) (net.Conn, error)
	Addr            string           // the server's URL, for a process that dials by itself; "" where there is nothing to dial
	ID              string           // the process's name; owners are "<ID>:<thread>" where the lock lets one choose
	Owners          []string         // those that the process will have, of that form; nil: not known beforehand
	NoRetry         bool             // whether requests are to be sent once, as Redis does; for a process that dials by itself
	WatchdogTimeout time.Duration    // the lease that a watchdog renews
	Timescale       float64          // how much of its usual length any other timeout of the lock should have
	Scheduler       Scheduler        // runs the watchdog's timers, so that a fault can pause them
	Random          io.Reader        // for ids and tokens; read by one goroutine at a time
	Now             func() time.Time // the process's clock, as far as it tells a server the time
	Start           Starter          // starts a process for the client; nil: it starts as any other
	Fail            func(error)      // ends the run: the subject cannot go on, as when its process has died; may be called at any time
}

// NewEnv returns the Env of a process on this machine: its own timers, time at its usual pace, and the system's
// randomness. A world replaces what it does in another way.
func NewEnv(id string, rdb *redis.Client, watchdogTimeout time.Duration, fail func(error)) Env {
	o := rdb.Options()
	return Env{
		Redis: rdb, Dial: func(ctx context.Context) (net.Conn, error) { return o.Dialer(ctx, o.Network, o.Addr) },
		ID: id, WatchdogTimeout: watchdogTimeout, Timescale: 1, Scheduler: systemTimers{}, Random: rand.Reader, Now: time.Now, Fail: fail,
	}
}

// Scaled is d on the scale of the run.
func (e Env) Scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * e.Timescale) }

// Scheduler starts a watchdog's timers.
type Scheduler = lockimpl.Scheduler

// Timer is one of them.
type Timer = lockimpl.Timer

// systemTimers are package time's.
type systemTimers struct{}

func (systemTimers) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
