package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Version is that of the protocol, and oldest the first that is still spoken. A worker's hello says which of them
// is used.
const (
	Version = 2
	oldest  = 1
)

// Requests that are no operations.
const (
	kindStart  history.Kind = "start"
	kindCancel history.Kind = "cancel"
)

// cancels is the ability to give up a call; it is no business of anybody else.
const cancels = "cancel"

// idempotent is the ability whose extent the hello says besides.
const idempotent = string(contract.Idempotent)

// abilities are those that a worker may claim.
var abilities = []string{"reentrant", "watchdog", "fencing", "force", "inspect", "lost", string(contract.HearsForce), "keeps-longest", string(contract.SetsLease),
	string(contract.TakesBack), idempotent, string(contract.RefusesAgain), string(contract.TokensGoOn),
	string(contract.Waits), string(contract.ReturnsUnanswered), string(contract.RenewsOn), string(contract.Steady), string(contract.AnyLease), string(contract.Fair), string(contract.KeepsPlace), string(contract.LeavesLine), string(contract.UnlocksFree), string(contract.LocalHolds),
	string(contract.LooksAgain), string(contract.WakesByNeed), string(contract.MadeBySet), string(contract.Rounds), string(contract.TellsDeletion),
	string(contract.Resizes), string(contract.Deletes), string(contract.LeavesNothing),
	string(contract.LeasePerHold), string(contract.TellsDowngrade), string(contract.RefusesUpgrade), string(contract.WritersFirst), string(contract.ServerClock), string(contract.OneKey), cancels}

// beings are the claims of objects that are no locks to be what their hello says.
var beings = map[history.Object]contract.Claim{history.ASemaphore: contract.Permits, history.ALatch: contract.CountsDown, history.ARWLock: contract.ReadWrite,
	history.APermitSemaphore: contract.PermitLeases}

// request is a line to the worker. Its fields are named as those of [history.Op] where there are such.
type request struct {
	ID   int64        `json:"id"` // of cancel: that of the call to be given up
	Kind history.Kind `json:"kind"`

	// Of start.
	Version         int           `json:"version,omitzero"`
	Redis           []string      `json:"redis,omitempty"` // URLs
	Client          string        `json:"client,omitzero"`
	WatchdogTimeout time.Duration `json:"watchdogTimeout,omitzero"`
	Seed            uint64        `json:"seed,omitzero"` // below 2^53, which any language's numbers hold
	// Since version 2.
	Timescale float64  `json:"timescale,omitzero"`
	NoRetry   bool     `json:"noRetry,omitzero"`
	Owners    []string `json:"owners,omitempty"`

	// Of operations.
	Lock     string        `json:"lock,omitzero"`
	Owner    string        `json:"owner,omitzero"`
	Wait     time.Duration `json:"wait,omitzero"`
	Lease    time.Duration `json:"lease,omitzero"`
	Watchdog bool          `json:"watchdog,omitzero"`
	Value    int64         `json:"value,omitzero"`  // how many permits, or the count. Since version 2
	Permit   string        `json:"permit,omitzero"` // the id of one that was taken. Since version 2
}

// message is a line from the worker: its hello, an answer, or the notice of a loss.
type message struct {
	Hello     int      `json:"hello,omitzero"` // the protocol's version
	Name      string   `json:"name,omitzero"`
	Version   string   `json:"version,omitzero"`
	Abilities []string `json:"abilities,omitempty"`
	// Object, of the hello, is what it serves; "": a lock. Since version 2.
	Object history.Object `json:"object,omitzero"`
	// Idempotent says for which calls the lock claims to be idempotent, and for how long.
	Idempotent []history.Idempotence `json:"idempotent,omitempty"`
	// RenewPart, of the hello: after which part of the watchdog timeout it renews; 0: a third. Since version 2.
	RenewPart float64 `json:"renewPart,omitzero"`
	// AnswerTimeout, of the hello: how long its Redis client waits for an answer before it gives up or asks again; 0: it does not say. Since version 2.
	AnswerTimeout time.Duration `json:"answerTimeout,omitzero"`
	// Queue, of the hello: of whoever claims to be fair, where who waits is in Redis. Since version 2.
	Queue *queue `json:"queue,omitempty"`
	// MarkKept, of the hello: of whoever claims writers-first, for how long readers are kept out for a writer that waited and is gone without
	// having said so; 0: for the watchdog timeout. Since version 2.
	MarkKept time.Duration `json:"markKept,omitzero"`
	// Round, of the hello: of whoever tells rounds of a latch apart, the key that does, as [history.Layout] has it. Since version 2.
	Round string `json:"round,omitzero"`
	// Taken, of the hello: of permits whose leases end by the clocks of clients, the key of those that are out, as [history.Layout]
	// has it. Since version 2.
	Taken string `json:"taken,omitzero"`

	ID      int64           `json:"id,omitzero"`
	Outcome history.Outcome `json:"outcome,omitzero"`
	Value   int64           `json:"value,omitzero"`
	Token   int64           `json:"token,omitzero"`
	Permit  string          `json:"permit,omitzero"` // the id of the permit that was taken. Since version 2
	Error   string          `json:"error,omitzero"`
	// Owners, of the answer to start: what stands for an owner in Redis, by the owners' names. Since version 2.
	Owners map[string]string `json:"owners,omitempty"`

	Lost  string `json:"lost,omitzero"`  // the lock
	Owner string `json:"owner,omitzero"` // of a write lock [history.WriterOf] him
}

