package main

import (
	"context"
	"flag"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/soak"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// completes begins the word by which a shell's script asks for what may come next.
const completes = cobra.ShellCompRequestCmd

// shells are those that complete command lines.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash": func(c *cobra.Command, w io.Writer) error {
		say(w, "%s", withoutPackage)
		return c.GenBashCompletionV2(w, true)
	},
	"zsh":        func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) },
	"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
	"powershell": func(c *cobra.Command, w io.Writer) error { return c.GenPowerShellCompletionWithDesc(w) },
}

func shellNames() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// withoutPackage is for a bash without the package bash-completion, whose functions what cobra writes calls. That package has its own, and
// they replace these when it is read later.
const withoutPackage = `if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
_get_comp_words_by_ref() {
    words=("${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD-1]}
}
fi
if ! declare -F __ltrim_colon_completions >/dev/null 2>&1; then
__ltrim_colon_completions() { :; }
fi
`

func completionFlags(asJSON *bool) *flag.FlagSet {
	f := newFlags("completion")
	jsonFlag(f, asJSON, "the script")
	return f
}

// completion is simrun completion.
func completion(_ context.Context, args []string, stdout, stderr io.Writer) int {
	var asJSON bool
	f := completionFlags(&asJSON)
	names, err := parseMixed(f, args)
	switch {
	case err == flag.ErrHelp:
		return helpOn(stdout, "completion")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "completion: %v", flagError(f, err))
	case len(names) != 1:
		return fail(stderr, checker.ExitUsage, "completion: say for which shell: %s", strings.Join(shellNames(), ", "))
	}
	write, known := shells[names[0]]
	switch {
	case !known:
		return fail(stderr, checker.ExitUsage, "completion: %v", unknown("shell", names[0], shellNames()))
	case asJSON:
		var script strings.Builder
		_ = write(tree(), &script)
		return printJSON(stdout, stderr, completing{names[0], script.String()})
	}
	_ = write(tree(), stdout) // what is lost of it is told at the end, as of every command
	return checker.ExitExpected
}

// complete answers a shell's script.
func complete(args []string, stdout io.Writer) int {
	root := tree()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(io.Discard)
	if err := root.Execute(); err != nil {
		return checker.ExitUsage
	}
	return checker.ExitExpected
}

// tree is the table of commands as cobra has one. It only completes: what flags mean package flag decides, whose long
// flags may have one dash.
func tree() *cobra.Command {
	root := &cobra.Command{Use: "simrun", DisableFlagParsing: true, Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"})
	run := func(*cobra.Command, []string) {}
	for _, v := range verbs() {
		c := root
		if v.name != "" {
			c = &cobra.Command{Use: v.name, Short: v.about, DisableFlagParsing: true}
			root.AddCommand(c)
		}
		c.Run = run
		c.ValidArgsFunction = func(_ *cobra.Command, before []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return v.next(before, begun)
		}
	}
	return root
}

// next is what may come after some words of a command, if it is to begin so.
func (v verb) next(before []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	f := newFlags(v.name)
	if v.flags != nil {
		f = v.flags()
	}
	if len(before) > 0 {
		name, isFlag := strings.CutPrefix(before[len(before)-1], "-")
		if asked := f.Lookup(strings.TrimPrefix(name, "-")); isFlag && asked != nil && !isSwitch(asked) {
			if values := valuesOf(asked.Name, v.name); values != nil {
				return values, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		}
	}
	var found []cobra.Completion
	if strings.HasPrefix(begun, "-") {
		f.VisitAll(func(f *flag.Flag) {
			_, text := flagText(f)
			found = append(found, cobra.CompletionWithDesc("-"+f.Name, text))
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	switch v.name {
	case "init":
		return starterNames(), cobra.ShellCompDirectiveNoFileComp
	case "completion":
		return shellNames(), cobra.ShellCompDirectiveNoFileComp
	case "help":
		return verbNames(), cobra.ShellCompDirectiveNoFileComp
	case "check", "shrink", "report", "export", "worker-check":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// isSwitch reports whether a flag takes no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// valuesOf are the values that a flag of a command may have; nil: any, such as a number or a file.
func valuesOf(flag, command string) []cobra.Completion {
	switch flag {
	case "scenario":
		return append(scenarios.Names(), everything)
	case "subject":
		names := append(subjectNames(), everything)
		if command == "explore" {
			names = append(names, brokenNames()...)
		}
		return names
	case "only":
		names := brokenNames()
		for _, m := range broken.SourceMutants() {
			names = append(names, m.Name)
		}
		return names
	case "world":
		if command == "soak" {
			return []cobra.Completion{"redis"}
		}
		return []cobra.Completion{simWorld, warpWorld, "miniredis", "redis"}
	case "strategy":
		var names []string
		for _, s := range explore.Strategies() {
			names = append(names, s.Name)
		}
		return names
	case "format":
		return exportNames()
	case "guarantee":
		return words(contract.Guarantees())
	case "model":
		return strings.Split(kinds(), ", ")
	case "faults":
		if command == "soak" {
			return append(faultNames(soak.Kinds()), "default", everything, "none")
		}
		var names []string
		for _, k := range fault.Kinds() {
			names = append(names, k.Name)
		}
		return append(names, everything, "none")
	}
	return nil
}

func brokenNames() (names []string) {
	for _, l := range broken.Everything() {
		names = append(names, l.Name)
	}
	return names
}
