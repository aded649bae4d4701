package reports

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// message is one command with its reply: an arrow between two lanes once there is room for it, and between two columns of the
// sequence view. Its words are in the row of the server log that it has.
type message struct {
	Client int           `json:"client"` // the lane, by its index; -1: it has none
	Server int           `json:"server"`
	From   int           `json:"c"` // the column of the client
	To     int           `json:"s"` // the column of the server
	Sent   time.Duration `json:"sent"`
	At     time.Duration `json:"at"`
	Got    time.Duration `json:"got,omitempty"` // 0: the reply was lost
	Label  string        `json:"l"`
	Row    int           `json:"r,omitempty"`    // of the shown server log, from 1 on; 0: the server never executed it
	CopyOf int           `json:"copy,omitempty"` // the row of the message that it is a copy of
	Lost   lostWay       `json:"lost,omitempty"`
	LostAt time.Duration `json:"x,omitempty"`  // when it was lost, if that is known
	Text   string        `json:"t,omitempty"`  // of a message without a row
	Op     int64         `json:"op,omitempty"` // the call of a message without a row
}

// lostWay says which way a message went that was lost.
type lostWay string

const (
	lostRequest lostWay = "request"
	lostReply   lostWay = "reply"
)

// peer is a client, or a server, of the sequence view: a column of it.
type peer struct {
	Name  string `json:"n"`
	Kind  string `json:"k"` // "client" or "server"
	Color int    `json:"o"`
}

// columns are who exchanges messages: the clients, then the servers, each in the order of people.
type columns struct {
	all             []peer
	client, servers map[string]int
}

func newColumns(log []history.Served, losses []loss, c *cast) *columns {
	var clients, servers []string
	for _, s := range log {
		clients, servers = append(clients, s.Client), append(servers, s.Server)
	}
	for _, l := range losses {
		clients, servers = append(clients, l.client), append(servers, l.server)
	}
	cs := &columns{client: map[string]int{}, servers: map[string]int{}}
	for _, x := range distinct(clients) {
		color := noColor
		if i := slices.IndexFunc(c.parts, func(p part) bool { return p.client == x }); i >= 0 {
			color = c.color(c.parts[i].owner)
		}
		cs.client[x] = len(cs.all)
		cs.all = append(cs.all, peer{name(x), "client", color})
	}
	for _, x := range distinct(servers) {
		cs.servers[x] = len(cs.all)
		label := "server"
		if x != "" {
			label = name(x)
		}
		cs.all = append(cs.all, peer{label, "server", noColor})
	}
	return cs
}

// distinct are different names in the order of people.
func distinct(names []string) []string {
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(natural(a, b), strings.Compare(a, b)) })
	return slices.Compact(names)
}

// loss is a message that a fault lost.
type loss struct {
	way            lostWay
	step           history.Step
	client, server string
	at             time.Duration // when it would have arrived
	op             int64
	fault          *history.Fault
}

// lossesIn are the messages that faults lost, of the time that the shown log is about. Nothing but the fault tells of a
// request that never reached the server.
func lossesIn(h *history.History, log []history.Served) (ls []loss) {
	calls := make(map[int64]string)
	for _, op := range h.Ops {
		calls[op.ID] = op.Client
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		way, step, ok := strings.Cut(f.On, " ")
		l := loss{way: lostWay(way), step: history.Step(step), client: cmp.Or(f.Client, calls[f.Op]), at: f.From, op: f.Op, fault: f}
		if !f.Has(history.MessageLost) || !f.Struck() || !ok || l.client == "" || l.way != lostRequest && l.way != lostReply {
			continue
		}
		if len(log) < len(h.Served) && (f.From < log[0].At || f.From > log[len(log)-1].At) {
			continue
		}
		l.server = serverAsked(h, f, l)
		ls = append(ls, l)
	}
	return ls
}

// serverAsked is the server that a lost message was for, or came from: that of the call's other messages, or else of the
// client's.
func serverAsked(h *history.History, f *history.Fault, l loss) string {
	if f.Server != "" || len(h.Served) == 0 {
		return f.Server
	}
	best, rank := h.Served[0].Server, 0
	for _, s := range h.Served {
		n := 0
		switch {
		case s.Client != l.client:
			continue
		case l.op != 0 && s.Op == l.op && s.Step == l.step:
			n = 3
		case l.op != 0 && s.Op == l.op, s.Step == l.step:
			n = 2
		default:
			n = 1
		}
		if n > rank {
			best, rank = s.Server, n
		}
	}
	return best
}

