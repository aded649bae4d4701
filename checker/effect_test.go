package checker

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func TestEffect(t *testing.T) {
	tests := []struct {
		name   string
		write  func(s *script)
		status Status
		lost   []int64 // operations of the writes that were lost
	}{
		{"one after the other", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.write("c1:1", at(2), 1)
			s.read("c2:1", at(3), 1)
			s.write("c2:1", at(4), 2)
		}, Holds, nil},
		// c1 r0 ------- w1
		// c2    r0 w1
		{"one within the other", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.read("c2:1", at(2), 0)
			s.write("c2:1", at(3), 1)
			s.write("c1:1", at(4), 1)
		}, Broken, []int64{3}},
		{"two updates lost by one write", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.read("c2:1", at(2), 0)
			s.write("c2:1", at(3), 1)
			s.read("c2:1", at(4), 1)
			s.write("c2:1", at(5), 2)
			s.write("c1:1", at(6), 1)
		}, Broken, []int64{3, 5}},
		{"reads that overlap lose nothing", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.read("c2:1", at(2), 0)
			s.write("c1:1", at(3), 1)
		}, Holds, nil},
		{"a refused write neither loses nor is lost", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.read("c2:1", at(2), 0)
			s.write("c2:1", at(3), 1)
			s.write("c1:1", at(4), 1).Outcome = history.Rejected
		}, Holds, nil},
		{"a write that never arrived is none", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.read("c2:1", at(2), 0)
			w := s.write("c2:1", at(3), 1)
			w.Evidence, w.Outcome = history.NotSent, history.Unknown
			s.write("c1:1", at(4), 1)
		}, Holds, nil},
		{"the resource's order counts, not that of the calls", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.write("c1:1", at(2), 1).Executed = at(6)
			s.h.Ops[1].Return = at(7)
			s.read("c2:1", at(3), 0)
			s.write("c2:1", at(4), 1)
		}, Broken, []int64{4}},
		{"two resources", func(s *script) {
			s.read("c1:1", at(1), 0)
			s.lock = "order:43"
			s.read("c2:1", at(2), 0)
			s.write("c2:1", at(3), 1)
			s.lock = job
			s.write("c1:1", at(4), 1)
		}, Holds, nil},
		{"nothing written", func(s *script) { s.read("c1:1", at(1), 0) }, NotClaimed, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			r := verdict(t, s).Result(contract.Effect)
			var lost []int64
			for _, v := range r.Violations {
				lost = append(lost, v.Ops[1])
			}
			if r.Status != tt.status || !slices.Equal(lost, tt.lost) {
				t.Errorf("%s: %s; lost %v, want %v", r.Status, r.Summary, lost, tt.lost)
			}
		})
	}
}
