package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// maxMoments is how many moments the story of a verdict has at most: a screenful.
const maxMoments = 25

// A beat is a moment with what is needed to choose among many.
type beat struct {
	Moment
	score int
	told  int // how many were told before
}

// outweighs reports whether b is rather kept than c, of which the later is the less.
func (b *beat) outweighs(c *beat) bool {
	switch {
	case b.score != c.score:
		return b.score > c.score
	case b.At != c.At:
		return b.At < c.At
	}
	return b.told < c.told
}

// Scores, from what must not be missing to what only fills the scene.
const (
	scoreVerdict  = 100 // the first violation of a guarantee
	scoreKey      = 60
	scoreBreaking = 50 // its further violations
	scoreFault    = 40
	scoreScene    = 20 // ordinary, but about a lock and an owner that a violation is about
	scoreOrdinary = 5
	scoreRenewal  = 1
)

// Retell tells a run that was judged once more, with up to so many moments: its verdict has only those of most weight.
func Retell(h *history.History, v *Verdict, most int) []Moment {
	if len(v.Story) < maxMoments || most <= maxMoments || len(v.Refused) > 0 {
		return v.Story
	}
	return tellUpTo(collect(h, Options{}.withDefaults(h)), v.Results, most)
}

// tell chooses the moments that matter and puts them in order of time.
func tell(f *facts, results []Result) []Moment { return tellUpTo(f, results, maxMoments) }

func tellUpTo(f *facts, results []Result, most int) []Moment {
	t := &teller{f: f, scene: map[actor]bool{}, most: most}
	for _, r := range results {
		for _, v := range r.Violations {
			for _, o := range v.Owners {
				t.scene[actor{v.Lock, o}] = true
			}
		}
	}
	t.faults()
	for i := range f.h.Events { // what comes of them is told after them
		switch e := &f.h.Events[i]; {
		case e.Kind == history.ClockJump && t.toldJump(i): // of another lock
		case e.Lock == "", e.Kind == history.ClockJump:
			t.environment(e)
		}
	}
	for _, k := range f.kinds() {
		for _, l := range k.of(f) {
			k.tell(t, l)
		}
	}
	t.healing(results)
	for _, r := range results {
		t.verdict(r)
	}
	return t.story()
}

// A teller is told all moments of a run, and keeps those of most weight.
type teller struct {
	f     *facts
	scene map[actor]bool // whom violations are about
	most  int            // moments that are kept
	best  []beat         // the weightiest first
	told  int
}

type actor struct{ lock, owner string }

func (t *teller) add(at time.Duration, who string, weight Weight, score int, lock string, owners []string, format string, args ...any) {
	if weight == Plain && score == scoreOrdinary && slices.ContainsFunc(owners, func(o string) bool { return t.scene[actor{lock, o}] }) {
		score = scoreScene
	}
	b := beat{Moment: Moment{At: at, Who: who, Weight: weight}, score: score, told: t.told}
	t.told++
	if len(t.best) == t.most && t.best[t.most-1].outweighs(&b) {
		return // before anything is put into words: there may be millions
	}
	b.Text = fmt.Sprintf(format, args...)
	i := sort.Search(len(t.best), func(i int) bool { return b.outweighs(&t.best[i]) })
	t.best = slices.Insert(t.best[:min(len(t.best), t.most-1)], i, b)
}

func (t *teller) faults() {
	told := map[int]bool{} // with an earlier one
	for i := range t.f.h.Faults {
		fault := &t.f.h.Faults[i]
		from, to := t.f.span(fault)
		if told[i] || fault.Missed || fault.Has(history.ClockMoved) && t.jumped(from) {
			continue // it never struck, it is told already, or the event says by how much
		}
		also := t.alike(i, told)
		text := words.Begins(fault, also...)
		if (fault.Has(history.KeyExpired) || fault.Has(history.KeyDeleted)) && !fault.Struck() {
			text += ": there is none"
		}
		t.add(from, "fault", Faulty, scoreFault, fault.Lock, nil, "%s", text)
		if to > from && to < t.f.healed {
			t.add(to, "fault", Faulty, scoreFault, fault.Lock, nil, "%s", words.Ends(fault, also...))
		}
		for _, r := range t.f.onSilent[i] {
			t.add(r.Sent, r.Client, Plain, scoreFault, r.Lock, nil, "sends on the connection that is silent since %s, and gets no answer", Stamp(from))
		}
	}
}

