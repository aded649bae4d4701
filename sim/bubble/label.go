package bubble

import (
	"context"
	"runtime/pprof"
	"unsafe"
)

// Label is what a goroutine has from [Enter]; each goroutine that it starts from then on has it, too, and those that they start.
// It is a profiler's label of which only the identity counts. It needs no context, and so it reaches what a library does under one of its
// own. The zero Label is that of a goroutine without one, such as one that a timer starts.
type Label struct{ labels unsafe.Pointer }

// Enter gives the calling goroutine a label that no other has had, and returns it.
func Enter() Label {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("holdfast", "call")))
	return Labelled()
}

// Labelled is the label of the calling goroutine.
func Labelled() Label { return Label{profLabels()} }

// profLabels is what package runtime keeps for profilers. Go promises that it stays, since others use it so.
//
//go:linkname profLabels runtime/pprof.runtime_getProfLabel
func profLabels() unsafe.Pointer
