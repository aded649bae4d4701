package goals

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

var renewals = []situation{
	goal("renewal-in-flight-while-unlocked", "A renewal was on its way when its owner's unlock freed the lock.", func(r *run) bool {
		return r.row(func(s *row) bool { return s.Step == history.StepRenew && s.Sent < s.past.freed && s.before == 0 })
	}, renews, readable),
	goal("renewal-in-flight-while-locked-again", "A renewal was on its way when its owner's unlock freed the lock, and came when the owner had locked again.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepRenew && s.Sent < s.past.freed && s.past.freed < s.past.taken && s.before > 0
		})
	}, renews, readable),
	goal("renewal-of-a-hundred", "One command renewed the leases of a hundred locks.", func(r *run) bool {
		together := map[time.Duration]int{}
		return r.row(func(s *row) bool {
			if s.Step == history.StepRenew && s.before > 0 {
				together[s.At]++
			}
			return together[s.At] >= 100
		})
	}, renews, readable),
}

// earlier reports whether a command belongs to a call of its owner before the one by which the owner last took the lock.
func earlier(s *row) bool { return s.op != nil && s.past.by != nil && s.op.Call < s.past.by.Call }

var late = []situation{
	goal("acquire-late-while-locked-again", "A request of an earlier attempt came when its owner had locked again.", func(r *run) bool {
		return r.row(func(s *row) bool { return s.Step == history.StepAcquire && earlier(s) && s.before > 0 })
	}, lock, readable).by(history.Resends()...),
	goal("acquire-late-while-given-back", "A request of an earlier attempt came when its owner had given the lock back.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepAcquire && s.op != nil && s.before == 0 && !s.op.Pending() && s.op.Return < s.At && s.past.freed > s.op.Return
		})
	}, lock, readable).by(history.Resends()...),
	goal("acquire-late-while-others-hold", "A copy of an attempt that had been granted came when another held the lock.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepAcquire && s.op != nil && s.op.Answer == history.Acquired && s.op.Executed < s.At && s.others()
		})
	}, lock, readable).by(history.Resends()...),
	goal("release-late-while-locked-again", "A request of an earlier unlock came when its owner had locked again.", func(r *run) bool {
		return r.row(func(s *row) bool { return s.Step == history.StepRelease && earlier(s) && s.before > 0 && after(s) })
	}, lock, readable).by(history.Resends()...),
	goal("release-late-while-others-hold", "A copy of an unlock that had freed the lock came when another held it.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepRelease && s.op != nil && s.op.Answer == history.Released && s.op.Executed < s.At && s.others()
		})
	}, lock, readable).by(history.Resends()...),
	goal("force-late", "A copy of a forced unlock came when the lock had been taken again.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepForce && s.op != nil && s.op.Answer == history.Released && s.op.Executed < s.At && !s.Before.Absent()
		})
	}, forces, readable).by(history.Resends()...),
	goal("grant-answered-late", "The answer to a grant came when its lease was over.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepAcquire && s.after > s.before && s.After.Deadline < s.Got
		})
	}, lock, readable).by(history.HindersTimers()...),
}

// after reports whether a command came after the call that it belongs to had returned.
func after(s *row) bool { return !s.op.Pending() && s.op.Return < s.At }

var unheard = []situation{
	goal("grant-unheard", "The server granted a lock, and the caller was not told.", func(r *run) bool {
		return r.op(func(op *history.Op) bool { return op.Kind.Asks() && op.Answer == history.Acquired && op.Uncertain() })
	}, readable),
	goal("release-unheard", "The server freed a lock, and the caller was not told.", func(r *run) bool {
		return r.op(func(op *history.Op) bool {
			return op.Kind.Unlocks() && op.Answer == history.Released && op.Uncertain()
		})
	}, lock, readable),
	goal("granted-when-given-up", "The server granted a lock when the caller had given its call up.", func(r *run) bool {
		return r.op(func(op *history.Op) bool {
			return op.Kind.Asks() && op.Answer == history.Acquired && op.Cancel > 0 && op.Executed > op.Call+op.Cancel
		})
	}, readable),
	goal("unlocked-when-given-up", "The server executed an unlock when the caller had given its call up.", func(r *run) bool {
		return r.op(func(op *history.Op) bool {
			return op.Kind.Gives() && op.Answer == history.Released && op.Cancel > 0 && op.Executed > op.Call+op.Cancel
		})
	}, lock, readable),
	goal("refused-and-then-granted", "The server refused a request with an error, and later granted the same call.", func(r *run) bool {
		refused := map[int64]bool{}
		for i := range r.h.Served {
			if s := &r.h.Served[i]; s.Refused && s.Op != 0 && !strings.HasPrefix(s.Reply, noScript) {
				refused[s.Op] = true
			}
		}
		return r.op(func(op *history.Op) bool { return refused[op.ID] && op.Kind.Asks() && op.Answer == history.Acquired })
	}, readable).by(history.RequestRefused),
	goal("script-forgotten", "A server no longer knew a script that it had executed before.", func(r *run) bool {
		known := map[[2]string]bool{}
		for i := range r.h.Served {
			s := &r.h.Served[i]
			words := strings.Fields(s.Text)
			if len(words) < 2 || !strings.HasPrefix(words[0], "EVAL") {
				continue
			}
			script := [2]string{s.Server, words[1]}
			if !s.Refused {
				known[script] = true
			} else if known[script] && strings.HasPrefix(s.Reply, noScript) {
				return true
			}
		}
		return false
	}).by(history.ScriptsForgotten, history.ServerForgot, history.ServerDown),
}

