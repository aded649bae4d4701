package subjects

import (
	"slices"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// AllFairLocks returns the two forms of the reference fair lock.
func AllFairLocks() []Subject {
	return []Subject{
		rfair(lockimpl.Latch, "rfair-classic", "Redisson's RFairLock 4.7.0: places in the queue have deadlines, and stay when their owners are gone"),
		rfair(lockimpl.Hardened, "rfair-hardened", "rlock-hardened that is granted in the order in which owners began to wait"),
	}
}

// fairWait is Redisson's fairLockWaitTimeout here, which is 5 minutes by default: in which who waits behind a place that was left asks without
// a pause.
const fairWait = time.Minute

// OfFair are the limitations of Redisson's fair lock besides those of its lock.
func OfFair() []history.Limitation {
	return []history.Limitation{
		without(contract.KeepsPlace, "Redisson 4.7.0, RedissonFairLock: a place has one deadline, which is guessed from the waits of those before"),
		without(contract.LeavesLine, "Redisson #6150: who died, or was interrupted, keeps its place until its deadline"),
		without(contract.LeavesNothing, "Redisson 4.7.0, RedissonFairLock: the queue, and the set of its deadlines, have no time to live"),
	}
}

// rfair is [lockimpl.FairLock].
func rfair(g lockimpl.Generation, name, about string) Subject {
	s := rlock(g, about)
	s.Name, s.Groups = name, nil
	s.Abilities = append(s.Abilities, string(contract.Fair))
	if g == lockimpl.Hardened {
		s.Abilities = append(s.Abilities, string(contract.KeepsPlace), string(contract.LeavesLine))
		s.PlacePart = 2.0 / 3
		s.Layout.Queue, s.Layout.QueuePrefix = "holdfast_lock_queue:{*}", "q:"
	} else {
		s.Abilities = append(slices.DeleteFunc(s.Abilities, func(a string) bool { return a == string(contract.LeavesNothing) }), string(contract.UnlocksFree))
		s.PlaceKept = fairWait
		s.Layout.Queue = "redisson_lock_queue:{*}"
		s.Limitations = append(s.Limitations, OfFair()...)
	}
	open := s.Open
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return fairClient{c.(rlockClient)}, nil
	}
	return s
}

// fairClient hands out fair locks.
type fairClient struct{ rlockClient }

func (c fairClient) Lock(name string) Lock { return rlockLock{c.c.FairLock(name)} }
