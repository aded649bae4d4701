package checker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Histories that were judged wrongly once. Each is judged by the checkers of object, or refused by the reader.
func TestCases(t *testing.T) {
	for _, tt := range []struct {
		file, is string
		want     Status
		refused  string // what the reader says instead
	}{
		{"implied", "two settings of one owner end at one time, and only the second of them is in force", Holds, ""},
		{"ivl1", "a holder is told busy by a call during which its lease ends and another owner takes the lock", Holds, ""},
		{"ivl2", "the same, every call executed, with 17 more that wait", Holds, ""},
		{"touch2", "an unlock releases what nobody held, and the owner's next call begins in the instant of its return", Broken, ""},
		{"tie", "on a virtual clock a key is deleted in the instant of a grant, hence before it", Broken, ""},
		{"tie2", "on a real clock a key is deleted in the instant of a question, so that either came first", Holds, ""},
		{"watched", "a lock has no time to live, and its owner, whose renewals nobody saw, answers in time", Holds, ""},
		{"ansunk", "a server that does not know what it answered", "", `line 3: op 4: executed with the answer "unknown"`},
		{"endearly", "an end before an operation", "", "line 3: the end at 0 ns comes before op 1"},
		{"ext", "times that overflow", "", "line 2: op 1: call 9223372036854775807"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "cases", tt.file+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			h, err := history.Load(strings.NewReader(string(text)))
			if tt.refused != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.refused) {
					t.Errorf("%s: read with %v, want %q", tt.is, err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			v := Judge(context.Background(), h, Options{Budget: time.Minute})
			if r := v.Result(contract.Object); r.Status != tt.want || v.Trouble() != "" {
				t.Errorf("%s: %s: %s; %s", tt.is, r.Status, r.Summary, v.Trouble())
			}
		})
	}
}
