package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// reflected is the line that encoding/json makes.
func reflected(t rapid.TB, record any) []byte {
	t.Helper()
	var line any
	switch r := record.(type) {
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
	}
	b, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// asReflected compares what is written by hand with what encoding/json makes.
func asReflected(t rapid.TB, record any) {
	t.Helper()
	before := []byte("before")
	got, err := Append(before, record)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(bytes.Clone(before), reflected(t, record)...); !bytes.Equal(got, want) {
		t.Fatalf("%+v\nis  %q\nnot %q", record, got, want)
	}
}

// drawn fills every field, whatever fields there are, so that one that is not written is found.
func drawn[T any](t *rapid.T, record T) T {
	v := reflect.ValueOf(&record).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch f.Kind() {
		case reflect.String:
			text := rapid.OneOf(rapid.SampledFrom([]string{"", "c1:1", "<&>", `"\`, "\u2028", "\xff\x00\x7f\b\n"}), rapid.String(),
				rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
			f.SetString(text.Draw(t, name))
		case reflect.Int, reflect.Int64:
			f.SetInt(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, name))
		case reflect.Bool:
			f.SetBool(rapid.Bool().Draw(t, name))
		default:
			t.Fatalf("field %s is a %s, which nobody draws", name, f.Kind())
		}
	}
	return record
}

func TestWhatIsWrittenByHandIsWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asReflected(t, drawn(t, Op{}))
		asReflected(t, drawn(t, Event{}))
	})
}

func FuzzAppend(f *testing.F) {
	f.Add("c1", "c1:1", "an <error> & \"quotes\"", "\u2029\xff", int64(1), int64(-5), true)
	f.Add("", "", "", "", int64(0), int64(0), false)
	f.Fuzz(func(t *testing.T, client, owner, text, odd string, n, m int64, yes bool) {
		asReflected(t, Op{ID: n, Client: client, Owner: owner, Lock: text, Kind: Kind(odd), Wait: time.Duration(m), Lease: time.Duration(n),
			Watchdog: yes, Aside: !yes, Call: time.Duration(m), Outcome: Outcome(odd), Value: m, Error: text, Evidence: Evidence(client), Repeats: int(n)})
		asReflected(t, Event{At: time.Duration(n), Since: time.Duration(m), Kind: EventKind(odd), Lock: text, Client: client, Owner: owner, Count: m, Note: odd})
	})
}

func TestAppendLeavesAloneWhatItCannotWrite(t *testing.T) {
	b := []byte("before")
	for _, record := range []any{nil, &Op{}, Header{Plan: json.RawMessage("{")}} {
		if got, err := Append(b, record); err == nil || string(got) != "before" {
			t.Errorf("%T: %q, %v", record, got, err)
		}
	}
}

// What a soak records most.
func BenchmarkAppend(b *testing.B) {
	op := Op{ID: 123456, Client: "c17-3", Owner: "c17-3:1", Lock: "lock-42", Kind: TryLock, Wait: 2345678901, Lease: time.Second, Watchdog: true,
		Call: 12345678901, Return: 12347678901, Outcome: Acquired, Token: 98765}
	b.Run("by hand", func(b *testing.B) {
		var line []byte
		for b.Loop() {
			line, _ = Append(line[:0], op)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			reflected(b, op)
		}
	})
}
