package external

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// exceeded are limits of which the one that an error tells of is short, to be exceeded soon.
func exceeded(text string) limits {
	l := usual
	switch {
	case strings.Contains(text, "no hello within"), strings.Contains(text, "did not answer start within"):
		l.start = 2 * time.Second
	case strings.Contains(text, "has closed"):
		l.linger = 300 * time.Millisecond
	case strings.Contains(text, "did not end within"):
		l.end = 300 * time.Millisecond
	case strings.Contains(text, "was not answered within"):
		l.answer = 2 * time.Second
	}
	return l
}

// redisURL is that of a Redis whose keys expire in real time.
func redisURL(t *testing.T) string {
	t.Helper()
	m := miniredis.RunT(t)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case now := <-tick.C:
				m.FastForward(now.Sub(last))
				last = now
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { close(done); <-stopped })
	return "redis://" + m.Addr()
}

// open opens a worker of this test binary, and returns what it fails with, too.
func open(t *testing.T, name string, l limits) (subjects.Client, chan error, error) {
	t.Helper()
	failures := make(chan error, 10)
	s, err := subject(t.Context(), Prefix+worker(name), strings.Fields(worker(name)), l)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.Open(envOf(redisURL(t), 30*time.Second, func(err error) { failures <- err }))
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, failures, err
}

// envOf is the environment of a process c1 with two owners.
func envOf(url string, watchdogTimeout time.Duration, fail func(error)) subjects.Env {
	o, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	e := subjects.NewEnv("c1", redis.NewClient(o), watchdogTimeout, fail)
	e.Addr, e.Owners = url, []string{"c1:1", "c1:2"}
	return e
}

// good opens the reference lock.
func good(t *testing.T) *client {
	t.Helper()
	c, _, err := open(t, "good", usual)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*client)
}

