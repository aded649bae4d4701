// Package holdfast_test holds the whole module to its architecture.
package holdfast_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/holdfast-sim/holdfast"

// mayImport is the import table of the architecture: what the packages of a folder may import of
// this module, besides each other. What is not in it does not exist.
var mayImport = map[string][]string{
	"history":   {},
	"contract":  {"history"}, // added: what guarantees, claims and exemptions are called
	"model":     {"history", "contract"},
	"lockimpl":  {},
	"subjects":  {"lockimpl", "history", "contract"},
	"sim":       {"history", "subjects", "contract"},     // contract: what evidence may take for granted is claimed
	"scenarios": {"sim", "model", "history", "contract"}, // history: of what kind of object a story is
	"checker":   {"checker/internal/composite", "checker/internal/linear", "checker/internal/windows", "checker/internal/words", "model", "history", "contract"},
	"reports":   {"checker", "history", "contract"},
	// Added: what simrun explore and locktest have in common.
	"explore": {"sim", "scenarios", "subjects", "checker", "checker/proof", "checker/minimal", "checker/goals", "reports", "history", "contract"},

	"explore/night": {"explore"},

	// The rooms of checker, of which the internal ones know no verdict, and the others ask for one.
	"checker/internal/composite": {"checker/internal/linear", "model", "history"},
	"checker/internal/linear":    {"model", "history"},
	"checker/internal/words":     {"history"},
	"checker/internal/windows":   {"history"},
	"checker/minimal":            {"checker", "history", "contract"},
	"checker/goals":              {"checker", "history", "contract"},
	"checker/proof":              {"checker", "checker/internal/words", "history", "contract"},

	// Besides what it is made of: a lock under test is a subject, a failure is told by its history and
	// its report, and drawn plans accuse by the rules of exploration.
	"locktest":   {"sim", "scenarios", "checker", "subjects", "history", "reports", "explore", "contract", "checker/goals"},
	"cmd/simrun": {everything},
	"examples":   {"subjects"}, // what a user of the worker protocol writes
}

const everything = "*"

// mayImportTesting are the packages that may use testing and its sub-packages outside of tests.
var mayImportTesting = []string{
	"locktest",        // it is for use in tests
	"sim/bubble",      // its doc comment says why
	"sim/redisserver", // it says whether a test without a redis-server may be skipped
	"sim/redisserver/tlstest",
}

// refusal says what is wrong with a package, named by its folder, importing another, or "".
func refusal(from, imported string) string {
	folder, known := folderOf(from)
	switch {
	case !known:
		return fmt.Sprintf("%s is in no folder of the import table", from)
	case imported == "testing" || strings.HasPrefix(imported, "testing/"):
		if !slices.Contains(mayImportTesting, from) {
			return fmt.Sprintf("%s imports %s; only tests, %s may", from, imported, strings.Join(mayImportTesting, ", "))
		}
		return ""
	case imported != module && !strings.HasPrefix(imported, module+"/"):
		return ""
	}
	to, known := folderOf(strings.TrimPrefix(imported, module+"/"))
	if !known {
		return fmt.Sprintf("%s imports %s, which is in no folder of the import table", from, imported)
	}
	if allowed := mayImport[folder]; folder != to && !slices.Contains(allowed, to) && !slices.Contains(allowed, everything) {
		return fmt.Sprintf("%s imports %s; %s may import only %q", from, imported, folder, allowed)
	}
	return ""
}

// folderOf returns the innermost folder of the table that a package is in.
func folderOf(pkg string) (folder string, known bool) {
	for f := range mayImport {
		if (pkg == f || strings.HasPrefix(pkg, f+"/")) && len(f) >= len(folder) {
			folder, known = f, true
		}
	}
	return folder, known
}

// A subjects.Env that lacks something fails in the middle of a run: [subjects.NewEnv] alone makes one.
func TestAnEnvIsMadeByItsConstructor(t *testing.T) {
	made := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || otherModule(file)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if c, ok := n.(*ast.CompositeLit); ok && namesEnv(c.Type) {
				if made++; path.Dir(filepath.ToSlash(file)) != "subjects" {
					t.Errorf("%s: right: subjects.NewEnv", files.Position(c.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || made != 1 {
		t.Errorf("%d are made, of which NewEnv's is one: %v", made, err)
	}
}

// namesEnv reports whether a type is called Env, whatever its package is called.
func namesEnv(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Env"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Env"
	}
	return false
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	packages := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || otherModule(file)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(file))
		packages[pkg] = true
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if what := refusal(pkg, imported); what != "" {
				t.Errorf("%s: %s", filepath.ToSlash(file), what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []string{"history", "lockimpl", "sim/world", "checker"} {
		if !packages[known] {
			t.Errorf("package %s was not looked at", known)
		}
	}
}

// otherModule reports whether a folder is a module of its own.
func otherModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return !errors.Is(err, fs.ErrNotExist)
}

func TestTheImportTableRefusesWhatItDoesNotAllow(t *testing.T) {
	tests := []struct {
		from, imported string
		refused        bool
	}{
		{"model", module + "/history", false},
		{"history", module + "/model", true},
		{"lockimpl", module + "/history", true},
		{"lockimpl", "github.com/redis/go-redis/v9", false},
		{"sim/world", module + "/sim/network", false},
		{"sim/world", module + "/subjects", false},
		{"sim/world", module + "/lockimpl", true},
		{"sim/world", module + "/checker", true},
		{"sim/world", "testing", true},
		{"sim/bubble", "testing/synctest", false},
		{"sim/bubble/inner", "testing", true},
		{"subjects/broken", module + "/lockimpl", false},
		{"subjects/broken", module + "/sim/plan", true},
		{"checker", module + "/sim/plan", true},
		{"checker", module + "/checker/internal/linear", false},
		{"checker/internal/linear", module + "/checker", true},
		{"checker/internal/words", module + "/model", true},
		{"checker", module + "/checker/proof", true},
		{"checker/proof", module + "/checker", false},
		{"reports", module + "/checker/proof", true},
		{"reports", module + "/checker/internal/linear", true},
		{"reports", module + "/model", true},
		{"locktest", "testing", false},
		{"cmd/simrun", module + "/reports", false},
		{"cmd/simrun", "testing", true},
		{"simulator", "fmt", true}, // no folder of the table, though it begins like one
		{"model", module, true},
	}
	for _, tt := range tests {
		if what := refusal(tt.from, tt.imported); (what != "") != tt.refused {
			t.Errorf("%s importing %s: %q", tt.from, tt.imported, what)
		}
	}
}
