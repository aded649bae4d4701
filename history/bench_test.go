package history

import (
	"fmt"
	"io"
	"runtime"
	"testing"
)

// endless is a history of n operations that is made while it is read: no copy of its text exists.
func endless(n int) *io.PipeReader {
	r, w := io.Pipe()
	go func() {
		fmt.Fprintln(w, `{"record":"header","version":1,"clock":"monotonic","world":"w","subject":"s","seed":0}`)
		for i := range n {
			if _, err := fmt.Fprintf(w, `{"record":"op","id":%d,"client":"client-%d","owner":"client-%d:1","lock":"order:42","kind":"tryLock","wait":1000000000,"lease":30000000000,"call":%d,"return":%d,"outcome":"busy"}`+"\n",
				i+1, i%32, i%32, i*100, i*100+50); err != nil {
				return
			}
		}
		w.Close()
	}()
	return r
}

// BenchmarkLoad reads histories of which no text is kept. B/op-kept is the memory that the history
// takes afterwards, per operation: 5 GB of text are 25 million operations.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				h, err := Load(endless(n))
				if err != nil || len(h.Ops) != n {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(h)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/op-kept")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n*b.N), "µs/line")
		})
	}
}