func TestAGoodWorkerIsASubject(t *testing.T) {
	s, err := Subject(t.Context(), Prefix+worker("good"))
	if err != nil {
		t.Fatal(err)
	}
	want := reference()
	// After how long it notices a silence, or gives a subscription back, a hello does not say.
	want.Abilities = slices.DeleteFunc(want.Abilities, func(a string) bool {
		return a == string(contract.NoticesSilence) || a == string(contract.Unsubscribes)
	})
	if !s.External || !slices.Equal(s.Abilities, want.Abilities) || !reflect.DeepEqual(s.Idempotent, want.Idempotent) || s.About != "rlock-hardened 1" {
		t.Errorf("%+v; want the abilities %q, and %+v", s, want.Abilities, want.Idempotent)
	}
	if _, err := s.Open(subjects.NewEnv("c1", redis.NewClient(&redis.Options{}), time.Second, func(err error) { t.Error(err) })); err == nil || !strings.Contains(err.Error(), "no server that a process could dial") {
		t.Errorf("opened where there is no address: %v", err)
	}
	ctx := t.Context()
	c := good(t)
	l, me := c.Lock("l"), c.Owner(1)
	a := l.Acquire(ctx, me, subjects.Request{})
	if a.Outcome != history.Acquired || a.Token == 0 || me != "c1:1" {
		t.Errorf("%s acquires: %+v", me, a)
	}
	left := l.(subjects.Inspector).Inspect(ctx, history.RemainingTTL, me)
	if ttl := time.Duration(left.Value); left.Outcome != history.OK || ttl <= 20*time.Second || ttl > 30*time.Second {
		t.Errorf("remaining TTL: %+v; want the watchdog's", left)
	}
	lost := l.(subjects.Loser).Lost(me)
	select {
	case <-lost:
		t.Error("lost at once")
	default:
	}
	if a := l.(subjects.ForceReleaser).ForceRelease(ctx); a.Outcome != history.Released {
		t.Errorf("forced release: %+v", a)
	}
	<-lost
	if a := l.Release(ctx, me); a.Outcome != history.NotHeld || a.Err == nil {
		t.Errorf("release of what was lost: %+v", a)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if a := l.Acquire(ctx, me, subjects.Request{}); a.Outcome != history.Failed {
		t.Errorf("acquire after Close: %+v", a)
	}
}

func TestWorkersThatBreakTheProtocolAreReportedAsWhatTheyAre(t *testing.T) {
	for name, want := range map[string]string{
		"garbage hello":         `that is no message (invalid character 'H' looking for beginning of value): "Hello, world!"`,
		"no hello":              `its first line must be its hello`,
		"old hello":             `it speaks version 7 of the protocol; right: 1 to 2`,
		"nameless":              `its hello must say its name and version`,
		"boastful":              `its hello claims "immortality"; there are reentrant,`,
		"half a claim":          `its hello must claim "idempotent" and say for which calls, or do neither`,
		"no queue":              `its hello must claim "fair" and say where its queue is`,
		"an idle queue":         `its hello must claim "fair" and say where its queue is`,
		"two times":             `a key with * for the lock's name, and kept more than 0, or keptPart`,
		"a part below 0":        `a key with * for the lock's name, and kept more than 0, or keptPart`,
		"no time":               `a key with * for the lock's name, and kept more than 0, or keptPart`,
		"one queue for all":     `its hello must claim "fair" and say where its queue is`,
		"a strange object":      `its hello has the object "queue"; right: since version 2, one of ["lock" "semaphore" "latch" "read-write lock" "permit semaphore"]`,
		"no timeout":            `its hello has the answerTimeout -1; right: since version 2, in nanoseconds, more than 0 and at most an hour`,
		"an endless timeout":    `its hello has the answerTimeout 3600000000001; right`,
		"an old timeout":        `its hello has the answerTimeout 1000; right: since version 2`,
		"an old object":         `its hello has the object "semaphore"; right: since version 2`,
		"no round":              `its hello must claim "rounds" and have the round`,
		"an idle round":         `its hello must claim "rounds" and have the round`,
		"one round for all":     `its hello must claim "rounds" and have the round`,
		"a lock's taken":        `its hello has the key taken, "*:taken"; right: since version 2, of a permit semaphore, with * for its name`,
		"one taken for all":     `its hello has the key taken, "taken"; right: since version 2, of a permit semaphore`,
		"two clocks":            `its hello claims "server-clock" and has the key taken, "*:taken"`,
		"two keys in one":       `its hello claims "one-key" and has the key taken, "*:taken"`,
		"a lock with an id":     `it answered lock with the permit "p1"; right: where one was acquired`,
		"garbage":               `"acquired!"`,
		"long garbage":          `blah "… (5000 bytes)`,
		"two values":            `more than one JSON value`,
		"misspelt":              `unknown field "tokne"`,
		"a number for words":    `cannot unmarshal number`,
		"empty":                 `neither an answer (with an id) nor the notice of a loss (lost, owner): "{}"`,
		"second hello":          `neither an answer`,
		"endless line":          `a line of more than 65536 bytes: "xxx`,
		"wrong outcome":         `it answered lock with the outcome "released", which it cannot have`,
		"invented outcome":      `the outcome "granted"`,
		"no token":              `it claims fencing, but acquired without a token`,
		"unknown id":            `it answered request 99, which there was not: "{\"id\":99`,
		"negative id":           `it answered request -2, which there was not`,
		"twice":                 `it answered request 2 a second time: "{\"id\":2,`,
		"half a line":           `it ended in the middle of the line "{\"id\":2,\"o": exit status 0`,
		"lost, unclaimed":       `it told of a loss, but does not claim lost`,
		"silent":                `it said no hello within 2s`,
		"dead":                  `it ended: exit status 3; it wrote to stderr "no such luck"`,
		"refuses":               `it cannot start: no Redis for me`,
		"does not start":        `did not answer start within 2s`,
		"dies when called":      `it ended: exit status 2; it wrote to stderr "panic: out of cheese"`,
		"floods stderr":         `it ended: exit status 4; it wrote 19660808 bytes to stderr, the last of them "noise\nnoise\nthe end"`,
		"closes its output":     `it has closed its standard output`,
		"closes its input":      `it has closed its standard input`,
		"does not end":          `it did not end within 300ms of the end of its input`,
		"names a stranger":      `it named the owner "c2:1", whom start did not name`,
		"names nobody":          `it named the owner "c1:1" with no name`,
		"names two alike":       `it named both "c1:1" and "c1:2" "u"`,
		"names owners too soon": `it named owners; right: in the answer to start, since version 2`,
		"fickle":                `its hello claims ["force"], and that of another process of it []`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "fickle" {
				name += "@" + filepath.Join(t.TempDir(), "seen")
			}
			c, failures, err := open(t, name, exceeded(want))
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				a := c.Lock("l").Acquire(ctx, c.Owner(1), subjects.Request{Forever: true})
				select {
				case err = <-failures: // the answer may have come before what is wrong
				case <-ctx.Done():
				}
				if a.Outcome != history.Acquired && !errors.Is(a.Err, err) {
					t.Errorf("the call was told %+v", a)
				}
			}
			if err == nil {
				t.Fatal("nothing was wrong")
			}
			if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `worker "`) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// What version 2 tells a worker, version 1 does not know.
func TestStartTellsAWorkerWhatItsVersionKnows(t *testing.T) {
	for version, want := range map[string]string{
		"1": `{"id":1,"kind":"start","version":1,"redis":["URL"],"client":"c1","watchdogTimeout":1000000000,"seed":SEED}`,
		"2": `{"id":1,"kind":"start","version":2,"redis":["URL"],"client":"c1","watchdogTimeout":1000000000,"seed":SEED,` +
			`"timescale":0.1,"noRetry":true,"owners":["c1:1","c1:2"]}`,
	} {
		s, err := Subject(t.Context(), Prefix+worker("repeats start@"+version))
		if err != nil {
			t.Fatal(err)
		}
		if s.Resends != (version == "1") || !slices.Equal(s.Abilities, []string{"mutex"}) {
			t.Errorf("version %s: %+v", version, s)
		}
		e := envOf("redis://127.0.0.1:1", time.Second, func(err error) { t.Error(err) })
		e.Timescale, e.NoRetry, e.Random = 0.1, true, strings.NewReader("12345678")
		_, err = s.Open(e)
		want = strings.NewReplacer("URL", e.Addr, "SEED", "1977913082021478").Replace(want)
		if err == nil || !strings.HasSuffix(err.Error(), "it cannot start: "+want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestAWorkerSaysWhatItsOwnersAreCalledInRedis(t *testing.T) {
	c, _, err := open(t, "names its owners", usual)
	if err != nil {
		t.Fatal(err)
	}
	n := c.(subjects.Namer)
	if one, two := n.Named("c1:1"), n.Named("c1:2"); one != "u:47" || two != "c1:2" {
		t.Errorf("c1:1 is called %q, and c1:2 %q", one, two)
	}
}

// An unlock without an answer is one of version 2.
func TestAnUnlockWithoutAnAnswer(t *testing.T) {
	c, _, err := open(t, "void unlock", usual)
	if err != nil {
		t.Fatal(err)
	}
	l, me, strict := c.Lock("l"), c.Owner(1), c.Lock("l").(subjects.Loser)
	for range 2 {
		if a := l.Acquire(t.Context(), me, subjects.Request{}); a.Outcome != history.Acquired {
			t.Fatalf("%+v", a)
		}
	}
	for times, held := range []bool{true, false} {
		if a := l.Release(t.Context(), me); a.Outcome != history.Unlocked {
			t.Errorf("%+v", a)
		}
		select {
		case <-strict.Lost(me):
			if held {
				t.Errorf("after %d unlocks of 2 the hold is over", times+1)
			}
		default:
			if !held {
				t.Errorf("after both unlocks it can still be lost")
			}
		}
	}
	old, failures, err := open(t, "unlocks too soon", usual)
	if err != nil {
		t.Fatal(err)
	}
	old.Lock("l").Release(t.Context(), me)
	if err := <-failures; !strings.Contains(err.Error(), `the outcome "unlocked", which there is since version 2; its hello says 1`) {
		t.Error(err)
	}
}

// Whatever "simrun list" lists can be served: it is given all that it may need.
func TestEveryListedSubjectIsAWorker(t *testing.T) {
	for _, listed := range slices.Concat(subjects.Of(history.ALock), libraries.Unforetold()) {
		t.Run(listed.Name, func(t *testing.T) {
			t.Parallel()
			s, err := Subject(t.Context(), Prefix+worker("listed@"+listed.Name))
			if err != nil {
				t.Fatal(err)
			}
			e := envOf(redisURL(t), time.Second, func(err error) { t.Error(err) })
			e.Timescale = 0.1
			c, err := s.Open(e)
			if err != nil {
				t.Fatal(err)
			}
			l := c.Lock("l")
			for range 2 {
				if a := l.Acquire(t.Context(), "c1:1", subjects.Request{Forever: true}); a.Outcome != history.Acquired {
					t.Fatalf("a free lock: %+v", a)
				}
				if a := l.Acquire(t.Context(), "c1:2", subjects.Request{Wait: 200 * time.Millisecond}); a.Outcome == history.Acquired {
					t.Errorf("a lock that is held: %+v", a)
				}
				if a := l.Release(t.Context(), "c1:1"); a.Outcome != history.Released {
					t.Errorf("the holder's: %+v", a)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAProgramThatCannotBeStarted(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(notExecutable, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"":                    "no command; right is for example exec:./my-worker",
		"no-such-worker":      "executable file not found",
		"/nowhere/worker":     "no such file",
		notExecutable + " -v": "permission denied",
	} {
		if _, err := Subject(t.Context(), Prefix+command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", command, err, want)
		}
	}
}

func TestAMuteWorkerBlocksItsCallUntilTheContextEnds(t *testing.T) {
	c, failures, err := open(t, "mute", usual)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	a := c.Lock("l").Acquire(ctx, c.Owner(1), subjects.Request{Forever: true})
	if a.Outcome != history.Unknown || !errors.Is(a.Err, context.Canceled) {
		t.Errorf("the call was told %+v", a)
	}
	if err := c.Close(); err != nil || len(failures) > 0 {
		t.Errorf("%v, %d failures; want none: to be slow is no failure", err, len(failures))
	}
}

func TestACancelledCallIsGivenUp(t *testing.T) {
	c := good(t)
	l := c.Lock("l")
	if a := l.Acquire(t.Context(), c.Owner(1), subjects.Request{}); a.Outcome != history.Acquired {
		t.Fatalf("%+v", a)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	a := l.Acquire(ctx, c.Owner(2), subjects.Request{Forever: true})
	if a.Outcome != history.Failed || errors.Is(a.Err, context.DeadlineExceeded) {
		t.Errorf("the call was told %+v; want the worker's own answer", a)
	}
}

func TestAProcessIsPausedAndResumed(t *testing.T) {
	c := good(t)
	l := c.Lock("l")
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	answers := make(chan subjects.Answer, 1)
	go func() { answers <- l.Acquire(t.Context(), c.Owner(1), subjects.Request{}) }()
	select {
	case a := <-answers:
		t.Errorf("answered while it was paused: %+v", a)
	case <-time.After(100 * time.Millisecond):
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	if a := <-answers; a.Outcome != history.Acquired {
		t.Errorf("%+v", a)
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil { // which resumes it
		t.Error(err)
	}
}

func TestAKilledProcessEndsItsCallsAndIsNoFailure(t *testing.T) {
	for _, paused := range []bool{false, true} {
		c, failures, err := open(t, "good", usual)
		if err != nil {
			t.Fatal(err)
		}
		p := c.(subjects.Process)
		held, waits := c.Lock("l"), make(chan subjects.Answer, 1)
		held.Acquire(t.Context(), c.Owner(1), subjects.Request{})
		go func() { waits <- c.Lock("l").Acquire(t.Context(), c.Owner(2), subjects.Request{Forever: true}) }()
		// One more question and answer, so that the call is under way.
		held.(subjects.Inspector).Inspect(t.Context(), history.IsLocked, c.Owner(1))
		if paused {
			if err := p.Pause(); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if a := <-waits; a.Outcome != history.Unknown && a.Outcome != history.Failed || !errors.Is(a.Err, errKilled) {
			t.Errorf("the waiting call was told %+v", a)
		}
		if a := held.Release(t.Context(), c.Owner(1)); a.Outcome != history.Failed || !errors.Is(a.Err, errKilled) {
			t.Errorf("a call after the kill was told %+v", a)
		}
		for _, do := range []func() error{p.Pause, p.Resume, p.Kill, c.Close} {
			if err := do(); err != nil {
				t.Errorf("after the end: %v", err)
			}
		}
		if len(failures) > 0 {
			t.Errorf("%d failures; want none", len(failures))
		}
	}
}

func TestPasswordsAreInNoError(t *testing.T) {
	s, err := Subject(t.Context(), Prefix+worker("tells secrets"))
	if err != nil {
		t.Fatal(err)
	}
	failures := make(chan error, 1)
	c, err := s.Open(envOf("redis://me:p%40ss@127.0.0.1:1/0", time.Second, func(err error) { failures <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := c.Lock("l").Acquire(t.Context(), c.Owner(1), subjects.Request{})
	if want := "no redis://me:xxxxx@127.0.0.1:1/0 for xxxxx"; a.Err == nil || a.Err.Error() != want {
		t.Errorf("the call was told %v; want %s", a.Err, want)
	}
	err = <-failures
	if text := err.Error(); strings.Contains(text, "p%40ss") || strings.Contains(text, "p@ss") || strings.Count(text, "xxxxx") != 2 {
		t.Error(text)
	}
}
