package formats

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Two processes take a lock in turn; a third crashes in its acquire, and the network is cut in
// between. Written as Jepsen writes it: one map a line.
const jepsenLock = `
{:type :invoke, :f :acquire, :value nil, :process 0, :time 10, :index 0}
{:type :ok, :f :acquire, :value nil, :process 0, :time 20, :index 1}
{:type :invoke, :f :try-lock, :value nil, :process 1, :time 25, :index 2}
{:type :fail, :f :try-lock, :process 1, :time 30, :error :busy, :index 3}
{:type :info, :f :start-partition, :process :nemesis, :time 31, :value nil}
#jepsen.history.Op{:type :invoke, :f :acquire, :process 2, :time 32}
{:type :info, :f :acquire, :process 2, :time 40, :error [:timeout "no } answer"]}
{:type :info, :f :start-partition, :process :nemesis, :time 45, :value [:isolated {"n1" #{"n2"}}]}
; the next is of a reentrant lock
{:type :invoke, :f :lock, :process 0, :time 50}
{:type :ok, :f :lock, :process 0, :time 51, :value {:fence 7}}
{:type :invoke, :f :release, :process 0, :time 60} {:type :ok, :f :release, :process 0, :time 61}
{:type :invoke, :f :release, :process 0, :time 62}
{:type :ok, :f :release, :process 0, :time 63}
{:type :invoke, :f :unlock, :process 0, :time 64}
{:type :fail, :f :unlock, :process 0, :time 65, :error [:not-lock-owner]}
{:type :invoke, :f :unlock, :process 1, :time 66}
{:type :fail, :f :unlock, :process 1, :time 67, :error :connection-refused}
`

func TestJepsenHistory(t *testing.T) {
	op := func(id int64, process string, kind history.Kind, call, ret int64, out history.Outcome) history.Op {
		o := history.Op{ID: id, Client: process, Owner: process, Lock: "lock", Kind: kind, Outcome: out}
		o.Call, o.Return = at(call), at(ret)
		return o
	}
	crashed := op(3, "2", history.Lock, 32, 0, "")
	crashed.Error = `[:timeout no } answer]`
	fenced := op(4, "0", history.Lock, 50, 51, history.Acquired)
	fenced.Token = 7
	refused := op(8, "1", history.Unlock, 66, 67, history.Failed)
	refused.Error = "connection-refused"
	want := []history.Op{
		op(1, "0", history.Lock, 10, 20, history.Acquired), op(2, "1", history.TryLock, 25, 30, history.Busy), crashed, fenced,
		op(5, "0", history.Unlock, 60, 61, history.Decremented), op(6, "0", history.Unlock, 62, 63, history.Released),
		op(7, "0", history.Unlock, 64, 65, history.NotHeld), refused,
	}
	for name, text := range map[string]string{"lines": jepsenLock, "one vector": "[" + jepsenLock + "]"} {
		h, err := LoadAny(t.Context(), strings.NewReader(text), 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range h.Ops {
			h.Ops[i].Error = strings.ReplaceAll(h.Ops[i].Error, `"`, "")
		}
		if !reflect.DeepEqual(h.Ops, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, h.Ops, want)
		}
		if len(h.Faults) != 1 || h.Faults[0].Kind != "start-partition" || h.Faults[0].From != 31 || h.Faults[0].To != 45 {
			t.Errorf("%s: faults %+v", name, h.Faults)
		}
	}
}

