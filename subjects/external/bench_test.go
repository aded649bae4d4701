package external

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// What the protocol costs a call: a worker that answers at once, whatever it is asked.
func BenchmarkCall(b *testing.B) {
	s, err := Subject(b.Context(), Prefix+worker("prompt"))
	if err != nil {
		b.Fatal(err)
	}
	c, err := s.Open(envOf("redis://127.0.0.1:1", time.Second, func(err error) { b.Error(err) }))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	l, me := c.Lock("order:42").(subjects.Inspector), c.Owner(1)
	b.ReportAllocs()
	for b.Loop() {
		if a := l.Inspect(b.Context(), history.IsLocked, me); a.Outcome != history.OK {
			b.Fatalf("%+v", a)
		}
	}
}
