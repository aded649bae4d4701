package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
)

// desk hands stored runs out over HTTP. It only reads, and only files that runs leave. Reports and
// comparisons are rendered afresh, so that no page that lies in the folder is trusted with a
// script.
type desk struct {
	files fs.FS
	name  string // of the folder
	local bool   // whether only this machine can reach us

	working chan struct{} // one run at a time is loaded, judged and rendered: a long one takes gigabytes

	mu    sync.Mutex
	known map[string]shelved // by folder
}

// shelved is a run as it was when we last looked.
type shelved struct {
	verdict *checker.Verdict
	changed time.Time
}

func newDesk(files fs.FS, name string, local bool) http.Handler {
	d := &desk{files: files, name: name, local: local, working: make(chan struct{}, 1), known: map[string]shelved{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", d.index)
	mux.HandleFunc("GET /compare", d.compare)
	mux.HandleFunc("GET /searches/{search}/{file...}", d.search)
	mux.HandleFunc("GET /runs/{scenario}/{run}/recheck", d.recheck)
	mux.HandleFunc("GET /runs/{scenario}/{run}/all.zip", d.zip)
	mux.HandleFunc("GET /runs/{scenario}/{run}/{file}", d.file)
	return d.guarded(patient(mux))
}

// Policies for what a page may do. Ours run no script but the report's own.
const (
	strict = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// Porcupine's page is of an origin of its own: it can reach nothing of ours.
	pictures = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)

// stall is how long a reader may take for a part of what it is sent.
const stall = 30 * time.Second

// patient lets a reader take as long as it likes, as long as it goes on reading.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&slowly{w, http.NewResponseController(w)}, r)
	})
}

type slowly struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (s *slowly) Write(b []byte) (n int, err error) {
	const part = 64 << 10
	for {
		if err := s.control.SetWriteDeadline(time.Now().Add(stall)); err != nil {
			return n, err
		}
		wrote, err := s.ResponseWriter.Write(b[n:min(n+part, len(b))])
		if n += wrote; err != nil || n == len(b) {
			return n, err
		}
	}
}

// alone writes a page that takes time and memory while nobody else does. It ends when the reader leaves.
func (d *desk) alone(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) {
	page(w, func(b io.Writer) error {
		select {
		case d.working <- struct{}{}:
			defer func() { <-d.working }()
			return cmp.Or(write(b), r.Context().Err())
		case <-r.Context().Done():
			return r.Context().Err()
		}
	})
}

