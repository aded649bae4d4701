package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A record is one line of JSON with the field "record" first, naming the type of the rest.
const (
	headerRecord = "header"
	opRecord     = "op"
	eventRecord  = "event"
	faultRecord  = "fault"
	servedRecord = "served"
	endRecord    = "end"
)

// Encode writes one record, as [Append] makes it, with one call of w.Write, so that a run that is
// killed leaves whole lines.
func Encode(w io.Writer, record any) error {
	line, err := Append(make([]byte, 0, 256), record)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// Save writes the whole history, without the server log (see [SaveServed]).
func Save(w io.Writer, h *History) error {
	records := []any{h.Header}
	for _, op := range h.Ops {
		records = append(records, op)
	}
	for _, e := range h.Events {
		records = append(records, e)
	}
	for _, f := range h.Faults {
		records = append(records, f)
	}
	if h.End != nil {
		records = append(records, *h.End)
	}
	return writeAll(w, records)
}

// SaveServed writes the server log, one [Served] a line.
func SaveServed(w io.Writer, h *History) error {
	records := make([]any, len(h.Served))
	for i, s := range h.Served {
		records[i] = s
	}
	return writeAll(w, records)
}

func writeAll(w io.Writer, records []any) error {
	b := bufio.NewWriter(w)
	for _, r := range records {
		line, err := Append(b.AvailableBuffer(), r)
		if err != nil {
			return err
		}
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// A LineError says which line of a history cannot be read, and why.
type LineError struct {
	Line int // 1-based
	What string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// ErrTruncated is reported by [Load], together with the usable history, when the last line is
// incomplete: the run was killed.
var ErrTruncated = errors.New("the last line is cut off")

// strict decodes line into v and refuses fields that v does not have.
func strict(line []byte, v any) string {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err.Error()
	}
	if rest := bytes.TrimSpace(line[d.InputOffset():]); len(rest) > 0 {
		return fmt.Sprintf("%.20q follows the record; a line is one record", rest)
	}
	return ""
}

// check says what is wrong with the operation on its own, or "".
func (o Op) check() string {
	if what := o.bounds(); what != "" {
		return what
	}
	switch {
	case !o.Kind.Valid():
		return fmt.Sprintf("op %d: unknown operation %q", o.ID, o.Kind)
	case o.OutOfBounds():
		return fmt.Sprintf("op %d: %s of %d; it must be %d to %d", o.ID, o.Kind, o.Value, o.Kind.least(), MaxPermits)
	case o.Token < 0:
		return fmt.Sprintf("op %d: token %d; it must be more than 0, or 0 where there is none", o.ID, o.Token)
	case o.Owner == "" || o.Lock == "":
		return fmt.Sprintf("op %d: %s without an owner or a lock", o.ID, o.Kind)
	case o.Return != 0 && o.Return < o.Call:
		return fmt.Sprintf("op %d: returns at %d, before its call at %d", o.ID, o.Return, o.Call)
	case o.Return != 0 && !o.Kind.Allows(o.Outcome):
		return fmt.Sprintf("op %d: %s cannot be answered %q", o.ID, o.Kind, o.Outcome)
	case o.Return == 0 && o.Outcome != "":
		return fmt.Sprintf("op %d: answered %q, but it has no return time (the first return is later than 0)", o.ID, o.Outcome)
	case !o.Evidence.valid():
		return fmt.Sprintf("op %d: unknown evidence %q", o.ID, o.Evidence)
	case o.Evidence == Executed && o.Executed < o.Call:
		return fmt.Sprintf("op %d: executed at %d, before its call at %d", o.ID, o.Executed, o.Call)
	case o.Evidence == Executed && o.Kind.OnLock() && o.Answer == Unknown:
		return fmt.Sprintf("op %d: executed with the answer %q; a server knows what it answered, otherwise the evidence is %q", o.ID, o.Answer, Sent)
	case o.Evidence == Executed && o.Kind.OnLock() && !o.Kind.Allows(o.Answer):
		return fmt.Sprintf("op %d: the server cannot answer %s with %q", o.ID, o.Kind, o.Answer)
	}
	return ""
}

// A quantity is a number of a record, by its name in the file.
type quantity struct {
	name string
	d    time.Duration
}

// beyond says which of some times is not within 0 and [MaxTime], and which span not within 0 and [MaxSpan], or "".
func beyond(times, spans []quantity) string {
	for _, q := range times {
		if q.d < 0 || q.d > MaxTime {
			return fmt.Sprintf("%s %d; a time must be 0 to %d ns (73 years)", q.name, q.d, MaxTime)
		}
	}
	for _, q := range spans {
		if q.d < 0 || q.d > MaxSpan {
			return fmt.Sprintf("%s %d; it must be 0 to %d ns (36 years), and 0 where there is no end", q.name, q.d, MaxSpan)
		}
	}
	return ""
}

func (o Op) bounds() string {
	what := beyond([]quantity{{"call", o.Call}, {"return", o.Return}, {"executed", o.Executed}, {"until", o.Until}},
		[]quantity{{"lease", o.Lease}, {"wait", o.Wait}, {"cancel", o.Cancel}, {"within", o.Within}})
	if what != "" {
		what = fmt.Sprintf("op %d: %s", o.ID, what)
	}
	return what
}

// check says what is wrong with the event on its own, or "".
func (e Event) check() string {
	what := beyond([]quantity{{"at", e.At}, {"since", e.Since}, {"deadline", e.Deadline}}, []quantity{{"within", e.Within}, {"by", max(e.By, -e.By)}})
	switch {
	case what != "":
	case e.Since > e.At:
		what = fmt.Sprintf("it came since %d, which is after %d", e.Since, e.At)
	case e.Count < 0 || e.Count > maxHolds:
		what = fmt.Sprintf("count %d; it must be 0 to %d", e.Count, maxHolds)
	default:
		return ""
	}
	return fmt.Sprintf("event %s: %s", e.Kind, what)
}

// maxHolds is how often a hold that is brought back can have been taken.
const maxHolds = 1<<31 - 1
