package checker

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// BenchmarkJudge judges clients that take one lock in turn, all waiting all the time: the shape
// of a busy run.
func BenchmarkJudge(b *testing.B) {
	for _, holds := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("holds=%d", holds), func(b *testing.B) {
			const clients = 10
			s := newScript()
			released := make([]float64, clients)
			for i := range holds {
				now := float64(i)
				owner := fmt.Sprintf("c%d:1", i%clients)
				op := s.take(owner, at(released[i%clients]), at(now+0.1), 0)
				s.served(op, op.Executed, key("", 0, 0), key(owner, 1, op.Executed+dog))
				s.read(owner, at(now+0.2), int64(i))
				s.write(owner, at(now+0.3), int64(i+1))
				op = s.unlock(owner, at(now+0.5), history.Released)
				s.served(op, op.Executed, key(owner, 1, op.Executed), key("", 0, 0))
				released[i%clients] = now + 0.7
			}
			s.h.End.At = at(float64(holds) + 1)
			h := s.done()
			b.ReportAllocs()
			for b.Loop() {
				if v := Judge(context.Background(), h, Options{}); v.Code() != ExitExpected {
					b.Fatal(v.Explanation)
				}
			}
		})
	}
}
