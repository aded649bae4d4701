package subjects

import "github.com/holdfast-sim/holdfast/history"

// Weakness is something that a lock is known and documented to get wrong when a fault strikes. It
// is not claimed, so that exploration does not report it.
type Weakness struct {
	Guarantee string       // as package checker names it; empty: any
	Class     string       // of the cause, as package checker names it
	Call      history.Kind // of the operation that shows it; empty: any
	Rule      string       // that is broken, as package checker words it; empty: any
	Faults    []string     // by one of which it shows; empty: any
	Unblamed  bool         // it shows without a fault, too
	Source    string       // where it is documented
}
