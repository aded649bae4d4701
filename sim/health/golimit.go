package health

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// goLimit is GOMEMLIMIT. Nobody dies of it, but a heap that is nearly as large leaves no time for anything else.
func goLimit() []supply {
	most := debug.SetMemoryLimit(-1)
	if most == math.MaxInt64 {
		return nil
	}
	used := measured("/gc/heap/live:bytes", "/memory/classes/heap/stacks:bytes")
	return []supply{{left: uint64(most) - min(used, uint64(most)), most: uint64(most), of: "the " + Size(uint64(most)) + " of GOMEMLIMIT"}}
}

// measured is the sum of some metrics of Go's runtime.
func measured(names ...string) (sum uint64) {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
