package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// namedMost is how many characters all names that there are may have to be told. Others are told by a command.
const namedMost = 400

// likeMost is how many names are told that are like what was asked for.
const likeMost = 3

// namedBy are the commands that tell the names of what there is much of.
var namedBy = map[string]string{"scenario": "simrun list", "subject": "simrun list", "broken lock": "simrun mutants -list",
	"mistake in the source": "simrun mutants -source -list"}

// unknown says that there is no such name, and which one was probably meant.
func unknown(what, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q: there are none", what, name)
	}
	if meant, ok := near(name, known); ok {
		return fmt.Errorf("unknown %s %q: did you mean %s?", what, name, meant)
	}
	return fmt.Errorf("unknown %s %q: %s", what, name, thoseThere(what, known))
}

// unknownVerb is [unknown] of a command. Others are called by a word for what simrun does without one.
func unknownVerb(name string) error {
	if slices.Contains([]string{"run", "test", "start"}, name) {
		return fmt.Errorf("unknown command %q: a run needs none: simrun -scenario NAME, or -plan FILE", name)
	}
	return unknown("command", name, verbNames())
}

// fitsNone says that no name fits a pattern, and which are like it.
func fitsNone(what, pattern string, known []string) error {
	if like := alike(pattern, known); len(like) > 0 {
		more := ""
		if n := len(like) - likeMost; n > 0 {
			like, more = like[:likeMost], fmt.Sprintf(" and %d more", n)
		}
		return fmt.Errorf("no %s fits %q: did you mean %s%s?", what, pattern, strings.Join(like, ", "), more)
	}
	return fmt.Errorf("no %s fits %q: %s", what, pattern, thoseThere(what, known))
}

// thoseThere tells the names there are, or how they are told where they are many.
func thoseThere(what string, known []string) string {
	all := strings.Join(known, ", ")
	if by, ok := namedBy[what]; ok && len(all) > namedMost {
		return fmt.Sprintf("none of %d is like it; %s names them all", len(known), by)
	}
	return "there are " + all
}

// near is the name that was probably meant: one a few letters away, or else one of which it is a part.
func near(name string, known []string) (meant string, ok bool) {
	least := 0
	for _, k := range known {
		if d := misspelt(name, k); d > 0 && (!ok || d < least) {
			meant, least, ok = k, d, true
		}
	}
	if !ok && len(name) > 2 {
		i := slices.IndexFunc(known, func(k string) bool { return strings.Contains(k, name) })
		if i >= 0 {
			return known[i], true
		}
	}
	return meant, ok
}

// misspelt is how many letters a word is away from another that was probably meant; 0: it was not. One letter in three may be wrong:
// of three letters one says little.
func misspelt(word, meant string) int {
	d := levenshtein.ComputeDistance(word, meant)
	if d == 2 && inOrder(word) == inOrder(meant) {
		d = 1 // two of them have changed places
	}
	if d > max(1, min(len(word), len(meant))/3) {
		return 0
	}
	return d
}

// inOrder are the letters of a word in their order in the alphabet.
func inOrder(word string) string {
	r := []rune(word)
	slices.Sort(r)
	return string(r)
}

// alike are the names that have a word of a pattern, or one that was probably meant by it.
func alike(pattern string, known []string) (like []string) {
	cut := func(r rune) bool { return strings.ContainsRune("-*?[]^", r) }
	asked := strings.FieldsFunc(pattern, cut)
	for _, k := range known {
		if slices.ContainsFunc(strings.FieldsFunc(k, cut), func(w string) bool {
			return slices.ContainsFunc(asked, func(a string) bool {
				return len(a) > 2 && (strings.HasPrefix(w, a) || misspelt(a, w) > 0)
			})
		}) {
			like = append(like, k)
		}
	}
	return like
}
