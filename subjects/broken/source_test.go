package broken_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/parse"

	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

const lockimpl = "../../lockimpl"

// Each edit fits the source once, and each mutant compiles. Files that it leaves alone are parsed
// once; packages that lockimpl needs are read as the compiler left them.
func TestSourceMutantsCompile(t *testing.T) {
	files := token.NewFileSet()
	sound := map[string]*ast.File{}
	paths, err := filepath.Glob(filepath.Join(lockimpl, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if sound[name], err = parser.ParseFile(files, path, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	imports := importsOf(t, files)
	names := map[string]bool{}
	for _, m := range broken.SourceMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if names[m.Name] {
				t.Error("the name is taken")
			}
			names[m.Name] = true
			if _, ok := subjects.Find(m.Sound); !ok || m.About == "" || m.Claim == "" {
				t.Errorf("not complete: %+v", m)
			}
			edited, err := m.Apply(func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(lockimpl, file)) })
			if err != nil {
				t.Fatal(err)
			}
			changed := map[string]*ast.File{}
			for name, source := range edited {
				if strings.HasSuffix(name, ".lua") {
					if _, err := parse.Parse(strings.NewReader(source), name); err != nil {
						t.Error(err)
					}
					continue
				}
				if changed[name], err = parser.ParseFile(files, name, source, parser.SkipObjectResolution); err != nil {
					t.Fatal(err)
				}
			}
			if len(changed) == 0 {
				return
			}
			var all []*ast.File
			for name, file := range sound {
				if with, ok := changed[name]; ok {
					file = with
				}
				all = append(all, file)
			}
			config := types.Config{Importer: imports}
			if _, err := config.Check("lockimpl", files, all, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// importsOf reads what the compiler exported of each package that lockimpl depends on.
func importsOf(t *testing.T, files *token.FileSet) types.Importer {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	list.Dir = lockimpl
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}
