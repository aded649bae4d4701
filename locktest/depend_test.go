package locktest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// needed are the modules that locktest is made of: who tests a lock with it depends on these, and on no others.
var needed = []string{
	"github.com/alicebob/miniredis/v2", "github.com/anishathalye/porcupine", "github.com/cespare/xxhash/v2", "github.com/fatih/color",
	"github.com/mattn/go-colorable", "github.com/mattn/go-isatty", "github.com/redis/go-redis/v9", "github.com/yuin/gopher-lua",
	"go.uber.org/atomic", "golang.org/x/sys", "pgregory.net/rapid",
}

// A module that is new and imports nothing but locktest does not inherit the locks and file formats of the harness.
func TestAFreshModuleInheritsOnlyWhatIsNeeded(t *testing.T) {
	const module = "github.com/holdfast-sim/holdfast"
	dir := freshModule(t, map[string]string{"lock.go": "package fresh\n\nimport _ \"" + module + "/locktest\"\n"})
	list := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	list.Dir, list.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	got = slices.DeleteFunc(slices.Compact(got), func(m string) bool { return m == "fresh" || m == module })
	if !slices.Equal(got, needed) {
		t.Errorf("it depends on\n%s\nand needs\n%s", strings.Join(got, "\n"), strings.Join(needed, "\n"))
	}
}
