package world_test

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// What the world knows of calls on groups: of the whole, whatever its shape.

// groupsPlan has the group "ab" of a and b, which may be on one server, and their members as groups of one.
func groupsPlan(kind plan.GroupKind, a, b string, faults []plan.Fault, clients ...plan.Client) *plan.Plan {
	p := newPlan(faults, clients...)
	p.Servers = []plan.Server{{Name: "s1"}, {Name: "s2"}, {Name: "s3"}}
	ma, mb := plan.Member{Lock: "a", Server: a}, plan.Member{Lock: "b", Server: b}
	p.Groups = []plan.Group{{Name: "ab", Kind: kind, Members: []plan.Member{ma, mb}},
		{Name: "only a", Kind: plan.Multi, Members: []plan.Member{ma}}, {Name: "only b", Kind: plan.Multi, Members: []plan.Member{mb}}}
	return p
}

func of(name string, do plan.Action) plan.Step { return plan.Step{Do: do, Lock: name} }

// on are an owner's calls on a lock, and what the lock did by itself for it.
func on(h *history.History, owner, lock string) (told, aside []history.Op) {
	for _, op := range h.Ops {
		switch {
		case op.Owner != owner || op.Lock != lock || !op.Kind.OnLock():
		case op.Aside:
			aside = append(aside, op)
		default:
			told = append(told, op)
		}
	}
	return told, aside
}

func TestACallOnAGroupIsExecutedOnceForTheWhole(t *testing.T) {
	for _, subject := range []string{"rlock-latch", "rlock-hardened"} {
		for _, where := range [][2]string{{"s1", "s2"}, {"s1", "s1"}} {
			p := groupsPlan(plan.Multi, where[0], where[1], nil, client("c1", 0, of("ab", plan.Lock), of("ab", plan.TryLock), of("ab", plan.Unlock), of("ab", plan.Unlock)),
				client("c2", second*30, of("only b", plan.Lock), of("only b", plan.Unlock)))
			h := run(t, p, subject)
			told, aside := on(h, "c1:1", "ab")
			var answers []history.Outcome
			for _, op := range told {
				if answers = append(answers, op.Answer); op.Outcome != op.Answer || op.Repeats != 0 || !within(op.Executed, op.Call, op.Return) {
					t.Errorf("%s %v: %+v", subject, where, op)
				}
			}
			if want := []history.Outcome{history.Acquired, history.Acquired, history.Decremented, history.Released}; !slices.Equal(answers, want) || len(aside) > 0 {
				t.Errorf("%s %v: %v, and aside %+v", subject, where, answers, aside)
			}
			_, aside = on(h, "c1:1", "only b") // which c1 has taken and given back with the group
			answers = nil
			for _, op := range aside {
				answers = append(answers, op.Answer)
			}
			if want := []history.Outcome{history.Acquired, history.Acquired, history.Decremented, history.Released}; !slices.Equal(answers, want) {
				t.Errorf("%s %v: of its member: %v", subject, where, answers)
			}
		}
	}
}

// A command that names both members has a row for each, with the key as it was before and after.
func TestOneScriptForAllMembersHasARowForEach(t *testing.T) {
	h := run(t, groupsPlan(plan.Multi, "s1", "s1", nil, client("c1", 0, of("ab", plan.Lock), of("ab", plan.Unlock))), "rlock-hardened")
	rows := map[string]int{}
	for _, r := range h.Served {
		if r.Lock != "" && r.Client != history.Fresh && r.After != nil && len(r.After.Holdings) > len(r.Before.Holdings) {
			rows[r.Lock]++
		}
	}
	if rows["a"] != 1 || rows["b"] != 1 {
		t.Errorf("%v", rows)
	}
}

// A member that is taken away while the others are taken: the group was granted, and lost at once.
func TestAGroupThatLosesAMemberWhileItIsTakenWasHadForAMoment(t *testing.T) {
	faults := []plan.Fault{{Kind: "delete-key", Lock: "only a", When: &plan.Trigger{Client: "c1", Lock: "ab", Request: plan.Acquire, Nth: 2}}}
	h := run(t, groupsPlan(plan.Multi, "s1", "s2", faults, client("c1", 0, of("ab", plan.Lock), of("ab", plan.Unlock)), client("c2", 40*second, of("only a", plan.TryLock))), "rlock-latch")
	told, _ := on(h, "c1:1", "ab")
	if op := told[0]; op.Outcome != history.Acquired || op.Evidence != history.Executed || op.Answer != history.Acquired {
		t.Fatalf("%+v", op)
	}
	if !slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.Kind == history.Delete && e.Lock == "ab" && e.At > told[0].Executed && e.At < told[0].Return
	}) {
		t.Errorf("%+v", h.Events)
	}
}

// A fault may name a member that no program takes by itself: then the first group's is struck, and both groups that have it are told.
func TestAMemberIsStruckByItself(t *testing.T) {
	faults := []plan.Fault{{Kind: "delete-key", Lock: "a", From: at(5 * second)}}
	h := run(t, groupsPlan(plan.Multi, "s1", "s2", faults, client("c1", 0, of("ab", plan.Lock), plan.Step{Do: plan.Sleep, For: at(8 * second)}, of("ab", plan.Unlock)),
		client("c2", 40*second, of("only a", plan.TryLock))), "rlock-latch")
	did := admin(h)
	if len(did) != 1 || did[0].Lock != "a" || did[0].Server != "s1" || did[0].At != 5*second {
		t.Errorf("%+v", did)
	}
	for _, lock := range []string{"ab", "only a"} {
		if !slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Delete && e.Lock == lock && e.At == 5*second }) {
			t.Errorf("nobody tells of %s: %+v", lock, h.Events)
		}
	}
}

// A lease that ends while an unlock gives the members back one after the other does the rest of it.
func TestALeaseThatEndsWithinAnUnlockCompletesIt(t *testing.T) {
	leased := of("ab", plan.Lock)
	leased.Lease = at(2 * second)
	// b's lease ends while the unlock waits for a's answer, at about 2.4 s.
	faults := []plan.Fault{{Kind: "delay-message", Client: "c1", By: at(second), When: &plan.Trigger{Client: "c1", Reply: plan.Release}}}
	h := run(t, groupsPlan(plan.Multi, "s1", "s2", faults, client("c1", 0, leased, leased, sleep(1500*second/1000), of("ab", plan.Unlock))), "rlock-latch")
	told, _ := on(h, "c1:1", "ab")
	op := told[len(told)-1]
	if op.Kind != history.Unlock || op.Evidence != history.Executed || op.Answer != history.Decremented && op.Answer != history.Released {
		t.Errorf("%+v", op)
	}
}
