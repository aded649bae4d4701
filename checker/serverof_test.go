package checker

import (
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// A cause names the server that a fault befell, where there are several; of faults on different ones it names none.
func TestACauseNamesTheServer(t *testing.T) {
	f := &facts{h: &history.History{Faults: []history.Fault{{Server: "s3"}, {Server: "s3"}, {Server: "s1"}, {}}}}
	for _, tt := range []struct {
		want   string
		faults []int
	}{{"server s3", []int{0}}, {"server s3", []int{0, 1}}, {"the server", []int{0, 2}}, {"the server", []int{3}}, {"the server", []int{3, 0}}, {"the server", nil}} {
		if got := f.serverOf(tt.faults); got != tt.want {
			t.Errorf("faults %v: %s, want %s", tt.faults, got, tt.want)
		}
	}
}
