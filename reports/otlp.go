package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// OTLP in JSON, as opentelemetry-proto has it in docs/specification.md: an ExportTraceServiceRequest. Identifiers are in
// hexadecimal, 64-bit numbers are texts, and enumerations are numbers.
type otlp struct {
	Resources []otlpResource `json:"resourceSpans"`
}

type otlpResource struct {
	Resource struct {
		Attributes []otlpAttribute `json:"attributes"`
	} `json:"resource"`
	Scopes []otlpScope `json:"scopeSpans"`
}

type otlpScope struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpSpan struct {
	Trace      string          `json:"traceId"`
	ID         string          `json:"spanId"`
	Parent     string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      otlpInt         `json:"startTimeUnixNano"`
	End        otlpInt         `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
	Events     []otlpEvent     `json:"events,omitempty"`
	Status     *otlpStatus     `json:"status,omitempty"`
}

type otlpEvent struct {
	At         otlpInt         `json:"timeUnixNano"`
	Name       string          `json:"name"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
}

type otlpStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue has one of its fields.
type otlpValue struct {
	Text   *string  `json:"stringValue,omitempty"`
	Number *otlpInt `json:"intValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
}

// otlpInt is a number of 64 bits.
type otlpInt int64

// MarshalJSON implements [json.Marshaler].
func (n otlpInt) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(n), 10)), nil
}

// The kinds of spans, and the status of one that failed.
const (
	otlpInternal = 1
	otlpClient   = 3
	otlpError    = 2
)

// attributes collects those that are not empty.
type attributes []otlpAttribute

func (a *attributes) text(key, value string) {
	if value != "" {
		*a = append(*a, otlpAttribute{key, otlpValue{Text: &value}})
	}
}

func (a *attributes) number(key string, value int64) {
	if n := otlpInt(value); n != 0 {
		*a = append(*a, otlpAttribute{key, otlpValue{Number: &n}})
	}
}

func (a *attributes) yes(key string, is bool) {
	if is {
		*a = append(*a, otlpAttribute{key, otlpValue{Bool: &is}})
	}
}

// tracer makes the spans of one run.
type tracer struct {
	begun time.Time
	trace string
	root  string
}

// writeOTLP writes a trace: a span for the run, with faults, events and commands of no call as its events, and below it a span for
// each call, with its commands as its events. Each client is a service.
func writeOTLP(w io.Writer, r Run, begun time.Time) error {
	h, end := r.History, runEnd(r.History, r.Verdict)
	trace := ""
	if h.End != nil {
		trace = h.End.Trace
	}
	sum := sha256.Sum256(fmt.Append(nil, h.Header.Scenario, h.Header.Subject, h.Header.World, h.Header.Seed, trace, begun.UnixNano()))
	s := tracer{begun: begun, trace: hex.EncodeToString(sum[:16])}
	s.root = s.id("run")
	commands := map[int64][]otlpEvent{}
	for _, c := range h.Served {
		commands[c.Op] = append(commands[c.Op], s.command(c))
	}
	var clients []string
	calls := map[string][]otlpSpan{}
	known := map[int64]bool{}
	for _, op := range h.Ops {
		if calls[op.Client] == nil {
			clients = append(clients, op.Client)
		}
		known[op.ID] = true
		calls[op.Client] = append(calls[op.Client], s.call(op, end, commands[op.ID]))
	}
	root := s.run(r, end)
	for _, c := range h.Served {
		if !known[c.Op] {
			root.Events = append(root.Events, s.command(c))
		}
	}
	slices.SortStableFunc(root.Events, func(a, b otlpEvent) int { return int(a.At - b.At) })
	all := otlp{[]otlpResource{service("holdfast", []otlpSpan{root})}}
	for _, c := range clients {
		all.Resources = append(all.Resources, service(c, calls[c]))
	}
	b, err := json.Marshal(all)
	return writeVisible(w, b, err)
}

func service(name string, of []otlpSpan) (r otlpResource) {
	var a attributes
	a.text("service.name", name)
	a.text("service.namespace", "holdfast")
	r.Resource.Attributes = a
	scope := otlpScope{Spans: of}
	scope.Scope.Name = "github.com/holdfast-sim/holdfast"
	r.Scopes = []otlpScope{scope}
	return r
}

// id is the identifier of a span: the same whenever the run is exported.
func (s tracer) id(of string) string {
	sum := sha256.Sum256([]byte(s.trace + of))
	return hex.EncodeToString(sum[:8])
}

func (s tracer) at(d time.Duration) otlpInt { return otlpInt(s.begun.UnixNano() + int64(d)) }

// run is the span of the whole run.
func (s tracer) run(r Run, end time.Duration) otlpSpan {
	h := r.History
	var a attributes
	a.text("holdfast.scenario", h.Header.Scenario)
	a.text("holdfast.subject", h.Header.Subject)
	a.text("holdfast.world", h.Header.World)
	a.text("holdfast.seed", fmt.Sprint(h.Header.Seed))
	for _, x := range r.Verdict.Results {
		a.text("holdfast.guarantee."+string(x.Guarantee), string(x.Status))
	}
	span := otlpSpan{Trace: s.trace, ID: s.root, Name: "run", Kind: otlpInternal, Start: s.at(0), End: s.at(end), Attributes: a}
	if len(r.Verdict.Results) > 0 && r.Verdict.Code() != checker.ExitExpected {
		span.Status = &otlpStatus{Code: otlpError, Message: answer(r.Verdict).Text}
	}
	for _, f := range h.Faults {
		if f.Missed {
			continue
		}
		var a attributes
		a.text("holdfast.client", f.Client)
		a.text("holdfast.lock", f.Lock)
		a.text("holdfast.server", f.Server)
		a.text("holdfast.on", f.On)
		span.Events = append(span.Events, otlpEvent{s.at(f.From), "fault " + f.Kind, a})
		if to := faultEnd(f, healed(h, end)); to > f.From {
			span.Events = append(span.Events, otlpEvent{s.at(to), "end of fault " + f.Kind, a})
		}
	}
	for _, e := range h.Events {
		var a attributes
		a.text("holdfast.client", e.Client)
		a.text("holdfast.owner", e.Owner)
		a.text("holdfast.lock", e.Lock)
		span.Events = append(span.Events, otlpEvent{s.at(e.At), string(e.Kind), a})
	}
	return span
}

// call is the span of one call.
func (s tracer) call(op history.Op, end time.Duration, commands []otlpEvent) otlpSpan {
	var a attributes
	a.number("holdfast.call", op.ID)
	a.text("holdfast.owner", op.Owner)
	a.text("holdfast.lock", op.Lock)
	a.text("holdfast.outcome", string(op.Outcome))
	a.yes("holdfast.pending", op.Pending())
	a.number("holdfast.lease_ns", int64(op.Lease))
	a.number("holdfast.wait_ns", int64(op.Wait))
	a.number("holdfast.token", op.Token)
	a.number("holdfast.value", op.Value)
	a.yes("holdfast.watchdog", op.Watchdog)
	a.text("error.type", errorType(op))
	span := otlpSpan{Trace: s.trace, ID: s.id(fmt.Sprint("call ", op.ID)), Parent: s.root, Name: string(op.Kind), Kind: otlpClient,
		Start: s.at(op.Call), End: s.at(op.Return), Attributes: a, Events: commands}
	if op.Pending() {
		span.End = s.at(end)
	}
	if errorType(op) != "" {
		span.Status = &otlpStatus{otlpError, op.Error}
	}
	return span
}

// errorType says of which kind of error a call is, or "".
func errorType(op history.Op) string {
	switch {
	case op.Pending():
		return "pending"
	case op.Outcome == history.Failed || op.Outcome == history.Unknown:
		return string(op.Outcome)
	}
	return ""
}

// command is a command as an event of the call that it belongs to.
func (s tracer) command(c history.Served) otlpEvent {
	var a attributes
	a.text("db.system.name", "redis")
	a.text("db.query.text", c.Text)
	a.text("server.address", c.Server)
	a.text("holdfast.client", c.Client)
	a.text("holdfast.reply", c.Reply)
	a.yes("holdfast.refused", c.Refused)
	return otlpEvent{s.at(c.At), string(c.Step), a}
}
