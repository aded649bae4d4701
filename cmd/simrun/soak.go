package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/health"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/sim/soak"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// soakOrder is what the user of simrun soak asked for.
type soakOrder struct {
	soak.Config
	addr, subject, faults, world string
	destructive, json            bool
	record, judge                bool
	out                          string
	server                       string // its address, without a password
	program                      string // of a server of its own; "": redis-server
	url                          string // the same with it
	tls                          redisserver.TLS
}

// partFile is the part of a soak's history in which something broke first.
const partFile = "broken.jsonl"

// soakNeeds is the oldest Redis that knows CLIENT LIST ID.
const soakNeeds = "6.2"

func soakFlags(o *soakOrder) *flag.FlagSet {
	f := newFlags("soak")
	f.StringVar(&o.world, "world", "redis", "`name` of the world: redis, a real server, is the only one for this")
	f.DurationVar(&o.For, "for", time.Minute, "`how long`")
	f.IntVar(&o.Clients, "clients", 32, "`how many` clients work at once")
	f.IntVar(&o.Locks, "locks", 100, "`how many` locks they share")
	f.StringVar(&o.subject, "subject", "rlock-hardened", "`name` of the lock under test (simrun list)")
	serverFlag(f, &o.program)
	addressFlags(f, &o.addr, &o.tls)
	f.BoolVar(&o.destructive, "allow-destructive", false, "on a server of yours, let faults strike more than the run's own keys")
	f.StringVar(&o.faults, "faults", "default", "`names` of the kinds, with commas between, default, all, or none: "+strings.Join(faultNames(soak.Kinds()), ", "))
	f.DurationVar(&o.Every, "fault-every", 500*time.Millisecond, "the mean `time` between two faults")
	f.DurationVar(&o.Watchdog, "lease", time.Second, "how `long` the lease is that watchdogs renew, and the longest that is asked for")
	o.Seed = 1
	f.Var((*seedFlag)(&o.Seed), "seed", "`number` that decides what is tried and what strikes")
	f.StringVar(&o.out, "out", defaultOut, "`folder` for what runs leave behind, or none")
	f.BoolVar(&o.record, "record", true, "record and judge; false: only measure, to see what that costs")
	f.BoolVar(&o.judge, "judge", true, "judge while it runs; false: only record, for simrun check")
	f.BoolVar(&o.json, "json", false, "the verdict on standard output, as JSON")
	return f
}

