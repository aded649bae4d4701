package checker

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/windows"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Stream judges a history while it is recorded, each lock by itself, in windows: its memory does not grow with the
// history. Locks that groups are made of are judged together, at the end, and kept until then. A window ends where nobody
// calls the lock, holds it, or may yet do either: what comes then cannot depend on what was, except that tokens go on
// rising. So windows together say what the whole would say, as long as they are short enough; see [Stream.Crowded].
//
// Records are added in the order in which they became known, as a recorder's sink gets them: an
// operation at its call, and again whenever more is known of it. It is safe for concurrent use.
type Stream struct {
	header  history.Header
	options Options
	windows *windows.Cutter
	work    chan windows.Window
	judging sync.WaitGroup
	sum     tally
}

// windowOps is how many operations a window has, unless it cannot end then. Judging costs the less
// an operation the longer a window is, and the more memory.
const windowOps = 256

// NewStream begins to judge a history with that header.
func NewStream(h history.Header, o Options) *Stream {
	return newStream(h, o, windowOps)
}

func newStream(h history.Header, o Options, least int) *Stream {
	h.Version = history.Version
	o.Sparing = true
	s := &Stream{header: h, options: o.withDefaults(&history.History{Header: h}), work: make(chan windows.Window, 16)}
	s.windows = windows.New(h, least, func(w windows.Window) { s.work <- w })
	s.sum.results, s.sum.locks = map[contract.Guarantee]*tallied{}, map[string]bool{}
	s.judging.Go(func() {
		for w := range s.work {
			s.sum.judge(w, s.options)
		}
	})
	return s
}

// Add takes one record: an Op, Event or Fault; of others it takes no notice. A fault may be added
// when it begins, and again with the same Index, and its end, when it is over; one that strikes a
// lock must be. It waits when windows end faster than they are judged.
func (s *Stream) Add(record any) { s.windows.Add(record) }

// Crowded reports whether a lock's window has grown so long that owners that do not hold the lock
// should leave it alone for a moment, so that the window can end. Without that, a lock that is
// always in use is judged as a whole, and kept in memory until the end.
func (s *Stream) Crowded(lock string) bool { return s.windows.Crowded(lock) }

// Judged is how many operations have been judged, and how many windows.
func (s *Stream) Judged() (ops, windows int) { return s.sum.judged() }

// Close judges what is left, and returns the verdict on the whole. What its faults break for every
// lease lock is expected to be broken; the verdict's expectations say so. Nothing may be added
// afterwards.
func (s *Stream) Close(ctx context.Context, end history.End) *Verdict { return s.finish(&end, end.At) }

// finish judges what is left of a run that lasted until at; without an end it was killed.
func (s *Stream) finish(end *history.End, at time.Duration) *Verdict {
	s.windows.Close(end)
	close(s.work)
	s.judging.Wait()
	if end == nil {
		end = &history.End{At: at}
	}
	return s.sum.verdict(s.header, *end)
}

// Broken is the window that has most to tell, with its verdict, and of several the first; nil: there is none. A window that
// accuses the lock comes first, then one of which no checker came to an answer, then one that faults excuse.
// It is known after Close.
func (s *Stream) Broken() (*history.History, *Verdict) { return s.sum.h, s.sum.v }

// JudgeInWindows judges a history as a [Stream] did, or would have, while it was recorded: with the same
// verdict, and what faults excuse excused. part is the window in which something broke, and window the
// verdict on it, as of [Stream.Broken].
func JudgeInWindows(ctx context.Context, h *history.History, o Options) (v *Verdict, part *history.History, window *Verdict) {
	s := NewStream(h.Header, o)
	s.windows.Replay(ctx, h)
	v = s.finish(h.End, h.Over())
	part, window = s.Broken()
	return v, part, window
}
