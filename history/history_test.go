package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func sample() *History {
	return &History{
		Header: Header{Version: Version, Clock: "virtual", World: "sim", Subject: "rlock-latch", Seed: 1<<63 + 7, Plan: []byte(`{"a":1}`), Abilities: []string{"watchdog"}},
		Ops: []Op{
			{ID: 1, Client: "c1", Owner: "c1:1", Lock: "order:42", Kind: Lock, Lease: 30 * time.Second, Watchdog: true, Call: 0, Return: 5, Outcome: Acquired, Evidence: Executed, Executed: 3, Answer: Acquired},
			{ID: 2, Client: "c2", Owner: "c2:1", Lock: "order:42", Kind: TryLock, Call: 2, Return: 9, Outcome: Busy, Value: 29},
			{ID: 3, Client: "c1", Owner: "c1:1", Lock: "order:42", Kind: Unlock, Call: 10},
		},
		Events: []Event{{At: 12, Kind: Expire, Lock: "order:42"}},
		Faults: []Fault{{Kind: "pause-watchdog", Effects: []Effect{TimersStopped}, Client: "c1", From: 5, To: 8}},
		Served: []Served{{At: 3, Client: "c1", Conn: "c1#1", Step: StepAcquire, Op: 1, Lock: "order:42", Before: &KeyState{}, After: &KeyState{Holdings: []Holding{{Owner: "c1:1", Count: 1}}, Deadline: 33}}},
		End:    &End{At: 20, Messages: 4, Trace: "abc"},
	}
}

func TestSavedHistoryLoadsAsItWas(t *testing.T) {
	want := sample()
	var main, served bytes.Buffer
	if err := Save(&main, want); err != nil {
		t.Fatal(err)
	}
	if err := SaveServed(&served, want); err != nil {
		t.Fatal(err)
	}
	got, err := Load(&main, &served)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What the recorder streams line by line must be the history it returns: a killed run is judged
// from the stream.
func TestStreamedRecordsLoadAsTheRecordersHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now time.Duration
		var stream bytes.Buffer
		r := NewRecorder(Header{Clock: "virtual", World: "sim", Subject: "s"}, func() time.Duration { return now }, func(rec any) {
			if err := Encode(&stream, rec); err != nil {
				t.Fatal(err)
			}
		})
		open := map[string]int64{}
		owners := []string{"c1:1", "c1:2", "c2:1"}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(1, 1000).Draw(t, "dt"))
			if rapid.IntRange(0, 5).Draw(t, "renewal") == 0 { // known when it is over
				r.Add(Op{Client: "c1", Owner: "c1:1", Lock: "l", Kind: Renew, Call: now / 2, Return: now, Outcome: Renewed})
			}
			o := rapid.SampledFrom(owners).Draw(t, "owner")
			if id, ok := open[o]; ok {
				r.Return(id, rapid.SampledFrom([]Outcome{Acquired, Busy, Failed, Unknown}).Draw(t, "outcome"), 0, 0, nil)
				r.Amend(id, func(op *Op) { op.Evidence, op.Executed, op.Answer = Executed, now, Acquired })
				delete(open, o)
			} else {
				open[o] = r.Call(Op{Client: o[:2], Owner: o, Lock: "l", Kind: Lock})
			}
		}
		now++
		want := r.Close(End{})
		got, err := Load(&stream)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(want.Ops, func(a, b Op) int { return int(a.Call - b.Call) }) {
			t.Fatalf("not in order of calls: %+v", want.Ops)
		}
		if !reflect.DeepEqual(got.Ops, want.Ops) || *got.End != *want.End {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
}

func TestACutOffLastLineIsReportedAndTheRestUsed(t *testing.T) {
	var b bytes.Buffer
	if err := Save(&b, sample()); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	got, err := Load(strings.NewReader(whole[:len(whole)-10]))
	if !errors.Is(err, ErrTruncated) {
		t.Fatalf("got error %v", err)
	}
	if len(got.Ops) != 3 || got.End != nil {
		t.Errorf("got %d operations, end %v", len(got.Ops), got.End)
	}
}