func faultNames(kinds []soak.Kind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

func parseSoak(args []string) (o soakOrder, err error) {
	f := soakFlags(&o)
	if err := f.Parse(args); err != nil {
		return o, flagError(f, err)
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("stray argument %q: everything is a flag, see simrun soak -help", f.Arg(0))
	case o.world != "redis":
		return o, fmt.Errorf("-world %s: a soak runs in real time against a real server: redis", o.world)
	case o.For < time.Second:
		return o, fmt.Errorf("-for %v: must be at least 1s", o.For)
	case o.Clients < 1 || o.Clients > 1000:
		return o, fmt.Errorf("-clients %d: must be from 1 to 1000", o.Clients)
	case o.Locks < 1 || o.Locks > 100_000:
		return o, fmt.Errorf("-locks %d: must be from 1 to 100000", o.Locks)
	case o.Watchdog < 200*time.Millisecond || o.Watchdog > time.Minute:
		return o, fmt.Errorf("-lease %v: must be from 200ms to 1m", o.Watchdog)
	case o.Every < time.Millisecond:
		return o, fmt.Errorf("-fault-every %v: must be at least 1ms", o.Every)
	case o.out == "":
		return o, errors.New(`-out "": name a folder, or none`)
	case !o.judge && (o.json || o.out == nowhere):
		return o, errors.New("-judge=false leaves a history and no verdict: it needs -out, and goes without -json")
	}
	if o.program != "" {
		if o.addr != "" {
			return o, errors.New("-server is the program of a server of its own, and -addr names a server of yours: leave one of them out")
		}
		if _, err := redisserver.Find(o.program); err != nil {
			return o, fmt.Errorf("-server: %w", err)
		}
	}
	if o.addr != "" {
		if o.url, err = address(o.addr, o.tls); err != nil {
			return o, err
		}
	}
	if isProcess(o.subject) {
		return o, fmt.Errorf("-subject %s: it lives in processes of its own, and a soak is for locks in this program", o.subject)
	}
	var known bool
	if o.Subject, known = libraries.Find(o.subject); !known {
		return o, unknown("subject", o.subject, subjectNames())
	}
	if !o.Subject.Can("lock") {
		return o, fmt.Errorf("-subject %s: it is a %s, and a soak is for locks", o.subject, o.Subject.Object)
	}
	return o, o.chooseFaults()
}

// chooseFaults makes kinds of what -faults says, and refuses those that a server must not suffer.
func (o *soakOrder) chooseFaults() error {
	own := o.addr == ""
	ours := own || o.destructive
	switch o.faults {
	case "none":
		return nil
	case "default":
		o.Faults = soak.Default(ours, own)
		return nil
	case everything:
		for _, k := range soak.Kinds() {
			if k.May(ours, own) {
				o.Faults = append(o.Faults, k)
			}
		}
		return nil
	}
	for name := range strings.SplitSeq(o.faults, ",") {
		found := false
		for _, k := range soak.Kinds() {
			if k.Name != name {
				continue
			}
			if k.Away && !own {
				return fmt.Errorf("-faults %s: it takes the server away, which only one that is started here can be: leave out -addr", name)
			}
			if k.Whole && !ours {
				return fmt.Errorf("-faults %s: it strikes more than the run's own keys, and the server is yours: say -allow-destructive if that is what you want", name)
			}
			o.Faults, found = append(o.Faults, k), true
		}
		if !found {
			return unknown("fault", name, faultNames(soak.Kinds()))
		}
	}
	return nil
}

// soakCommand runs a lock for a long time against a real server.
func soakCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseSoak(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return helpOn(stdout, "soak")
	case err != nil:
		return fail(stderr, checker.ExitUsage, "soak: %v", err)
	}
	if err := writable(o.out); err != nil {
		return fail(stderr, blame(err), "soak: -out %s: %v", o.out, err)
	}
	if err := o.enough(); err != nil {
		return fail(stderr, checker.ExitHarness, "soak: %v", err)
	}
	o.Name = redisserver.RunName()
	name, software, closeServer, err := o.serve(ctx)
	if ctx.Err() != nil {
		return interrupted(ctx, stderr, checker.ExitExpected, "soak: interrupted before it began")
	} else if err != nil {
		return fail(stderr, checker.ExitHarness, "soak: %v", err)
	}
	defer closeServer()
	o.server = name
	return o.run(ctx, software, stdout, stderr)
}

// A soak begins with so much room on each disk that it writes to, and ends when no more is left than it takes to
// tell what came out.
const (
	soakRoom    = 32 << 20
	soakReserve = 24 << 20
)

// foretold is when it is known how fast a soak's history grows.
const foretold = 900 * time.Millisecond

// folders are those that a soak writes to: for its history, and the data of a server of its own.
func (o *soakOrder) folders() []string {
	var list []string
	if o.out != nowhere && o.record {
		list = append(list, o.out)
	}
	if o.addr == "" {
		list = append(list, os.TempDir())
	}
	return list
}

// enough returns a *[health.Shortage] if this machine has too little left for a soak.
func (o *soakOrder) enough() error {
	// A client has four connections and its subscription; the rest is ours.
	if err := health.Files(uint64(5*o.Clients + 40)); err != nil {
		return fmt.Errorf("%d clients are too many: %w", o.Clients, err)
	}
	for _, dir := range o.folders() {
		if err := health.Disk(dir, 0, soakRoom); err != nil {
			return err
		}
	}
	return health.Memory(leastMemory + uint64(o.Clients)<<20) // a client has some 100 kB of its own, and calls of locks to be judged
}

// supplies looks, while a soak goes on, at the disks that it writes to.
type supplies struct {
	order  *soakOrder
	file   *journal // nil: there is none
	warned bool
}

