package sim

import (
	"maps"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/holdfast-sim/holdfast/sim/world"
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

// versions says what ran, for the report. It is no part of the trace.
func versions(g world.Ground) map[string]string {
	v := map[string]string{"go": runtime.Version()}
	if own := Own(); own != "" {
		v["holdfast"] = own
	}
	maps.Copy(v, g.Versions)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/redis/go-redis/v9", "github.com/alicebob/miniredis/v2", "github.com/anishathalye/porcupine":
				v[m.Path] = m.Version
			}
		}
	}
	return v
}
