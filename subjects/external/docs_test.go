package external

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
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
