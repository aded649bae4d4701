// Package formats reads the histories that others have written. It is a package of its own, so that whoever only
// makes histories does not depend on the libraries that read them.
//
// To add a format: copy edn.go, and tell it by its beginning in [LoadAny].
package formats

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-sim/holdfast/history"
)

// Open reads the history in a file, in whatever format [LoadAny] knows; "-" is standard input.
func Open(ctx context.Context, path string, limit history.Limit) (*history.History, error) {
	if path == "-" {
		return LoadAny(ctx, os.Stdin, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := LoadAny(ctx, f, limit)
	if err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// LoadAny reads a history and finds out its format by its beginning: our JSONL ([history.Load]), which
// begins with a header, or a Jepsen history in EDN ([LoadEDN]). Errors are as of those; for
// [history.ErrTruncated] there is a history too.
func LoadAny(ctx context.Context, r io.Reader, limit history.Limit) (*history.History, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	begin, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	begin = bytes.TrimLeft(begin, " \t\r\n,")
	if bytes.HasPrefix(begin, []byte(`{"`)) || len(begin) == 0 {
		if rewound, err := limit.Refuse(ctx, r); err != nil {
			return nil, err
		} else if rewound {
			in.Reset(r)
		}
		return limit.Load(ctx, in)
	}
	if bytes.ContainsAny(begin[:1], "{[(#;") {
		return LoadEDN(ctx, in, limit)
	}
	return nil, &history.LineError{Line: 1, What: `neither JSONL (which begins with {"record":"header"}) nor EDN (which begins with {: or [)`}
}
