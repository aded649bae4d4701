package subjects

import (
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/lockimpl"
)

// rlockFenced is [lockimpl.FencedLock]: the hardened generation, with tokens from a counter that has no
// expiry. The counter is a key, and is gone with the server's data.
func rlockFenced() Subject {
	s := rlock(lockimpl.Hardened, "rlock-hardened with Redisson's RFencedLock's tokens: they count from 1, and outlive the lock's key")
	s.Name = "rlock-fenced"
	s.Abilities = slices.DeleteFunc(s.Abilities, func(a string) bool { return a == string(contract.TokensGoOn) || a == string(contract.LeavesNothing) })
	open := s.Open
	s.Open = func(e Env) (Client, error) {
		c, err := open(e)
		if err != nil {
			return nil, err
		}
		return fencedClient{c.(rlockClient)}, nil
	}
	return s
}

// fencedClient hands out fenced locks.
type fencedClient struct{ rlockClient }

func (c fencedClient) Lock(name string) Lock { return rlockLock{c.c.FencedLock(name).RLock} }
