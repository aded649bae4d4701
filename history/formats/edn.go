package formats

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"olympos.io/encoding/edn"

	"github.com/holdfast-sim/holdfast/history"
)

// LoadEDN reads a Jepsen history of a lock workload: maps (or records) with :type :invoke, :ok,
// :fail or :info, :f, :process, and if present :time (nanoseconds), :value and :error; one after
// the other, or in one vector. It returns a *[history.LineError] for the first that it cannot use.
//
//   - :f is :acquire (or :lock, :try-lock), :release (or :unlock).
//   - A process is a client and an owner. Jepsen retires the process of an :info, and so must
//     whoever writes the history: its call is pending for ever.
//   - :ok of :release is a release, or a decrement while the process has acquired more often.
//   - :fail did not happen (Failed), except that it says why in :error (or :value): :busy, :held,
//     :locked or :timeout-waiting mean that the lock was refused, :not-held, :not-owner or
//     :not-lock-owner that the release was.
//   - An integer :value of an :ok :acquire, or its :fence or :token, is a fencing token.
//   - A :value [lock v] names the lock, as do :lock and :key; otherwise there is one.
//   - Operations of processes that are no numbers, such as :nemesis, become faults, from one of
//     their records to the next with the same :f.
//
// The order of the records is the order of what happened: a machine's clock may run backwards a little, or stand
// still. :time says how long things took. A record that would not be later than the one before it is put a
// nanosecond after that one; so is each one without :time.
func LoadEDN(ctx context.Context, r io.Reader, limit history.Limit) (*history.History, error) {
	j := jepsen{
		h:       &history.History{Header: history.Header{Version: history.Version, Clock: "jepsen", World: "jepsen", Subject: "jepsen", Abilities: []string{"reentrant"}}},
		pending: map[string]int{}, holds: map[string]int{}, faults: map[string]int{}, at: -1,
	}
	forms, meter := newForms(r), history.NewMeter(ctx, limit)
	for {
		form, line, err := forms.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, &history.LineError{Line: line, What: err.Error()}
		}
		if err := meter.Take(len(form)); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if what := j.record(form, line); what != "" {
			return nil, &history.LineError{Line: line, What: what}
		}
	}
	if j.records == 0 {
		return nil, &history.LineError{Line: 1, What: "no operation"}
	}
	return j.h, nil
}

// parseEDN reads one form. The library panics on some that are none.
func parseEDN(form []byte) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	err = edn.Unmarshal(form, &v)
	return v, err
}

type jepsen struct {
	h       *history.History
	pending map[string]int // process -> its call in h.Ops
	holds   map[string]int // process and lock -> how often it acquired
	faults  map[string]int // process and :f -> its fault without an end
	at      time.Duration  // of the last record
	records int
}

// record adds one record; it returns what is wrong with it, or "".
func (j *jepsen) record(form []byte, line int) string {
	v, err := parseEDN(form)
	if err != nil {
		return "not EDN: " + err.Error()
	}
	if tag, ok := v.(edn.Tag); ok {
		v = tag.Value
	}
	raw, ok := v.(map[any]any)
	if !ok {
		return "not a map"
	}
	m := map[string]any{}
	for k, v := range raw {
		if name, ok := k.(edn.Keyword); ok {
			m[string(name)] = v
		}
	}
	j.records++
	at := time.Duration(j.records)
	if t, ok := m["time"]; ok {
		n, ok := t.(int64)
		if !ok || n < 0 || n > int64(history.MaxTime) {
			return fmt.Sprintf(":time is %v; it must be a number of nanoseconds, 0 to %d", t, history.MaxTime)
		}
		at = time.Duration(n)
	}
	if j.at = max(at, j.at+1); j.at > history.MaxTime {
		return fmt.Sprintf("it comes after %d ns, the latest time that there is", history.MaxTime)
	}

	kind, f := word(m["type"]), word(m["f"])
	if !slices.Contains([]string{"invoke", "ok", "fail", "info"}, kind) {
		return fmt.Sprintf(":type is %v; it must be :invoke, :ok, :fail or :info", m["type"])
	}
	n, isNumber := m["process"].(int64)
	if !isNumber {
		if m["process"] == nil {
			return "no :process"
		}
		j.fault(word(m["process"]), f, m)
		return ""
	}
	process := strconv.FormatInt(n, 10)
	if kind == "invoke" {
		return j.invoke(process, f, m, line)
	}
	return j.complete(process, kind, f, m)
}

