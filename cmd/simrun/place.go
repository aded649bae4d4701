package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/world"
)

// place is where runs take place: a world, and in real time its scale and its server.
type place struct {
	World       string          `json:"world,omitzero"` // "": sim
	Timescale   scale           `json:"timescale,omitzero"`
	Addr        string          `json:"-"`            // as it was given
	URL         string          `json:"url,omitzero"` // with the password: it goes to workers, and nowhere else
	TLS         redisserver.TLS `json:"tls,omitzero"`
	Destructive bool            `json:"destructive,omitzero"`
	Server      string          `json:"server,omitzero"` // the program of servers of our own; "": redis-server
}

const (
	simWorld       = "sim"
	warpWorld      = "warp"
	miniredisWorld = "miniredis"
	redisWorld     = "redis"
)

var worlds = []string{simWorld, warpWorld, miniredisWorld, redisWorld}

func (p *place) flags(f *flag.FlagSet) {
	p.World, p.Timescale = simWorld, 1
	f.StringVar(&p.World, "world", simWorld, "`name` of the world: sim or, for exec:, warp (virtual time); miniredis or redis (real time)")
	f.Var(&p.Timescale, "timescale", "`ratio` of real time to the plan's, as 1/10: a lease of 30s then lasts 3s (not in sim)")
	serverFlag(f, &p.Server)
	addressFlags(f, &p.Addr, &p.TLS)
	f.BoolVar(&p.Destructive, "allow-destructive", false, "with -addr: faults may touch more than the keys of the run")
}

// warps reports whether there is world warp on an operating system, by Go's name of it.
func warps(system string) bool { return system == "linux" }

// processWorlds are the worlds for a process of its own on an operating system, for who asked for another.
func processWorlds(system string) string {
	if !warps(system) {
		return "-world redis or miniredis (real time; virtual time, as in world warp, needs Linux)"
	}
	return "-world warp (virtual time), redis or miniredis"
}

// usual is the world of whoever names none, with a process among the subjects or without.
func (p *place) usual(process bool) {
	switch {
	case p.Addr != "":
	case (process || p.Server != "") && warps(runtime.GOOS):
		p.World = warpWorld
	case p.Server != "":
		p.World = redisWorld
	}
}

// check completes the place, or says in one line what is wrong with it.
func (p *place) check() error {
	known := false
	for _, w := range worlds {
		known = known || w == p.World
	}
	switch {
	case !known:
		return unknown("world", p.World, worlds)
	case p.World == warpWorld && !warps(runtime.GOOS):
		return fmt.Errorf("-world warp needs Linux, and this is %s: -world redis or miniredis, in real time", runtime.GOOS)
	case p.Addr != "" && p.World == miniredisWorld:
		return errors.New("-addr is of a Redis, and -world miniredis has none: leave one of them out")
	case p.Destructive && p.Addr == "":
		return errors.New("-allow-destructive is about a server that is not ours: it goes with -addr")
	}
	if p.Addr != "" {
		p.World = redisWorld
		var err error
		if p.URL, err = address(p.Addr, p.TLS); err != nil {
			return err
		}
	}
	if p.Server != "" {
		if p.World != redisWorld && p.World != warpWorld || p.Addr != "" {
			return errors.New("-server is the program of servers of our own: it goes with -world warp or redis, without -addr")
		}
		if _, err := redisserver.Find(p.Server); err != nil {
			return fmt.Errorf("-server: %w", err)
		}
	}
	if p.Addr == "" && p.TLS != (redisserver.TLS{}) {
		return errors.New("-tls-ca, -tls-cert and -tls-key are about a server that is not ours: they go with -addr")
	}
	if !p.live() && p.Timescale != 1 {
		return fmt.Errorf("-timescale is for real time (-world redis or miniredis): in %s time costs nothing", p.World)
	}
	return nil
}

// live reports whether time is real there.
func (p place) live() bool { return p.World != "" && p.World != simWorld && p.World != warpWorld }

// exact reports whether a run comes again there as it was, to the byte.
func (p place) exact() bool { return p.World == "" || p.World == simWorld }

// words are the flags that say it again, without the password.
func (p place) words() []string {
	if p.exact() {
		return nil
	}
	words := []string{"-world", p.World}
	if p.Addr != "" {
		words = append([]string{"-addr", quoted(withoutPassword(p.Addr))}, tlsWords(p.TLS)...)
	}
	if p.Server != "" {
		words = append(words, "-server", quoted(p.Server))
	}
	if p.Timescale != 1 {
		words = append(words, "-timescale", p.Timescale.String())
	}
	if p.Destructive {
		words = append(words, "-allow-destructive")
	}
	return words
}

