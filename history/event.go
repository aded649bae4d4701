package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventKind names something that happened to a lock or a client without being an operation.
type EventKind string

const (
	Expire   EventKind = "expire"   // the key's TTL ended and the server removed it
	Delete   EventKind = "delete"   // somebody outside the lock removed the key
	ForceTTL EventKind = "forceTTL" // the key's TTL was changed to Deadline: by the lock for Owner and by no call of it, or from outside if there is none
	Restore  EventKind = "restore"  // the lock was held again as it had been: by Owner, Count times, until Deadline; or its key was overwritten, by [AnotherProgram]
	Lost     EventKind = "lost"     // the lock told Owner that its hold is over
	// LostGiving is like Lost, while the unlock was under way by which Owner gave its last hold back: it believed in it no more.
	LostGiving EventKind = "lostGiving"
	Died       EventKind = "died"      // the client is gone for good
	Finished   EventKind = "finished"  // the client's programs ended
	Leftover   EventKind = "leftover"  // at the end of the run the key was still there
	Residue    EventKind = "residue"   // once all was healed the key that Note names, which is no lock's own, was there without a time to live
	Restart    EventKind = "restart"   // the server restarted
	Failover   EventKind = "failover"  // a replica became master
	ClockJump  EventKind = "clockJump" // the server's clock jumped by By; with a Lock, only that lock's server
	Listening  EventKind = "listening" // the client, whose programs have ended, was subscribed to the channel that Note names
	Unseen     EventKind = "unseen"    // a request for a call of Client, sent at Since on a connection that a fault had silenced, does not arrive
	Healed     EventKind = "healed"    // all faults are over, and none acts from now on; then [Fresh] comes
)

// Fresh is the client that comes once everything is healed: it locks and unlocks each lock, one after the other.
const Fresh = "fresh"

// AnotherProgram is the owner of a lock whose key was overwritten with something that is no lock.
const AnotherProgram = "another program"

// Event is one act of the environment.
type Event struct {
	At       time.Duration `json:"at"`
	Since    time.Duration `json:"since,omitzero"` // where At is not exact: it came at some time in [Since, At]
	Kind     EventKind     `json:"kind"`
	Lock     string        `json:"lock,omitzero"`
	Client   string        `json:"client,omitzero"`
	Owner    string        `json:"owner,omitzero"`
	Count    int64         `json:"count,omitzero"`    // Restore; of a permit semaphore's Delete: how many permits stay out, in another key
	By       time.Duration `json:"by,omitzero"`       // ClockJump
	Deadline time.Duration `json:"deadline,omitzero"` // ForceTTL, Restore, Leftover: when the key expires, 0: never
	Within   time.Duration `json:"within,omitzero"`   // how exactly At is known: to so much before or after; 0 in virtual time
	Note     string        `json:"note,omitzero"`
	// Concluded says that the event is known from the server log alone: a lock did it by itself.
	Concluded bool `json:"concluded,omitzero"`
}

// Fault is one fault as it struck: from its plan entry, with the times that came true.
type Fault struct {
	Index int    `json:"index"` // position in the plan's list of faults
	Kind  string `json:"kind"`  // as in the plan, for example "pause-watchdog"
	// Effects are what it does to the world. In a record without them they are those of [EffectsOf].
	Effects []Effect      `json:"effects,omitempty"`
	Client  string        `json:"client,omitzero"`
	Lock    string        `json:"lock,omitzero"`
	Server  string        `json:"server,omitzero"` // empty: the first, or all
	From    time.Duration `json:"from"`
	To      time.Duration `json:"to,omitzero"`     // 0: it struck once, or lasted to the end of the run
	Step    string        `json:"step,omitzero"`   // what of it the plan left to choose: a direction, ...
	Hits    int           `json:"hits,omitzero"`   // how many messages, callbacks or keys it touched
	On      string        `json:"on,omitzero"`     // the step of the protocol that it struck, for example "reply acquire"; empty: it struck at a time
	Op      int64         `json:"op,omitzero"`     // the call that the step belonged to
	Missed  bool          `json:"missed,omitzero"` // it never struck: its trigger never matched, its time never came, or it could not
	Why     string        `json:"why,omitzero"`    // why it could not
	// Blocks is for how long a command that it struck may block at the server, the longest one, as far as that has an end.
	Blocks time.Duration `json:"blocks,omitzero"`
}

// Struck reports whether the fault touched anything: a message, a timer, a key, a connection.
func (f *Fault) Struck() bool { return !f.Missed && f.Hits > 0 }

