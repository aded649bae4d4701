package locktest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	simfault "github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// Explore hunts for plans under which a lock breaks what it claims, as simrun explore does: it draws plans from the whole of
// what can be drawn, with faults of all kinds, and has them run by worker processes, one for each processor. Each is the
// test binary, which runs the calling test alone and comes to this call again. There is a subtest for each
// cause for which the lock answers. [Seed] is that of the first run, [Runs] and [For] say when to end; Only, Except and
// Drawn are of no use here.
func Explore(t *testing.T, newLock NewLock, opts ...Option) {
	t.Helper()
	o := optionsOf(t.Name(), opts)
	o.noPlans = os.Getenv(workerOf) != "" // it gets its own
	s, err := newSuite(bubble.In(t), newLock, o)
	if err == nil && len(o.only)+len(o.not) > 0 {
		err = errors.New("Only and Except are options of Run")
	}
	if err == nil {
		err = goals.Check(o.goals)
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	s.subject.Goals = o.goals
	if os.Getenv(workerOf) != "" {
		s.work(bubble.In(t), os.Stdin, os.Stdout)
		return
	}
	if o.runs == 0 && o.long == 0 {
		o.runs = 1000
	}
	s.sayProbed(t)
	s.hurry(t)
	s.out = cmp.Or(s.out, folder(t))
	scope := scenarios.Whole()
	scope.Sections = 3
	workers := newWorkers(t.Name())
	defer workers.close()
	search := explore.Search{
		Config:   explore.Config{Version: explore.Version, Subject: s.subject.Name, Strategy: "uniform", Scope: scope},
		Executor: workers, First: o.seed, Runs: o.runs, For: o.long,
	}
	ctx, early, stop := untilInterrupted(t)
	search.Each = progress(t, o.runs)
	total, err := search.Run(ctx)
	why := early()
	stop()
	if err != nil && (why == "" || !errors.Is(err, ctx.Err())) {
		t.Fatalf("locktest: %v", err)
	}
	if why != "" && (o.runs == 0 || total.Runs < o.runs) {
		t.Logf("locktest: it ends after %s plans: %s", reports.Thousands(total.Runs), why)
	}
	if total.Runs == 0 {
		t.Error("locktest: no plan was judged, so that nothing is known of the lock: the first take longer than the search may")
	}
	t.Logf("locktest: %s plans; something broke in %s, by a defect in %s; undecided %s",
		reports.Thousands(total.Runs), reports.Thousands(total.Broken), reports.Thousands(total.Accused), reports.Thousands(total.Undecided))
	list := total.GoalList(s.subject.Goals, explore.GoalsOf(s.subject, scope))
	t.Logf("locktest: %s", told(list))
	if page, err := s.explored(total, list, again(t.Name(), o.seed, o.runs)); err != nil {
		t.Logf("locktest: there is no page: %v", err)
	} else {
		t.Logf("locktest: what was run: %s", page)
	}
	if f := total.Failure; f != nil {
		t.Errorf("%s runs failed, the first with seed %d: %s\nagain: %s", reports.Thousands(total.Failed), f.Seed, f.Error, again(t.Name(), f.Seed, 1))
		for _, f := range total.Failures {
			t.Errorf("another kind of failure, the first with seed %d: %s\nagain: %s", f.Seed, f.Error, again(t.Name(), f.Seed, 1))
		}
	}
	name := t.Name()          // that of a subtest may end in #01
	seen := map[string]bool{} // the runs that were told
	for _, f := range total.Found {
		run := fmt.Sprintf("%s-seed-%d", f.Guarantee, f.Seed)
		t.Run(run, func(t *testing.T) {
			one := *s
			one.options = new(*o)
			one.seed = f.Seed
			one.accept(bubble.In(t), f.Guarantee)
			if reason := one.accepted[f.Guarantee][mistake{f.Rule, f.Call}]; reason != "" {
				t.Skip("known: " + reason)
			}
			if seen[run] {
				t.Fatalf("%s (%s, %s), in %s runs; its first run is that of %s, and told there", f.Text, f.Rule, f.Class, reports.Thousands(f.Runs), run)
			}
			seen[run] = true
			t.Error(one.found(bubble.In(t), f, again(name, f.Seed, 1)))
		})
	}
}

// untilInterrupted is a context that ends when the process is told to end, by Ctrl-C or SIGTERM, or when four fifths of the time are over that the test
// has by go test's -timeout: so that what was found is told. early says which, "" that it was neither. After stop a signal ends the process.
func untilInterrupted(t *testing.T) (ctx context.Context, early func() string, stop func()) {
	ctx, signals := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	limit := func() {}
	if end, ok := t.Deadline(); ok {
		ctx, limit = context.WithTimeout(ctx, time.Until(end)*4/5)
	}
	return ctx, func() string {
			switch err := context.Cause(ctx); {
			case err == nil || t.Context().Err() != nil:
				return ""
			case errors.Is(err, context.DeadlineExceeded):
				return "the time that go test gives it, -timeout, is nearly over"
			}
			return "it was told to end"
		}, func() {
			signals()
			limit()
		}
}

// progress tells, every ten seconds and when the first defect was found, how far a search is; runs is how many plans there are to be, 0: nobody knows.
func progress(t *testing.T, runs int) func(explore.Shard, explore.Report) {
	done, accused, last := 0, 0, time.Now()
	of := ""
	if runs > 0 {
		of = " of " + reports.Thousands(runs)
	}
	return func(_ explore.Shard, r explore.Report) {
		t.Helper()
		first := accused == 0 && r.Accused > 0
		done, accused = done+r.Runs, accused+r.Accused
		if first || time.Since(last) >= 10*time.Second {
			t.Logf("locktest: %s%s plans so far, a defect in %s", reports.Thousands(done), of, reports.Thousands(accused))
			last = time.Now()
		}
	}
}

// again explores once more.
func again(test string, seed uint64, runs int) string {
	return fmt.Sprintf("HOLDFAST_SEED=%d HOLDFAST_RUNS=%d go test -count=1 -run '^%s$' %s", seed, runs, regexp.QuoteMeta(test), pkg())
}

// found tells a cause that was found by its first run.
func (s *suite) found(b *bubble.Bubbles, f explore.Found, again string) error {
	t := &trial{name: fmt.Sprintf("seed-%d", f.Seed), plan: f.Plan}
	s.run(b, t)
	if t.err != nil {
		return fmt.Errorf("%s in %s runs, first with seed %d; run again it failed: %w\nagain: %s", f.Text, reports.Thousands(f.Runs), f.Seed, t.err, again)
	}
	for _, v := range s.broke(t, t.verdict, f.Guarantee) {
		if v.Rule == f.Rule && v.Cause.Class == f.Class && v.Call == f.Call {
			failure := s.tell(b, t, f.Guarantee, []fault{v}, again)
			failure.Text = fmt.Sprintf("  It broke so in %s of the runs.\n\n%s", reports.Thousands(f.Runs), failure.Text)
			return failure
		}
	}
	return fmt.Errorf("%s (%s) in %s runs, first with seed %d, and not when that was run again: the lock does something else each time\nagain: %s", f.Text, f.Rule, reports.Thousands(f.Runs), f.Seed, again)
}

// explored writes a page about runs that are worth a place on it.
func (s *suite) explored(total explore.Total, list []reports.Goal, again string) (string, error) {
	b := reports.Batch{Command: again, Runs: total.Samples, Goals: list}
	for _, k := range simfault.Kinds() {
		b.Faults = append(b.Faults, k.Name)
	}
	if len(b.Runs) < total.Runs {
		b.Note = fmt.Sprintf("Of %s explored runs these are %s: some of each part of the search, and the first of each cause for which the lock is to blame.", reports.Thousands(total.Runs), reports.Thousands(len(b.Runs)))
	}
	return s.write(b)
}

// told says which goals were reached, and which were not.
func told(list []reports.Goal) string {
	var never []string
	for _, g := range list {
		if g.Runs == 0 {
			never = append(never, g.Goal)
		}
	}
	text := fmt.Sprintf("%s of %s goals reached", reports.Thousands(len(list)-len(never)), reports.Thousands(len(list)))
	if len(never) > 0 {
		text += "; never " + strings.Join(never, ", ")
	}
	return text
}

// workerOf is set in the environment of worker processes.
const workerOf = "HOLDFAST_LOCKTEST_WORKER"

// answers begin the lines that are answers, among whatever else a test writes.
const answers = "locktest-report "

// begins begins the lines that say with which seed a run begins, likewise.
const begins = "locktest-seed "

// work does the shards that it reads, one after the other.
func (s *suite) work(b *bubble.Bubbles, in io.Reader, out io.Writer) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // the process that it works for ends it
	for shards := json.NewDecoder(in); ; {
		var shard explore.Shard
		if shards.Decode(&shard) != nil {
			return
		}
		at := shard.From
		report, err := json.Marshal(explore.DoWith(b, s.subject, shard, func(p *plan.Plan) *plan.Plan {
			fmt.Fprintf(out, "\n%s%d\n", begins, at)
			at++
			return s.keyed(p)
		}))
		if err != nil {
			panic(err) // plain data always encodes
		}
		fmt.Fprintf(out, "\n%s%s\n", answers, report)
	}
}

