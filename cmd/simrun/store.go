package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-sim/holdfast/history"
)

// folder is where one run leaves what it leaves. The zero value keeps nothing.
type folder struct {
	dir     string
	history *os.File
	served  *os.File // the server log
	err     error    // the first that befell the two
}

// newFolder makes OUT/<name>/<UTC time>-<seed>. It returns the zero folder for "none".
func newFolder(out, name string, seed uint64) (*folder, error) {
	f, err := makeFolder(out, name, seed)
	if err == nil && f.dir != "" {
		var other error
		f.history, err = os.Create(filepath.Join(f.dir, historyFile))
		f.served, other = os.Create(filepath.Join(f.dir, serverFile))
		err = errors.Join(err, other)
	}
	return f, err
}

// makeFolder is newFolder for what is no run.
func makeFolder(out, name string, seed uint64) (*folder, error) {
	if out == nowhere {
		return &folder{}, nil
	}
	parent := filepath.Join(out, name)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405Z"), seed)
	for n := 1; ; n++ {
		dir := filepath.Join(parent, base)
		if n > 1 {
			dir += fmt.Sprintf("-%d", n)
		}
		switch err := os.Mkdir(dir, 0o777); {
		case errors.Is(err, fs.ErrExist):
			continue // another run within the second
		case err != nil:
			return nil, err
		}
		return &folder{dir: dir}, nil
	}
}

// record writes one record as it becomes known, so that a run that is killed leaves its history and its server log up
// to then, in whole lines. The end, which says that nothing is missing, is for close to write.
func (f *folder) record(r any) {
	_, end := r.(history.End)
	if f.history == nil || f.err != nil || end {
		return
	}
	to := f.history
	if _, served := r.(history.Served); served {
		to = f.served
	}
	f.err = history.Encode(to, r)
}

// close writes the server log and the history anew, with what was concluded from them, and the history with its end.
func (f *folder) close(h *history.History) error {
	if f.history == nil {
		return nil
	}
	err := errors.Join(f.err, f.history.Close(), f.served.Close())
	if h != nil {
		var b, log bytes.Buffer
		err = errors.Join(err, history.SaveServed(&log, h), f.write(serverFile, log.Bytes()), history.Save(&b, h))
		if err == nil {
			err = f.write(historyFile, b.Bytes())
		}
	}
	return err
}

// write writes a file whole or not at all.
func (f *folder) write(name string, content []byte) error {
	if f.dir == "" {
		return nil
	}
	temporary := filepath.Join(f.dir, "."+name)
	err := os.WriteFile(temporary, content, 0o666)
	if err == nil {
		err = os.Rename(temporary, filepath.Join(f.dir, name))
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

// writeFile writes a file that the user named. A pipe from which nobody reads is an error: else it would be waited for.
func writeFile(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// waited does what may wait for somebody else, as for who is to write to a pipe, until it is done or ctx ends.
func waited[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type done struct {
		value T
		err   error
	}
	result := make(chan done, 1)
	go func() {
		value, err := do()
		result <- done{value, err}
	}()
	select {
	case d := <-result:
		return d.value, d.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// latest points "latest", beside the run's folder, to it, where there are such links.
func (f *folder) latest() error {
	if f.dir == "" {
		return nil
	}
	return point(f.dir)
}
