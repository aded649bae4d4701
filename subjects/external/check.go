package external

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// Status is what came out of a check.
type Status string

const (
	Passed     Status = "ok"
	Failed     Status = "FAILED"
	NotClaimed Status = "not claimed"
	NotReached Status = "not reached" // the worker did not get that far
	Undecided  Status = "undecided"   // the machine was too late to say
)

// Result is the result of one check.
type Result struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	About  string `json:"about"`         // what a right worker does
	Got    string `json:"got,omitzero"`  // what this one did instead, if it failed or that is undecided
	Said   string `json:"said,omitzero"` // of hello: the lock's name and version
}

// Check finds out whether a program with its arguments is a worker that speaks the protocol, and a lock that does what
// it claims, on the Redis server at that URL; report gets each result as it becomes known. It takes
// some seconds of real time. A check that fails while this machine is late is done again, and is undecided if that happens each
// time. It reports whether every check passed that the worker claims.
//
// late looks at this machine from when it is called: what it returns says how late that was at the worst.
func Check(ctx context.Context, words []string, url string, late func() func() time.Duration, report func(Result)) bool {
	l := usual
	l.late = late
	return checks.try(ctx, words, url, l, report)
}

// try is [Check] with other checks, or limits.
func (t table) try(ctx context.Context, words []string, url string, l limits, report func(Result)) bool {
	b := &bench{ctx: ctx, url: url, words: words, limits: l, prefix: "holdfast-check:" + rand.Text()[:8] + ":"}
	defer b.dismiss()
	passed := true
	for _, c := range t {
		if ctx.Err() != nil {
			return false
		}
		if c.of != nil && !slices.Contains(c.of, cmp.Or(b.subject.Object, history.ALock)) {
			continue // it is about another kind of object
		}
		r := Result{Name: c.name, Status: Passed, About: c.about}
		switch {
		case b.broken:
			r.Status = NotReached
		case c.ability != "" && !slices.Contains(b.claimed, c.ability):
			r.Status = NotClaimed
		default:
			late, err := b.inTime(c)
			if ctx.Err() != nil { // what it did not do meanwhile is not its failure
				return false
			}
			if err != nil {
				r.Status, r.Got = Failed, err.Error()
				if late > tardy {
					r.Status, r.Got = Undecided, fmt.Sprintf("%v; but this machine was %v late: give it less to do", err, late.Round(time.Millisecond))
				}
				passed = false
			}
			if c.name == "hello" {
				r.Said = b.subject.About
			}
		}
		report(r)
	}
	return passed
}

type table []check

// check is one property of a worker.
type check struct {
	name, about string
	ability     string           // that it is about; "": every worker's
	of          []history.Object // that it is about; nil: all
	run         func(b *bench) error
	vital       bool // without it, no other can be tried
}

// bench is what checks are done on: two processes of the worker.
type bench struct {
	ctx     context.Context
	words   []string
	url     string
	limits  limits
	prefix  string
	subject subjects.Subject
	claimed []string
	broken  bool
	made    string // the check whose object was made

	name      string // of the check
	processes map[string]*client
}

const (
	checkWatchdog = time.Second            // the watchdog timeout of the checks' processes
	long          = time.Minute            // a lease that does not end while checks go on
	short         = 400 * time.Millisecond // one that does
	precision     = 10 * time.Millisecond  // of Redis's expiry, and of rounding to milliseconds
	mostStderr    = 1 << 20                // bytes
	threads       = 3                      // of each process
)

// Checks tell times apart that differ by 300 ms and more. Who is later than tardy may not.
const (
	tardy = 100 * time.Millisecond
	tries = 3
)

// inTime does one check, again if it fails while this machine is late. It returns how late that was in the end.
func (b *bench) inTime(c check) (late time.Duration, err error) {
	for n := range tries {
		since := func() time.Duration { return 0 }
		if b.limits.late != nil {
			since = b.limits.late()
		}
		if err = b.run(c, n); b.ctx.Err() != nil {
			since()
			return 0, err
		}
		if late = since(); err == nil || late <= tardy {
			break
		}
	}
	return late, err
}