func (j *jepsen) invoke(process, f string, m map[string]any, line int) string {
	if i, busy := j.pending[process]; busy {
		return fmt.Sprintf("process %s calls %s while its %s at %d ns has not returned", process, f, j.h.Ops[i].Kind, j.h.Ops[i].Call)
	}
	op := history.Op{ID: int64(len(j.h.Ops) + 1), Client: process, Owner: process, Lock: lockOf(m), Call: j.at}
	switch f {
	case "acquire", "lock":
		op.Kind = history.Lock
	case "try-lock", "try-acquire":
		op.Kind = history.TryLock
	case "release", "unlock":
		op.Kind = history.Unlock
	default:
		return fmt.Sprintf("unknown operation :f %v; it must be :acquire, :lock, :try-lock, :release or :unlock", m["f"])
	}
	j.pending[process] = len(j.h.Ops)
	j.h.Ops = append(j.h.Ops, op)
	return ""
}

func (j *jepsen) complete(process, kind, f string, m map[string]any) string {
	i, busy := j.pending[process]
	if !busy {
		return fmt.Sprintf("process %s returns %s, but it had called nothing (or had crashed: a process ends with its :info)", process, f)
	}
	op := &j.h.Ops[i]
	if kind == "info" {
		// It never returns: the entry stays, so that another call of this process is refused.
		op.Error = fmt.Sprint(m["error"])
		return ""
	}
	delete(j.pending, process)
	op.Return = j.at
	why := word(m["error"])
	if why == "" {
		why = word(m["value"])
	}
	hold := process + " " + op.Lock
	switch {
	case kind == "fail" && op.Kind.Acquires() && slices.Contains([]string{"busy", "held", "locked", "timeout-waiting"}, why):
		op.Outcome = history.Busy
	case kind == "fail" && op.Kind == history.Unlock && slices.Contains([]string{"not-held", "not-owner", "not-lock-owner"}, why):
		op.Outcome = history.NotHeld
	case kind == "fail":
		op.Outcome, op.Error = history.Failed, why
	case op.Kind.Acquires():
		op.Outcome, op.Token = history.Acquired, max(tokenOf(m["value"]), 0)
		if op.Token != 0 && !j.h.Can("fencing") {
			j.h.Header.Abilities = append(j.h.Header.Abilities, "fencing")
		}
		j.holds[hold]++
	case j.holds[hold] > 1:
		op.Outcome = history.Decremented
		j.holds[hold]--
	default:
		op.Outcome = history.Released
		delete(j.holds, hold)
	}
	return ""
}

// fault begins a fault, or ends the one that its process began with the same :f.
func (j *jepsen) fault(process, f string, m map[string]any) {
	key := process + " " + f
	if i, begun := j.faults[key]; begun {
		j.h.Faults[i].To = j.at
		delete(j.faults, key)
		return
	}
	j.faults[key] = len(j.h.Faults)
	j.h.Faults = append(j.h.Faults, history.Fault{Index: len(j.h.Faults), Kind: f, Effects: history.EffectsOf(f, word(m["value"])), Client: process, From: j.at, Step: word(m["value"])})
}

// word is a keyword, symbol or string, or the first word of a vector or list that begins with one.
func word(v any) string {
	switch v := v.(type) {
	case edn.Keyword:
		return string(v)
	case edn.Symbol:
		return string(v)
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return word(v[0])
		}
	}
	return ""
}

func lockOf(m map[string]any) string {
	for _, key := range []string{"lock", "key"} {
		if v, ok := m[key]; ok && v != nil {
			return strings.TrimSpace(fmt.Sprint(v))
		}
	}
	v := m["value"]
	if tag, ok := v.(edn.Tag); ok {
		v = tag.Value
	}
	if pair, ok := v.([]any); ok && len(pair) == 2 && pair[0] != nil {
		return fmt.Sprint(pair[0])
	}
	return "lock"
}

func tokenOf(v any) int64 {
	if tag, ok := v.(edn.Tag); ok {
		v = tag.Value
	}
	switch v := v.(type) {
	case int64:
		return v
	case []any:
		if len(v) == 2 {
			return tokenOf(v[1])
		}
	case map[any]any:
		for _, name := range slices.Sorted(maps.Keys(map[edn.Keyword]bool{"fence": true, "token": true})) {
			if n, ok := v[name].(int64); ok {
				return n
			}
		}
	}
	return 0
}
