package fault

import (
	"sort"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Kind is one kind of fault.
type Kind struct {
	Name  string
	About string
	Needs plan.FaultNeeds
	// Begin has the fault strike. It fills in what the history is to know of it.
	Begin func(t Target, f plan.Fault, record *history.Fault)
	// End ends a fault that lasts.
	End func(t Target, f plan.Fault, record *history.Fault)
}

// Target is what faults can do to a world.
type Target interface {
	// PauseWatchdog holds back the watchdog timers of a client as they come due.
	PauseWatchdog(client string)
	// ResumeWatchdog runs those held back, and returns how many they were.
	ResumeWatchdog(client string) int
	// Partition holds back what a client sends, what it is sent, or both.
	Partition(client string, requests, replies bool)
	// Heal ends that, and returns how many messages were held back.
	Heal(client string, requests, replies bool) int
	// ExpireKey ends the TTL of a lock's key now, and reports whether there was a key.
	ExpireKey(lock string) bool
}

// Kinds is the registry.
func Kinds() []Kind {
	return []Kind{
		pauseWatchdog,
		partition,
		expireKey,
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
