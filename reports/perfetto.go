package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// The Trace Event Format, as "Trace Event Format" by the Chromium project has it, and as Perfetto reads it.
type trace struct {
	Events []traceEvent      `json:"traceEvents"`
	Unit   string            `json:"displayTimeUnit"`
	About  map[string]string `json:"otherData"`

	process, tracks int // the number of the process that was begun last, and how many tracks there are
}

// traceEvent is a slice of a track (phase X), or the name or place of a process or track (phase M).
type traceEvent struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	At       micros         `json:"ts"`
	For      micros         `json:"dur"`
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// micros is a time in microseconds, exact to the nanosecond.
type micros time.Duration

// MarshalJSON implements [json.Marshaler].
func (m micros) MarshalJSON() ([]byte, error) {
	text := fmt.Sprintf("%d.%03d", m/1000, m%1000)
	return []byte(strings.TrimSuffix(text, ".000")), nil
}

// slice is something that lasts, in a track.
type slice struct {
	name     string
	from, to time.Duration
	args     map[string]any
}

// writePerfetto writes a process for each client, with the calls and holds of its owners; one for the servers, with their
// commands and keys; and one for what the environment did.
func writePerfetto(w io.Writer, r Run, _ time.Time) error {
	h, end := r.History, runEnd(r.History, r.Verdict)
	t := &trace{Unit: "ms", Events: []traceEvent{}, About: map[string]string{
		"scenario": h.Header.Scenario, "subject": h.Header.Subject, "world": h.Header.World, "seed": fmt.Sprint(h.Header.Seed),
	}}
	t.clients(h, end)
	t.servers(h, end)
	t.environment(r, end)
	b, err := json.Marshal(t)
	return writeVisible(w, b, err)
}

// split has a history for each part and each lock, with what is about it: a long one is not looked through for each of them.
func split(h *history.History) (parts map[part]*history.History, locks map[string]*history.History) {
	parts, locks = map[part]*history.History{}, map[string]*history.History{}
	var ends []history.Event // of holds, and of clients
	of := func(lock string) *history.History {
		if locks[lock] == nil {
			locks[lock] = &history.History{}
		}
		return locks[lock]
	}
	for _, e := range h.Events {
		switch e.Kind {
		case history.Lost, history.Died, history.Finished:
			ends = append(ends, e)
		case history.Expire, history.Delete:
			of(e.Lock).Events = append(of(e.Lock).Events, e)
		}
	}
	for _, op := range h.Ops {
		p := part{op.Client, op.Owner, op.Lock}
		if parts[p] == nil {
			parts[p] = &history.History{Events: ends}
		}
		parts[p].Ops = append(parts[p].Ops, op)
	}
	for _, s := range h.Served {
		of(s.Lock).Served = append(of(s.Lock).Served, s)
	}
	for _, op := range h.Ops {
		of(op.Lock) // one of which the server log knows nothing
	}
	return parts, locks
}

func (t *trace) clients(h *history.History, end time.Duration) {
	parts, locks := split(h)
	keys := map[string][]segment{}
	owners := map[string][]string{} // of each client, in the order of their calls
	locked := map[[2]string][]part{}
	var clients []string
	for _, p := range newCast(h).parts {
		if keys[p.lock] == nil {
			if members, needed := membersOf(h, p.lock); len(members) > 0 {
				_, of := groupKeys(members, locks, end)
				keys[p.lock] = groupSegments(of, needed)
			} else {
				keys[p.lock] = read(h, keySegments(locks[p.lock], p.lock, end))
			}
		}
		owner := [2]string{p.client, p.owner}
		if owners[p.client] == nil {
			clients = append(clients, p.client)
		}
		if locked[owner] == nil {
			owners[p.client] = append(owners[p.client], p.owner)
		}
		locked[owner] = append(locked[owner], p)
	}
	slices.SortStableFunc(clients, natural)
	for _, client := range clients {
		t.begin("client " + client)
		for _, owner := range owners[client] {
			var calls, aside []slice
			for _, p := range locked[[2]string{client, owner}] {
				for _, op := range parts[p].Ops {
					if op.Aside || op.Kind.Renews() {
						aside = append(aside, callSlice(op, end))
					} else {
						calls = append(calls, callSlice(op, end))
					}
				}
			}
			t.track(owner+" calls", "call", calls)
			t.track(owner+" in the background", "call", aside)
			for _, p := range locked[[2]string{client, owner}] {
				t.track(owner+" holds "+p.lock, "hold", holdSlices(parts[p], p, keys[p.lock], end))
			}
		}
	}
}

