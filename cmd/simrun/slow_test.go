//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// A pipe in the place of a file would be waited for for ever.
func TestAPipeInAFolderHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{historyFile, serverFile, verdictFile, planFile} {
		folder := filepath.Join(dir, "simrun-out/baseline", fmt.Sprintf("20260101T00000%dZ-1", i))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, historyFile), []byte(`{"record":"header","version":1,"clock":"virtual","world":"sim","subject":"s","seed":1}`+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(folder, name))
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o666); err != nil {
			t.Fatal(err)
		}
		if name != planFile {
			for _, command := range []string{"check", "report"} {
				if _, stderr, code := run(t, dir, command, folder); command == "report" && name != serverFile && (code != 254 || !strings.Contains(stderr, "no regular file")) {
					t.Errorf("%s: exit code %d: %s", name, code, stderr)
				}
			}
		}
		s := startServe(t, dir, "-addr", "127.0.0.1:0")
		for _, path := range []string{"/", "/runs/baseline/" + filepath.Base(folder) + "/" + name, "/runs/baseline/" + filepath.Base(folder) + "/report.html",
			"/runs/baseline/" + filepath.Base(folder) + "/all.zip", "/runs/baseline/" + filepath.Base(folder) + "/recheck"} {
			if resp, body := s.get(path); resp.StatusCode == http.StatusOK && path != "/" && (name != planFile && name != verdictFile || strings.HasSuffix(path, name) || strings.HasSuffix(path, "zip")) {
				t.Errorf("%s, %s: %s %.100s", name, path, resp.Status, body)
			}
		}
	}
}

// A reader that stops reading is let go, and one that leaves is waited for by nobody.
func TestSlowReadersOfServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"baseline/20260101T000000Z-1/" + serverFile: {Data: []byte(strings.Repeat("x", 1<<20))}}
		d := newDesk(files, "runs", false)
		ours, theirs := net.Pipe()
		server := &http.Server{Handler: d, WriteTimeout: stall}
		go func() { _ = server.Serve(&once{c: ours, closed: make(chan struct{})}) }()
		fmt.Fprint(theirs, "GET /runs/baseline/20260101T000000Z-1/server.jsonl HTTP/1.1\r\nHost: x\r\n\r\n")
		part := make([]byte, 1000)
		read := 0
		for range 100 { // slowly, but it reads
			n, err := theirs.Read(part)
			if err != nil {
				t.Fatalf("after %d bytes: %v", read, err)
			}
			read += n
			time.Sleep(time.Second / 10)
		}
		begun := time.Now()
		time.Sleep(3 * stall) // it reads no more
		for {
			n, err := theirs.Read(part)
			if read += n; err != nil {
				break
			}
		}
		if read > 1<<20 || time.Since(begun) > 4*stall {
			t.Errorf("it was sent %d bytes, until %v", read, time.Since(begun))
		}
		theirs.Close()
		_ = server.Close()
	})
}

// once is a listener of one connection.
type once struct {
	c      net.Conn
	closed chan struct{}
}

func (o *once) Accept() (net.Conn, error) {
	if c := o.c; c != nil {
		o.c = nil
		return c, nil
	}
	<-o.closed
	return nil, net.ErrClosed
}
func (o *once) Close() error   { close(o.closed); return nil }
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

// While one run is judged another waits, but not for a reader that has left.
func TestServeDoesOneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{working: make(chan struct{}, 1)}
		at, most := 0, 0
		work := func(ctx context.Context) {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			d.alone(httptest.NewRecorder(), r, func(io.Writer) error {
				at++
				most = max(most, at)
				time.Sleep(time.Minute)
				at--
				return nil
			})
		}
		left, leave := context.WithCancel(t.Context())
		for range 3 {
			go work(t.Context())
		}
		synctest.Wait()
		gone := make(chan struct{})
		go func() {
			work(left)
			close(gone)
		}()
		synctest.Wait()
		leave()
		<-gone
		if now := at; now != 1 {
			t.Errorf("%d are under way", now)
		}
		time.Sleep(10 * time.Minute)
		if most != 1 {
			t.Errorf("%d were under way at once", most)
		}
	})
}
