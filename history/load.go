package history

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Load reads a history, and a server log if its lines are among the records or in further readers.
// It returns a *[LineError] for the first line that is not a record or breaks what every history
// keeps (see docs/history.md), and the history together with [ErrTruncated] when only the last
// line of a reader is cut off. An Op that appears again replaces its earlier record.
//
// Lines are read one by one: what is kept is the records, not the text.
func Load(readers ...io.Reader) (*History, error) {
	return Limit(0).Load(context.Background(), readers...)
}

// A Limit is how many records of a history may be read, without its header; 0 is any number. One that is longer than a
// kilobyte counts once for each that it begins. Its methods are the functions of their names, except that one
// record too many is [ErrTooLong], and that the end of a context is its error; both end the reading. Of a reader
// that can seek, such as a file, too many records are found before any is read. A record takes about 250
// bytes, and judging it up to three times that.
type Limit int

// ErrTooLong is reported by the methods of [Limit], with the line of the first record too many.
var ErrTooLong = errors.New("too many records to keep in memory")

// Meter counts what is read of a history.
type Meter struct {
	ctx   context.Context
	limit Limit
	n     Limit
}

// NewMeter is for a reader that ends when ctx does, or at the limit.
func NewMeter(ctx context.Context, limit Limit) *Meter { return &Meter{ctx: ctx, limit: limit} }

// Take counts a record of so many bytes. Its error is [ErrTooLong], or that of the context.
func (m *Meter) Take(size int) error {
	if m.n += 1 + Limit(size>>10); m.limit > 0 && m.n > m.limit {
		return ErrTooLong
	}
	return m.ctx.Err()
}

