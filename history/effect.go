package history

import "slices"

// Effect is one thing that a fault does to the world. Whoever judges a history asks for effects and
// never for the name of a fault.
type Effect string

const (
	ProcessStopped     Effect = "process-stopped"     // the client's process does not run
	TimersStopped      Effect = "timers-stopped"      // the client's watchdog timers do not run
	ProcessDied        Effect = "process-died"        // the client's process is gone for good
	RequestsHeld       Effect = "requests-held"       // nothing that the client sends arrives; it arrives afterwards
	RepliesHeld        Effect = "replies-held"        // nothing that the client is sent arrives; it arrives afterwards
	MessageLost        Effect = "message-lost"        // a message never arrives, nor does what follows on its connection
	MessageLate        Effect = "message-late"        // a message arrives later than the network's latency
	MessageCopied      Effect = "message-copied"      // a message arrives twice
	ConnectionBroken   Effect = "connection-broken"   // a connection ends, and both sides learn of it
	RequestRefused     Effect = "request-refused"     // the server answers with an error and does nothing
	ServerDown         Effect = "server-down"         // the server does not serve
	ServerSlow         Effect = "server-slow"         // the server serves late
	ServerForgot       Effect = "server-forgot"       // the server lost its data, or has older data
	ScriptsForgotten   Effect = "scripts-forgotten"   // the server lost its script cache
	ReplicationStopped Effect = "replication-stopped" // a replica receives nothing
	ClockMoved         Effect = "clock-moved"         // the server's clock jumped
	ClientClockMoved   Effect = "client-clock-moved"  // the client's clock jumped
	KeyExpired         Effect = "key-expired"         // somebody outside the lock had a key expire
	KeyDeleted         Effect = "key-deleted"         // somebody outside the lock deleted a key
	KeyOverwritten     Effect = "key-overwritten"     // somebody outside the lock put something else into a key
	ForcedFree         Effect = "forced-free"         // an operator forced a lock free
)

// What several effects do alike. Each list is the caller's own.

// Hinders are the effects that keep a client from acting.
func Hinders() []Effect {
	return []Effect{ProcessStopped, RequestsHeld, RepliesHeld, ServerDown, ServerSlow, RequestRefused, MessageLost, MessageLate, ConnectionBroken}
}

// HindersTimers are the effects that keep a client's watchdog from acting.
func HindersTimers() []Effect { return append(Hinders(), TimersStopped) }

// Resends are the effects by which a request may reach the server more than once, or late.
func Resends() []Effect { return append(Hinders(), MessageCopied) }

// TouchesKey are the effects by which somebody outside the lock changes its key.
func TouchesKey() []Effect { return []Effect{KeyExpired, KeyDeleted, KeyOverwritten} }

// lasting are the effects that go on until their fault ends. The others happen at one moment.
var lasting = []Effect{ProcessStopped, TimersStopped, RequestsHeld, RepliesHeld, ServerDown, ServerSlow, ReplicationStopped}

// Lasts reports whether the effect goes on until its fault ends.
func (e Effect) Lasts() bool { return slices.Contains(lasting, e) }

// Has reports whether the fault has one of these effects.
func (f *Fault) Has(some ...Effect) bool {
	return slices.ContainsFunc(f.Effects, func(e Effect) bool { return slices.Contains(some, e) })
}

// Lasts reports whether some effect of the fault goes on until the fault ends.
func (f *Fault) Lasts() bool { return f.Has(lasting...) }

// named are the effects of faults whose record has none: histories of other tools, and those that
// were written before faults recorded their effects.
var named = map[string][]Effect{
	"pause-watchdog":    {TimersStopped},
	"pause-client":      {ProcessStopped, TimersStopped},
	"pause-harness":     {ProcessStopped, TimersStopped},
	"kill-client":       {ProcessDied},
	"partition":         {RequestsHeld, RepliesHeld},
	"drop-message":      {MessageLost},
	"delay-message":     {MessageLate},
	"duplicate-message": {MessageCopied},
	"reorder-message":   {MessageLate},
	"close-connection":  {ConnectionBroken},
	"kill-connection":   {ConnectionBroken},
	"expire-key":        {KeyExpired},
	"delete-key":        {KeyDeleted},
	"overwrite-key":     {KeyOverwritten},
	"force-unlock":      {ForcedFree},
	"server-error":      {RequestRefused},
	"slow-server":       {ServerSlow},
	"pause-server":      {ServerDown},
	"starve-server":     {ServerDown},
	"script-flush":      {ScriptsForgotten},
	"restart":           {ServerDown, ConnectionBroken},
	"clock-jump":        {ClockMoved},
	"failover":          {ServerForgot, ConnectionBroken},
	"stop-replication":  {ReplicationStopped},
}

// EffectsOf are the effects of a fault by its kind and step, for a record that does not name them.
func EffectsOf(kind, step string) []Effect {
	switch {
	case kind == "partition" && step == "requests":
		return []Effect{RequestsHeld}
	case kind == "partition" && step == "replies":
		return []Effect{RepliesHeld}
	case kind == "restart" && step != "all", kind == "lose-data":
		return []Effect{ServerDown, ConnectionBroken, ServerForgot}
	}
	return slices.Clone(named[kind])
}
