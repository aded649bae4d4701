package goals_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/checker/goals"
	"github.com/holdfast-sim/holdfast/history"
)

func call(id int64, owner string, kind history.Kind, from, to time.Duration) history.Op {
	return history.Op{ID: id, Owner: owner, Client: "c-" + owner, Lock: "l", Kind: kind, Call: from, Return: to, Evidence: history.Sent}
}

func executed(op history.Op, at time.Duration, answer history.Outcome) history.Op {
	op.Evidence, op.Executed, op.Answer, op.Outcome = history.Executed, at, answer, answer
	return op
}

func cmd(op int64, owner string, step history.Step, sent, at time.Duration, before, after *history.KeyState) history.Served {
	return history.Served{Op: op, Owner: owner, Client: "c-" + owner, Lock: "l", Step: step, Sent: sent, At: at, Got: at + 1, Before: before, After: after}
}

func renewal(owner string, sent, at time.Duration, before, after *history.KeyState) history.Served {
	r := cmd(0, "", history.StepRenew, sent, at, before, after)
	r.Names, r.Client = []string{owner}, "c-"+owner
	return r
}

// Each goal is reached in one history, and not in another that differs from it in the one thing that matters.
func TestWhatComesTogether(t *testing.T) {
	none, held := key(0), key(30*s, "a")
	waiter := func(id int64, owner string) history.Op { return call(id, owner, history.Lock, 2*s, 9*s) }
	for _, c := range []struct {
		goal string
		make func(h *history.History, come bool)
	}{
		{"renewal-in-flight-while-unlocked", func(h *history.History, come bool) {
			sent := 6 * s
			if come {
				sent = 4 * s
			}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held), cmd(2, "a", history.StepRelease, 3*s, 5*s, held, none), renewal("a", sent, 7*s, none, none)}
		}},
		{"renewal-in-flight-while-locked-again", func(h *history.History, come bool) {
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held), cmd(2, "a", history.StepRelease, 3*s, 5*s, held, none),
				cmd(3, "a", history.StepAcquire, 5*s, 6*s, none, held), renewal("a", 5*s+1, 7*s, held, held)}
			if come {
				h.Served[3].Sent = 4 * s
			}
		}},
		{"acquire-late-while-locked-again", func(h *history.History, come bool) {
			h.Ops = []history.Op{call(1, "a", history.Lock, 1*s, 2*s), call(2, "a", history.Unlock, 3*s, 4*s), call(3, "a", history.Lock, 5*s, 6*s)}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1*s, 2*s, none, held), cmd(2, "a", history.StepRelease, 3*s, 4*s, held, none),
				cmd(3, "a", history.StepAcquire, 5*s, 6*s, none, held), cmd(3, "a", history.StepAcquire, 5*s, 7*s, held, held)}
			if come {
				h.Served[3].Op = 1
			}
		}},
		{"acquire-late-while-given-back", func(h *history.History, come bool) {
			h.Ops = []history.Op{call(1, "a", history.Lock, 1*s, 2*s), call(2, "a", history.Unlock, 3*s, 4*s), call(3, "a", history.Lock, 5*s, 8*s)}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1*s, 2*s-1, none, held), cmd(2, "a", history.StepRelease, 3*s, 4*s-1, held, none),
				cmd(3, "a", history.StepAcquire, 5*s, 7*s, none, none)}
			if come {
				h.Served[2].Op = 1
			}
		}},
		{"release-late-while-locked-again", func(h *history.History, come bool) {
			h.Ops = []history.Op{call(1, "a", history.Lock, 1*s, 2*s), call(2, "a", history.Unlock, 3*s, 4*s), call(3, "a", history.Lock, 5*s, 6*s), call(4, "a", history.Unlock, 6*s, 9*s)}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1*s, 2*s-1, none, held), cmd(2, "a", history.StepRelease, 3*s, 4*s-1, held, none),
				cmd(3, "a", history.StepAcquire, 5*s, 6*s-1, none, held), cmd(4, "a", history.StepRelease, 6*s, 7*s, held, held)}
			if come {
				h.Served[3].Op = 2
			}
		}},
		{"force-late", func(h *history.History, come bool) {
			h.Ops = []history.Op{executed(call(1, "o", history.ForceUnlock, 1*s, 2*s), 2*s, history.Released)}
			h.Served = []history.Served{cmd(1, "o", history.StepForce, 1*s, 2*s, held, none), cmd(1, "o", history.StepForce, 1*s, 3*s, none, none)}
			if come {
				h.Served[1].Before, h.Served[1].After = held, none
			}
		}},
		{"grant-unheard", func(h *history.History, come bool) {
			h.Ops = []history.Op{executed(call(1, "a", history.Lock, 1*s, 2*s), 2*s, history.Acquired)}
			if come {
				h.Ops[0].Outcome = history.Unknown
			}
		}},
		{"granted-when-given-up", func(h *history.History, come bool) {
			h.Ops = []history.Op{executed(call(1, "a", history.Lock, 1*s, 2*s), 2*s, history.Acquired)}
			if h.Ops[0].Cancel = 2 * s; come {
				h.Ops[0].Cancel = s / 2
			}
		}},
		{"script-forgotten", func(h *history.History, come bool) {
			h.Served = []history.Served{{At: 1, Text: "EVAL abc 1 l"}, {At: 2, Text: "EVALSHA abd 1 l", Refused: true, Reply: "NOSCRIPT No matching script"}}
			if come {
				h.Served[1].Text = "EVALSHA abc 1 l"
			}
		}},
		{"refused-and-then-granted", func(h *history.History, come bool) {
			h.Ops = []history.Op{executed(call(1, "a", history.Lock, 1*s, 3*s), 2*s, history.Acquired)}
			h.Served = []history.Served{{At: 1, Op: 1, Refused: true, Reply: "NOSCRIPT No matching script"}}
			if come {
				h.Served[0].Reply = "OOM command not allowed"
			}
		}},
		{"three-of-a-client-wait", func(h *history.History, come bool) {
			h.Ops = []history.Op{waiter(1, "b"), waiter(2, "b"), waiter(3, "d")}
			if come {
				h.Ops[2].Client = "c-b"
			}
		}},
		{"wake-up-lost-while-three-wait", func(h *history.History, come bool) {
			h.Ops = []history.Op{waiter(1, "b"), waiter(2, "d"), waiter(3, "e")}
			h.Faults = []history.Fault{{Kind: "drop-message", Effects: []history.Effect{history.MessageLost}, Client: "c-e", On: "reply publish", From: 4 * s, Hits: 1}}
			if !come {
				h.Ops[1] = executed(h.Ops[1], 3*s, history.Acquired) // two wait
			}
		}},
		{"freed-before-subscribed", func(h *history.History, come bool) {
			h.Ops = []history.Op{waiter(1, "b")}
			freed := 4 * s
			if come {
				freed = 6 * s
			}
			h.Served = []history.Served{cmd(1, "b", history.StepAcquire, 2*s, 3*s, held, held), cmd(2, "a", history.StepRelease, 3*s, freed, held, none),
				{At: 7 * s, Sent: 5 * s, Step: history.StepSubscribe, Client: "c-b", Text: "subscribe ch:l"}}
		}},
		{"holder-died-while-one-waits", func(h *history.History, come bool) {
			h.Ops = []history.Op{call(1, "a", history.Lock, 1, 2), waiter(2, "b")}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held)}
			h.Events = []history.Event{{Kind: history.Died, Client: "c-z", At: 3 * s}}
			if come {
				h.Events[0].Client = "c-a"
			}
		}},
		{"waiter-died", func(h *history.History, come bool) {
			h.Ops = []history.Op{waiter(1, "b"), waiter(2, "d")}
			h.Events = []history.Event{{Kind: history.Died, Client: "c-z", At: 3 * s}}
			if come {
				h.Events[0].Client = "c-b"
			}
		}},
		{"expiry-while-one-waits", func(h *history.History, come bool) {
			h.Ops = []history.Op{waiter(1, "b")}
			h.Events = []history.Event{{Kind: history.Expire, Lock: "l", At: 10 * s}}
			if come {
				h.Events[0].At = 5 * s
			}
		}},
		{"expiry-while-unlocking", func(h *history.History, come bool) {
			h.Ops = []history.Op{call(1, "a", history.Unlock, 2*s, 4*s)}
			h.Events = []history.Event{{Kind: history.Expire, Lock: "l", Owner: "a", At: 4 * s}}
			if come {
				h.Events[0].At = 3 * s
			}
		}},
		{"told-of-loss-while-held", func(h *history.History, come bool) {
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held)}
			h.Events = []history.Event{{Kind: history.Lost, Lock: "l", Owner: "a", At: 31 * s}}
			if come {
				h.Events[0].At = 29 * s
			}
		}},
		{"clock-jump-while-held", func(h *history.History, come bool) {
			h.Ops = []history.Op{waiter(2, "b")}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held)}
			h.Events = []history.Event{{Kind: history.ClockJump, At: 10 * s}}
			if come {
				h.Events[0].At = 5 * s
			}
		}},
		{"majority-not-all", func(h *history.History, come bool) {
			h.Header.Groups = []history.Group{{Name: "g", Kind: history.Red, Members: []string{"l", "m"}}}
			op := call(1, "a", history.Lock, 1, 5)
			op.Lock, op.Outcome = "g", history.Acquired
			h.Ops = []history.Op{op}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held), cmd(1, "a", history.StepAcquire, 1, 3, none, held)}
			if h.Served[1].Lock = "m"; come {
				h.Served = h.Served[:1]
			}
		}},
		{"group-partly-taken", func(h *history.History, come bool) {
			h.Header.Groups = []history.Group{{Name: "g", Kind: history.Multi, Members: []string{"l", "m"}}}
			op := call(1, "a", history.Lock, 1, 5)
			op.Lock, op.Outcome = "g", history.Acquired
			if come {
				op.Outcome = history.Busy
			}
			h.Ops = []history.Op{op}
			h.Served = []history.Served{cmd(1, "a", history.StepAcquire, 1, 2, none, held)}
		}},
	} {
		for _, come := range []bool{true, false} {
			h := &history.History{}
			c.make(h, come)
			before, _ := json.Marshal(h)
			if got := goals.Reached(h, &checker.Verdict{}, nil); slices.Contains(got, c.goal) != come {
				t.Errorf("%s: to be reached: %v; reached are %v", c.goal, come, got)
			}
			if after, _ := json.Marshal(h); string(before) != string(after) {
				t.Errorf("%s: the history was changed", c.goal)
			}
		}
	}
}
