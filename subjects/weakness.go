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
	Unblamed  bool          // it shows without a fault, too
	Source    string        // where it is documented
}
