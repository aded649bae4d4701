package subjects

import (
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Weakness is something that a lock is known and documented to get wrong when a fault strikes. It
// is not claimed, so that exploration does not report it. The narrower, the less is hidden by it.
type Weakness struct {
	Guarantee string        // as package checker names it; empty: any
	Class     string        // of the cause, as package checker names it; empty: any
	Call      history.Kind  // of the operation that shows it; empty: any
	Rule      string        // that is broken, as package checker words it; empty: any
	Faults    []string      // a fault of one of these kinds struck the call's client while the call was under way; empty: any fault that can be felt
	After     time.Duration // the caller was answered more than so long after its call took effect
	Returned  bool          // it shows when the call has been answered
	Source    string        // where it is documented
}

// Rules that weaknesses break, as package checker words them.
const (
	once    = "a call takes effect at most once"
	told    = "a caller is told what its call did"
	failed  = "a call that failed had no effect"
	refused = "the holder's unlock is not refused"
	left    = "a hold ends with its owner's last unlock"
	within  = "a call takes effect between its call and its return"
)

// delays are the faults by which a copy of a request can come after the first copy's answer; copies
// are those, and the ones by which go-redis gets no answer and sends a request again.
var (
	delays = []string{"delay-message", "duplicate-message", "reorder-message", "slow-server", "partition", "pause-client"}
	copies = append([]string{"drop-message", "close-connection", "kill-connection", "restart", "failover"}, delays...)
)

// ofValues are the weaknesses of a lock whose key has a value by which its holder is known: nothing
// tells a copy of a request from another request.
func ofValues() []Weakness {
	const lost, late = "docs/matrix.md: lost-unlock-reply", "docs/explore.md: a lock of a value remembers no requests"
	return []Weakness{
		{Guarantee: "object", Rule: told, Call: history.Unlock, Faults: copies, Source: lost},
		{Guarantee: "object", Rule: within, Call: history.Unlock, Faults: delays, Source: late},
		{Guarantee: "object", Rule: refused, Call: history.Unlock, Source: "docs/explore.md: who does not learn of a grant or a release cannot unlock"},
		{Guarantee: "object", Rule: failed, Call: history.Lock, Faults: copies, Source: late},
		{Guarantee: "object", Rule: failed, Call: history.TryLock, Faults: copies, Source: late},
		{Guarantee: "object", Rule: told, Call: history.Lock, Faults: copies, Source: late},
		{Guarantee: "object", Rule: told, Call: history.TryLock, Faults: copies, Source: late},
		{Guarantee: "object", Rule: once, Call: history.Unlock, Faults: copies, Source: late},
		{Guarantee: "object", Rule: once, Call: history.Lock, Faults: copies, Source: late},
		{Guarantee: "object", Rule: once, Call: history.TryLock, Faults: copies, Source: late},
	}
}
