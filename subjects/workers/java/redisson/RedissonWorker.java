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
 * place for a minute instead of five. The client keeps two idle connections instead of 24. With
 * one, what is sent again would wait behind what it repeats.
 */
public class RedissonWorker extends Worker {
  private static final long KEPT_MS = 60_000;

  private final boolean shared;
  private final boolean masterSlave;
  private final boolean fair;
  private final Map<String, RLock> locks = new ConcurrentHashMap<>();
  private RedissonClient redisson;

  RedissonWorker(List<String> args) {
    shared = args.contains("shared");
    masterSlave = args.contains("master-slave");
    fair = args.contains("fair");
  }

  public static void main(String[] args) throws Exception {
    var worker = new RedissonWorker(List.of(args));
    var abilities = new ArrayList<>(List.of("reentrant", "watchdog", "force", "inspect", "cancel", "unlock-sets-lease"));
    if (worker.fair) {
      abilities.addAll(List.of("fair", "unlocks-free"));
    }
    worker.serve(worker.fair ? "Redisson RFairLock" : "Redisson RLock", version(), abilities.toArray(String[]::new));
  }

  @Override
  Map<String, ?> besides() {
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
    var name = request.text("lock");
    RLock lock = locks.computeIfAbsent(shared ? name : request.text("owner") + " " + name, k -> fair ? redisson.getFairLock(name) : redisson.getLock(name));
    long lease = request.is("watchdog") ? -1 : request.ms("lease");
    switch (request.text("kind")) {
      case "lock":
        lock.lockInterruptibly(lease, TimeUnit.MILLISECONDS);
        return Answer.ACQUIRED;
      case "tryLock":
        return lock.tryLock(request.ms("wait"), lease, TimeUnit.MILLISECONDS) ? Answer.ACQUIRED : Answer.BUSY;
      case "unlock":
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
        return new Answer("failed", null, "RLock has no " + request.text("kind"));
    }
  }
}