// alike returns the other servers from which a fault's client is cut off at the same times: that is one moment.
func (t *teller) alike(i int, told map[int]bool) (servers []string) {
	all := t.f.h.Faults
	from, to := t.f.span(&all[i])
	if !words.Links(&all[i]) {
		return nil
	}
	for j := i + 1; j < len(all); j++ {
		other := &all[j]
		begins, ends := t.f.span(other)
		same := words.Links(other) && other.Kind == all[i].Kind && other.Client == all[i].Client && begins == from && ends == to
		if same && !other.Missed && !slices.Contains(servers, other.Server) && other.Server != all[i].Server && len(t.f.onSilent[j]) == 0 {
			told[j] = true
			servers = append(servers, other.Server)
		}
	}
	return servers
}

// healing tells that everything was healed, if what came then broke.
func (t *teller) healing(results []Result) {
	for _, r := range results {
		if slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == contract.HealedCallsReturn || v.Rule == contract.FreshGets }) {
			t.add(t.f.healed, "fault", Faulty, scoreFault, "", nil, "everything is healed: no fault acts any more")
			return
		}
	}
}

// leaves reports whether the story leaves out what a client did with a lock: the fresh one is told of only where it meets with
// what is broken.
func (t *teller) leaves(client, lock, owner string, at time.Duration) bool {
	return t.f.fresh(client, at) && !t.scene[actor{lock, owner}]
}

// holds tells what the server did with a lock: grants, releases, expiries.
func (t *teller) holds(l *lockFacts) {
	believers := sweep{rest: l.beliefs}
	for _, h := range l.tenures { // by their beginnings
		if h.owner == history.AnotherProgram {
			continue // the end of the hold before is told, and the fault
		}
		if t.leaves(h.client, l.name, h.owner, h.from) {
			continue
		}
		if h.restored {
			t.add(h.from, "server", Key, scoreKey, l.name, []string{h.owner}, "has %s held by %s again, as the replica knew it", l.name, h.owner)
			if !h.open {
				t.ending(l, h)
			}
			continue
		}
		lease := "no lease"
		if h.grant.Lease > 0 {
			lease = "a lease of " + short(h.grant.Lease)
		}
		if h.grant.Watchdog {
			lease += " that its watchdog renews"
		}
		weight, score, while := Plain, scoreOrdinary, ""
		if b := believers.other(l, h.owner, h.from); b != nil && l.overlaps.all > 0 {
			weight, score, while = Key, scoreKey, fmt.Sprintf(", while %s still believes it holds it", b.owner)
		}
		if call := t.f.refusedBefore(h.grant); call != nil {
			while = fmt.Sprintf(", by a copy of a request of its %s, which was told %s", call.Kind, call.Outcome) + while
		} else if waited := h.from - h.grant.Call; waited > t.f.prompt() && !h.grant.Aside {
			while = fmt.Sprintf(", having waited %s%s", short(waited), while)
		}
		t.add(h.from, h.owner, weight, score, l.name, []string{h.owner}, "gets %s with %s%s", l.name, lease, while)
		told := h.from
		for _, s := range h.sets[1:] {
			if s.op != nil && s.op.Kind.Renews() && !(t.f.composed(l) && s.at-told < t.f.prompt()) { // a group's members are renewed one after the other
				told = s.at
				does := "renews its lease on %s"
				if s.op.Aside && s.op.Call == h.grant.Call { // the call takes the lock by one command, and sets its lease by another
					does = "sets its lease on %s"
				}
				t.add(s.at, h.owner, Plain, scoreRenewal, l.name, []string{h.owner}, does, l.name)
			}
		}
		if !h.open {
			t.ending(l, h)
		}
	}
}

