package reports

import (
	"io"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// Run is what a report is made from.
type Run struct {
	Verdict *checker.Verdict
	History *history.History // nil: only the verdict is known
	Command string           // the command that reproduces the run
	Picture string           // name of porcupine's own picture, relative to the report; empty: none
	Shrunk  *Run             // a smaller run that breaks in the same way; nil: none is known
	Long    *Long            // of a long run, of which the history is a part or missing; nil: it is whole
}

// Format is one file that a run leaves behind for people or machines.
type Format struct {
	Name  string // what -format would call it
	File  string // its name in the run's folder
	About string // one line of help
	Write func(w io.Writer, r Run) error
}

// Formats lists the formats that are written to files, in the order in which they are written.
func Formats() []Format {
	return []Format{
		{"json", "verdict.json", "the verdict, for machines", writeJSON},
		{"html", "report.html", "the report, one self-contained page", writeHTML},
	}
}