// queue is a key of Redis, a list or a sorted set of who waits for a lock, as [history.Layout] has it.
type queue struct {
	Key    string `json:"key"`
	Prefix string `json:"prefix,omitzero"`
	// For how long a waiter's place is kept: a time, or a part of the watchdog timeout.
	Kept     time.Duration `json:"kept,omitzero"`
	KeptPart float64       `json:"keptPart,omitzero"`
}

// keeps reports whether it is said, once, for how long a place is kept.
func (q *queue) keeps() bool {
	return q.Kept >= 0 && q.KeptPart >= 0 && (q.Kept > 0) != (q.KeptPart > 0)
}

// encode makes a line.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // so that a URL stays one for readers as simple as a shell
	if err := e.Encode(v); err != nil {
		panic(err) // a request or a message, always encodable
	}
	return b.Bytes()
}

// decode reads a line, and refuses what the protocol does not know: it would be a slip that is
// found late, or never.
func decode(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = fmt.Errorf("more than one JSON value")
	}
	if err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// checkHello says what is wrong with a worker's first line.
func checkHello(m message) error {
	switch {
	case m.Hello == 0:
		return fmt.Errorf(`its first line must be its hello: {"hello":%d,"name":…,"version":…,"abilities":[…]}`, Version)
	case m.Hello < oldest || m.Hello > Version:
		return fmt.Errorf("it speaks version %d of the protocol; right: %d to %d", m.Hello, oldest, Version)
	case m.Name == "" || m.Version == "":
		return fmt.Errorf("its hello must say its name and version")
	}
	for _, a := range m.Abilities {
		if !slices.Contains(abilities, a) {
			return fmt.Errorf("its hello claims %q; there are %s", a, strings.Join(abilities, ", "))
		}
	}
	if m.Object != "" && (m.Hello < 2 || !slices.Contains(history.Objects(), m.Object)) {
		return fmt.Errorf("its hello has the object %q; right: since version 2, one of %q", m.Object, history.Objects())
	}
	if p := m.RenewPart; p != 0 && (m.Hello < 2 || p < 0 || p >= 1 || !slices.Contains(m.Abilities, "watchdog")) {
		return fmt.Errorf("its hello has the renewPart %v; right: since version 2, with the ability watchdog, more than 0 and less than 1", p)
	}
	if d := m.AnswerTimeout; d != 0 && (m.Hello < 2 || d < 0 || d > time.Hour) {
		return fmt.Errorf("its hello has the answerTimeout %d; right: since version 2, in nanoseconds, more than 0 and at most an hour", d)
	}
	fair := slices.Contains(m.Abilities, string(contract.Fair))
	if q := m.Queue; fair != (q != nil) || fair && (m.Hello < 2 || !q.keeps() || !strings.Contains(q.Key, "*")) {
		return fmt.Errorf(`its hello must claim %q and say where its queue is, {"queue":{"key":…,"kept":…}}, or do neither; right: since version 2, a key with * for the lock's name, and kept more than 0, or keptPart`, contract.Fair)
	}
	if d := m.MarkKept; d != 0 && (m.Hello < 2 || d < 0 || d > time.Hour || fair || !slices.Contains(m.Abilities, string(contract.WritersFirst))) {
		return fmt.Errorf("its hello has the markKept %d; right: since version 2, with the ability %s, in nanoseconds, more than 0 and at most an hour", d, contract.WritersFirst)
	}
	if rounds := slices.Contains(m.Abilities, string(contract.Rounds)); rounds != (m.Round != "") || rounds && (m.Hello < 2 || !strings.Contains(m.Round, "*")) {
		return fmt.Errorf(`its hello must claim %q and have the round, or do neither; right: since version 2, a key with * for the latch's name`, contract.Rounds)
	}
	if m.Taken != "" && (m.Hello < 2 || m.Object != history.APermitSemaphore || !strings.Contains(m.Taken, "*")) {
		return fmt.Errorf(`its hello has the key taken, %q; right: since version 2, of a %s, with * for its name`, m.Taken, history.APermitSemaphore)
	}
	for _, claim := range []contract.Claim{contract.ServerClock, contract.OneKey} {
		if m.Taken != "" && slices.Contains(m.Abilities, string(claim)) {
			return fmt.Errorf("its hello claims %q and has the key taken, %q, of a semaphore that is two keys and goes by the clocks of its clients; right: one of the two", claim, m.Taken)
		}
	}
	if slices.Contains(m.Abilities, idempotent) != (len(m.Idempotent) > 0) {
		return fmt.Errorf("its hello must claim %q and say for which calls, or do neither", idempotent)
	}
	return nil
}

