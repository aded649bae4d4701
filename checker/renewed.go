package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// renewedOthers finds renewals of what another client has. The lock is judged by its answers alone, but its key may say who holds it all the same.
// What a key says is a client's if a command of that client has it: a client that renews its own hold has named it before.
func (f *facts) renewedOthers(l *lockFacts, found *violations) {
	if f.h.Header.Layout.Unknown == "" || l.shared() {
		return
	}
	named, told := map[string][]string{}, map[string]bool{}
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Step == history.StepAdmin || r.Lock != l.name {
			continue
		}
		value := saysAlone(r.After)
		if before := saysAlone(r.Before); before != "" {
			value = before
		}
		if value == "" || value == history.AnotherProgram {
			continue
		}
		if strings.Contains(r.Text, value) {
			named[value] = appendNew(named[value], r.Client)
		}
		by := named[value]
		if r.Op != 0 || r.After == nil || r.Before == nil || saysAlone(r.After) != value || r.After.Deadline <= r.Before.Deadline ||
			len(by) == 0 || slices.Contains(by, r.Client) || told[r.Client+value] {
			continue
		}
		told[r.Client+value] = true
		found.addAt(r.At, func() Violation {
			return Violation{Rule: contract.HolderRenews, Lock: l.name, From: r.At, To: r.At, Owners: []string{r.Client},
				Text:  fmt.Sprintf("%s renewed %s at %s, though %s had it: no command of %s had ever named what the key says", r.Client, l.name, Stamp(r.At), by[0], r.Client),
				Cause: Cause{Class: contract.Unexplained, Text: "no fault makes a client renew what another has"}}
		})
	}
}

// saysAlone is what a key says of its holder, if it says one thing.
func saysAlone(s *history.KeyState) string {
	if s == nil || len(s.Holdings) != 1 {
		return ""
	}
	return s.Holdings[0].Owner
}