// look returns a *[health.Shortage] when it is time to end, and warns once if a disk will be full before the soak is over.
func (s *supplies) look(at time.Duration, warn func(string)) error {
	written := uint64(0)
	if s.file != nil {
		written = s.file.size()
	}
	for _, dir := range s.order.folders() {
		if err := health.Disk(dir, written, soakReserve); err != nil {
			return err
		}
	}
	if s.warned || s.file == nil || at < foretold {
		return nil
	}
	s.warned = true
	rest := uint64(float64(written) / at.Seconds() * (s.order.For - at).Seconds())
	if err := health.Disk(s.order.out, written, rest+soakReserve); err != nil {
		warn(fmt.Sprintf("the history will not fit, and the soak will end early: %v", err))
	}
	return nil
}

// serve starts a server, or looks over the one that is named.
func (o *soakOrder) serve(ctx context.Context) (name string, is redisserver.Software, stop func(), err error) {
	if o.addr != "" {
		r, err := redisserver.Connect(ctx, o.url, redisserver.Needs{AtLeast: soakNeeds, Prefix: o.Name + ":", TLS: o.tls})
		if err != nil {
			return "", is, nil, err
		}
		o.Server = soak.Server{Options: r.RedisOptions, Destructive: o.destructive}
		return r.Name(), r.Software(), func() {}, nil
	}
	s, err := redisserver.Start(ctx, redisserver.Options{Path: o.program, AtLeast: soakNeeds})
	if err != nil {
		if !strings.Contains(err.Error(), "\n") { // or it would look like the server's last line
			err = fmt.Errorf("%w; or name a server of yours with -addr", err)
		}
		return "", is, nil, err
	}
	o.Server = soak.Server{Own: s, Options: s.RedisOptions}
	return "redis://" + s.Addr(), s.Software(), func() { _ = s.Close() }, nil
}