const noScript = "NOSCRIPT"

var waiting = []situation{
	goal("ten-wait", "Ten calls waited for one lock at once.", func(r *run) bool { return r.gather(10, anybody) }, lock),
	goal("three-of-a-client-wait", "Three calls of one client waited for one lock at once.", func(r *run) bool {
		return r.op(func(op *history.Op) bool {
			return op.Kind.Acquires() && r.waiters(op.Lock, op.Call, func(other *history.Op) bool { return other.Client == op.Client }) >= 3
		})
	}, lock),
	goal("expiry-while-one-waits", "A lease ended while a call waited for its lock.", func(r *run) bool {
		return r.event(history.Expire, func(e *history.Event, lock string) bool {
			return r.object(lock) == history.ALock && r.waited(lock, e.At, 1)
		})
	}, lock, readable),
	goal("forced-while-one-waits", "A lock was forced free while a call waited for it.", func(r *run) bool {
		return r.row(func(s *row) bool {
			return s.Step == history.StepForce && s.After.Absent() && !s.Before.Absent() && r.waited(s.Lock, s.At, 1)
		})
	}, forces, readable).by(history.ForcedFree),
	goal("wake-up-lost-while-three-wait", "The message of a release was lost while three calls waited.", func(r *run) bool {
		return slices.ContainsFunc(r.h.Faults, func(f history.Fault) bool {
			return f.Struck() && f.On == "reply publish" && f.Has(history.MessageLost) && slices.ContainsFunc(r.locks, func(lock string) bool {
				mine := r.waiters(lock, f.From, func(op *history.Op) bool { return op.Client == f.Client })
				return mine > 0 && r.waited(lock, f.From, 3)
			})
		})
	}, Listens).by(history.MessageLost),
	goal("freed-before-subscribed", "A lock was freed after a waiter had been refused, and before the server had its subscription.", func(r *run) bool {
		return r.missedByAWaiter()
	}, Listens),
	goal("holder-died-while-one-waits", "A client died that held a lock for which another waited.", func(r *run) bool {
		return r.event(history.Died, func(e *history.Event, lock string) bool {
			mine := func(h history.Holding) bool { return r.client(h.Owner) == e.Client }
			return slices.ContainsFunc(r.holders(lock, e.At), mine) && r.waiters(lock, e.At, func(op *history.Op) bool { return op.Client != e.Client }) > 0
		})
	}, lock, readable).by(history.ProcessDied),
	goal("waiter-died", "A client died while it waited, and others waited on.", func(r *run) bool {
		return r.event(history.Died, func(e *history.Event, lock string) bool {
			mine := r.waiters(lock, e.At-1, func(op *history.Op) bool { return op.Client == e.Client })
			return mine > 0 && r.waiters(lock, e.At, func(op *history.Op) bool { return op.Client != e.Client }) > 0
		})
	}).by(history.ProcessDied),
}

// gather reports whether so many calls that count wait for one lock at once.
func (r *run) gather(least int, counts func(op *history.Op) bool) bool {
	return r.op(func(op *history.Op) bool {
		return op.Kind.Asks() && len(r.asks[op.Lock]) >= least && r.waiters(op.Lock, op.Call, counts) >= least
	})
}

// client is whose an owner is.
func (r *run) client(owner string) string {
	for i := range r.h.Ops {
		if r.h.Ops[i].Owner == owner {
			return r.h.Ops[i].Client
		}
	}
	return ""
}

// missedByAWaiter looks for a subscription that came to the server when the lock had been freed, of a client with a call that
// had been refused before that.
func (r *run) missedByAWaiter() bool {
	refused := map[int64]time.Duration{} // calls, and when
	freed := map[string]time.Duration{}  // locks, and when last
	for i := range r.h.Served {
		s := &r.h.Served[i]
		switch {
		case s.Step == history.StepSubscribe:
			for id, at := range refused {
				if op := r.ops[id]; op.Client == s.Client && waits(op, s.At) && at < freed[op.Lock] && s.Sent < freed[op.Lock] && strings.Contains(s.Text, op.Lock) && !r.gotMeanwhile(op, at, s.At) {
					return true
				}
			}
		case s.Before == nil || s.After == nil || s.Refused:
		case s.Step == history.StepAcquire && unchangedBy(s) && r.ops[s.Op] != nil:
			if _, before := refused[s.Op]; !before {
				refused[s.Op] = s.At
			}
		case !s.Before.Absent() && s.After.Absent(), s.After.Permits != nil && s.After.Number() > s.Before.Number():
			freed[s.Lock] = s.At
		}
	}
	return false
}

