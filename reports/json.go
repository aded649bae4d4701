package reports

import (
	_ "embed"
	"encoding/json"
	"io"

	"github.com/holdfast-sim/holdfast/checker"
)

// VerdictSchema is the JSON Schema of what [JSON] writes.
//
//go:embed verdict.schema.json
var VerdictSchema []byte

// JSON writes verdict.json: the verdict as it is, indented, with its version
// ([checker.VerdictVersion]) in the field "version". Times are integer nanoseconds.
func JSON(w io.Writer, v *checker.Verdict) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(lists(v))
}

// JSONLine writes a verdict as JSON does, but in one line, as one of many.
func JSONLine(w io.Writer, v *checker.Verdict) error { return json.NewEncoder(w).Encode(lists(v)) }

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
