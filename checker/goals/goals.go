// Package goals lists the states that a search is to reach ("sometimes" states), and says which of them a run came to: of its
// history and its verdict alone.
package goals

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// All is the table: each exemption, each branch of a lock's scripts that the server log shows, and situations.
func All() []contract.Goal {
	all := exemptions()
	for _, s := range situations {
		g := s.Goal
		g.Reached = func(h *history.History) bool { return s.in(look(h)) }
		all = append(all, g)
	}
	return all
}

// Unread is the ability of a lock whose keys cannot be read, so that it is judged by its answers alone: see [Reach].
const Unread = "unread"

// Readable is the ability of all others: it is seen in the server log who holds them.
const Readable = "readable"

// Grouped is the ability of a lock of which others can be made, of whatever kind.
const Grouped = "grouped"

// Counted is the ability of an object that counts: a semaphore, or a latch.
const Counted = "counted"

// Held is the ability of an object whose key says who holds it: a lock, or a permit semaphore.
const Held = "held"

// Listens is the ability of a lock whose waiters subscribe to a channel.
const Listens = "listens"

// Expires is the ability of an object that may be free without a message, as its key, or a lease, ends.
const Expires = "expires"

// Undrawn is an ability that no lock has: of states that a plan has to be written for, since none that is drawn comes there.
const Undrawn = "undrawn"

// rows says of exemptions what a lock has to be, besides what the exemption says.
var rows = map[string][]string{
	"lease-outlived":          {string(history.ALock)},
	"holder-stopped":          {string(history.ALock)},
	"holder-not-renewed":      {string(history.ALock), string(contract.Renews)},
	"key-touched":             {Held},
	"forced-free":             {string(history.ALock), string(contract.Forces)},
	"counter-lost":            {string(contract.Fences)},
	"counter-behind":          {string(contract.Fences)},
	"token-kept":              {Undrawn}, // a copy has to take what a re-entry finds
	"counter-lost-at-once":    {string(contract.TokensGoOn)},
	"given-up-late":           {string(history.ALock)},
	"unlocked-late":           {string(history.ALock)},
	"lease-unheard":           {string(history.ALock), string(contract.SetsLease)},
	"member-unlocked-late":    {string(contract.Red)},
	"member-given-up-late":    {string(contract.Red)},
	"member-touched":          {string(contract.Red)},
	"member-shortened":        {string(contract.Red)},
	"other-hold":              {string(contract.ReadWrite)},
	"downgraded":              {string(contract.ReadWrite)},
	"force-ends-renewals":     {string(contract.ReadWrite)},
	"refusal-lost":            {string(contract.ReadWrite)},
	"queue-lost":              {string(contract.Fair)},
	"place-over":              {string(contract.Fair)},
	"place-not-kept":          {string(contract.Fair), string(contract.KeepsPlace)},
	"place-left":              {string(contract.Fair)},
	"place-ahead":             {string(contract.Fair)},
	"place-kept":              {string(contract.Fair), string(contract.LeavesLine)},
	"renewed-late":            {string(history.ALock), string(contract.Renews)},
	"lengthened-late":         {string(history.ALock), string(contract.Renews)},
	"no-opportunity":          {string(contract.Renews)},
	"message-missed":          {Counted},
	"repeated-in-vain":        {Counted, string(contract.Idempotent)},
	"set-again":               {string(history.ALatch)},
	"latch-deleted":           {string(history.ALatch)},
	"wake-up-taken":           {Undrawn}, // no listed lock of the sim world waits by a blocking command
	"woke-another":            {string(history.ASemaphore)},
	"holder-died":             {Counted},
	"one-reclaimed":           {Undrawn}, // 1 run of 50,000
	"clients-clock":           {string(history.APermitSemaphore)},
	"counter-of-permits-lost": {string(history.APermitSemaphore)},
	"paused-in-acquire":       {string(contract.Red)},
	"unannounced":             {Listens, Expires},
	"late-write":              {Undrawn},
	"memory-lost":             {Readable},
	"sent-again":              {Readable},
	"refused-copy":            {Readable},
	"held-again":              {Readable},
	"held-twice":              {Readable},
	"forgot-unread":           {Unread},
	"perhaps-sent-again":      {Unread},
}

