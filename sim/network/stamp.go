package network

import (
	"strconv"
	"strings"
)

// A client can stamp a command: it adds an argument, as tracing libraries add a header. The network
// takes it off when it reads the command, so that no server, fault or trace ever sees it. It is the only
// exact way to know on whose behalf a client has written: a connection serves one call after the
// other, and two calls can say the same.

const stampMark = "\x00holdfast stamp\x00"

// Stamp returns the argument that stamps a command with text, to be its last. See [Message].
func Stamp(text string) string { return stampMark + text }

// unstamp takes the stamp off a command whose arguments are args and whose bytes are b, which it
// overwrites. Without a stamp it returns what it was given.
func unstamp(args []string, b []byte) (stamp string, bare []string, data []byte) {
	last := len(args) - 1
	if last < 0 || !strings.HasPrefix(args[last], stampMark) {
		return "", args, b
	}
	size := len(args[last])
	end := len(b) - len("$\r\n\r\n") - len(strconv.Itoa(size)) - size
	_, at, _ := header(b, 0, '*', mostElements)
	head := "*" + strconv.Itoa(last) + "\r\n"
	begin := at - len(head) // one argument less is written with as many digits, or fewer
	copy(b[begin:], head)
	return args[last][len(stampMark):], args[:last:last], b[begin:end:end]
}
