package world

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
)

// OldestRedis is the oldest Redis that keys can be read from (PEXPIRETIME).
const OldestRedis = "7.0"

// Miniredis is a world of real time, with a miniredis in this process for each server.
func Miniredis(timescale float64) Ground {
	g := realTime("miniredis", timescale)
	g.noReplicas = "miniredis has"
	g.open = func(w *World, _ plan.Server, _ uint64) (backend, error) {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.Start(); err != nil {
			return nil, fmt.Errorf("miniredis: %w", err)
		}
		l, err := newLive(w, &redis.Options{Addr: m.Addr()})
		if err != nil {
			m.Close()
			return nil, err
		}
		l.close1, l.counts, l.seen = m.Close, true, map[string]time.Duration{}
		return l, nil
	}
	return g
}

// Redis is a world of real time, with a process for each server and replica, which ends with the run. The program is
// the one given, by its path or its name on PATH, or redis-server if that is "".
func Redis(program string, timescale float64) Ground {
	g := realTime("redis", timescale)
	g.open = func(w *World, p plan.Server, _ uint64) (backend, error) {
		ctx, cancel := context.WithTimeout(context.Background(), startTime)
		defer cancel()
		s, err := redisserver.Start(ctx, ours(program))
		if err != nil {
			return nil, err
		}
		l, err := newLive(w, s.RedisOptions())
		if err != nil {
			s.Close()
			return nil, err
		}
		l.process, l.program = s, program
		for range p.Replicas {
			if err := l.follow(ctx, g.real(p.Lag.Duration())); err != nil {
				l.close()
				return nil, err
			}
		}
		w.ground.served(s.Software())
		return l, nil
	}
	return g
}

// ours are what servers and replicas of our own are started with. A replica may come to be the master.
func ours(program string) redisserver.Options {
	return redisserver.Options{Path: program, AtLeast: OldestRedis, Config: []string{"repl-diskless-sync-delay 0"}}
}

// At is a world of real time on a server that is not ours. All keys of the run contain prefix, and
// are removed afterwards. Faults that touch more than those are refused, unless it is said that they
// may be destructive. See [Ground.Suits].
func At(server *redisserver.Remote, timescale float64, prefix string, destructive bool) Ground {
	g := Foreign(timescale, destructive)
	g.served(server.Software())
	g.open = func(w *World, p plan.Server, _ uint64) (backend, error) {
		l, err := newLive(w, server.RedisOptions())
		if err != nil {
			return nil, err
		}
		l.part = prefix
		return l, nil
	}
	return g
}

// Foreign is what [At] gives, without the server: to see what suits it.
func Foreign(timescale float64, destructive bool) Ground {
	g := realTime("redis", timescale)
	g.foreign, g.destructive = true, destructive
	return g
}

func realTime(name string, timescale float64) Ground {
	g := Ground{Name: name, Live: true, Timescale: timescale, Versions: map[string]string{}}
	g.Latency = g.planned(usualLatency)
	return g
}

// served notes which program serves.
func (g *Ground) served(s redisserver.Software) { g.Versions[s.Name] = s.Version }

// usualLatency is how long a message takes at most on one machine, the scheduling of the processes
// included; what takes longer is measured while the run goes on.
const usualLatency = 5 * time.Millisecond

// startTime bounds the start of a server and its replicas.
const startTime = 30 * time.Second
