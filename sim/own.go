package sim

import (
	"runtime/debug"
	"strings"
)

// module is that of this package.
const module = "github.com/holdfast-sim/holdfast"

// Own is the version of Holdfast in the program that runs, as a history's header has it: that of its module, with the commit where that
// does not have it; "" if the program was not built by modules.
func Own() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return own(info)
}

func own(info *debug.BuildInfo) string {
	if info.Main.Path != module { // a test of somebody's own lock
		for _, m := range info.Deps {
			if m.Path == module && m.Replace != nil {
				return strings.TrimSpace(m.Version + " replaced by " + m.Replace.Path + " " + m.Replace.Version)
			} else if m.Path == module {
				return m.Version
			}
		}
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text, commit := info.Main.Version, settings["vcs.revision"]
	if short := commit[:min(12, len(commit))]; !strings.Contains(text, short) {
		text += " of commit " + short
	}
	if settings["vcs.modified"] == "true" && !strings.HasSuffix(text, "+dirty") {
		text += ", changed since"
	}
	return text
}
