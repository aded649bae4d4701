package warp_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/warp"
)

// The clock of the tests' worlds begins here.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is a coordinator, and the time.
type world struct {
	*warp.Coordinator
	now time.Time
}

// newWorld makes one that ends with the test. A machine without a C compiler has none.
func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_PYTHON") == "1" {
			t.Fatal("HOLDFAST_REQUIRE_PYTHON=1, but no cc is on PATH")
		}
		t.Skip("no cc is on PATH")
	}
	w := &world{now: began}
	c, err := warp.New(began, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.Coordinator = c
	return w
}

// play runs a program to its end, and returns what it wrote, how it ended and how much time had passed then.
func (w *world) play(t *testing.T, words ...string) (out, ending string, passed time.Duration, err error) {
	t.Helper()
	p, err := w.Start(words)
	if err != nil {
		return "", "", 0, err
	}
	for {
		did, next, err := w.Rest(nil)
		if err != nil {
			return "", "", w.now.Sub(began), err
		}
		select {
		case <-p.Exited():
			if did {
				continue // there may be more to read
			}
			p.Out().Close()
			p.Err().Close()
			text, _ := io.ReadAll(p.Out())
			errs, _ := io.ReadAll(p.Err())
			return string(text) + string(errs), p.Ending(), w.now.Sub(began), nil
		default:
		}
		switch {
		case did:
		case next.IsZero():
			return "", "", w.now.Sub(began), errors.New("it waits for ever")
		default:
			w.now = next
			w.Wake()
		}
	}
}

func python(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_PYTHON") == "1" {
			t.Fatal("HOLDFAST_REQUIRE_PYTHON=1, but there is no python3")
		}
		t.Skip("there is no python3")
	}
	return strings.TrimSpace(string(out))
}

func TestAnHourOfSleepPassesAtOnce(t *testing.T) {
	begun := time.Now()
	out, ending, passed, err := newWorld(t).play(t, "sleep", "3600")
	if err != nil || out != "" || ending != "exit status 0" || passed != time.Hour {
		t.Errorf("%q, %s after %v: %v", out, ending, passed, err)
	}
	t.Logf("%v of real time", time.Since(begun))
}

// Whatever a Python program waits with ends when it should, by all its clocks.
func TestAPythonProgramWaitsInVirtualTime(t *testing.T) {
	begun := time.Now()
	out, ending, passed, err := newWorld(t).play(t, python(t), "testdata/waits.py")
	if err != nil || ending != "exit status 0" {
		t.Fatalf("%s, after %v: %v\n%s", ending, passed, err, out)
	}
	want, err := os.ReadFile("testdata/waits.txt")
	if err != nil {
		t.Fatal(err)
	}
	if out != string(want) {
		t.Errorf("after %v:\n%s", passed, out)
	}
	t.Logf("%v in %v of real time", passed, time.Since(begun))
}

// A thread that has ended and one that has come for it leave as many as there were. Whoever counts only would take the
// process for one at rest before the new one has begun.
func TestAThreadThatComesForAnotherIsSeen(t *testing.T) {
	const turns = `import socket, threading
a, b = socket.socketpair()
for _ in range(50):
    threading.Timer(6, b.send, (b"y",)).start()
    a.recv(1)`
	_, ending, passed, err := newWorld(t).play(t, python(t), "-c", turns)
	if err != nil || ending != "exit status 0" || passed != 300*time.Second {
		t.Errorf("%s after %v: %v", ending, passed, err)
	}
}

// Who reads the clock until it shows a time gets there, if that is near.
func TestWhoWatchesTheClockSeesTimePass(t *testing.T) {
	_, ending, passed, err := newWorld(t).play(t, python(t), "-c",
		"import time\ntime.sleep(1)\nuntil = time.monotonic_ns() + 5000\nwhile time.monotonic_ns() < until: pass")
	if err != nil || ending != "exit status 0" || passed < time.Second+5*time.Microsecond || passed > time.Second+20*time.Microsecond {
		t.Errorf("%s after %v: %v", ending, passed, err)
	}
}

// Each ends with one line that names it, and nothing goes on for ever.
func TestWhatCannotBeHadIsNamed(t *testing.T) {
	static := t.TempDir() + "/static"
	head := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...) // of a program of no parts
	copy(head[16:], []byte{2, 0, 62, 0, 1})
	head[52], head[54], head[58] = 64, 56, 64
	if err := os.WriteFile(static, head, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ program, want string }{
		"spins":               {"import time\nwhile time.time() < 1e10: pass", "without sleeping: no time passes until all sleep"},
		"a wait that is real": {"import signal\nsignal.sigtimedwait([signal.SIGUSR1], 5)", "waits for real time, by the system call rt_sigtimedwait"},
		"alarm":               {"import signal\nsignal.alarm(5)\nsignal.pause()", "calls alarm, a wait that the library does not know"},
		"another server":      {"import socket\nsocket.create_connection(('10.1.2.3', 99))", "connects to 10.1.2.3, port 99, which is not of the world"},
		"another port":        {"import socket\nsocket.create_connection(('127.0.0.1', 99))", "connects to 127.0.0.1, port 99"},
		"static":              {"", "is linked statically, as Go programs are"},
		"nothing":             {"", "executable file not found"},
	} {
		t.Run(name, func(t *testing.T) {
			words := []string{python(t), "-c", c.program}
			switch name {
			case "static":
				words = []string{static}
			case "nothing":
				words = []string{"no-such-program"}
			}
			t.Parallel()
			begun := time.Now()
			_, _, _, err := newWorld(t).play(t, words...)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			t.Logf("after %v: %v", time.Since(begun), err)
		})
	}
}

