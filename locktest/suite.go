package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/explore"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	simfault "github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/sim/world"
	"github.com/holdfast-sim/holdfast/subjects"
)

// suite is what one lock is put through.
type suite struct {
	*options
	subject subjects.Subject
	cases   []*trial
	dials   bool // the lock uses another client library than go-redis
	// unclaimed are methods of the adapter that look like claims and are none.
	unclaimed []string
	told      map[contract.Guarantee]bool // whose smallest plan has been looked for
	listed    []string                    // the names of all cases, also of those that are not wanted
	stopped   error                       // a run came to a stop: those that follow would, too; nil once that is told
	stopAt    bool                        // no more is run
	until     time.Time                   // what only helps is not looked for any more; zero: go test sets no end
	// accepted are the mistakes that are known to show in scenarios, with the reasons; see accept.
	accepted map[contract.Guarantee]map[mistake]string
}

// hurry has what only helps, a smaller plan and the proof of a cause, be done in nine tenths of the time that the test has: what was
// found is told before go test ends it.
func (s *suite) hurry(t *testing.T) {
	if end, ok := t.Deadline(); ok {
		s.until = end.Add(-time.Until(end) / 10)
	}
}

// late reports whether there is time only for what has to be told.
func (s *suite) late() bool { return !s.until.IsZero() && time.Now().After(s.until) }

// trial is one plan, which is run when somebody first asks for it.
type trial struct {
	name  string
	plan  *plan.Plan
	why   string // it is not run
	named bool   // a scenario

	ran     bool
	proved  bool   // its causes were tried
	told    bool   // err was
	report  string // the name of the file of its last report
	history *history.History
	verdict *checker.Verdict
	err     error
}

// drawnFaults are the faults of drawn plans: one of each kind, of networks, servers and clients.
var drawnFaults = []string{"partition", "expire-key", "pause-watchdog"}

// corpus is where plans are kept that are to be run besides.
const corpus = "testdata/locktest"

func newSuite(b *bubble.Bubbles, newLock NewLock, o *options) (*suite, error) {
	if err := o.environ(); err != nil {
		return nil, err
	}
	s := &suite{options: o, subject: subjectOf(newLock, o), told: map[contract.Guarantee]bool{}, accepted: map[contract.Guarantee]map[mistake]string{}}
	if err := s.probe(b, newLock); err != nil || o.noPlans {
		return s, err
	}
	for _, sc := range scenarios.Stories(s.subject.Object) {
		p, why := sc.For(o.seed, s.subject.Can)
		s.add(&trial{name: sc.Name, plan: p, why: why, named: true})
	}
	faults := drawnFaults
	if !s.subject.Can("watchdog") {
		faults = faults[:2]
	}
	scope := scenarios.Scope{Object: s.subject.Object, Within: s.subject.Can(string(contract.LocalHolds)), NoReentry: !s.subject.Can("reentrant"), NoAsking: !s.subject.Can("inspect"), Altered: explore.Alters(s.subject) || s.subject.Can(string(contract.Forces))}
	struck := scope
	struck.Faults = faults
	for i := range o.drawn {
		s.draw(fmt.Sprintf("drawn-%d", i+1), i, scope)
		s.draw(fmt.Sprintf("drawn-with-faults-%d", i+1), i, struck)
	}
	if err := s.kept(); err != nil {
		return nil, err
	}
	if err := s.check(s.listed); err != nil {
		return nil, err
	}
	if len(s.cases) == 0 {
		return nil, errors.New("Only and Except leave nothing to run")
	}
	return s, nil
}

func (s *suite) add(t *trial) {
	if why := s.subject.Layout.Unknown; why != "" && t.why == "" && touchesKeys(t.plan) {
		t.why = fmt.Sprintf("what its faults do to the %s cannot be seen: %s", cmp.Or(s.subject.Object, history.ALock), why)
	}
	if s.wants(t.name) {
		t.plan = s.keyed(t.plan)
		s.cases = append(s.cases, t)
	}
	if !drawnName.MatchString(t.name) {
		s.listed = append(s.listed, t.name)
	}
}

// touchesKeys reports whether faults of a plan change keys behind the lock's back.
func touchesKeys(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Faults, func(f plan.Fault) bool {
		kind, ok := simfault.Find(f.Kind)
		effects := append(history.TouchesKey(), history.ServerForgot, history.ClockMoved, history.ForcedFree)
		return ok && slices.ContainsFunc(kind.Effects(f), func(e history.Effect) bool { return slices.Contains(effects, e) })
	})
}

// keyed names the locks of a plan like their keys, and gives each thread a client of its own where
// nothing else tells whose a command is.
func (s *suite) keyed(p *plan.Plan) *plan.Plan {
	if s.dials && !s.subject.Layout.Direct {
		p = p.Apart()
	}
	if s.key == nil {
		return p
	}
	return p.Renamed(func(name string) string {
		k := s.key(name)
		s.names[k] = name
		return k
	})
}

func (s *suite) draw(name string, i int, scope scenarios.Scope) {
	p := rapid.Custom(func(t *rapid.T) *plan.Plan { return scenarios.Draw(t, scope) }).Example(int(s.seed)<<16 + i)
	p, why := scenarios.Fit(p, s.subject.Can)
	p.Name = name
	s.add(&trial{name: name, plan: p, why: why})
}