func (t *teller) ending(l *lockFacts, h *tenure) {
	owners := []string{h.owner}
	still := ""
	if b := h.belief; b != nil && b.from <= h.to && h.to < b.to {
		still = fmt.Sprintf("; %s does not know", h.owner)
	}
	switch op := h.endOp; {
	case h.restored && h.endEvent != nil && h.endEvent.Kind == history.Expire:
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "the lease that %s had on %s ends", h.owner, l.name)
	case h.endEvent != nil && h.endEvent.Kind == history.Restore && h.endEvent.Owner != history.AnotherProgram:
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "the hold of %s on %s is gone: the replica does not know it%s", h.owner, l.name, still)
	case h.endEvent != nil && h.outside:
		on := ""
		if fault := t.struck(h.to, func(f *history.Fault) bool { return f.Server != "" && f.Has(history.ServerForgot, history.ClockMoved) }); fault != nil {
			on = " on " + words.Server(fault.Server)
		}
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "the key of %s%s is gone under its holder %s", l.name, on, h.owner)
	case h.endEvent != nil:
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "the lease of %s on %s ends, last set at %s; the key expires%s", h.owner, l.name, Stamp(h.last()), still)
	case op == nil:
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "the hold of %s on %s is gone%s", h.owner, l.name, still)
	case op.Kind.Forces():
		t.add(h.to, op.Owner, Key, scoreKey, l.name, append(owners, op.Owner), "forces %s free; %s held it", l.name, h.owner)
	case h.endAgain && t.f.composed(l) && t.f.onceEach(op):
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "an earlier %s of %s takes effect on one member more and ends the hold on %s", op.Kind, op.Owner, l.name)
	case h.endAgain:
		t.add(h.to, "server", Key, scoreKey, l.name, owners, "an earlier %s of %s takes effect once more and ends the hold on %s", op.Kind, op.Owner, l.name)
	case op.Owner != h.owner:
		t.add(h.to, op.Owner, Key, scoreKey, l.name, append(owners, op.Owner), "frees %s, which %s holds", l.name, h.owner)
	default:
		t.add(h.to, h.owner, Plain, scoreOrdinary, l.name, owners, "releases %s", l.name)
	}
}

// calls tells what callers met with: waits, refusals.
func (t *teller) calls(l *lockFacts) {
	refused := map[*belief]bool{} // renewals of a lost hold are refused many times
	for _, op := range l.ops {
		if t.leaves(op.Client, l.name, op.Owner, op.Call) {
			continue
		}
		owners := []string{op.Owner}
		switch {
		case op.Kind.Unlocks() && op.Outcome == history.NotHeld:
			told := " and is refused: it does not hold it"
			if t.f.silent[op.ID] {
				told = ", which it does not hold; nobody tells it"
			}
			t.add(op.Return, op.Owner, Key, scoreKey, l.name, owners, "wants to unlock %s%s", l.name, told)
		case op.Kind.Acquires() && op.Outcome == history.Busy:
			t.add(op.Return, op.Owner, Plain, scoreOrdinary, l.name, owners, "gives up on %s after %s: it is busy", l.name, short(op.Return-op.Call))
		case op.Outcome == history.Failed && op.Cancel == history.Ended && (callsFor(op) || op.Kind.Unlocks()):
			t.add(op.Return, op.Owner, Plain, scoreOrdinary, l.name, owners, "calls %s of %s under a context that has ended", op.Kind, l.name)
		case callsFor(op) && op.Outcome == history.Failed && op.Cancel > 0 && op.Return-op.Call >= op.Cancel:
			t.add(op.Return, op.Owner, Plain, scoreOrdinary, l.name, owners, "is interrupted after %s, and waits no more for %s", short(op.Cancel), l.name)
		case callsFor(op) && waits(op) > t.f.prompt():
			t.add(op.Call, op.Owner, Plain, scoreOrdinary, l.name, owners, "asks for %s and has to wait", l.name)
		case op.Outcome == history.Unknown && op.Aside:
			call := t.f.inNameOf(op) // a copy is nobody's call
			if call != nil && !op.Kind.Renews() && !t.f.answeredDuring(op, call) {
				t.add(op.Return, op.Owner, Key, scoreKey, l.name, owners, "does not hear what its %s of %s did to %s", call.Kind, call.Lock, l.name)
			}
		case op.Outcome == history.Unknown && !op.Kind.Renews():
			t.add(op.Return, op.Owner, Key, scoreKey, l.name, owners, "does not learn what became of its %s of %s", op.Kind, l.name)
		case op.Kind.Renews() && op.Outcome == history.NotHeld && !op.Pending():
			if b := l.owner(op.Owner).belief(op.Return); b != nil && op.Return < b.to && !refused[b] {
				refused[b] = true
				t.add(op.Return, op.Owner, Key, scoreKey, l.name, owners, "wants to renew its lease on %s and is refused; it works on", l.name)
			}
		}
	}
}

