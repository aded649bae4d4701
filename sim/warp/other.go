//go:build !linux

package warp

import (
	"errors"
	"io"
	"time"
)

// There is a library for Linux only. Elsewhere nothing can be made.

var errNone = errors.New("it needs Linux")

type (
	Coordinator struct{}
	Process     struct{}
	Stream      struct{}
)

func New(time.Time, func() time.Time) (*Coordinator, error)       { return nil, errNone }
func (*Coordinator) Dial(*Process, string) (*Stream, error)       { return nil, errNone }
func (*Coordinator) Folder() string                               { return "" }
func (*Coordinator) Close()                                       {}
func (*Coordinator) Wake()                                        {}
func (*Coordinator) Listen(func(*Stream)) (int, error)            { return 0, errNone }
func (*Coordinator) Start([]string) (*Process, error)             { return nil, errNone }
func (*Coordinator) Rest(func()) (did bool, n time.Time, e error) { return false, n, errNone }

func (*Process) In() io.WriteCloser      { return nil }
func (*Process) Out() io.ReadCloser      { return nil }
func (*Process) Err() io.ReadCloser      { return nil }
func (*Process) Exited() <-chan struct{} { return nil }
func (*Process) Ending() string          { return "" }
func (*Process) Kill(func())             {}
func (*Process) Pause() error            { return errNone }
func (*Process) Overdue() int            { return 0 }
func (*Process) JumpClock(time.Duration) {}
func (*Process) Resume() error           { return errNone }

func (*Stream) Filled() bool              { return true }
func (*Stream) Read([]byte) (int, error)  { return 0, io.EOF }
func (*Stream) Write([]byte) (int, error) { return 0, errNone }
func (*Stream) Close() error              { return nil }
