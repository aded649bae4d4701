// Package locktest tries a lock over Redis: any Go lock, in a go test of a few lines, in the manner of
// testing/fstest and nettest.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, func(e locktest.Env) (locktest.Client, error) {
//			c := mylock.New(e.Redis)
//			return locktest.Locks(func(name, owner string) locktest.Lock { return &adapter{c.Lock(name)} }), nil
//		})
//	}
//
// The adapter puts what the lock's methods return into [Lock]'s terms. [Funcs] is one for what most libraries have; the examples
// are for the reference lock, redsync and redislock. The clients are real, and so are the scripts that the server
// runs; time and the network are the harness's, so that a lease of 30 s takes no time and every failure
// can be repeated. docs/locktest.md is the page about it. [Explore] hunts for more than [Run] tries.
//
// A [Client] may have [Semaphores], [PermitSemaphores], [Latches] or [ReadWriteLocks] instead of locks.
//
// # What a lock has to answer for
//
// A lock is held to what it claims: the guarantees object, exclusion, effect and liveness are asked of
// every lock, watchdog and fencing of those that say that they have one ([Watchdog], [Fencer]).
//
// The judge gives each violation a ruling: a defect, a known limitation, or a failed assumption. A lock fails
// its test by defects alone. contract.Exemptions is the table of what no such lock can stand: a holder
// that is paused for longer than its lease, or a key that somebody deletes. A claim can take an exemption away:
// a lock that tells its holders in time ([Loser]), or takes no request twice ([Idempotent]), answers for more.
//
// That is so in the scenarios of the catalogue (docs/scenarios.md), and in plans that are drawn with and
// without faults; simrun explore accuses by the same table.
//
// Plans that are kept as testdata/locktest/*.json, beside the test, are run too, and held to the same as
// drawn ones: what was found once is looked for ever after. A limitation that is accepted is said with
// [Known].
//
// # Limits
//
// Before a lock is judged, a probe looks at what it writes to Redis: which keys come and go with a hold, where they
// have its holder and how often he holds it, and what renewals look like. What the probe learned is in the history's
// header. A lock whose keys it cannot read is judged by its answers alone, and the test's log says why; [Key] may help.
// A lock whose Release tells nothing says so by [Silent].
//
// The harness knows which call a command belongs to
// by the context that Acquire and Release hand on to go-redis. A lock over another client library connects
// by Env.Dial. If the goroutine of a call, or one that it starts, writes its commands there, they are its by that. Otherwise
// each thread of a plan has a client of its own, since only the key says which call a command belongs to. The run is as repeatable as that library: one
// that has several goroutines send at once leaves their order to chance.
//
// Virtual time passes only while all goroutines of a lock wait for a channel, a timer, a condition or the network. While one
// waits for a mutex, what its holder waits for comes at once. A goroutine that is left behind, or does not come to rest in
// 4 s of real time, is named, with where it was started.
//
// It must not know any lock: what it has of one is what newLock returns.
package locktest
