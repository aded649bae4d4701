package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Nobody saw the keys of these read-write locks: what a hold may have been, for all that was told, is no defect.
func TestWhatAnUnseenReadWriteLockMayHaveDone(t *testing.T) {
	const minute = 60 * 1000
	write, unlock := history.WriteLock, history.WriteUnlock
	by := func(owner string, op history.Op) history.Op {
		op.Client, op.Owner = owner, history.WriterOf(owner)
		return op
	}
	watched := func(op history.Op) history.Op {
		op.Watchdog = true
		return op
	}
	asks := func(op history.Op, lease time.Duration) history.Op {
		op.Fresh = lease
		return op
	}
	// late is a reader's call of whose grant its owner did not hear: the server executed it at 74 s.
	late := func() history.Op {
		return unheardUntil(told("a", history.ReadLock, 26000, 49000, 30*time.Second, history.Unknown), 74*time.Second)
	}
	// again is the same later, by others.
	const later = 200 * 1000
	again := func(until time.Duration) []history.Op {
		return []history.Op{by("e", told("e", write, later+1, later+2, 30*time.Second, history.Acquired)),
			unheardUntil(told("f", history.ReadLock, later+26000, later+49000, 30*time.Second, history.Unknown), until),
			by("g", told("g", history.TryWrite, later+86000, later+87000, 30*time.Second, history.Busy))}
	}
	for _, tt := range []struct {
		name   string
		broken bool
		ops    []history.Op
		claims []contract.Claim
	}{
		{"a watchdog renews a hold of a minute", false, []history.Op{by("a", watched(told("a", write, 1, 2, 30*time.Second, history.Acquired))), by("a", told("a", unlock, minute, minute+1, 0, history.Released))}, nil},
		{"nobody renews one", true, []history.Op{by("a", told("a", write, 1, 2, 30*time.Second, history.Acquired)), by("a", told("a", unlock, minute, minute+1, 0, history.Released))}, nil},
		{"a lease may be over before the next call", false, []history.Op{by("a", told("a", write, 1, 5, ms, history.Acquired)),
			by("a", told("a", history.TryWrite, 6, 7, 30*time.Second, history.Acquired)), by("a", told("a", unlock, 8, 9, 0, history.Released))}, nil},
		{"and lasts through it, if it is longer", true, []history.Op{by("a", told("a", write, 1, 5, time.Second, history.Acquired)),
			by("a", told("a", history.TryWrite, 6, 7, 30*time.Second, history.Acquired)), by("a", told("a", unlock, 8, 9, 0, history.Released))}, nil},
		{"an unheard unlock may give back the last hold, if the one before may have been over", false, []history.Op{by("a", told("a", write, 1, 5, ms, history.Acquired)),
			by("a", told("a", history.TryWrite, 6, 7, 30*time.Second, history.Acquired)), by("a", told("a", unlock, 8, 9, 0, history.Unknown)), by("b", told("b", history.TryWrite, 20, 21, time.Second, history.Acquired))}, nil},
		{"and gives one of two back", true, []history.Op{by("a", told("a", write, 1, 5, time.Second, history.Acquired)),
			by("a", told("a", history.TryWrite, 6, 7, 30*time.Second, history.Acquired)), by("a", told("a", unlock, 8, 9, 0, history.Unknown)), by("b", told("b", history.TryWrite, 20, 21, time.Second, history.Acquired))}, nil},
		{"a re-entry may shorten the lease, for all that is claimed", false, []history.Op{by("a", told("a", write, 1, 2, 30*time.Second, history.Acquired)),
			by("a", told("a", write, 6, 7, ms, history.Acquired)), by("b", told("b", history.TryWrite, 2000, 2001, time.Second, history.Acquired))}, nil},
		{"and lasts as long as the longer one of both", true, []history.Op{by("a", told("a", write, 1, 2, 30*time.Second, history.Acquired)),
			by("a", told("a", write, 6, 7, time.Minute, history.Acquired)), by("b", told("b", history.TryWrite, 31000, 31001, time.Second, history.Acquired))}, nil},
		{"a re-entry that asks for less may leave the end as it was", false, []history.Op{by("a", told("a", write, 1, 2, 30*time.Second, history.Acquired)),
			by("a", asks(told("a", write, 5000, 5001, 30*time.Second, history.Acquired), ms)), by("b", told("b", history.TryWrite, 31000, 31001, time.Second, history.Acquired))}, []contract.Claim{contract.KeepsLongest}},
		{"but not bring the end forward", true, []history.Op{by("a", told("a", write, 1, 2, 30*time.Second, history.Acquired)),
			by("a", asks(told("a", write, 5000, 5001, 30*time.Second, history.Acquired), ms)), by("b", told("b", history.TryWrite, 29000, 29001, time.Second, history.Acquired))}, []contract.Claim{contract.KeepsLongest}},
		{"a late grant, unheard, refuses a writer", false, []history.Op{by("b", told("b", write, 1, 2, 30*time.Second, history.Acquired)), late(),
			by("c", told("c", history.TryWrite, 86000, 87000, 30*time.Second, history.Busy))}, nil},
		{"of three unheard calls two were granted", false, slices.Concat([]history.Op{by("b", told("b", write, 1, 2, 30*time.Second, history.Acquired)), late(),
			unheardUntil(by("d", told("d", write, 72000, 73000, 30*time.Second, history.Unknown)), 74*time.Second), told("h", history.TryRead, 75000, 76000, ms, history.Acquired),
			by("c", told("c", history.TryWrite, 86000, 87000, 30*time.Second, history.Busy))}, again(274*time.Second)), nil},
		{"and one of them too early to explain the other", true, slices.Concat([]history.Op{by("b", told("b", write, 1, 2, 30*time.Second, history.Acquired)), late(),
			unheardUntil(by("d", told("d", write, 72000, 73000, 30*time.Second, history.Unknown)), 74*time.Second), told("h", history.TryRead, 75000, 76000, ms, history.Acquired),
			by("c", told("c", history.TryWrite, 86000, 87000, 30*time.Second, history.Busy))}, again(255*time.Second)), nil},
		{"and does so no more when its lease is over", true, []history.Op{by("b", told("b", write, 1, 2, 30*time.Second, history.Acquired)), late(),
			by("c", told("c", history.TryWrite, 106000, 107000, 30*time.Second, history.Busy))}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claims := []string{string(contract.ReadWrite), "reentrant", "watchdog", string(contract.LeasePerHold)}
			for _, c := range tt.claims {
				claims = append(claims, string(c))
			}
			r := unseen(claims, nil, tt.ops...).Result(contract.Object)
			if broken := r.Status == Broken; broken != tt.broken || !broken && r.Status != Holds {
				t.Errorf("%s: %s", r.Status, r.Summary)
			}
		})
	}
}

