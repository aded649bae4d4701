package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/words"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// What the world did to whoever uses a lock, as spans of time. A deadline is counted in opportunity:
// the time in which the client's process and its timers ran, its link delivered both ways, and the
// server served.

// An obstacle is a time in which a client could not act, by a fault.
type obstacle struct {
	from, to time.Duration
	fault    int // index in History.Faults
}

// The lists that are asked for often, made once.
var (
	hinders       = history.Hinders()
	hindersTimers = history.HindersTimers()
	resends       = history.Resends()
	touches       = history.TouchesKey()
)

// obstacles lists what kept a client from acting on a lock in [from, to]. Each lasts for a while after
// its fault is over: the client waits for an answer that does not come, and tries again.
func (f *facts) obstacles(client, lock string, from, to time.Duration, recovery time.Duration, some []history.Effect) []obstacle {
	var found []obstacle
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Missed || !fault.Has(some...) || !f.strikes(fault, client, lock) {
			continue
		}
		for _, r := range f.onSilent[i] {
			if end := r.Sent + recovery; ofLock(r, lock) && r.Sent < to && from < end {
				found = append(found, obstacle{max(r.Sent, from), min(end, to), i})
			}
		}
		begin, end := f.span(fault)
		if end += recovery; fault.Has(history.ConnectionBroken) && f.h.Header.SendsOnce(client) {
			end += time.Duration(f.connections(client, begin)-1) * recovery // of each it learns by a request that fails
		}
		if begin < to && from < end {
			found = append(found, obstacle{max(begin, from), min(end, to), i})
		}
	}
	slices.SortStableFunc(found, func(a, b obstacle) int { return cmpTime(a.from, b.from) })
	return found
}

// obstaclesOf lists what kept the client of a call from acting for it until a time. What befell a message of another call of that
// client is one until the other has returned: the client may have left it to that one to act. Where owners exclude each other within
// their process, the call waits for the end of what the other has asked, whether that has returned or not.
func (f *facts) obstaclesOf(op *history.Op, lock string, to time.Duration) []obstacle {
	all := f.obstacles(op.Client, lock, op.Call, to, f.answerTime(), hinders)
	for i := range all {
		all[i].to = max(all[i].to, min(f.blockedUntil(all[i].fault), to))
		if other := f.struckAlone(all[i].fault); other != nil && other != op && !(f.h.Can(string(contract.LocalHolds)) && other.Lock == lock) {
			all[i].to = min(all[i].to, f.until(other))
		}
	}
	return slices.DeleteFunc(all, func(o obstacle) bool { return o.to <= o.from })
}

// blockedUntil is until when a client waits for the answer to a command that may block at the server, of which a fault lost a message; 0: it
// lost none.
func (f *facts) blockedUntil(i int) time.Duration {
	fault := &f.h.Faults[i]
	if fault.Blocks == 0 || !fault.Has(history.MessageLost) {
		return 0
	}
	_, end := f.span(fault)
	return end + fault.Blocks + blockedAnswerTime
}

// struckAlone is the call of which a fault struck one message, on a connection that only that call used; nil: it struck more.
func (f *facts) struckAlone(i int) *history.Op {
	fault := &f.h.Faults[i]
	_, step, _ := strings.Cut(fault.On, " ")
	if fault.Op == 0 || fault.Hits != 1 || len(f.onSilent[i]) > 0 || fault.Lasts() || fault.Has(history.ConnectionBroken, history.ServerForgot) || !slices.Contains(onItsOwn, history.Step(step)) {
		return nil
	}
	return f.op(fault.Op)
}

// onItsOwn are the steps for which a call has a connection for itself. What is subscribed to is the client's.
var onItsOwn = []history.Step{history.StepAcquire, history.StepRelease, history.StepQuery}

// opportunity is how much of [from, to] lies outside of obstacles, which are in order.
func opportunity(from, to time.Duration, all []obstacle) time.Duration {
	left := max(0, to-from)
	for _, o := range all {
		from = max(from, o.from)
		if end := min(o.to, to); end > from {
			left -= end - from
			from = end
		}
	}
	return left
}

// enough is the moment from which on a client has had so much opportunity after a time.
func enough(from, need time.Duration, all []obstacle) time.Duration {
	for _, o := range all {
		if o.to <= from {
			continue
		}
		if o.from > from {
			if need <= o.from-from {
				break
			}
			need -= o.from - from
		}
		from = max(from, o.to)
	}
	return from + need
}

// answerTime is how long a client waits for an answer before it sends a request again, or gives up.
func (f *facts) answerTime() time.Duration {
	if d := f.h.Header.AnswerTimeout; d > 0 {
		return d
	}
	return defaultAnswerTime
}

// defaultAnswerTime is go-redis's timeout for an answer, and what it waits before it sends again.
const defaultAnswerTime = 5*time.Second + 100*time.Millisecond

