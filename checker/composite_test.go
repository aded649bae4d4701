package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/model"
)

// Locks that are made of others, from elsewhere: both sides of a MultiLock and a RedLock, with
// members that are taken by themselves and members that are lost.
func TestGroupsFromElsewhere(t *testing.T) {
	multi := history.Group{Name: "all", Kind: history.Multi, Members: []string{"a", "b", "c"}}
	red := history.Group{Name: "most", Kind: history.Red, Members: []string{"r1", "r2", "r3"}}
	on := func(s *script, lock string, do func()) { s.lock = lock; do() }
	take := func(s *script, lock, owner string, from float64) {
		on(s, lock, func() { s.take(owner, at(from), at(from+0.5), 0) })
	}
	busy := func(s *script, lock, owner string, from float64) {
		on(s, lock, func() { s.op(owner, history.TryLock, at(from), at(from+0.5), history.Busy) })
	}
	give := func(s *script, lock, owner string, from float64, out history.Outcome) {
		on(s, lock, func() { s.unlock(owner, at(from), out) })
	}
	lose := func(s *script, lock string, when float64) {
		on(s, lock, func() { s.event(history.Delete, at(when)) })
	}
	for _, tt := range []struct {
		name  string
		write func(s *script)
		rule  contract.Rule // "": it holds
		op    int64
		says  string
	}{
		{"all or none, one after the other", func(s *script) {
			take(s, "all", "x:1", 0)
			busy(s, "all", "y:1", 1)
			give(s, "all", "x:1", 2, history.Released)
			take(s, "all", "y:1", 3)
		}, "", 0, ""},
		{"a member's holder keeps the group from others", func(s *script) {
			take(s, "b", "x:1", 0)
			busy(s, "all", "y:1", 1)
			give(s, "b", "x:1", 2, history.Released)
			take(s, "all", "y:1", 3)
			busy(s, "c", "x:1", 4)
		}, "", 0, ""},
		{"granted though a member is another's", func(s *script) {
			take(s, "b", "x:1", 0)
			take(s, "all", "y:1", 1)
		}, contract.EnoughMembers, 2, "all: lock by y:1 (operation 2) answered acquired, which fits no order of the 1 answer before it: " +
			"lock by y:1 answered acquired, but it holds 0 members and others hold 1, and a hold needs 3"},
		{"a member granted though the group is another's", func(s *script) {
			take(s, "all", "y:1", 0)
			busy(s, "all", "x:1", 1)
			take(s, "a", "x:1", 2)
		}, contract.OneHolder, 3, "the lock is held by y:1"},
		{"busy though all are free", func(s *script) {
			take(s, "all", "x:1", 0)
			give(s, "all", "x:1", 1, history.Released)
			busy(s, "all", "y:1", 2)
		}, contract.BusyFewMembers, 3, "others hold 0"},
		{"most is enough", func(s *script) {
			take(s, "r1", "x:1", 0)
			take(s, "most", "y:1", 1)
			busy(s, "most", "z:1", 2)
		}, "", 0, ""},
		{"most is not there", func(s *script) {
			take(s, "r1", "x:1", 0)
			take(s, "r3", "x:1", 1)
			take(s, "most", "y:1", 2)
		}, contract.EnoughMembers, 3, "others hold 2, and a hold needs 2"},
		{"one member lost is no matter", func(s *script) {
			take(s, "most", "x:1", 0)
			lose(s, "r2", 1)
			give(s, "most", "x:1", 2, history.Released)
		}, "", 0, ""},
		{"one member of all lost, though nobody called it by itself", func(s *script) {
			take(s, "all", "x:1", 0)
			lose(s, "a", 1)
			give(s, "all", "x:1", 2, history.Released)
		}, contract.HolderHasEnough, 2, "it holds 2 members and others hold 0, and a hold needs 3"},
		{"members lost let another in", func(s *script) {
			take(s, "most", "x:1", 0)
			lose(s, "r1", 1)
			lose(s, "r2", 2)
			take(s, "most", "y:1", 3)
		}, "", 0, ""},
		{"given back though most are lost", func(s *script) {
			take(s, "most", "x:1", 0)
			lose(s, "r1", 1)
			lose(s, "r2", 2)
			give(s, "most", "x:1", 3, history.Released)
		}, contract.HolderHasEnough, 2, "it holds 1 members"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.write(s)
			h := blind(s.done())
			h.Header.Groups = []history.Group{multi, red}
			v := Judge(context.Background(), h, Options{Model: model.Reentrant})
			r := v.Result(contract.Object)
			if tt.rule == "" {
				if r.Status != Holds || r.By != "porcupine" || len(v.Refused) > 0 {
					t.Errorf("%s by %s: %s %v", r.Status, r.By, r.Summary, v.Refused)
				}
				return
			}
			if r.Status != Broken || len(r.Violations) != 1 {
				t.Fatalf("%s: %s %v", r.Status, r.Summary, v.Refused)
			}
			if got := r.Violations[0]; got.Rule != tt.rule || !slices.Equal(got.Ops, []int64{tt.op}) || !strings.Contains(got.Text, tt.says) {
				t.Errorf("operation %v, %q: %s", got.Ops, got.Rule, got.Text)
			}
		})
	}
}

// Groups with members in common are one joint, however they are listed; too many members are
// said to be.
func TestGroupsThatShareMembersAreJudgedTogether(t *testing.T) {
	s := newScript()
	for i, lock := range []string{"all", "first", "others", "d"} {
		s.lock = lock
		s.take(fmt.Sprintf("c%d:1", i), at(float64(i)), at(float64(i)+0.5), 0)
	}
	h := blind(s.done())
	h.Header.Groups = []history.Group{
		{Name: "first", Kind: history.Multi, Members: []string{"a", "b"}},
		{Name: "others", Kind: history.Multi, Members: []string{"c", "d"}},
		{Name: "all", Kind: history.Multi, Members: []string{"d", "b"}},
	}
	of := jointsOf(collect(h, Options{Model: model.Reentrant}))
	if e := of["first"]; e != of["others"] || e != of["all"] || e != of["a"] || len(e.Members) != 4 || len(e.locks) != 4 {
		t.Fatalf("%+v", of)
	}
	// all has b and d, so that nobody else can have had first, others or d.
	r := Judge(context.Background(), h, Options{Model: model.Reentrant}).Result(contract.Object)
	if r.Status != Broken || !slices.Equal(r.Violations[0].Ops, []int64{2}) || r.Violations[0].Lock != "first" {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	h.Header.Groups = append(h.Header.Groups, history.Group{Name: "many", Kind: history.Red, Members: []string{"a", "1", "2", "3", "4", "5"}})
	if r := Judge(context.Background(), h, Options{Model: model.Reentrant}).Result(contract.Object); r.Status != Undecided || !strings.Contains(r.Summary, "8 in all, not 9") {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
}
