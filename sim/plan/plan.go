// Package plan is a run as data: clients and their programs, the faults and when they strike, and
// the timings. A plan can be written by hand, drawn at random, or made from another; with a seed
// it determines a run in the sim world completely.
//
// It must not know worlds, subjects, or how a fault is made to strike: which kinds of fault there
// are is told to [Plan.Check]. To add a step or a fault's parameter: the field here, its check in
// check.go, and its meaning in sim (steps) or sim/fault (faults).
package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is the format's version, demanded by [Decode].
const Version = 1

// Plan is one run.
type Plan struct {
	Version int      `json:"version"`
	Name    string   `json:"name,omitzero"`
	Story   string   `json:"story,omitzero"`
	Timings Timings  `json:"timings,omitzero"`
	Clients []Client `json:"clients"`
	Faults  []Fault  `json:"faults,omitempty"`
}

// Timings are the run's constants. Zero values stand for the defaults, which are Redisson's
// where it has them.
type Timings struct {
	Watchdog   Duration `json:"watchdog,omitzero"`   // the lease the watchdog renews every third of; default 30 s
	LatencyMin Duration `json:"latencyMin,omitzero"` // of one message one way; default 200 µs
	LatencyMax Duration `json:"latencyMax,omitzero"` // default 1 ms
	Limit      Duration `json:"limit,omitzero"`      // calls that have not returned by then never will; default 10 min
}

// Client is one process with one Redis client and one lock client. Its name is unique in the plan.
type Client struct {
	Name    string   `json:"name"`
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
	Work         Action = "work"  // For: read the resource, work, write it back
	Sleep        Action = "sleep" // For
	IsLocked     Action = "isLocked"
	IsHeldBy     Action = "isHeldBy"
	HoldCount    Action = "holdCount"
	RemainingTTL Action = "remainingTTL"
)

// Step is one step of a program. Programs are well written: work and unlock are skipped unless the
// thread believes that it holds the lock, and work stops when the lock says that the hold is lost.
type Step struct {
	Do    Action   `json:"do"`
	Lock  string   `json:"lock,omitzero"`
	Wait  Duration `json:"wait,omitzero"`
	Lease Duration `json:"lease,omitzero"` // 0: the watchdog's
	For   Duration `json:"for,omitzero"`
	// Regardless has an unlock called whether or not the thread believes that it holds the lock.
	Regardless bool `json:"regardless,omitzero"`
}

// Fault is one fault: what strikes whom, and when.
type Fault struct {
	Kind      string   `json:"kind"`
	Client    string   `json:"client,omitzero"`
	Lock      string   `json:"lock,omitzero"`
	From      Duration `json:"from"`
	To        Duration `json:"to,omitzero"`        // of a fault that lasts; 0: to the end of the run
	Direction string   `json:"direction,omitzero"` // of a partition: both (default), requests, replies
}

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

// JSON returns the plan in the form that [Decode] reads.
func (p *Plan) JSON() []byte {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // strings, integers and slices always encode
	}
	return b
}

// Decode reads a plan. Unknown fields and other versions are errors. It does not check the plan's
// sense, which is [Plan.Check]'s.
func Decode(b []byte) (*Plan, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("plan: there is something after the plan")
	}
	if p.Version != Version {
		return nil, fmt.Errorf("plan: version %d, but this program reads version %d", p.Version, Version)
	}
	return p, nil
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
