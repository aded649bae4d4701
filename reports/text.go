package reports

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-sim/holdfast/checker"
)

// Visible makes a text from outside harmless and honest: whatever is not a printable character or
// a plain space (control characters, escape sequences, marks that turn the direction of writing,
// invisible spaces, broken UTF-8) is shown as its Go escape.
func Visible(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += size
	}
	return b.String()
}

// isPlain reports whether s is printable ASCII, as nearly every text is.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// flat is [Visible] for a text that tells something, which may quote an error of several lines: each line is a part of one sentence.
func flat(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return Visible(s)
	}
	var parts []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")); line != "" {
			parts = append(parts, line)
		}
	}
	return Visible(strings.Join(parts, "; "))
}

// VisibleLines is [Visible] for a text of several lines, whose line ends are meant.
func VisibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Visible(l)
	}
	return strings.Join(lines, "\n")
}

// shorten cuts the middle out of a text that is longer than n characters: both ends of a name
// tell more than its beginning alone.
func shorten(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head := (n - 1) * 2 / 3
	tail := n - 1 - head
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}

// name is how a lock's, an owner's or a client's name is shown.
func name(s string) string { return shorten(Visible(s), 40) }

// wrap breaks a text into lines of at most width characters, at spaces; a word that is too long
// is cut.
func wrap(s string, width int) []string {
	width = max(width, 10)
	var lines []string
	line := ""
	for _, word := range words(s) {
		for utf8.RuneCountInString(word) > width {
			r := []rune(word)
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, string(r[:width])), string(r[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words splits a text at spaces, but leaves "30.410 s" together.
func words(s string) []string {
	var ws []string
	for _, w := range strings.Fields(s) {
		n := len(ws)
		unit := strings.TrimRight(w, ".,;:)")
		if n > 0 && (unit == "s" || unit == "ms" || unit == "µs") && strings.ContainsAny(ws[n-1][len(ws[n-1])-1:], "0123456789") {
			ws[n-1] += " " + w
			continue
		}
		ws = append(ws, w)
	}
	return ws
}

// unbroken keeps numbers and their units on one line of a page.
func unbroken(s string) string {
	ws := words(s)
	for i := range ws {
		ws[i] = strings.ReplaceAll(ws[i], " ", "\u00a0")
	}
	return strings.Join(ws, " ")
}

// list joins words the way a sentence does: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands writes a number with its thousands set apart, as in 12,345.
func Thousands(n int) string { return checker.Thousands(n) }

// length writes how long something took, in the unit that suits it: "14.982 s", "3.200 ms".
func length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + length(-d)
	case d == 0 || d >= 100*time.Millisecond:
		return checker.Stamp(d)
	case d >= 100*time.Microsecond:
		return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.3f µs", float64(d)/float64(time.Microsecond))
	}
}
