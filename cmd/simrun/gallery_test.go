package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/scenarios"
)

// gallery are the scenarios that docs/gallery.md shows.
var gallery = []string{"watchdog-death", "partition-holder", "key-expiry", "old-owner-unlock", "baseline"}

const galleryIntro = `# Gallery

Real reports of %d scenarios, as ` + "`simrun`" + ` writes them. Each is one file that needs no network: download it
and open it in a browser. In the picture, time runs from left to right and to scale; a lane for each owner
shows what it believed, a lane for each lock what the server knew.

This page, its pictures and its reports are made by

    HOLDFAST_GALLERY=1 go test ./cmd/simrun -run TestGallery

(it needs Chromium), and a test holds them to what the program says today.

`

// TestGallery holds docs/gallery.md to what the program says. HOLDFAST_GALLERY=1 has it write the
// page, its reports and pictures, and the README's picture, all anew.
func TestGallery(t *testing.T) {
	const docs = "../../docs"
	renew := os.Getenv("HOLDFAST_GALLERY") != ""
	var page bytes.Buffer
	fmt.Fprintf(&page, galleryIntro, len(gallery))
	dir := t.TempDir()
	for _, name := range gallery {
		s, ok := scenarios.Find(name)
		if !ok {
			t.Fatalf("there is no scenario %s", name)
		}
		out, stderr, code := run(t, dir, "-scenario", name, "-json")
		var v checker.Verdict
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != checker.ExitExpected {
			t.Fatalf("%s: exit code %d, %v, %s", name, code, err, stderr)
		}
		fmt.Fprintf(&page, "## %s\n\n%s (`%s`, lock `%s`).\n\n[![the timeline of %s](gallery/%s.png)](gallery/%s.html)\n\n%s\n\n    %s\n\n",
			name, strings.ToUpper(s.Title[:1])+s.Title[1:], name, v.Subject, name, name, name, v.Explanation, "go run ./cmd/simrun -scenario "+name)
	}
	text := append(bytes.TrimRight(page.Bytes(), "\n"), '\n')
	file := filepath.Join(docs, "gallery.md")
	if renew {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		drawGallery(t, dir, docs)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, text) {
		t.Errorf("docs/gallery.md is not what the program says today (%v); HOLDFAST_GALLERY=1 go test ./cmd/simrun -run TestGallery writes it anew", err)
	}
	for _, name := range gallery {
		for _, suffix := range []string{".html", ".png"} {
			if _, err := os.Stat(filepath.Join(docs, "gallery", name+suffix)); err != nil {
				t.Error(err)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(docs, "img", "report.png")); err != nil || info.Size() > 200_000 {
		t.Errorf("the README's picture: %v, or too large", err)
	}
}

// drawGallery writes the reports in dir and their pictures to docs.
func drawGallery(t *testing.T, dir, docs string) {
	t.Helper()
	tb := newTab(t)
	for _, folder := range []string{"gallery", "img"} {
		if err := os.MkdirAll(filepath.Join(docs, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	shoot := func(selector, file string) {
		png, err := chromedp.Run(tb.ctx, chromedp.Screenshot(chromedp.CSS(selector)))
		if err == nil {
			err = os.WriteFile(filepath.Join(docs, file), png, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range gallery {
		report := filepath.Join(dir, "simrun-out", name, "latest", reportFile)
		text, err := os.ReadFile(report)
		if err == nil {
			err = os.WriteFile(filepath.Join(docs, "gallery", name+".html"), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		tb.do(chromedp.EmulateViewport(1160, 900))
		tb.open("file://"+report, "#timeline svg.drawing")
		shoot("figure", "gallery/"+name+".png")
		if name == gallery[0] { // for the README: the answer and the picture
			tb.do(chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll("section:not([aria-labelledby=h-picture]), footer")) e.hidden = true`))
			shoot("main", "img/report.png")
		}
	}
}