// unheardUntil is a call that was sent, of which its client did not hear: the server executed it by a time, or not at all.
func unheardUntil(op history.Op, until time.Duration) history.Op {
	op.Evidence, op.Until = history.Sent, until
	return op
}

// A lock that is judged by its answers alone may say in its key who holds it: who lengthens what another has is told so.
func TestWhoRenewsWhatAnotherHas(t *testing.T) {
	row := func(client, text, before, after string, left, lasts time.Duration, call int64) history.Served {
		says := func(value string, deadline time.Duration) *history.KeyState {
			if value == "" {
				return &history.KeyState{}
			}
			return &history.KeyState{Holdings: []history.Holding{{Owner: value, Count: 1}}, Deadline: deadline}
		}
		return history.Served{At: 10 * time.Millisecond, Client: client, Lock: job, Text: text, Op: call, Before: says(before, left), After: says(after, lasts)}
	}
	const took, renewed = 30 * time.Second, 40 * time.Second
	a := row("a", "SET job one NX", "", "one", 0, took, 1)
	for _, tt := range []struct {
		name   string
		broken bool
		rows   []history.Served
	}{
		{"another renews it", true, []history.Served{a, row("b", "EVALSHA 1 job two", "one", "one", took, renewed, 0)}},
		{"its own client does", false, []history.Served{a, row("a", "EVALSHA 1 job one", "one", "one", took, renewed, 0)}},
		{"another asks for it in vain", false, []history.Served{a, row("b", "EVALSHA 1 job two", "one", "one", took, took, 0)}},
		{"another was named as the next, by the one who had it", false, []history.Served{row("b", "RPUSH q two", "", "", 0, 0, 2), a, row("b", "EVALSHA 1 job two", "", "", 0, 0, 2),
			row("a", "EVALSHA 2 job one", "one", "two", took, took, 1), row("b", "PEXPIRE job", "two", "two", took, renewed, 0)}},
		{"nobody has ever named what the key says", false, []history.Served{row("a", "EVALSHA 3 job", "", "made up", 0, took, 1), row("b", "PEXPIRE job", "made up", "made up", took, renewed, 0)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms, Layout: history.Layout{Unknown: "nobody counts"}},
				Ops: []history.Op{told("a", history.Lock, 1, 12, took, history.Acquired)}, Served: tt.rows}
			h.Ops[0].ID = 1
			r := Judge(t.Context(), h, Options{}).Result(contract.Object)
			var rules []contract.Rule
			for _, v := range r.Violations {
				rules = append(rules, v.Rule)
				if v.Ruling.Kind != Defect {
					t.Errorf("%+v", v.Ruling)
				}
			}
			if broken := len(rules) == 1 && rules[0] == contract.HolderRenews; broken != tt.broken || len(rules) > 1 {
				t.Errorf("%v: %s", rules, r.Summary)
			}
		})
	}
}

