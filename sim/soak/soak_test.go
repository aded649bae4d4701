package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/redisserver"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/broken"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

func server(t *testing.T) *redisserver.Server {
	t.Helper()
	redisserver.Need(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func subject(t *testing.T, name string) subjects.Subject {
	t.Helper()
	s, ok := libraries.Find(name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return s
}

func config(s *redisserver.Server, lock subjects.Subject) Config {
	return Config{Subject: lock, Server: Server{Own: s, Options: s.RedisOptions}, Name: "holdfast:test", Clients: 8, Locks: 4,
		For: time.Second, Seed: 1, Watchdog: time.Second, Faults: Default(true, true), Every: 50 * time.Millisecond}
}

// judged runs, and judges while it runs; records are kept to be looked at.
func judged(t *testing.T, c Config) (*checker.Verdict, *Result, []any) {
	t.Helper()
	return judgedUntil(t.Context(), t, c)
}

// judgedUntil ends with ctx.
func judgedUntil(ctx context.Context, t *testing.T, c Config) (*checker.Verdict, *Result, []any) {
	t.Helper()
	stream := checker.NewStream(c.Header(nil), checker.Options{Budget: time.Minute})
	var records []any
	told := c.Out
	c.Out = func(r any) {
		records = append(records, r)
		stream.Add(r)
		if told != nil {
			told(r)
		}
	}
	c.Begun = func(f history.Fault) { stream.Add(f) }
	c.Crowded = stream.Crowded
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Close(t.Context(), history.End{At: r.Length}), r, records
}

func kinds(names ...string) (list []Kind) {
	for _, k := range Kinds() {
		if slices.Contains(names, k.Name) {
			list = append(list, k)
		}
	}
	return list
}

// Whatever "simrun list" lists can be soaked: it is given all that it may need. While nothing strikes, none is accused.
func TestEveryListedSubjectIsSoaked(t *testing.T) {
	s := server(t)
	for _, lock := range append(subjects.All(), libraries.Unforetold()...) {
		t.Run(lock.Name, func(t *testing.T) {
			c := config(s, lock)
			c.Name, c.Clients, c.Faults = c.Name+lock.Name, 4, nil
			v, r, _ := judgedUntil(t.Context(), t, c)
			if v.Code() != checker.ExitExpected || r.Granted == 0 || r.Calls == r.Granted {
				t.Errorf("exit code %d: %s\n%s", v.Code(), v.Explanation, r.Text(strconv.Itoa))
			}
		})
	}
}

// Whatever strikes, the hardened lock keeps what it can promise, and its history can be judged as a
// whole, too.
func TestEveryFaultStrikesAndTheHardenedLockStands(t *testing.T) {
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			s := server(t)
			c := config(s, subject(t, "rlock-hardened"))
			c.Faults, c.Watchdog = []Kind{k}, 400*time.Millisecond
			least := time.Second
			if k.Away {
				c.Every, least = 200*time.Millisecond, 2*time.Second
			}
			// However busy the machine is, it goes on until there is something to judge.
			ctx, enough := context.WithCancel(t.Context())
			defer enough()
			var struck atomic.Bool
			c.For = time.Minute
			c.Out = func(r any) {
				if f, ok := r.(history.Fault); ok && kindOf(&f) == k.Name && f.To > 0 {
					struck.Store(true)
				}
			}
			c.Sampled = func(s Sample) {
				if s.At >= least && s.Calls >= 100 && struck.Load() {
					enough()
				}
			}
			v, r, records := judgedUntil(ctx, t, c)
			if code := v.Code(); code != checker.ExitExpected {
				t.Errorf("exit code %d: %s", code, v.Explanation)
			}
			if r.Struck[k.Name] == 0 || r.Calls < 100 {
				t.Errorf("%d strikes, %d calls", r.Struck[k.Name], r.Calls)
			}
			var text bytes.Buffer
			for _, r := range append([]any{c.Header(nil)}, append(records, history.End{At: r.Length})...) {
				if err := history.Encode(&text, r); err != nil {
					t.Fatal(err)
				}
			}
			h, err := history.Load(&text)
			if err != nil || len(h.Faults) != int(r.Faults) {
				t.Fatalf("%d faults, %v", len(h.Faults), err)
			}
			if _, n := Recount(h); n.Calls != r.Calls || n.Granted != r.Granted || n.Busy != r.Busy || n.Failed != r.Failed || n.Unknown != r.Unknown ||
				n.Deaths != r.Deaths || n.Length != r.Length || !maps.Equal(n.Struck, r.Struck) {
				t.Errorf("counted %s\ncounted of its history %s", r.Text(strconv.Itoa), n.Text(strconv.Itoa))
			}
			again, _, _ := checker.JudgeInWindows(t.Context(), h, checker.Options{Budget: time.Minute})
			if a, b := v.Code(), again.Code(); a != b {
				t.Errorf("exit code %d, and %d when it is judged again", a, b)
			}
			whole := checker.Judge(context.Background(), h, checker.Options{Budget: time.Minute})
			for _, g := range contract.Guarantees() {
				if a, b, c := v.Result(g), whole.Result(g), again.Result(g); a.Status != b.Status || a.Status != c.Status || a.Expected != c.Expected {
					t.Errorf("%s: %s in windows, %s as a whole, %s again: %s", g, a.Status, b.Status, c.Status, b.Summary)
				}
			}
			if n, err := s.Client().DBSize(t.Context()).Result(); n != 0 || err != nil {
				t.Errorf("%d keys left, %v", n, err)
			}
		})
	}
}