// Refuse counts the lines of a JSONL reader that can seek, which it then rewinds. Each line is a record, but for a header.
func (n Limit) Refuse(ctx context.Context, r io.Reader) (rewound bool, err error) {
	file, ok := r.(io.Seeker)
	if !ok || n == 0 {
		return false, nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, nil // a pipe
	}
	chunk := make([]byte, 1<<20)
	for lines := Limit(-1); err == nil; {
		var got int
		got, err = r.Read(chunk)
		if lines += Limit(bytes.Count(chunk[:got], []byte("\n"))); lines > n {
			return false, fmt.Errorf("line %d: %w", n+2, ErrTooLong)
		}
		err = cmp.Or(err, ctx.Err())
	}
	if err != io.EOF {
		return false, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return true, err
}

// Load is the function [Load] within the limit.
func (n Limit) Load(ctx context.Context, readers ...io.Reader) (*History, error) {
	for _, r := range readers {
		if _, err := n.Refuse(ctx, r); err != nil {
			return nil, err
		}
	}
	l := loader{h: &History{}, meter: NewMeter(ctx, n), index: map[int64]int{}, strings: map[string]string{}, begun: map[int]int{}, over: map[int]bool{}}
	var truncated error
	for i, r := range readers {
		l.first, l.served = i == 0, 0
		if err := l.read(r); errors.Is(err, ErrTruncated) {
			truncated = err
		} else if err != nil {
			return nil, err
		}
	}
	if err := l.calls(); err != nil {
		return nil, err
	}
	if err := l.objects(); err != nil {
		return nil, err
	}
	if err := l.tokens(); err != nil {
		return nil, err
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	l.h.Ops = inOrder(l.h.Ops)
	i := 0
	l.h.Faults = slices.DeleteFunc(l.h.Faults, func(Fault) bool { i++; return l.over[i-1] })
	return l.h, truncated
}

// inOrder sorts operations by their calls. Most come so, and they are large.
func inOrder(ops []Op) []Op {
	byCall := func(a, b Op) int { return cmp.Compare(a.Call, b.Call) }
	if !slices.IsSortedFunc(ops, byCall) {
		slices.SortStableFunc(ops, byCall)
	}
	return ops
}

// MaxLine is the length of a line, in bytes, that is taken for a mistake: a file that is no
// history at all must not be read into memory whole.
const MaxLine = 16 << 20

type loader struct {
	h       *History
	meter   *Meter
	first   bool              // the reader must begin with a header
	index   map[int64]int     // op id -> position in h.Ops
	lines   []int32           // of the first record of each op
	ended   int               // the line of the end
	served  int64             // time of the last server log entry of this reader
	strings map[string]string // every name is kept once
	begun   map[int]int       // index of a fault without an end -> position in h.Faults
	over    map[int]bool      // positions in h.Faults of beginnings whose ends are there
}

func (l *loader) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var long []byte
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long[:0], line...)
			for errors.Is(err, bufio.ErrBufferFull) {
				if len(long) > MaxLine {
					return &LineError{n, fmt.Sprintf("longer than %d MiB; this is no history", MaxLine>>20)}
				}
				line, err = in.ReadSlice('\n')
				long = append(long, line...)
			}
			line = long
		}
		if errors.Is(err, io.EOF) {
			if len(line) > 0 && n == 1 && l.first {
				return &LineError{1, "the header is cut off; the run was killed before it began"}
			}
			if len(line) > 0 {
				return fmt.Errorf("line %d: %w", n, ErrTruncated)
			}
			if n == 1 && l.first {
				return &LineError{1, "the file is empty; a history begins with a header record"}
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if what := l.line(line, n); what != "" {
			return &LineError{n, what}
		}
		if n == 1 && l.first {
			continue // the header
		}
		if err := l.meter.Take(len(line)); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// line adds one line; it returns what is wrong with it, or "".
func (l *loader) line(line []byte, n int) string {
	record, what := recordOf(line)
	if what != "" {
		return what
	}
	if wantHeader := n == 1 && l.first; (record == headerRecord) != wantHeader {
		if wantHeader {
			return fmt.Sprintf("record %q comes first; a history begins with a header record", record)
		}
		return "a second header"
	}
	switch record {
	case headerRecord:
		var v struct {
			Record string `json:"record"`
			Header
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if v.Expiry != "" && v.Expiry != Implied {
			return fmt.Sprintf("expiry %q; it must be %q, or absent", v.Expiry, Implied)
		}
		if v.Version != Version {
			return fmt.Sprintf("history version %d, but this program reads version %d", v.Version, Version)
		}
		l.h.Header = v.Header
		if what := beyond(nil, []quantity{{"watchdogTimeout", v.WatchdogTimeout}, {"renewEvery", v.RenewEvery}, {"latencyMax", v.LatencyMax},
			{"layout.margin", v.Layout.Margin}}); what != "" {
			return what
		}
		return v.Header.check()
	case opRecord:
		var v struct {
			Record string `json:"record"`
			Op
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		return l.op(v.Op, n)
	case eventRecord:
		var v struct {
			Record string `json:"record"`
			Event
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if what := v.Event.check(); what != "" {
			return what
		}
		l.h.Events = append(l.h.Events, v.Event)
	case faultRecord:
		var v struct {
			Record string `json:"record"`
			Fault
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if what := beyond([]quantity{{"from", max(v.From, 0)}, {"to", max(v.To, 0)}, {"blocks", max(v.Blocks, 0)}}, nil); what != "" {
			return fmt.Sprintf("fault %d: %s", v.Index, what)
		}
		l.fault(v.Fault)
	case servedRecord:
		var v struct {
			Record string `json:"record"`
			Served
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if what := beyond([]quantity{{"at", max(v.At, 0)}}, nil); what != "" {
			return "served: " + what
		}
		if int64(v.At) < l.served {
			return fmt.Sprintf("the server log runs backwards: %d ns comes after %d ns", v.At, l.served)
		}
		l.served = int64(v.At)
		l.h.Served = append(l.h.Served, v.Served)
	case endRecord:
		var v struct {
			Record string `json:"record"`
			End
		}
		if what := strict(line, &v); what != "" {
			return what
		}
		if what := beyond([]quantity{{"at", v.At}}, []quantity{{"late", v.Late}}); what != "" {
			return "end: " + what
		}
		l.h.End, l.ended = &v.End, n
	default:
		return fmt.Sprintf("unknown record %q; it must be header, op, event, fault, served or end", record)
	}
	return ""
}

// recordOf is what a line calls itself, or what is wrong with it. Nearly all begin with it.
func recordOf(line []byte) (record, what string) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"record":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte(`"`)); ok && !bytes.ContainsRune(name, '\\') {
			return string(name), ""
		}
	}
	var kind struct {
		Record string `json:"record"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return "", "not a JSON object: " + err.Error()
	}
	return kind.Record, ""
}

func (l *loader) op(op Op, line int) string {
	if what := op.check(); what != "" {
		return what
	}
	op.Client, op.Owner, op.Lock = l.once(op.Client), l.once(op.Owner), l.once(op.Lock)
	op.Kind, op.Outcome = Kind(l.once(string(op.Kind))), Outcome(l.once(string(op.Outcome)))
	op.Evidence, op.Answer = Evidence(l.once(string(op.Evidence))), Outcome(l.once(string(op.Answer)))
	i, known := l.index[op.ID]
	if !known {
		l.index[op.ID] = len(l.h.Ops)
		l.h.Ops = append(l.h.Ops, op)
		l.lines = append(l.lines, int32(line))
		return ""
	}
	if before := &l.h.Ops[i]; before.Call != op.Call || before.Owner != op.Owner || before.Kind != op.Kind || before.Lock != op.Lock {
		return fmt.Sprintf("op %d was %s by %s, called at %d ns; its id cannot be another call's", op.ID, before.Kind, before.Owner, before.Call)
	}
	l.h.Ops[i] = op
	return ""
}

// fault adds a fault, or the end of one whose beginning is there.
func (l *loader) fault(f Fault) {
	if f.Effects == nil {
		f.Effects = EffectsOf(f.Kind, f.Step)
	}
	if i, known := l.begun[f.Index]; known {
		if b := l.h.Faults[i]; b.Kind == f.Kind && b.From == f.From && b.Client == f.Client && b.Lock == f.Lock && b.Server == f.Server {
			l.over[i] = true // it comes now, where the recorder of the run has it
			delete(l.begun, f.Index)
		}
	}
	if f.To == 0 {
		l.begun[f.Index] = len(l.h.Faults)
	}
	l.h.Faults = append(l.h.Faults, f)
}

// once returns the one copy of a string.
func (l *loader) once(s string) string {
	if kept, ok := l.strings[s]; ok {
		return kept
	}
	l.strings[s] = s
	return s
}

// calls looks at each owner's calls, which follow each other. A renewal, or what else was
// done aside, is none of them.
func (l *loader) calls() error {
	last := map[string]int{}
	for i := range l.h.Ops {
		op := &l.h.Ops[i]
		if op.Kind.Renews() || op.Aside {
			continue
		}
		j, known := last[op.Owner]
		last[op.Owner] = i
		if !known {
			continue
		}
		before := &l.h.Ops[j]
		what := ""
		switch {
		case op.Call < before.Call:
			what = fmt.Sprintf("op %d of %s was called at %d ns, but its op %d before it at %d ns: time runs backwards", op.ID, op.Owner, op.Call, before.ID, before.Call)
		case before.Pending():
			what = fmt.Sprintf("op %d: %s called it while its op %d had not returned", op.ID, op.Owner, before.ID)
		case before.Return > op.Call:
			what = fmt.Sprintf("op %d: %s called it at %d ns, while its op %d lasted until %d ns", op.ID, op.Owner, op.Call, before.ID, before.Return)
		}
		if what != "" {
			return &LineError{int(l.lines[i]), what}
		}
	}
	return nil
}

// objects looks for a name that stands for two kinds of objects.
func (l *loader) objects() error {
	if i, what := l.h.mixed(); what != "" {
		return &LineError{int(l.lines[i]), what}
	}
	return nil
}

// end looks for a call after the end.
func (l *loader) end() error {
	end := l.h.End
	if end == nil {
		return nil
	}
	for i := range l.h.Ops {
		if op := &l.h.Ops[i]; op.Call > end.At {
			return &LineError{l.ended, fmt.Sprintf("the end at %d ns comes before op %d, which was called at %d ns; no call is later than the end", end.At, op.ID, op.Call)}
		}
	}
	return nil
}

// tokens looks for a token that two owners were granted. A lock that promises fencing is judged for
// that; from any other it means that the history is not what happened.
func (l *loader) tokens() error {
	if l.h.Can("fencing") {
		return nil
	}
	type grant struct {
		lock  string
		token int64
	}
	granted := map[grant]int{}
	for i := range l.h.Ops {
		op := &l.h.Ops[i]
		if op.Token == 0 || op.Outcome != Acquired {
			continue
		}
		g := grant{op.Lock, op.Token}
		j, known := granted[g]
		if before := &l.h.Ops[j]; known && before.Owner != op.Owner {
			return &LineError{int(l.lines[i]), fmt.Sprintf("op %d: %s got %s with token %d, which op %d of %s had got; "+
				"if the lock did that, and promises not to, name fencing among the header's abilities", op.ID, op.Owner, op.Lock, op.Token, before.ID, before.Owner)}
		}
		granted[g] = i
	}
	return nil
}
