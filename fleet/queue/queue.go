// Package queue hands the shards of a search out over NATS JetStream, and brings their reports back. What a shard and a report are it does not know.
//
// A shard waits in a stream until a worker has acknowledged it; one that was given to a worker of which nothing is heard is given to another. A report
// is kept under the name of its shard, once. So a shard that is done twice counts once, and whoever asks for a shard again, after the program that had
// asked was killed, gets the report that is there.
package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	shardStream  = "HOLDFAST_SHARDS"
	reportStream = "HOLDFAST_REPORTS"
	largeBucket  = "HOLDFAST_LARGE"
)

const (
	// kept is for how long a report is kept of which nobody says that it is not needed any more.
	kept = 7 * 24 * time.Hour
	// inline is how large a message may be; what is larger goes to the object store.
	inline = 512 << 10
	// Retry is how long one waits for a broker that does not answer before one asks again.
	Retry = time.Second
)

// Silence is after how long without a word of its worker a shard is given to another.
const Silence = 30 * time.Second

// Queue is a connection to a broker. Its methods may be called concurrently.
type Queue struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	big     jetstream.ObjectStore
	silence time.Duration
}

// Report is what became of a shard.
type Report struct {
	ID    string          `json:"id"`
	Body  json.RawMessage `json:"body,omitempty"`
	Error string          `json:"error,omitzero"` // it was not done, however often it was tried
	Large string          `json:"large,omitzero"` // the object that has it
}

// Shard is one that was handed out.
type Shard struct {
	ID   string          `json:"id"`
	Body json.RawMessage `json:"body"`
}

// Open connects to a broker, and makes there what is needed. It waits for a broker that cannot be reached, until ctx ends; waits is called when it begins
// to.
func Open(ctx context.Context, url string, waits func(error)) (*Queue, error) {
	conn, err := nats.Connect(url, nats.Name("holdfast"), nats.MaxReconnects(-1), nats.ReconnectWait(Retry), nats.RetryOnFailedConnect(true))
	if err != nil {
		return nil, err
	}
	q := &Queue{conn: conn, silence: Silence}
	if q.js, err = jetstream.New(conn); err != nil {
		conn.Close()
		return nil, err
	}
	for told := false; ; told = true {
		err := q.prepare(ctx)
		if err == nil {
			return q, nil
		}
		if ctx.Err() != nil || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
			conn.Close()
			return nil, err
		}
		if !told {
			waits(err)
		}
		pause(ctx)
	}
}

// pause waits before one asks again.
func pause(ctx context.Context) {
	select {
	case <-time.After(Retry):
	case <-ctx.Done():
	}
}

func (q *Queue) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if !q.conn.IsConnected() {
		return fmt.Errorf("it cannot be reached: %w", nats.ErrDisconnected)
	}
	_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: shardStream, Subjects: []string{"holdfast.shard.>"}, Retention: jetstream.WorkQueuePolicy,
		// A shard waits once, however often it is asked for.
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1})
	if err != nil {
		return err
	}
	if _, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: reportStream, Subjects: []string{"holdfast.report.>"}, MaxMsgsPerSubject: 1, MaxAge: kept}); err != nil {
		return err
	}
	q.big, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: largeBucket, TTL: kept})
	return err
}

// Close ends the connection.
func (q *Queue) Close() { q.conn.Close() }

// token makes a word of a subject.
func token(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// Search is one search of the programs of one build.
type Search struct{ Build, Name string }

func (s Search) subject(of, id string) string {
	return strings.Join([]string{"holdfast", of, token(s.Build), token(s.Name), id}, ".")
}

// Ask hands a shard out, unless it waits already or is done: then it returns the report. Otherwise that comes to [Queue.Reports]. It tries until ctx ends.
func (q *Queue) Ask(ctx context.Context, s Search, shard Shard) (r Report, done bool, err error) {
	b, err := json.Marshal(shard)
	if err != nil {
		return r, false, err
	}
	for {
		r, done, err = q.ask(ctx, s, shard.ID, b)
		if err == nil || ctx.Err() != nil {
			return r, done, err
		}
		pause(ctx)
	}
}

// full is what JetStream answers for a subject that has all that it may have.
const full jetstream.ErrorCode = 10077

func (q *Queue) ask(ctx context.Context, s Search, id string, b []byte) (r Report, done bool, err error) {
	if r, err = q.done(ctx, s.subject("report", token(id))); err == nil || !errors.Is(err, jetstream.ErrMsgNotFound) {
		return r, err == nil, err
	}
	m := nats.NewMsg(s.subject("shard", token(id)))
	m.Data = b
	m.Header.Set(buildHeader, s.Build)
	m.Header.Set(reportHeader, s.subject("report", token(id)))
	_, err = q.js.PublishMsg(ctx, m)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == full {
		err = nil // it waits
	}
	return r, false, err
}

const (
	buildHeader  = "Holdfast-Build"
	reportHeader = "Holdfast-Report"
)

// done is the report that is kept under a name. The error is [jetstream.ErrMsgNotFound] if there is none.
func (q *Queue) done(ctx context.Context, subject string) (Report, error) {
	stream, err := q.js.Stream(ctx, reportStream)
	if err != nil {
		return Report{}, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return Report{}, err
	}
	return q.unpack(ctx, m.Data)
}

// Reports calls each with each report of a search, those that are there already among them, until ctx ends. A report may come more than once.
func (q *Queue) Reports(ctx context.Context, s Search, each func(Report)) error {
	for ctx.Err() == nil {
		err := q.follow(ctx, s, each)
		if err != nil && ctx.Err() == nil {
			pause(ctx)
		}
	}
	return ctx.Err()
}

func (q *Queue) follow(ctx context.Context, s Search, each func(Report)) error {
	consumer, err := q.js.OrderedConsumer(ctx, reportStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{s.subject("report", "*")}})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		r, err := q.unpack(ctx, m.Data())
		if err != nil {
			return err
		}
		each(r)
	}
}

// Forget takes back the shards of a search that nobody has begun, and its reports.
func (q *Queue) Forget(ctx context.Context, s Search) error {
	shards, err := q.js.Stream(ctx, shardStream)
	if err != nil {
		return err
	}
	reports, err := q.js.Stream(ctx, reportStream)
	if err != nil {
		return err
	}
	return errors.Join(shards.Purge(ctx, jetstream.WithPurgeSubject(s.subject("shard", "*"))), reports.Purge(ctx, jetstream.WithPurgeSubject(s.subject("report", "*"))))
}

// pack makes a message of a report, and puts one that is too large into the object store.
func (q *Queue) pack(ctx context.Context, subject string, r Report) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(w).Encode(r), w.Close()); err != nil {
		return nil, err
	}
	if b.Len() <= inline {
		return b.Bytes(), nil
	}
	if _, err := q.big.PutBytes(ctx, subject, b.Bytes()); err != nil {
		return nil, err
	}
	return q.pack(ctx, subject, Report{ID: r.ID, Large: subject})
}

func (q *Queue) unpack(ctx context.Context, b []byte) (Report, error) {
	var r Report
	unzipped, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return r, err
	}
	text, err := io.ReadAll(unzipped)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Large == "" {
		return r, err
	}
	large, err := q.big.GetBytes(ctx, r.Large)
	if err != nil {
		return r, err
	}
	return q.unpack(ctx, large)
}
