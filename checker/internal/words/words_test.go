package words

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// Long numbers have their thousands apart, and negative ones too.
func TestNumbersHaveTheirThousandsApart(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 14762: "14,762", 1234567: "1,234,567", -999: "-999", -1000: "-1,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if got := Count(14762, "hold"); got != "14,762 holds" {
		t.Errorf("%q", got)
	}
}

// A reader counts the faults of a plan from one.
func TestFaultsAreCountedFromOne(t *testing.T) {
	h := &history.History{Faults: []history.Fault{
		{Index: 0, Kind: "partition", From: time.Second},
		{Index: 1, Kind: "kill-client", Missed: true},
		{Index: 2, Kind: "drop-message", Missed: true, On: "reply acquire"},
	}}
	want := []string{
		"fault 2, kill-client, never struck: its time never came",
		"fault 3, drop-message, never struck: what it waited for (reply acquire) never came",
	}
	if got := Missed(h); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = append(want, "fault 1, partition, struck nothing: it held up or touched no message, timer or key")
	if got := Unstruck(h); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
