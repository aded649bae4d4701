package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

// Two machines that each do a part come to what one machine comes to that does the whole, findings and their folders among it.
func TestPartsOfASearchAreMerged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	search := func(args ...string) map[string]any {
		stdout, stderr, code := run(t, dir, args...)
		var total map[string]any
		if err := json.Unmarshal([]byte(stdout), &total); err != nil || code != checker.ExitUnexpected {
			t.Fatalf("%v: exit code %d, %s%s", args, code, stdout, stderr)
		}
		for _, f := range total["found"].([]any) {
			kept := f.(map[string]any)["kept"].(string)
			if !exists(filepath.Join(dir, kept, planFile)) {
				t.Errorf("%v: no plan in %s", args, kept)
			}
			delete(f.(map[string]any), "kept")
			delete(f.(map[string]any), "again")
		}
		if !exists(filepath.Join(dir, total["dir"].(string), reportFile)) {
			t.Errorf("%v: no page", args)
		}
		delete(total, "dir")
		return total
	}
	explore := []string{"explore", "-subject", "broken-unlock-twice", "-runs", "60", "-json", "-no-proof"}
	whole := search(append(explore, "-out", "whole")...)
	for _, part := range []string{"0/2", "1/2"} {
		if _, stderr, code := run(t, dir, append(explore, "-out", "part-"+part[:1], "-shard", part)...); code != checker.ExitUnexpected {
			t.Fatalf("part %s: exit code %d, %s", part, code, stderr)
		}
	}
	if merged := search("merge", "-out", "merged", "-json", "-no-proof", "part-0", "part-1"); !reflect.DeepEqual(merged, whole) {
		t.Errorf("merged: %v\nwhole: %v", merged, whole)
	}
}

func TestWhatCannotBeMergedOrHandedOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"merge"}, checker.ExitUsage, "name the states of the parts"},
		{[]string{"merge", "nowhere"}, checker.ExitUsage, "nowhere: no such file"},
		{[]string{"merge", "-out", "none", "."}, checker.ExitUsage, "name a folder"},
		{[]string{"merge", "."}, checker.ExitUsage, "there is no state.jsonl in ."},
		{[]string{"explore", "-shard", "2/2"}, checker.ExitUsage, "must be i/n"},
		{[]string{"explore", "-shard", "half"}, checker.ExitUsage, "must be i/n"},
		{[]string{"explore", "-strategy", "exhaustive", "-shard", "0/2"}, checker.ExitUsage, "strategies that draw plans"},
		{[]string{"explore", "-subject", "exec:cat", "-on", "nats://127.0.0.1:1"}, checker.ExitUsage, "run on this machine alone"},
		{[]string{"explore", "-on", "nats://127.0.0.1:1", "-out", "none"}, checker.ExitUsage, "go install github.com/holdfast-sim/holdfast/fleet/simrun-fleet@latest"},
	} {
		stdout, stderr, code := run(t, t.TempDir(), tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.says) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%v: exit code %d, %q, %q", tt.args, code, stdout, stderr)
		}
	}
}
