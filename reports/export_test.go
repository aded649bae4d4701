package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// samples are runs to export, by name.
func samples() map[string]Run {
	var named = map[string]Run{}
	h, v := watchdogDeath()
	named["one that breaks"] = Run{History: h, Verdict: v}
	h, v = busy()
	named["a busy one"] = Run{History: h, Verdict: v}
	h, _ = watchdogDeath() // as of a run that was killed: a call has not returned, and no verdict was reached
	h.Ops[7].Return, h.Ops[7].Outcome, h.End = 0, "", nil
	named["one that was killed"] = Run{History: h}
	return named
}

// exports is what a form says of a run. It must be the same each time.
func exports(t *testing.T, form string, r Run) []byte {
	t.Helper()
	i := slices.IndexFunc(Exports(), func(e Export) bool { return e.Name == form })
	var first, second bytes.Buffer
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := errors.Join(Exports()[i].Write(&first, r, begun), Exports()[i].Write(&second, r, begun)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two exports of one run differ")
	}
	return first.Bytes()
}

// endOf is when a call ended, as exports have it.
func endOf(h *history.History, op history.Op) time.Duration {
	if op.Pending() {
		return runEnd(h, &checker.Verdict{})
	}
	return op.Return
}

// readSlice is a slice of a trace as a reader sees it.
type readSlice struct {
	Ph, Name, Cat string
	TS, Dur       float64
	PID, TID      int
	Args          map[string]any
}

func (s readSlice) from() time.Duration { return time.Duration(math.Round(s.TS * 1000)) }
func (s readSlice) to() time.Duration   { return s.from() + time.Duration(math.Round(s.Dur*1000)) }

// Each call, command, fault and event of the history is a slice with its times, in a track that has a name; and no two slices of
// a track overlap.
func TestPerfettoHasTheWholeHistory(t *testing.T) {
	for name, r := range samples() {
		var trace struct {
			TraceEvents     []readSlice
			DisplayTimeUnit string
			OtherData       map[string]string
		}
		d := json.NewDecoder(bytes.NewReader(exports(t, "perfetto", r)))
		d.DisallowUnknownFields()
		if err := d.Decode(&trace); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tracks, last := map[[2]int]string{}, map[[2]int]readSlice{}
		got := map[string][]string{}
		for _, s := range trace.TraceEvents {
			at := [2]int{s.PID, s.TID}
			switch {
			case s.Name == "thread_name":
				tracks[at] = fmt.Sprint(s.Args["name"])
			case s.Ph == "X":
				if s.PID == s.TID {
					t.Errorf("%s: %s is in a track that viewers take for a main thread", name, s.Name)
				}
				if tracks[at] == "" {
					t.Errorf("%s: %s is in a track without a name", name, s.Name)
				}
				if before, ok := last[at]; ok && before.to() > s.from() {
					t.Errorf("%s: in %s %s overlaps %s", name, tracks[at], s.Name, before.Name)
				}
				last[at] = s
				got[s.Cat] = append(got[s.Cat], fmt.Sprint(s.Name, " ", s.from(), " ", s.to()))
			}
		}
		if len(got["run"]) != 1 || !strings.Contains(got["run"][0], " 0s ") {
			t.Errorf("%s: viewers do not count from the beginning: %q", name, got["run"])
		}
		want := map[string][]string{}
		for _, op := range r.History.Ops {
			want["call"] = append(want["call"], fmt.Sprint(op.Kind, " ", op.Lock, " ", op.Call, " ", endOf(r.History, op)))
		}
		for _, s := range r.History.Served {
			want["command"] = append(want["command"], fmt.Sprint(s.Step, " ", s.Client, " ", s.At, " ", s.At))
		}
		for _, c := range []string{"call", "command"} {
			slices.Sort(got[c])
			slices.Sort(want[c])
			if !slices.Equal(got[c], want[c]) {
				t.Errorf("%s: %ss\n%q\nwant\n%q", name, c, got[c], want[c])
			}
		}
		if len(got["fault"]) != len(r.History.Faults) || len(got["event"]) != len(r.History.Events) {
			t.Errorf("%s: faults %q, events %q", name, got["fault"], got["event"])
		}
		if name != "one that breaks" {
			continue
		}
		for _, c := range []struct {
			category string
			want     []string
		}{
			{"hold", []string{
				"holds order:42 413ms 30.41s", "believes it holds order:42 30.41s 45.4s", "holds order:42 30.418s 1m0.5s",
			}},
			{"key", []string{"c1:1 410ms 30.41s", "c2:1 30.415s 40.421s", "c2:1 40.421s 50.425s", "c2:1 50.425s 1m0.431s", "c2:1 1m0.431s 1m0.503s"}},
			{"fault", []string{"pause-watchdog c1 5s 1m15.4s"}},
			{"event", []string{"expire order:42 30.41s 30.41s", "finished c1 45.408s 45.408s", "finished c2 1m0.507s 1m0.507s"}},
		} {
			if !slices.Equal(got[c.category], c.want) {
				t.Errorf("%ss are\n%q\nwant\n%q", c.category, got[c.category], c.want)
			}
		}
		if len(got["violation"]) != 3 || trace.OtherData["seed"] != "1" {
			t.Errorf("violations %q, %v", got["violation"], trace.OtherData)
		}
	}
}

