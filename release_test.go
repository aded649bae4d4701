package holdfast_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const homepage = "https://" + module

// A release is what .goreleaser.yaml says, as far as it is of ours: files, folders, names and systems. What goreleaser makes of
// it, its schema knows.
type release struct {
	Before struct{ Hooks []string }
	Builds []struct {
		ID, Main, Binary    string
		Goos, Goarch, Flags []string
		Ldflags             []string
		Env                 []string
	}
	Archives []struct {
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []string
	}
	Sboms []struct {
		Cmd       string
		Args      []string
		Documents []string
	}
	Docker []struct {
		IDs        []string `yaml:"ids"`
		Dockerfile string
		Platforms  []string
	} `yaml:"dockers_v2"`
	Casks []struct {
		Binaries []string
		Homepage string
	} `yaml:"homebrew_casks"`
	Changelog struct{ Disable bool }
}

// What is to be released is there, and goreleaser knows each key.
func TestTheReleaseIsMadeOfWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range wrongInRelease(t, text) {
		t.Error(wrong)
	}
}

// A release that could not be made is refused.
func TestAReleaseThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"main: ./cmd/simrun", "main: ./cmd/simrum", "./cmd/simrum is no program"},
		{"main: ./cmd/simrun", "main: ./reports", "./reports is no program"},
		{"goos: [linux, darwin, windows]", "goos: [linux, darwin, windows, plan9]", "plan9/amd64"},
		{"goarch: [amd64, arm64]", "goarch: [amd64, arm46]", "linux/arm46"},
		{"goarch: [amd64, arm64]", "goarch: [amd64]", "linux/arm64 is not built"},
		{"ldflags: [-s, -w]", "ldflags: [-s, -w, -X main.version=1]", "main.version is no variable"},
		{"ldflags: [-s, -w]", "ldflags: [-s, -w, -X main.starterPlan=1]", ""},
		{"ldflags: [-s, -w]", "ldflags: [-s, -w, -X github.com/holdfast-sim/holdfast/checker.maxMoments=1]", "checker.maxMoments is no variable"},
		{"files: [LICENSE,", "files: [LICENCE,", "LICENCE is not there"},
		{"dockerfile: Dockerfile", "dockerfile: Containerfile", "Containerfile is not there"},
		{"binary: simrun", "binary: simulate", "Dockerfile does not copy simulate"},
		{"binaries: [simrun]", "binaries: [simulate]", "simulate is not built"},
		{"ids: [simrun]", "ids: [simulate]", "simulate is not built"},
		{"homepage: https://", "homepage: http://", "the home page is"},
		{"goos: windows", "goos: beos", "beos is not built"},
		{"{{ .CommitTimestamp }}", "{{ .CommitTimestam }}", "no field .CommitTimestam"},
		{"{{ .CommitTimestamp }}", "{{ .CommitTimestamp ", "no template"},
		{"{{ .Binary }}", "{{ .Binary | shout }}", "no template"},
		{"archives:", "archive:", "additional properties 'archive' not allowed"},
		{"sboms:", "dockers: {}\nsboms:", "/dockers"},
		{"formats: [tar.gz]", "formats: [tar.gzip]", "tar.gzip"},
		{"checksum:\n", "checksum: [\n", "no YAML"},
		{"go mod download", "go mod downloads", "go mod downloads"},
		{"$artifact]", "$artefact]", "$artefact"},
		{"cyclonedx-gomod@v1.10.0", "cyclonedx-gomod", "without its version"},
		{"disable: true", "disable: false", "CHANGELOG.md"},
	} {
		if !bytes.Contains(text, []byte(tt.from)) {
			t.Errorf("there is no %q to replace", tt.from)
			continue
		}
		wrong := wrongInRelease(t, bytes.Replace(text, []byte(tt.from), []byte(tt.to), 1))
		if tt.want == "" && len(wrong) > 0 || tt.want != "" && !strings.Contains(strings.Join(wrong, "\n"), tt.want) {
			t.Errorf("with %q: %q, want %q", tt.to, wrong, tt.want)
		}
	}
}

