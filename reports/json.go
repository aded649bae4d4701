package reports

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"

	"github.com/holdfast-sim/holdfast/checker"
)

// VerdictSchema is the JSON Schema of what [JSON] writes.
//
//go:embed verdict.schema.json
var VerdictSchema []byte

// JSON writes verdict.json: the verdict as it is, indented, with its version
// ([checker.VerdictVersion]) in the field "version". Times are integer nanoseconds.
func JSON(w io.Writer, v *checker.Verdict) error {
	b, err := json.MarshalIndent(lists(v), "", "  ")
	return writeVisible(w, b, err)
}

// JSONLine writes a verdict as JSON does, but in one line, as one of many.
func JSONLine(w io.Writer, v *checker.Verdict) error {
	b, err := json.Marshal(lists(v))
	return writeVisible(w, b, err)
}

func writeVisible(w io.Writer, b []byte, err error) error {
	if err == nil {
		_, err = w.Write(append(VisibleJSON(b), '\n'))
	}
	return err
}

// VisibleJSON writes what [Visible] would escape in a JSON text, which has it only in strings, as JSON escapes it: terminals show
// what machines read, too.
func VisibleJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, hidden) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

func hidden(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }

// lists has the lists that every verdict has, however short, be no null.
func lists(v *checker.Verdict) *checker.Verdict {
	c := *v
	if c.Results == nil {
		c.Results = []checker.Result{}
	}
	if c.Story == nil {
		c.Story = []checker.Moment{}
	}
	return &c
}

func writeJSON(w io.Writer, r Run) error { return JSON(w, r.Verdict) }
