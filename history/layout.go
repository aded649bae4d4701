package history

import (
	"strings"
	"time"
)

// Layout is how a lock is kept in Redis. In names of keys, * stands for the name of the lock. The zero value is
// a key named like the lock: a string that is its holder's, or a hash whose fields are its holders and have their
// counts.
type Layout struct {
	Key    string `json:"key,omitzero"`    // the key that is there while the lock is held; empty: "*"
	Holder Place  `json:"holder,omitzero"` // where its holder is, if not as by default
	Count  Place  `json:"count,omitzero"`  // where it is how often the holder holds it, likewise
	// Queue is the key of a fair lock's queue: a list of owners, the next one first, or a sorted set of them. "{*}" is the lock's name in
	// braces, or the name alone if it has some. Before an owner in a sorted set comes QueuePrefix; what begins otherwise is no owner.
	Queue       string `json:"queue,omitzero"`
	QueuePrefix string `json:"queuePrefix,omitzero"`
	// Round is the key that tells one round of a latch from another, likewise.
	Round string `json:"round,omitzero"`
	// Taken is the key of the permits that are out of a permit semaphore, likewise: a sorted set from 16 bytes to ms of the clients'
	// clocks; the semaphore's own key is then the number of those that are free. Empty: the semaphore's key is a sorted set from 32
	// hexadecimal digits to ms of the server's clock, and of "total" with minus the number of permits.
	Taken string `json:"taken,omitzero"`
	// Keys are further keys that come and go with it.
	Keys []string `json:"keys,omitempty"`
	// Absolute says that clients tell the server when a lease ends, and not how long it lasts: it is counted from
	// the call.
	Absolute bool `json:"absolute,omitzero"`
	// Margin is how much longer than the lease that was asked for a grant has the key live.
	Margin time.Duration `json:"margin,omitzero"`
	// Renewal is the share of a lease that a renewal sets, if not the whole of it.
	Renewal float64 `json:"renewal,omitzero"`
	// Anew says that an owner that holds the lock is granted it anew, of a lock that is not reentrant: that counts nothing, and
	// sets the lease.
	Anew bool `json:"anew,omitzero"`
	// Upgrades says that an owner that reads alone is granted the write lock, too, of a read-write lock.
	Upgrades bool `json:"upgrades,omitzero"`
	// Roles are the steps that commands are which touch the lock, by what is the same in all commands of one kind: the
	// name, and the digest of a script.
	Roles map[string]Step `json:"roles,omitempty"`
	// NoContext says that commands do not carry the context of the call that they belong to. They are its by the goroutine that sends them, if
	// Direct says so, or else by the key and the owner that they name.
	NoContext bool `json:"noContext,omitzero"`
	// Direct says that the goroutine of a call makes up its commands, or one that it starts, and that they are the call's by that: of a lock with
	// NoContext, or over another client library than go-redis.
	Direct bool `json:"direct,omitzero"`
	// Unknown says why none of this is known; empty: it is. Such a lock is judged by its answers alone.
	Unknown string `json:"unknown,omitzero"`
}

// Place is a key, and a field of it if it is a hash.
type Place struct {
	Key   string `json:"key,omitzero"`
	Field string `json:"field,omitzero"`
	// Owned says that @ in the key stands for what the lock's keys say of its holder.
	Owned bool `json:"owned,omitzero"`
}

// KeyOf returns the key of a lock.
func (l Layout) KeyOf(lock string) string {
	if l.Key == "" {
		return lock
	}
	return inName(l.Key, lock)
}

// CountOf returns where it is how often a lock's holder holds it, of whom the lock's keys say this.
func (l Layout) CountOf(lock, holder string) Place {
	at := l.Count.Of(lock)
	if at.Owned {
		at.Key, at.Owned = strings.ReplaceAll(at.Key, "@", holder), false
	}
	return at
}

// KeysOf returns all keys of a lock, the one that says whether it is held first. holder is what they say of its holder; "": nobody holds it, or
// that is not known, and a key that has a name of its holder's own is left out.
func (l Layout) KeysOf(lock, holder string) []string {
	all := []string{l.KeyOf(lock)}
	count := l.CountOf(lock, holder).Key
	if holder == "" && l.Count.Owned {
		count = ""
	}
	for _, key := range append([]string{l.Holder.Key, count}, l.Keys...) {
		if key = inName(key, lock); key != "" && key != all[0] {
			all = append(all, key)
		}
	}
	return all
}

// QueueOf returns the key of a lock's queue; "": it has none.
func (l Layout) QueueOf(lock string) string { return l.beside(l.Queue, lock) }

// RoundOf returns the key of a latch's round; "": it has none.
func (l Layout) RoundOf(latch string) string { return l.beside(l.Round, latch) }

// TakenOf returns the key of the permits that are out of a permit semaphore; "": it has none beside its own.
func (l Layout) TakenOf(semaphore string) string { return l.beside(l.Taken, semaphore) }

// beside returns a key that an object has beside its own: * stands for that, and {*} for its name in braces, which a name that has some
// is without.
func (l Layout) beside(key, name string) string {
	if !strings.Contains(key, "{*}") {
		return inName(key, l.KeyOf(name))
	}
	if strings.Contains(name, "{") {
		key = strings.ReplaceAll(key, "{*}", "*")
	}
	return inName(key, name)
}

// Of returns the place for a lock.
func (p Place) Of(lock string) Place {
	p.Key = inName(p.Key, lock)
	return p
}

func inName(key, lock string) string { return strings.ReplaceAll(key, "*", lock) }