func TestABadLineIsNamed(t *testing.T) {
	header := `{"record":"header","version":1,"clock":"virtual","world":"sim","subject":"s","seed":1}` + "\n"
	op := func(id int, rest string) string {
		return fmt.Sprintf(`{"record":"op","id":%d,"client":"c","owner":"o","lock":"l","kind":"lock",%s}`+"\n", id, rest)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty file", "", "line 1: the file is empty"},
		{"no header", `{"record":"op"}` + "\n", `line 1: record "op" comes first`},
		{"future version", `{"record":"header","version":9}` + "\n", "line 1: history version 9"},
		{"a group of no kind", `{"record":"header","version":1,"groups":[{"name":"g","kind":"any","members":["a"]}]}` + "\n", `line 1: group g: kind "any"; it must be multi or red`},
		{"a group without members", `{"record":"header","version":1,"groups":[{"name":"g","kind":"red","members":[]}]}` + "\n", "line 1: group g: it must have 1 to 8 members"},
		{"a group of itself", `{"record":"header","version":1,"groups":[{"name":"g","kind":"red","members":["g"]}]}` + "\n", "line 1: group g: its member g is a group"},
		{"two groups of one name", `{"record":"header","version":1,"groups":[{"name":"g","kind":"red","members":["a"]},{"name":"g","kind":"red","members":["b"]}]}` + "\n", `line 1: group "g": each group has a name of its own`},
		{"no JSON", header + "hello\n", "line 2: not a JSON object"},
		{"unknown record", header + `{"record":"foo"}` + "\n", `line 2: unknown record "foo"`},
		{"unknown field", header + `{"record":"op","id":1,"colour":"red"}` + "\n", `unknown field "colour"`},
		{"unknown operation", header + `{"record":"op","id":1,"kind":"lick"}` + "\n", `unknown operation "lick"`},
		{"return before call", header + `{"record":"op","id":1,"owner":"o","lock":"l","kind":"lock","call":9,"return":3,"outcome":"acquired"}` + "\n", "before its call"},
		{"impossible outcome", header + `{"record":"op","id":1,"owner":"o","lock":"l","kind":"lock","call":1,"return":3,"outcome":"released"}` + "\n", `cannot be answered "released"`},
		{"no owner", header + `{"record":"op","id":1,"kind":"lock","call":1}` + "\n", "without an owner"},
		{"overlapping calls", header + op(1, `"call":1,"return":9,"outcome":"acquired"`) + op(2, `"call":8`), "line 3: op 2: o called it at 8 ns, while its op 1 lasted until 9 ns"},
		{"a call after one that never returned", header + op(1, `"call":1`) + op(2, `"call":8`), "line 3: op 2: o called it while its op 1 had not returned"},
		{"a lease that overflows", header + op(1, `"call":5,"return":6,"outcome":"busy","lease":9223372036854775807`), "line 2: op 1: lease 9223372036854775807; it must be 0 to"},
		{"a negative time", header + op(1, `"call":-5,"return":6,"outcome":"busy"`), "line 2: op 1: call -5; a time must be 0 to"},
		{"an answer that a server does not know", header + op(1, `"call":5,"return":6,"outcome":"busy","evidence":"executed","executed":5,"answer":"unknown"`), `line 2: op 1: executed with the answer "unknown"`},
		{"an end before a call", header + op(1, `"call":5,"return":6,"outcome":"busy"`) + `{"record":"end","at":4,"messages":1}` + "\n", "line 3: the end at 4 ns comes before op 1"},
		{"a jump of the least number", header + `{"record":"event","at":5,"kind":"clockJump","by":-9223372036854775808}` + "\n", "line 2: event clockJump: by -9223372036854775808"},
		{"calls that run backwards", header + op(1, `"call":5,"return":6,"outcome":"busy"`) + op(2, `"call":2,"return":3,"outcome":"busy"`), "line 3: op 2 of o was called at 2 ns, but its op 1 before it at 5 ns: time runs backwards"},
		{"one id for two calls", header + op(1, `"call":5`) + op(1, `"call":7`), "line 3: op 1 was lock by o, called at 5 ns; its id cannot be another call's"},
		{"answered, and never returned", header + op(1, `"call":5,"outcome":"busy"`), "no return time"},
		{"unknown evidence", header + op(1, `"call":5,"evidence":"hearsay"`), `unknown evidence "hearsay"`},
		{"executed before its call", header + op(1, `"call":5,"evidence":"executed","executed":4,"answer":"busy"`), "executed at 4, before its call at 5"},
		{"a server log that runs backwards", header + `{"record":"served","at":5,"sent":1,"client":"c","conn":"c","step":"query","text":"GET"}` + "\n" +
			`{"record":"served","at":4,"sent":1,"client":"c","conn":"c","step":"query","text":"GET"}` + "\n", "line 3: the server log runs backwards"},
		{"two records in one line", header + strings.TrimSpace(op(1, `"call":5`)) + `{"record":"end"}` + "\n", `line 2: "{\"record\":\"end\"}" follows the record`},
		{"one token for two", header + op(1, `"call":5,"return":6,"outcome":"acquired","token":7`) +
			`{"record":"op","id":2,"owner":"p","lock":"l","kind":"lock","call":9,"return":10,"outcome":"acquired","token":7}` + "\n",
			"line 3: op 2: p got l with token 7, which op 1 of o had got"},
		{"one line without end", strings.Repeat("x", MaxLine+1<<17), "line 1: longer than 16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(strings.NewReader(c.text))
			var at *LineError
			if !errors.As(err, &at) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// What is read is kept, up to a limit.
func TestAHistoryTooLongIsRefusedWithItsLine(t *testing.T) {
	if h, err := Limit(100).Load(t.Context(), endless(100)); err != nil || len(h.Ops) != 100 {
		t.Errorf("100 records: %v", err)
	}
	long := endless(1_000_000_000)
	defer long.Close()
	if _, err := Limit(100).Load(t.Context(), long); !errors.Is(err, ErrTooLong) || !strings.HasPrefix(err.Error(), "line 102: ") {
		t.Errorf("a billion records: %v", err)
	}
	// A file is not read before it is known to be short enough: this one's first record is none.
	file := strings.NewReader("nonsense\n" + strings.Repeat("{}\n", 101))
	if _, err := Limit(100).Load(t.Context(), file); !errors.Is(err, ErrTooLong) || !strings.HasPrefix(err.Error(), "line 102: ") {
		t.Errorf("a file: %v", err)
	}
	// A long record takes the room of many.
	wide := fmt.Sprintf(`{"record":"header","version":1,"clock":"virtual","world":"sim","subject":"s","seed":1}`+"\n"+
		`{"record":"event","at":1,"kind":"crash","lock":%q}`+"\n", strings.Repeat("x", 200<<10))
	if _, err := Limit(100).Load(t.Context(), strings.NewReader(wide)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a record of 200 kB: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Limit(100).Load(ended, endless(100)); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it: %v", err)
	}
}

// A token that comes twice is no mistake of the record when its owner had it before, when it is
// another lock's, or when the lock promises fencing: then it is judged.
func TestATokenMayComeTwice(t *testing.T) {
	header := func(abilities string) string {
		return `{"record":"header","version":1,"clock":"virtual","world":"sim","subject":"s","seed":1,"abilities":[` + abilities + "]}\n"
	}
	grant := func(id int, owner, lock string) string {
		return fmt.Sprintf(`{"record":"op","id":%d,"client":"c","owner":%q,"lock":%q,"kind":"lock","call":%d,"return":%d,"outcome":"acquired","token":7}`+"\n", id, owner, lock, 10*id, 10*id+1)
	}
	for name, text := range map[string]string{
		"re-entry":     header("") + grant(1, "o", "l") + grant(2, "o", "l"),
		"another lock": header("") + grant(1, "o", "l") + grant(2, "p", "m"),
		"fencing":      header(`"fencing"`) + grant(1, "o", "l") + grant(2, "p", "l"),
	} {
		if _, err := Load(strings.NewReader(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheRecorderRefusesNonsense(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *Recorder)
	}{
		{"overlapping calls of one owner", func(r *Recorder) {
			r.Call(Op{Owner: "o", Kind: Lock})
			r.Call(Op{Owner: "o", Kind: Unlock})
		}},
		{"two returns", func(r *Recorder) {
			id := r.Call(Op{Owner: "o", Kind: Lock})
			r.Return(id, Acquired, 0, 0, nil)
			r.Return(id, Acquired, 0, 0, nil)
		}},
		{"an outcome of another operation", func(r *Recorder) {
			r.Return(r.Call(Op{Owner: "o", Kind: Lock}), Released, 0, 0, nil)
		}},
		{"a return of no call", func(r *Recorder) { r.Return(7, Acquired, 0, 0, nil) }},
		{"an unknown operation", func(r *Recorder) { r.Call(Op{Owner: "o", Kind: "lick"}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var now time.Duration
			r := NewRecorder(Header{}, func() time.Duration { now++; return now }, nil)
			defer func() {
				if _, ok := recover().(*MisuseError); !ok {
					t.Error("the recorder took it")
				}
			}()
			c.do(r)
		})
	}
}

// Callers in goroutines of their own, a clock that they share.
func TestRecorderKeepsWhatManyCallersSay(t *testing.T) {
	const callers, calls = 8, 50
	var clock sync.Mutex
	var now time.Duration
	tick := func() time.Duration {
		clock.Lock()
		defer clock.Unlock()
		now++
		return now
	}
	records := 0
	r := NewRecorder(Header{}, tick, func(any) { records++ })
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			owner := fmt.Sprintf("c%d:1", c)
			for range calls {
				tick() // time does not only pass while the recorder looks
				id := r.Call(Op{Client: owner[:2], Owner: owner, Lock: "l", Kind: TryLock})
				r.Event(Event{Kind: Expire, Lock: "l"})
				r.Return(id, Busy, 0, 0, nil)
				if op := r.Op(id); op.Owner != owner || op.Return <= op.Call {
					t.Errorf("%+v", op)
				}
			}
		})
	}
	all.Wait()
	h := r.Close(End{})
	if len(h.Ops) != callers*calls || len(h.Events) != callers*calls || records != 3*callers*calls+2 {
		t.Errorf("%d operations, %d events, %d records", len(h.Ops), len(h.Events), records)
	}
	for i, op := range h.Ops {
		if op.ID != int64(i+1) || i > 0 && op.Call <= h.Ops[i-1].Call {
			t.Fatalf("%+v stands at %d", op, i)
		}
	}
}

// A fault may be written when it begins, and again when it is over.
func TestAFaultIsOneThoughItIsWrittenTwice(t *testing.T) {
	records := []any{sample().Header,
		Fault{Index: 0, Kind: "pause-client", Client: "c1", From: 5}, Fault{Index: 1, Kind: "restart", From: 6}, Fault{Index: 2, Kind: "delete-key", From: 7},
		Fault{Index: 0, Kind: "pause-client", Client: "c1", From: 5, To: 8, Hits: 1}, Fault{Index: 2, Kind: "delete-key", From: 9, To: 10}}
	var text bytes.Buffer
	if err := writeAll(&text, records); err != nil {
		t.Fatal(err)
	}
	h, err := Load(&text)
	want := []any{records[2], records[3], records[4], records[5]} // one never ended, and what has another beginning is another
	if err != nil || len(h.Faults) != len(want) {
		t.Fatalf("%+v, %v", h.Faults, err)
	}
	for i, f := range h.Faults {
		if f.Effects = nil; !reflect.DeepEqual(any(f), want[i]) { // effects are what its kind has
			t.Errorf("fault %d: %+v", i, f)
		}
	}
}

// What an object has beside its key is named after the key, or after the name in braces.
func TestKeysBesideTheKey(t *testing.T) {
	for _, tt := range []struct{ key, queue, name, want string }{
		{"", "*:queue", "order", "order:queue"},
		{"{*}", "*:queue", "order", "{order}:queue"},
		{"{*}", "*:queue", "{lock}-1", "{{lock}-1}:queue"},
		{"lock:*", "q:{*}", "order", "q:{order}"},
		{"lock:*", "q:{*}", "{lock}-1", "q:{lock}-1"},
		{"lock:*", "", "order", ""},
	} {
		if got := (Layout{Key: tt.key, Queue: tt.queue}).QueueOf(tt.name); got != tt.want {
			t.Errorf("key %q, queue %q of %s: %q, want %q", tt.key, tt.queue, tt.name, got, tt.want)
		}
	}
}
