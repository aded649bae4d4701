package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// broker is a server of the test's own, with a store and a port that it keeps when it is started again.
type broker struct {
	t    *testing.T
	opts server.Options
	*server.Server
}

func newBroker(t *testing.T) *broker {
	b := &broker{t: t, opts: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	opts := b.opts
	s, err := server.NewServer(&opts)
	if err != nil {
		b.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		b.t.Fatal("the broker is not ready")
	}
	b.Server, b.opts.Port = s, opts.Port
}

func (b *broker) stop() {
	b.Shutdown()
	b.WaitForShutdown()
}

func (b *broker) open() *Queue {
	q, err := Open(b.t.Context(), b.ClientURL(), func(err error) { b.t.Log(err) })
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(q.Close)
	return q
}

var search = Search{"build-1", "search"}

func shard(n int) Shard {
	return Shard{ID: fmt.Sprintf(`{"from":%d}`, n), Body: json.RawMessage(fmt.Sprint(n))}
}

// reports are those of a search that come, until there are so many different ones.
func reports(ctx context.Context, q *Queue, s Search, n int) map[string]Report {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := map[string]Report{}
	_ = q.Reports(ctx, s, func(r Report) {
		if all[r.ID] = r; len(all) == n {
			cancel()
		}
	})
	return all
}

// echo reports a shard's own body.
func echo(s Shard) (json.RawMessage, error) { return s.Body, nil }

// Whoever asks for a shard twice has it done once. Who asks for one that is done gets the report, until it is forgotten.
func TestAShardIsDoneOnce(t *testing.T) {
	b := newBroker(t)
	q := b.open()
	for range 3 {
		if _, done, err := q.Ask(t.Context(), search, shard(1)); err != nil || done {
			t.Fatalf("done: %v, %v", done, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	times, worked := 0, make(chan error, 1)
	go func() {
		worked <- q.Work(ctx, search.Build, func(s Shard) (json.RawMessage, error) {
			times++
			return s.Body, nil
		})
	}()
	if got := reports(t.Context(), q, search, 1)[shard(1).ID]; string(got.Body) != "1" {
		t.Errorf("reported: %+v", got)
	}
	r, done, err := q.Ask(t.Context(), search, shard(1))
	if err != nil || !done || string(r.Body) != "1" {
		t.Errorf("asked again: %+v, %v, %v", r, done, err)
	}
	cancel()
	if err := <-worked; err != nil || times != 1 {
		t.Errorf("done %d times, %v", times, err)
	}
	if err := q.Forget(t.Context(), search); err != nil {
		t.Fatal(err)
	}
	if _, done, err := q.Ask(t.Context(), search, shard(1)); err != nil || done {
		t.Errorf("forgotten, and done: %v, %v", done, err)
	}
}

// A shard whose worker is not heard of any more is given to another. So it is when the broker was away meanwhile.
func TestAShardOutlivesItsWorkerAndTheBroker(t *testing.T) {
	b := newBroker(t)
	dead, q := b.open(), b.open()
	dead.silence, q.silence = 300*time.Millisecond, 300*time.Millisecond
	for n := range 5 {
		if _, _, err := q.Ask(t.Context(), search, shard(n)); err != nil {
			t.Fatal(err)
		}
	}
	consumer, err := dead.consumer(t.Context(), search.Build)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := consumer.Fetch(2)
	if err != nil {
		t.Fatal(err)
	}
	for range taken.Messages() { // and nothing is heard of them
	}
	b.stop()
	b.start()
	go func() { _ = q.Work(t.Context(), search.Build, echo) }()
	for id, r := range reports(t.Context(), q, search, 5) {
		if r.Error != "" || !strings.Contains(id, string(r.Body)) {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// A report that is larger than a message may be comes as it is.
func TestALargeReport(t *testing.T) {
	b := newBroker(t)
	q := b.open()
	var large strings.Builder
	for n := range 400_000 { // so that it does not pack well
		fmt.Fprintf(&large, "%x ", n*n*7919)
	}
	body, _ := json.Marshal(large.String())
	go func() {
		_ = q.Work(t.Context(), search.Build, func(Shard) (json.RawMessage, error) { return body, nil })
	}()
	if _, _, err := q.Ask(t.Context(), search, shard(1)); err != nil {
		t.Fatal(err)
	}
	if r := reports(t.Context(), q, search, 1)[shard(1).ID]; string(r.Body) != string(body) {
		t.Errorf("%d bytes came of %d", len(r.Body), len(body))
	}
}

// A shard that no worker can do is reported with the error, and not tried for ever. A worker that can do none says so.
func TestAShardThatCannotBeDone(t *testing.T) {
	b := newBroker(t)
	q := b.open()
	if _, _, err := q.Ask(t.Context(), search, shard(1)); err != nil {
		t.Fatal(err)
	}
	if err := q.Work(t.Context(), search.Build, func(Shard) (json.RawMessage, error) { return nil, ErrStopped }); !errors.Is(err, ErrStopped) {
		t.Errorf("a worker that stopped: %v", err)
	}
	go func() {
		_ = q.Work(t.Context(), search.Build, func(Shard) (json.RawMessage, error) { return nil, errors.New("no memory") })
	}()
	if r := reports(t.Context(), q, search, 1)[shard(1).ID]; !strings.Contains(r.Error, "no memory") || r.Body != nil {
		t.Errorf("reported: %+v", r)
	}
}

// Shards are for programs of their build. A worker of another one is told which that is, if nothing waits for its own.
func TestShardsAreForOneBuild(t *testing.T) {
	b := newBroker(t)
	q := b.open()
	if other, err := q.Other(t.Context(), "build-2"); err != nil || other != "" {
		t.Errorf("nothing waits: %q, %v", other, err)
	}
	if _, _, err := q.Ask(t.Context(), search, shard(1)); err != nil {
		t.Fatal(err)
	}
	if other, err := q.Other(t.Context(), "build-2"); err != nil || other != search.Build {
		t.Errorf("another waits: %q, %v", other, err)
	}
	if other, err := q.Other(t.Context(), search.Build); err != nil || other != "" {
		t.Errorf("its own waits: %q, %v", other, err)
	}
	if _, _, err := q.Ask(t.Context(), Search{"build-2", "search"}, shard(1)); err != nil {
		t.Fatal(err)
	}
	if other, err := q.Other(t.Context(), "build-2"); err != nil || other != "" {
		t.Errorf("both wait: %q, %v", other, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = q.Work(ctx, "build-2", echo) }()
	reports(t.Context(), q, Search{"build-2", "search"}, 1)
	cancel()
	if other, err := q.Other(t.Context(), "build-2"); err != nil || other != search.Build {
		t.Errorf("what the other build did is gone: %q, %v", other, err)
	}
}
