package checker

import (
	"github.com/holdfast-sim/holdfast/checker/internal/linear"
	"github.com/holdfast-sim/holdfast/history"
)

// implied reports whether ends of leases are to be inferred.
func (f *facts) implied() bool {
	return f.h.Header.Expiry == history.Implied && f.options.Model.Leases()
}

// lapse closes, before another owner's grant, the tenures whose leases can have ended by then: in
// an implied history no event does. A lease that nobody renews ended at its deadline; when one with a
// watchdog ended is not known, except that it was before the grant.
func (r *tenureReplay) lapse(a *act) {
	for _, t := range r.open {
		if t.owner == a.op.Owner || t.deadline > a.at+linear.Slack {
			continue
		}
		at := min(t.deadline, a.at)
		if t.watchdog {
			at = a.at
		}
		r.end(t, &act{at: at, seq: -1, event: &history.Event{At: at, Kind: history.Expire, Lock: a.op.Lock}}, false)
	}
}
