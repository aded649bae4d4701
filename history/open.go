package history

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

// Open reads the history in a file, in whatever format [LoadAny] knows; "-" is standard input.
func Open(path string) (*History, error) { return Limit(0).Open(context.Background(), path) }

// Open is the function [Open] within the limit.
func (n Limit) Open(ctx context.Context, path string) (*History, error) {
	if path == "-" {
		return n.LoadAny(ctx, os.Stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := n.LoadAny(ctx, f)
	if err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// LoadAny reads a history and finds out its format by its beginning: our JSONL ([Load]), which
// begins with a header, or a Jepsen history in EDN ([LoadEDN]). Errors are as of those; for
// [ErrTruncated] there is a history too.
func LoadAny(r io.Reader) (*History, error) { return Limit(0).LoadAny(context.Background(), r) }

// LoadAny is the function [LoadAny] within the limit.
func (n Limit) LoadAny(ctx context.Context, r io.Reader) (*History, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	begin, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	begin = bytes.TrimLeft(begin, " \t\r\n,")
	if bytes.HasPrefix(begin, []byte(`{"`)) || len(begin) == 0 {
		if rewound, err := n.refuse(ctx, r); err != nil {
			return nil, err
		} else if rewound {
			in.Reset(r)
		}
		return n.Load(ctx, in)
	}
	if bytes.ContainsAny(begin[:1], "{[(#;") {
		return n.LoadEDN(ctx, in)
	}
	return nil, &LineError{1, `neither JSONL (which begins with {"record":"header"}) nor EDN (which begins with {: or [)`}
}
