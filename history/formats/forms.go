package formats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// forms cuts a stream of EDN into its top-level forms, so that a history of any length is read
// one record at a time. A vector or list around the whole is looked through.
type forms struct {
	in    *bufio.Reader
	line  int
	outer byte // what closes the vector around the whole; 0: there is none
	begun bool
}

func newForms(r io.Reader) *forms { return &forms{in: bufio.NewReaderSize(r, 1<<16), line: 1} }

// next returns the next form and the line on which it begins; [io.EOF] after the last.
func (f *forms) next() (form []byte, line int, err error) {
	for {
		c, err := f.skip()
		if err != nil {
			if errors.Is(err, io.EOF) && f.outer != 0 {
				return nil, f.line, fmt.Errorf("the file ends before its %q", f.outer)
			}
			return nil, f.line, err
		}
		switch {
		case !f.begun && (c == '[' || c == '('):
			f.outer, f.begun = closer(c), true
			continue
		case f.outer != 0 && c == f.outer:
			f.outer = 0
			continue
		}
		f.begun = true
		line = f.line
		form, err = f.take(c)
		if errors.Is(err, io.EOF) {
			err = errors.New("the file ends within a record")
		}
		return form, line, err
	}
}

// skip returns the first byte that is neither space nor comment.
func (f *forms) skip() (byte, error) {
	for {
		c, err := f.in.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c == '\n':
			f.line++
		case c == ' ' || c == '\t' || c == '\r' || c == ',':
		case c == ';':
			for c != '\n' && err == nil {
				c, err = f.in.ReadByte()
			}
			f.line++
		default:
			return c, nil
		}
	}
}

// take reads the form that begins with c: to the bracket that closes it.
func (f *forms) take(c byte) ([]byte, error) {
	form := []byte{c}
	if c != '{' && c != '#' {
		return nil, fmt.Errorf("%q begins no record; a record is a map", c)
	}
	depth, tags, quoted, escaped := 0, 0, false, false
	for first := true; ; first = false {
		if !first {
			var err error
			if c, err = f.in.ReadByte(); err != nil {
				return nil, err
			}
			if form = append(form, c); len(form) > maxForm {
				return nil, fmt.Errorf("a record longer than %d MiB; this is no history", maxForm>>20)
			}
		}
		if c == '\n' {
			f.line++
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';': // a comment, which may have brackets and quotes in it
			form = form[:len(form)-1]
			for c != '\n' {
				var err error
				if c, err = f.in.ReadByte(); err != nil {
					return nil, err
				}
			}
			f.line++
			form = append(form, '\n')
		case c == '#':
			if tags++; tags > maxNested {
				return nil, fmt.Errorf("a record with more than %d tags and sets; this is no history", maxNested)
			}
		case c == '{' || c == '[' || c == '(':
			if depth++; depth > maxNested {
				return nil, fmt.Errorf("brackets nested deeper than %d; this is no history", maxNested)
			}
		case c == '}' || c == ']' || c == ')':
			if depth--; depth <= 0 {
				return form, nil
			}
		}
	}
}

// Bounds of a record, which is read by recursion, with a tag within a tag being deep as well.
const (
	maxForm   = 1 << 20
	maxNested = 100
)

func closer(c byte) byte {
	if c == '[' {
		return ']'
	}
	return ')'
}
