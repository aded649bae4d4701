package lockimpl

import "strings"

// Names of keys and channels, as Redisson's clients use them (RedissonLock, RedissonBaseLock and
// RedissonObject.prefixName of 4.7): clients of both kinds exclude and wake each other.

// unlockMessage is what a release publishes.
const unlockMessage = "0"

// takenMessage begins what generation Hardened publishes when it took a lock that it had waited
// for while many processes listen; how many follows. Other clients ignore it.
const takenMessage = "taken:"

// channelOf is the channel on which the releases of a lock are published.
func channelOf(lock string) string { return prefixed("redisson_lock__channel", lock) }

// latchOf is the key that remembers the answer of one unlock request.
func latchOf(lock, request string) string {
	return prefixed("redisson_unlock_latch", lock) + ":" + request
}

// semaphoreChannelOf is the channel on which free permits are published (RedissonSemaphore.getChannelName).
func semaphoreChannelOf(name string) string { return prefixed("redisson_sc", name) }

// latchChannelOf is the channel of a count-down latch (RedissonCountDownLatch.getChannelName). Redisson adds braces also
// where the name has a hash tag, so that name and channel then are in different Cluster slots.
func latchChannelOf(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// Generation Hardened uses more keys, whose names are ours.

// requestOf is the record of an owner's last request on a lock. The name is short because Redis
// keeps the buffers of script arguments of up to 64 bytes, and pays for each longer one.
func requestOf(lock string, owner Owner) string {
	return prefixed("holdfast", lock) + ":" + string(owner)
}

// counterOf is the counter of a lock's fencing tokens.
func counterOf(lock string) string { return prefixed("holdfast_lock_token", lock) }

// rwChannelOf is the channel of a read-write lock, for readers and writers (RedissonReadLock, RedissonWriteLock).
func rwChannelOf(lock string) string { return prefixed("redisson_rwlock", lock) }

// writerSuffix is what Redisson adds to the name of an owner that writes.
const writerSuffix = ":write"

// queueOf and deadlinesOf are the queue of Redisson's fair lock and when its waiters are given up (RedissonFairLock).
func queueOf(lock string) string     { return prefixed("redisson_lock_queue", lock) }
func deadlinesOf(lock string) string { return prefixed("redisson_lock_timeout", lock) }

// lineOf is the queue of a fair lock of generation Hardened.
func lineOf(lock string) string { return prefixed("holdfast_lock_queue", lock) }

// timeoutsOf is when the permits of a semaphore end (RedissonPermitExpirableSemaphore).
func timeoutsOf(semaphore string) string {
	if strings.Contains(semaphore, "{") {
		return semaphore + ":timeout"
	}
	return "{" + semaphore + "}:timeout"
}

// roundOf is the number of a count-down latch's present round, or of the last one.
func roundOf(latch string) string { return prefixed("holdfast_round", latch) }

// prefixed puts a derived key into the Cluster slot of the lock's own key.
func prefixed(prefix, lock string) string {
	if strings.Contains(lock, "{") {
		return prefix + ":" + lock
	}
	return prefix + ":{" + lock + "}"
}

// checkName refuses names whose derived keys would hash to another Cluster slot than the lock's
// key: those in which braces are unbalanced or enclose nothing.
func checkName(lock string) error {
	if lock == "" {
		return ErrBadName
	}
	open := strings.IndexByte(lock, '{')
	if open < 0 {
		if strings.Contains(lock, "}") {
			return ErrBadName
		}
		return nil
	}
	if strings.IndexByte(lock[open+1:], '}') <= 0 {
		return ErrBadName
	}
	return nil
}

// hashTag is the part of a good name that decides its Cluster slot.
func hashTag(lock string) string {
	if open := strings.IndexByte(lock, '{'); open >= 0 {
		tag, _, _ := strings.Cut(lock[open+1:], "}")
		return tag
	}
	return lock
}
