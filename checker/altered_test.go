package checker

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// delete deletes the latch.
func (g *gateScript) delete(owner string, call float64, out history.Outcome) *history.Op {
	return g.do(owner, history.DeleteLatch, 0, at(call), at(call+0.002), out)
}

// deletedUnheard is a waiter that sleeps on when somebody deletes the latch at 5 s.
func deletedUnheard() *gateScript {
	g := newGate(2)
	g.await("c2:1", 2, 50)
	g.delete("c1:1", 5, history.Released)
	return g
}

func TestADeletedLatch(t *testing.T) {
	woken := newGate(2)
	woken.await("c2:1", 2, 5.003)
	woken.delete("c1:1", 5, history.Released)
	woken.delete("c1:1", 6, history.NotHeld)
	woken.set("c1:1", 1, 7)
	woken.down("c3:1", 8)
	want(t, verdict(t, woken.claiming(contract.TellsDeletion).script))

	// Before somebody deletes it, a passage is too early.
	early := newGate(2)
	early.await("c2:1", 2, 4.5)
	early.delete("c1:1", 5, history.Released)
	want(t, verdict(t, early.script), contract.Object, contract.Exclusion)

	// What is told of it is true.
	lie := newGate(2)
	lie.delete("c1:1", 5, history.NotHeld)
	breaking(t, lie.script, contract.LatchDeleted)
}

func TestAlteredSemaphores(t *testing.T) {
	plain := newPool(2)
	plain.take("c1:1", 1, 1, 1.002)
	plain.do("c2:1", history.DrainPermits, 1, at(2), at(2.002), history.OK)
	plain.do("c3:1", history.AddPermits, 1, at(3), at(3.002), history.OK)
	plain.take("c3:1", 1, 4, 4.002)
	plain.do("c3:1", history.AddPermits, -2, at(5), at(5.002), history.OK)
	plain.give("c1:1", 1, 6)
	plain.do("c2:1", history.DrainPermits, -1, at(7), at(7.002), history.OK)
	want(t, verdict(t, plain.script))

	// A drain takes all, and tells how many.
	some := newPool(2)
	some.do("c2:1", history.DrainPermits, 1, at(2), at(2.002), history.OK)
	breaking(t, some.script, contract.DrainsAll)

	// What was added is there, what was drained is not.
	more := newPool(1)
	more.do("c3:1", history.AddPermits, 1, at(3), at(3.002), history.OK)
	more.take("c1:1", 2, 4, 4.002)
	more.take("c2:1", 1, 5, 5.002)
	breaking(t, more.script, contract.PermitsAreFree, contract.NoMoreOut)

	drained := newPool(2)
	drained.do("c2:1", history.DrainPermits, 2, at(2), at(2.002), history.OK)
	drained.take("c1:1", 1, 4, 4.002)
	breaking(t, drained.script, contract.PermitsAreFree, contract.NoMoreOut)
}

// A client adds permits by itself that no call of its owes.
func TestAddedUnasked(t *testing.T) {
	p := newPool(1)
	p.do("c1:1", history.AddPermits, 1, at(3), at(3.002), history.OK).Aside = true
	breaking(t, p.script, contract.AtMostOnce)

	owed := newPool(1)
	call := owed.op("c1:1", history.AddPermits, at(2), at(2.5), history.Unknown)
	call.Value, call.Evidence = 1, history.NotSent
	owed.fault("drop-message", "c1", at(2), 0)
	owed.do("c1:1", history.AddPermits, 1, at(3), at(3.002), history.OK).Aside = true
	want(t, verdict(t, owed.script))
}

// breaking checks that a history breaks rules, by a defect.
func breaking(t *testing.T, s *script, some ...contract.Rule) {
	t.Helper()
	v := verdict(t, s)
	all := append(rules(v, contract.Object), rules(v, contract.Exclusion)...)
	for _, rule := range some {
		if !slices.Contains(all, rule) {
			t.Errorf("it broke %v, and not %q", all, rule)
		}
	}
}
