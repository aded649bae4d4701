// Package workers has other people's locks of other languages, unmodified, each in a worker of its language
// (docs/worker.md). The workers' sources are in this package's folders, and in every binary.
//
// To add one: a file beside those of its language, and one line in locks.go.
package workers

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/external"
)

//go:embed java node python rust
var sources embed.FS

// Lock is a version of somebody else's lock.
type Lock struct {
	Name    string
	About   string // one line
	Package string // as its registry has it
	Version string
	Object  history.Object // what it is; "": a lock
	kit     kit
	run     []string // what follows the kit's own words
	args    []string // what the kit's build is told

	// What its documentation says, and what it is documented not to promise.
	Claims      []subjects.Claim
	Limitations []history.Limitation

	// Unjudged are stories in which it is not judged rightly yet, each with the reason.
	Unjudged map[string]string
}

// kit is how the workers of a language are built and run. DIR is the folder with the sources, ARGn what the lock says.
type kit struct {
	language string
	tools    []string // that must be on PATH
	build    []string // lines of a shell, in DIR
	run      []string
	train    string // an argument, less a file's name, that has the worker write down what it loads; "": it cannot
	trained  string // an argument for a worker that has done so
}

// Language is the one that it is written in.
func (l Lock) Language() string { return l.kit.language }

// Find returns the lock of that name.
func Find(name string) (Lock, bool) {
	i := slices.IndexFunc(All(), func(l Lock) bool { return l.Name == name })
	if i < 0 {
		return Lock{}, false
	}
	return All()[i], true
}

// Lacks names the tools that are needed to build the worker and are not on PATH.
func (l Lock) Lacks() []string {
	return slices.DeleteFunc(slices.Clone(l.kit.tools), func(tool string) bool {
		_, err := exec.LookPath(tool)
		return err == nil
	})
}

// Subject builds the worker, if this user has not built it yet, and starts one to hear what the lock claims. Building
// takes from seconds to minutes, and needs the language's registry; say is told before it begins. ctx bounds both.
func (l Lock) Subject(ctx context.Context, say func(string)) (subjects.Subject, error) {
	words, err := l.Command(ctx, say)
	if err != nil {
		return subjects.Subject{}, err
	}
	s, err := external.Program(ctx, l.Name, words)
	if err != nil {
		return s, err
	}
	s.About, s.Claims, s.Limitations = l.About, l.Claims, l.Limitations
	return s, nil
}

// Command builds the worker likewise, and returns its program and arguments.
func (l Lock) Command(ctx context.Context, say func(string)) (words []string, err error) {
	dir, err := l.built(ctx, say)
	if err != nil {
		return nil, err
	}
	words = l.words(dir)
	if _, err := os.Stat(filepath.Join(dir, archive)); err == nil && l.kit.trained != "" {
		words = slices.Insert(words, 1, strings.ReplaceAll(l.kit.trained, "DIR", dir))
	}
	return words, nil
}

// Folder builds the worker likewise, and returns where: what is learned of it may be kept there.
func (l Lock) Folder(ctx context.Context, say func(string)) (string, error) { return l.built(ctx, say) }

// words are the worker's program and arguments, once it is built in dir.
func (l Lock) words(dir string) (words []string) {
	for _, w := range slices.Concat(l.kit.run, l.run) {
		words = append(words, strings.ReplaceAll(w, "DIR", dir))
	}
	return words
}

// built returns the folder of the worker as it was built.
func (l Lock) built(ctx context.Context, say func(string)) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("nowhere to build the worker: %w", err)
	}
	lines := strings.Join(l.kit.build, "\n")
	for i, a := range l.args {
		lines = strings.ReplaceAll(lines, fmt.Sprintf("ARG%d", i+1), a)
	}
	files, sum, err := l.files()
	if err != nil {
		return "", err
	}
	sum.Write([]byte(lines))
	dir := filepath.Join(cache, "holdfast", "workers", l.kit.language+"-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if lacks := l.Lacks(); len(lacks) > 0 {
		return "", fmt.Errorf("its worker is built with %s, and there is no %s on PATH", strings.Join(l.kit.tools, " and "), strings.Join(lacks, " and no "))
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	// A folder has its name once it is whole: who is killed here leaves one that nobody takes for built.
	made, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	for _, name := range files {
		text, err := sources.ReadFile(l.kit.language + "/" + name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(made, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(made, name), text, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	say(fmt.Sprintf("builds the worker of %s in %s", l.Name, dir))
	for line := range strings.SplitSeq(lines, "\n") {
		c := exec.CommandContext(ctx, "sh", "-c", line)
		c.Dir = made
		if said, err := c.CombinedOutput(); ctx.Err() != nil {
			return "", ctx.Err()
		} else if err != nil {
			return "", fmt.Errorf("%s (%w): %s", line, err, lastLine(string(said)))
		}
	}
	if err := os.Rename(made, dir); errors.Is(err, fs.ErrExist) { // somebody was quicker
		return dir, nil
	} else if err != nil {
		return "", err
	}
	l.train(ctx, dir)
	return dir, ctx.Err()
}

// files are the names of the sources of the language, below its folder, and a sum of their contents.
func (l Lock) files() (names []string, sum interface {
	Write([]byte) (int, error)
	Sum([]byte) []byte
}, err error) {
	h := sha256.New()
	err = fs.WalkDir(sources, l.kit.language, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		name := strings.TrimPrefix(path, l.kit.language+"/")
		names = append(names, name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		return err
	})
	return names, h, err
}

// lastLine is the last line that says something.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
