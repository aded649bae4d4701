package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
)

// A record is one line of JSON with the field "record" first, naming the type of the rest. The
// writer below is the only place that knows the names.
const (
	headerRecord = "header"
	opRecord     = "op"
	eventRecord  = "event"
	faultRecord  = "fault"
	servedRecord = "served"
	endRecord    = "end"
)

// Encode writes one record ([Header], [Op], [Event], [Fault], [Served] or [End]) as one line with
// one call of w.Write, so that a run that is killed leaves whole lines.
func Encode(w io.Writer, record any) error {
	var line any
	switch r := record.(type) {
	case Header:
		line = struct {
			Record string `json:"record"`
			Header
		}{headerRecord, r}
	case Op:
		line = struct {
			Record string `json:"record"`
			Op
		}{opRecord, r}
	case Event:
		line = struct {
			Record string `json:"record"`
			Event
		}{eventRecord, r}
	case Fault:
		line = struct {
			Record string `json:"record"`
			Fault
		}{faultRecord, r}
	case Served:
		line = struct {
			Record string `json:"record"`
			Served
		}{servedRecord, r}
	case End:
		line = struct {
			Record string `json:"record"`
			End
		}{endRecord, r}
	default:
		return fmt.Errorf("history: %T is no record", record)
	}
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
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
		if err := Encode(b, r); err != nil {
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

// Load reads a history, and a server log if its lines are among the records or in further readers.
// It returns a *[LineError] for the first line that is not a record, and the history together with
// [ErrTruncated] when only the last line of a reader is cut off. An Op that appears again replaces
// its earlier record.
func Load(readers ...io.Reader) (*History, error) {
	h := &History{}
	index := map[int64]int{}
	var truncated error
	for i, r := range readers {
		if err := readOne(r, i == 0, h, index); errors.Is(err, ErrTruncated) {
			truncated = err
		} else if err != nil {
			return nil, err
		}
	}
	sort.SliceStable(h.Ops, func(i, j int) bool { return h.Ops[i].Call < h.Ops[j].Call })
	return h, truncated
}

func readOne(r io.Reader, wantHeader bool, h *History, index map[int64]int) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				return fmt.Errorf("line %d: %w", n, ErrTruncated)
			}
			if n == 1 && wantHeader {
				return &LineError{1, "the file is empty; a history begins with a header record"}
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if what := decodeLine(line, n == 1 && wantHeader, h, index); what != "" {
			return &LineError{n, what}
		}
	}
}

// decodeLine adds one line to h; it returns what is wrong with it, or "".
func decodeLine(line []byte, wantHeader bool, h *History, index map[int64]int) string {
	var kind struct {
		Record string `json:"record"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return "not a JSON object: " + err.Error()
	}
	if (kind.Record == headerRecord) != wantHeader {
		if wantHeader {
			return fmt.Sprintf("record %q comes first; a history begins with a header record", kind.Record)
		}
		return "a second header"
	}
	switch kind.Record {
	case headerRecord:
		var v struct {
			Record string `json:"record"`
			Header
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if v.Version != Version {
			return fmt.Sprintf("history version %d, but this program reads version %d", v.Version, Version)
		}
		h.Header = v.Header
	case opRecord:
		var v struct {
			Record string `json:"record"`
			Op
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if what := v.Op.check(); what != "" {
			return what
		}
		if i, ok := index[v.Op.ID]; ok {
			h.Ops[i] = v.Op
		} else {
			index[v.Op.ID] = len(h.Ops)
			h.Ops = append(h.Ops, v.Op)
		}
	case eventRecord:
		var v struct {
			Record string `json:"record"`
			Event
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		h.Events = append(h.Events, v.Event)
	case faultRecord:
		var v struct {
			Record string `json:"record"`
			Fault
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		h.Faults = append(h.Faults, v.Fault)
	case servedRecord:
		var v struct {
			Record string `json:"record"`
			Served
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		h.Served = append(h.Served, v.Served)
	case endRecord:
		var v struct {
			Record string `json:"record"`
			End
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		h.End = &v.End
	default:
		return fmt.Sprintf("unknown record %q; it must be header, op, event, fault, served or end", kind.Record)
	}
	return ""
}

// strict decodes line into v and refuses fields that v does not have.
func strict(line []byte, v any) string {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err.Error()
	}
	return ""
}

// check says what is wrong with the operation on its own, or "".
func (o Op) check() string {
	switch {
	case !o.Kind.Valid():
		return fmt.Sprintf("op %d: unknown operation %q", o.ID, o.Kind)
	case o.Call < 0:
		return fmt.Sprintf("op %d: negative call time", o.ID)
	case o.Return != 0 && o.Return < o.Call:
		return fmt.Sprintf("op %d: returns at %d, before its call at %d", o.ID, o.Return, o.Call)
	case o.Return != 0 && !o.Kind.Allows(o.Outcome):
		return fmt.Sprintf("op %d: %s cannot be answered %q", o.ID, o.Kind, o.Outcome)
	}
	return ""
}