// kept adds the plans of the corpus.
func (s *suite) kept() error {
	files, err := filepath.Glob(filepath.Join(corpus, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p, err := plan.Decode(text)
		if err == nil {
			err = p.Check(simfault.Needs())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		p, why := scenarios.Fit(p, s.subject.Can)
		t := &trial{name: strings.TrimSuffix(filepath.Base(file), ".json"), plan: p, why: why}
		s.listed = append(s.listed, t.name)
		if s.dials && !s.subject.Layout.Direct {
			t.plan = p.Apart()
		}
		if s.wants(t.name) { // its locks are named like their keys
			s.cases = append(s.cases, t)
		}
	}
	return nil
}

// probe finds out what the lock can do, and that the harness sees what it does.
func (s *suite) probe(b *bubble.Bubbles, newLock NewLock) error {
	const name = "locktest"
	p := s.keyed(&plan.Plan{Version: plan.Version, Name: "probe", Clients: []plan.Client{{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{
		{Do: plan.Lock, Lock: name}, {Do: plan.Work, Lock: name, For: plan.Duration(1e9)}, {Do: plan.Unlock, Lock: name},
	}}}}}})
	found := s.subject
	asked, dials := dialing(s.subject)
	open := asked.Open
	asked.Open = func(e subjects.Env) (subjects.Client, error) {
		c, err := open(e)
		if err != nil {
			return c, err
		}
		if found.Object = objectOf(c.(*client).c); found.Object == history.ALock {
			found.Object = ""
		}
		s.unclaimed = append(unclaimed(claims(&found, c.(*client).c, e.ID+":2")), unclaimed(c.(*client).c)...)
		// It is the same part of a lease of another length.
		found.RenewPart, found.RenewEvery = float64(found.RenewEvery)/float64(e.WatchdogTimeout), 0
		if found.Object != "" {
			return nil, &anotherObject{found.Object}
		}
		return c, nil
	}
	asked.Layout.Unknown = "it is being probed"
	h, err := sim.Run(b, p, asked, sim.Options{Seed: s.seed})
	if other := (*anotherObject)(nil); errors.As(err, &other) {
		s.subject = found
		return s.probeFamily(b)
	}
	if err != nil {
		return fmt.Errorf("a client that locks, works and unlocks: %w", err)
	}
	var took history.Op
	for _, op := range h.Ops {
		switch {
		case op.Kind == history.Lock && op.Outcome == history.Acquired:
			took = op
		case op.Kind == history.Lock:
			return fmt.Errorf("a client alone wants to lock, for its own lease and Forever, and it ends %s; a lock that does not wait makes one attempt then", ended(op))
		case op.Kind == history.Unlock && op.Outcome == history.Decremented:
			return errors.New("a client gives back its only hold, and ReleaseOne does not say that it was the last: a lock that cannot tell is Silent")
		case op.Kind == history.Unlock && op.Outcome != history.Released:
			return fmt.Errorf("a client takes the lock for %s%s, unlocks it %s later, and that ends %s", took.Lease, by(h, took), (op.Call - took.Return).Round(time.Millisecond), ended(op))
		}
	}
	s.subject, s.dials = found, dials.Load()
	s.subject.Resends = s.dials // a plan does not say how often a client of its own sends a request
	if err := s.probeCount(b); err != nil {
		return err
	}
	layout, err := sim.Probe(b, s.subject, sim.Options{Seed: s.seed})
	if err != nil {
		return fmt.Errorf("a client that locks, works and unlocks: %w", err)
	}
	if layout.Unknown != sim.NoKey || s.key == nil {
		s.subject.Layout, s.key = layout, nil
	} else { // it is where the option says
		s.subject.Layout = history.Layout{NoContext: layout.NoContext, Direct: layout.Direct}
	}
	return nil
}

// by names the last command of a call.
func by(h *history.History, op history.Op) (text string) {
	for _, r := range h.Served {
		if r.Op == op.ID && r.Step != history.StepSession && !r.Refused {
			text = ", by " + strconv.Quote(r.Text)
		}
	}
	return text
}

// probeCount finds out whether a lock counts its owner's holds that does not say so. One that is Local may count them within the process, where
// no request is sent again.
func (s *suite) probeCount(b *bubble.Bubbles) error {
	if s.subject.Can(string(contract.Reentrant)) || s.subject.Can(string(contract.LocalHolds)) {
		return nil
	}
	const name = "locktest"
	lock, unlock, try := plan.Step{Do: plan.Lock, Lock: name}, plan.Step{Do: plan.Unlock, Lock: name}, plan.Step{Do: plan.TryLock, Lock: name}
	p := s.keyed(&plan.Plan{Version: plan.Version, Name: "probe", Clients: []plan.Client{
		{Name: "c1", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{lock, try, unlock}}}},
		{Name: "c2", Threads: []plan.Thread{{ID: 1, Start: plan.Duration(5 * time.Second), Steps: []plan.Step{try}}}},
	}})
	asked := s.subject
	asked.Layout.Unknown = "it is being probed"
	h, err := sim.Run(b, p, asked, sim.Options{Seed: s.seed})
	if err != nil {
		return fmt.Errorf("a client that locks, tries again and unlocks: %w", err)
	}
	outcome := func(client string, kind history.Kind) history.Outcome {
		i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.Client == client && op.Kind == kind })
		if i < 0 {
			return ""
		}
		return h.Ops[i].Outcome
	}
	released := outcome("c1", history.Unlock)
	if outcome("c1", history.TryLock) == history.Acquired && (released == history.Released || released == history.OK) && outcome("c2", history.TryLock) == history.Busy {
		return errors.New("who holds the lock is granted it again, and one release leaves it held: a lock that counts holds is Reentrant, and Silent if a release does not tell whether it was the last")
	}
	return nil
}

