import io.lettuce.core.ClientOptions;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Map;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/**
 * A worker for Spring Integration's RedisLockRegistry over Lettuce, with its defaults: a waiter polls every 100 ms, and
 * nothing renews a lease. With the argument "pub-sub" waiters are told of releases (RedisLockType.PUB_SUB_LOCK).
 */
public class SpringWorker extends Worker {
  private final boolean pubSub;
  private RedisLockRegistry registry;
  private Duration expireAfter;

  SpringWorker(boolean pubSub) {
    this.pubSub = pubSub;
  }

  public static void main(String[] args) throws Exception {
    new SpringWorker(args.length > 0).serve("Spring RedisLockRegistry", "7.0.0", "reentrant", "cancel", "local-holds");
  }

  /** Lettuce waits for a minute, unless it is told otherwise. */
  private static final Duration COMMAND_TIMEOUT = Duration.ofMinutes(1);

  @Override
  Map<String, ?> besides() {
    return Map.of("answerTimeout", COMMAND_TIMEOUT.toNanos());
  }

  @Override
  Map<String, String> start(Request request, Map<String, Long> threads) throws Exception {
    var options = ClientOptions.builder();
    if (request.is("noRetry")) {
      options.replayFilter(command -> true); // what was not answered is not sent again on a new connection
    }
    var client = LettuceClientConfiguration.builder().clientOptions(options.build());
    if (request.timescale() != 1) {
      client.commandTimeout(Duration.ofMillis((long) (COMMAND_TIMEOUT.toMillis() * request.timescale())));
    }
    var url = request.redis();
    var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(url.getHost(), url.getPort()), client.build());
    factory.afterPropertiesSet();
    factory.start();
    expireAfter = Duration.ofMillis(request.ms("watchdogTimeout"));
    registry = new RedisLockRegistry(factory, "locks", expireAfter.toMillis());
    if (pubSub) {
      registry.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
    }
    if (request.timescale() != 1) {
      registry.setIdleBetweenTries(Duration.ofMillis((long) (100 * request.timescale())));
    }
    try (var connection = factory.getConnection()) {
      connection.ping();
    }
    return Map.of();
  }

  @Override
  Answer call(Request request) throws Exception {
    var lock = registry.obtain(request.text("lock"));
    var lease = Duration.ofMillis(request.ms("lease"));
    switch (request.text("kind")) {
      case "lock":
        if (lease.equals(expireAfter)) {
          lock.lockInterruptibly();
          return Answer.ACQUIRED;
        }
        // It has no form with a lease, and a day is longer than any story.
        return lock.tryLock(Duration.ofDays(1), lease) ? Answer.ACQUIRED : Answer.BUSY;
      case "tryLock":
        return lock.tryLock(Duration.ofMillis(request.ms("wait")), lease) ? Answer.ACQUIRED : Answer.BUSY;
      case "unlock":
        try {
          lock.unlock();
        } catch (IllegalMonitorStateException | IllegalStateException | ConcurrentModificationException e) {
          return Answer.NOT_HELD;
        }
        return Answer.UNLOCKED;
      default:
        return new Answer("failed", null, "RedisLockRegistry has no " + request.text("kind"));
    }
  }
}
