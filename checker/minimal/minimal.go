// Package minimal makes a history smaller that shows something, as long as it shows it: it has what is left judged again.
//
// It must not know how a history is judged.
package minimal

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Violation removes operations, events, faults and server log entries from a history as long as the
// same guarantee breaks by the same rule, and returns the history that is left: removing any one
// operation more would change the verdict. It is for histories that cannot be run again, of which
// only the record can be made smaller; for a plan, shrink the plan. The result is the same for the
// same history and options; h is not changed. ok is false when the guarantee is not broken in h,
// or ctx ended before a first answer; when ctx ends later the smallest history so far is returned.
//
// It removes halves, quarters and so on down to single ones, first whole locks and owners, then
// operations in order of time (delta debugging: Zeller and Hildebrandt, 2002).
func Violation(ctx context.Context, h *history.History, g contract.Guarantee, o checker.Options) (smallest *history.History, ok bool) {
	return shrink(ctx, h, func(h *history.History) (contract.Rule, bool) { return firstRule(ctx, h, g, o) })
}

// Disagreement is [Violation] for a history on which the checkers disagree: on what is left they still do, and
// any one operation less and they agree. It is what a bug report needs. ok is false when they agree on h.
func Disagreement(ctx context.Context, h *history.History, o checker.Options) (smallest *history.History, ok bool) {
	return shrink(ctx, h, func(h *history.History) (contract.Rule, bool) {
		who, _, _ := strings.Cut(checker.Disagreement(ctx, h, o), " (") // without what broke, which may be told of another operation
		return contract.Rule(who), who != ""
	})
}

// shrink removes what it can as long as judge says the same.
func shrink(ctx context.Context, h *history.History, judge func(*history.History) (contract.Rule, bool)) (smallest *history.History, ok bool) {
	rule, broken := judge(h)
	if !broken {
		return nil, false
	}
	s := &shrinker{ctx: ctx, h: h, rule: rule, judge: judge}
	drop(s, func(h *history.History) *[]history.Fault { return &h.Faults })
	s.groups(func(op *history.Op) string { return op.Lock })
	s.groups(func(op *history.Op) string { return op.Owner })
	s.before()
	for {
		n := len(s.h.Ops) + len(s.h.Events)
		s.ops()
		drop(s, func(h *history.History) *[]history.Event { return &h.Events })
		if len(s.h.Ops)+len(s.h.Events) == n {
			return s.h, true
		}
	}
}

// firstRule is the rule that the first violation of a guarantee breaks.
func firstRule(ctx context.Context, h *history.History, g contract.Guarantee, o checker.Options) (contract.Rule, bool) {
	v := checker.Judge(ctx, h, o)
	r := v.Result(g)
	if len(v.Refused) > 0 || r.Status != checker.Broken || len(r.Violations) == 0 {
		return "", false
	}
	return r.Violations[0].Rule, true
}

type shrinker struct {
	ctx   context.Context
	h     *history.History // the smallest so far
	rule  contract.Rule
	judge func(*history.History) (contract.Rule, bool)
}

// try takes a smaller history if it breaks by the same rule.
func (s *shrinker) try(h *history.History) bool {
	if s.ctx.Err() != nil {
		return false
	}
	rule, broken := s.judge(h)
	if !broken || rule != s.rule {
		return false
	}
	s.h = h
	return true
}

// without is the smallest history without some of its operations. The server log loses theirs.
func (s *shrinker) without(drop func(op *history.Op) bool) *history.History {
	c := *s.h
	gone := map[int64]bool{}
	c.Ops = slices.DeleteFunc(slices.Clone(s.h.Ops), func(op history.Op) bool {
		gone[op.ID] = drop(&op)
		return gone[op.ID]
	})
	c.Served = slices.DeleteFunc(slices.Clone(s.h.Served), func(e history.Served) bool { return gone[e.Op] })
	return &c
}

// groups removes all operations that have a name in common.
func (s *shrinker) groups(name func(op *history.Op) string) {
	var names []string
	for i := range s.h.Ops {
		if n := name(&s.h.Ops[i]); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	cutDown(len(names), func(from, to int) bool {
		drop := map[string]bool{}
		for _, n := range names[from:to] {
			drop[n] = true
		}
		if !s.try(s.without(func(op *history.Op) bool { return drop[name(op)] })) {
			return false
		}
		names = slices.Delete(names, from, to)
		return true
	})
}

// before removes everything after the violation: what is called later explains nothing.
func (s *shrinker) before() {
	cutDown(len(s.h.Ops), func(from, to int) bool {
		if to < len(s.h.Ops) {
			return false
		}
		first := s.h.Ops[from].Call
		return s.try(s.without(func(op *history.Op) bool { return op.Call >= first }))
	})
}

func (s *shrinker) ops() {
	cutDown(len(s.h.Ops), func(from, to int) bool {
		drop := map[int64]bool{}
		for _, op := range s.h.Ops[from:to] {
			drop[op.ID] = true
		}
		return s.try(s.without(func(op *history.Op) bool { return drop[op.ID] }))
	})
}

// drop removes some of what is in a list of the history.
func drop[T any](s *shrinker, list func(*history.History) *[]T) {
	cutDown(len(*list(s.h)), func(from, to int) bool {
		c := *s.h
		*list(&c) = slices.Delete(slices.Clone(*list(s.h)), from, to)
		return s.try(&c)
	})
}

// cutDown offers parts of n items to remove, from the last to the first: all, halves, quarters, single
// ones. remove reports whether it did, after which there are fewer.
func cutDown(n int, remove func(from, to int) bool) {
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; {
			from := max(0, to-size)
			if remove(from, to) {
				n -= to - from
			}
			to = from
		}
	}
}
