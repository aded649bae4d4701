package reports

import (
	"errors"
	"io"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

// Export is a form in which other tools read a run. It is written when somebody asks for it.
type Export struct {
	Name  string // as -format has it
	File  string // its name in the run's folder
	About string // one line of help
	// Write needs the run's history. begun is the time of day at which the run began, for formats that have no other.
	Write func(w io.Writer, r Run, begun time.Time) error
}

// Exports lists the forms.
func Exports() []Export {
	return []Export{
		{"perfetto", "perfetto.json", "a trace for ui.perfetto.dev and chrome://tracing", exported(writePerfetto)},
		{"otlp", "otlp.json", "OpenTelemetry spans, as collectors take them over HTTP", exported(writeOTLP)},
	}
}

// ErrNoHistory says that only the verdict of a run is left.
var ErrNoHistory = errors.New("the run's history is missing, and only that can be exported")

// exported has a writer get a run that has a history, and a verdict, which may be empty.
func exported(write func(w io.Writer, r Run, begun time.Time) error) func(io.Writer, Run, time.Time) error {
	return func(w io.Writer, r Run, begun time.Time) error {
		if r.History == nil {
			return ErrNoHistory
		}
		if r.Verdict == nil {
			r.Verdict = &checker.Verdict{}
		}
		return write(w, r, begun)
	}
}
