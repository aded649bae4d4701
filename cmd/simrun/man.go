package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
)

func manFlags(json *bool) *flag.FlagSet {
	f := newFlags("man")
	jsonFlag(f, json, "the names of the files that are written")
	return f
}

// manCommand is simrun man. It writes the table of commands as pages for man. Package cobra/doc would write flags with
// two dashes, and needs two more modules.
func manCommand(_ context.Context, args []string, stdout, stderr io.Writer) int {
	var json bool
	f := manFlags(&json)
	dirs, err := parseMixed(f, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "man")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "man: %v", flagError(f, err))
	case len(dirs) != 1 || dirs[0] == "":
		return fail(stderr, checker.ExitUsage, "man: say which folder: simrun man DIR")
	}
	store := &folder{dir: dirs[0]}
	if err := os.MkdirAll(store.dir, 0o777); err != nil {
		return fail(stderr, blame(err), "man: %s: %v", dirs[0], cause(err))
	}
	var pages written
	for _, v := range verbs() {
		file := filepath.Join(dirs[0], v.page()+".1")
		if err := store.write(filepath.Base(file), v.man()); err != nil {
			return fail(stderr, blame(err), "man: %s: %v", file, cause(err))
		}
		pages.Files = append(pages.Files, file)
	}
	if json {
		return printJSON(stdout, stderr, pages)
	}
	say(stdout, "%d pages are written: man %s\n", len(verbs()), quoted(filepath.Join(dirs[0], "simrun.1")))
	return checker.ExitExpected
}

// page is the name of a command's page.
func (v verb) page() string { return strings.TrimSuffix("simrun-"+v.name, "-") }

// man is a command's page, in the macros of man(7).
func (v verb) man() []byte {
	var b bytes.Buffer
	macro := func(name string, args ...string) {
		b.WriteString("." + name)
		for _, a := range args {
			b.WriteString(` "` + strings.ReplaceAll(roff(a), `"`, `\(dq`) + `"`)
		}
		b.WriteString("\n")
	}
	text := func(s string) { b.WriteString(roff(s) + "\n") }
	macro("TH", strings.ToUpper(v.page()), "1", "", "Holdfast", "")
	b.WriteString(".nh\n.ad l\n") // names of flags and files are neither broken nor spread
	macro("SH", "NAME")
	text(v.page() + " - " + v.about)
	macro("SH", "SYNOPSIS")
	text(v.line())
	if v.flags != nil {
		macro("SH", "OPTIONS")
		v.flags().VisitAll(func(f *flag.Flag) {
			name, about := flagText(f)
			macro("TP")
			macro("B", name)
			text(about)
		})
	}
	if v.more != nil {
		var more bytes.Buffer
		v.more(&more)
		macro("SH", "NOTES")
		macro("nf") // its lines are laid out already
		for line := range strings.Lines(strings.Trim(more.String(), "\n")) {
			text(strings.TrimSuffix(line, "\n"))
		}
		macro("fi")
	}
	for i, e := range v.examples {
		if i == 0 {
			macro("SH", "EXAMPLES")
		}
		macro("TP")
		macro("B", "simrun "+e.line)
		text(e.does)
	}
	macro("SH", "EXIT STATUS")
	for _, c := range v.codes() {
		macro("TP")
		macro("B", fmt.Sprint(c.code))
		text(c.means)
	}
	macro("SH", "SEE ALSO")
	var others []string
	for _, o := range verbs() {
		if o.name != v.name {
			others = append(others, o.page()+"(1)")
		}
	}
	text(strings.Join(others, ", "))
	return b.Bytes()
}

// asRoff spells what means something to troff, and what it would print as a nicer character that no shell reads.
var asRoff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "~", `\(ti`, "^", `\(ha`)

// roff is a line of text as troff reads it. A line that begins with a dot would be a macro.
func roff(text string) string {
	text = asRoff.Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
