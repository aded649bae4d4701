package world

import (
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// noDeadline is the score of a permit without a lease, in ms, and of those beyond.
const noDeadline = 922337203685477

// permits reads the keys of a permit semaphore. A permit stays there when its lease is over, until a command looks.
func (w *World) permits(s *server, name string) history.KeyState {
	v, taken := w.get(s, name), w.layout.TakenOf(name)
	foreign := history.KeyState{Holdings: []history.Holding{{Owner: history.AnotherProgram, Count: 1}}, Deadline: v.deadline}
	state := history.KeyState{Deadline: v.deadline}
	if taken != "" { // by the clocks of clients
		if state.Taken = w.taken(w.get(s, taken).scores, w.timeOf); v.kind == "" {
			return state
		}
		n, err := strconv.ParseInt(v.text, 10, 64)
		if v.kind != "string" || err != nil {
			return foreign
		}
		state.Permits = &n
		return state
	}
	if v.kind == "" {
		return history.KeyState{}
	}
	total, is := v.scores["total"]
	if v.kind != "zset" || !is {
		return foreign
	}
	permits := maps.Clone(v.scores)
	delete(permits, "total")
	state.Taken = w.taken(permits, s.timeOf)
	n := int64(-total) - int64(len(state.Taken))
	state.Permits = &n
	return state
}

// taken lists permits by their numbers, with deadlines by a clock.
func (w *World) taken(scores map[string]float64, timeOf func(ms int64) time.Duration) (all []history.TakenPermit) {
	for _, member := range slices.Sorted(maps.Keys(scores)) {
		p := history.TakenPermit{Permit: w.PermitNumber(idOf(member))}
		if ms := scores[member]; ms < noDeadline && !math.IsInf(ms, 1) {
			p.Deadline = max(timeOf(int64(ms)), 1)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b history.TakenPermit) int { return int(a.Permit - b.Permit) })
	return all
}

// idOf is the id of a permit that a server knows by a text, which may be its 16 bytes.
func idOf(text string) string {
	if len(text) == 16 {
		return hex.EncodeToString([]byte(text))
	}
	return text
}

// timeOf puts a time of the clients' clocks, in ms, into that of the run.
func (w *World) timeOf(ms int64) time.Duration { return time.UnixMilli(ms).Sub(w.began) }

// PermitNumber is the number of the permit with an id, in the order in which ids were seen first; 0: of the empty id. It may be called
// from any goroutine.
func (w *World) PermitNumber(id string) int64 {
	if id == "" {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.numbers[id] == 0 {
		w.numbers[id] = int64(len(w.numbers)) + 1
	}
	return w.numbers[id]
}
