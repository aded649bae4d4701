package sim

import (
	"runtime/debug"
	"testing"
)

func TestAHistoryNamesTheVersionOfHoldfast(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	changed := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	ours := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: module, Version: version}, Settings: settings}
	}
	theirs := func(deps ...*debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "example.com/lock", Version: "v9.9.9"}, Deps: deps}
	}
	for _, tt := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a release", ours("v1.2.3"), "v1.2.3"},
		{"a commit", ours("(devel)", commit), "(devel) of commit 0123456789ab"},
		{"a commit that its version has", ours("v0.0.0-20261128-0123456789ab", commit), "v0.0.0-20261128-0123456789ab"},
		{"changes", ours("(devel)", commit, changed), "(devel) of commit 0123456789ab, changed since"},
		{"changes of a commit that its version has", ours("v0.0.0-20261128-0123456789ab", commit, changed), "v0.0.0-20261128-0123456789ab, changed since"},
		{"changes that its version has", ours("v1.2.3-0123456789ab+dirty", commit, changed), "v1.2.3-0123456789ab+dirty"},
		{"somebody's test", theirs(&debug.Module{Path: "example.com/other", Version: "v7.0.0"}, &debug.Module{Path: module, Version: "v1.2.3"}), "v1.2.3"},
		{"somebody's copy", theirs(&debug.Module{Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: "../holdfast"}}), "v1.2.3 replaced by ../holdfast"},
		{"a program without it", theirs(), ""},
	} {
		if got := own(tt.info); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
