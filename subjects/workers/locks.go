package workers

import (
	"maps"
	"slices"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects"
)

// jvm are the words that start a JVM quickly, with its warnings where they do no harm. The last line has its housekeeping
// stop waking up twenty times a second: in virtual time each is a moment, at which all threads are looked at.
var jvm = []string{"java", "-Xlog:disable", "-Xlog:all=error:stderr", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
	"-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0", "-XX:AsyncDeflationInterval=0"}

var (
	// ARG1 is the folder of the worker, ARG2 what Maven is told besides.
	java = kit{language: "java", tools: []string{"java", "javac", "jar", "mvn"}, build: []string{
		"mvn -q -B -f ARG1/pom.xml ARG2 dependency:copy-dependencies -DoutputDirectory=$PWD/lib -DincludeScope=runtime",
		"javac -d classes -cp 'lib/*' kit/*.java ARG1/*.java",
		"jar cf worker.jar -C classes .", // a JVM archives no classes of folders
	}, run: append(jvm, "-cp", "DIR/worker.jar:DIR/lib/*"), train: "-XX:ArchiveClassesAtExit=", trained: "-XX:SharedArchiveFile=DIR/" + archive}
	python = kit{language: "python", tools: []string{"python3"}, build: []string{
		"python3 -m venv venv",
		"venv/bin/python -m pip install -q --disable-pip-version-check -r requirements.txt",
	}, run: []string{"DIR/venv/bin/python"}}
	node = kit{language: "node", tools: []string{"node", "npm"}, build: []string{"npm ci --silent --no-audit --no-fund"}, run: []string{"node"}}
	rust = kit{language: "rust", tools: []string{"cargo"}, build: []string{"cargo build -q --release --locked"}}
)

// All returns the locks, in the order of the matrix.
func All() []Lock {
	return []Lock{
		redissonLock("4.7.0", "", "today's Redisson, of one server: an acquire and an unlock are not sent again", latched),
		redissonLock("4.7.0", "shared", "the same of one server, all threads of a process sharing one RLock object", latched),
		redissonLock("4.7.0", "master-slave", "the same in master-slave mode: an acquire and an unlock are sent again", latched).leaves("failover-old-holder",
			"a grant that no replica confirms within slavesSyncTimeout, 1 s, is given back and tried again, as checkLockSyncedSlaves has it; "+
				"the replica of this story is 5 s behind, and the judge takes that for a free lock that nobody takes"),
		redissonLock("4.7.0", "fair", "its RFairLock, which keeps a waiter's place for a minute instead of five", slices.Concat(latched, subjects.OfFair())),
		redissonLock("4.7.0", "semaphore", "its RSemaphore, of one server", subjects.OfSemaphores()).is(history.ASemaphore, semaphoreClaims),
		redissonLock("4.7.0", "permits", "its RPermitExpirableSemaphore, of one server", subjects.OfPermitSemaphores()).is(history.APermitSemaphore, permitClaims),
		redissonLock("4.7.0", "latch", "its RCountDownLatch, of one server", subjects.OfLatches()).is(history.ALatch, latchClaims),
		redissonLock("4.7.0", "rw", "its RReadWriteLock, of one server", subjects.OfRWLocks()).is(history.ARWLock, rwClaims),
		redissonLock("3.36.0", "", "Redisson 3.24 to 3.36: a re-sent unlock gets the first answer", latched),
		redissonLock("3.23.5", "", "Redisson 3.19 to 3.23: acquire under one condition, unlock without a latch", unlatched),
		redissonLock("3.18.1", "", "Redisson 2.2.4 to 3.18: acquire in two branches, unlock without a latch", unlatched),
		spring("", "a waiter polls every 100 ms, and nothing renews a lease"),
		spring("pub-sub", "waiters are told of releases, and nothing renews a lease"),
		other("redis-py", python, "redis", "8.1.0", "redis-py's own Lock: a random token for each grant, polled every 0.1 s; nobody renews", redisPy, "DIR/redis_py.py").besides(early),
		other("python-redis-lock", python, "python-redis-lock", "4.0.1", "SET NX, waiters in BLPOP, a thread that renews at two thirds of the lease", pythonRedisLock, "DIR/python_redis_lock.py"),
		other("pottery", python, "pottery", "3.0.1", "its Redlock with one master; nobody renews", pottery, "DIR/pottery_lock.py"),
		other("redlock-4", node, "redlock", "4.2.0", "Redlock with one server, 11 attempts; nobody renews", redlock, "DIR/redlock4.mjs"),
		other("redlock-5", node, "redlock", "5.0.0-beta.2", "the same; using extends half a second before the lease ends", redlockUsing, "DIR/redlock5.mjs"),
		other("sesamecare-redlock", node, "@sesamecare-oss/redlock", "1.4.0", "a fork of redlock 5", redlockUsing, "DIR/sesamecare.mjs"),
		other("redis-semaphore", node, "redis-semaphore", "5.8.0", "its Mutex, refreshed at four fifths of the lease; an error of a refresh, which would end the process, is caught", redisSemaphore, "DIR/redis_semaphore.mjs"),
		other("rslock", rust, "rslock", "0.10.0", "async Redlock with one server; nobody renews", rslock, "DIR/target/release/rslock").besides(bestEffort),
	}
}

