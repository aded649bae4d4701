import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * A worker for Redisson's RLock with its defaults, of whatever version is on the class path. Each thread has an RLock of
 * its own for each name. With the argument "shared" all threads have one. With "master-slave" the server is the master
 * of Redisson's master-slave mode, without slaves to read from. With "fair" they are fair locks, which keep a waiter's
 * place for a minute instead of five. With "semaphore", "permits", "latch" or "rw" it serves RSemaphore,
 * RPermitExpirableSemaphore, RCountDownLatch or RReadWriteLock instead. The client keeps two idle connections instead of
 * 24. With one, what is sent again would wait behind what it repeats.
 */
public class RedissonWorker extends Worker {
  private static final long KEPT_MS = 60_000;

  /** What a worker serves: its name in Redisson, and as an object of the protocol. */
  private enum Served {
    LOCK("RLock", ""), SEMAPHORE("RSemaphore", "semaphore"), PERMITS("RPermitExpirableSemaphore", "permit semaphore"),
    LATCH("RCountDownLatch", "latch"), RW("RReadWriteLock", "read-write lock");

    final String type;
    final String object;

    Served(String type, String object) {
      this.type = type;
      this.object = object;
    }
  }

  private final boolean shared;
  private final boolean masterSlave;
  private final boolean fair;
  private final Served served;
  private final Map<String, RLock> locks = new ConcurrentHashMap<>();
  private RedissonClient redisson;

  RedissonWorker(List<String> args) {
    shared = args.contains("shared");
    masterSlave = args.contains("master-slave");
    fair = args.contains("fair");
    served = args.contains("semaphore") ? Served.SEMAPHORE
        : args.contains("permits") ? Served.PERMITS
        : args.contains("latch") ? Served.LATCH
        : args.contains("rw") ? Served.RW : Served.LOCK;
  }

  public static void main(String[] args) throws Exception {
    var worker = new RedissonWorker(List.of(args));
    var abilities = new ArrayList<>(switch (worker.served) {
      case LOCK -> List.of("reentrant", "watchdog", "force", "inspect", "cancel", "unlock-sets-lease");
      case RW -> List.of("reentrant", "watchdog", "cancel");
      case SEMAPHORE, PERMITS, LATCH -> List.of("cancel");
    });
    if (worker.fair) {
      abilities.addAll(List.of("fair", "unlocks-free"));
    }
    worker.serve("Redisson " + (worker.fair ? "RFairLock" : worker.served.type), version(), abilities.toArray(String[]::new));
  }

  @Override
  Map<String, ?> besides() {
    if (served == Served.PERMITS) {
      return Map.of("object", served.object, "taken", "{*}:timeout");
    }
    if (served != Served.LOCK) {
      return Map.of("object", served.object);
    }
    return fair ? Map.of("queue", Map.of("key", "redisson_lock_queue:{*}", "kept", KEPT_MS * 1_000_000)) : Map.of();
  }

  private static String version() throws Exception {
    try (var jar = new java.util.jar.JarFile(Redisson.class.getProtectionDomain().getCodeSource().getLocation().getPath())) {
      return jar.getManifest().getMainAttributes().getValue("Bundle-Version");
    }
  }

  @Override
  Map<String, String> start(Request request, Map<String, Long> threads) throws Exception {
    var config = new Config();
    config.setLockWatchdogTimeout(request.ms("watchdogTimeout"));
    if (fair) { // older ones have no such option
      Config.class.getMethod("setFairLockWaitTimeout", long.class).invoke(config, KEPT_MS);
    }
    var url = request.redis();
    var address = "redis://" + url.getHost() + ":" + url.getPort();
    var server = masterSlave
        ? config.useMasterSlaveServers().setMasterAddress(address).setReadMode(ReadMode.MASTER).setMasterConnectionMinimumIdleSize(2)
        : config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(2);
    var scale = request.timescale();
    if (scale != 1) {
      server.setTimeout((int) (server.getTimeout() * scale)).setConnectTimeout((int) (server.getConnectTimeout() * scale));
    }
    if (request.is("noRetry")) {
      server.setRetryAttempts(0);
    }
    redisson = Redisson.create(config);
    var names = new HashMap<String, String>();
    threads.forEach((owner, thread) -> names.put(owner, redisson.getId() + ":" + thread));
    return names;
  }

  @Override
  Answer call(Request request) throws Exception {
    return switch (served) {
      case SEMAPHORE -> onSemaphore(request);
      case PERMITS -> onPermits(request);
      case LATCH -> onLatch(request);
      default -> onLock(request);
    };
  }