func waits(op *history.Op) time.Duration {
	if at, ok := took(op); ok {
		return at - op.Call
	}
	if op.Pending() {
		return 1<<63 - 1
	}
	return op.Return - op.Call
}

func (t *teller) events(l *lockFacts) {
	for _, e := range l.events {
		switch e.Kind {
		case history.Lost:
			t.add(e.At, e.Owner, Key, scoreKey, l.name, []string{e.Owner}, "is told that its hold on %s is over", l.name)
		case history.LostGiving:
			t.add(e.At, e.Owner, Plain, scoreScene, l.name, []string{e.Owner}, "is told that its hold on %s is over, while it gives it back", l.name)
		case history.Leftover:
			until := "for ever"
			if e.Deadline > 0 {
				until = "until " + Stamp(e.Deadline)
			}
			t.add(e.At, "server", Plain, scoreScene, l.name, nil, "the key of %s is left behind, %s", l.name, until)
		case history.ForceTTL:
			if e.Owner != "" {
				t.setAnew(l, e)
				break
			}
			if t.struck(e.At, func(f *history.Fault) bool { return f.Has(history.ClockMoved) }) != nil {
				break // it is told, and the lease of a group ends when that of a member does
			}
			t.add(e.At, "server", Key, scoreKey, l.name, nil, "the time to live of %s is changed from outside", l.name)
		case history.ClockJump: // told before what comes of it
		default:
			t.environment(e)
		}
	}
}

// setAnew tells that a lock's client had a lease end at another time, by no call or by one that is under way.
func (t *teller) setAnew(l *lockFacts, e *history.Event) {
	why := "its client sets the lease anew, in the background"
	for _, op := range slices.Backward(l.owner(e.Owner).called(0, e.At)) {
		if op.Aside {
			continue
		}
		switch {
		case !op.Pending() && op.Return < e.At:
		case op.Kind.Unlocks() || t.leaves(op.Client, l.name, e.Owner, e.At):
			return // a group is given back member by member
		default:
			why = fmt.Sprintf("its %s is under way", op.Kind)
		}
		break // an owner makes one call at a time
	}
	until := "for ever"
	if e.Deadline > 0 {
		until = "until " + Stamp(e.Deadline)
	}
	t.add(e.At, e.Owner, Plain, scoreScene, l.name, []string{e.Owner}, "is now to hold %s %s: %s", l.name, until, why)
}

// toldJump reports whether a jump of a clock is that of an event before it, which is about another lock.
func (t *teller) toldJump(i int) bool {
	all := t.f.h.Events
	return slices.ContainsFunc(all[:i], func(e history.Event) bool {
		return e.Kind == history.ClockJump && e.At == all[i].At && e.By == all[i].By
	})
}

