package redisserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// pidFile is where the server writes its process id, and the guard looks for it.
const pidFile = "redis.pid"

// Find returns the absolute path of the program of a server: of redis-server if path is "". An error says in one
// line that there is none.
func Find(path string) (string, error) {
	if path == "" {
		path = "redis-server"
	}
	found, err := exec.LookPath(path)
	switch {
	case err == nil:
		return filepath.Abs(found)
	case strings.ContainsRune(path, filepath.Separator):
		var why *fs.PathError
		if errors.As(err, &why) {
			err = why.Err
		}
		return "", fmt.Errorf("%s: %w; it should be the program of a Redis or Valkey server", path, err)
	case path == "redis-server":
		return "", errors.New("no redis-server on PATH: install it (Debian, Ubuntu: apt install redis-server; " +
			"Fedora: dnf install redis; Alpine: apk add redis; macOS: brew install redis)")
	default:
		return "", fmt.Errorf("no %s on PATH: install it, or give the path of the program", path)
	}
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	tail   tail
	secret string        // not to be told
	done   chan struct{} // closed when it has ended
	err    error         // then: how
}

// start runs a program, whose process id file is to be in dir.
func start(path string, args []string, dir string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.tail, &p.tail
	p.cmd.Dir = dir
	p.cmd.SysProcAttr = attached()
	started := make(chan error)
	go func() {
		// Linux ends an attached process together with the thread that started it, so that this
		// thread must live as long as we do, or as the process does: it is not unlocked.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		_ = os.Remove(filepath.Join(dir, pidFile)) // the number may soon be somebody else's
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends it at once, and returns when it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// failure says what happened, and the last lines that the program printed.
func (p *process) failure(what string) error {
	if p.ended() && p.err != nil {
		what += ": " + p.err.Error()
	}
	lines := p.tail.lines(6)
	if p.secret != "" {
		lines = strings.ReplaceAll(lines, p.secret, "***")
	}
	if lines != "" {
		what += "; its last lines:\n" + lines
	}
	return errors.New(what)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) contains(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Contains(string(t.text), what)
}

// lines returns the last n lines that are not empty, indented.
func (t *tail) lines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
