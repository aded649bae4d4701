package reports

import (
	"encoding/json"
	"io"

	"github.com/holdfast-sim/holdfast/checker"
)

// JSON writes verdict.json: the verdict as it is, indented, with its version
// ([checker.VerdictVersion]) in the field "version". Times are integer nanoseconds.
func JSON(w io.Writer, v *checker.Verdict) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func writeJSON(w io.Writer, r Run) error { return JSON(w, r.Verdict) }