// workers are processes that do shards.
type workers struct {
	test string
	free chan *worker // nil: it is yet to be started
}

type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newWorkers(test string) *workers {
	w := &workers{test, make(chan *worker, runtime.GOMAXPROCS(0))}
	for range cap(w.free) {
		w.free <- nil
	}
	return w
}

// Slots implements [explore.Executor].
func (w *workers) Slots() int { return cap(w.free) }

// Run implements [explore.Executor]. What ends a process is a failure of the run that it did.
func (w *workers) Run(ctx context.Context, shard explore.Shard) (explore.Report, error) {
	one := <-w.free
	defer func() { w.free <- one }()
	ended := 0
	parts, err := w.run(ctx, &one, shard, &ended)
	if err != nil || len(parts) == 1 {
		return parts[0], cmp.Or(err, ctx.Err())
	}
	return explore.Sum(parts).Whole(), ctx.Err()
}

// mostEnds is how many processes a shard may end, until what is left of it counts as failed.
const mostEnds = 5

// run has a process do a shard; nil: it is yet to be started. If a run ends the process, others do what comes before it and after it.
func (w *workers) run(ctx context.Context, one **worker, shard explore.Shard, ended *int) ([]explore.Report, error) {
	if *one == nil {
		var err error
		if *one, err = w.start(ctx); err != nil {
			return []explore.Report{{}}, err
		}
	}
	report, at, said, err := (*one).do(shard)
	if err == nil {
		return []explore.Report{report}, nil
	}
	(*one).end()
	*one = nil
	*ended++
	text := fmt.Sprintf("the process of the run ended: %v: %s", err, said)
	failure := &explore.Failure{Seed: at, Error: text}
	if *ended == mostEnds || ctx.Err() != nil {
		return []explore.Report{{Runs: shard.Runs, Failed: shard.Runs, Failure: failure}}, nil
	}
	parts := []explore.Report{{Runs: 1, Failed: 1, Failure: failure}}
	before, after := shard, shard
	before.Runs = int(at - shard.From)
	after.From, after.Runs = at+1, shard.Runs-before.Runs-1
	for _, part := range []explore.Shard{before, after} {
		if part.Runs > 0 {
			more, err := w.run(ctx, one, part, ended)
			if err != nil {
				return more, err
			}
			parts = append(parts, more...)
		}
	}
	return parts, nil
}

