package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/scenarios"
)

// served is a simrun serve in a process of its own.
type served struct {
	t   *testing.T
	url string // without the last slash
}

func startServe(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	cmd := exec.Command(simrun, append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("told to end, it ended with %v: %s", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	url, _, _ := strings.Cut(line, "/ shows")
	if strings.HasPrefix(line, "{") { // with -json
		var told serving
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			t.Fatal(err)
		}
		url = strings.TrimSuffix(told.URL, "/")
	}
	return &served{t, url}
}

// A program that starts serve with -json reads where the pages are.
func TestServeTellsMachinesWhereThePagesAre(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "simrun-out"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, dir, "-addr", "127.0.0.1:0", "-json")
	if resp, _ := s.get("/"); resp.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s", s.url, resp.Status)
	}
}

func (s *served) get(path string, change ...func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range change {
		c(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows nothing
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(body)
}

// stock makes a folder with runs, and returns it with the paths of two of them.
func stock(t *testing.T) (dir, death, base string) {
	t.Helper()
	dir = t.TempDir()
	run(t, dir, "-scenario", "watchdog-death")
	run(t, dir, "-scenario", "baseline", "-subject", "rlock-hardened", "-seed", "7")
	run(t, dir, "-scenario", "all", "-subject", "rlock-classic")
	path := func(scenario, like string) string {
		found, err := filepath.Glob(filepath.Join(dir, "simrun-out", scenario, "2*-"+like))
		if err != nil || len(found) == 0 {
			t.Fatalf("no run of %s: %v", scenario, err)
		}
		return scenario + "/" + filepath.Base(found[0])
	}
	return dir, path("watchdog-death", "1"), path("baseline", "7")
}

func TestServeListsAndFilters(t *testing.T) {
	dir, death, base := stock(t)
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	all := regexp.MustCompile(`name="run" value="([^"]+)"`)
	list := func(query string) string {
		_, body := s.get("/" + query)
		var paths []string
		for _, m := range all.FindAllStringSubmatch(body, -1) {
			paths = append(paths, m[1])
		}
		return strings.Join(paths, " ")
	}
	old := filepath.Join(dir, "simrun-out", "baseline", "20200101T000000Z-3")
	if err := os.Mkdir(old, 0o777); err != nil { // a run that was killed before anything was written
		t.Fatal(err)
	}
	got := list("")
	if !strings.Contains(got, death) || !strings.Contains(got, base) || !strings.HasSuffix(got, "20200101T000000Z-3") {
		t.Errorf("listed, the newest first: %s", got)
	}
	for query, want := range map[string]string{
		"?seed=7": base, "?scenario=baseline": base + " baseline/20200101T000000Z-3", "?scenario=baseline&seed=3": "baseline/20200101T000000Z-3", "?subject=rlock-latch": death, "?verdict=HOLDS": base,
		"?verdict=REPRODUCED&subject=rlock-latch": death, "?seed=12345": "",
	} {
		if got := list(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if _, body := s.get("/"); !strings.Contains(body, `/runs/batch/`) || !strings.Contains(body, "-scenario all -subject rlock-classic") {
		t.Error("the page about many runs is not listed by the command that made it")
	}
}

// A run that was killed is listed by what its history begins with, however large its plan is; else by its plan, and by its folder.
func TestServeNamesRunsThatWereKilled(t *testing.T) {
	dir := t.TempDir()
	for name, files := range map[string]map[string]string{
		"cut/20200101T000000Z-3": {"history.jsonl": `{"record":"header","version":1,"scenario":"cut short","subject":"rlock-classic","seed":18446744073709551615,"plan":{"story":"` +
			strings.Repeat("x", 1<<20) + `"}}` + "\n" + `{"record":"op","id":1,`},
		"planned/20200101T000000Z-4":   {"plan.json": `{"version":1,"name":"as planned"}`, "history.jsonl": `{"record":"header","scen`},
		"nothing/20200101T000000Z-5-2": {},
	} {
		at := filepath.Join(dir, "simrun-out", filepath.FromSlash(name))
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(at, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, body := startServe(t, dir, "-addr", "127.0.0.1:0").get("/")
	for _, want := range []string{
		`<bdi>cut short</bdi></a></td><td><bdi>rlock-classic</bdi></td><td class="num">18446744073709551615</td>`,
		`<bdi>as planned</bdi></a></td><td><bdi></bdi></td><td class="num">4</td>`,
		`<bdi>nothing</bdi></a></td><td><bdi></bdi></td><td class="num">5</td>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the list lacks %s:\n%s", want, body)
		}
	}
}

// An exploration is listed by its name, and leads to all that is kept of what it found, and back.
func TestServeShowsExplorations(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "explore", "-subject", "broken-unlock-twice", "-first", "-faults", "none")
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	before, list := s.get("/")
	link := regexp.MustCompile(`href="(/searches/broken-unlock-twice-[^"]*/)report.html"`).FindStringSubmatch(list)
	if link == nil {
		t.Fatalf("no exploration in\n%s", list)
	}
	_, page := s.get(link[1] + "report.html")
	if !strings.Contains(page, `<nav><a href="/">`) {
		t.Error("no way back")
	}
	leads := regexp.MustCompile(`href="(found/[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(leads) < 5 {
		t.Errorf("leads to %v", leads)
	}
	for _, l := range leads {
		if resp, body := s.get(link[1] + html.UnescapeString(l[1])); resp.StatusCode != 200 || body == "" {
			t.Errorf("%s: %s", l[1], resp.Status)
		}
	}
	for _, not := range []string{"state.jsonl", "found/x/plan.json/..", "found/a/b", "../batch/latest/report.html", "found/../state.jsonl"} {
		if resp, _ := s.get(link[1] + strings.ReplaceAll(not, "..", "%2e%2e")); resp.StatusCode == 200 {
			t.Errorf("%s is handed out", not)
		}
	}
	// Whoever looks sees by the list's tag that a run came.
	run(t, dir, "-scenario", "watchdog-death")
	same, _ := s.get("/")
	again, _ := s.get("/")
	if a, b, c := before.Header.Get("ETag"), same.Header.Get("ETag"), again.Header.Get("ETag"); a == "" || a == b || b != c {
		t.Errorf("tags %q, after a run %q and %q", a, b, c)
	}
}

func TestServeHandsOutRuns(t *testing.T) {
	dir, death, base := stock(t)
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	for path, want := range map[string]string{
		"/runs/" + death + "/report.html":                     "Did <b>rlock-latch</b> keep its promises in <b>watchdog-death</b>?",
		"/runs/" + death + "/verdict.json":                    `"guarantee": "exclusion"`,
		"/runs/" + death + "/plan.json":                       "pause-watchdog",
		"/runs/" + death + "/history.jsonl":                   `"record":"header"`,
		"/runs/" + death + "/porcupine.html":                  "jump to first error",
		"/runs/" + death + "/recheck":                         "They agree on every guarantee.",
		"/compare?run=" + death + "&run=" + base:              "They differ in",
		"/runs/batch/" + latestBatch(t, dir) + "/report.html": fmt.Sprintf("What did %[1]d runs of %[1]d scenarios with 1 lock show?", len(scenarios.All())),
	} {
		resp, body := s.get(path)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %s, without %q", path, resp.Status, want)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", path, resp.Header)
		}
	}
	_, packed := s.get("/runs/" + death + "/all.zip")
	z, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 6 {
		t.Errorf("%d files packed", len(z.File))
	}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(in)
		want, err := os.ReadFile(filepath.Join(dir, "simrun-out", "watchdog-death", f.Name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is packed otherwise than it is: %v", f.Name, err)
		}
	}
}

var scripts = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// The policy that is sent with a page admits the script that is in it, and the page's own says the same.
func TestServeAdmitsTheScriptsOfItsPages(t *testing.T) {
	dir, death, base := stock(t)
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	for _, path := range []string{"/", "/runs/" + death + "/report.html", "/runs/" + death + "/recheck", "/compare?run=" + death + "&run=" + base,
		"/runs/batch/" + latestBatch(t, dir) + "/report.html"} {
		resp, body := s.get(path)
		script := scripts.FindStringSubmatch(body)
		if script == nil {
			t.Errorf("%s: no script", path)
			continue
		}
		sum := sha256.Sum256([]byte(script[1]))
		admits := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, admits) || !strings.Contains(html.UnescapeString(body), admits) {
			t.Errorf("%s: the policy does not admit its script (%s): %s", path, admits, policy)
		}
	}
}

func latestBatch(t *testing.T, dir string) string {
	t.Helper()
	name, err := os.Readlink(filepath.Join(dir, "simrun-out", "batch", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// A verdict by other models than today's is shown as it was, beside what they say now.
func TestServeChecksAgainWithoutWriting(t *testing.T) {
	dir, death, _ := stock(t)
	file := filepath.Join(dir, "simrun-out", filepath.FromSlash(death), "verdict.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v checker.Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	v.Results[1].Status, v.Results[1].Violations = checker.Holds, nil
	text, _ = json.Marshal(v)
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	if _, body := s.get("/runs/" + death + "/recheck"); !strings.Contains(body, "They differ in 1 guarantee.") || !strings.Contains(body, "as this program judges it now") {
		t.Errorf("no difference is shown:\n%.2000s", body)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, text) {
		t.Error("the stored verdict was changed")
	}
}

func TestServeGivesNothingElseAway(t *testing.T) {
	dir, death, _ := stock(t)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("the secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "simrun-out", filepath.FromSlash(death))
	link := filepath.Join(folder, "server.jsonl")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "simrun-out", "baseline", "20000101T000000Z-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), []byte("the secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, dir, "-addr", "127.0.0.1:0")
	raw := func(path string) func(*http.Request) {
		return func(r *http.Request) { r.URL.Opaque = path }
	}
	for _, path := range []string{
		"/runs/" + death + "/server.jsonl", "/runs/" + death + "/all.zip", "/runs/" + death + "/report.html", "/runs/" + death + "/notes.txt",
		"/runs/../../secret", "/runs/..%2f../secret/x", "/runs/%2e%2e/%2e%2e/secret", "/secret", "/../secret", "/runs/baseline/20000101T000000Z-1/plan.json",
		"/runs/%2e%2e/20000101T000000Z-1/plan.json", "/compare?run=../secret&run=" + death, "/compare?run=..&run=..", "/compare?run=" + death,
		"/runs/baseline/latest/plan.json", "/runs/" + death + "/", "/runs/", "/" + death + "/report.html", "/runs/watchdog-death%2f../baseline/20000101T000000Z-1/plan.json",
	} {
		resp, body := s.get("/", raw(path))
		if strings.Contains(body, "the secret") || resp.StatusCode == http.StatusOK || strings.Contains(body, dir) {
			t.Errorf("%s: %s %.200s", path, resp.Status, body)
		}
	}
	if resp, _ := s.get("/", func(r *http.Request) { r.Host = "holdfast.example:8317" }); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a request for another host's name: %s", resp.Status)
	}
	if resp, _ := s.get("/", func(r *http.Request) { r.Host = "localhost:8317" }); resp.StatusCode != http.StatusOK {
		t.Errorf("a request for localhost: %s", resp.Status)
	}
	if resp, _ := s.get("/", func(r *http.Request) { r.Method = http.MethodPost }); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", resp.Status)
	}
}

func TestServeSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ args, want string }{
		{"serve -out none-such", "run a scenario first"},
		{"serve -adr x", "did you mean -addr?"},
		{"serve now", `stray argument "now"`},
		{"serve -out . -addr 999.1.1.1:1", "-addr 999.1.1.1:1"},
	} {
		stdout, stderr, code := run(t, dir, strings.Fields(tt.args)...)
		if code != checker.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", tt.args, code, stdout, stderr)
		}
	}
}

// A reader that is not done when serve is told to end is let go, and no failure of the program.
func TestAReaderDoesNotKeepServeFromItsEnd(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "baseline", "20260101T000000Z-1")
	if err := errors.Join(os.MkdirAll(folder, 0o777), os.WriteFile(filepath.Join(folder, serverFile), nil, 0o666),
		os.Truncate(filepath.Join(folder, serverFile), 64<<20)); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	said, say := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- serve(ctx, []string{"-addr", "127.0.0.1:0", "-out", dir}, say, &stderr) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "http://"), "/")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /runs/baseline/20260101T000000Z-1/%s HTTP/1.1\r\nHost: %s\r\n\r\n", serverFile, address)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	end()
	if code := <-ended; code != checker.ExitExpected || stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