// blockedAnswerTime is for how much longer than a command may block go-redis awaits its answer, and what it waits before it sends again.
const blockedAnswerTime = 10*time.Second + 100*time.Millisecond

// refusedTime is within how long a client knows that the server refuses what it asks: go-redis sends some refused commands
// again, up to three times, and waits for at most half a second before each.
const refusedTime = 2 * time.Second

// untilRenewed lists what kept a client from renewing a lock in [from, to]. Each lasts until the watchdog may come again: the
// client notices that its request was in vain, and tries again when the lock says that it does.
func (f *facts) untilRenewed(client, lock string, from, to time.Duration) []obstacle {
	again := cmp.Or(f.h.Header.RenewRetry, f.renewEvery())
	all := f.obstacles(client, lock, from, to, f.answerTime()+again, hindersTimers)
	for i := range all {
		fault := &f.h.Faults[all[i].fault]
		if len(fault.Effects) == 1 && fault.Has(history.RequestRefused) { // it need not wait for an answer
			_, end := f.span(fault)
			all[i].to = min(all[i].to, max(all[i].from, end+refusedTime+again))
		}
	}
	return slices.DeleteFunc(all, func(o obstacle) bool { return o.to <= o.from })
}

// span is the time of a fault.
func (f *facts) span(fault *history.Fault) (from, to time.Duration) { return fault.Span(f.healed) }

// strikes reports whether a fault touched a client's use of a lock. A fault that names no client touches all,
// one that names a server the locks that are there, and one on keys the lock that it names. A message that
// names one lock may be about others, too.
func (f *facts) strikes(fault *history.Fault, client, lock string) bool {
	if fault.Client != "" && fault.Client != client || !f.reaches(fault, lock) {
		return false
	}
	return fault.Lock == "" || lock == "" || f.shareKey(fault.Lock, lock) || !fault.Has(touches...) && !fault.Has(history.ForcedFree)
}

// shareKey reports whether two names are of one lock, or of a group and one of its members: what strikes the keys of the one
// strikes the other's.
func (f *facts) shareKey(one, other string) bool {
	return one == other || slices.ContainsFunc(f.h.Header.Groups, func(g history.Group) bool {
		return g.Name == one && slices.Contains(g.Members, other) || g.Name == other && slices.Contains(g.Members, one)
	})
}

// reaches reports whether a lock is on the server that a fault struck, as far as that is known.
func (f *facts) reaches(fault *history.Fault, lock string) bool {
	servers := f.servers[lock]
	return fault.Server == "" || lock == "" || len(servers) == 0 || slices.Contains(servers, fault.Server)
}

// struckBy lists the faults with one of some effects that touched a client's use of a lock at some time in
// [from, to], by index into History.Faults.
func (f *facts) struckBy(client, lock string, from, to time.Duration, some []history.Effect) []int {
	var found []int
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Missed || !fault.Has(some...) || !f.strikes(fault, client, lock) {
			continue
		}
		begin, end := f.span(fault)
		if begin <= to && end >= from || slices.ContainsFunc(f.onSilent[i], func(r *history.Served) bool { return ofLock(r, lock) && from <= r.Sent && r.Sent <= to }) {
			found = append(found, i)
		}
	}
	return found
}

// sentOnSilent lists, for each fault that lost a message and left its connection open, what its client's calls sent later on that
// connection. It is silent from then on: a client that uses it again gets no answer. Most close it, and send on another.
func sentOnSilent(h *history.History) [][]*history.Served {
	all := make([][]*history.Served, len(h.Faults))
	for i := range h.Faults {
		fault := &h.Faults[i]
		if fault.Missed || !fault.Has(history.MessageLost) || fault.Has(history.ConnectionBroken) {
			continue
		}
		if way, step, _ := strings.Cut(fault.On, " "); way == onRequest {
			all[i] = unseenAfter(h, i)
		} else {
			all[i] = unansweredAfter(h, fault, step)
		}
	}
	return all
}

// unansweredAfter lists what calls sent on a connection on which a fault had lost an answer to a step; "": to any.
func unansweredAfter(h *history.History, fault *history.Fault, step string) (sent []*history.Served) {
	lost := map[string]bool{} // the connections on which it lost an answer
	last := max(fault.From, fault.To)
	for i := range h.Served {
		r := &h.Served[i]
		switch {
		case !ofClient(r, fault) || r.Conn == "":
		case r.Got > 0: // its connection is not silent
			delete(lost, r.Conn)
			sent = slices.DeleteFunc(sent, func(s *history.Served) bool { return s.Conn == r.Conn })
		case lost[r.Conn] && r.At > fault.From && r.Op > 0:
			sent = append(sent, r)
		case r.At <= last && (step == "" || string(r.Step) == step):
			if r.At <= fault.From {
				clear(lost) // it struck the last one
			}
			lost[r.Conn] = true
		}
	}
	return sent
}

