package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
)

// jsonPage is docs/json.md, by the names of commands.
func jsonPage(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for i, part := range strings.Split(string(page), "\n## ") {
		if title, text, _ := strings.Cut(part, "\n"); i > 0 {
			sections[strings.TrimPrefix(strings.TrimPrefix(title, "simrun"), " ")] = text
		}
	}
	sections[""] = sections[", without a command"]
	delete(sections, ", without a command")
	return sections
}

// Every command that takes -json is in docs/json.md, and no other.
func TestThePageOnJSONHasEveryCommand(t *testing.T) {
	sections := jsonPage(t)
	for _, v := range verbs() {
		takes := v.flags != nil && v.flags().Lookup("json") != nil
		if (sections[v.name] != "") != takes {
			t.Errorf("simrun %s: takes -json: %v; docs/json.md has it: %v", v.name, takes, sections[v.name] != "")
		}
		delete(sections, v.name)
	}
	for name := range sections {
		t.Errorf("docs/json.md has %q, which is no command", name)
	}
}

// keysOf are the names of all fields, but for those of what has a shape of its own.
func keysOf(value any, but ...string) (keys []string) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			keys = append(keys, keysOf(v, but...)...)
		}
	case map[string]any:
		for k, v := range value {
			if keys = append(keys, k); !slices.Contains(but, k) {
				keys = append(keys, keysOf(v, but...)...)
			}
		}
	}
	return keys
}

// What a command prints with -json is JSON alone, and has no field that docs/json.md does not explain.
func TestWhatIsPrintedAsJSONIsDocumented(t *testing.T) {
	dir, sections := t.TempDir(), jsonPage(t)
	for range 2 {
		if _, _, code := run(t, dir, "-scenario", "key-expiry"); code != checker.ExitExpected {
			t.Fatalf("exit code %d", code)
		}
	}
	stored := filepath.Join("simrun-out", "key-expiry", "latest")
	for _, c := range []struct {
		args string
		code int
		but  []string // fields whose content has a shape of its own
		has  []string
	}{
		{"version", 0, nil, []string{"version", "go", "dependencies"}},
		{"list", 0, []string{"breaks"}, []string{"scenarios", "subjects", "libraries", "workers", "faults", "breaks"}},
		{"mutants -list", 0, nil, []string{"locks", "about"}},
		{"mutants -list -source", 0, nil, []string{"locks", "about"}},
		{"mutants -only " + defective + " -seeds 2 -runs 200", 0, []string{"by"}, []string{"caught", "median", "by", "survived"}},
		{"explore -subject rlock-hardened -runs 20 -out none", 0, nil, []string{"runs", "found", "ways", "looked", "goals", "means"}},
		{"explore -subject " + defective + " -runs 60 -first", 1, nil, []string{"found", "kept", "again", "dir"}},
		{"explore -subject " + defective + " -runs 300 -compare simrun-out", 1, nil, []string{"compared", "findings", "beforeRuns", "low", "clean"}},
		{"shrink " + stored, 0, []string{"plan", "verdict"}, []string{"plan", "test", "verdict"}},
		{"diff " + stored + " " + stored, 0, nil, []string{"same", "story", "plan"}},
		{"matrix -locks rlock-latch -scenario baseline -out pages", 0, []string{"version"}, nil},
		{"init plan -out mine.json", 0, nil, []string{"files"}},
		{"export -format otlp " + stored, 0, nil, []string{"files"}},
		{"man pages", 0, nil, []string{"files"}},
		{"completion bash", 0, nil, []string{"shell", "script"}},
		{"help", 0, nil, []string{"commands", "flags", "examples", "codes"}},
		{"help explore", 0, nil, []string{"commands", "flags", "examples", "codes"}},
		{"clean -keep 1", 0, nil, []string{"removed", "kept"}},
	} {
		name, _, _ := strings.Cut(c.args, " ")
		stdout, stderr, code := run(t, dir, append(strings.Fields(c.args), "-json")...)
		var got map[string]any
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != c.code || stderr != "" {
			t.Errorf("simrun %s -json: %v, exit code %d, stderr %q:\n%.300s", c.args, err, code, stderr, stdout)
			continue
		}
		keys := keysOf(got, c.but...)
		for _, want := range c.has {
			if !slices.Contains(keys, want) {
				t.Errorf("simrun %s -json: there is no %s in it", c.args, want)
			}
		}
		if name == "matrix" { // it has a shape of its own
			if m, err := reports.ReadMatrix([]byte(stdout)); err != nil || m.Lock("rlock-latch") == nil {
				t.Errorf("simrun %s -json: %v, %+v", c.args, err, m)
			}
			continue
		}
		for _, key := range keys {
			if !strings.Contains(sections[name], "`"+key+"`") {
				t.Errorf("simrun %s -json: docs/json.md does not explain %s", c.args, key)
			}
		}
	}
}

// A history and its report say which Holdfast made them, as the program says it of itself.
func TestHistoriesSayWhichHoldfastMadeThem(t *testing.T) {
	dir := t.TempDir()
	text, _, _ := run(t, dir, "version", "-json")
	var b built
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	if _, _, code := run(t, dir, "-scenario", "key-expiry", "-no-proof"); code != checker.ExitExpected {
		t.Fatalf("exit code %d", code)
	}
	for file, want := range map[string]string{"history.jsonl": `"holdfast":"` + b.Version, "report.html": "<dt>holdfast</dt>"} {
		if text, err := os.ReadFile(filepath.Join(dir, "simrun-out/key-expiry/latest", file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has not %s: %v", file, want, err)
		}
	}
}
