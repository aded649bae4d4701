package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// tries is how often a shard is given to workers that cannot do it.
const tries = 5

// Work does shards for a build, one after the other, until ctx ends or do returns [ErrStopped]. do returns the body of a shard's report. A shard of which it
// returns an error is given to another worker, and after some tries that is its report. The end of ctx ends no shard that is under way.
func (q *Queue) Work(ctx context.Context, build string, do func(Shard) (json.RawMessage, error)) error {
	for ctx.Err() == nil {
		consumer, err := q.consumer(ctx, build)
		if err == nil {
			err = q.workBy(ctx, consumer, do)
		}
		switch {
		case errors.Is(err, ErrStopped):
			return err
		case err != nil && ctx.Err() == nil:
			pause(ctx)
		}
	}
	return nil
}

// ErrStopped says that no shard can be done any more.
var ErrStopped = errors.New("no shard can be done any more")

func (q *Queue) consumer(ctx context.Context, build string) (jetstream.Consumer, error) {
	return q.js.CreateOrUpdateConsumer(ctx, shardStream, jetstream.ConsumerConfig{Durable: "build-" + token(build), FilterSubject: "holdfast.shard." + token(build) + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.silence, MaxAckPending: -1})
}

// workBy does shards of a consumer until there is an error.
func (q *Queue) workBy(ctx context.Context, consumer jetstream.Consumer, do func(Shard) (json.RawMessage, error)) error {
	for ctx.Err() == nil {
		batch, err := consumer.Fetch(1, jetstream.FetchMaxWait(2*time.Second))
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			if err := q.one(m, do); err != nil {
				return err
			}
		}
		if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

// one does one shard, and acknowledges it once its report is kept.
func (q *Queue) one(m jetstream.Msg, do func(Shard) (json.RawMessage, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), q.silence)
	defer cancel()
	subject := m.Headers().Get(reportHeader)
	if _, err := q.done(ctx, subject); err == nil {
		return m.DoubleAck(ctx) // another was given it, too
	}
	var shard Shard
	if err := json.Unmarshal(m.Data(), &shard); err != nil || subject == "" {
		return m.TermWithReason("it is no shard")
	}
	alive := time.NewTicker(q.silence / 3)
	defer alive.Stop()
	over := make(chan struct{})
	go func() {
		for {
			select {
			case <-alive.C:
				_ = m.InProgress()
			case <-over:
				return
			}
		}
	}()
	body, err := do(shard)
	close(over)
	r := Report{ID: shard.ID, Body: body}
	if err != nil {
		meta, lost := m.Metadata()
		if errors.Is(err, ErrStopped) || lost != nil || meta.NumDelivered < tries {
			return errors.Join(m.NakWithDelay(Retry), err)
		}
		r = Report{ID: shard.ID, Error: fmt.Sprintf("%d workers could not do it, the last: %v", tries, err)}
	}
	ctx, stop := context.WithTimeout(context.Background(), q.silence)
	defer stop()
	packed, err := q.pack(ctx, subject, r)
	if err != nil {
		return err
	}
	if _, err := q.js.Publish(ctx, subject, packed); err != nil {
		return err
	}
	return m.DoubleAck(ctx)
}

// Other returns the build that the first shard is for that waits, if all that wait are for other builds than one; "": there is none.
func (q *Queue) Other(ctx context.Context, build string) (string, error) {
	stream, err := q.js.Stream(ctx, shardStream)
	if err != nil {
		return "", err
	}
	own, err := stream.Info(ctx, jetstream.WithSubjectFilter("holdfast.shard."+token(build)+".>"))
	if err != nil || len(own.State.Subjects) > 0 || own.State.Msgs == 0 {
		return "", err
	}
	m, err := stream.GetMsg(ctx, own.State.FirstSeq)
	if err != nil {
		return "", err
	}
	return m.Header.Get(buildHeader), nil
}