// guarded refuses what a stranger's page could have sent: a browser that was made to believe that
// another name is this machine's tells by the Host that it sends.
func (d *desk) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", strict)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if d.local && !loopback(r.Host) {
			http.Error(w, "this is served to this machine only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}

// index lists the runs.
func (d *desk) index(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wanted := reports.Wanted{Verdict: q.Get("verdict"), Scenario: q.Get("scenario"), Subject: q.Get("subject"), Seed: strings.TrimSpace(q.Get("seed"))}
	shelf, err := d.shelf()
	var b bytes.Buffer
	if err == nil {
		err = shelf.HTML(&b, wanted)
	}
	if err != nil {
		problem(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", strict+"; connect-src 'self'; script-src '"+reports.ShelfScriptHash()+"'")
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(b.Bytes())))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// runName is how folders of runs are called: the time, and the seed.
var runName = regexp.MustCompile(`^(\d{8}T\d{6}Z)-\d+(-\d+)?$`)

// shelf looks for runs; verdicts that have not changed are not read again.
func (d *desk) shelf() (reports.Shelf, error) {
	s := reports.Shelf{Name: d.name}
	scenarios, err := fs.ReadDir(d.files, ".")
	if err != nil {
		return s, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, scenario := range scenarios {
		if !scenario.IsDir() {
			continue
		}
		runs, err := fs.ReadDir(d.files, scenario.Name())
		if err != nil {
			continue // it is gone, or not for us
		}
		for _, run := range runs {
			if scenario.Name() == searchFolder && run.IsDir() {
				if info, err := fs.Stat(d.files, path.Join(searchFolder, run.Name(), reportFile)); err == nil {
					s.Searches = append(s.Searches, reports.Shelved{Path: run.Name(), When: info.ModTime()})
				}
				continue
			}
			match := runName.FindStringSubmatch(run.Name())
			if match == nil || !run.IsDir() {
				continue
			}
			one := reports.Shelved{Path: path.Join(scenario.Name(), run.Name())}
			one.When, _ = time.Parse("20060102T150405Z", match[1])
			if scenario.Name() == batchFolder {
				one.Name = d.batchName(one.Path)
				s.Batches = append(s.Batches, one)
				continue
			}
			if one.Verdict = d.verdict(one.Path); one.Verdict == nil {
				one.Of = d.unjudged(one.Path)
			}
			s.Runs = append(s.Runs, one)
		}
	}
	return s, nil
}

// batchName is the command that made many runs, or "" if that is not known.
func (d *desk) batchName(dir string) string {
	text, err := read(d.files, path.Join(dir, batchFile))
	var b storedBatch
	if err != nil || json.Unmarshal(text, &b) != nil {
		return ""
	}
	return b.Command
}

// unjudged is what is known of a run without a verdict: what its history begins with, or else its plan and its folder say.
func (d *desk) unjudged(dir string) reports.RunOf {
	_, seed, _ := strings.Cut(path.Base(dir), "-")
	seed, _, _ = strings.Cut(seed, "-")
	of := reports.RunOf{Scenario: path.Dir(dir), Seed: seed}
	begun := struct { // of one that was killed no more than that may be whole
		Scenario, Subject string
		Seed              uint64
	}{}
	if f, err := open(d.files, path.Join(dir, historyFile)); err == nil {
		defer f.Close()
		if json.NewDecoder(io.LimitReader(f, mostBytes)).Decode(&begun) == nil && begun.Scenario != "" {
			return reports.RunOf{Scenario: begun.Scenario, Subject: begun.Subject, Seed: fmt.Sprint(begun.Seed)}
		}
	}
	named := struct{ Name string }{}
	if text, err := read(d.files, path.Join(dir, planFile)); err == nil && json.Unmarshal(text, &named) == nil && named.Name != "" {
		of.Scenario = named.Name
	}
	return of
}

// verdict is a run's, or nil if there is none that can be read.
func (d *desk) verdict(dir string) *checker.Verdict {
	info, err := fs.Stat(d.files, path.Join(dir, verdictFile))
	if err != nil {
		return nil
	}
	if was, ok := d.known[dir]; ok && was.changed.Equal(info.ModTime()) {
		return was.verdict
	}
	v, err := loadVerdict(d.files, dir)
	if err != nil {
		return nil
	}
	if v != nil {
		v.Story, v.Explanation = nil, "" // a list needs neither
	}
	d.known[dir] = shelved{v, info.ModTime()}
	return v
}

// dir is the folder of the run that is asked for; ok is false if there can be none of that name.
func dir(r *http.Request) (string, bool) {
	scenario, run := r.PathValue("scenario"), r.PathValue("run")
	p := path.Join(scenario, run)
	return p, runName.MatchString(run) && fs.ValidPath(p) && path.Dir(p) == scenario
}

// load reads the run that is asked for, as it is shown.
func (d *desk) load(ctx context.Context, dir string) (reports.Run, error) {
	run, err := loadRun(ctx, d.files, dir)
	if err == nil {
		d.complete(ctx, &run, dir)
	}
	return run, err
}

// complete judges a run that has no verdict, and makes of a soak what its page shows.
func (d *desk) complete(ctx context.Context, run *reports.Run, dir string) {
	switch {
	case isSoak(run.History):
		soaked(ctx, run)
	case run.Verdict == nil:
		run.Verdict, _ = judge(ctx, run.History, judging(run.History))
	}
	run.Command = commandOf(*run, dir)
}

// contentTypes are the files that are handed out.
var contentTypes = map[string]string{
	reportFile: "text/html; charset=utf-8", pictureFile: "text/html; charset=utf-8",
	planFile: "application/json", verdictFile: "application/json",
	historyFile: "text/plain; charset=utf-8", serverFile: "text/plain; charset=utf-8",
}

// file hands out one file of a run. The report is rendered afresh.
func (d *desk) file(w http.ResponseWriter, r *http.Request) {
	dir, ok := dir(r)
	name := r.PathValue("file")
	kind := contentTypes[name]
	if !ok || kind == "" {
		http.NotFound(w, r)
		return
	}
	if name == reportFile && path.Dir(dir) != batchFolder {
		d.report(w, r, dir)
		return
	}
	content, err := open(d.files, path.Join(dir, name))
	if err != nil {
		problem(w, err)
		return
	}
	defer content.Close()
	switch name {
	case reportFile:
		w.Header().Set("Content-Security-Policy", manyRuns())
	case pictureFile: // its own policy, in the page, admits its scripts and no others
		w.Header().Set("Content-Security-Policy", pictures)
	}
	w.Header().Set("Content-Type", kind)
	if name == reportFile {
		sendPage(w, content)
		return
	}
	_, _ = io.Copy(w, content)
}

// manyRuns is the policy for stored pages about many runs: of their scripts it lets that of today run, which filters.
func manyRuns() string {
	return "sandbox allow-scripts; " + strict + "; script-src '" + reports.BatchScriptHash() + "'"
}

// sendPage sends a page as it is stored, with a way back to the list.
func sendPage(w http.ResponseWriter, content io.Reader) {
	stored, err := io.ReadAll(content)
	if err != nil {
		problem(w, err)
		return
	}
	_, _ = w.Write(reports.WithWayBack(stored, "/", allRuns))
}

const allRuns = "all runs"

// What a search leaves, besides its page: what is kept of each finding.
var (
	foundFile = regexp.MustCompile(`^found/[^/]+/(plan\.json|drawn\.json|story\.txt|reproduction_test\.go)$`)
	foundPage = regexp.MustCompile(`^found/[^/]+/[^/]+/[^/]+/(report|porcupine)\.html$`)
)

const searchFolder = "explore"

// search hands out one file of an exploration.
func (d *desk) search(w http.ResponseWriter, r *http.Request) {
	search, file := r.PathValue("search"), r.PathValue("file")
	at := path.Join(searchFolder, search, file)
	kept := foundPage.MatchString(file)
	if !fs.ValidPath(search) || strings.Contains(search, "/") || search == "." || !fs.ValidPath(file) || file != reportFile && !foundFile.MatchString(file) && !kept {
		http.NotFound(w, r)
		return
	}
	if kept && path.Base(at) == reportFile {
		d.report(w, r, path.Dir(at))
		return
	}
	content, err := open(d.files, at)
	if err != nil {
		problem(w, err)
		return
	}
	defer content.Close()
	if file == reportFile {
		w.Header().Set("Content-Security-Policy", manyRuns())
		w.Header().Set("Content-Type", contentTypes[reportFile])
		sendPage(w, content)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if kept {
		w.Header().Set("Content-Security-Policy", pictures)
		w.Header().Set("Content-Type", contentTypes[pictureFile])
	}
	_, _ = io.Copy(w, content)
}

// report renders the report of a run afresh.
func (d *desk) report(w http.ResponseWriter, r *http.Request, dir string) {
	w.Header().Set("Content-Security-Policy", strict+"; script-src '"+reports.ScriptHash()+"'")
	d.alone(w, r, func(b io.Writer) error {
		run, err := d.load(r.Context(), dir)
		if err != nil {
			return err
		}
		return reports.HTML(b, run.History, run.Verdict, reports.HTMLOptions{Command: run.Command, Picture: run.Picture, Long: run.Long})
	})
}

// zip packs a run's files.
func (d *desk) zip(w http.ResponseWriter, r *http.Request) {
	dir, ok := dir(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	var names []string
	var contents []fs.File
	for _, name := range slices.Sorted(maps.Keys(contentTypes)) {
		content, err := open(d.files, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			problem(w, err)
			return
		}
		defer content.Close()
		names, contents = append(names, name), append(contents, content)
	}
	if names == nil {
		problem(w, errNoRun)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", `attachment; filename="`+path.Base(dir)+`.zip"`)
	packed := zip.NewWriter(w)
	for i, name := range names {
		f, err := packed.Create(path.Join(path.Base(dir), name))
		if err == nil {
			_, err = io.Copy(f, contents[i])
		}
		if err != nil {
			panic(http.ErrAbortHandler) // a part of an archive must not pass for one
		}
	}
	if packed.Close() != nil {
		panic(http.ErrAbortHandler)
	}
}

// compare shows two runs side by side.
func (d *desk) compare(w http.ResponseWriter, r *http.Request) {
	dirs := r.URL.Query()["run"]
	if len(dirs) != 2 {
		http.Error(w, "choose two runs to compare", http.StatusBadRequest)
		return
	}
	for _, dir := range dirs {
		if !fs.ValidPath(dir) || !runName.MatchString(path.Base(dir)) || strings.Count(dir, "/") != 1 {
			http.Error(w, "there is no such run", http.StatusNotFound)
			return
		}
	}
	compares(w)
	d.alone(w, r, func(b io.Writer) error {
		var sides [2]reports.Side
		for i, dir := range dirs {
			run, err := d.load(r.Context(), dir)
			if err != nil {
				return err
			}
			sides[i] = reports.Side{Run: run, Title: dir, Href: (&url.URL{Path: "/runs/" + dir + "/" + reportFile}).EscapedPath()}
		}
		return reports.Compare(b, sides[0], sides[1])
	})
}

// compares admits the script of a comparison.
func compares(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", strict+"; script-src '"+reports.CompareScriptHash()+"'")
}

// recheck judges a run with the models of this program, and shows what they say beside the stored
// verdict. Nothing is written.
func (d *desk) recheck(w http.ResponseWriter, r *http.Request) {
	dir, ok := dir(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	compares(w)
	d.alone(w, r, func(b io.Writer) error {
		run, err := loadRun(r.Context(), d.files, dir)
		if err == nil && run.History == nil {
			err = errNoRun
		}
		if err != nil {
			return err
		}
		now := run
		now.Verdict = nil
		d.complete(r.Context(), &run, dir)
		d.complete(r.Context(), &now, dir)
		return reports.Compare(b, reports.Side{Run: run, Title: "as it was judged", Href: reportFile}, reports.Side{Run: now, Title: "as this program judges it now"})
	})
}

// page writes a page, or says why it cannot.
func page(w http.ResponseWriter, write func(io.Writer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		problem(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(reports.WithWayBack(b.Bytes(), "/", allRuns))
}

// problem says in plain text what went wrong, without telling paths of this machine.
func problem(w http.ResponseWriter, err error) {
	var at *fs.PathError
	var line *history.LineError
	switch {
	case errors.As(err, &line): // the run is at fault, and not who serves it
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoRun):
		http.Error(w, "there is no such run, or no such file of it", http.StatusNotFound)
	case errors.As(err, &at):
		http.Error(w, "that cannot be read", http.StatusForbidden)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
