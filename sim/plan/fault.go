package plan

// Fault is one fault: what strikes whom, and when. Kinds differ in what they take; see
// [FaultNeeds].
//
// When it strikes: at From, or when When says, not before From. A fault that lasts ends at To, or
// For after it struck, or when everything is healed. A fault on messages strikes the one that When names, or all
// from From to To.
type Fault struct {
	Kind      string   `json:"kind"`
	Client    string   `json:"client,omitzero"`
	Lock      string   `json:"lock,omitzero"`
	Server    string   `json:"server,omitzero"` // by default the first
	From      Duration `json:"from,omitzero"`
	To        Duration `json:"to,omitzero"`
	When      *Trigger `json:"when,omitempty"`
	For       Duration `json:"for,omitzero"`
	Count     int      `json:"count,omitzero"`     // how many messages, of those that When counts, from its n-th on; default 1
	Direction string   `json:"direction,omitzero"` // of a partition: both (default), requests, replies
	By        Duration `json:"by,omitzero"`        // how long a message is delayed, how far a clock jumps, ...
	Error     string   `json:"error,omitzero"`     // what a server answers: BUSY, LOADING, ...
	Data      string   `json:"data,omitzero"`      // what a restart leaves of the data: none (default), all
	Reset     bool     `json:"reset,omitzero"`     // connections are reset, rather than silent
	Replica   int      `json:"replica,omitzero"`   // of the server, from 1; default the first
}

// Trigger is a moment of the protocol. Exactly one of Request, Reply, Return and Between says
// which; Client, Lock and Nth narrow it down. The fault strikes just before the message arrives, or
// just after the call has returned.
type Trigger struct {
	Client string `json:"client,omitzero"` // whose message or call; default the fault's client, or anybody's
	Lock   string `json:"lock,omitzero"`   // that the message or call concerns; default the fault's lock, or any

	Request MessageKind `json:"request,omitzero"` // a message of this kind is about to arrive at the server
	Reply   MessageKind `json:"reply,omitzero"`   // the reply to one is about to arrive at the client
	Return  Action      `json:"return,omitzero"`  // a call of this action has returned
	// Between names two kinds of messages: the reply to one of the first has arrived at a client,
	// and the client's next request of the second kind, of the same call if it belongs to one, is
	// about to arrive at the server.
	Between []MessageKind `json:"between,omitempty"`

	Nth int `json:"nth,omitzero"` // which of them, from 1; default 1
}

// MessageKind names what part a message plays in the protocol of a lock. It is told by the call
// that a command belongs to and by what the command does, so it fits locks of any library.
type MessageKind string

const (
	Acquire   MessageKind = "acquire"   // an attempt of a lock or tryLock, or to take permits
	Release   MessageKind = "release"   // of an unlock, of permits, or of a countDown
	Force     MessageKind = "force"     // of a forceUnlock, drainPermits or deleteLatch
	Set       MessageKind = "set"       // of a step that sets permits or a count, or adds permits
	Renewal   MessageKind = "renew"     // of a watchdog
	Query     MessageKind = "query"     // of isLocked and its like, or of an await
	Subscribe MessageKind = "subscribe" // for releases; its reply is the confirmation
	Publish   MessageKind = "publish"   // a release is told to a subscriber; it is a reply to nothing
	Cleanup   MessageKind = "cleanup"   // of a call, but not on the lock's key
	Session   MessageKind = "session"   // connection set-up
)

// MessageKinds lists them all.
func MessageKinds() []MessageKind {
	return []MessageKind{Acquire, Release, Force, Set, Renewal, Query, Subscribe, Publish, Cleanup, Session}
}
