//go:build unix

package redisserver

import (
	"io"
	"os/exec"
	"syscall"
)

// guard is a process that waits until we are gone, however that comes about, and then removes a
// folder and ends the server in it.
type guard struct {
	cmd   *exec.Cmd
	alive io.Closer // the other end of its standard input, which ends when we do
}

// guardScript sees the end of its standard input. A server that is about to die may yet write.
const guardScript = `read -r nothing
pid=$(cat "$1/` + pidFile + `" 2>/dev/null) && kill -9 "$pid" 2>/dev/null
for try in 1 2 3 4 5; do
	rm -rf "$1" && [ ! -e "$1" ] && exit
	sleep 1
done`

func watch(dir string) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, "holdfast-guard", dir)}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // or Ctrl-C would end it, too
	in, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	g.alive = in
	return g, g.cmd.Start()
}

// dismiss ends the guard's watch.
func (g *guard) dismiss() {
	_ = g.alive.Close()
	_ = g.cmd.Wait()
}

func (p *process) pause() error  { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