func callSlice(op history.Op, end time.Duration) slice {
	s := slice{name: string(op.Kind) + " " + op.Lock, from: op.Call, to: op.Return,
		args: map[string]any{"id": op.ID, "owner": op.Owner, "lock": op.Lock, "outcome": string(op.Outcome)}}
	if op.Pending() {
		s.to, s.args["outcome"] = end, "did not return"
	}
	for _, x := range []struct {
		name  string
		value int64
	}{
		{"lease µs", op.Lease.Microseconds()}, {"wait µs", op.Wait.Microseconds()}, {"executed µs", op.Executed.Microseconds()}, {"token", op.Token}, {"value", op.Value},
	} {
		if x.value != 0 {
			s.args[x.name] = x.value
		}
	}
	if op.Error != "" {
		s.args["error"] = op.Error
	}
	return s
}

// holdSlices are when an owner believed to hold a lock, and whether the server agreed.
func holdSlices(h *history.History, p part, key []segment, end time.Duration) (held []slice) {
	for _, b := range beliefs(h, p, end) {
		for _, it := range against(b, key, p.owner) {
			if it.Kind == "nested" { // the label says it
				continue
			}
			s := slice{name: it.Label + " " + p.lock, from: it.From, to: it.To, args: map[string]any{"call": it.Op}}
			if it.Kind == "doubt" {
				s.args["on the server"] = "it does not hold the lock"
			}
			held = append(held, s)
		}
	}
	return held
}

func (t *trace) servers(h *history.History, end time.Duration) {
	if len(h.Served) == 0 {
		return
	}
	t.begin("servers")
	var names []string
	commands := map[string][]slice{}
	for _, s := range h.Served {
		if commands[s.Server] == nil {
			names = append(names, s.Server)
		}
		args := map[string]any{"command": s.Text, "reply": s.Reply, "client": s.Client, "connection": s.Conn, "sent µs": s.Sent.Microseconds()}
		if s.Got > 0 {
			args["reply arrived µs"] = s.Got.Microseconds()
		}
		if s.Op != 0 {
			args["call"] = s.Op
		}
		if s.Refused {
			args["refused"] = true
		}
		commands[s.Server] = append(commands[s.Server], slice{name: strings.TrimSpace(string(s.Step) + " " + s.Client), from: s.At, to: max(s.At, s.Done), args: args})
	}
	slices.SortStableFunc(names, natural)
	for _, name := range names {
		t.track(strings.TrimSpace("commands "+name), "command", commands[name])
	}
	c := newCast(h)
	_, locks := split(h)
	drawn := map[member]bool{} // a member of several groups has one key
	for _, lock := range c.locks {
		members, needed := membersOf(h, lock)
		if len(members) == 0 {
			t.track("key of "+lock, "key", keySlices(keySegments(locks[lock], lock, end), c))
			continue
		}
		keys, of := groupKeys(members, locks, end)
		var group []slice
		for _, x := range of {
			if x.n > 0 {
				group = append(group, slice{name: fmt.Sprintf("%s %d/%d", x.owner, x.n, len(members)), from: x.from, to: x.to, args: map[string]any{"needed": needed}})
			}
		}
		t.track("group "+lock, "group", group)
		for i, m := range members {
			if !drawn[m] {
				drawn[m] = true
				t.track(strings.TrimSpace("key of "+m.lock+" on "+m.server), "key", keySlices(keys[i], c))
			}
		}
	}
}

