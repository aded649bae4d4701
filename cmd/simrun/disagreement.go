package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/minimal"
	"github.com/holdfast-sim/holdfast/history"
)

// disagreementFile is the smallest history on which the checkers disagree about a run.
const disagreementFile = "disagreement.jsonl"

// opinion is one more checker, or nil. Tests set it to one that is wrong.
var opinion func(*history.History) checker.Status

// leaveDisagreement writes the smallest history on which the checkers disagree, and says where: it is a bug report.
func leaveDisagreement(ctx context.Context, into *folder, name string, h *history.History, o checker.Options) string {
	if into.dir == "" {
		return "; with -out the smallest history that shows it is kept"
	}
	small, ok := minimal.Disagreement(ctx, h, o)
	if !ok {
		small = h // it shows in a part of it, as a stream judges it
	}
	var b bytes.Buffer
	err := history.Save(&b, small)
	if err == nil {
		err = into.write(name, b.Bytes())
	}
	if err != nil {
		return fmt.Sprintf("; the smallest history that shows it cannot be kept: %v", cause(err))
	}
	return "; the smallest history that shows it is in " + filepath.Join(into.dir, name) + ": please report it, it is a bug of simrun"
}