// What Redisson is documented not to promise, by its issues.
var (
	resent = []history.Limitation{
		{Claim: string(contract.Idempotent), Calls: []history.Kind{history.Lock, history.TryLock}, Source: "Redisson #7367: an acquire that is sent again is a new one"},
		{Claim: string(contract.TakesBack), Source: "docs/lock.md: call that failed, outcome unknown"},
		{Rule: string(contract.NoRenewalAfter), Calls: []history.Kind{history.Unlock},
			Source: "Redisson's RenewalTask: an unlock does not call off a renewal that has begun"},
	}
	latched = append([]history.Limitation{{Claim: string(contract.Idempotent), Calls: []history.Kind{history.Unlock},
		Source: "scenario delayed-duplicate-unlock: a latch lives for 20 s, and until the client has the answer"}}, resent...)
	unlatched = append([]history.Limitation{{Claim: string(contract.Idempotent), Calls: []history.Kind{history.Unlock},
		Source: "Redisson #4871: an unlock that is sent again is a new one"}}, resent...)
)

func redissonLock(version, mode, about string, limits []history.Limitation) Lock {
	l := Lock{Name: "redisson-" + version, About: about, Package: "org.redisson:redisson", Version: version,
		kit: java, args: []string{"redisson", "-Dredisson.version=" + version}, run: []string{"RedissonWorker"}, Claims: redissonClaims, Limitations: limits}
	if mode != "" {
		l.Name += "-" + mode
		l.run = append(l.run, mode)
	}
	return l
}

// spring is RedisLockRegistry in one of its two kinds.
func spring(mode, about string) Lock {
	l := other("spring-lock-registry", java, "org.springframework.integration:spring-integration-redis", "7.0.0", about, []subjects.Claim{
		{Guarantee: "exclusion", Text: "a LockRegistry of distributed locks in Redis", Source: "Spring Integration reference, Redis Lock Registry"},
		{Guarantee: "exclusion", Text: "a lock expires by default after 60 s; unlock of an expired one throws, since the protected resource may have been compromised", Source: "the same"},
		{Guarantee: "liveness", Text: "SPIN_LOCK polls every 100 ms, PUB_SUB_LOCK waits for a notice", Source: "the same"},
	}, "SpringWorker")
	l.args = []string{"spring", ""}
	if mode != "" {
		l.Name += "-" + mode
		l.run = append(l.run, mode)
	}
	return l
}

// other is a lock of which each grant has a value of its own.
func other(name string, k kit, pkg, version, about string, claims []subjects.Claim, run ...string) Lock {
	return Lock{Name: name, About: about, Package: pkg, Version: version, kit: k, run: run, Claims: claims, Limitations: subjects.OfValues()}
}

// besides adds what it is documented not to promise.
func (l Lock) besides(more ...history.Limitation) Lock {
	l.Limitations = slices.Concat(l.Limitations, more)
	return l
}

// is makes it an object of another kind than a lock.
func (l Lock) is(object history.Object, claims []subjects.Claim) Lock {
	l.Object, l.Claims, l.Unjudged = object, claims, nil
	return l
}

// leaves adds a story that it is not held to, and why.
func (l Lock) leaves(scenario, why string) Lock {
	more := map[string]string{scenario: why}
	maps.Copy(more, l.Unjudged)
	l.Unjudged = more
	return l
}

// early is of a lock that gives up when its next poll would come too late.
var early = history.Limitation{Rule: string(contract.WaitsItsTime), Calls: []history.Kind{history.TryLock},
	Source: "redis.lock.Lock.acquire: blocking_timeout is the most that it waits"}

// bestEffort is of a lock whose unlock fails without a word.
var bestEffort = history.Limitation{Rule: string(contract.UnlockEndsHold), Calls: []history.Kind{history.Unlock},
	Source: "rslock, LockManager.unlock: best effort"}

