package checker

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker/internal/windows"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// stream judges a history in windows of at least so many operations.
func stream(h *history.History, least int) (*Verdict, *Stream) {
	s := newStream(h.Header, Options{Budget: time.Minute}, least)
	s.windows.Replay(context.Background(), h)
	return s.finish(h.End, h.Over()), s
}

// Windows say what the whole says, of histories that are right and of those in which an answer is
// wrong.
func TestStreamSaysWhatTheWholeSays(t *testing.T) {
	t.Run("traffic", func(t *testing.T) {
		t.Parallel()
		windows, broken := 0, 0
		for n := range 40 {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			h := traffic{seed: uint64(n), ops: 600, clients: 2 + n%4, unknown: []float64{0, 0.02}[n%2], waits: n%3 == 0, windows: true}.make()
			for range n % 3 {
				lie(r, h)
			}
			whole := Judge(context.Background(), h, Options{Budget: time.Minute}).Result(contract.Object)
			v, s := stream(h, 4)
			_, w := s.Judged()
			windows += w
			if got := v.Result(contract.Object); got.Status != whole.Status {
				t.Fatalf("history %d: %s in windows (%s), but %s as a whole (%s)", n, got.Status, got.Summary, whole.Status, whole.Summary)
			}
			if whole.Status == Broken {
				broken++
			}
		}
		t.Logf("%d windows, %d histories broken", windows, broken)
		if windows < 400 || broken < 5 {
			t.Error("too few to mean anything")
		}
	})
	t.Run("leases", func(t *testing.T) {
		t.Parallel()
		windows, broken := 0, 0
		for n := range 300 {
			r := rand.New(rand.NewPCG(uint64(n), 4))
			whole := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied}}
			for i := range 12 {
				h := honest(r, shape{leases: true, unknown: 10 * (n % 2), windows: true}, false)
				for _, op := range h.Ops {
					by := time.Duration(i) * time.Second
					op.ID = int64(len(whole.Ops) + 1)
					op.Call, op.Return = op.Call+by, op.Return+by
					if op.Until > 0 {
						op.Until += by
					}
					whole.Ops = append(whole.Ops, op)
				}
			}
			if n%3 > 0 {
				lie(r, whole)
			}
			want := Judge(context.Background(), whole, Options{Budget: time.Minute}).Result(contract.Object)
			v, s := stream(whole, 2)
			_, w := s.Judged()
			windows += w
			if got := v.Result(contract.Object); got.Status != want.Status {
				t.Fatalf("history %d: %s in windows (%s), but %s as a whole (%s)\n%s", n, got.Status, got.Summary, want.Status, want.Summary, testCase(whole))
			}
			if want.Status == Broken {
				broken++
			}
		}
		t.Logf("%d windows, %d histories broken", windows, broken)
		if windows < 600 || broken < 50 {
			t.Error("too few to mean anything")
		}
	})
}

// The window that is kept to be shown is one that accuses the lock, rather than an earlier one that nobody could judge.
func TestTheWindowThatIsShownAccuses(t *testing.T) {
	header := history.Header{Version: history.Version, Expiry: history.Implied, Abilities: []string{"lost"}}
	unclear := traffic{seed: 2, ops: 600, clients: 4, unknown: 0.1}.make()
	unclear.Header = header
	overlap := &history.History{Header: header, End: &history.End{At: at(3)}, Ops: []history.Op{
		{ID: 1, Client: "a", Owner: "a", Lock: "l", Kind: history.TryLock, Lease: at(1), Call: at(0.1), Return: at(0.2), Outcome: history.Acquired},
		{ID: 2, Client: "b", Owner: "b", Lock: "l", Kind: history.TryLock, Lease: at(1), Call: at(1.6), Return: at(1.7), Outcome: history.Acquired},
		{ID: 3, Client: "a", Owner: "a", Lock: "l", Kind: history.Unlock, Call: at(2.4), Return: at(2.5), Outcome: history.NotHeld},
	}}
	for _, parts := range [][]*history.History{{unclear, overlap}, {overlap, unclear}, {unclear}} {
		s := newStream(header, Options{Budget: 1}, 1)
		for _, h := range parts {
			s.sum.judge(windows.Window{History: h}, s.options)
		}
		v := s.finish(&history.End{At: at(3)}, at(3))
		if r := v.Result(contract.Object); r.Status == Holds {
			t.Fatalf("object: %s, with no time at all", r.Summary)
		}
		want := parts[0]
		if len(parts) > 1 {
			want = overlap
		}
		if shown, w := s.Broken(); shown != want || w == nil {
			t.Errorf("of %d windows one of %d operations is shown", len(parts), len(shown.Ops))
		}
	}
}

