package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-sim/holdfast/fleet/queue"
)

// hello is the first line, of who has shards done or does them: of which build it is, and how many it takes at once.
type hello struct {
	Build string `json:"build,omitzero"`
	Slots int    `json:"slots"`
}

// part is a shard on its way to who does it, and its report on the way back.
type part struct {
	ID     string          `json:"id"`
	Shard  json.RawMessage `json:"shard,omitempty"`
	Report json.RawMessage `json:"report,omitempty"`
	Error  string          `json:"error,omitzero"`
}

// ahead is how many shards wait for workers at most, so that no worker waits for a shard.
const ahead = 256

// quiet is after how long without a report one is told that there may be no worker.
const quiet = 20 * time.Second

// hand hands out the shards that it reads, and writes their reports as they come. The end of its input is the end of the search: what nobody has begun is
// taken back.
func hand(_ context.Context, args []string, s std) error {
	f := flag.NewFlagSet("hand", flag.ContinueOnError)
	var of queue.Search
	url := f.String("on", "", "`URL` of the broker")
	f.StringVar(&of.Build, "build", "", "`build` of simrun that workers must have")
	f.StringVar(&of.Name, "search", "", "`name` of the search")
	switch err := parse(f, args, s); {
	case err != nil:
		return err
	case *url == "" || of.Build == "" || of.Name == "":
		return usage{errors.New("-on, -build and -search: simrun explore -on gives them")}
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // simrun says when to end
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shards := make(chan part)
	go func() {
		defer cancel()
		for lines := json.NewDecoder(bufio.NewReader(s.in)); ; {
			var p part
			if err := lines.Decode(&p); err != nil {
				return
			}
			select {
			case shards <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	q, err := connect(ctx, *url, s.err)
	if q == nil {
		return err
	}
	defer q.Close()
	h := &handing{q: q, of: of, out: json.NewEncoder(s.out), waiting: map[string]queue.Shard{}, heard: make(chan struct{}, 1)}
	if err := h.out.Encode(hello{Slots: ahead}); err != nil {
		return err
	}
	go h.watch(ctx, s.err, *url)
	go func() { _ = q.Reports(ctx, of, h.came) }()
	h.ask(ctx, shards)
	ending, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := q.Forget(ending, of); err != nil {
		fmt.Fprintf(s.err, "simrun-fleet: shards that nobody has begun are left at %s: %v\n", *url, err)
	}
	return nil
}

// handing is a search whose shards are handed out.
type handing struct {
	q     *queue.Queue
	of    queue.Search
	heard chan struct{} // a report came

	mu      sync.Mutex
	out     *json.Encoder
	waiting map[string]queue.Shard // without a report
}

// ask hands shards out until ctx ends.
func (h *handing) ask(ctx context.Context, shards <-chan part) {
	var asking sync.WaitGroup
	defer asking.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-shards:
			shard := queue.Shard{ID: p.ID, Body: p.Shard}
			h.mu.Lock()
			h.waiting[p.ID] = shard
			h.mu.Unlock()
			asking.Go(func() { h.askFor(ctx, shard) })
		}
	}
}

// askFor hands a shard out, or takes its report if that is there.
func (h *handing) askFor(ctx context.Context, s queue.Shard) {
	if r, done, err := h.q.Ask(ctx, h.of, s); err == nil && done {
		h.came(r)
	}
}

// came writes a report of a shard that waits for one.
func (h *handing) came(r queue.Report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, waits := h.waiting[r.ID]; !waits {
		return // another program has asked for it, or it was done twice
	}
	delete(h.waiting, r.ID)
	_ = h.out.Encode(part{ID: r.ID, Report: r.Body, Error: r.Error})
	select {
	case h.heard <- struct{}{}:
	default:
	}
}

// watch asks again for what waits when no report comes for long, since a broker may have lost it, and says so: there may be no worker.
func (h *handing) watch(ctx context.Context, to io.Writer, url string) {
	for told := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-h.heard:
			told = false
			continue
		case <-time.After(quiet):
		}
		h.mu.Lock()
		waiting := slices.Collect(maps.Values(h.waiting))
		h.mu.Unlock()
		if len(waiting) > 0 && !told {
			fmt.Fprintf(to, "simrun-fleet: %d shards wait, and nobody has done one for %s; on another machine: simrun-fleet work -on %s, with this build of simrun\n", len(waiting), quiet, url)
			told = true
		}
		for _, s := range waiting {
			h.askFor(ctx, s)
		}
	}
}