// exemptions are goals by their names.
func exemptions() []contract.Goal {
	var all []contract.Goal
	for _, e := range contract.Exemptions() {
		g := contract.Goal{Name: e.Name, Means: fmt.Sprintf("A break of %s was the ruling of this exemption.", listed(e.Guarantees)), Needs: rows[e.Name], Effects: e.Effects}
		if e.Unless != "" {
			g.Unless = []contract.Claim{e.Unless}
		}
		all = append(all, g)
	}
	return all
}

func listed(of []contract.Guarantee) string {
	text := ""
	for i, g := range of {
		switch {
		case i > 0 && i == len(of)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += string(g)
	}
	return text
}

// name is what a goal may be called.
var name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Check says what is wrong with goals that a lock declares, besides those of [All].
func Check(own []contract.Goal) error {
	taken := map[string]bool{}
	for _, g := range All() {
		taken[g.Name] = true
	}
	for _, g := range own {
		switch {
		case !name.MatchString(g.Name):
			return fmt.Errorf("goal %q: its name must be words of a-z and 0-9 with dashes between", g.Name)
		case taken[g.Name]:
			return fmt.Errorf("goal %q: another one has that name", g.Name)
		case g.Reached == nil:
			return fmt.Errorf("goal %q: it does not say when it is reached", g.Name)
		}
		taken[g.Name] = true
	}
	return nil
}

// Reached lists the names of goals that a run came to: those of the table in its order, and then those of the lock's own.
func Reached(h *history.History, v *checker.Verdict, own []contract.Goal) []string {
	var names []string
	ruled := map[string]bool{}
	for _, r := range v.Results {
		for _, x := range r.Violations {
			ruled[x.Ruling.Row] = true
		}
	}
	for _, e := range contract.Exemptions() {
		if ruled[e.Name] {
			names = append(names, e.Name)
		}
	}
	run := look(h)
	for _, s := range situations {
		if s.in(run) {
			names = append(names, s.Name)
		}
	}
	for _, g := range own {
		if g.Reached(h) {
			names = append(names, g.Name)
		}
	}
	return names
}

// When is the time at which a run that came to a situation of the table was there first, or 0 if it is no single command, call or event.
func When(h *history.History, name string) time.Duration {
	i := slices.IndexFunc(situations, func(s situation) bool { return s.Name == name })
	if i < 0 {
		return 0
	}
	r := look(h)
	situations[i].in(r)
	return r.at
}

// Reach is what bounds the goals that a search can come to.
type Reach struct {
	// Has says what the lock has: abilities, also those that it does not claim, kinds of groups, its kind of object, [Counted], [Grouped],
	// [Held], [Listens], [Expires], [Unread] and [Readable].
	Has     func(ability string) bool
	Claims  func(claim contract.Claim) bool
	Effects []history.Effect // of the faults that may strike
	// Forgets says that the lock's claim to be idempotent is not of all calls.
	Forgets bool
}

// Of are those of some goals that can be reached, as far as that is known beforehand.
func (r Reach) Of(some []contract.Goal) []contract.Goal {
	return slices.DeleteFunc(slices.Clone(some), func(g contract.Goal) bool {
		lacks := func(what string) bool { return !r.Has(what) }
		takesAway := func(c contract.Claim) bool { return r.Claims(c) && !(c == contract.Idempotent && r.Forgets) }
		strikes := func(e history.Effect) bool { return slices.Contains(r.Effects, e) }
		return slices.ContainsFunc(g.Needs, lacks) || slices.ContainsFunc(g.Unless, takesAway) || len(g.Effects) > 0 && !slices.ContainsFunc(g.Effects, strikes)
	})
}
