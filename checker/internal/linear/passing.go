package linear

// inPassing says what it costs to take the effect of action i, whose end has come, for that of a
// hold that its owner had and lost again when the lock was free last: an acquire whose unknown
// release followed at once, a release whose unknown acquire went before, or both for an answer
// that shows a hold. Such a hold serves nobody else, since whoever could have been refused because
// of it is refused because of the present one. So it need not be tried whenever the lock is free:
// it is soon enough when an answer asks for it. That holds where nothing but calls and tokens
// matters (lazy); elsewhere all are tried.
func (s *Search) inPassing(i int32) (spent int32, ok bool) {
	c, a := s.c, &s.c.actions[i]
	if !s.lazy || !a.certain || s.cfg.state.owner == 0 || s.cfg.state.owner == a.owner || c.begins[i] >= s.cfg.free {
		return 0, false
	}
	var takes, gives int64
	switch a.verb {
	case acquires:
		gives = 1
	case releases:
		takes = 1
	case decrements:
		takes, gives = 2, 1
	case findsMine:
		takes, gives = 1, 1
	case findsCount:
		takes, gives = a.value, a.value
	default:
		return 0, false
	}
	spent = s.cfg.spent
	pay := func(v verb, n int64) bool {
		for ; n > 0; n-- {
			paid := false
			for _, g := range c.tokens.byOwner[a.owner] {
				if t, ok := c.tokens.next(spent, g); ok && c.tokens.groups[g].verb == v && c.begins[t] < s.cfg.free {
					spent, paid = c.tokens.spend(spent, g), true
					break
				}
			}
			if !paid {
				return false
			}
		}
		return true
	}
	return spent, pay(acquires, takes) && pay(releases, gives)
}
