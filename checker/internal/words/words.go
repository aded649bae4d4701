// Package words turns what a history says into words for people: times, numbers, faults.
//
// It must not know what they mean for a verdict.
package words

import (
	"fmt"
	"strconv"
	"time"
)

// Stamp writes a time of the run the way people read it: "30.412 s".
func Stamp(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// Count is a number of something, in the singular or the plural.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

// Thousands writes a number so that a long one can be read at a glance: "12,345".
func Thousands[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
