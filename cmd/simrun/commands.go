package main

import (
	"context"
	"flag"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim/soak"
)

// verb is a command of simrun. Help, docs/simrun.md, completion and suggestions are made of the table of them.
type verb struct {
	name     string // "": no word is said for it
	args     string // that are no flags
	about    string // one line
	more     func(w io.Writer)
	examples []example
	flags    func() *flag.FlagSet // nil: it has none
	// judgesNothing says that some exit codes cannot come of it.
	judgesNothing bool
	run           func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// example is a command line without the program's name, and what it does.
type example struct{ line, does string }

// verbs is the table of commands, in the order of help. To add one: a row, and a file.
func verbs() []verb {
	return []verb{
		{name: "", args: "-scenario NAME|-plan FILE", about: "run a story, or a plan of your own; judge and explain it", more: leaves,
			flags: func() *flag.FlagSet { return flags(new(order)) }, run: runCommand,
			examples: []example{
				{"-scenario watchdog-death", "the watchdog dies, the lease ends, another client gets the lock"},
				{"-scenario all -subject redsync -runs 20 -junit out.xml", "every story that suits a lock, twenty seeds each, for CI"},
				{"-plan mine.json -subject exec:./my-worker -world redis", "a plan of your own, with a lock of any language, on a real Redis"},
			}},
		{name: "init", judgesNothing: true, args: "plan|locktest|workflow", about: "write a file to start from; one that is there stays as it is",
			flags: func() *flag.FlagSet { return initFlags(new(initOrder)) }, run: initCommand,
			examples: []example{
				{"init plan -out mine.json", "write a plan with comments, which runs as it is"},
				{"init locktest", "write a test of a lock of your own, which passes as it is"},
				{"init workflow", "write a workflow for GitHub, which runs the tests on each commit"},
			}},
		{name: "check", args: "FILE...", about: "judge histories, whoever recorded them (- is standard input)",
			flags: func() *flag.FlagSet { return checkFlags(new(checkOrder)) }, run: check,
			examples: []example{{"check history.jsonl", "judge a history (docs/history.md)"}, {"check -model mutex jepsen.edn", "judge what Jepsen recorded"}}},
		{name: "shrink", args: "PLAN|RUN", about: "the smallest plan that breaks the same for the same cause",
			flags: func() *flag.FlagSet { return shrinkFlags(newShrinkOrder()) }, run: shrink,
			examples: []example{{"shrink simrun-out/key-expiry/latest", "make the plan of a stored run smaller, and write a test"}}},
		{name: "explore", about: "hunt for plans under which a lock breaks what it claims",
			flags: func() *flag.FlagSet { return huntFlags(new(hunt)) }, run: exploreCommand,
			examples: []example{
				{"explore -subject rlock-classic -runs 5000", "5,000 plans that chance draws"},
				{"explore -subject redsync -for 8h", "a night; say it again, and it goes on"},
			}},
		{name: "merge", args: "STATE...", about: "put the parts of a search together that several machines have done",
			flags: func() *flag.FlagSet { return mergeFlags(new(hunt)) }, run: mergeCommand,
			examples: []example{{"merge -out whole part-0 part-1 part-2", "the parts that explore -shard 0/3, 1/3 and 2/3 have left"}}},
		{name: "mutants", about: "the same for locks that are broken on purpose: each must be caught",
			flags: func() *flag.FlagSet { return mutantFlags(newMutantOrder()) }, run: mutants,
			examples: []example{{"mutants -seeds 1 -runs 500", "hunt each once, for at most 500 plans"}}},
		{name: "report", args: "RUN...", about: "render stored runs again",
			flags: func() *flag.FlagSet { return reportFlags(new(reportOrder)) }, run: report,
			examples: []example{{"report simrun-out/watchdog-death/latest", "make the pages of a run anew"}}},
		{name: "diff", judgesNothing: true, args: "RUN RUN", about: "how two stored runs differ: where first, in what was judged, in plan and story",
			flags: func() *flag.FlagSet { return diffFlags(new(diffOrder)) }, run: diff,
			examples: []example{
				{"diff simrun-out/key-expiry/latest simrun-out/key-deleted/latest", "tell where two runs part"},
				{"diff -html both.html old/key-expiry/latest new/key-expiry/latest", "the same as a page, with both on one axis"},
			}},
		{name: "export", judgesNothing: true, args: "RUN", about: "write a stored run for other tools: Perfetto, OpenTelemetry",
			flags: func() *flag.FlagSet { return exportFlags(new(exportOrder)) }, run: export,
			examples: []example{
				{"export -format perfetto simrun-out/watchdog-death/latest", "write perfetto.json into the run's folder, for ui.perfetto.dev"},
				{"export -format otlp -out - simrun-out/watchdog-death/latest", "print spans, as an OpenTelemetry collector takes them"},
			}},
		{name: "soak", about: "run a lock for long against a real Redis, while faults strike", more: soakFaults,
			flags: func() *flag.FlagSet { return soakFlags(new(soakOrder)) }, run: soakCommand,
			examples: []example{{"soak -subject redislock -for 10m", "ten minutes on a redis-server of its own"}}},
		{name: "serve", judgesNothing: true, about: "browse stored runs",
			flags: func() *flag.FlagSet { return serveFlags(new(serveOrder)) }, run: serve,
			examples: []example{{"serve -out simrun-out", "show what runs left, at http://" + defaultAddress}}},
		{name: "clean", judgesNothing: true, args: "-keep N|-addr URL", about: "remove old runs, or what killed runs have left on a Redis of yours",
			flags: func() *flag.FlagSet { return cleanFlags(new(cleanOrder)) }, run: clean,
			examples: []example{
				{"clean -keep 5", "remove all but the newest five runs of each scenario from simrun-out"},
				{"clean -addr env:REDIS_URL", "remove the keys of killed runs from the server that $REDIS_URL names"},
			}},
		{name: "worker-check", args: "CMD|LOCK", about: "whether a program, or that of a lock, is a worker (docs/worker.md)",
			flags: func() *flag.FlagSet { return workerCheckFlags(new(bool)) }, run: workerCheck,
			examples: []example{{"worker-check python3 my_worker.py", "try each part of the protocol, and of what the lock claims"}}},
		{name: "list", judgesNothing: true, about: "the scenarios, subjects and faults",
			flags: func() *flag.FlagSet { return listFlags(new(listOrder)) }, run: list,
			examples: []example{{"list -v", "with the stories"}}},
		{name: "matrix", about: "every scenario with other people's locks, as pages: docs/matrix.md",
			flags: func() *flag.FlagSet { return matrixFlags(new(matrixOrder)) }, run: matrixCommand,
			examples: []example{
				{"matrix", "run all locks whose tools are here, and write docs/matrix.md, .html and .json"},
				{"matrix -locks 'redisson-*' -out /tmp/matrix", "some of them, elsewhere"},
			}},
		{name: "version", judgesNothing: true, about: "what this program was built of", flags: func() *flag.FlagSet { return versionFlags(new(bool)) }, run: version,
			examples: []example{{"version -json", "version, commit, Go and dependencies, for bug reports"}}},
		{name: "completion", judgesNothing: true, args: "SHELL", about: "what bash, zsh, fish or powershell needs to complete command lines", more: installs, flags: func() *flag.FlagSet { return completionFlags(new(bool)) }, run: completion,
			examples: []example{{"completion bash", "print the script: source <(simrun completion bash)"}}},
		{name: "man", judgesNothing: true, args: "DIR", about: "write a page for man about each command", flags: func() *flag.FlagSet { return manFlags(new(bool)) }, run: manCommand,
			examples: []example{{"man ~/.local/share/man/man1", "write simrun.1, simrun-explore.1 and the others, where man looks for them"}}},
		{name: "help", judgesNothing: true, args: "[COMMAND]", about: "this, or the flags and examples of one command",
			flags: func() *flag.FlagSet { return helpFlags(new(bool), new(bool)) }, run: help,
			examples: []example{{"help explore", "the flags and examples of explore"}}},
	}
}

// findVerb finds a command by its name.
func findVerb(name string) (verb, bool) {
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	if i < 0 {
		return verb{}, false
	}
	return all[i], true
}

// verbNames are the words that may come first.
func verbNames() (names []string) {
	for _, v := range verbs() {
		if v.name != "" {
			names = append(names, v.name)
		}
	}
	return names
}

// line is how a command is called.
func (v verb) line() string {
	words := []string{"simrun"}
	for _, w := range []string{v.name, v.args} {
		if w != "" {
			words = append(words, w)
		}
	}
	if v.flags != nil {
		words = append(words, "[flags]")
	}
	return strings.Join(words, " ")
}

// newFlags makes the flags of a command. It prints nothing: what is wrong is told in one line.
func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(strings.TrimSpace("simrun "+name), flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

func helpFlags(asJSON, markdown *bool) *flag.FlagSet {
	f := newFlags("help")
	jsonFlag(f, asJSON, "the table of commands")
	f.BoolVar(markdown, "markdown", false, "all commands as a page: docs/simrun.md")
	return f
}

// help is simrun help.
func help(_ context.Context, args []string, stdout, stderr io.Writer) int {
	var asJSON, markdown bool
	f := helpFlags(&asJSON, &markdown)
	names, err := parseMixed(f, args)
	switch {
	case err == flag.ErrHelp:
		return helpOn(stdout, "help")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "help: %v", flagError(f, err))
	case len(names) > 1:
		return fail(stderr, checker.ExitUsage, "help: stray argument %q", names[1])
	case markdown:
		manual(stdout)
		return checker.ExitExpected
	}
	all := verbs()
	if len(names) > 0 {
		v, known := findVerb(names[0])
		if !known {
			return fail(stderr, checker.ExitUsage, "help: %v", unknownVerb(names[0]))
		}
		all = []verb{v}
	}
	switch {
	case asJSON:
		return printJSON(stdout, stderr, helping{tabled(all)})
	case len(names) == 0:
		usage(stdout)
	default:
		return helpOn(stdout, names[0])
	}
	return checker.ExitExpected
}

// usage says what commands there are.
func usage(w io.Writer) {
	say(w, "simrun checks what a distributed lock in Redis really guarantees.\n\n")
	for _, v := range verbs() {
		call := strings.TrimSuffix(v.line(), " [flags]")
		say(w, "  %s\n%s\n", call, indent(v.about, 6, 72))
	}
	say(w, "\nsimrun help COMMAND names the flags of a command, with examples. Those of a run:\n\n")
	printFlags(w, flags(new(order)))
	leaves(w)
	verb{}.exitCodes(w)
}

// helpOn says all about one command.
func helpOn(w io.Writer, name string) int {
	v, _ := findVerb(name)
	if name == "" {
		usage(w)
		return checker.ExitExpected
	}
	say(w, "%s\n%s\n", v.line(), indent(v.about, 2, 76))
	for i, e := range v.examples {
		if i == 0 {
			say(w, "\nExamples:\n")
		}
		say(w, "  simrun %s\n%s\n", e.line, indent(e.does, 6, 72))
	}
	if v.flags != nil {
		say(w, "\nFlags:\n")
		printFlags(w, v.flags())
	}
	if v.more != nil {
		v.more(w)
	}
	v.exitCodes(w)
	return checker.ExitExpected
}

// column is where the texts of flags begin.
const column = 22

func printFlags(w io.Writer, f *flag.FlagSet) {
	f.VisitAll(func(f *flag.Flag) {
		name, text := flagText(f)
		row(w, name, text, column)
	})
}

// row prints a name, and what it is in lines from a column on.
func row(w io.Writer, name, text string, column int) {
	lines := indent(text, column, 78-column)
	if len(name)+3 <= column {
		lines = lines[len(name)+2:]
	} else {
		lines = "\n" + lines
	}
	say(w, "  %s%s\n", name, lines)
}

// flagText is a flag with its argument, and what it is for.
func flagText(f *flag.Flag) (name, text string) {
	arg, text := flag.UnquoteUsage(f)
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
		text += " (default " + f.DefValue + ")"
	}
	return strings.TrimSpace("-" + f.Name + " " + arg), text
}