// keySlices are who held a key, and until when it lasted.
func keySlices(key []segment, c *cast) (held []slice) {
	for _, s := range key {
		if len(s.state.Holdings) == 0 {
			continue
		}
		who, _ := holders(s.state.Holdings, c)
		args := map[string]any{}
		if s.state.Deadline > 0 {
			args["expires µs"] = s.state.Deadline.Microseconds()
		}
		held = append(held, slice{name: who, from: s.from, to: s.to, args: args})
	}
	return held
}

func (t *trace) environment(r Run, end time.Duration) {
	h := r.History
	var faults, events []slice
	for _, f := range h.Faults {
		if f.Missed {
			continue
		}
		s := slice{name: f.Kind, from: f.From, to: faultEnd(f, healed(h, end)), args: map[string]any{"index": f.Index, "hits": f.Hits}}
		for _, x := range [][2]string{{"client", f.Client}, {"lock", f.Lock}, {"server", f.Server}, {"on", f.On}, {"step", f.Step}} {
			if x[1] != "" {
				s.args[x[0]] = x[1]
			}
		}
		s.name = strings.Join(strings.Fields(f.Kind+" "+f.Client+" "+f.Lock+" "+f.Server), " ")
		faults = append(faults, s)
	}
	for _, e := range h.Events {
		args := map[string]any{}
		for _, x := range [][2]string{{"client", e.Client}, {"owner", e.Owner}, {"note", e.Note}} {
			if x[1] != "" {
				args[x[0]] = x[1]
			}
		}
		events = append(events, slice{name: strings.Join(strings.Fields(string(e.Kind)+" "+e.Lock+" "+e.Client), " "), from: e.At, to: e.At, args: args})
	}
	t.begin("environment")
	// Viewers count from the first slice of all: with this one their times are those of the history.
	t.track("run", "run", []slice{{name: strings.TrimSpace(h.Header.Scenario + " " + h.Header.Subject), to: end}})
	t.track("faults", "fault", faults)
	t.track("events", "event", events)
	for _, result := range r.Verdict.Results {
		var broken []slice
		for _, x := range result.Violations {
			broken = append(broken, slice{name: string(x.Rule), from: x.From, to: max(x.From, x.To), args: map[string]any{"text": x.Text, "ruling": string(x.Ruling.Kind)}})
		}
		t.track(string(result.Guarantee)+" broken", "violation", broken)
	}
}

// begin begins a process. The tracks that follow are its own.
func (t *trace) begin(name string) {
	t.process++
	t.name("process", name, 0)
}

// name names a process or track, and says where it stands.
func (t *trace) name(kind, name string, track int) {
	place := max(track, t.process)
	t.Events = append(t.Events, traceEvent{Phase: "M", Name: kind + "_name", Process: t.process, Track: track, Args: map[string]any{"name": name}},
		traceEvent{Phase: "M", Name: kind + "_sort_index", Process: t.process, Track: track, Args: map[string]any{"sort_index": place}})
}

// track adds slices to the process that was begun last. Slices that overlap come into tracks of their own: viewers take one in a
// track for a part of the other.
func (t *trace) track(name, category string, all []slice) {
	slices.SortStableFunc(all, func(a, b slice) int { return cmp.Compare(a.from, b.from) })
	var ends []time.Duration // of the tracks
	var numbers []int        // of the tracks
	for _, s := range all {
		row := slices.IndexFunc(ends, func(end time.Duration) bool { return end <= s.from })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
			title := name
			if row > 0 {
				title += fmt.Sprintf(" (%d)", row+1)
			}
			if t.tracks++; t.tracks == t.process { // it would be taken for the main thread
				t.tracks++
			}
			numbers = append(numbers, t.tracks)
			t.name("thread", title, t.tracks)
		}
		ends[row] = s.to
		t.Events = append(t.Events, traceEvent{Phase: "X", Name: s.name, Category: category, At: micros(s.from), For: micros(s.to - s.from),
			Process: t.process, Track: numbers[row], Args: s.args})
	}
}