// run runs, judges and reports.
func (o *soakOrder) run(ctx context.Context, is redisserver.Software, stdout, stderr io.Writer) int {
	if !o.record {
		return o.measure(ctx, stdout, stderr)
	}
	dir, err := makeFolder(o.out, "soak", o.Seed)
	if err != nil {
		return fail(stderr, checker.ExitHarness, "soak: %v", err)
	}
	if err := dir.latest(); err != nil { // a soak is long: who looks for it finds it
		return fail(stderr, checker.ExitHarness, "soak: %v", err)
	}
	header := o.Header(map[string]string{is.Name: is.Version, "server": o.server, "keys": o.Name, "go": runtime.Version(), "holdfast": sim.Own()})
	var judge *checker.Stream // nil: nobody judges
	add := func(any) {}
	if o.judge {
		judge = checker.NewStream(header, checker.Options{})
		add = judge.Add
		o.Crowded, o.Begun = judge.Crowded, func(f history.Fault) { judge.Add(f) }
	}
	var file *journal
	if dir.dir != "" {
		if file, err = newJournal(filepath.Join(dir.dir, historyFile)); err != nil {
			return fail(stderr, checker.ExitHarness, "soak: %v", err)
		}
		file.record(header)
		begun := o.Begun
		o.Begun = func(f history.Fault) { // what a killed run leaves has the faults that were not over
			file.record(f)
			if begun != nil {
				begun(f)
			}
		}
		toJudge := add
		add = func(r any) {
			file.record(r)
			toJudge(r)
		}
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ticker := newSoakProgress(stderr, o.For)
	o.Out = add
	disks := supplies{order: o, file: file}
	o.Sampled = func(s soak.Sample) {
		ops := 0
		if judge != nil {
			ops, _ = judge.Judged()
		}
		ticker.show(s, ops)
		if file != nil {
			if err := file.failed(); err != nil {
				cancel(fmt.Errorf("the history cannot be written: %w", err))
			}
		}
		if short := disks.look(s.At, func(text string) {
			ticker.clear()
			fail(stderr, 0, "warning: soak: %s", text)
		}); short != nil {
			cancel(short)
		}
	}
	r, err := soak.Run(running, o.Config)
	ticker.clear()
	end := history.End{At: r.Length}
	if failed := context.Cause(running); err == nil && failed != nil && !errors.Is(failed, context.Canceled) && health.Short(failed) == nil {
		err = failed
	}
	if err != nil {
		end.Error = err.Error()
	}
	if file != nil {
		file.record(end)
		if failed := file.close(); err == nil && failed != nil {
			end.Error = fmt.Sprintf("the history cannot be written: %v", failed)
		}
	}
	if judge == nil {
		return o.recorded(running, dir, r, end.Error, stdout, stderr)
	}
	v := judge.Close(context.Background(), end)
	o.tell(v, r, stdout)
	code := v.Code()
	if dir.dir != "" {
		if left := o.leave(dir, judge, v, r, stderr); left != checker.ExitExpected {
			code = checker.Worst(code, left)
		} else if !o.json {
			say(stdout, "  report  %s\n", filepath.Join(dir.dir, reportFile))
		}
	}
	if end.Error != "" {
		return fail(stderr, checker.ExitHarness, "soak: %s", end.Error)
	}
	return o.interrupted(running, r, stderr, code)
}

// recorded says what there is to judge.
func (o *soakOrder) recorded(ctx context.Context, dir *folder, r *soak.Result, failed string, stdout, stderr io.Writer) int {
	say(stdout, "%s  judge   %s\n", counts(r), again([]string{"check", dir.dir}))
	if failed != "" {
		return fail(stderr, checker.ExitHarness, "soak: %s", failed)
	}
	return o.interrupted(ctx, r, stderr, checker.ExitExpected)
}

// interrupted says that a soak was ended early, if it was.
func (o *soakOrder) interrupted(ctx context.Context, r *soak.Result, stderr io.Writer, code int) int {
	return interrupted(ctx, stderr, code, "soak: interrupted after %s of %v; what is told is about that", checker.Stamp(r.Length), o.For)
}

// measure runs without recording.
func (o *soakOrder) measure(ctx context.Context, stdout, stderr io.Writer) int {
	ticker := newSoakProgress(stderr, o.For)
	o.Sampled = func(s soak.Sample) { ticker.show(s, 0) }
	r, err := soak.Run(ctx, o.Config)
	ticker.clear()
	if err != nil {
		return fail(stderr, checker.ExitHarness, "soak: %v", err)
	}
	say(stdout, "%s", counts(r))
	return o.interrupted(ctx, r, stderr, checker.ExitExpected)
}

// tell says how it went.
func (o *soakOrder) tell(v *checker.Verdict, r *soak.Result, stdout io.Writer) {
	if o.json {
		_ = reports.JSON(stdout, v)
		return
	}
	s := showOn(stdout, false)
	_ = reports.Terminal(stdout, v, reports.TerminalOptions{Color: s.Color, Width: s.Width})
	say(stdout, "%s", counts(r))
}

// leave writes what the run leaves besides its history, and returns the exit code that this comes to.
func (o *soakOrder) leave(dir *folder, judge *checker.Stream, v *checker.Verdict, r *soak.Result, stderr io.Writer) (code int) {
	warn := func(err error) {
		if err != nil {
			code = fail(stderr, checker.ExitHarness, "soak: %v", err)
		}
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = dir.write(verdictFile, append(b, '\n'))
	}
	warn(err)
	part, window := judge.Broken()
	warn(leavePart(dir, part))
	var page bytes.Buffer
	if err = reports.HTML(&page, part, v, reports.HTMLOptions{Command: o.command(), Long: long(o.Config, r, window)}); err == nil {
		err = dir.write(reportFile, page.Bytes())
	}
	warn(err)
	return code
}

// command runs the same again, as far as real time lets it.
func (o *soakOrder) command() string {
	words := []string{self(), "soak", "-for", o.For.String(), "-clients", fmt.Sprint(o.Clients), "-locks", fmt.Sprint(o.Locks),
		"-subject", quoted(o.subject), "-faults", o.faults, "-fault-every", o.Every.String(), "-lease", o.Watchdog.String(), "-seed", fmt.Sprint(o.Seed)}
	if o.addr != "" {
		words = append(append(words, "-addr", quoted(withoutPassword(o.addr))), tlsWords(o.tls)...)
	}
	if o.destructive {
		words = append(words, "-allow-destructive")
	}
	return strings.Join(words, " ")
}

// counts says what was counted, in lines that fit a terminal: what does not goes on below, behind the name.
func counts(r *soak.Result) string {
	const name = 10
	var b strings.Builder
	for line := range strings.Lines(r.Text(reports.Thousands)) {
		b.WriteString(line[:name] + strings.TrimSpace(indent(line[name:], name, wide-name)) + "\n")
	}
	return b.String()
}