// leaves says what a run leaves behind.
func leaves(w io.Writer) {
	files := []string{"plan.json", "history.jsonl", "server.jsonl"}
	for _, f := range reports.Formats() {
		files = append(files, f.File)
	}
	say(w, "\nEach run leaves behind, in OUT/<scenario>/<UTC time>-<seed>/ (and \"latest\"\nbeside it):\n%s\n", indent(strings.Join(files, ", "), 2, 76))
	say(w, "Several runs leave one page about all of them in OUT/batch/<UTC time>/, and the\nruns worth a look.\n")
}

// soakFaults lists what may strike a soak.
func soakFaults(w io.Writer) {
	say(w, "\nFaults (* only when asked for: they break every lease lock; + refused on a\nserver of yours):\n")
	for _, k := range soak.Kinds() {
		mark := ""
		if k.Breaks {
			mark += "*"
		}
		if k.Whole {
			mark += "+"
		}
		row(w, k.Name+mark, k.About, column)
	}
}

type exitCode struct {
	code  int
	means string
}

// codes are the exit codes, and what they mean.
var codes = []exitCode{
	{checker.ExitExpected, "every verdict was the expected one"},
	{checker.ExitUnexpected, "one was not"},
	{checker.ExitUndecided, "undecided: a checker ran out of its budget, or a signal ended the command early"},
	{checker.ExitDisagree, "the checkers disagree"},
	{checker.ExitUsage, "bad usage"},
	{checker.ExitHarness, "the harness itself failed: it crashed, the machine has nothing left, or output was lost"},
}

