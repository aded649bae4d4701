package subjects

import (
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// AllSpinLocks returns the two forms of the reference spin lock.
func AllSpinLocks() []Subject {
	return []Subject{
		rspin(lockimpl.Latch, "rspin-classic", "Redisson's RSpinLock 4.7.0: waiters ask again and again, and a release is not published"),
		rspin(lockimpl.Hardened, "rspin-hardened", "rlock-hardened whose waiters ask again and again, at most 128 ms apart"),
	}
}

// rspin is [lockimpl.SpinLock]: the lock of a generation whose waiters subscribe to nothing.
func rspin(g lockimpl.Generation, name, about string) Subject {
	s := rlock(g, about)
	s.Name, s.Groups, s.SilenceNoticed, s.Unsubscribed, s.Polls = name, nil, 0, 0, true
	hears := []string{string(contract.NoticesSilence), string(contract.Unsubscribes), string(contract.HearsForce)}
	s.Abilities = slices.DeleteFunc(s.Abilities, func(a string) bool { return slices.Contains(hears, a) })
	open := s.Open
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return spinClient{c.(rlockClient)}, nil
	}
	return s
}

// spinClient hands out spin locks.
type spinClient struct{ rlockClient }

func (c spinClient) Lock(name string) Lock { return rlockLock{c.c.SpinLock(name)} }