// run does one check, for the nth time. The processes are used again by the next, if it passed.
func (b *bench) run(c check, n int) error {
	b.name = fmt.Sprint(c.name, n)
	err := c.run(b)
	for _, id := range []string{"a", "b"} {
		p := b.processes[id]
		if p == nil {
			continue
		}
		switch failed := p.failed(); {
		case failed == nil || errors.Is(failed, errKilled) || errors.Is(failed, errClosed) || errors.Is(err, failed):
		case err == nil:
			err = failed
		default:
			err = fmt.Errorf("%w; %w", err, failed)
		}
	}
	if err != nil {
		b.dismiss()
	}
	b.broken = err != nil && c.vital
	return err
}

func (b *bench) dismiss() {
	for _, p := range b.processes {
		_ = p.Kill()
	}
	b.processes = nil
}

// process returns the worker's process of that name, which may have to be started.
func (b *bench) process(id string) (*client, error) {
	if p := b.processes[id]; p != nil && p.failed() == nil {
		return p, nil
	}
	p, err := b.open(id, b.url)
	if err == nil {
		if b.processes == nil {
			b.processes = map[string]*client{}
		}
		b.processes[id] = p
	}
	return p, err
}

func (b *bench) open(id, url string) (*client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	e := subjects.NewEnv(id, redis.NewClient(o), checkWatchdog, func(error) {}) // what it fails with, run sees
	e.Addr = url
	for thread := range threads {
		e.Owners = append(e.Owners, fmt.Sprintf("%s:%d", id, thread+1))
	}
	c, err := b.subject.Open(e)
	if err != nil {
		return nil, err
	}
	return c.(*client), nil
}

// actor is an owner of the check's lock. Its methods do something and say what is wrong with the answer. Of a read-write lock it is
// the write lock. A semaphore of one permit is a lock for them, with an id or without, and the await of a latch the acquire of a lock.
type actor struct {
	b     *bench
	c     *client
	lock  subjects.Lock
	owner string
	reads bool // it is a read lock
}

// actors returns owners: "a1" is the first thread of process a.
func (b *bench) actors(names ...string) ([]actor, error) {
	var all []actor
	for _, name := range names {
		c, err := b.process(name[:1])
		if err != nil {
			return nil, err
		}
		if err := b.make(c); err != nil {
			return nil, err
		}
		all = append(all, actor{b: b, c: c, lock: b.lockOf(c), owner: c.Owner(int64(name[1] - '0'))})
	}
	return all, nil
}

// asked has something asked of the worker, and says what is wrong with the answer, which must come in
// time, or some time after that, and have one of the outcomes.
func (a actor) asked(what string, after time.Duration, ask func(context.Context) subjects.Answer, right ...history.Outcome) (subjects.Answer, error) {
	ctx, cancel := context.WithTimeout(a.b.ctx, a.b.limits.answer+after)
	defer cancel()
	got := ask(ctx)
	switch failed := a.c.failed(); {
	case failed != nil:
		return got, failed
	case ctx.Err() != nil && !slices.Contains(right, got.Outcome):
		return got, fmt.Errorf("%s: %s was not answered within %v; right: %s", a.owner, what, a.b.limits.answer+after, oneOf(right))
	}
	return got, a.wants(what, got, right...)
}

// wants says what is wrong with an answer that must have one of the outcomes.
func (a actor) wants(what string, got subjects.Answer, right ...history.Outcome) error {
	if slices.Contains(right, got.Outcome) {
		return nil
	}
	why := ""
	if got.Err != nil {
		why = fmt.Sprintf(" (%v)", got.Err)
	}
	return fmt.Errorf("%s: %s was answered %q%s; right: %s", a.owner, what, got.Outcome, why, oneOf(right))
}

func oneOf(right []history.Outcome) string {
	text := fmt.Sprintf("%q", right[0])
	for _, o := range right[1:] {
		text += fmt.Sprintf(" or %q", o)
	}
	return text
}

func (a actor) acquire(r subjects.Request) func(context.Context) subjects.Answer {
	return func(ctx context.Context) subjects.Answer { return a.lock.Acquire(ctx, a.owner, r) }
}