  private Answer onSemaphore(Request request) throws Exception {
    var semaphore = redisson.getSemaphore(request.text("lock"));
    int permits = request.number("value");
    switch (request.text("kind")) {
      case "trySetPermits":
        return semaphore.trySetPermits(permits) ? Answer.OK : Answer.REJECTED;
      case "acquirePermits":
        semaphore.acquire(permits);
        return Answer.ACQUIRED;
      case "tryAcquirePermits":
        long wait = request.ms("wait");
        boolean taken = wait > 0 ? semaphore.tryAcquire(permits, wait, TimeUnit.MILLISECONDS) : semaphore.tryAcquire(permits);
        return taken ? Answer.ACQUIRED : Answer.BUSY;
      case "releasePermits":
        semaphore.release(permits);
        return Answer.OK;
      default:
        return new Answer("failed", null, "RSemaphore has no " + request.text("kind"));
    }
  }

  /** A lease that is absent is none: -1, as Redisson has it. */
  private Answer onPermits(Request request) throws Exception {
    var semaphore = redisson.getPermitExpirableSemaphore(request.text("lock"));
    long lease = request.has("lease") ? request.ms("lease") : -1;
    switch (request.text("kind")) {
      case "trySetTotal":
        return semaphore.trySetPermits(request.number("value")) ? Answer.OK : Answer.REJECTED;
      case "acquirePermit":
        return Answer.permit(semaphore.acquire(lease, TimeUnit.MILLISECONDS));
      case "tryAcquirePermit":
        return Answer.permit(semaphore.tryAcquire(request.ms("wait"), lease, TimeUnit.MILLISECONDS));
      case "releasePermit":
        return semaphore.tryRelease(request.text("permit")) ? Answer.OK : Answer.NOT_HELD;
      case "updateLease":
        return semaphore.updateLeaseTime(request.text("permit"), lease, TimeUnit.MILLISECONDS) ? Answer.OK : Answer.NOT_HELD;
      default:
        return new Answer("failed", null, "RPermitExpirableSemaphore has no " + request.text("kind"));
    }
  }

  private Answer onLatch(Request request) throws Exception {
    var latch = redisson.getCountDownLatch(request.text("lock"));
    switch (request.text("kind")) {
      case "trySetCount":
        return latch.trySetCount(request.number("value")) ? Answer.OK : Answer.REJECTED;
      case "countDown":
        latch.countDown();
        return Answer.OK;
      case "await":
        latch.await();
        return Answer.OK;
      case "tryAwait":
        return latch.await(request.ms("wait"), TimeUnit.MILLISECONDS) ? Answer.OK : Answer.BUSY;
      default:
        return new Answer("failed", null, "RCountDownLatch has no " + request.text("kind"));
    }
  }

  /** The lock that a request is about, of one object for each owner unless they share one. */
  private RLock lockOf(Request request) {
    var name = request.text("lock");
    var half = switch (request.text("kind")) {
      case "readLock", "tryRead", "readUnlock" -> "read";
      case "writeLock", "tryWrite", "writeUnlock" -> "write";
      default -> "";
    };
    return locks.computeIfAbsent((shared ? "" : request.text("owner") + " ") + half + " " + name, k -> switch (half) {
      case "read" -> redisson.getReadWriteLock(name).readLock();
      case "write" -> redisson.getReadWriteLock(name).writeLock();
      default -> fair ? redisson.getFairLock(name) : redisson.getLock(name);
    });
  }

  private Answer onLock(Request request) throws Exception {
    RLock lock = lockOf(request);
    long lease = request.is("watchdog") ? -1 : request.ms("lease");
    switch (request.text("kind")) {
      case "lock", "readLock", "writeLock":
        lock.lockInterruptibly(lease, TimeUnit.MILLISECONDS);
        return Answer.ACQUIRED;
      case "tryLock", "tryRead", "tryWrite":
        return lock.tryLock(request.ms("wait"), lease, TimeUnit.MILLISECONDS) ? Answer.ACQUIRED : Answer.BUSY;
      case "unlock", "readUnlock", "writeUnlock":
        try {
          lock.unlock();
        } catch (IllegalMonitorStateException e) {
          return Answer.NOT_HELD;
        }
        return Answer.UNLOCKED;
      case "forceUnlock":
        return lock.forceUnlock() ? Answer.RELEASED : Answer.NOT_HELD;
      case "isLocked":
        return Answer.of(lock.isLocked());
      case "isHeldBy":
        return Answer.of(lock.isHeldByCurrentThread());
      case "holdCount":
        return Answer.of(lock.getHoldCount());
      case "remainingTTL":
        long left = lock.remainTimeToLive();
        return Answer.of(left < 0 ? left : left * 1_000_000);
      default:
        return new Answer("failed", null, served.type + " has no " + request.text("kind"));
    }
  }
}