func TestBrokenLocksAreFound(t *testing.T) {
	for _, name := range []string{"unlock-anybodys", "unlock-twice", "unlock-keeps-key", "acquire-anyway", "token-again"} {
		t.Run(name, func(t *testing.T) {
			lock, ok := broken.Find("broken-" + name)
			if !ok {
				t.Fatalf("no broken-%s", name)
			}
			c := config(server(t), lock.Subject)
			c.Watchdog = 300 * time.Millisecond
			c.Faults = nil
			for c.Seed = 1; c.Seed < 20; c.Seed++ { // it finds what chance lets it meet
				v, _, _ := judged(t, c)
				if r := v.Result(contract.Guarantee(lock.CaughtBy)); r.Status == checker.Broken {
					if v.Code() != checker.ExitUnexpected {
						t.Errorf("exit code %d: %s", v.Code(), r.Summary)
					}
					return
				}
			}
			t.Errorf("%s is not found", lock.About)
		})
	}
}

// At its end no fault acts any more, and a client that had no part in it tries each lock: it gets those that dead clients held once
// their leases have ended.
func TestASoakEndsHealed(t *testing.T) {
	for name, sound := range map[string]bool{"rlock-latch": true, "broken-lease-endless": false} {
		t.Run(name, func(t *testing.T) {
			lock, known := broken.Find(name)
			if !known {
				lock.Subject = subject(t, name)
			}
			c := config(server(t), lock.Subject)
			c.Watchdog, c.Faults = 300*time.Millisecond, kinds("kill-client")
			c.Clients, c.For = 3, 3*time.Second // or until a client has died that has just got a lock: one that nobody gets makes one window of all calls
			gets := func(v *checker.Verdict) bool {
				return !slices.ContainsFunc(v.Result(contract.Liveness).Violations, func(x checker.Violation) bool { return x.Rule == contract.FreshGets })
			}
			var v *checker.Verdict
			var records []any
			for ; v == nil || !sound && gets(v) && c.Seed < 20; c.Seed++ { // what it held may have been given back before it died, unheard
				ctx, enough := context.WithCancel(t.Context())
				holds := map[[2]string]history.Op{}
				c.Out = func(r any) {
					switch r := r.(type) {
					case history.Op:
						if of := [2]string{r.Owner, r.Lock}; r.Outcome == history.Acquired && !r.Aside {
							holds[of] = r
						} else if r.Kind.Unlocks() && r.Outcome != history.Decremented {
							delete(holds, of)
						}
					case history.Event:
						for _, op := range holds { // nothing has renewed it yet, which would have given the broken one an end
							if r.Kind == history.Died && r.Client == op.Client && r.At < op.Return+c.Watchdog/4 {
								enough()
							}
						}
					}
				}
				v, _, records = judgedUntil(ctx, t, c)
				enough()
			}
			healed, tried := false, map[string][]history.Outcome{}
			for _, r := range records {
				switch r := r.(type) {
				case history.Event:
					healed = healed || r.Kind == history.Healed
				case history.Fault:
					if healed && r.Kind != stall && r.Kind != starve {
						t.Errorf("healed, and then %+v", r)
					}
				case history.Op:
					if r.Client == history.Fresh && !r.Pending() && !r.Aside {
						if tried[r.Lock] = append(tried[r.Lock], r.Outcome); !healed {
							t.Errorf("not healed, and %+v", r)
						}
					}
				}
			}
			if gets(v) != sound {
				t.Errorf("the fresh client gets every lock: %t", gets(v))
			}
			for n := range c.Locks {
				if got := tried[fmt.Sprintf("lock-%d", n+1)]; sound && !slices.Equal(got, []history.Outcome{history.Acquired, history.Released}) {
					t.Errorf("lock %d: %v", n+1, got)
				}
			}
		})
	}
}