// A program finds a port of the world as it finds any other, and what it gets is what was written.
func TestAPortOfTheWorldLooksLikeOneOfTCP(t *testing.T) {
	w := newWorld(t)
	var c *warp.Stream
	port, err := w.Listen(func(s *warp.Stream) {
		c = s
		if _, err := s.Write([]byte("hello")); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	out, ending, passed, err := w.play(t, python(t), "-c", fmt.Sprintf(`
import socket
s = socket.create_connection(("127.0.0.1", %d), timeout=9)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(s.recv(100), s.family.name, s.getpeername())
try:
    s.recv(100)
except TimeoutError:
    print("late")
s.sendall(b"bye")
s.close()
`, port))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("b'hello' AF_INET ('127.0.0.1', %d)\nlate\n", port); out != want || ending != "exit status 0" || passed != 9*time.Second {
		t.Errorf("%s after %v: %s", ending, passed, out)
	}
	if text, err := io.ReadAll(c); string(text) != "bye" || err != nil {
		t.Errorf("%q: %v", text, err)
	}
}

// Whose clock is set forward reads it so, and so do those that it starts; its waits last as long as before, by whatever clock.
func TestTheClockOfAProcessIsSetForward(t *testing.T) {
	const program = `
import subprocess, sys, threading, time
began = time.monotonic()
def tell(): print(round(time.time()) - 1767323045, round(time.monotonic() - began, 3))
time.sleep(10)
tell()
time.sleep(10)
tell()
lock = threading.Lock()
lock.acquire()
lock.acquire(timeout=5)
tell()
print(subprocess.run([sys.executable, "-c", "import time; print(round(time.time()) - 1767323045)"], capture_output=True, text=True).stdout.strip())
print(subprocess.run(["sleep", "3"]).returncode)
tell()
`
	w := newWorld(t)
	other, err := w.Start([]string{python(t), "-c", "import time\ntime.sleep(12)\nprint(round(time.time()) - 1767323045)"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Start([]string{python(t), "-c", program})
	if err != nil {
		t.Fatal(err)
	}
	said := map[*warp.Process]string{}
	for struck, ended := false, 0; ended < 2; {
		did, next, err := w.Rest(nil)
		if err != nil {
			t.Fatal(err)
		}
		ended = 0
		for _, one := range []*warp.Process{p, other} {
			buf := make([]byte, 1000)
			if stream := one.Out().(*warp.Stream); stream.Filled() {
				n, _ := stream.Read(buf)
				said[one] += string(buf[:n])
			}
			select {
			case <-one.Exited():
				ended++
			default:
			}
		}
		switch {
		case did:
		case !struck && next.After(began.Add(11*time.Second)):
			p.JumpClock(time.Minute)
			struck = true
		case next.IsZero():
			if ended < 2 {
				t.Fatalf("all wait for ever; said %q and %q", said[p], said[other])
			}
		default:
			w.now = next
			w.Wake()
		}
	}
	if want := "10 10.0\n80 20.0\n85 25.0\n85\n0\n88 28.0\n"; said[p] != want {
		t.Errorf("it said %q; want %q", said[p], want)
	}
	if want := "12\n"; said[other] != want {
		t.Errorf("the other said %q; want %q", said[other], want)
	}
}

// A process that stands still does not notice that time passes, and catches up afterwards.
func TestAProcessThatIsPausedWaitsOn(t *testing.T) {
	w := newWorld(t)
	p, err := w.Start([]string{python(t), "-uc", "import time\nfor n in range(3):\n  time.sleep(10)\n  print(n, time.time())"})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	at := func(after time.Duration) time.Time {
		t.Helper()
		w.now = began.Add(after)
		for {
			did, next, err := w.Rest(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !did && (next.IsZero() || next.After(w.now)) {
				return next
			}
			if !did {
				w.Wake()
				continue
			}
			buf := make([]byte, 100)
			n, _ := p.Out().Read(buf)
			said += string(buf[:n])
		}
	}
	if next := at(0); !next.Equal(began.Add(10 * time.Second)) {
		t.Errorf("the first sleep ends at %v", next)
	}
	at(10 * time.Second)
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if next := at(25 * time.Second); !next.IsZero() || strings.Count(said, "\n") != 1 {
		t.Errorf("paused, it goes on at %v, and has said %q", next, said)
	}
	if n := p.Overdue(); n != 1 {
		t.Errorf("%d waits are over", n)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if next := at(26 * time.Second); !next.Equal(began.Add(36*time.Second)) || strings.Count(said, "\n") != 2 {
		t.Errorf("the third sleep ends at %v, and it has said %q", next, said)
	}
	lives := 0
	if p.Kill(func() { lives++ }); lives == 0 {
		t.Error("while it ended nobody was told that all goes on")
	}
	if next := at(27 * time.Second); !next.IsZero() || p.Ending() != "signal: killed" {
		t.Errorf("killed, it goes on at %v: %s", next, p.Ending())
	}
}
