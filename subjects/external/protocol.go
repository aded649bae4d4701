package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Version is that of the protocol, which both sides name first.
const Version = 1

// Requests that are no operations.
const (
	kindStart  history.Kind = "start"
	kindCancel history.Kind = "cancel"
)

// cancels is the ability to give up a call; it is no business of anybody else.
const cancels = "cancel"

// abilities are those that a worker may claim.
var abilities = []string{"reentrant", "watchdog", "fencing", "force", "inspect", "lost", "keeps-longest", "takes-back", "tokens-go-on",
	idempotent, cancels}

// idempotent is the ability to take a request once, however often it is sent.
const idempotent = "idempotent"

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

	// Of operations.
	Lock     string        `json:"lock,omitzero"`
	Owner    string        `json:"owner,omitzero"`
	Wait     time.Duration `json:"wait,omitzero"`
	Lease    time.Duration `json:"lease,omitzero"`
	Watchdog bool          `json:"watchdog,omitzero"`
}

// message is a line from the worker: its hello, an answer, or the notice of a loss.
type message struct {
	Hello     int      `json:"hello,omitzero"` // the protocol's version
	Name      string   `json:"name,omitzero"`
	Version   string   `json:"version,omitzero"`
	Abilities []string `json:"abilities,omitempty"`
	// Remembers is of those that claim idempotent: how long after the first effect a copy takes none; 0: always.
	Remembers time.Duration `json:"remembers,omitzero"`

	ID      int64           `json:"id,omitzero"`
	Outcome history.Outcome `json:"outcome,omitzero"`
	Value   int64           `json:"value,omitzero"`
	Token   int64           `json:"token,omitzero"`
	Error   string          `json:"error,omitzero"`

	Lost  string `json:"lost,omitzero"` // the lock
	Owner string `json:"owner,omitzero"`
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
	case m.Hello != Version:
		return fmt.Errorf("it speaks version %d of the protocol, not %d", m.Hello, Version)
	case m.Name == "" || m.Version == "":
		return fmt.Errorf("its hello must say its name and version")
	}
	if m.Remembers < 0 || m.Remembers > 0 && !slices.Contains(m.Abilities, idempotent) {
		return fmt.Errorf("its hello says remembers %d, which is a time from 0 on, of those that claim %s", m.Remembers, idempotent)
	}
	for _, a := range m.Abilities {
		if !slices.Contains(abilities, a) {
			return fmt.Errorf("its hello claims %q; there are %s", a, strings.Join(abilities, ", "))
		}
	}
	return nil
}

// checkAnswer says what is wrong with an answer to a request, of a worker with those abilities.
func checkAnswer(r request, m message, can []string) error {
	allowed := r.Kind.Allows
	switch r.Kind {
	case kindStart:
		allowed = func(o history.Outcome) bool { return o == history.OK || o == history.Failed }
	case history.Lock: // unlike tryLock, it has no time after which to give up
		allowed = func(o history.Outcome) bool { return o != history.Busy && r.Kind.Allows(o) }
	}
	switch {
	case !allowed(m.Outcome):
		return fmt.Errorf("it answered %s with the outcome %q, which it cannot have", r.Kind, m.Outcome)
	case r.Kind.Acquires() && m.Outcome == history.Acquired && m.Token <= 0 && slices.Contains(can, "fencing"):
		return fmt.Errorf("it claims fencing, but acquired without a token (a number from 1 on)")
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
