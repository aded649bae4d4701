package workers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pupil is a worker that writes down what it was asked, where its first argument says.
const pupil = `#!/bin/sh
case $1 in --write=*) exec 3>"${1#--write=}" ;; *) exec 3>/dev/null ;; esac
echo '{"hello":2}'
while read -r line; do
  echo "$line" >&3
  test ! -f "${0%/*}/dies" || exit 1
  echo '{"outcome":"ok"}'
done
`

// A worker that can write down what it loads is asked a whole story when it has been built, and knows it from then on.
// One that dies of it is taken as it is.
func TestAWorkerIsTrained(t *testing.T) {
	source := filepath.Join(t.TempDir(), "pupil")
	if err := os.WriteFile(source, []byte(pupil), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, line string
		trained    bool
	}{
		{"does", "true", true},
		{"dies", "touch dies", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			l := Lock{Name: "a lock", run: []string{"its-argument"}, kit: kit{language: "python", tools: []string{"sh"},
				build: []string{"cp " + source + " worker", c.line},
				run:   []string{"DIR/worker"}, train: "--write=", trained: "--read=DIR/" + archive}}
			for range 2 { // built, and found
				words, err := l.Command(t.Context(), func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				dir := filepath.Dir(words[0])
				want := []string{filepath.Join(dir, "worker"), "its-argument"}
				if c.trained {
					want = slices.Insert(want, 1, "--read="+filepath.Join(dir, archive))
				}
				if !slices.Equal(words, want) {
					t.Errorf("it is started by %q, want %q", words, want)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "."+archive+"*")); left != nil {
					t.Errorf("the training leaves %q", left)
				}
				if text, err := os.ReadFile(filepath.Join(dir, archive)); c.trained && (err != nil || strings.Count(string(text), "\n") != len(lesson)) {
					t.Errorf("it was asked %q (%v), want %d questions", text, err, len(lesson))
				}
			}
		})
	}
}
