package checker

import (
	"bytes"
	"encoding/json"
	"errors"
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
)

// layers are the rooms of this package, each of which may use those before it, and none after it. The walls between them
// are this test: as packages they would have to export two hundred names for each other.
var layers = []struct{ name, files string }{
	{"data", "doc verdict options"},
	{"facts", "unlocked assume facts served queue environment tenure belief overlaps rwholds members specification"},
	{"judges", ""}, // and causes: every file that no other layer names
	{"object", "known witness blackbox composite object counted countedliveness permits permitsliveness surelyfree leases latch"},
	{"verdict", "kinds story permitsstory leasesstory latchstory explain judge picture tally stream"},
}

func TestNoLayerUsesOneAfterIt(t *testing.T) {
	level, judges := map[string]int{}, 0
	for i, l := range layers {
		if l.files == "" {
			judges = i
		}
		for _, file := range strings.Fields(l.files) {
			level[file+".go"] = i
		}
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	listed, others := 0, 0
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if _, known := level[name]; known {
			listed++
		} else {
			others++
			level[name] = judges
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	if listed+others != len(level) {
		t.Errorf("%d files are in layers, of which there are %d", len(level)-others, listed)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(files, "gc", exports(t))}
	pkg, err := conf.Check("checker", files, parsed, info)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for id, used := range info.Uses {
		if used.Pkg() != pkg {
			continue
		}
		from, to := files.Position(id.Pos()), files.Position(used.Pos())
		looked++
		if level[from.Filename] < level[to.Filename] {
			t.Errorf("%s uses %s of %s: layer %s may not know layer %s", from, id.Name, to.Filename, layers[level[from.Filename]].name, layers[level[to.Filename]].name)
		}
	}
	if looked < 1000 {
		t.Errorf("only %d uses were looked at", looked)
	}
}

// exports finds what the compiler left of each package that this one imports.
func exports(t *testing.T) importer.Lookup {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for all := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		of[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(of[path]) }
}
