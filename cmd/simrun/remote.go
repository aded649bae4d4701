package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/explore"
)

// Shards may be done on other machines. What reaches a message broker is a program of another module, simrun-fleet, so that nobody inherits a
// broker's libraries: there it hands the shards of a search out, and at the other end it gives them to this program. Both speak lines of JSON.

// shardsCommand is how simrun-fleet starts this program to do shards.
const shardsCommand = "shards"

// fleetProgram hands shards out, and brings them.
const fleetProgram = "simrun-fleet"

// hello is the first line, of who does shards: of which build it is, and how many it can do at once.
type hello struct {
	Build string `json:"build,omitzero"`
	Slots int    `json:"slots"`
}

// part is a shard on its way to who does it, and its report on the way back.
type part struct {
	ID     string          `json:"id"`
	Shard  *explore.Shard  `json:"shard,omitempty"`
	Report *explore.Report `json:"report,omitempty"`
	Error  string          `json:"error,omitzero"` // the shard was not done
}

// buildID names what this program was built of: two that have the same one do a shard alike. Of a source that nobody has committed it is the program's
// own digest.
func buildID() string {
	id := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		b := builtOf(info)
		if !b.Modified {
			id = b.Commit
		}
		if id == "" && b.Version != "(devel)" && !b.Modified {
			id = b.Version
		}
	}
	if id == "" {
		id = "digest"
		if name, err := os.Executable(); err == nil {
			if b, err := os.ReadFile(name); err == nil {
				sum := sha256.Sum256(b)
				id += "-" + hex.EncodeToString(sum[:8])
			}
		}
	}
	return fmt.Sprintf("%s/%d", id, explore.Version)
}

// shards does the shards that it reads, several at once, and writes their reports as they come.
func shards(in io.Reader, out io.Writer) int {
	signal.Notify(make(chan os.Signal, 1), ends...) // the program that gave the shards says when to end
	workers := newLocal()
	defer workers.dismiss()
	var mu sync.Mutex
	results := json.NewEncoder(out)
	say := func(what any) error {
		mu.Lock()
		defer mu.Unlock()
		return results.Encode(what)
	}
	if err := say(hello{buildID(), workers.Slots()}); err != nil {
		return checker.ExitHarness
	}
	// The end of the input says that nobody waits any more.
	ctx, cancel := context.WithCancel(context.Background())
	var doing sync.WaitGroup
	defer doing.Wait()
	defer cancel()
	for decoder := json.NewDecoder(bufio.NewReader(in)); ; {
		var p part
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return checker.ExitExpected
		} else if err != nil || p.Shard == nil {
			return checker.ExitHarness
		}
		doing.Go(func() {
			r, err := workers.Run(ctx, *p.Shard)
			if ctx.Err() != nil {
				return
			}
			done := part{ID: p.ID, Report: &r}
			if err != nil {
				done = part{ID: p.ID, Error: err.Error()}
			}
			_ = say(done)
		})
	}
}

// remote has shards done by the workers of a broker. It is an [explore.Executor].
type remote struct {
	program *exec.Cmd
	in      io.WriteCloser
	slots   int
	ended   chan struct{} // nothing comes any more
	why     error         // set before ended is closed

	mu      sync.Mutex
	waiting map[string][]chan part // by shard
}

// errNoFleet is what is wrong where the other program is not installed.
var errNoFleet = errors.New("nobody is there to hand shards out")

// besideOrInPath finds a program: in the folder of this one, or else where programs are.
func besideOrInPath(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return beside, nil
		}
	}
	return exec.LookPath(name)
}

// newRemote starts what hands shards of a search out. Until it has reached the broker it waits, and says so on stderr.
func newRemote(ctx context.Context, url string, c explore.Config, stderr io.Writer) (*remote, error) {
	program, err := besideOrInPath(fleetProgram)
	if err != nil {
		return nil, fmt.Errorf("%w: the program %s must be beside this one or in PATH: go install github.com/holdfast-sim/holdfast/fleet/%s@latest", errNoFleet, fleetProgram, fleetProgram)
	}
	r := &remote{ended: make(chan struct{}), waiting: map[string][]chan part{}}
	r.program = exec.Command(program, "hand", "-on", url, "-build", buildID(), "-search", c.Key())
	r.program.Stderr = stderr
	in, err := r.program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.program.Start(); err != nil {
		return nil, err
	}
	r.in = in
	first, lines := make(chan hello, 1), bufio.NewReader(out)
	go func() {
		decoder := json.NewDecoder(lines)
		var h hello
		err := decoder.Decode(&h)
		if first <- h; err == nil {
			err = r.read(decoder)
		}
		in.Close()
		if ended := r.program.Wait(); ended != nil {
			err = fmt.Errorf("%s: %w", fleetProgram, ended)
		}
		r.why = err
		close(r.ended)
	}()
	select {
	case h := <-first:
		if r.slots = h.Slots; h.Slots > 0 {
			return r, nil
		}
		<-r.ended
		return nil, r.why
	case <-ctx.Done():
		r.close()
		return nil, context.Cause(ctx)
	}
}

// read hands reports to who waits for them, until no more come.
func (r *remote) read(lines *json.Decoder) error {
	for {
		var p part
		if err := lines.Decode(&p); err != nil {
			return err
		}
		r.mu.Lock()
		for _, to := range r.waiting[p.ID] {
			to <- p
		}
		delete(r.waiting, p.ID)
		r.mu.Unlock()
	}
}

// Slots implements [explore.Executor].
func (r *remote) Slots() int { return r.slots }

// Run implements [explore.Executor].
func (r *remote) Run(ctx context.Context, s explore.Shard) (explore.Report, error) {
	done := make(chan part, 1)
	r.mu.Lock()
	id := s.ID()
	r.waiting[id] = append(r.waiting[id], done)
	err := json.NewEncoder(r.in).Encode(part{ID: id, Shard: &s})
	r.mu.Unlock()
	if err != nil {
		<-r.ended
		return explore.Report{}, r.why
	}
	select {
	case p := <-done:
		if p.Report == nil {
			return explore.Report{}, errors.New(p.Error)
		}
		return *p.Report, nil
	case <-r.ended:
		return explore.Report{}, r.why
	case <-ctx.Done():
		return explore.Report{}, ctx.Err()
	}
}

// close ends the program: it takes back what nobody has begun.
func (r *remote) close() {
	r.in.Close()
	<-r.ended
}