// A token that a window before has seen breaks object and fencing of the one that gives it again, whose verdict tells so.
func TestATokenIsHeldAgainstTheWindowsBefore(t *testing.T) {
	h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied}, End: &history.End{At: time.Hour}}
	for i := range 2 * windowOps {
		call := at(float64(1 + 2*i))
		take := history.Op{ID: int64(2*i + 1), Client: "c1", Owner: "c1:1", Lock: job, Kind: history.TryLock, Call: call, Return: call + ms, Outcome: history.Acquired, Lease: time.Minute, Token: int64(i + 1)}
		give := history.Op{ID: int64(2*i + 2), Client: "c1", Owner: "c1:1", Lock: job, Kind: history.Unlock, Call: call + sec, Return: call + sec + ms, Outcome: history.Released}
		if i == 3*windowOps/2 {
			take.Token = 5
		}
		h.Ops = append(h.Ops, take, give)
	}
	v, part, window := JudgeInWindows(t.Context(), h, Options{Model: model.Fenced})
	if part == nil || len(part.Ops) >= len(h.Ops) {
		t.Fatal("one window shows all")
	}
	for _, g := range []contract.Guarantee{contract.Object, contract.Fencing} {
		for name, v := range map[string]*Verdict{"whole": v, "window": window} {
			if r := v.Result(g); r.Status != Broken || len(r.Violations) == 0 || r.Violations[0].Rule != contract.TokensIncrease {
				t.Errorf("%s, %s: %s: %s", name, g, r.Status, r.Summary)
			}
		}
	}
}

// A replica that takes over amid a window begins with tokens of its own, and no later window is held against the
// greater ones of before. Without the failover those are held against it.
func TestTokensBeginAnewAmidAWindow(t *testing.T) {
	const behind = windowOps / 4
	for _, fails := range []bool{true, false} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, Abilities: []string{"fencing"}}, End: &history.End{At: time.Hour}}
		for i := range 2 * windowOps {
			call, token := at(float64(1+2*i)), int64(i+1)
			if i < behind {
				token += 1000 * windowOps
			}
			h.Ops = append(h.Ops,
				history.Op{ID: int64(2*i + 1), Client: "c1", Owner: "c1:1", Lock: job, Kind: history.TryLock, Call: call, Return: call + ms, Outcome: history.Acquired, Lease: time.Minute, Token: token},
				history.Op{ID: int64(2*i + 2), Client: "c1", Owner: "c1:1", Lock: job, Kind: history.Unlock, Call: call + sec, Return: call + sec + ms, Outcome: history.Released})
		}
		if fails {
			h.Events = []history.Event{{At: at(2 * behind), Kind: history.Failover}}
			h.Faults = []history.Fault{{Kind: "failover", From: at(2 * behind), To: at(2 * behind), Effects: []history.Effect{history.ServerForgot}}}
		}
		v, _, _ := JudgeInWindows(t.Context(), h, Options{})
		if r := v.Result(contract.Fencing); r.Status != Broken || fails == (v.Code() == ExitUnexpected) {
			t.Errorf("failover: %t: %s: %s", fails, r.Status, r.Summary)
		}
	}
}