// What documentation says, in our words.
var (
	redisPy = []subjects.Claim{
		{Guarantee: "exclusion", Text: "a shared, distributed lock; timeout is the longest life of a hold", Source: "redis.lock.Lock"},
		{Guarantee: "object", Text: "release raises LockNotOwnedError if the lock is no longer owned", Source: "redis.lock.Lock.release"},
		{Guarantee: "liveness", Text: "blocking_timeout is the most that acquire waits", Source: "redis.lock.Lock.acquire"},
	}
	pythonRedisLock = []subjects.Claim{
		{Guarantee: "exclusion", Text: "no two clients hold the lock, even if a node crashes", Source: "README, Introduction"},
		{Guarantee: "watchdog", Text: "auto_renewal renews the lock at two thirds of expire while it is held", Source: "README, Troubleshooting"},
		{Guarantee: "liveness", Text: "waiters block in BLPOP and are signalled; there is no spinning", Source: "README, Features"},
	}
	pottery = []subjects.Claim{
		{Guarantee: "exclusion", Text: "Redlock is a safe and reliable lock", Source: "README, Redlock"},
		{Guarantee: "object", Text: "release of an expired lock raises ReleaseUnlockedLock", Source: "README, Redlock"},
	}
	redlock = []subjects.Claim{
		{Guarantee: "exclusion", Text: "distributed locks, as Redis' documentation of Redlock has them", Source: "README"},
		{Guarantee: "liveness", Text: "retryCount and retryDelay say how often and when it tries before it fails", Source: "README, Configuration"},
	}
	redlockUsing = append([]subjects.Claim{
		{Guarantee: "watchdog", Text: "using extends the lock before it ends, for as long as the routine runs; the signal says that an extension failed", Source: "README, Usage"},
	}, redlock...)
	redisSemaphore = []subjects.Claim{
		{Guarantee: "exclusion", Text: "one holder of a key at a time", Source: "README, Mutex"},
		{Guarantee: "watchdog", Text: "refreshInterval, by default 0.8 of lockTimeout, is how often the lock is refreshed", Source: "README, Mutex"},
		{Guarantee: "liveness", Text: "acquire tries every retryInterval, for acquireTimeout", Source: "README, Mutex"},
	}
	rslock = []subjects.Claim{
		{Guarantee: "exclusion", Text: "Redlock, as Redis' documentation has it", Source: "README"},
		{Guarantee: "liveness", Text: "unlock is best effort: a key stays until its lease ends if a server cannot be asked", Source: "LockManager.unlock"},
	}
)

var redissonClaims = []subjects.Claim{
	{Guarantee: "object", Text: "a reentrant lock, as java.util.concurrent.locks.Lock has it", Source: "RLock"},
	{Guarantee: "exclusion", Text: "only the thread that owns the lock can unlock it; others get IllegalMonitorStateException", Source: "RLock"},
	{Guarantee: "watchdog", Text: "a watchdog prolongs the lock while its holder's Redisson instance is alive, lockWatchdogTimeout each time, 30 s by default", Source: "RLock, Config.lockWatchdogTimeout"},
	{Guarantee: "liveness", Text: "waiters are told of a release by publish and subscribe", Source: "RLock"},
}

var (
	semaphoreClaims = []subjects.Claim{
		{Guarantee: "object", Text: "a semaphore, as java.util.concurrent.Semaphore has it", Source: "RSemaphore"},
		{Guarantee: "exclusion", Text: "acquire returns once all the permits are available", Source: "RSemaphore.acquire"},
		{Guarantee: "liveness", Text: "acquire waits until the permits become available, in no order", Source: "RSemaphore"},
	}
	permitClaims = []subjects.Claim{
		{Guarantee: "object", Text: "each permit is identified by its own id, and can be released only by that", Source: "RPermitExpirableSemaphore"},
		{Guarantee: "object", Text: "tryRelease and updateLeaseTime tell whether there was such a permit", Source: "RPermitExpirableSemaphore.tryRelease, updateLeaseTime"},
		{Guarantee: "exclusion", Text: "acquire returns once a permit is available, which ends with its lease", Source: "RPermitExpirableSemaphore.acquire"},
		{Guarantee: "liveness", Text: "acquire waits until a permit becomes available, in no order", Source: "RPermitExpirableSemaphore"},
	}
	latchClaims = []subjects.Claim{
		{Guarantee: "object", Text: "a latch, as java.util.concurrent.CountDownLatch has it, which can be set again at zero", Source: "RCountDownLatch"},
		{Guarantee: "exclusion", Text: "the count is the number of times countDown must be invoked before threads can pass await", Source: "RCountDownLatch.trySetCount"},
		{Guarantee: "liveness", Text: "countDown notifies all waiting threads when the count reaches zero", Source: "RCountDownLatch.countDown"},
	}
	rwClaims = slices.Concat([]subjects.Claim{
		{Guarantee: "exclusion", Text: "many read locks or one write lock, as java.util.concurrent.locks.ReadWriteLock has it", Source: "RReadWriteLock"},
	}, redissonClaims)
)