// codes are those that may come of a command.
func (v verb) codes() []exitCode {
	if !v.judgesNothing {
		return codes
	}
	return []exitCode{{checker.ExitExpected, "it is done"}, {checker.ExitUndecided, "a signal ended the command early"}, codes[len(codes)-2], codes[len(codes)-1]}
}

func (v verb) exitCodes(w io.Writer) {
	if v.judgesNothing {
		say(w, "\nExit codes:\n")
	} else {
		say(w, "\nExit codes (over several runs the worst wins):\n")
	}
	for _, c := range v.codes() {
		row(w, strconv.Itoa(c.code), c.means, 8)
	}
}

// manual is docs/simrun.md.
func manual(w io.Writer) {
	say(w, "# The commands of simrun\n\n`simrun help -markdown` writes this page. `simrun help COMMAND` says the same on a terminal.\n\n")
	say(w, "| code | means, of every command; over several runs the worst wins |\n|---|---|\n")
	for _, c := range codes {
		say(w, "| %d | %s |\n", c.code, c.means)
	}
	for _, v := range verbs() {
		title := "simrun " + v.name
		if v.name == "" {
			title = "simrun, without a command"
		}
		say(w, "\n## %s\n\n`%s`: %s.\n", title, v.line(), v.about)
		for i, e := range v.examples {
			if i == 0 {
				say(w, "\n")
			}
			say(w, "* `simrun %s`: %s\n", e.line, e.does)
		}
		if v.flags == nil {
			continue
		}
		say(w, "\n| flag | |\n|---|---|\n")
		v.flags().VisitAll(func(f *flag.Flag) {
			name, text := flagText(f)
			say(w, "| `%s` | %s |\n", name, strings.ReplaceAll(text, "|", "\\|"))
		})
	}
}