// Holding is one owner's entry in a lock's key.
type Holding struct {
	Owner string `json:"owner"`
	Count int64  `json:"count"`
	// Value is what stands for the owner in the key: a string's value, or a hash's field. Empty: Owner itself does.
	Value string `json:"value,omitzero"`
	// Deadline is when this hold ends, where each has a lease of its own; 0: with the key.
	Deadline time.Duration `json:"deadline,omitzero"`
}

// KeyState is what an object's key looked like on the server. No holdings, no permits and no count: the key was absent. More
// than one: two owners share the lock, which no correct lock lets happen.
type KeyState struct {
	Holdings []Holding     `json:"holdings,omitempty"`
	Deadline time.Duration `json:"deadline,omitzero"` // when the key will expire; 0 with holdings: never
	// Permits is how many permits are free, of a semaphore's key. Nil: it is none, or the key was absent.
	Permits *int64 `json:"permits,omitempty"`
	// Taken are the permits that are out, of a permit semaphore's key, by their numbers; also those whose lease is over and which
	// no command has taken back yet.
	Taken []TakenPermit `json:"taken,omitempty"`
	// Waiting are those who have a place in the queue of a fair lock, the next one first, whether it is held or not.
	Waiting []string `json:"waiting,omitempty"`
	// Queued is what stands in that queue for each of Waiting. Nil: their names do.
	Queued []string `json:"queued,omitempty"`
	// Left is how many count-downs are left, of a latch's key. Nil: it is none, or the key was absent.
	Left *int64 `json:"left,omitempty"`
}

// TakenPermit is a permit that was taken, and when its lease ends; 0: never.
type TakenPermit struct {
	Permit   int64         `json:"permit"`
	Deadline time.Duration `json:"deadline,omitzero"`
}

// Over reports whether the permit's lease is over at a time.
func (p TakenPermit) Over(at time.Duration) bool { return p.Deadline > 0 && p.Deadline <= at }

// Equal reports whether two states have the same holdings, in the same order, and the same deadlines.
func (k KeyState) Equal(o KeyState) bool {
	return k.Deadline == o.Deadline && k.Alike(o) && slices.Equal(k.Holdings, o.Holdings) && slices.Equal(k.Taken, o.Taken)
}

// Alike reports whether two states are equal but for their deadlines.
func (k KeyState) Alike(o KeyState) bool {
	return sameNumber(k.Permits, o.Permits) && sameNumber(k.Left, o.Left) && slices.EqualFunc(k.Holdings, o.Holdings, func(a, b Holding) bool {
		a.Deadline = b.Deadline
		return a == b
	}) && slices.EqualFunc(k.Taken, o.Taken, func(a, b TakenPermit) bool { return a.Permit == b.Permit })
}

// Has is the permit of a number that is out; ok is false if it is not.
func (k KeyState) Has(permit int64) (p TakenPermit, ok bool) {
	i := slices.IndexFunc(k.Taken, func(t TakenPermit) bool { return t.Permit == permit })
	if i < 0 {
		return TakenPermit{}, false
	}
	return k.Taken[i], true
}

// NumberAt is [KeyState.Number] at a time: permits whose lease is over are free, whether or not a command has taken them back.
func (k KeyState) NumberAt(at time.Duration) int64 {
	n := k.Number()
	for _, p := range k.Taken {
		if p.Over(at) {
			n++
		}
	}
	return n
}

// AllPermits is how many permits there are, of a permit semaphore: free, and out.
func (k KeyState) AllPermits() int64 { return k.Number() + int64(len(k.Taken)) }

// Absent reports whether there was no key.
func (k KeyState) Absent() bool { return len(k.Holdings) == 0 && k.Permits == nil && k.Left == nil }

