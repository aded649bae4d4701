package soak

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// pair is the server of ours and its replica, which change places with every failover.
type pair struct {
	master atomic.Pointer[redisserver.Server] // nil: the server is not ours
	spare  *redisserver.Server                // nil: none was needed yet; else it is down, or a replica
}

// replica brings up a replica that has all that the master has.
func (p *pair) replica(ctx context.Context) (err error) {
	master := p.master.Load()
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.spare == nil {
		p.spare, err = redisserver.Start(ctx, redisserver.Options{Path: master.Path(), Password: master.RedisOptions().Password})
	} else {
		err = p.spare.Restart(ctx, false)
	}
	if err == nil {
		err = p.spare.ReplicaOf(ctx, master)
	}
	return err
}

// swap makes the replica the master, and takes the master down.
func (p *pair) swap() {
	before := p.master.Load()
	before.Kill()
	p.master.Store(p.spare)
	p.spare = before
}

// home leaves the server that the run was given as the only one. What the other has is lost.
func (p *pair) home(ctx context.Context, own *redisserver.Server) error {
	if p.spare == nil {
		return nil
	}
	other := p.spare
	if other == own {
		other = p.master.Load()
	}
	err := other.Close()
	if p.spare == own {
		if failed := own.Restart(ctx, false); err == nil {
			err = failed
		}
	}
	return err
}

// failover has the server fail, and a replica take its place that lags: it has what the server had a moment ago.
// Nobody is connected while it does, as in a restart. Where a lock is not as the server had it,
// its key is removed, so that what the lock was is known: of a hold that the replica never heard of, or heard
// of when it was no more, or that was renewed since, nothing is left.
func (s *strike) failover() {
	r := s.run
	if s.failed(r.servers.replica(r.expired)) {
		return
	}
	s.fault.Client = ""
	old, replica := r.servers.master.Load(), r.servers.spare
	s.lasts(func() {
		// From here on the replica hears of nothing.
		if s.failed(replica.Promote(r.expired)) {
			return
		}
		r.pass(s.draw.between(0, r.Watchdog/8))
		r.serving.Lock()
		defer r.serving.Unlock()
		s.fault.Hits = r.line.cut()
		defer r.line.mend(replica.Addr())
		lost, err := r.lost(old.Client(), replica.Client())
		if s.failed(err) {
			return
		}
		r.servers.swap()
		r.losses.Add(1)
		r.rec.together(func() []history.Event {
			events := []history.Event{{Kind: history.Failover}}
			for n := range r.resources {
				r.resources[n].unfenced = true // tokens may begin with older ones
			}
			for _, n := range lost {
				events = append(events, history.Event{Kind: history.Delete, Lock: lock(n)})
			}
			return events
		})
		r.pass(s.draw.between(0, r.Watchdog/8))
	})
}

// lost removes from a replica the keys of locks that are not there as the master has them, and says which
// locks have no key there then.
func (r *run) lost(master, replica *redis.Client) (list []int, err error) {
	const most = 1000
	for first := 0; first < r.Locks; first += most {
		last := min(first+most, r.Locks)
		begun := time.Now()
		is, err := r.states(master, first, last)
		if err != nil {
			return nil, err
		}
		has, err := r.states(replica, first, last)
		if err != nil {
			return nil, err
		}
		slack := time.Since(begun) + 2*time.Millisecond
		for i := range is {
			switch same := is[i].value == has[i].value && (is[i].ttl-has[i].ttl).Abs() <= slack; {
			case same && has[i].value != "":
				continue
			case has[i].value == "":
				list = append(list, first+i)
				continue
			}
			if err := replica.Del(r.expired, r.key(first+i)).Err(); err != nil {
				return nil, err
			}
			list = append(list, first+i)
		}
	}
	return list, nil
}

// keyState is a key as a server has it.
type keyState struct {
	value string // as DUMP has it; empty: there is none
	ttl   time.Duration
}

// states asks for the keys of the locks from first to last, without that.
func (r *run) states(server *redis.Client, first, last int) ([]keyState, error) {
	ask := server.Pipeline()
	for n := first; n < last; n++ {
		ask.Dump(r.expired, r.key(n))
		ask.PTTL(r.expired, r.key(n))
	}
	answers, err := ask.Exec(r.expired)
	if err != nil && err != redis.Nil {
		return nil, err
	}
	states := make([]keyState, 0, last-first)
	for i := 0; i < len(answers); i += 2 {
		value, err := answers[i].(*redis.StringCmd).Result()
		if err != nil && err != redis.Nil {
			return nil, err
		}
		states = append(states, keyState{value, answers[i+1].(*redis.DurationCmd).Val()})
	}
	return states, nil
}

// dialer reaches the server of ours that is the master now.
func (r *run) dialer(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, _ := r.line.at(); to != "" {
			addr = to
		}
		return redis.NewDialer(o)(ctx, network, addr)
	}
}
