package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// ruledOn is the ruling of the one violation of a rule; "" if it is not broken.
func ruledOn(t *testing.T, s *script, rule contract.Rule) string {
	t.Helper()
	var found []string
	for _, r := range verdict(t, s).Results {
		for _, x := range r.Violations {
			if x.Rule == rule {
				found = append(found, string(x.Ruling.Kind)+x.Ruling.Row)
			}
		}
	}
	if len(found) > 1 {
		t.Fatalf("broken more than once: %q", found)
	}
	return append(found, "")[0]
}

const (
	defect   = string(Defect)
	hindered = string(FailedAssumption) + "waiter-hindered"
	noChance = string(FailedAssumption) + "no-opportunity"
)

// noticing has the lock claim to notice a silence within a time.
func noticing(s *script, within time.Duration) {
	claiming(s, contract.NoticesSilence).h.Header.SilenceNoticed = within
}

// subscription is the answer to a subscription of c2, asked for at a time.
func (s *script) subscription(channel string, sent time.Duration) {
	s.h.Served = append(s.h.Served, history.Served{At: sent + lat, Sent: sent, Got: sent + 2*lat, Client: "c2", Step: history.StepSubscribe, Text: "subscribe " + channel})
}

// A fault that was over before the release excuses a waiter only as long as its subscription is silent.
func TestAFaultBeforeTheReleaseExcusesASilentSubscriptionOnly(t *testing.T) {
	const channel = "redisson_lock__channel:{" + job + "}"
	lost := func(s *script) { s.fault("drop-message", "c2", at(3), 0).On = "reply publish" }
	onServer := func(struck, anew string) func(s *script) {
		return func(s *script) {
			lost(s)
			s.h.Faults[0].Server = struck
			s.subscription(channel, at(4))
			s.h.Served[len(s.h.Served)-1].Server = anew
		}
	}
	somewhere := func(answered string) func(s *script) { // a request was lost, and later a server answered another subscription
		return func(s *script) {
			s.fault("drop-message", "c2", at(0.2), at(0.2)).On = onRequest
			s.h.Ops[1].Call = at(10) // when the fault is long over
			s.h.Served = append(s.h.Served, history.Served{At: at(0.101), Sent: at(0.1), Got: at(0.102), Client: "c3", Server: "s1", Lock: job, Text: "pttl"})
			s.subscription("another", at(0.3))
			s.h.Served[len(s.h.Served)-1].Server = answered
		}
	}
	broken := func(s *script) { s.fault("close-connection", "c2", at(3), at(3)) }
	late := func(until float64) func(*script) {
		return func(s *script) { s.fault("delay-message", "c2", at(2), at(until)).On = "request subscribe" }
	}
	for _, tt := range []struct {
		name  string
		fault func(s *script)
		more  func(s *script)
		want  string
	}{
		{"a message was lost", lost, func(*script) {}, hindered},
		{"a message was lost, and it subscribed anew before", lost, func(s *script) { s.subscription(channel, at(4)) }, defect},
		{"a message was lost, and it subscribed anew afterwards", lost, func(s *script) { s.subscription(channel, at(6)) }, hindered},
		{"a message was lost, and it subscribed to another lock", lost, func(s *script) { s.subscription("redisson_lock__channel:{x"+job+"}", at(4)) }, hindered},
		{"a message was lost, and it had subscribed", lost, func(s *script) { s.subscription(channel, at(2)) }, hindered},
		{"a message was lost, and it noticed too late", lost, func(s *script) { noticing(s, at(21)) }, hindered},
		{"a message was lost, and it must have noticed", lost, func(s *script) { noticing(s, at(20)) }, defect},
		{"a message was lost, and others came until late", lost, func(s *script) { noticing(s, at(20)); s.subscription("another", at(9)) }, hindered},
		{"a message was lost, and it does not claim to notice", lost, func(s *script) { s.h.Header.SilenceNoticed = at(20) }, hindered},
		{"a message of one server was lost, and it subscribed anew at another", onServer("s1", "s2"), func(*script) {}, hindered},
		{"a message of one server was lost, and it subscribed anew there", onServer("s1", "s1"), func(*script) {}, defect},
		{"a request was lost, and another server answers a subscription", somewhere("s2"), func(*script) {}, hindered},
		{"a request was lost, and the lock's server answers a subscription", somewhere("s1"), func(*script) {}, defect},
		{"its connections broke", broken, func(*script) {}, hindered},
		{"its connections broke, and it subscribed anew before", broken, func(s *script) { s.subscription(channel, at(4)) }, defect},
		{"its connections broke, and it subscribed anew afterwards", broken, func(s *script) { s.subscription(channel, at(6)) }, hindered},
		{"its connections broke, it subscribed anew afterwards, and claims to look then", broken, func(s *script) { noticing(s, at(100)); s.subscription(channel, at(6)) }, defect},
		{"its connections broke, it subscribed anew at last, and claims to look then", broken, func(s *script) { noticing(s, at(100)); s.subscription(channel, at(29)) }, hindered},
		{"its connections broke, and it never subscribed anew, though it claims to look then", broken, func(s *script) { noticing(s, at(100)) }, hindered},
		{"its subscription came late, after the release", late(6), func(*script) {}, hindered},
		{"its subscription came late, before the release", late(4), func(*script) {}, defect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := waited(at(30.002), func(s *script) { s.unlock("c1:1", at(5), history.Released); tt.fault(s) })
			tt.more(s)
			if got := ruledOn(t, s, contract.FreeIsTaken); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAChannelIsNamedAfterALock(t *testing.T) {
	for _, tt := range []struct {
		text, lock string
		want       bool
	}{
		{"subscribe redisson_lock__channel:{a}", "a", true},
		{"subscribe redisson_lock__channel:{x}a", "{x}a", true},
		{"subscribe redisson_lock__channel:{x}a", "a", false},
		{"subscribe redisson_lock__channel:{aa}", "a", false},
		{"subscribe channel:b channel:a", "a", true},
		{"subscribe channel:ab", "a", false},
		{"subscribe a", "a", false}, // it may be anything
		{"subscribe redisson_countdownlatch__channel__{a}", "a", true},
		{"subscribe redisson_countdownlatch__channel__{aa}", "a", false},
	} {
		if got := names(tt.text, tt.lock); got != tt.want {
			t.Errorf("%q, %s: %v", tt.text, tt.lock, got)
		}
	}
}

// A fault is no reason for a call to fail once its client has had time again.
func TestACallFailsForAReasonOnly(t *testing.T) {
	refused := func(until float64) func(s *script) {
		return func(s *script) {
			s.op("c1:1", history.TryLock, at(5), at(until), history.Failed).Lease = dog
			s.fault("server-error", "", at(5.001), at(5.001))
		}
	}
	reset := func(on string) func(s *script) {
		return func(s *script) {
			s.op("c1:1", history.TryLock, at(15), at(15.002), history.Failed).Lease = dog
			f := s.fault("drop-message", "c1", at(5), at(5))
			f.On, f.Effects = on, []history.Effect{history.MessageLost, history.ConnectionBroken}
			s.h.Served = append(s.h.Served, history.Served{At: at(1), Sent: at(0.9), Client: "c1", Conn: "c1#1", Text: "ping"})
		}
	}
	busy := func(kind history.Kind, more func(s *script)) func(s *script) {
		return func(s *script) {
			s.take("c1:1", at(0), at(0.002), 0)
			op := s.op("c2:1", kind, at(1), at(20), history.Failed)
			op.Lease, op.Answer = dog, history.Busy
			s.unlock("c1:1", at(25), history.Released)
			more(s)
		}
	}
	again := func(got float64) func(s *script) { // an attempt is lost at 5 s, and the one after it is sent at 15 s
		return func(s *script) {
			op := s.op("c1:1", history.TryLock, at(5), at(18), history.Failed)
			op.Lease = dog
			for i, sent := range []float64{5, 15} {
				s.h.Served = append(s.h.Served, history.Served{At: at(sent + 0.001), Sent: at(sent), Got: at(got) * time.Duration(i), Client: "c1", Owner: "c1:1",
					Op: op.ID, Lock: job, Conn: "c1#1", Step: history.StepAcquire, Before: key("c9:1", 1, at(100)), After: key("c9:1", 1, at(100))})
			}
			s.fault("drop-message", "c1", at(5.001), at(5.001)).Effects = []history.Effect{history.MessageLost}
			s.h.Faults[0].On = "reply acquire"
		}
	}
	later := func(lost, on string, got float64) func(s *script) { // a call that follows long after another lost an answer, and what its client sent last
		return func(s *script) {
			for i, sent := range []float64{5, 60, 80} {
				if r := (history.Served{At: at(sent + 0.001), Sent: at(sent), Client: "c1", Conn: "c1#1", Step: history.StepSession}); i < 2 {
					op := s.op("c1:1", history.TryLock, at(sent), at(sent+3), history.Busy)
					if op.Lease = dog; i > 0 {
						op.Outcome, r.Conn = history.Failed, on
					}
					r.Owner, r.Op, r.Lock, r.Step, r.Before, r.After = "c1:1", op.ID, job, history.StepAcquire, key("c9:1", 1, at(100)), key("c9:1", 1, at(100))
					s.h.Served = append(s.h.Served, r)
				} else if r.Got = at(got); got > 0 {
					s.h.Served = append(s.h.Served, r)
				}
			}
			s.fault("drop-message", "c1", at(5.001), at(5.001)).Effects = []history.Effect{history.MessageLost}
			s.h.Faults[0].On = lost
		}
	}
	unseen := func(step string, since float64) func(s *script) { // a request was lost at 5 s, and what its client sent for a call of 60 to 63 s
		return func(s *script) {
			s.op("c1:1", history.TryLock, at(60), at(63), history.Failed).Lease = dog
			s.fault("drop-message", "c1", at(5.001), at(5.001)).Effects = []history.Effect{history.MessageLost}
			if s.h.Faults[0].On = step; since > 0 {
				s.h.Events = append(s.h.Events, history.Event{Kind: history.Unseen, At: at(since + 0.001), Since: at(since), Client: "c1", Lock: job})
			}
		}
	}
	silent := func(s *script) { s.fault("drop-message", "c2", at(2), 0).On = "reply subscribe" }
	several := func(subscribed float64) func(s *script) { // messages from 2 to 4 s, of which the last was on the subscription's connection
		return func(s *script) {
			claiming(s, contract.Waits)
			s.fault("drop-message", "c2", at(2), at(4)).On = "reply cleanup"
			s.subscription("redisson_lock__channel:{"+job+"}", at(subscribed))
		}
	}
	for _, tt := range []struct {
		name  string
		write func(s *script)
		rules []contract.Rule
	}{
		{"the last of the messages that a fault lost was that of its subscription", busy(history.Lock, several(3)), nil},
		{"it subscribed after the last of the messages that a fault lost", busy(history.Lock, several(4.1)), []contract.Rule{contract.CallsSucceed}},
		{"the server refused it, and its client may still wait", refused(11.1), nil},
		{"the server refused it long before", refused(11.2), []contract.Rule{contract.CallsSucceed}},
		{"the connection of another call broke", reset("reply acquire"), nil},
		{"the connection of a subscription broke", reset("reply subscribe"), []contract.Rule{contract.CallsSucceed}},
		{"what it sent again on a silent connection was not answered", again(0), nil},
		{"what it sent again was answered", again(15.002), []contract.Rule{contract.CallsSucceed}},
		{"it was sent on a connection that an answer was lost on long before", later("reply acquire", "c1#1", 0), nil},
		{"it was sent on another connection", later("reply acquire", "c1#2", 0), []contract.Rule{contract.CallsSucceed}},
		{"its connection gave an answer after that", later("reply acquire", "c1#1", 80.002), []contract.Rule{contract.CallsSucceed}},
		{"a request was lost long before, and so was this one", unseen("request acquire", 60), nil},
		{"a request was lost long before, and so was this one; a reply meanwhile", func(s *script) {
			unseen("request acquire", 60)(s)
			s.fault("drop-message", "c1", at(30), at(30)).Effects = []history.Effect{history.MessageLost}
			s.h.Faults[1].On = "reply acquire"
		}, nil},
		{"a reply was lost long before, and a request that no fault explains", unseen("reply acquire", 60), []contract.Rule{contract.CallsSucceed}},
		{"a request was lost long before, and so was another", unseen("request acquire", 40), []contract.Rule{contract.CallsSucceed}},
		{"a request was lost long before, and none since", unseen("request acquire", 0), []contract.Rule{contract.CallsSucceed}},
		{"what was lost before was a request, and the server saw this one", later("request acquire", "c1#1", 0), []contract.Rule{contract.CallsSucceed}},
		{"another has the lock", busy(history.Lock, func(*script) {}), nil},
		{"another has the lock, of one that waits", busy(history.Lock, func(s *script) { claiming(s, contract.Waits) }), []contract.Rule{contract.CallsSucceed}},
		{"another has the lock, of one that waits, but not in a tryLock", busy(history.TryLock, func(s *script) { claiming(s, contract.Waits) }), nil},
		{"its subscription is silent", busy(history.Lock, func(s *script) { claiming(s, contract.Waits); silent(s) }), nil},
		{"its subscription is silent, which it could not have noticed", busy(history.Lock, func(s *script) { claiming(s, contract.Waits); silent(s); noticing(s, at(12)) }), nil},
		{"its subscription is silent, which it must have noticed", busy(history.Lock, func(s *script) { claiming(s, contract.Waits); silent(s); noticing(s, at(11)) }),
			[]contract.Rule{contract.CallsSucceed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			got := slices.DeleteFunc(rules(verdict(t, s), contract.Liveness), func(r contract.Rule) bool { return r != contract.CallsSucceed })
			if !slices.Equal(got, tt.rules) {
				t.Errorf("broke %q, want %q", got, tt.rules)
			}
		})
	}
}

// sentAgainLater is a lock whose request is executed at 60 s, is not answered on its connection, and is sent again on another. A fault
// lost the answer to a question on c1#1 at 1 s.
func sentAgainLater(conn string) *script {
	s := newScript()
	s.fault("drop-message", "c1", at(1.001), at(1.001)).Effects = []history.Effect{history.MessageLost}
	s.h.Faults[0].On = "reply query"
	op := s.take("c1:1", at(60), at(63.002), 0)
	op.Executed, op.Repeats = at(60.001), 1
	s.h.Served = []history.Served{
		{At: at(1), Sent: at(0.999), Client: "c1", Conn: "c1#1", Step: history.StepQuery},
		{At: at(60.001), Sent: at(60), Client: "c1", Conn: conn, Step: history.StepAcquire, Op: op.ID, Owner: op.Owner, Lock: job,
			Before: key("", 0, 0), After: key("c1:1", 1, at(90.001))},
		{At: at(63.001), Sent: at(63), Got: at(63.002), Client: "c1", Conn: "c1#2", Step: history.StepAcquire, Op: op.ID, Owner: op.Owner, Lock: job,
			Before: key("c1:1", 1, at(90.001)), After: key("c1:1", 2, at(93.001))},
	}
	return s
}

// slowRound is a hold that is renewed from 10 to 14 s, and again from a time on, for so many seconds, by a server that is slow to renew.
func slowRound(sent, took float64) *script {
	s := newScript()
	s.take("c1:1", at(0), at(0.002), 0)
	before := key("c1:1", 1, at(30.001))
	add := func(sent, took float64) {
		op := s.renew("c1:1", at(sent), history.Renewed)
		op.Executed, op.Return = at(sent+took), at(sent+took)+lat
		s.h.Served = append(s.h.Served, history.Served{At: op.Executed, Sent: op.Call, Got: op.Return, Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job, Conn: "c1#1", Step: history.StepRenew,
			Before: before, After: key("c1:1", 1, op.Executed+dog)})
		before = s.h.Served[len(s.h.Served)-1].After
	}
	add(5, 0.001)
	add(10, 4)
	add(sent, took)
	s.unlock("c1:1", at(sent+took+1), history.Released)
	s.fault("slow-server", "c1", at(14), at(sent+took)).On = "request renew"
	return s
}

// A renewal that was late is a reason for the next to be late only until its answer came.
func TestALateRenewalDoesNotPutOffTheNext(t *testing.T) {
	steady := func(s *script) { claiming(s, contract.Steady) }
	beside := func(got float64) func(s *script) {
		return func(s *script) {
			steady(s)
			s.h.Served = append(s.h.Served, history.Served{At: at(got) - lat, Sent: at(10), Got: at(got), Client: "c1", Lock: "another", Step: history.StepRenew})
			slices.SortFunc(s.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
		}
	}
	opening := func(client string, got time.Duration) func(s *script) {
		return func(s *script) {
			steady(s)
			s.h.Served = append(s.h.Served, history.Served{At: at(22), Sent: at(20), Got: got, Client: client, Conn: client + "#2", Step: history.StepSession})
			slices.SortFunc(s.h.Served, func(a, b history.Served) int { return cmpTime(a.At, b.At) })
		}
	}
	granted := func(s *script) { // the renewal before was begun for an earlier hold
		steady(s)
		s.h.Ops[0].Call, s.h.Ops[0].Executed, s.h.Ops[0].Return = at(10.99), at(10.995), at(11)
	}
	for _, tt := range []struct {
		name       string
		sent, took float64
		more       func(s *script)
		want       string
	}{
		{"begun a period after the beginning", 21, 6, steady, noChance},
		{"begun later", 21.1, 6, steady, defect},
		{"begun a period after the grant, the renewal before having been for an earlier hold", 22, 6, granted, noChance},
		{"begun later than that after the grant", 22.1, 6, granted, defect},
		{"begun a period after the answer, by a lock that does not claim to be steady", 25, 6, func(*script) {}, noChance},
		{"begun later than that", 25.1, 6, func(*script) {}, defect},
		{"begun when another renewal was answered", 21.1, 6, beside(21), noChance},
		{"begun later, and another renewal was answered before", 21.1, 6, beside(14), defect},
		{"begun later, or sent later, on a connection of its own", 21.1, 6, func(s *script) { steady(s); s.h.Served[2].Conn = "c1#2" }, noChance},
		{"begun later, and a connection that its client opened was not answered", 21.1, 6, opening("c1", 0), noChance},
		{"begun later, and a connection that its client opened was answered before", 21.1, 6, opening("c1", at(21)), defect},
		{"begun later, and a connection of another client was not answered", 21.1, 6, opening("c2", 0), defect},
		{"begun later, as a message was lost", 21.1, 6, func(s *script) { steady(s); s.fault("drop-message", "c1", at(15), at(15)) }, noChance},
		{"begun later, as the messages of another were", 21.1, 6, func(s *script) { steady(s); s.fault("drop-message", "c2", at(15), at(15)) }, defect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := slowRound(tt.sent, tt.took)
			tt.more(s)
			if got := ruledOn(t, s, contract.RenewedInTime); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