// takes acquires the lock, with a lease; 0 is the watchdog's.
func (a actor) takes(lease time.Duration) error {
	_, err := a.takesToken(lease)
	return err
}

func (a actor) takesToken(lease time.Duration) (int64, error) {
	got, err := a.asked(a.kind(history.TryLock)+" of what is free", 0, a.acquire(subjects.Request{Lease: lease}), history.Acquired)
	return got.Token, err
}

// isRefused tries the lock for a while.
func (a actor) isRefused(wait time.Duration) error {
	what := a.kind(history.TryLock) + " of what another holds"
	if wait > 0 {
		what = fmt.Sprintf("%s, for %v, of what another holds", a.kind(history.TryLock), wait)
	}
	begun := time.Now()
	if _, err := a.asked(what, wait, a.acquire(subjects.Request{Wait: wait, Lease: long}), history.Busy); err != nil {
		return err
	}
	if took := time.Since(begun); took < wait/2 { // those that poll give up with the last try that fits
		return fmt.Errorf("%s: %s was answered after %v; right: when that time is over", a.owner, what, took.Round(time.Millisecond))
	}
	return nil
}

// waits acquires the lock, as soon as it can be had.
func (a actor) waits() error {
	_, err := a.asked(a.kind(history.Lock)+", of what is free or soon free,", 0, a.acquire(subjects.Request{Forever: true, Lease: long}), history.Acquired)
	return err
}

// kind is what an operation of a lock is called that is done to what is checked.
func (a actor) kind(of history.Kind) string {
	switch {
	case a.b.subject.Object == history.ARWLock:
		holder := a.owner
		if !a.reads {
			holder = history.WriterOf(holder)
		}
		of = of.As(history.ARWLock, holder)
	case a.b.subject.Object == history.ASemaphore:
		of = map[history.Kind]history.Kind{history.Lock: history.AcquirePermits, history.TryLock: history.TryAcquirePermits, history.Unlock: history.ReleasePermits}[of]
	case a.b.subject.Object == history.APermitSemaphore:
		of = map[history.Kind]history.Kind{history.Lock: history.AcquirePermit, history.TryLock: history.TryAcquirePermit, history.Unlock: history.ReleasePermit}[of]
	case a.b.subject.Object == history.ALatch:
		of = map[history.Kind]history.Kind{history.Lock: history.Await, history.TryLock: history.TryAwait, history.Unlock: history.CountDown}[of]
	}
	return string(of)
}

func (a actor) releases(right history.Outcome) error {
	what, all := a.kind(history.Unlock)+" of what it holds", []history.Outcome{right}
	if a.c.hello.Hello > 1 && (right != history.NotHeld || a.b.subject.Object != history.APermitSemaphore) {
		all = append(all, history.OK)
	}
	if right == history.NotHeld {
		what = a.kind(history.Unlock) + " of what it does not hold"
	} else if a.c.hello.Hello > 1 {
		all = append(all, history.Unlocked)
	}
	_, err := a.asked(what, 0, func(ctx context.Context) subjects.Answer { return a.lock.Release(ctx, a.owner) }, all...)
	return err
}

func (a actor) forces(right history.Outcome) error {
	_, err := a.asked(a.kind(history.ForceUnlock), 0, a.lock.(subjects.ForceReleaser).ForceRelease, right)
	return err
}

// asks asks a question about the lock; the answer must be from least to most.
func (a actor) asks(question history.Kind, least, most int64) error {
	got, err := a.asked(string(question), 0, func(ctx context.Context) subjects.Answer {
		return a.lock.(subjects.Inspector).Inspect(ctx, question, a.owner)
	}, history.OK)
	if err != nil {
		return err
	}
	if got.Value < least || got.Value > most {
		right := fmt.Sprint(least)
		if least != most {
			right += fmt.Sprintf(" to %d", most)
		}
		return fmt.Errorf("%s: %s was answered with the value %d; right: %s", a.owner, question, got.Value, right)
	}
	return nil
}

// inOrder does steps until one fails.
func inOrder(steps ...func() error) error {
	for _, s := range steps {
		if err := s(); err != nil {
			return err
		}
	}
	return nil
}