func versionFlags(json *bool) *flag.FlagSet {
	f := newFlags("version")
	jsonFlag(f, json, "the same")
	return f
}

// version is simrun version.
func version(_ context.Context, args []string, stdout, stderr io.Writer) int {
	var asJSON bool
	f := versionFlags(&asJSON)
	switch err := f.Parse(args); {
	case err == flag.ErrHelp:
		return helpOn(stdout, "version")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "version: %v", flagError(f, err))
	case f.NArg() > 0:
		return fail(stderr, checker.ExitUsage, "version: stray argument %q", f.Arg(0))
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return fail(stderr, checker.ExitHarness, "version: this program was built without knowing of what")
	}
	b := builtOf(info)
	if asJSON {
		return printJSON(stdout, stderr, b)
	}
	say(stdout, "simrun %s\n", b.Version)
	if b.Commit != "" {
		changed := ""
		if b.Modified {
			changed = ", and changes that are not committed"
		}
		say(stdout, "  commit %s of %s%s\n", b.Commit, b.CommitTime, changed)
	}
	say(stdout, "  %s %s/%s\n", b.Go, b.OS, b.Arch)
	for _, m := range b.Dependencies {
		say(stdout, "  %s %s\n", m.Path, m.Version)
	}
	return checker.ExitExpected
}

// installs says where scripts of completion belong.
func installs(w io.Writer) {
	say(w, `
  bash  source <(simrun completion bash)
  zsh   simrun completion zsh > "${fpath[1]}/_simrun"
  fish  simrun completion fish > ~/.config/fish/completions/simrun.fish
`)
}
