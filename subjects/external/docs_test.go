package external

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// docs/worker.md names every field and ability, and the limits.
func TestTheManualIsComplete(t *testing.T) {
	b, err := os.ReadFile("../../docs/worker.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(b)), " ")
	var words []string
	for _, v := range []any{request{}, message{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			words = append(words, "`"+name+"`")
		}
	}
	for _, a := range abilities {
		words = append(words, "`"+a+"`")
	}
	words = append(words, fmt.Sprintf("at most %d bytes", longestLine), fmt.Sprintf("It has %g s", usual.end.Seconds()),
		fmt.Sprintf("no hello within %g s", usual.start.Seconds()), fmt.Sprintf("answered within %g s;", usual.cancel.Seconds()),
		fmt.Sprintf("last %d KiB", tailSize>>10))
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("docs/worker.md does not say %s", w)
		}
	}
}

// The conversations in docs/worker.md keep to the protocol.
func TestTheConversationsOfTheManualAreRight(t *testing.T) {
	b, err := os.ReadFile("../../docs/worker.md")
	if err != nil {
		t.Fatal(err)
	}
	var hello message
	asked := map[int64]request{}
	hellos, answers := map[history.Object]int{}, 0
	for line := range strings.Lines(string(b)) {
		if text, to := strings.CutPrefix(line, "    > "); to {
			var r request
			if err := decode([]byte(text), &r); err != nil || r.Kind != kindStart && !r.Kind.Valid() {
				t.Errorf("%s: %v", line, err)
			}
			asked[r.ID] = r
		}
		text, from := strings.CutPrefix(line, "    < ")
		if !from {
			continue
		}
		var m message
		if err := decode([]byte(text), &m); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if m.Hello > 0 {
			hello, asked = m, map[int64]request{}
			hellos[m.Object]++
			if err := checkHello(m); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		} else {
			answers++
			r, ok := asked[m.ID]
			if err := checkAnswer(r, m, hello); !ok || err != nil {
				t.Errorf("%s: an answer to a request: %t; %v", line, ok, err)
			}
		}
	}
	if hellos[""] != 1 || hellos[history.APermitSemaphore] != 1 || answers != 9 {
		t.Errorf("conversations: %v, with %d answers", hellos, answers)
	}
}
