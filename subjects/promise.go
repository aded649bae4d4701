package subjects

import (
	"slices"

	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// What locks promise of requests that are sent again, and what they are documented not to promise.

var (
	acquires = []history.Kind{history.Lock, history.TryLock}
	unlocks  = []history.Kind{history.Unlock}
	forces   = []history.Kind{history.ForceUnlock}
)

// Changing lists the calls on an object by which what the server knows of it may change; "" is a lock.
func Changing(is history.Object) []history.Kind {
	switch is {
	case history.ASemaphore:
		return slices.Concat(sets, takes, gives, drains)
	case history.ALatch:
		return slices.Concat(counts, downs, deletes)
	case history.APermitSemaphore:
		return slices.Concat(setsTotal, addsTotal, takesOne, givesOne)
	case history.ARWLock:
		return slices.Concat(rwAcquires, rwUnlocks, rwForces)
	}
	return slices.Concat(acquires, unlocks, forces)
}

// notIdempotent is the limitation that a call that is sent again is a new one.
func notIdempotent(source string, calls []history.Kind) history.Limitation {
	return history.Limitation{Claim: string(contract.Idempotent), Calls: calls, Source: source}
}

// without is the limitation that a lock does not make a claim.
func without(claim contract.Claim, source string) history.Limitation {
	return history.Limitation{Claim: string(claim), Source: source}
}

// OfValues are the limitations of a lock whose key has a value for each grant: who did not learn of a grant has no value
// to give back.
func OfValues() []history.Limitation {
	return []history.Limitation{
		{Rule: string(contract.HolderNotRefused), Calls: unlocks, Source: "docs/explore.md: who does not learn of a grant or a release cannot unlock"},
	}
}

// latchLife is how long the default options keep the answer to an unlock, and the least for which
// generation hardened remembers a request.
const latchLife = 20 * time.Second

// resentFor is for how long generation hardened at least knows a request again that go-redis sends again.
const resentFor = 3 * time.Minute