// serverFlag is which program serves.
func serverFlag(f *flag.FlagSet, program *string) {
	f.StringVar(program, "server", "", "`name` on PATH, or path, of the server's program, such as valkey-server: in world redis, or in warp, whose server else is miniredis")
}

// addressFlags are those for a server that is not ours.
func addressFlags(f *flag.FlagSet, addr *string, t *redisserver.TLS) {
	f.StringVar(addr, "addr", "", "`URL` of a Redis of yours: redis://user:password@host:port/db, rediss://, unix://; or env:VARIABLE or file:NAME with it")
	f.StringVar(&t.CA, "tls-ca", "", "with rediss://: `file` with the authorities to trust")
	f.StringVar(&t.Cert, "tls-cert", "", "with rediss://: `file` with the client's certificate")
	f.StringVar(&t.Key, "tls-key", "", "with rediss://: `file` with the key of -tls-cert")
}

func tlsWords(t redisserver.TLS) (words []string) {
	for _, f := range [][2]string{{"-tls-ca", t.CA}, {"-tls-cert", t.Cert}, {"-tls-key", t.Key}} {
		if f[1] != "" {
			words = append(words, f[0], quoted(f[1]))
		}
	}
	return words
}

// address is the URL that -addr gives: itself, or in a place where other users of the machine do not see it.
func address(given string, t redisserver.TLS) (url string, err error) {
	url = given
	if name, ok := strings.CutPrefix(given, "env:"); ok {
		if url = os.Getenv(name); url == "" {
			return "", fmt.Errorf("-addr: the environment has no variable %s", name)
		}
	} else if name, ok := strings.CutPrefix(given, "file:"); ok {
		text, err := read(os.DirFS(filepath.Dir(name)), filepath.Base(name))
		if err != nil {
			return "", fmt.Errorf("-addr: %s: %w", name, cause(err))
		}
		url = strings.TrimSpace(string(text))
	}
	if err := redisserver.CheckAddress(url, t); err != nil {
		return "", fmt.Errorf("-addr: %w", err)
	}
	return url, nil
}

// withoutPassword is an argument that has a URL in it, its password left out.
func withoutPassword(arg string) string {
	return alone.ReplaceAllString(password.ReplaceAllString(arg, "://${1}:PASSWORD@"), "://PASSWORD@")
}

// A user without a password may be a password without a user.
var (
	password = regexp.MustCompile(`://([^:/@]*):.*@`)
	alone    = regexp.MustCompile(`://[^:/@]+@`)
)

// enough returns a *[health.Shortage] if there is too little room for the data of servers of our own, which a restart saves.
func (p place) enough() error {
	if p.World != redisWorld || p.URL != "" {
		return nil
	}
	return health.Disk(os.TempDir(), 0, leastRoom)
}

// outline is the world as far as it is known without a server.
func (p place) outline() world.Ground {
	if p.URL != "" {
		return world.Foreign(float64(p.Timescale), p.Destructive)
	}
	g, _, _ := p.ground()
	return g
}

// ground makes the world ready. Names of keys in it begin with prefix.
func (p place) ground() (g world.Ground, prefix string, err error) {
	switch {
	case p.URL != "":
		prefix = redisserver.RunName() + ":"
		server, err := redisserver.Connect(context.Background(), p.URL, redisserver.Needs{AtLeast: world.OldestRedis, Prefix: prefix, TLS: p.TLS})
		if err != nil {
			return g, "", err
		}
		return world.At(server, float64(p.Timescale), prefix, p.Destructive), prefix, nil
	case p.World == redisWorld:
		return world.Redis(p.Server, float64(p.Timescale)), "", nil
	case p.World == warpWorld && p.Server != "":
		return world.WarpOn(p.Server), "", nil
	case p.World == warpWorld:
		return world.Warp(), "", nil
	case p.World == miniredisWorld:
		return world.Miniredis(float64(p.Timescale)), "", nil
	}
	return world.Sim(), "", nil
}

// scale is a ratio such as 1/10 or 0.1.
type scale float64

func (s *scale) String() string {
	if r := 1 / float64(*s); r == float64(int(r)) && r > 1 {
		return fmt.Sprintf("1/%d", int(r))
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

func (s *scale) Set(text string) error {
	above, below, ratio := strings.Cut(text, "/")
	a, err := strconv.ParseFloat(above, 64)
	b := 1.0
	if ratio && err == nil {
		b, err = strconv.ParseFloat(below, 64)
	}
	if v := a / b; err == nil && v >= 0.001 && v <= 10 {
		*s = scale(v)
		return nil
	}
	return errors.New("a timescale is a ratio from 1/1000 to 10, as 1/10 or 0.1")
}
