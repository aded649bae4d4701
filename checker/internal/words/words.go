// Package words turns what a history says into words for people: times, numbers, faults.
//
// It must not know what they mean for a verdict.
package words

import (
	"fmt"
	"time"
)

// Stamp writes a time of the run the way people read it: "30.412 s".
func Stamp(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// Count is a number of something, in the singular or the plural.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
