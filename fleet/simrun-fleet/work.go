package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/fleet/queue"
)

// work does shards by a simrun, until ctx ends, and then those that are under way. It refuses to be there for searches of another build.
func work(ctx context.Context, args []string, s std) error {
	f := flag.NewFlagSet("work", flag.ContinueOnError)
	url := f.String("on", "", "`URL` of the broker, such as nats://host:4222")
	name := f.String("simrun", "", "`program` that does the runs (default: the simrun beside this program, or the one in PATH)")
	switch err := parse(f, args, s); {
	case err != nil:
		return err
	case *url == "":
		return usage{errors.New("-on: name the broker, such as nats://host:4222")}
	}
	simrun, err := program(*name)
	if err != nil {
		return usage{fmt.Errorf("there is no simrun beside this program or in PATH: %w", err)}
	}
	d := &doer{program: simrun, err: s.err}
	defer d.end()
	h, err := d.start()
	if err != nil {
		return err
	}
	q, err := connect(ctx, *url, s.err)
	if q == nil {
		return err
	}
	defer q.Close()
	fmt.Fprintf(s.err, "simrun-fleet: %d shards at once, for searches of build %s\n", h.Slots, h.Build)
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	var slots sync.WaitGroup
	for range h.Slots {
		slots.Go(func() {
			if err := q.Work(ctx, h.Build, d.do); err != nil {
				refuse(err)
			}
		})
	}
	slots.Go(func() { refuse(others(ctx, q, h.Build)) })
	slots.Wait()
	var r *refusal
	if err := context.Cause(ctx); errors.As(err, &r) || errors.Is(err, queue.ErrStopped) {
		return err
	}
	return nil
}

// refusal says that nothing waits for this build.
type refusal struct{ wanted, own string }

func (r *refusal) Error() string {
	return fmt.Sprintf("the search that waits is of build %s, and simrun here is of %s: install the same one", r.wanted, r.own)
}

// others waits until shards wait for other builds alone, or ctx ends.
func others(ctx context.Context, q *queue.Queue, build string) error {
	for {
		if wanted, err := q.Other(ctx, build); err == nil && wanted != "" {
			return usage{&refusal{wanted, build}}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// doer has a simrun do shards. It starts another one if that dies.
type doer struct {
	program string
	err     io.Writer

	mu      sync.Mutex
	process *exec.Cmd
	in      io.WriteCloser
	waiting map[string]chan part
}

// start starts the program, and returns what it says of itself.
func (d *doer) start() (hello, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started()
}

// started is start with mu held.
func (d *doer) started() (h hello, err error) {
	p := exec.Command(d.program, "shards")
	apart(p)
	p.Stderr = d.err
	if d.in, err = p.StdinPipe(); err != nil {
		return h, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return h, err
	}
	if err := p.Start(); err != nil {
		return h, err
	}
	lines := json.NewDecoder(bufio.NewReader(out))
	if err := lines.Decode(&h); err != nil || h.Build == "" || h.Slots < 1 {
		_ = p.Process.Kill()
		_ = p.Wait()
		return h, usage{fmt.Errorf("%s does no shards: it is no simrun, or an older one", d.program)}
	}
	waiting := map[string]chan part{}
	d.process, d.waiting = p, waiting
	go d.read(p, lines, waiting)
	return h, nil
}

// read hands reports to who waits for them, until the program ends.
func (d *doer) read(p *exec.Cmd, lines *json.Decoder, waiting map[string]chan part) {
	for {
		var r part
		if err := lines.Decode(&r); err != nil {
			break
		}
		d.mu.Lock()
		to := waiting[r.ID]
		delete(waiting, r.ID)
		d.mu.Unlock()
		if to != nil {
			to <- r
		}
	}
	_ = p.Process.Kill()
	ended := p.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == p {
		d.process = nil
	}
	for id, to := range waiting {
		to <- part{ID: id, Error: fmt.Sprintf("simrun ended: %v", ended)}
	}
}

// do has a shard done.
func (d *doer) do(s queue.Shard) (json.RawMessage, error) {
	done := make(chan part, 1)
	d.mu.Lock()
	if d.process == nil {
		if _, err := d.started(); err != nil {
			d.mu.Unlock()
			return nil, errors.Join(queue.ErrStopped, err)
		}
	}
	d.waiting[s.ID] = done
	err := json.NewEncoder(d.in).Encode(part{ID: s.ID, Shard: s.Body})
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p := <-done
	if p.Error != "" {
		return nil, errors.New(p.Error)
	}
	return p.Report, nil
}

// end ends the program.
func (d *doer) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in != nil {
		d.in.Close()
	}
}
