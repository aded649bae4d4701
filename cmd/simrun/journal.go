package main

import (
	"os"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// journal writes a long history as it is recorded, many records at once. What a killed run leaves is
// a beginning of the records, in their order; the last may be cut off.
type journal struct {
	file *os.File

	mu  sync.Mutex
	buf []byte
	got uint64 // bytes that were written
	err error  // the first

	stop, stopped chan struct{}
}

const (
	journalBuffer = 64 << 10
	journalEvery  = 100 * time.Millisecond
)

func newJournal(path string) (*journal, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, stop: make(chan struct{}), stopped: make(chan struct{})}
	go j.tick()
	return j, nil
}

// record adds one record.
func (j *journal) record(r any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.buf, err = history.Append(j.buf, r); err != nil && j.err == nil {
		j.err = err
	}
	if len(j.buf) >= journalBuffer {
		j.flush()
	}
}

func (j *journal) flush() {
	n, err := j.file.Write(j.buf)
	if j.got += uint64(n); err != nil && j.err == nil {
		j.err = cause(err)
	}
	j.buf = j.buf[:0]
}

// size is how long the file is.
func (j *journal) size() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.got
}

// failed is what befell the journal, or nil.
func (j *journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := os.Stat(j.file.Name()); err != nil && j.err == nil {
		j.err = cause(err) // it was removed, and what is written to it is lost
	}
	return j.err
}

func (j *journal) tick() {
	defer close(j.stopped)
	t := time.NewTicker(journalEvery)
	defer t.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-t.C:
			j.mu.Lock()
			j.flush()
			j.mu.Unlock()
		}
	}
}

// close writes what is left.
func (j *journal) close() error {
	close(j.stop)
	<-j.stopped
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flush()
	if err := j.file.Close(); j.err == nil {
		j.err = cause(err)
	}
	return j.err
}
