package workers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// built builds a worker by these lines.
func built(ctx context.Context, t *testing.T, lines ...string) (dir string, said []string, err error) {
	t.Helper()
	l := Lock{Name: "a lock", kit: kit{language: "python", tools: []string{"sh"}, build: lines}, args: []string{"an-argument"}}
	dir, err = l.built(ctx, func(what string) { said = append(said, what) })
	return dir, said, err
}

func TestAWorkerIsBuiltOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	lines := []string{"test -f kit.py", "echo ARG1 >made"}
	dir, said, err := built(t.Context(), t, lines...)
	if err != nil || len(said) != 1 {
		t.Fatalf("%v, told %q", err, said)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(text) != "an-argument\n" {
		t.Errorf("%q, %v", text, err)
	}
	again, said, err := built(t.Context(), t, lines...)
	if err != nil || again != dir || said != nil {
		t.Errorf("again: %s, %v, told %q; want %s and nothing", again, err, said, dir)
	}
	if other, _, err := built(t.Context(), t, "true"); err != nil || other == dir {
		t.Errorf("what is built otherwise has the folder %s (%v), too", other, err)
	}
}

// What cannot be built is told in one line, and leaves nothing that could be taken for built.
func TestAWorkerThatCannotBeBuilt(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		line string
		want string
	}{
		{t.Context(), "echo much; echo this is why >&2; exit 3", "(exit status 3): this is why"},
		{ended, "sleep 1000", context.Canceled.Error()},
	} {
		_, _, err := built(c.ctx, t, "echo half >half", c.line)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "holdfast", "workers", "*")); left != nil {
			t.Errorf("%s: it leaves %q", c.line, left)
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "holdfast", "workers", ".building-*")); left != nil {
			t.Errorf("%s: it leaves %q", c.line, left)
		}
	}
	l := Lock{kit: kit{language: "python", tools: []string{"sh", "no-such-tool"}}}
	if _, err := l.built(t.Context(), func(string) {}); err == nil || !strings.Contains(err.Error(), "no no-such-tool on PATH") {
		t.Errorf("without its tools: %v", err)
	}
}

// Each lock can be told from the others, has all its sources in this binary, and claims with a source what it claims.
func TestTheLocksAreWhole(t *testing.T) {
	var names []string
	for _, l := range All() {
		if slices.Contains(names, l.Name) {
			t.Errorf("two locks are called %s", l.Name)
		}
		names = append(names, l.Name)
		if found, ok := Find(l.Name); !ok || found.About != l.About {
			t.Errorf("%s is not found", l.Name)
		}
		files, _, err := l.files()
		if err != nil {
			t.Error(err)
		}
		for _, word := range l.run {
			file, script := strings.CutPrefix(word, "DIR/")
			if script && !strings.HasPrefix(file, "target/") && !slices.Contains(files, file) {
				t.Errorf("%s runs %s, which is not among %q", l.Name, file, files)
			}
		}
		if l.Version == "" || l.Package == "" || len(l.Claims) == 0 {
			t.Errorf("%s lacks its package, its version or its claims", l.Name)
		}
		for _, c := range l.Claims {
			if c.Source == "" {
				t.Errorf("%s: no source says %q", l.Name, c.Text)
			}
		}
	}
	if _, ok := Find("redisson-0.0.0"); ok {
		t.Error("there is a lock that is not")
	}
}