// Where a clock runs backwards, or stands still, the order of the records is the order of what happened.
func TestJepsenTimesThatRunBackwards(t *testing.T) {
	h, err := LoadEDN(t.Context(), strings.NewReader(`
		{:type :invoke :f :acquire :process 0 :time 1000} {:type :ok :f :acquire :process 0 :time 2000}
		{:type :invoke :f :release :process 0 :time 1500} {:type :ok :f :release :process 0 :time 1400}
		{:type :invoke :f :acquire :process 1 :time 2003} {:type :ok :f :acquire :process 1 :time 9000}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]int64{{1000, 2000}, {2001, 2002}, {2003, 9000}}
	for i, op := range h.Ops {
		if int64(op.Call) != want[i][0] || int64(op.Return) != want[i][1] {
			t.Errorf("op %d lasts from %d to %d, want %v", op.ID, op.Call, op.Return, want[i])
		}
	}
	if len(h.Ops) != len(want) {
		t.Errorf("%d operations", len(h.Ops))
	}
}

func TestJepsenLocksByKey(t *testing.T) {
	h, err := LoadEDN(t.Context(), strings.NewReader(`
		{:type :invoke :f :acquire :process 0 :value [3 nil]} {:type :ok :f :acquire :process 0 :value [3 17]}
		{:type :invoke :f :acquire :process 1 :key "other"} {:type :ok :f :acquire :process 1}`), 0)
	if err != nil || len(h.Ops) != 2 || h.Ops[0].Lock != "3" || h.Ops[0].Token != 17 || h.Ops[1].Lock != "other" {
		t.Errorf("%v: %+v", err, h)
	}
}

func TestABadJepsenRecordIsNamed(t *testing.T) {
	const begin = "{:type :invoke :f :acquire :process 0 :time 5}\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "\n\n", "line 1: no operation"},
		{"no EDN", begin + "{:type }", "line 2: not EDN"},
		{"cut off", begin + "{:type :ok", "line 2: the file ends within a record"},
		{"an open vector", "[" + begin, `line 2: the file ends before its ']'`},
		{"no map", begin + "#{1 2}", "line 2: not a map"},
		{"no record", begin + "hello", "line 2: 'h' begins no record"},
		{"unknown type", "{:type :maybe :f :acquire :process 0}", "line 1: :type is :maybe"},
		{"no process", "{:type :ok :f :acquire}", "line 1: no :process"},
		{"unknown operation", "{:type :invoke :f :compare-and-set :process 0}", "line 1: unknown operation :f :compare-and-set"},
		{"overlapping calls", begin + "{:type :invoke :f :release :process 0 :time 6}", "line 2: process 0 calls release while its lock at 5 ns has not returned"},
		{"a return of nothing", "{:type :ok :f :acquire :process 4}", "line 1: process 4 returns acquire, but it had called nothing"},
		{"a crashed process calls", begin + "{:type :info :f :acquire :process 0 :time 6}\n{:type :invoke :f :acquire :process 0 :time 7}", "line 3: process 0 calls acquire while"},
		{"a time that overflows", begin + "{:type :ok :f :acquire :process 0 :time 9223372036854775807}", "line 2: :time is 9223372036854775807"},
		{"no time", "{:type :invoke :f :acquire :process 0 :time :noon}", "line 1: :time is :noon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := LoadEDN(t.Context(), strings.NewReader(c.text), 0)
			var at *history.LineError
			if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The library reads by recursion: ten megabytes of brackets or tags would end the process.
func TestDeepEDNIsRefused(t *testing.T) {
	for name, deep := range map[string]string{
		"brackets": "{:type " + strings.Repeat("[", 10<<20), "tags": "{:type " + strings.Repeat("#a ", 3<<20),
		"discards": "{:type " + strings.Repeat("#_ ", 3<<20), "sets": "{:type " + strings.Repeat("#{", 3<<20),
		"long": "{:type \"" + strings.Repeat("x", 10<<20),
	} {
		if _, err := LoadEDN(t.Context(), strings.NewReader(deep), 0); err == nil || !strings.Contains(err.Error(), "this is no history") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACommentInARecordIsNone(t *testing.T) {
	h, err := LoadEDN(t.Context(), strings.NewReader("{:type :invoke ; a \" and a }\n :f :acquire, :process 0}\n{:type :ok :f :acquire :process 0}"), 0)
	if err != nil || len(h.Ops) != 1 {
		t.Errorf("%v, %+v", err, h)
	}
}

func TestAnUnknownFormatIsNamed(t *testing.T) {
	if _, err := LoadAny(t.Context(), strings.NewReader("<html>"), 0); err == nil || !strings.Contains(err.Error(), "neither JSONL") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.Context(), "/does/not/exist", 0); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// Whatever is read without an error can be written and read again, and is the same.
func FuzzLoad(f *testing.F) {
	var b bytes.Buffer
	h := &history.History{Header: history.Header{Version: history.Version, Clock: "virtual", World: "sim", Subject: "s"},
		Ops:    []history.Op{{ID: 1, Client: "c1", Owner: "c1:1", Lock: "l", Kind: history.Lock, Call: 1, Return: 5, Outcome: history.Acquired}},
		Events: []history.Event{{At: 12, Kind: history.Expire, Lock: "l"}}, End: &history.End{At: 20}}
	if err := history.Save(&b, h); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(jepsenLock))
	f.Add([]byte("[" + jepsenLock + "]"))
	f.Add([]byte(`{"record":"header","version":1}` + "\n" + `{"record":"op","id":-1}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := LoadAny(t.Context(), bytes.NewReader(text), 0)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := history.Save(&b, h); err != nil {
			t.Fatal(err)
		}
		h.Served = nil // has a file of its own
		again, err := history.Load(&b)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if len(h.Ops) == 0 {
			h.Ops = nil
		}
		if len(again.Ops) != len(h.Ops) || len(again.Events) != len(h.Events) || len(again.Faults) != len(h.Faults) {
			t.Fatalf("read again it is another: %+v, %+v", again, h)
		}
		for i := range h.Ops {
			if !reflect.DeepEqual(h.Ops[i], again.Ops[i]) {
				t.Fatalf("op %d: %+v, %+v", i, h.Ops[i], again.Ops[i])
			}
		}
	})
}

func at(ns int64) time.Duration { return time.Duration(ns) }

func TestAHistoryTooLongIsRefusedWithItsLine(t *testing.T) {
	edn := strings.Repeat("{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0}\n", 60)
	if _, err := LoadEDN(t.Context(), strings.NewReader(edn), 50); !errors.Is(err, history.ErrTooLong) || !strings.HasPrefix(err.Error(), "line 51: ") {
		t.Errorf("EDN: %v", err)
	}
}
