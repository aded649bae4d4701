package locktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/locktest"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
)

// adapted is a subject of the harness as a lock author would hand it in.
type adapted struct {
	l     subjects.Lock
	owner string
}

func adapt(s subjects.Subject) locktest.NewLock {
	return func(e locktest.Env) (locktest.Client, error) {
		c, err := s.Open(e)
		return adaptedClient{c, s}, err
	}
}

type adaptedClient struct {
	c subjects.Client
	s subjects.Subject
}

func (c adaptedClient) Close() error { return c.c.Close() }
func (c adaptedClient) Lock(name, owner string) locktest.Lock {
	a := adapted{c.c.Lock(name), owner}
	switch {
	case c.s.Can("fencing"): // a lock of generation hardened
		return &fenced{adapted: a}
	case c.s.Can("idempotent") && shown[c.s.Name] != "":
		return latched{a}
	}
	return a
}

// latched claims that copies take no effect, as generation latch does of an unlock.
type latched struct{ adapted }

func (latched) Idempotent() time.Duration { return 20 * time.Second }

// fenced remembers the token of its last hold.
type fenced struct {
	adapted
	token int64
}

func (f *fenced) Token() int64              { return f.token }
func (f *fenced) KeepsLongestLease()        {}
func (f *fenced) Idempotent() time.Duration { return 20 * time.Second }

func (f *fenced) Acquire(ctx context.Context, r locktest.Request) error {
	a := f.l.Acquire(ctx, f.owner, r)
	f.token = a.Token
	return told(a)
}

func (a adapted) ReleaseSetsLease() {}

func told(a subjects.Answer) error {
	switch a.Outcome {
	case history.Busy:
		return locktest.ErrBusy
	case history.NotHeld:
		return locktest.ErrNotHeld
	case history.Failed:
		return errors.Join(locktest.ErrFailed, a.Err)
	}
	return a.Err
}

func (a adapted) Acquire(ctx context.Context, r locktest.Request) error {
	return told(a.l.Acquire(ctx, a.owner, r))
}

func (a adapted) ReleaseOne(ctx context.Context) (bool, error) {
	answer := a.l.Release(ctx, a.owner)
	return answer.Outcome == history.Released, told(answer)
}

func (a adapted) Release(ctx context.Context) error {
	_, err := a.ReleaseOne(ctx)
	return err
}

func (a adapted) RenewEvery() time.Duration { return 10 * time.Second }

func (a adapted) ask(ctx context.Context, question history.Kind) (int64, error) {
	answer := a.l.(subjects.Inspector).Inspect(ctx, question, a.owner)
	return answer.Value, told(answer)
}

func (a adapted) IsLocked(ctx context.Context) (bool, error) {
	v, err := a.ask(ctx, history.IsLocked)
	return v == 1, err
}

func (a adapted) IsHeld(ctx context.Context) (bool, error) {
	v, err := a.ask(ctx, history.IsHeldBy)
	return v == 1, err
}

func (a adapted) HoldCount(ctx context.Context) (int64, error) { return a.ask(ctx, history.HoldCount) }

func (a adapted) RemainingTTL(ctx context.Context) (time.Duration, error) {
	v, err := a.ask(ctx, history.RemainingTTL)
	return time.Duration(v), err
}

// without leaves out what a sound lock of generation latch breaks: it is faithful to its limitations.
var without = []locktest.Option{locktest.Only("baseline", "non-owner", "key-expiry", "drawn-"), locktest.Drawn(8)}

// refused stands for the guarantee of a lock that cannot even lock and unlock, and so is not tried further.
const refused contract.Guarantee = "lock and unlock"

// accusedOf tells what a lock answers for, by guarantee, the first of each.
func accusedOf(t *testing.T, s subjects.Subject, options ...locktest.Option) map[contract.Guarantee]string {
	t.Helper()
	stories, err := locktest.Accused(t, adapt(s), options...)
	found := map[contract.Guarantee]string{}
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "locktest: "):
		found[refused] = err.Error()
	case err != nil:
		t.Fatalf("%s: %v", s.Name, err)
	}
	for _, story := range slices.Backward(stories) {
		guarantee, _, _ := strings.Cut(story, " ")
		found[contract.Guarantee(guarantee)] = story
	}
	return found
}

// shown names the scenario in which a lock's mistake shows that does not in those of [without]: the
// sound lock breaks something else there, the mistake is one of hardened's, or it takes an error that is rare.
var shown = map[string]string{
	"broken-latch-not-read":         "lost-unlock-reply",
	"broken-latch-not-set":          "lost-unlock-reply",
	"broken-latch-not-set-partly":   "lost-unlock-reply-reentrant",
	"broken-acquire-not-remembered": "lost-acquire-reply",
	"broken-release-not-remembered": "lost-unlock-reply",
	"broken-late-release-taken":     "delayed-duplicate-unlock",
	"broken-reentry-shortens":       "lease-mixing",
	"broken-error-is-acquired":      "batch-poison",
}

// subtle is the lock whose mistake no go test with its defaults shows: a copy of an acquire has to come
// after the owner's unlock. simrun mutants finds it.
const subtle = "broken-late-acquire-taken"

// endless is the lock whose key has no time to live. The probe says so, and it is judged by its answers alone, which
// are right while no client dies.
const endless = "broken-lease-endless"

func TestBrokenLocksAreRefused(t *testing.T) {
	sound, _ := subjects.Find("rlock-latch")
	for g, story := range accusedOf(t, sound, without...) {
		t.Fatalf("the sound lock: %s: %s", g, story)
	}
	for i, l := range broken.All() {
		if testing.Short() && i >= 10 {
			break
		}
		t.Run(l.Name, func(t *testing.T) {
			options := without
			if name := shown[l.Name]; name != "" {
				options = []locktest.Option{locktest.Only(name), locktest.Drawn(0)}
			}
			found := accusedOf(t, l.Subject, options...)
			if shown[l.Name] != "" {
				sound, _ := subjects.Find(l.Sound)
				for g := range accusedOf(t, sound, options...) {
					delete(found, g)
				}
			}
			hidden := l.Name == subtle || l.Name == endless
			if hidden != (len(found) == 0) {
				t.Fatalf("found: %q", found)
			}
			for _, story := range found {
				t.Log(story)
			}
		})
	}
}

func brokenNamed(t *testing.T, name string) subjects.Subject {
	t.Helper()
	l, ok := broken.Find(name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return l.Subject
}
