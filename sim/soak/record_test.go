package soak

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Whoever records and judges may fall behind, so that clients wait. For them the process stood still, which the history says before
// it says what they did next.
func TestClientsThatWaitForTheRecorderWereHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var records []any
		r := newRecorder(func(record any) {
			if len(records) == 10 {
				time.Sleep(9 * time.Second) // a judge that needs so long
			}
			records = append(records, record)
		}, func(from, to time.Duration) any { return history.Fault{Kind: stall, From: from, To: to} })
		for i := range 3 * batchMost {
			op := history.Op{Client: "c", Lock: fmt.Sprint(i)}
			r.call(&op)
		}
		r.close()
		var faults []history.Fault
		late := 0 // records before the fault of what was done after it began
		for _, record := range records {
			switch record := record.(type) {
			case history.Fault:
				if record.To-record.From < worthTelling {
					t.Errorf("told of %v", record.To-record.From)
				}
				faults = append(faults, record)
			case history.Op:
				if len(faults) == 0 && record.Call > time.Second {
					late++
				}
			}
		}
		if len(faults) != 1 || faults[0].From > time.Second || faults[0].To < 9*time.Second || faults[0].To > 10*time.Second || late > 0 {
			t.Errorf("%d faults: %+v; %d records before the first are of later", len(faults), faults[:min(len(faults), 3)], late)
		}
		if got := len(records) - len(faults); got != 3*batchMost {
			t.Errorf("%d records of %d", got, 3*batchMost)
		}
	})
}