// dialing returns a subject that says whether its clients connect by themselves.
func dialing(s subjects.Subject) (subjects.Subject, *atomic.Bool) {
	dials, open := &atomic.Bool{}, s.Open
	s.Open = func(e subjects.Env) (subjects.Client, error) {
		dial := e.Dial
		e.Dial = func(ctx context.Context) (net.Conn, error) {
			dials.Store(true)
			return dial(ctx)
		}
		return open(e)
	}
	return s, dials
}

// ended tells how an operation ended.
func ended(op history.Op) string {
	switch {
	case op.Pending():
		return "never"
	case op.Error != "":
		return fmt.Sprintf("%s: %s", op.Outcome, op.Error)
	}
	return string(op.Outcome)
}

// run runs and judges a trial, once.
func (s *suite) run(b *bubble.Bubbles, t *trial) {
	if t.ran {
		return
	}
	switch {
	case s.stopped != nil:
		t.ran, t.err, s.stopped = true, s.stopped, nil
	case s.stopAt:
		t.why = "not run: another run came to a stop, as is told elsewhere"
	default:
		t.ran = true
		t.history, t.verdict, t.err = s.judged(b, t, t.plan, 0)
		if errors.Is(t.err, world.ErrWhose) {
			t.plan = t.plan.Apart()
			t.history, t.verdict, t.err = s.judged(b, t, t.plan, 0)
		}
		if t.err == nil || s.stopped == t.err {
			s.stopped = nil
		}
	}
}

// judging says what a lock is held to: what it claims.
func judging() checker.Options { return checker.Options{Unpredicted: true} }

// judged runs and judges a plan of a trial, with so many messages at most; 0: any number.
func (s *suite) judged(b *bubble.Bubbles, t *trial, p *plan.Plan, most int) (*history.History, *checker.Verdict, error) {
	h, err := sim.Run(b, p, s.subject, sim.Options{Seed: s.seed, Scenario: t.name, Most: most})
	if stall := (*bubble.StallError)(nil); errors.As(err, &stall) && !stall.Mutex {
		s.stopped, s.stopAt = err, true // each that follows would take as long
	} else if errors.As(err, new(*world.LacksError)) {
		s.stopped, s.stopAt = err, true // each that waits in one that follows would wait in vain
	}
	if err != nil {
		return h, nil, err
	}
	v := checker.Judge(context.Background(), h, judging())
	if why := v.Trouble(); why != "" {
		return h, v, errors.New(why)
	}
	return h, v, nil
}

// fault is what a lock has to answer for.
type fault struct {
	checker.Violation
	known string // why it is accepted; empty: it is not
}

// same reports whether two faults are of one rule and cause.
func (f fault) same(other fault) bool {
	return f.Rule == other.Rule && f.Cause.Class == other.Cause.Class && f.known == other.known
}

// broke returns what a verdict says of a guarantee that the lock has to answer for, what tells most first: what nobody
// accepted, and what has an explanation.
func (s *suite) broke(t *trial, v *checker.Verdict, g contract.Guarantee) (all []fault) {
	for _, x := range v.Result(g).Defects() {
		f := fault{Violation: x}
		if !t.named && len(t.plan.Faults) > 0 {
			f.known = s.accepted[g][mistake{x.Rule, x.Call}]
		}
		all = append(all, f)
	}
	rank := func(f fault) (n int) {
		if f.known != "" {
			n += 2
		}
		if f.Cause.Class == contract.Unexplained {
			n++
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b fault) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// mistake is what a lock gets wrong.
type mistake struct {
	rule contract.Rule
	call history.Kind
}

// accept runs the scenarios in which a guarantee is known to break: the rule that a call breaks there is no
// news in a plan that is drawn with faults.
func (s *suite) accept(b *bubble.Bubbles, g contract.Guarantee) {
	if s.accepted[g] != nil {
		return
	}
	s.accepted[g] = map[mistake]string{}
	for _, t := range s.cases {
		reason, known := s.known[t.name+"/"+string(g)]
		if !known || !t.named || t.why != "" {
			continue
		}
		if s.run(b, t); t.err == nil {
			for _, v := range t.verdict.Result(g).Defects() {
				s.accepted[g][mistake{v.Rule, v.Call}] = cmp.Or(reason, t.name)
			}
		}
	}
}