// Each program compiles as it is released, for each system. That takes long, so that a short test has the first system
// alone, and not -trimpath, with which all packages are compiled anew.
func TestTheReleaseCompiles(t *testing.T) {
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var r release
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Builds {
		all, flags := targets(b.Goos, b.Goarch), b.Flags
		if testing.Short() {
			all, flags = all[:1], slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "-trimpath" })
		}
		for _, target := range all {
			system, machine, _ := strings.Cut(target, "/")
			args := slices.Concat([]string{"build", "-o", filepath.Join(t.TempDir(), b.Binary)}, flags, []string{"-ldflags", strings.Join(b.Ldflags, " "), b.Main})
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Env = slices.Concat(os.Environ(), b.Env, []string{"GOOS=" + system, "GOARCH=" + machine})
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", target, err, out)
			}
		}
	}
}

// wrongInRelease says why a release could not be made, as far as that shows without making it.
func wrongInRelease(t *testing.T, text []byte) (wrong []string) {
	t.Helper()
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var whole any
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return []string{"it is no YAML: " + err.Error()}
	}
	if err := goreleaserSchema(t).Validate(plain(t, whole)); err != nil {
		return []string{err.Error()}
	}
	var r release
	if err := yaml.Unmarshal(text, &r); err != nil {
		return []string{err.Error()}
	}
	for _, s := range textsOf(whole) {
		for _, what := range wrongInTemplate(s) {
			refuse("%q: %s", s, what)
		}
	}
	for _, hook := range r.Before.Hooks {
		if !slices.Contains([]string{"go mod download", "go mod tidy", "go generate ./..."}, hook) {
			refuse("before the builds %q would run", hook)
		}
	}
	built, binaries, systems := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, b := range r.Builds {
		built[b.ID], binaries[b.Binary] = b.Binary, true
		if !isProgram(b.Main) {
			refuse("%s is no program", b.Main)
		}
		for _, target := range targets(b.Goos, b.Goarch) {
			if systems[target] = true; !compiled(t, target) {
				refuse("%s is not compiled by .ci/run", target)
			}
		}
		flags := strings.Join(b.Ldflags, " ")
		for _, x := range setByLinker.FindAllStringSubmatch(flags, -1) {
			if !isVariable(x[1], x[2], b.Main) {
				refuse("%s.%s is no variable that the linker can set", x[1], x[2])
			}
		}
	}
	for _, a := range r.Archives {
		formats := slices.Clone(a.Formats)
		for _, o := range a.FormatOverrides {
			formats = append(formats, o.Formats...)
			if !systems[o.Goos+"/amd64"] {
				refuse("%s is not built", o.Goos)
			}
		}
		for _, f := range formats {
			if !slices.Contains([]string{"tar.gz", "tgz", "tar.xz", "txz", "tar.zst", "tzst", "tar", "gz", "zip", "binary"}, f) {
				refuse("archives have no format %s", f)
			}
		}
		for _, pattern := range a.Files {
			if files, _ := filepath.Glob(pattern); len(files) == 0 {
				refuse("%s is not there", pattern)
			}
		}
	}
	for _, s := range r.Sboms {
		for _, arg := range s.Args {
			if arg[0] == '$' && arg != "$artifact" && !regexp.MustCompile(`^\$document\d?$`).MatchString(arg) {
				refuse("%s is nothing that goreleaser sets", arg)
			}
			if strings.HasPrefix(arg, "github.com/") && !strings.Contains(arg, "@v") {
				refuse("%s would run without its version", arg)
			}
		}
	}
	for _, d := range r.Docker {
		dockerfile, err := os.ReadFile(d.Dockerfile)
		if err != nil {
			refuse("%s is not there", d.Dockerfile)
		}
		for _, id := range d.IDs {
			if binary, is := built[id]; !is {
				refuse("%s is not built", id)
			} else if err == nil && !bytes.Contains(dockerfile, []byte("COPY ${TARGETPLATFORM}/"+binary+" ")) {
				refuse("%s does not copy %s", d.Dockerfile, binary)
			}
		}
		for _, p := range d.Platforms {
			if !systems[p] {
				refuse("%s is not built", p)
			}
		}
	}
	for _, c := range r.Casks {
		for _, binary := range c.Binaries {
			if !binaries[binary] {
				refuse("%s is not built", binary)
			}
		}
		if c.Homepage != homepage {
			refuse("the home page is %s, not %s", homepage, c.Homepage)
		}
	}
	if !r.Changelog.Disable {
		refuse("goreleaser would write what CHANGELOG.md has")
	}
	return wrong
}

