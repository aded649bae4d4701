package network

import (
	"bytes"
	"strconv"
	"strings"
)

// parseCommand reads one RESP command, an array of bulk strings, from the beginning of b. It
// returns its arguments and its length, or a length of 0 if it is not complete.
func parseCommand(b []byte) (args []string, size int) {
	n, at := header(b, 0, '*')
	if at == 0 {
		return nil, 0
	}
	args = make([]string, 0, n)
	for range n {
		length, next := header(b, at, '$')
		if next == 0 || next+length+2 > len(b) {
			return nil, 0
		}
		args = append(args, string(b[next:next+length]))
		at = next + length + 2
	}
	return args, at
}

// header reads a line of a type byte and a number at b[at:]; it returns the number and what
// follows the line, or 0 if the line is not there.
func header(b []byte, at int, kind byte) (n, next int) {
	if at >= len(b) || b[at] != kind {
		return 0, 0
	}
	end := bytes.Index(b[at:], []byte("\r\n"))
	if end < 0 {
		return 0, 0
	}
	n, err := strconv.Atoi(string(b[at+1 : at+end]))
	if err != nil || n < 0 {
		return 0, 0
	}
	return n, at + end + 2
}

// ReplyText renders a reply for people: "nil", "1", "OK", "ERR ...", "[1 0]". It is forgiving:
// what it does not understand is left out.
func ReplyText(b []byte) string {
	text, _ := replyText(b)
	return text
}

func replyText(b []byte) (text string, rest []byte) {
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
			part, rest = replyText(rest)
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
	n, next := header(b, 0, '$')
	if next == 0 || next+n > len(b) {
		return "", nil, false
	}
	return string(b[next : next+n]), bytes.TrimPrefix(b[next+n:], []byte("\r\n")), true
}

// ReplySize returns the length of the first whole reply at the beginning of b, or 0 if it is not
// complete. It knows RESP2 and RESP3.
func ReplySize(b []byte) int {
	at, elements := 0, 1
	for elements > 0 {
		end := bytes.Index(b[at:], []byte("\r\n"))
		if end < 1 {
			return 0
		}
		kind := b[at]
		n, err := strconv.Atoi(string(b[at+1 : at+end]))
		if at += end + 2; err != nil || n < 0 {
			n = 0 // a line of text, or nil
		} else if kind == '$' || kind == '=' || kind == '!' {
			if at += n + 2; at > len(b) {
				return 0
			}
		}
		elements--
		switch kind {
		case '*', '~', '>':
			elements += n
		case '%':
			elements += 2 * n
		case '|': // attributes come before what they describe
			elements += 2*n + 1
		}
	}
	return at
}
