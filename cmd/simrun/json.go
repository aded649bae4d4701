package main

import (
	"encoding/json"
	"flag"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

// What commands print with -json. docs/json.md says the same in words; a test holds both together.

// jsonFlag adds -json, for a command that prints what the text says.
func jsonFlag(f *flag.FlagSet, set *bool, what string) {
	f.BoolVar(set, "json", false, what+" on standard output, as JSON")
}

// printJSON prints what a command found, indented, with a line's end.
func printJSON(stdout, stderr io.Writer, found any) int {
	text, err := json.MarshalIndent(found, "", "  ")
	return printed(stdout, stderr, text, err)
}

// printJSONLine prints what a command found in one line, as one of several.
func printJSONLine(stdout, stderr io.Writer, found any) int {
	text, err := json.Marshal(found)
	return printed(stdout, stderr, text, err)
}

func printed(stdout, stderr io.Writer, text []byte, err error) int {
	if err != nil {
		return fail(stderr, checker.ExitHarness, "%v", err)
	}
	say(stdout, "%s\n", reports.VisibleJSON(text))
	return checker.ExitExpected
}

// forPeople is where a command tells people something: nowhere, if standard output is for machines.
func forPeople(stdout io.Writer, machines bool) io.Writer {
	if machines {
		return io.Discard
	}
	return stdout
}

// written is what commands print with -json that write files.
type written struct {
	Files []string `json:"files"`
}

// serving is what simrun serve -json prints once it listens.
type serving struct {
	URL    string `json:"url"`
	Folder string `json:"folder"`
}

// completing is what simrun completion -json prints.
type completing struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// helping is what simrun help -json prints.
type helping struct {
	Commands []tabledVerb `json:"commands"`
}

// tabledVerb is a command as the table has it.
type tabledVerb struct {
	Name     string          `json:"name"` // "": no word is said for it
	Usage    string          `json:"usage"`
	About    string          `json:"about"`
	Flags    []tabledFlag    `json:"flags"`
	Examples []tabledExample `json:"examples"`
	Codes    []tabledCode    `json:"codes"`
}

type tabledFlag struct {
	Name    string `json:"name"`
	Value   string `json:"value,omitzero"` // what it takes; "": nothing
	About   string `json:"about"`
	Default string `json:"default,omitzero"`
}

type tabledExample struct {
	Line  string `json:"line"`
	About string `json:"about"`
}

type tabledCode struct {
	Code  int    `json:"code"`
	Means string `json:"means"`
}

// tabled is the table of some commands.
func tabled(all []verb) []tabledVerb {
	table := []tabledVerb{}
	for _, v := range all {
		t := tabledVerb{Name: v.name, Usage: v.line(), About: v.about, Flags: []tabledFlag{}}
		v.flags().VisitAll(func(f *flag.Flag) {
			value, about := flag.UnquoteUsage(f)
			t.Flags = append(t.Flags, tabledFlag{f.Name, value, about, f.DefValue})
		})
		for _, e := range v.examples {
			t.Examples = append(t.Examples, tabledExample{"simrun " + e.line, e.does})
		}
		for _, c := range v.codes() {
			t.Codes = append(t.Codes, tabledCode{c.code, c.means})
		}
		table = append(table, t)
	}
	return table
}

// named is one thing of a registry.
type named struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Version string `json:"version,omitzero"`
}

// listing is what simrun list -json prints.
type listing struct {
	Scenarios []listedScenario `json:"scenarios"`
	Subjects  []named          `json:"subjects"`
	Libraries []named          `json:"libraries"`
	Workers   []named          `json:"workers"`
	Faults    []named          `json:"faults"`
}

type listedScenario struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Story  string `json:"story"`
	Source string `json:"source"`
	// Breaks are the guarantees that are to break, of each subject that the story suits.
	Breaks map[string][]contract.Guarantee `json:"breaks"`
}

func listAll() listing {
	var l listing
	for _, s := range scenarios.Everything() {
		one := listedScenario{Name: s.Name, Title: s.Title, Story: s.Story, Source: s.Source, Breaks: map[string][]contract.Guarantee{}}
		for _, subject := range subjects.Everything() {
			if _, why := s.For(1, subject.Can); why == "" {
				one.Breaks[subject.Name] = append([]contract.Guarantee{}, s.Breaks(subject.Can)...)
			}
		}
		l.Scenarios = append(l.Scenarios, one)
	}
	for _, s := range subjects.Everything() {
		l.Subjects = append(l.Subjects, named{Name: s.Name, About: s.About})
	}
	for _, s := range libraries.Unforetold() {
		l.Libraries = append(l.Libraries, named{Name: s.Name, About: s.About})
	}
	for _, w := range workers.All() {
		l.Workers = append(l.Workers, named{Name: w.Name, About: w.About, Version: w.Version})
	}
	for _, k := range fault.Kinds() {
		l.Faults = append(l.Faults, named{Name: k.Name, About: k.About})
	}
	return l
}

// built is what simrun version -json prints.
type built struct {
	Version      string       `json:"version"`
	Commit       string       `json:"commit,omitzero"`
	CommitTime   string       `json:"commitTime,omitzero"`
	Modified     bool         `json:"modified"` // there were changes that are not committed
	Go           string       `json:"go"`
	OS           string       `json:"os"`
	Arch         string       `json:"arch"`
	Dependencies []dependency `json:"dependencies"`
}

type dependency struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func builtOf(info *debug.BuildInfo) built {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := built{Version: info.Main.Version, Commit: settings["vcs.revision"], CommitTime: settings["vcs.time"], Modified: settings["vcs.modified"] == "true",
		Go: info.GoVersion, OS: runtime.GOOS, Arch: runtime.GOARCH, Dependencies: []dependency{}}
	for _, m := range info.Deps {
		b.Dependencies = append(b.Dependencies, dependency{m.Path, m.Version})
	}
	return b
}