// Records come in the order of their times, and each call is there before its return.
func TestRecordsAreInOrder(t *testing.T) {
	_, _, records := judged(t, config(server(t), subject(t, "rlock-latch")))
	var now time.Duration
	called := map[int64]bool{}
	for _, r := range records {
		at := now
		switch r := r.(type) {
		case history.Op:
			switch {
			case r.Until > 0:
				at = r.Until
			case r.Return > 0:
				at = r.Return
				if !called[r.ID] && r.Kind.OnLock() {
					t.Fatalf("%+v returned before it was called", r)
				}
			case r.Aside:
			default:
				at, called[r.ID] = r.Call, true
			}
		case history.Event:
			at = r.At
		}
		if at < now {
			t.Fatalf("%+v comes after %v", r, now)
		}
		now = at
		if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), "holdfast:test") && !strings.Contains(string(b), `"error"`) {
			t.Fatalf("%s, %v", b, err)
		}
	}
}

func TestRunEndsWithItsContextAndItsServer(t *testing.T) {
	s := server(t)
	c := config(s, subject(t, "rlock-hardened"))
	c.For = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	c.Sampled = func(Sample) { once.Do(cancel) }
	if _, err := Run(ctx, c); err != nil {
		t.Error(err)
	}
	c.Faults = nil
	c.Sampled = func(Sample) { s.Client().ShutdownNoSave(context.Background()) }
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), s.Addr()) {
		t.Error(err)
	}
}

// A server that is stopped by somebody, or gets no processor, is no fault of the lock.
func TestAStarvedServerIsNoFaultOfTheLock(t *testing.T) {
	s := server(t)
	c := config(s, subject(t, "rlock-hardened"))
	c.For, c.Faults = 5*time.Second, nil
	n := 0
	c.Sampled = func(Sample) {
		switch n++; n {
		case 1:
			if err := s.Pause(); err != nil {
				t.Error(err)
			}
		case 4: // more than the 2 s that it takes to be called late
			if err := s.Resume(); err != nil {
				t.Error(err)
			}
		}
	}
	v, r, records := judged(t, c)
	if v.Code() != checker.ExitExpected || r.Granted == 0 {
		t.Errorf("exit code %d: %s", v.Code(), v.Explanation)
	}
	for _, record := range records {
		if f, ok := record.(history.Fault); ok && f.Kind == starve && f.To-f.From > 2*time.Second {
			return
		}
	}
	t.Error("that the server did not answer is not recorded")
}

// On a server that is not ours nothing but the run's keys is touched, and no password is told.
func TestForeignServer(t *testing.T) {
	s := server(t)
	if err := s.Client().Set(t.Context(), "mine", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	c := config(s, subject(t, "rlock-hardened"))
	c.Server = Server{Options: func() *redis.Options { return s.RedisOptions() }}
	c.Faults = Default(c.Server.ours(), false)
	if slices.ContainsFunc(c.Faults, func(k Kind) bool { return k.Whole }) || len(c.Faults) == 0 {
		t.Errorf("%d faults", len(c.Faults))
	}
	if v, _, _ := judged(t, c); v.Code() != checker.ExitExpected {
		t.Error(v.Explanation)
	}
	c.Server.Destructive, c.Faults = true, kinds("pause-server", "script-flush")
	if v, _, _ := judged(t, c); v.Code() != checker.ExitExpected {
		t.Error(v.Explanation)
	}
	keys, err := s.Client().Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 || keys[0] != "mine" {
		t.Errorf("keys %q, %v", keys, err)
	}
}
