package network

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of what clients and servers may send. Redis has the same of commands, but for the length of an argument.
const (
	mostBytes    = 64 << 20 // of an argument, or of a reply
	mostElements = 1 << 20  // of an array, with those in it
	mostInline   = 64 << 10 // bytes of a command without an array
	mostNested   = 32       // arrays within arrays that are shown
)

// malformed is a command that every server refuses, closing the connection. It stands for what a client sends that is
// none: its length could be anything.
const malformed = "*1\r\n?\r\n"

// parseCommand reads one RESP command, an array of bulk strings or a line of words, from the beginning of b. It
// returns its arguments and its length, or a length of 0 if it is not complete; ok is false if it will never be.
// A command may have no arguments: servers take no notice of it.
func parseCommand(b []byte) (args []string, size int, ok bool) {
	if len(b) > 0 && b[0] != '*' {
		line, _, whole := bytes.Cut(b[:min(len(b), mostInline)], []byte("\n"))
		if !whole {
			return nil, 0, len(b) < mostInline
		}
		return strings.Fields(string(line)), len(line) + 1, true
	}
	n, at, ok := header(b, 0, '*', mostElements)
	if at == 0 || !ok {
		return nil, 0, ok
	}
	for range n {
		length, next, ok := header(b, at, '$', mostBytes)
		switch {
		case !ok, next > 0 && length < 0:
			return nil, 0, false
		case next == 0 || next+length+2 > len(b):
			return nil, 0, next < mostBytes
		}
		args = append(args, string(b[next:next+length]))
		at = next + length + 2
	}
	return args, at, true
}

// inArray is a command as an array of bulk strings.
func inArray(args []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// header reads a line of a type byte and a number of at most most at b[at:]. It returns the number and what
// follows the line, or 0 if the line is not there yet; ok is false if there is another.
func header(b []byte, at int, kind byte, most int) (n, next int, ok bool) {
	if at >= len(b) {
		return 0, 0, true
	}
	if b[at] != kind {
		return 0, 0, false
	}
	line, _, whole := bytes.Cut(b[at+1:min(len(b), at+32)], []byte("\r\n"))
	if !whole {
		return 0, 0, len(b) < at+32
	}
	n, err := strconv.Atoi(string(line))
	return n, at + 1 + len(line) + 2, err == nil && n <= most
}

// ReplyText renders a reply for people: "nil", "1", "OK", "ERR ...", "[1 0]". It is forgiving:
// what it does not understand is left out.
func ReplyText(b []byte) string {
	text, _ := replyText(b, mostNested)
	return text
}

func replyText(b []byte, depth int) (text string, rest []byte) {
	if depth == 0 {
		return "…", nil
	}
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return "", nil
	}
	body := string(line[1:])
	n, err := strconv.Atoi(body)
	switch line[0] {
	case '_':
		return "nil", rest
	case '$':
		if err != nil || n < 0 || n > len(rest) {
			return "nil", rest
		}
		return string(rest[:n]), bytes.TrimPrefix(rest[n:], []byte("\r\n"))
	case '*', '>', '~', '%':
		if err != nil || n < 0 {
			return "nil", rest
		}
		if line[0] == '%' {
			n *= 2
		}
		var parts []string
		for range min(n, 1000) {
			var part string
			part, rest = replyText(rest, depth-1)
			parts = append(parts, part)
		}
		return "[" + strings.Join(parts, " ") + "]", rest
	}
	return body, rest
}

// Published returns the channel of a message that the server sends to a subscriber, or "".
func Published(b []byte) string {
	if len(b) == 0 || b[0] != '*' && b[0] != '>' {
		return ""
	}
	kind, rest, ok := element(b)
	if !ok || kind != "message" && kind != "smessage" {
		return ""
	}
	channel, _, _ := element(append([]byte("*1\r\n"), rest...))
	return channel
}

// element returns the first element of an array of bulk strings, and what follows it.
func element(b []byte) (text string, rest []byte, ok bool) {
	_, b, _ = bytes.Cut(b, []byte("\r\n"))
	n, next, ok := header(b, 0, '$', mostBytes)
	if !ok || n < 0 || next == 0 || next+n > len(b) {
		return "", nil, false
	}
	return string(b[next : next+n]), bytes.TrimPrefix(b[next+n:], []byte("\r\n")), true
}

// Replies finds the ends of replies in what a server sends. It knows RESP2 and RESP3. The zero value is at the
// beginning of a reply.
type Replies struct {
	at, elements int // of the reply that is not complete: how far it is known, and how many elements follow
	within       bool
}

// Next returns the length of the first whole reply at the beginning of b, or 0 if it is not complete: then b must
// begin with the same bytes the next time. It returns -1 if it is none, or too long: what follows is of no use.
func (r *Replies) Next(b []byte) int {
	if !r.within {
		*r = Replies{elements: 1, within: true}
	}
	for r.elements > 0 {
		if r.at > mostBytes || r.elements > mostElements {
			return -1
		}
		if r.at >= len(b) {
			return 0
		}
		line, _, whole := bytes.Cut(b[r.at:min(len(b), r.at+mostInline)], []byte("\r\n"))
		if !whole && len(b) >= r.at+mostInline || whole && len(line) == 0 {
			return -1
		}
		if !whole {
			return 0
		}
		kind, next := line[0], r.at+len(line)+2
		n, err := strconv.Atoi(string(line[1:]))
		if err != nil {
			n = 0 // a line of text
		}
		if !strings.ContainsRune("$=!*~>%|", rune(kind)) {
			n = 0
		}
		if n > mostBytes {
			return -1
		}
		elements := max(n, 0) // fewer is nil
		switch kind {
		case '$', '=', '!':
			if elements = 0; n >= 0 && err == nil {
				next += n + 2
			}
		case '%':
			elements *= 2
		case '|': // attributes come before what they describe
			elements = 2*elements + 1
		}
		if next > len(b) {
			return 0
		}
		r.at, r.elements = next, r.elements-1+elements
	}
	r.within = false
	return r.at
}
