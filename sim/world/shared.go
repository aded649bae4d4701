package world

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// shared reads the key of a read-write lock: a hash with a field for each hold, beside the one that says in which mode it is. A
// hold may have a deadline of its own behind its count, in ms of the server's clock. One that is over is none, though its
// field stays until a command looks.
func (w *World) shared(s *server, lock string) history.KeyState {
	v := w.get(s, lock)
	switch {
	case v.kind == "":
		return history.KeyState{}
	case v.kind != "hash":
		return history.KeyState{Holdings: []history.Holding{{Owner: history.AnotherProgram, Count: 1}}, Deadline: v.deadline}
	}
	state := history.KeyState{Deadline: v.deadline}
	for _, f := range slices.Sorted(maps.Keys(v.fields)) {
		if f == "mode" {
			continue
		}
		count, ends, own := strings.Cut(v.fields[f], " ")
		h := history.Holding{Owner: w.named(f), Count: countIn(count)}
		if own {
			ms, err := strconv.ParseInt(ends, 10, 64)
			w.check(err)
			if h.Deadline = s.timeOf(ms); h.Deadline <= w.Now() {
				continue
			}
		}
		state.Holdings = append(state.Holdings, h)
	}
	if len(state.Holdings) == 0 {
		return history.KeyState{}
	}
	return state
}

// expired tells of the holds that ended at a time, each by an event of its own.
func (w *World) expired(e history.Event, before, after history.KeyState) {
	for _, h := range before.Holdings {
		if after.Count(h.Owner) == 0 {
			e.Owner = h.Owner
			w.rec.Event(e)
		}
	}
}

// sooner is a key's state when the clock of its server jumped: each end comes sooner, but not before now. over says that the
// key's end, or that of a hold of its own, has come.
func sooner(state history.KeyState, by, now time.Duration) (after history.KeyState, over bool) {
	bring := func(d *time.Duration) {
		if *d != 0 {
			*d = max(*d-by, now, 1)
			over = over || *d <= now
		}
	}
	bring(&state.Deadline)
	state.Taken = slices.Clone(state.Taken)
	for i := range state.Taken { // nothing comes of it until a command looks
		if d := &state.Taken[i].Deadline; *d != 0 {
			*d = max(*d-by, 1)
		}
	}
	state.Holdings = slices.Clone(state.Holdings)
	for i := range state.Holdings {
		bring(&state.Holdings[i].Deadline)
	}
	return state, over
}

// timeOf puts a time of a virtual server's clock, in ms, into that of the run.
func (v *virtual) timeOf(ms int64) time.Duration {
	return v.now() + time.UnixMilli(ms).Sub(time.Now().Add(v.skew))
}
