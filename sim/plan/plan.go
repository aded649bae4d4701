// Package plan is a run as data: clients and their programs, the faults and when they strike, and
// the timings. A plan can be written by hand, drawn at random, or made from another; with a seed
// it determines a run in the sim world completely.
//
// It must not know worlds, subjects, or how a fault is made to strike: which kinds of fault there
// are is told to [Plan.Check]. To add a step or a fault's parameter: the field here, its check in
// check.go, and its meaning in sim (steps) or sim/fault (faults).
package plan

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Version is the format's version, demanded by [Decode].
const Version = 1

// Plan is one run.
type Plan struct {
	Version int      `json:"version"`
	Name    string   `json:"name,omitzero"`
	Story   string   `json:"story,omitzero"`
	Timings Timings  `json:"timings,omitzero"`
	Servers []Server `json:"servers,omitempty"` // by default one
	Groups  []Group  `json:"groups,omitempty"`  // locks that are made of others
	Clients []Client `json:"clients"`
	Faults  []Fault  `json:"faults,omitempty"`
	// Seeds has other seeds than that of the run decide at first, each until its time. So the run is the same until then as one of
	// the first of these seeds. "simrun explore -strategy guided" writes it.
	Seeds []Span `json:"seeds,omitempty"`
	// Order names what happens first of what could happen at one moment, where otherwise latencies
	// decide; see "simrun explore -strategy exhaustive", which writes it.
	Order []string `json:"order,omitempty"`
}

// Span is a part of a run in which a seed decides: from the end of the span before it, or the start.
type Span struct {
	Seed  uint64   `json:"seed"`
	Until Duration `json:"until"` // more than that of the span before
}

// Timings are the run's constants. Zero values stand for the defaults, which are Redisson's
// where it has them.
type Timings struct {
	Watchdog   Duration `json:"watchdog,omitzero"`   // the lease the watchdog renews every third of; default 30 s
	LatencyMin Duration `json:"latencyMin,omitzero"` // of one message one way; default 200 µs
	LatencyMax Duration `json:"latencyMax,omitzero"` // default 1 ms
	// Priorities has messages arrive by the priorities of their connections, rather than evenly
	// between LatencyMin and LatencyMax.
	Priorities *Priorities `json:"priorities,omitempty"`
	// Limit is when faults end at the latest; by default 10 min. Calls that have not returned so long after that never will.
	Limit Duration `json:"limit,omitzero"`
}

// Priorities gives each connection a priority, drawn from the seed, which decides how long its
// messages take: one of high priority can go to and fro several times while a message of another is
// under way. At some messages, also drawn, the connection falls behind all others. (Burckhardt et
// al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, 2010.)
type Priorities struct {
	Changes int `json:"changes"` // how many connections fall behind; at most 100
}

// Client is one process with one Redis client and one lock client. Its name is unique in the plan.
type Client struct {
	Name    string   `json:"name"`
	NoRetry bool     `json:"noRetry,omitzero"` // its Redis client sends nothing again after a network error
	Threads []Thread `json:"threads"`
}

// Thread is one owner: a strand of a client's program whose steps run in order.
type Thread struct {
	ID    int64    `json:"id"` // unique in the client, from 1
	Start Duration `json:"start,omitzero"`
	Steps []Step   `json:"steps"`
}

// Action names what a step does.
type Action string

const (
	Lock         Action = "lock"    // wait until acquired; Lease
	TryLock      Action = "tryLock" // Wait (default: one attempt), Lease
	Unlock       Action = "unlock"
	ForceUnlock  Action = "forceUnlock"
	Work         Action = "work"  // For: read the resource, work, write it back; under a read lock alone: read it again
	Sleep        Action = "sleep" // For
	IsLocked     Action = "isLocked"
	IsHeldBy     Action = "isHeldBy"
	HoldCount    Action = "holdCount"
	RemainingTTL Action = "remainingTTL"

	TrySetPermits     Action = "trySetPermits"     // Permits: makes the semaphore, if there is none
	AcquirePermits    Action = "acquirePermits"    // Permits: wait until acquired
	TryAcquirePermits Action = "tryAcquirePermits" // Permits, Wait (default: one attempt)
	ReleasePermits    Action = "releasePermits"    // Permits
	AddPermits        Action = "addPermits"        // Permits, also below 0: so many more there are
	DrainPermits      Action = "drainPermits"      // take all that are free

	TrySetTotal      Action = "trySetTotal"      // Permits: makes the permit semaphore, if there is none
	AddTotal         Action = "addTotal"         // Permits, also below 0: so many more there are
	AcquirePermit    Action = "acquirePermit"    // Lease (default: none): wait until acquired
	TryAcquirePermit Action = "tryAcquirePermit" // Lease (default: none), Wait (default: one attempt)
	ReleasePermit    Action = "releasePermit"    // of those that the thread has, the one that it took first
	UpdateLease      Action = "updateLease"      // Lease (default: none), of the same one

	TrySetCount Action = "trySetCount" // Count: sets the latch, if its count is 0
	CountDown   Action = "countDown"
	DeleteLatch Action = "deleteLatch"
	Await       Action = "await"    // wait until the count is 0
	TryAwait    Action = "tryAwait" // Wait (default: one look)

	ReadLock    Action = "readLock" // as Lock, of a read-write lock
	TryRead     Action = "tryRead"  // as TryLock
	ReadUnlock  Action = "readUnlock"
	WriteLock   Action = "writeLock" // as Lock
	TryWrite    Action = "tryWrite"  // as TryLock
	WriteUnlock Action = "writeUnlock"
	ForceRead   Action = "forceRead"  // as ForceUnlock, of all who read
	ForceWrite  Action = "forceWrite" // as ForceUnlock, of who writes
)