func (w *workers) start(ctx context.Context) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(w.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	one := &worker{cmd: exec.CommandContext(ctx, self, "-test.run="+strings.Join(parts, "/"), "-test.count=1", "-test.timeout=0")}
	one.cmd.Env = append(os.Environ(), workerOf+"=1", "GOMAXPROCS=2")
	if one.in, err = one.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := one.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	one.cmd.Stderr = one.cmd.Stdout
	one.out = bufio.NewReaderSize(out, 1<<16)
	return one, one.cmd.Start()
}

// do has a shard done. What the process has said instead of an answer is said, too, and with which seed its last run began.
func (w *worker) do(shard explore.Shard) (report explore.Report, at uint64, said string, err error) {
	at = shard.From
	if err := json.NewEncoder(w.in).Encode(shard); err != nil {
		return report, at, "", err
	}
	var rest bytes.Buffer
	for {
		line, err := w.out.ReadString('\n')
		if text, ok := strings.CutPrefix(line, answers); ok && err == nil {
			return report, at, "", json.Unmarshal([]byte(text), &report)
		}
		if text, ok := strings.CutPrefix(line, begins); ok && err == nil {
			at, _ = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			rest.Reset() // it came to an end after what it has said so far
			continue
		}
		if rest.Len() < 4<<10 {
			rest.WriteString(line)
		}
		if err != nil {
			return report, at, strings.TrimSpace(rest.String()), err
		}
	}
}

func (w *worker) end() {
	w.in.Close()
	_, _ = io.Copy(io.Discard, w.out)
	_ = w.cmd.Wait()
}

func (w *workers) close() {
	for range cap(w.free) {
		if one := <-w.free; one != nil {
			one.end()
		}
	}
}