// checkAnswer says what is wrong with an answer to a request, of a worker that said hello.
func checkAnswer(r request, m, hello message) error {
	allowed := r.Kind.Allows
	switch r.Kind {
	case kindStart:
		allowed = func(o history.Outcome) bool { return o == history.OK || o == history.Failed }
	case history.Lock: // of version 1 none gave up by itself
		allowed = func(o history.Outcome) bool { return (o != history.Busy || hello.Hello > 1) && r.Kind.Allows(o) }
	}
	switch {
	case !allowed(m.Outcome):
		return fmt.Errorf("it answered %s with the outcome %q, which it cannot have", r.Kind, m.Outcome)
	case r.Kind.Acquires() && m.Outcome == history.Acquired && m.Token <= 0 && slices.Contains(hello.Abilities, "fencing"):
		return fmt.Errorf("it claims fencing, but acquired without a token (a number from 1 on)")
	case takesPermit(r.Kind) && m.Outcome == history.Acquired && m.Permit == "":
		return fmt.Errorf("it acquired a permit without its id (permit)")
	case m.Permit != "" && !(takesPermit(r.Kind) && m.Outcome == history.Acquired):
		return fmt.Errorf("it answered %s with the permit %q; right: where one was acquired", r.Kind, m.Permit)
	case m.Outcome == history.Unlocked && hello.Hello < 2:
		return fmt.Errorf("it answered with the outcome %q, which there is since version 2; its hello says %d", m.Outcome, hello.Hello)
	case len(m.Owners) > 0 && (hello.Hello < 2 || r.Kind != kindStart):
		return fmt.Errorf("it named owners; right: in the answer to start, since version 2")
	}
	return checkOwners(r.Owners, m.Owners)
}

// takesPermit reports whether an operation takes a permit that has an id.
func takesPermit(k history.Kind) bool {
	return k == history.AcquirePermit || k == history.TryAcquirePermit
}

// checkOwners says what is wrong with the names that stand for owners in Redis.
func checkOwners(owners []string, names map[string]string) error {
	whose := map[string]string{}
	for _, owner := range slices.Sorted(maps.Keys(names)) {
		name := names[owner]
		switch {
		case !slices.Contains(owners, owner):
			return fmt.Errorf("it named the owner %q, whom start did not name", owner)
		case name == "":
			return fmt.Errorf("it named the owner %q with no name", owner)
		case whose[name] != "":
			return fmt.Errorf("it named both %q and %q %q", whose[name], owner, name)
		}
		whose[name] = owner
	}
	return nil
}

// quote shows a line that somebody else wrote, shortened.
func quote(line []byte) string {
	const most = 120
	if len(line) > most {
		return fmt.Sprintf("%q… (%d bytes)", line[:most], len(line))
	}
	return fmt.Sprintf("%q", line)
}
