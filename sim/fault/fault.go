package fault

import (
	"sort"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Kind is one kind of fault. It strikes once (Begin), or lasts (Begin and End), or strikes messages
// (Strike, and Needs.Messages).
type Kind struct {
	Name  string
	About string
	Needs plan.FaultNeeds
	// Effects are what such a fault does to the world. The history has them, and whoever judges it
	// asks for them and never for the kind's name.
	Effects func(f plan.Fault) []history.Effect
	// Begin has the fault strike. It fills in what the history is to know of it.
	Begin func(t Target, f plan.Fault, record *history.Fault)
	// End ends a fault that lasts.
	End func(t Target, f plan.Fault, record *history.Fault)
	// Strike strikes one message that is about to arrive.
	Strike func(t Target, f plan.Fault, m Message) Fate
}

// always are the effects of a kind that does not depend on how the plan asks for it.
func always(effects ...history.Effect) func(plan.Fault) []history.Effect {
	return func(plan.Fault) []history.Effect { return effects }
}

// Message is a message on its way, the world's own.
type Message any

// Fate is what became of a message that was struck.
type Fate uint8

const (
	Arrives Fate = iota // now
	Spared              // now, and the fault does nothing to it
	Later               // it was postponed
	Gone                // it will not arrive
)

// Target is what faults can do to a world. Where a server is named, "" is the first. What strikes a
// lock's key reports whether there was one.
type Target interface {
	Clients
	Messages
	Servers
	Keys
}

// Clients is what faults can do to clients.
type Clients interface {
	// PauseWatchdog holds back the watchdog timers of a client as they come due.
	PauseWatchdog(client string)
	// ResumeWatchdog runs those held back, and returns how many they were, and whether the client ever had any.
	ResumeWatchdog(client string) (held int, any bool)
	// PauseClient stops a whole client.
	PauseClient(client string)
	// ResumeClient has it go on, and returns how many messages had been waiting for it.
	ResumeClient(client string) int
	// KillClient ends a client for good.
	KillClient(client string, reset bool)
	// Partition holds back what a client sends, what it is sent, or both. With a server's name,
	// between the two only.
	Partition(client, server string, requests, replies bool)
	// Heal ends that, and returns how many messages were held back.
	Heal(client, server string, requests, replies bool) int
	// JumpClientClock sets a client's clock forward.
	JumpClientClock(client string, by time.Duration)
	// CloseConnections resets all connections of a client, and returns how many.
	CloseConnections(client string) int
}

// Messages is what faults can do to a message.
type Messages interface {
	Drop(m Message)                    // it never arrives, nor does what follows it on its connection
	Reset(m Message)                   // its connection breaks, and it is lost
	Delay(m Message, by time.Duration) // it arrives later
	// Copy has it arrive now, and once more later, a transaction as a whole, unless nobody would send it again.
	Copy(m Message, by time.Duration) Fate
	// Overtake holds it until another message of its client has passed it, at most so long.
	Overtake(m Message, most time.Duration)
	// Refuse answers a request with an error, if the server would refuse it in that state.
	Refuse(m Message, code string) Fate
}

// Servers is what faults can do to a server.
type Servers interface {
	FlushScripts(server string)
	StopServer(server string, data bool) int // it returns how many connections broke
	StartServer(server string)
	JumpClock(server string, by time.Duration) int // it returns how many keys expired
	// StopReplication has a replica receive nothing more; ResumeReplication has it catch up.
	StopReplication(server string, replica int)
	ResumeReplication(server string, replica int)
	// Failover has a replica become the master, and returns how many locks' keys were changed by it.
	Failover(server string, replica int) int
}

// Keys is what faults can do to a lock's key.
type Keys interface {
	ExpireKey(lock string) bool
	DeleteKey(lock string) bool // "": all keys
	OverwriteKey(lock string) bool
	// ForceUnlock has an operator call forceUnlock.
	ForceUnlock(lock string)
}

// Kinds is the registry.
func Kinds() []Kind {
	return []Kind{
		pauseWatchdog,
		pauseClient,
		killClient,
		partition,
		dropMessage,
		delayMessage,
		duplicateMessage,
		reorderMessage,
		closeConnection,
		expireKey,
		deleteKey,
		overwriteKey,
		forceUnlock,
		serverError,
		slowServer,
		scriptFlush,
		restart,
		clockJump,
		failover,
		stopReplication,
	}
}

// Find returns the kind of that name.
func Find(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Needs is what [plan.Plan.Check] wants to know.
func Needs() map[string]plan.FaultNeeds {
	needs := map[string]plan.FaultNeeds{}
	for _, k := range Kinds() {
		needs[k.Name] = k.Needs
	}
	return needs
}

// Names returns the names of all kinds, sorted.
func Names() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	sort.Strings(names)
	return names
}