// plain is YAML as JSON has it.
func plain(t *testing.T, whole any) any {
	t.Helper()
	b, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func goreleaserSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	b, err := os.ReadFile("testdata/goreleaser/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("goreleaser.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("goreleaser.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func targets(systems, machines []string) (all []string) {
	for _, s := range systems {
		for _, m := range machines {
			all = append(all, s+"/"+m)
		}
	}
	return all
}

// compiled reports whether Go knows a system and .ci/run compiles for it: it runs on Linux, and names the others.
func compiled(t *testing.T, target string) bool {
	t.Helper()
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
	system, _, _ := strings.Cut(target, "/")
	named := regexp.MustCompile(`for target in .*\b` + system + `/`).Match(ci)
	return slices.Contains(known, target) && (system == "linux" || named)
}

// isProgram reports whether a folder has a Go program.
func isProgram(folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		main := func(d ast.Decl) bool {
			f, is := d.(*ast.FuncDecl)
			return is && f.Recv == nil && f.Name.Name == "main"
		}
		return err == nil && f.Name.Name == "main" && slices.ContainsFunc(f.Decls, main)
	})
}

var setByLinker = regexp.MustCompile(`-X[ =]'?([^ '=]+)\.([A-Za-z_][A-Za-z0-9_]*)=`)

// isVariable reports whether a package has a string variable of a name, at its top.
func isVariable(pkg, name, program string) bool {
	folder, ours := strings.CutPrefix(pkg, module)
	switch {
	case pkg == "main":
		folder = program
	case !ours:
		return false
	}
	files, _ := filepath.Glob(path.Join(".", folder, "*.go"))
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			g, is := d.(*ast.GenDecl)
			if !is || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				typ, named := v.Type.(*ast.Ident)
				text := named && typ.Name == "string" || v.Type == nil && len(v.Values) == 1 && isText(v.Values[0])
				if text && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}

func isText(e ast.Expr) bool {
	lit, is := e.(*ast.BasicLit)
	return is && lit.Kind == token.STRING
}

// textsOf are all texts of a document.
func textsOf(doc any) (texts []string) {
	switch doc := doc.(type) {
	case string:
		return []string{doc}
	case []any:
		for _, d := range doc {
			texts = append(texts, textsOf(d)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(doc)) {
			texts = append(texts, textsOf(doc[k])...)
		}
	}
	return texts
}

// goreleaserFields are the fields that goreleaser's templates have. Those of an artifact are among them.
var goreleaserFields = strings.Fields(`ProjectName Version RawVersion Tag PreviousTag Branch Commit ShortCommit FullCommit CommitDate CommitTimestamp
	GitURL Summary TagSubject TagContents TagBody ReleaseURL IsGitDirty IsGitClean GitTreeState Major Minor Patch Prerelease IsSnapshot
	IsSingleTarget IsNightly IsDraft Env Date Now Timestamp ModulePath ReleaseNotes Runtime Os Arch Amd64 I386 Arm Arm64 Mips Ppc64 Riscv64
	Binary ArtifactName ArtifactExt ArtifactPath Name Ext Path Target`)

// goreleaserFunctions are the functions that they have besides those of Go.
var goreleaserFunctions = strings.Fields(`replace split time contains tolower toupper trim trimprefix trimsuffix title dir base abs incmajor incminor
	incpatch filter reverseFilter envOrDefault isEnvSet map indexOrDefault urlPathEscape readFile mustReadFile englishJoin list`)

// wrongInTemplate says what a text has that goreleaser would not fill in.
func wrongInTemplate(text string) (wrong []string) {
	functions := template.FuncMap{}
	for _, name := range goreleaserFunctions {
		functions[name] = func(...any) string { return "" }
	}
	parsed, err := template.New("").Funcs(functions).Parse(text)
	if err != nil {
		return []string{"no template: " + err.Error()}
	}
	var walk func(n parse.Node)
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			for _, n := range n.Nodes {
				walk(n)
			}
		case *parse.ActionNode:
			walk(n.Pipe)
		case *parse.PipeNode:
			for _, c := range n.Cmds {
				walk(c)
			}
		case *parse.CommandNode:
			for _, a := range n.Args {
				walk(a)
			}
		case *parse.FieldNode:
			if !slices.Contains(goreleaserFields, n.Ident[0]) {
				wrong = append(wrong, "goreleaser has no field ."+n.Ident[0])
			}
		}
	}
	if parsed.Tree != nil {
		walk(parsed.Root)
	}
	return wrong
}