func sameNumber(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// Number is what a counted object's key says, its permits that are free or its count-downs that are left: 0 where there is
// none.
func (k KeyState) Number() int64 {
	switch {
	case k.Permits != nil:
		return *k.Permits
	case k.Left != nil:
		return *k.Left
	}
	return 0
}

// Counting is the state of the key of a counted object.
func Counting(o Object, n int64, deadline time.Duration) KeyState {
	if o == ALatch {
		return KeyState{Left: &n, Deadline: deadline}
	}
	return KeyState{Permits: &n, Deadline: deadline}
}

// Count is how many holds an owner has.
func (k KeyState) Count(owner string) int64 {
	for _, h := range k.Holdings {
		if h.Owner == owner {
			return h.Count
		}
	}
	return 0
}

// Of is what of a state is an owner's: its holdings, and when they end.
func (k KeyState) Of(owner string) KeyState {
	for _, h := range k.Holdings {
		if h.Owner == owner {
			return KeyState{Holdings: []Holding{h}, Deadline: cmp.Or(h.Deadline, k.Deadline)}
		}
	}
	return KeyState{}
}

// Total is how many holds there are, of all owners.
func (k KeyState) Total() int64 {
	var n int64
	for _, h := range k.Holdings {
		n += h.Count
	}
	return n
}

// Step names the part a command plays in the protocol of a lock, told by what call it belongs to
// and what it did, so that it fits locks of any library.
type Step string

const (
	StepAcquire   Step = "acquire"   // an attempt to take the lock, for a lock or tryLock call; or permits
	StepRelease   Step = "release"   // for an unlock call, or one that gives permits back, or counts down
	StepForce     Step = "force"     // for a forceUnlock, drainPermits or deleteLatch call
	StepSet       Step = "set"       // for a call that sets permits or a count, or adds permits
	StepRenew     Step = "renew"     // touches a lock's key and belongs to no call; or for an updateLease call
	StepQuery     Step = "query"     // for isLocked and its like
	StepSubscribe Step = "subscribe" // SUBSCRIBE and its relatives
	StepPublish   Step = "publish"   // a message that the server sends to a subscriber
	StepCleanup   Step = "cleanup"   // belongs to a call but does not touch the lock's key
	StepSession   Step = "session"   // connection set-up, script loading, ...
	StepAdmin     Step = "admin"     // sent by the fault injector, not by a client
)

// Served is one command as the server executed it: the server log, in execution order.
type Served struct {
	At     time.Duration `json:"at"`
	Sent   time.Duration `json:"sent"` // when the client wrote it
	Server string        `json:"server,omitzero"`
	Client string        `json:"client"`
	Conn   string        `json:"conn"`
	Step   Step          `json:"step"`
	Op     int64         `json:"op,omitzero"`    // the call it belongs to
	Owner  string        `json:"owner,omitzero"` // on whose behalf, when known
	Lock   string        `json:"lock,omitzero"`
	Text   string        `json:"text"`            // the command, long arguments shortened
	Before *KeyState     `json:"before,omitzero"` // the lock's key before, when the command concerns one
	After  *KeyState     `json:"after,omitzero"`
	Reply  string        `json:"reply,omitzero"` // the answer, shortened
	Got    time.Duration `json:"got,omitzero"`   // when the reply reached the client; 0: it never did

	// Refused says that the answer was an error, Done by when the command was executed, if that was not at At, and
	// Names what in it stands for the owners on whose behalf it names the key.
	Refused bool          `json:"refused,omitzero"`
	Done    time.Duration `json:"done,omitzero"`
	Names   []string      `json:"names,omitempty"`
	Request int64         `json:"request,omitzero"` // a number that it shares with its copies; 0: it is not known
	Began   time.Duration `json:"began,omitzero"`   // of a command of no call: when its client began it; 0: it is not known
	For     int64         `json:"for,omitzero"`     // of a command of no call: the call that had returned, and with whose context it was sent; 0: none
}

// BlocksFor is for how long a command may wait at a server for an element of a list, a sorted set or a stream, 0 for ever; ok is false if it does not wait.
func BlocksFor(command string) (d time.Duration, ok bool) {
	words := strings.Fields(strings.ToLower(command))
	if len(words) < 3 {
		return 0, false
	}
	text, unit := words[len(words)-1], time.Second
	switch words[0] {
	case "blpop", "brpop", "bzpopmin", "bzpopmax", "brpoplpush", "blmove":
	case "blmpop", "bzmpop":
		text = words[1]
	case "xread", "xreadgroup":
		options := words[:max(slices.Index(words, "streams"), 0)]
		i := slices.Index(options, "block")
		if i < 0 || i+1 == len(options) {
			return 0, false
		}
		text, unit = options[i+1], time.Millisecond
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return time.Duration(n * float64(unit)), err == nil && 0 <= n && n < math.MaxInt32
}

// Looks reports whether a command only reads a key, watches it for a transaction, or is queued in one.
func (s *Served) Looks() bool {
	name, _, _ := strings.Cut(strings.ToLower(s.Text), " ")
	switch name {
	case "get", "mget", "strlen", "exists", "type", "ttl", "pttl", "hget", "hmget", "hgetall", "hexists", "hlen", "hkeys", "hvals", "watch", "unwatch":
		return true
	}
	return s.Reply == "QUEUED"
}

// Header is the first record: everything that is needed to run again and to judge.
type Header struct {
	Version  int               `json:"version"`
	Clock    string            `json:"clock"` // [Virtual], or "monotonic"
	World    string            `json:"world"`
	Scenario string            `json:"scenario,omitzero"`
	Subject  string            `json:"subject"`
	Seed     uint64            `json:"seed"`
	Plan     json.RawMessage   `json:"plan,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`

	// Abilities are what the subject offers: "reentrant", "watchdog", "fencing", "force",
	// "inspect", "lost", "keeps-longest", "unlock-sets-lease", "mutex" (none of these). A guarantee about an ability that is missing is "not claimed".
	Abilities []string `json:"abilities,omitempty"`

	// Idempotent says of which calls a request that is sent again takes effect once, and gets the first
	// answer; none if "idempotent" is no ability.
	Idempotent []Idempotence `json:"idempotent,omitempty"`

	// NoRetry are the clients whose Redis client sends nothing again.
	NoRetry []string `json:"noRetry,omitempty"`

	// Limitations are what the lock is documented not to promise.
	Limitations []Limitation `json:"limitations,omitempty"`

	// Groups are the locks that are made of others.
	Groups []Group `json:"groups,omitempty"`

	// Layout is how the lock is kept in Redis, as far as that was learned.
	Layout Layout `json:"layout,omitzero"`

	// Expiry says how the ends of leases are known: [Implied], or empty: each is an event.
	Expiry string `json:"expiry,omitzero"`

	WatchdogTimeout time.Duration `json:"watchdogTimeout,omitzero"` // the lease that a watchdog renews
	RenewEvery      time.Duration `json:"renewEvery,omitzero"`      // how often it promises to
	RenewRetry      time.Duration `json:"renewRetry,omitzero"`      // how soon it tries a renewal again that failed; 0: after renewEvery
	Unsubscribed    time.Duration `json:"unsubscribed,omitzero"`    // after how long its client gives a subscription back that it needs no more; 0: it is not known
	SilenceNoticed  time.Duration `json:"silenceNoticed,omitzero"`  // after how long its client notices that nothing comes on its subscription; 0: it is not known
	PlaceKept       time.Duration `json:"placeKept,omitzero"`       // for how long a fair lock keeps a waiter's place in the queue, or another a waiting writer's mark; 0: it does not say
	TokenUnit       time.Duration `json:"tokenUnit,omitzero"`       // within how much time a lost counter of tokens may give the same again; 0: it may not
	AnswerTimeout   time.Duration `json:"answerTimeout,omitzero"`   // how long its client waits for an answer before it sends a request again, or gives up
	LatencyMax      time.Duration `json:"latencyMax,omitzero"`      // the slowest one-way message without faults

	// Timescale is how much real time one second of the history took; 0: time was virtual, or it is
	// not known.
	Timescale float64 `json:"timescale,omitzero"`
}

// Idempotence says of calls that a request that is sent again takes effect once.
type Idempotence struct {
	Calls         []Kind        `json:"calls"`
	For           time.Duration `json:"for,omitzero"`           // after the first effect; 0: always
	ForOnce       time.Duration `json:"forOnce,omitzero"`       // the same of a client that sends nothing again; 0: as For
	UntilAnswered bool          `json:"untilAnswered,omitzero"` // and no longer than until the client got the answer
	Effective     bool          `json:"effective,omitzero"`     // only if the first copy took effect: a refusal is not remembered
}

// SendsOnce reports whether a client's Redis client sends nothing again.
func (h *Header) SendsOnce(client string) bool { return slices.Contains(h.NoRetry, client) }

// Remembered is for how long after its first effect a client's request takes no second one, by one of the header's promises; 0: always.
func (h *Header) Remembered(i Idempotence, client string) time.Duration {
	if i.ForOnce > 0 && h.SendsOnce(client) {
		return i.ForOnce
	}
	return i.For
}

// Limitation is something that a lock is documented not to promise although others do.
type Limitation struct {
	Claim  string `json:"claim,omitzero"` // that the lock does not make, as Abilities have it; empty: Rule says what
	Rule   string `json:"rule,omitzero"`  // that the lock breaks; empty: whatever the claim excuses
	Calls  []Kind `json:"calls,omitempty"`
	Source string `json:"source"`
}

// A Group is a lock that is made of others, its members, of which each is a lock of its own.
//
// With Servers, the members are keys of the server log: its rows show what became of each, and operations
// on the group carry evidence of the whole. Without, members are locks of the history by their names.
type Group struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"` // [Multi] or [Red]
	Members []string `json:"members"`
	Servers []string `json:"servers,omitempty"` // of each member, as [Served].Server has it
}

// Seen reports whether the server log shows the group's members.
func (g Group) Seen() bool { return len(g.Servers) > 0 }

// Has reports whether a key on a server is one of the group's members. Without [Group.Servers] none is.
func (g Group) Has(server, key string) bool {
	for i, s := range g.Servers {
		if s == server && g.Members[i] == key {
			return true
		}
	}
	return false
}

// on is the server of member i, "" if it is not known.
func (g Group) on(i int) string {
	if !g.Seen() {
		return ""
	}
	return g.Servers[i]
}

// The kinds of groups.
const (
	Multi = "multi" // held by who holds all members
	Red   = "red"   // held by who holds more than half of them
)

// MaxMembers is how many members a group has at most.
const MaxMembers = 8

// check says what is wrong with the header, or "".
func (h *Header) check() string {
	names := map[string]bool{}
	for _, g := range h.Groups {
		if g.Seen() && len(g.Servers) != len(g.Members) {
			return fmt.Sprintf("group %s: it must name a server for each member, or none", g.Name)
		}
		members := map[[2]string]bool{}
		for i, m := range g.Members {
			members[[2]string{m, g.on(i)}] = true
		}
		switch {
		case g.Name == "" || names[g.Name]:
			return fmt.Sprintf("group %q: each group has a name of its own", g.Name)
		case g.Kind != Multi && g.Kind != Red:
			return fmt.Sprintf("group %s: kind %q; it must be %s or %s", g.Name, g.Kind, Multi, Red)
		case len(members) != len(g.Members) || len(members) == 0 || !g.Seen() && len(members) > MaxMembers || slices.Contains(g.Members, ""):
			return fmt.Sprintf("group %s: it must have 1 to %d members, all different", g.Name, MaxMembers)
		}
		names[g.Name] = true
	}
	for _, g := range h.Groups {
		for _, m := range g.Members {
			if names[m] && !g.Seen() {
				return fmt.Sprintf("group %s: its member %s is a group", g.Name, m)
			}
		}
	}
	return ""
}

// Virtual is the Header.Clock of a simulation: one thing happens at one instant, except that what the environment
// does comes before what arrives at the server. On any other clock what shares an instant came in any order.
const Virtual = "virtual"

// MaxTime is the latest time, and MaxSpan the longest lease, wait or jump of a clock, in a history: about 73 years and
// 36 years. Sums of them do not overflow.
const (
	MaxTime = time.Duration(1) << 61
	MaxSpan = time.Duration(1) << 60
)

// Implied is the Header.Expiry of a history of which nobody saw the server: a lease ends, without an
// event, once it can have, and a lease that a watchdog renews may end whenever its last known
// setting has run out, since its renewals are not known either.
const Implied = "implied"

// Version is the format's version, written to and demanded from the header.
const Version = 1

// End is the last record. A file without it is of a run that was killed.
type End struct {
	At       time.Duration `json:"at"`
	Messages int           `json:"messages,omitzero"`
	Trace    string        `json:"trace,omitzero"` // hash over time, connection, direction and bytes of every message
	Error    string        `json:"error,omitzero"` // the harness error that ended the run, if one did
	// Spin is the call that sent commands without a pause, so that the run was stopped: what would have come is not known.
	Spin *Spin `json:"spin,omitempty"`
	// Late is how much later than due anything was done for lack of a processor, at the worst; 0 in
	// virtual time.
	Late time.Duration `json:"late,omitzero"`
}

// Spin is a call that sent command after command, and waited for nothing in between.
type Spin struct {
	Op       int64         `json:"op"`
	Commands int           `json:"commands"`
	Within   time.Duration `json:"within"`          // how long so many commands took
	Last     string        `json:"last"`            // the last of them
	Sender   string        `json:"sender,omitzero"` // the goroutine; empty: it is not known
	By       string        `json:"by,omitzero"`     // the client that sent them by itself while the call waited; empty: the call did
}

// History is one whole run.
type History struct {
	Header Header
	Ops    []Op // in order of their calls
	Events []Event
	Faults []Fault
	Served []Served // the server log; empty for a black-box history
	End    *End     // nil: the run was killed
}

// Can reports whether the subject offers an ability.
func (h *History) Can(ability string) bool {
	for _, a := range h.Header.Abilities {
		if a == ability {
			return true
		}
	}
	return false
}