// unseenAfter lists what calls sent on a connection on which a fault had lost a request: the server sees nothing more of it.
func unseenAfter(h *history.History, i int) (sent []*history.Served) {
	for j := range h.Events {
		e := &h.Events[j]
		if e.Kind != history.Unseen || !silences(&h.Faults[i], e) || slices.ContainsFunc(h.Faults[i+1:], func(o history.Fault) bool { return silences(&o, e) }) {
			continue
		}
		sent = append(sent, &history.Served{At: e.At, Sent: e.Since, Client: e.Client, Lock: e.Lock})
	}
	return sent
}

// onRequest begins what a fault says of a request that it struck, before the step.
const onRequest = "request"

// silences reports whether a fault may have silenced the connection on which a request was lost: it had lost one there before.
func silences(fault *history.Fault, e *history.Event) bool {
	way, _, _ := strings.Cut(fault.On, " ")
	return way == onRequest && fault.Client == e.Client && fault.From <= e.Since && !fault.Missed && fault.Has(history.MessageLost) && !fault.Has(history.ConnectionBroken)
}

// ofClient reports whether a client that a fault struck sent a command, to the server where it struck.
func ofClient(r *history.Served, fault *history.Fault) bool {
	return r.Client == fault.Client && (fault.Server == "" || r.Server == fault.Server)
}

// ofLock reports whether a command may concern a lock; "": any.
func ofLock(r *history.Served, lock string) bool { return lock == "" || r.Lock == "" || r.Lock == lock }

// struckAt lists the faults with an effect that acted on a lock, or on its server, at a time.
func (f *facts) struckAt(at time.Duration, lock string, e history.Effect) []int {
	return f.struckBy("", lock, at, at, []history.Effect{e})
}

// serverOf is what the server is called that faults befell: by its name, if they befell one of several.
func (f *facts) serverOf(faults []int) string {
	name := ""
	for i, n := range faults {
		server := f.h.Faults[n].Server
		if i > 0 && server != name {
			return words.Server("")
		}
		name = server
	}
	return words.Server(name)
}

// effectsOf are the effects of faults, each once.
func (f *facts) effectsOf(faults []int) []history.Effect {
	var all []history.Effect
	for _, i := range faults {
		for _, e := range f.h.Faults[i].Effects {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// faultsOf are the faults of obstacles.
func faultsOf(all []obstacle) []int {
	var faults []int
	for _, o := range all {
		if !slices.Contains(faults, o.fault) {
			faults = append(faults, o.fault)
		}
	}
	slices.Sort(faults)
	return faults
}

// connections is how many connections a client may have had at a time: those that the server log shows, and those of calls that
// were given up while their client connected, or for which it connected then. One may have sent nothing.
func (f *facts) connections(client string, at time.Duration) int {
	used := map[string]bool{}
	for i := range f.h.Served {
		s := &f.h.Served[i]
		if s.At > at {
			break
		}
		if s.Client == client && s.Conn != "" {
			used[s.Conn] = true
		}
	}
	n := len(used)
	for i := range f.h.Ops {
		switch o := &f.h.Ops[i]; {
		case o.Client != client || o.Evidence != history.NotSent || o.Aside:
		case o.Return <= at && cancelled(o), o.Call <= at && at < o.Return:
			n++
		}
	}
	return max(n, 1)
}

// renewEvery is the period the lock promises; Redisson's third of the timeout when it says none.
func (f *facts) renewEvery() time.Duration {
	if every := f.h.Header.RenewEvery; every > 0 {
		return every
	}
	return f.h.Header.WatchdogTimeout / 3
}

// cancelled reports whether a call failed since its caller gave it up, as far as its record or its error says so.
func cancelled(op *history.Op) bool {
	return op.Cancel > 0 && op.Return >= op.Call+op.Cancel || strings.Contains(op.Error, "context ")
}

// describe is a fault as a clause: "the watchdog of c1 was paused from 5.000 s on".
func (f *facts) describe(i int) string {
	fault := &f.h.Faults[i]
	return words.Was(fault) + words.When(fault, f.healed)
}

func (f *facts) describeAll(faults []int) string {
	texts := make([]string, len(faults))
	for i, n := range faults {
		texts[i] = f.describe(n)
	}
	return strings.Join(texts, " and ")
}

// outside reports whether an expiry was an act from outside the lock: a fault that expired the
// key, rather than its lease that ended.
func (f *facts) outside(e *history.Event) bool {
	if e.Kind != history.Expire {
		return e.Kind == history.Delete
	}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Has(history.KeyExpired) && fault.Lock == e.Lock && fault.From <= e.At && e.At <= fault.From+model.Granularity {
			return true
		}
	}
	return false
}
