package workers

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const (
	// archive is what a trained worker has in its folder.
	archive = "classes.jsa"
	// training is how long a worker may take to show what it loads, however busy the machine is.
	training = time.Minute
)

// lesson is what a worker is asked in its training: what every story asks. It is then told to end.
var lesson = []string{
	`{"id":1,"kind":"start","version":2,"redis":["redis://%s"],"client":"a","watchdogTimeout":30000000000,"seed":1,"timescale":1,"owners":["a:1","a:2"]}`,
	`{"id":2,"kind":"lock","lock":"training","owner":"a:1","lease":30000000000,"watchdog":true}`,
	`{"id":3,"kind":"tryLock","lock":"training","owner":"a:2","wait":10000000,"lease":30000000000,"watchdog":true}`,
	`{"id":4,"kind":"unlock","lock":"training","owner":"a:1"}`,
}

// train has a worker that was built in dir write down what it loads, so that it starts in half the time. That is done in
// dir, since what is written down holds for these paths only. A worker that cannot be trained starts slower: no error.
func (l Lock) train(ctx context.Context, dir string) {
	if l.kit.train == "" {
		return
	}
	server := miniredis.NewMiniRedis()
	if server.Start() != nil {
		return
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, training)
	defer cancel()
	made := filepath.Join(dir, fmt.Sprintf(".%s-%d", archive, os.Getpid()))
	defer os.Remove(made)
	words := l.words(dir)
	c := exec.CommandContext(ctx, words[0], slices.Insert(words[1:], 0, l.kit.train+made)...)
	if teach(c, server.Addr()) == nil {
		_ = os.Rename(made, filepath.Join(dir, archive))
	}
}

// teach asks a worker each question of the lesson when it has answered the one before, and waits for its end.
func teach(c *exec.Cmd, server string) error {
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	answers := bufio.NewScanner(out)
	for _, question := range lesson {
		if !answers.Scan() { // hello, or the answer before
			break
		}
		_, _ = fmt.Fprintln(in, strings.Replace(question, "%s", server, 1))
	}
	answers.Scan()
	_ = in.Close()
	return c.Wait()
}