func (t *teller) environment(e *history.Event) {
	switch e.Kind {
	case history.Died:
		if t.struck(e.At, func(f *history.Fault) bool { return f.Has(history.ProcessDied) && f.Client == e.Client }) == nil {
			t.add(e.At, e.Client, Key, scoreKey, "", nil, "dies")
		}
	case history.Restart:
		if t.struck(e.At, func(f *history.Fault) bool { return f.Has(history.ServerDown) }) == nil {
			t.add(e.At, "server", Key, scoreKey, "", nil, "restarts")
		}
	case history.Failover:
		if t.forgot(e.At) == nil {
			t.add(e.At, "server", Key, scoreKey, "", nil, "dies; a replica takes its place")
		}
	case history.ClockJump:
		server := ""
		if fault := t.struck(e.At, func(f *history.Fault) bool { return f.Has(history.ClockMoved) }); fault != nil {
			server = fault.Server
		}
		t.add(e.At, "server", Key, scoreKey, "", nil, "the clock of %s jumps by %s", words.Server(server), short(e.By))
	}
}

// struck is a fault that began at a time, and of which an event of that time is a part: a thing is told once. Nil: none.
func (t *teller) struck(at time.Duration, is func(*history.Fault) bool) *history.Fault {
	for i := range t.f.h.Faults {
		if f := &t.f.h.Faults[i]; !f.Missed && f.From == at && is(f) {
			return f
		}
	}
	return nil
}

// forgot is the fault by which a server lost its data at a time, or nil.
func (t *teller) forgot(at time.Duration) *history.Fault {
	return t.struck(at, func(f *history.Fault) bool { return f.Has(history.ServerForgot) })
}

// jumped reports whether a clock jumped at a time.
func (t *teller) jumped(at time.Duration) bool {
	return slices.ContainsFunc(t.f.h.Events, func(e history.Event) bool { return e.Kind == history.ClockJump && e.At == at })
}

// verdict tells where a guarantee broke.
func (t *teller) verdict(r Result) {
	for i, v := range r.Violations {
		score := scoreVerdict
		if i > 0 {
			score = scoreBreaking
		}
		switch v.Rule {
		case contract.OneBeliever:
			t.add(v.From, "verdict", Breaking, score, v.Lock, v.Owners, "%s and %s now both believe they hold %s", v.Owners[0], v.Owners[1], v.Lock)
			if v.To < t.f.end {
				t.add(v.To, "verdict", Breaking, score, v.Lock, v.Owners, "the overlap of %s and %s ends after %s", v.Owners[0], v.Owners[1], short(v.To-v.From))
			}
		case contract.NoMoreOut:
			t.add(v.From, "verdict", Breaking, score, v.Lock, v.Owners, "%s", v.Text)
		case contract.RenewedInTime:
			due := v.From + t.f.renewEvery()
			t.add(due, "verdict", Breaking, score, v.Lock, v.Owners, "the renewal of %s's lease on %s is due and does not come", v.Owners[0], v.Lock)
		default:
			t.add(v.To, "verdict", Breaking, score, v.Lock, v.Owners, "%s", v.Text)
		}
	}
}

// story is what was kept, in order of time. It says how many moments it left out.
func (t *teller) story() []Moment {
	kept := t.best
	if t.told > t.most {
		kept = kept[:t.most-1]
	}
	slices.SortFunc(kept, func(a, b beat) int { return cmp.Or(cmpTime(a.At, b.At), a.told-b.told) })
	story := make([]Moment, 0, len(kept)+1)
	for _, b := range kept {
		story = append(story, b.Moment)
	}
	if left := t.told - len(kept); left > 0 {
		story = append(story, Moment{At: t.f.end, Who: "verdict", Weight: Plain,
			Text: fmt.Sprintf("the run ends; %s of less weight are left out here", count(left, "moment"))})
	}
	return story
}