// Step is one step of a program. Programs are well written: work and unlock are skipped unless the
// thread believes that it holds the lock, releasePermits unless it believes that it has so many, releasePermit and updateLease unless it
// has a permit, and work stops when the lock says that the hold is lost.
type Step struct {
	Do    Action   `json:"do"`
	Lock  string   `json:"lock,omitzero"` // the name of the lock, the semaphore, the latch or the read-write lock
	Wait  Duration `json:"wait,omitzero"`
	Lease Duration `json:"lease,omitzero"` // 0: the watchdog's; of a permit: none
	For   Duration `json:"for,omitzero"`
	// Permits is how many permits a step is about; of addPermits and addTotal also below 0.
	Permits int64 `json:"permits,omitzero"`
	// Count is what a trySetCount sets.
	Count int64 `json:"count,omitzero"`
	// Regardless has an unlock called whether or not the thread believes that it holds the lock; likewise a
	// releasePermits, whether or not it believes that it has so many.
	Regardless bool `json:"regardless,omitzero"`
	// Cancel has the context of a lock, tryLock or unlock, or of a call about permits or a count, end so long after the call; of [Ended],
	// it has ended before. If a lock that is not reentrant was granted before that, its owner leaves out the calls for what it holds already, and
	// their unlocks.
	Cancel Duration `json:"cancel,omitzero"`
	// Fenced has the resource of work check tokens: it refuses access with one lower than it has
	// seen. Without a token there is nothing to check.
	Fenced bool `json:"fenced,omitzero"`
	// Replicas is how many replicas must have received a lock or tryLock (WAIT, at most a second)
	// for it to be acquired; otherwise it is given back.
	Replicas int `json:"replicas,omitzero"`
	// Late is how long the write of work is under way to the resource. The program does not await
	// it: it goes on, and may have unlocked when the write takes effect.
	Late Duration `json:"late,omitzero"`
}

// Ended is the cancel of a step whose call gets a context that has ended already.
const Ended = Duration(history.Ended)

// WithDefaults returns the timings with zero values replaced.
func (t Timings) WithDefaults() Timings {
	set := func(d *Duration, def time.Duration) {
		if *d == 0 {
			*d = Duration(def)
		}
	}
	set(&t.Watchdog, 30*time.Second)
	set(&t.LatencyMin, 200*time.Microsecond)
	set(&t.LatencyMax, time.Millisecond)
	set(&t.Limit, 10*time.Minute)
	return t
}

// Locks returns the names of all locks of the plan, in order of first mention.
func (p *Plan) Locks() []string {
	var names []string
	seen := map[string]bool{"": true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, c := range p.Clients {
		for _, th := range c.Threads {
			for _, s := range th.Steps {
				add(s.Lock)
			}
		}
	}
	return names
}

// Struck returns the names of all locks whose keys faults can strike: those that programs use, and the members of groups that they use. A
// member that no program takes by itself is the one on the first server of its group that has a member of that name.
func (p *Plan) Struck() []string {
	names := p.Locks()
	for _, name := range names {
		if g, ok := p.Group(name); ok {
			for _, m := range g.Members {
				if !slices.Contains(names, m.Lock) {
					names = append(names, m.Lock)
				}
			}
		}
	}
	return names
}

// JSON returns the plan in the form that [Decode] reads.
func (p *Plan) JSON() []byte {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // strings, integers and slices always encode
	}
	return b
}

// Duration is a time.Duration that is written as text, "1m30s", in JSON.
type Duration time.Duration

// MarshalText writes d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

func (d Duration) String() string { return time.Duration(d).String() }

// Duration returns d as a time.Duration.
func (d Duration) Duration() time.Duration { return time.Duration(d) }