// gotMeanwhile reports whether another thread of a waiter's client was granted the lock meanwhile: a holder may subscribe, too.
func (r *run) gotMeanwhile(waiter *history.Op, from, to time.Duration) bool {
	return r.op(func(op *history.Op) bool {
		return op.ID != waiter.ID && op.Client == waiter.Client && op.Lock == waiter.Lock && op.Kind.Asks() && op.Outcome == history.Acquired && from <= op.Return && op.Call <= to
	})
}

func unchangedBy(s *history.Served) bool { return s.Before.Alike(*s.After) }

var losses = []situation{
	goal("expiry-while-unlocking", "A lease ended while its owner's unlock was under way.", func(r *run) bool {
		return r.event(history.Expire, func(e *history.Event, lock string) bool {
			return r.op(func(op *history.Op) bool {
				return op.Kind.Unlocks() && op.Lock == lock && (e.Owner == "" || op.Owner == e.Owner) && op.Call < e.At && (op.Pending() || e.At < op.Return)
			})
		})
	}, lock, readable),
	goal("told-of-loss", "A holder was told that its hold is over.", func(r *run) bool {
		return r.event(history.Lost, func(*history.Event, string) bool { return true })
	}, string(contract.TellsLoss)),
	goal("told-of-loss-while-unlocking", "An owner was told that its hold is over while it gave the hold back.", func(r *run) bool {
		return r.event(history.LostGiving, func(*history.Event, string) bool { return true })
	}, string(contract.TellsLoss)),
	goal("told-of-loss-while-held", "A holder was told that its hold is over while the server still had it.", func(r *run) bool {
		return r.event(history.Lost, func(e *history.Event, lock string) bool {
			return slices.ContainsFunc(r.holders(lock, e.At), func(h history.Holding) bool { return h.Owner == e.Owner })
		})
	}, string(contract.TellsLoss), readable),
	goal("restart-while-held", "A server restarted while a lock was held and a call waited for it.", func(r *run) bool {
		return r.event(history.Restart, func(e *history.Event, lock string) bool { return r.held(lock, e.At) && r.waited(lock, e.At, 1) })
	}, lock, readable).by(history.ServerDown, history.ServerForgot),
	goal("failover-while-held", "A replica became the master while a lock was held and a call waited for it.", func(r *run) bool {
		return r.event(history.Failover, func(e *history.Event, lock string) bool { return r.held(lock, e.At-1) && r.waited(lock, e.At, 1) })
	}, lock, readable).by(history.ServerForgot),
	goal("clock-jump-while-held", "The server's clock jumped while a lock was held and a call waited for it.", func(r *run) bool {
		return r.event(history.ClockJump, func(e *history.Event, lock string) bool { return r.held(lock, e.At-1) && r.waited(lock, e.At, 1) })
	}, lock, readable).by(history.ClockMoved),
	goal("key-gone-while-one-waits", "Somebody outside the lock deleted its key while a call waited for it.", func(r *run) bool {
		return r.event(history.Delete, func(e *history.Event, lock string) bool { return r.waited(lock, e.At, 1) })
	}).by(history.KeyDeleted),
}

var groups = []situation{
	goal("group-partly-taken", "An attempt took some members of a lock that is made of others, and not enough.", func(r *run) bool {
		return r.ofGroup(func(op *history.Op, took, _ int) bool {
			return took > 0 && op.Outcome != history.Acquired && !op.Pending()
		})
	}, Grouped),
	goal("majority-not-all", "A lock of a majority was granted without all its members.", func(r *run) bool {
		return r.ofGroup(func(op *history.Op, took, of int) bool {
			return op.Outcome == history.Acquired && took > 0 && took < of
		})
	}, string(contract.Red)),
	goal("group-members-re-entered", "A lock that is made of others was granted to an owner that held one of its members.", func(r *run) bool {
		before := map[int64]bool{}
		for i := range r.rows {
			if s := &r.rows[i]; s.Step == history.StepAcquire && s.after > s.before && s.before > 0 {
				before[s.Op] = true
			}
		}
		return r.ofGroup(func(op *history.Op, _, _ int) bool { return before[op.ID] && op.Outcome == history.Acquired })
	}, Grouped, reentrant, readable),
}

// ofGroup reports whether an attempt on a lock of several members is such, given how many it took, and of how many.
func (r *run) ofGroup(such func(op *history.Op, took, of int) bool) bool {
	if len(r.h.Header.Groups) == 0 {
		return false
	}
	took := map[int64]int{}
	for i := range r.rows {
		if s := &r.rows[i]; s.Step == history.StepAcquire && s.after > s.before {
			took[s.Op]++
		}
	}
	return r.op(func(op *history.Op) bool {
		i := slices.IndexFunc(r.h.Header.Groups, func(g history.Group) bool { return g.Name == op.Lock })
		return i >= 0 && op.Kind.Acquires() && !op.Aside && such(op, took[op.ID], len(r.h.Header.Groups[i].Members))
	})
}