// sequence is what clients and servers sent each other in the shown part of the server log.
func sequence(h *history.History, v *checker.Verdict, lanes []*lane, c *cast) (cols []peer, ms []message) {
	log := logAround(h, v)
	losses := lossesIn(h, log)
	cs, find := newColumns(log, losses, c), newLaneFinder(h, lanes)
	first := copiesIn(log)
	for i, s := range log {
		m := message{From: cs.client[s.Client], To: cs.servers[s.Server], Sent: s.Sent, At: s.At, Got: s.Got, Label: Visible(string(s.Step)), Row: i + 1}
		m.Client, m.Server = find.lanes(s)
		if n := first[i]; n != i {
			m.CopyOf = n + 1
		}
		if s.Got == 0 && s.Step != history.StepAdmin {
			m.Lost = lostReply
		}
		ms = append(ms, m)
	}
	for _, l := range losses {
		if i := l.row(log); i >= 0 {
			ms[i].LostAt = l.at
			continue
		}
		m := message{Client: -1, Server: -1, From: cs.client[l.client], To: cs.servers[l.server], Sent: l.at, At: l.at, Label: Visible(string(l.step)),
			Lost: l.way, LostAt: l.at, Text: faultTip(*l.fault), Op: l.op}
		if n := l.fault.Hits; n > 1 {
			m.Text += ", the first of " + count(n, "message", "messages")
		}
		ms = append(ms, m)
	}
	slices.SortStableFunc(ms, func(a, b message) int { return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.At, b.At)) })
	return cs.all, ms
}

// copiesIn are, for each row, the first row of the same request that was sent at the same moment: whoever sends again does so
// later, and a copy is made on the way.
func copiesIn(log []history.Served) []int {
	type sending struct {
		client  string
		request int64
		sent    time.Duration
	}
	seen, first := make(map[sending]int), make([]int, len(log))
	for i, s := range log {
		key := sending{s.Client, s.Request, s.Sent}
		n, ok := seen[key]
		if !ok || s.Request == 0 {
			seen[key], n = i, i
		}
		first[i] = n
	}
	return first
}

// row is the row of the log whose reply was lost here, or -1.
func (l loss) row(log []history.Served) int {
	found := -1
	for i, s := range log {
		if l.way == lostReply && s.Client == l.client && s.Step == l.step && s.Got == 0 && s.At <= l.at && (l.op == 0 || s.Op == l.op) {
			found = i
		}
	}
	return found
}

// laneFinder finds the lanes that a message goes between. A command that names no lock is taken to be about that of the call
// it belongs to.
type laneFinder struct {
	owners  map[part]int
	clients map[string]int
	locks   map[member]int
	calls   map[int64]part
}

func newLaneFinder(h *history.History, lanes []*lane) *laneFinder {
	f := &laneFinder{make(map[part]int), make(map[string]int), make(map[member]int), make(map[int64]part)}
	for i, l := range lanes {
		if l.Kind == "lock" {
			f.locks[member{l.server, l.lock}] = i
			continue
		}
		f.owners[part{l.client, l.owner, l.lock}] = i
		if _, ok := f.clients[l.client]; !ok {
			f.clients[l.client] = i
		}
	}
	for _, op := range h.Ops {
		f.calls[op.ID] = part{op.Client, op.Owner, op.Lock}
	}
	return f
}

// lanes are -1 where there are none.
func (f *laneFinder) lanes(s history.Served) (client, server int) {
	p, ok := f.calls[s.Op]
	if !ok {
		p = part{s.Client, s.Owner, s.Lock}
	}
	if server, ok = f.locks[member{s.Server, s.Lock}]; !ok {
		if server, ok = f.locks[member{lock: p.lock}]; !ok {
			return -1, -1
		}
	}
	if client, ok = f.owners[p]; !ok {
		if client, ok = f.clients[p.client]; !ok {
			return -1, -1
		}
	}
	return client, server
}

// judgedOps are the calls that the story or a violation speaks of, and the moments of the story.
func judgedOps(h *history.History, v *checker.Verdict) (judged map[int64]bool, moments map[time.Duration]bool) {
	moments = make(map[time.Duration]bool)
	for _, m := range v.Story {
		moments[m.At] = true
	}
	judged = make(map[int64]bool)
	for _, r := range v.Results {
		for _, x := range r.Violations {
			for _, id := range x.Ops {
				judged[id] = true
			}
		}
	}
	for _, op := range h.Ops {
		if moments[op.Call] || moments[op.Return] || op.Evidence == history.Executed && moments[op.Executed] {
			judged[op.ID] = true
		}
	}
	return judged, moments
}

// matter are the rows of the shown log that matter: those that the story or a violation speaks of, and those that something
// befell on their way.
func matter(h *history.History, v *checker.Verdict, log []history.Served) []bool {
	judged, moments := judgedOps(h, v)
	matters, first := make([]bool, len(log)), copiesIn(log)
	for i, s := range log {
		lost := s.Got == 0 && s.Step != history.StepAdmin
		if moments[s.At] || s.Lock != "" && judged[s.Op] || lost || first[i] != i {
			matters[i], matters[first[i]] = true, true
		}
	}
	return matters
}
