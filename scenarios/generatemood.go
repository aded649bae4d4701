package scenarios

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/fault"
)

// mood is what a plan leans to, and what it has of what others leave out.
type mood struct {
	start, work, pause time.Duration // at most: short ones make a crowd, long ones need renewals
	edge               bool          // work and waits end about when leases do
	deep               bool          // re-entries are frequent
	both               bool          // two locks are held at once, for long
	robbed             bool          // one lock, renewed for long, whose key something takes away, so that the next comes in while the first still renews
	busy               bool          // calls give up, or are given up, soon
	mixed              bool          // re-entries ask for a lease of their own
	crowd              bool          // many clients
	local              bool          // a client has many threads
	alike              bool          // the name of an owner begins with that of another: 1 and 11, 12
	left               bool          // members of groups are taken for a short time, and given back when that is over
	batch              bool          // a thread holds very many locks
	groups             bool          // locks that are made of others
	overlap            bool          // a thread nests locks that have keys in common
	hasty              bool          // half of all calls are given up at once
	forces             bool          // programs force locks free that others hold
	late               bool          // what is delayed is so for minutes
	paired             bool          // a fault strikes what another has struck: a message and its answer, an answer and then the connection
	torn               bool          // groups are entered again while a server is away, and then a member's key is struck
	queue              bool          // many give up waiting for one lock, and wait anew, while another holds it
	alters             bool          // permits are added, taken away and drained, and latches are deleted
	scarce             bool          // one takes all permits and gives them back in parts, while many wait
	narrow             bool          // one owner's few calls, close together, and all that strikes strikes their messages
	once               bool          // most attempts are single ones
	renewing           bool          // what strikes messages strikes renewals
	long               bool          // work takes minutes
	steep              bool          // re-entries are up to six deep
	meets              bool          // who holds gives back, and who waits gives up, at about one moment

	reenters, asks, rogue, fenced, noRetry bool

	kinds []fault.Kind // that strike
}

func (d *drawing) lean() mood {
	m := mood{start: 20 * time.Second, work: 25 * time.Second, pause: 5 * time.Second}
	switch d.upTo(0, 3, "pace") {
	case 1: // a crowd
		m.start, m.work, m.pause = 0, time.Second, 0
	case 2: // short sections, close together
		m.start, m.work, m.pause = 2*time.Second, 3*time.Second, time.Second
	}
	m.kinds = d.swarm()
	m.edge = d.scope.ShortLeases && d.oneIn(2, "edge")
	m.mixed = d.scope.Rare && d.scope.ShortLeases && !d.scope.NoReentry && d.oneIn(4, "mixed")
	m.deep = !d.scope.NoReentry && (d.oneIn(3, "deep") || m.mixed && d.oneIn(2, "deep, too"))
	m.both = d.locks > 1 && d.oneIn(5, "both")
	m.robbed = !m.both && slices.ContainsFunc(m.kinds, func(k fault.Kind) bool { return ofKeys(k.Needs) }) && d.oneIn(6, "robbed")
	m.crowd = d.scope.Rare && d.oneIn(12, "crowd")
	m.scarce = d.scope.Object.Counted() && d.scope.Object != history.ALatch && d.oneIn(4, "scarce")
	m.local = d.scope.Rare && !m.crowd && (d.oneIn(8, "local") || d.scope.Object.Counted() && d.oneIn(6, "local, too") || m.scarce && d.upTo(0, 2, "local for what is scarce") > 0)
	m.alike = d.scope.Rare && d.oneIn(4, "alike")
	m.groups = len(d.scope.Groups) > 0 && !m.robbed && d.oneIn(3, "groups")
	m.overlap = m.groups && !d.scope.NoReentry && d.oneIn(2, "overlap")
	m.busy = d.scope.Rare && (d.oneIn(4, "busy") || (m.mixed || m.overlap) && d.oneIn(2, "busy, too"))
	m.hasty = m.busy && d.oneIn(3, "hasty")
	m.left = m.groups && d.scope.ShortLeases && d.oneIn(4, "left")
	m.torn = m.groups && d.scope.Steps && !d.scope.NoReentry && d.oneIn(2, "torn")
	m.queue = d.scope.Queued && d.scope.Rare && !m.groups && !m.both && d.oneIn(4, "queue")
	m.alters = d.scope.Altered && d.scope.Object.Counted() && d.oneIn(3, "alters")
	m.deep = m.deep && !m.queue || m.torn
	m.batch = d.scope.Watchdog && !m.crowd && !m.groups && d.oneIn(12, "batch") && d.oneIn(12, "so many")
	m.late = d.oneIn(4, "late")
	m.narrow = d.scope.Steps && !m.groups && !m.batch && d.oneIn(3, "narrow")
	m.once = d.scope.Rare && d.oneIn(5, "once")
	m.long = !m.narrow && d.scope.ShortLeases && d.oneIn(10, "long")
	m.renewing = !d.scope.Object.Counted() && (m.long && d.oneIn(2, "renewing, too") || d.scope.Steps && d.oneIn(5, "renewing"))
	m.steep = m.deep && !m.groups && d.oneIn(4, "steep")
	m.meets = d.scope.Rare && (m.local || m.scarce || m.narrow || d.oneIn(4, "few meet")) && d.oneIn(3, "meets")
	switch {
	case m.long:
		m.work = 3 * time.Minute
	case m.narrow && !m.renewing:
		m.start, m.work, m.pause = 2*time.Second, 3*time.Second, time.Second
	}
	m.paired = d.scope.Steps && (m.narrow || d.oneIn(3, "paired"))
	m.reenters = !d.scope.NoReentry && (m.deep || d.oneIn(2, "re-enters"))
	m.asks = !d.scope.NoAsking && d.oneIn(2, "asks")
	m.rogue = d.oneIn(2, "rogues")
	m.forces = (d.scope.Rare && slices.Contains(d.scope.Faults, forced) || d.scope.Altered && !d.scope.Object.Counted()) && (d.oneIn(5, "forces") || m.narrow && d.oneIn(4, "forces, too"))
	m.fenced = d.scope.Fenced && d.oneIn(4, "fenced")
	m.noRetry = d.scope.Steps && d.oneIn(2, "no retries")
	return m
}

// swarm draws the kinds of faults that strike a plan: of those in scope about half, at least one.
func (d *drawing) swarm() []fault.Kind {
	var some, all []fault.Kind
	for _, name := range d.scope.Faults {
		kind, ok := fault.Find(name)
		if !ok {
			panic("scenarios: the scope names a fault that does not exist")
		}
		if all = append(all, kind); d.upTo(0, 1, name) == 0 {
			some = append(some, kind)
		}
	}
	return orAll(some, all)
}
