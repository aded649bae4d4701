package health

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// ours is the limit that [Spare] has set, which is none of its own.
var ours atomic.Int64

// Spare has Go's runtime collect garbage early enough for what this process keeps to fill the memory that there is. By
// itself it would let garbage take as much again, and the process be killed for that. What GOMEMLIMIT says stands.
func Spare() {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	used := measured("/memory/classes/total:bytes") - measured("/memory/classes/heap/released:bytes")
	if most := int64(used + MemoryLeft(unlimited)); most < unlimited {
		ours.Store(most)
		debug.SetMemoryLimit(most)
	}
}

// goLimit is GOMEMLIMIT. Nobody dies of it, but a heap that is nearly as large leaves no time for anything else.
func goLimit() []supply {
	most := debug.SetMemoryLimit(-1)
	if most == math.MaxInt64 || most == ours.Load() {
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