// The key of each member of a group has a track, as the key of a lock that is alone, and the group has one that says how many of
// them its owner holds. What it believes beyond them is told as such.
func TestPerfettoHasTheKeysOfGroups(t *testing.T) {
	var trace struct{ TraceEvents []readSlice }
	if err := json.Unmarshal(exports(t, "perfetto", Run{History: quorum()}), &trace); err != nil {
		t.Fatal(err)
	}
	tracks, got := map[[2]int]string{}, map[string][]string{}
	for _, s := range trace.TraceEvents {
		at := [2]int{s.PID, s.TID}
		switch {
		case s.Name == "thread_name":
			tracks[at] = fmt.Sprint(s.Args["name"])
		case s.Cat == "key" || s.Cat == "group" || s.Cat == "hold":
			got[s.Cat] = append(got[s.Cat], fmt.Sprint(tracks[at], ": ", s.Name, " ", s.from(), " ", s.to()))
		}
	}
	for category, want := range map[string][]string{
		"key": {"key of l on s1: c1:1 1.1s 9.1s", "key of l on s2: c1:1 1.2s 9.2s", "key of l on s3: c1:1 1.3s 9.3s"},
		"group": {"group orders: c1:1 1/5 1.1s 1.2s", "group orders: c1:1 2/5 1.2s 1.3s", "group orders: c1:1 3/5 1.3s 9.1s",
			"group orders: c1:1 2/5 9.1s 9.2s", "group orders: c1:1 1/5 9.2s 9.3s"},
		"hold": {"c1:1 holds orders: holds orders 2s 9.1s", "c1:1 holds orders: believes it holds orders 9.1s 12s"},
	} {
		if !slices.Equal(got[category], want) {
			t.Errorf("%s: %q\nwant %q", category, got[category], want)
		}
	}
}

// Two slices of one track that overlap would be taken for a part of each other.
func TestSlicesThatOverlapHaveTracksOfTheirOwn(t *testing.T) {
	tr := &trace{}
	tr.begin("p")
	tr.track("a", "x", []slice{{name: "1", from: 0, to: 10}, {name: "3", from: 6, to: 7}, {name: "2", from: 5, to: 6}, {name: "4", from: 10, to: 10}, {name: "5", from: 10, to: 11}})
	tr.track("b", "x", []slice{{name: "6", from: 0, to: 1}})
	var got []string
	for _, e := range tr.Events {
		if e.Phase == "X" || e.Name == "thread_name" {
			got = append(got, fmt.Sprint(e.Track, " ", e.Name, e.Args["name"]))
		}
	}
	if want := []string{"2 thread_namea", "2 1<nil>", "3 thread_namea (2)", "3 2<nil>", "3 3<nil>", "2 4<nil>", "2 5<nil>", "4 thread_nameb", "4 6<nil>"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Each call is a span with its times below the span of the run, with identifiers as OTLP has them.
func TestOTLPHasASpanForEachCall(t *testing.T) {
	type attribute struct {
		Key   string
		Value map[string]any
	}
	type span struct {
		TraceID, SpanID, ParentSpanID, Name string
		Kind                                int
		StartTimeUnixNano, EndTimeUnixNano  string
		Attributes                          []attribute
		Events                              []struct {
			TimeUnixNano, Name string
			Attributes         []attribute
		}
		Status struct {
			Code    int
			Message string
		}
	}
	since := func(text string) time.Duration {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Error(err)
		}
		return time.Unix(0, n).Sub(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	}
	for name, r := range samples() {
		var sent struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []attribute }
				ScopeSpans []struct {
					Scope struct{ Name string }
					Spans []span
				}
			}
		}
		d := json.NewDecoder(bytes.NewReader(exports(t, "otlp", r)))
		d.DisallowUnknownFields()
		if err := d.Decode(&sent); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		root := sent.ResourceSpans[0].ScopeSpans[0].Spans[0]
		ids := map[string]bool{}
		var got, want []string
		events := 0
		for _, resource := range sent.ResourceSpans {
			service := fmt.Sprint(resource.Resource.Attributes[0].Value["stringValue"])
			for _, s := range resource.ScopeSpans[0].Spans {
				if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(s.TraceID) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(s.SpanID) || s.TraceID != root.TraceID || ids[s.SpanID] {
					t.Errorf("%s: identifiers %s and %s", name, s.TraceID, s.SpanID)
				}
				ids[s.SpanID] = true
				events += len(s.Events)
				if s.SpanID != root.SpanID {
					got = append(got, fmt.Sprint(service, s.ParentSpanID, s.Name, since(s.StartTimeUnixNano), since(s.EndTimeUnixNano), s.Kind, s.Status.Code))
				}
			}
		}
		for _, op := range r.History.Ops {
			failed := 0
			if op.Uncertain() || op.Outcome == history.Failed {
				failed = 2
			}
			want = append(want, fmt.Sprint(op.Client, root.SpanID, op.Kind, op.Call, endOf(r.History, op), 3, failed))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: spans\n%q\nwant\n%q", name, got, want)
		}
		faults := 0
		for _, f := range r.History.Faults {
			if faults++; faultEnd(f, healed(r.History, runEnd(r.History, &checker.Verdict{}))) > f.From {
				faults++ // its end, too
			}
		}
		if all := len(r.History.Served) + len(r.History.Events) + faults; events != all || root.ParentSpanID != "" || since(root.StartTimeUnixNano) != 0 {
			t.Errorf("%s: %d events, want %d; the run's span is %+v", name, events, all, root)
		}
	}
}

func TestWithoutAHistoryNothingIsExported(t *testing.T) {
	for _, e := range Exports() {
		var b bytes.Buffer
		if err := e.Write(&b, Run{Verdict: &checker.Verdict{}}, time.Time{}); !errors.Is(err, ErrNoHistory) || b.Len() > 0 {
			t.Errorf("%s: %v, %s", e.Name, err, b.String())
		}
	}
}