// The holds of a read-write lock may share the end of its key, of which nobody saw how another's call set it.
func TestAnUnseenHoldMayEndWithAnothersLease(t *testing.T) {
	reads := func(owner string, at int, lease time.Duration, watched bool) history.Op {
		op := told(owner, history.ReadLock, at, at+1, lease, history.Acquired)
		op.Client, op.Watchdog = owner, watched
		return op
	}
	writes := func(at int) history.Op {
		op := told("c", history.TryWrite, at, at+1, 30*time.Second, history.Acquired)
		op.Client, op.Owner = "c", history.WriterOf("c")
		return op
	}
	for _, tt := range []struct {
		name   string
		ops    []history.Op
		claims []contract.Claim
		object Status
		ruling string // of two believers
	}{
		{"a shorter lease is over", []history.Op{reads("a", 1, 30*time.Second, true), reads("b", 1000, 5*time.Second, false), writes(20000)}, nil, Holds, string(FailedAssumption) + "other-hold"},
		{"it is not over", []history.Op{reads("a", 1, 30*time.Second, true), reads("b", 1000, 5*time.Second, false), writes(4000)}, nil, Broken, defect},
		{"it was over before", []history.Op{reads("b", 1, time.Second, false), reads("a", 5000, 30*time.Second, true), writes(20000)}, nil, Broken, defect},
		{"each hold has its own lease", []history.Op{reads("a", 1, 30*time.Second, true), reads("b", 1000, 5*time.Second, false), writes(20000)}, []contract.Claim{contract.LeasePerHold}, Broken, defect},
		{"the longest is kept", []history.Op{reads("a", 1, 30*time.Second, true), reads("b", 1000, 5*time.Second, false), writes(20000)}, []contract.Claim{contract.KeepsLongest}, Broken, defect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claims := []string{string(contract.ReadWrite), "reentrant", "watchdog"}
			for _, c := range tt.claims {
				claims = append(claims, string(c))
			}
			v := unseen(claims, nil, append(tt.ops, told("a", history.ReadUnlock, 25000, 25001, 0, history.NotHeld))...)
			if is := v.Result(contract.Object).Status; is != tt.object {
				t.Errorf("object %s, want %s", is, tt.object)
			}
			for _, x := range v.Result(contract.Exclusion).Violations {
				if got := string(x.Ruling.Kind) + x.Ruling.Row; slices.Contains(x.Owners, "a") && got != tt.ruling {
					t.Errorf("%q, want %q: %s", got, tt.ruling, x.Cause.Text)
				}
			}
			if v.Result(contract.Exclusion).Status != Broken {
				t.Error("nobody believes that two have it")
			}
		})
	}
}

// A reader with a shorter lease may have cut off the hold of one whose lease is renewed, unless each hold has a lease of its own.
func TestAReaderMayCutOffAnother(t *testing.T) {
	for _, own := range []bool{false, true} {
		claims := []string{string(contract.ReadWrite), "reentrant", "watchdog"}
		if own {
			claims = append(claims, string(contract.LeasePerHold))
		}
		reads := told("a", history.ReadLock, 1, 2, 30*time.Second, history.Acquired)
		reads.Watchdog = true
		writes := told("c", history.WriteLock, 3, 31000, 30*time.Second, history.Acquired)
		writes.Owner = history.WriterOf("c")
		v := unseen(claims, nil, reads, told("b", history.TryRead, 100, 101, 750*ms, history.Acquired), writes,
			told("a", history.ReadUnlock, 40000, 40001, 0, history.Released))
		if accused := len(v.Result(contract.Exclusion).Defects()) > 0; accused != own {
			t.Errorf("each hold has a lease of its own: %v; accused: %v\n%s", own, accused, v.Explanation)
		}
	}
}

// A hold of which nobody knows whether it was given back may have its own lease still, whatever its owner took since.
func TestAnUnseenReadHoldMayOutliveItsUnlock(t *testing.T) {
	for _, unlock := range []history.Outcome{history.Unknown, history.Released} {
		h := &history.History{Header: history.Header{Version: history.Version, Expiry: history.Implied, LatencyMax: ms, Abilities: []string{string(contract.ReadWrite)}, Layout: history.Layout{Unknown: "nobody looked"}},
			Ops: []history.Op{told("a", history.ReadLock, 1, 5, 10*time.Second, history.Acquired), told("a", history.ReadUnlock, 6, 9, 0, unlock), told("a", history.TryRead, 10, 12, 500*ms, history.Acquired)}}
		for i := range h.Ops {
			h.Ops[i].ID = int64(i + 1)
		}
		f := collect(h, Options{})
		if until := f.perhapsUntil(f.locks[0], 2*time.Second); (until >= 10*time.Second) != (unlock == history.Unknown) {
			t.Errorf("the unlock returned %s: it may be held until %v", unlock, until)
		}
	}
}
