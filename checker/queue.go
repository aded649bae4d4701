package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// The queue of a fair lock, as the server log shows it.

// A place is one that an owner had in the queue.
type place struct {
	owner string
	op    *history.Op   // the owner's call that took it, or the last that asked while it had the place; nil: no call took it
	by    *history.Op   // the call that took it; nil: none did
	from  time.Duration // when it was taken
	since time.Duration // before that: when the server log shows the queue without it
	asked time.Duration // when the owner asked last while it had the place
	to    time.Duration // when it was gone; the end, if it stayed
	gone  departure
	own   bool // its owner's client sent the command by which it was gone
}

// A departure is how a place was gone.
type departure uint8

const (
	stayed  departure = iota
	granted           // its owner was granted the lock
	left              // its owner's client gave it up
	dropped           // another's command dropped it
	lost              // no client's command did
)

// A grant is a first hold of a lock.
type grant struct {
	at    time.Duration
	op    *history.Op
	first *place // the place of its owner's call; nil: it had not waited
}

// A refusal is an attempt that found the lock free.
type refusal struct {
	at     time.Duration
	op     *history.Op
	before []*place // of others, that were before its own
}

// queue is what the server log says of who waited for a fair lock.
type queue struct {
	places   []*place // in the order in which they were taken, or had by a replica
	grants   []grant
	refusals []refusal
}

// fair reports whether the lock claims to be granted in the order in which owners began to wait.
func (f *facts) fair() bool { return f.h.Can(string(contract.Fair)) && f.h.Header.Layout.Queue != "" }

// queueOf reads the server log of a fair lock.
func queueOf(f *facts, l *lockFacts) *queue {
	q, line, attempts := &queue{}, []*place{}, attemptsOf(f.h) // line are the places that there are
	heard, requests := map[string]bool{}, map[int64]bool{}     // the attempts that were executed, and of all commands the messages
	shown := time.Duration(0)                                  // when the queue was shown last
	for i := range f.h.Served {
		r := &f.h.Served[i]
		if r.Lock != l.name || r.After == nil || r.Refused {
			continue
		}
		op, copied := f.op(r.Op), r.Request != 0 && requests[r.Request]
		requests[r.Request] = true
		asks := op != nil && r.Step == history.StepAcquire && r.Before != nil && attempts[command(r)]
		took := asks && r.Before.Count(op.Owner) == 0 && r.After.Count(op.Owner) > 0
		if took {
			g := grant{at: r.At, op: op}
			if i := slices.IndexFunc(line, func(p *place) bool { return p.owner == op.Owner }); i >= 0 {
				g.first = line[i]
			}
			q.grants = append(q.grants, g)
		}
		behind := fallenBehind(line, r.After.Waiting)
		line = slices.DeleteFunc(line, func(p *place) bool {
			if slices.Contains(r.After.Waiting, p.owner) && !slices.Contains(behind, p.owner) {
				return false
			}
			p.to = r.At
			p.own = slices.Contains(r.Names, p.owner) || r.Owner == p.owner
			switch {
			case r.Step == history.StepAdmin:
				p.gone = lost
			case p.own && r.After.Count(p.owner) > 0:
				p.gone = granted
			case p.own && !asks && len(behind) == 0 && !f.waitsOn(p, op, r.At):
				p.gone = left
			default:
				p.gone = dropped
			}
			return true
		})
		for n, owner := range r.After.Waiting {
			if !slices.ContainsFunc(line, func(p *place) bool { return p.owner == owner }) {
				p := &place{owner: owner, op: op, from: r.At, since: shown, asked: r.At, to: f.end}
				if op != nil && (op.Owner != owner || !asks) {
					p.op = nil // a replica brought it back, as the first command shows that saw the queue afterwards
				}
				p.by = p.op
				line, q.places = before(line, r.After.Waiting[n:], p), before(q.places, r.After.Waiting[n:], p)
			}
		}
		shown = r.At
		if asks && !took && !copied && r.Before.Absent() && r.At <= f.until(op) {
			n := slices.IndexFunc(line, func(p *place) bool { return p.owner == op.Owner })
			if n < 0 {
				n = len(line)
			}
			q.refusals = append(q.refusals, refusal{r.At, op, slices.Clone(line[:n])})
		}
		if asks {
			request := withoutForm(r)
			again := heard[request] && f.once(op) // which gets the first answer, and keeps no place
			heard[request] = true
			for _, p := range line {
				if p.owner != op.Owner || again || p.op != nil && !queues(op) {
					continue // who tries once keeps no place, and may have an earlier call's
				}
				if p.asked = r.At; r.At <= f.until(op) { // what comes late keeps the place, for nobody
					p.op = op
				}
			}
		}
	}
	return q
}

// queues reports whether a call waits for the lock if it has to.
func queues(op *history.Op) bool {
	return op.Kind.Asks() && !op.Aside && (!op.Kind.Tries() || op.Wait > 0)
}

// before adds a place to others: before those of owners behind it who have theirs, as a replica may have it, or else as the last.
func before(some []*place, waiting []string, p *place) []*place {
	i := slices.IndexFunc(some, func(o *place) bool { return o.to > p.from && slices.Contains(waiting[1:], o.owner) })
	if i < 0 {
		i = len(some)
	}
	return slices.Insert(some, i, p)
}

// waitsOn reports whether a place's call waited on after a time at which its client gave the place up for a call: that was for an earlier one, or
// the call was granted the lock later.
func (f *facts) waitsOn(p *place, op *history.Op, at time.Duration) bool {
	return p.op != nil && (p.op.Outcome == history.Acquired && !p.op.Pending() && p.op.Executed > at || op != nil && op.Call < p.op.Call && at < f.until(p.op))
}

// fallenBehind are the owners who are behind others now that were behind them: their places were dropped, and they took new ones.
func fallenBehind(line []*place, waiting []string) (owners []string) {
	for i, p := range line {
		now := slices.Index(waiting, p.owner)
		if slices.ContainsFunc(line[i+1:], func(other *place) bool {
			n := slices.Index(waiting, other.owner)
			return 0 <= n && n < now
		}) {
			owners = append(owners, p.owner)
		}
	}
	return owners
}

// attemptsOf are the commands by which somebody was granted a lock. What else is sent for a call that acquires is no attempt: who
// gives a place up, or takes back what came too late.
func attemptsOf(h *history.History) map[string]bool {
	attempts := map[string]bool{}
	for i := range h.Served {
		if r := &h.Served[i]; r.Op != 0 && r.Before != nil && r.After != nil && r.After.Total() > r.Before.Total() {
			attempts[command(r)] = true
		}
	}
	return attempts
}

// once reports whether the lock claims that a request of a call takes effect once, and gets the first answer when it comes again.
func (f *facts) once(op *history.Op) bool {
	return f.h.Can(string(contract.Idempotent)) && slices.ContainsFunc(f.h.Header.Idempotent, func(i history.Idempotence) bool { return slices.Contains(i.Calls, op.Kind) })
}

// withoutForm is a row's command, whether it has its script or only the script's digest.
func withoutForm(r *history.Served) string {
	_, rest, _ := strings.Cut(r.Text, " ")
	return rest
}

// command is a row's command without its arguments: its name, or the script that it runs.
func command(r *history.Served) string {
	words := strings.Fields(r.Text)
	if len(words) > 1 && strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") {
		return words[1]
	}
	return strings.Join(words[:min(1, len(words))], "")
}
