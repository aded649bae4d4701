import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The worker protocol, version 2 (docs/worker.md), for locks whose owners are threads. Each owner is a thread of its
 * own, which makes all of its calls. A call without an owner has any thread. A call that is cancelled is interrupted.
 */
abstract class Worker {
  /** A call's answer. The value is that of a question, and the permit the id of what was taken, else null. */
  record Answer(String outcome, Long value, String permit, String error) {
    static final Answer ACQUIRED = new Answer("acquired");
    static final Answer BUSY = new Answer("busy");
    static final Answer UNLOCKED = new Answer("unlocked");
    static final Answer RELEASED = new Answer("released");
    static final Answer NOT_HELD = new Answer("notHeld");
    static final Answer OK = new Answer("ok");
    static final Answer REJECTED = new Answer("rejected");

    Answer(String outcome) {
      this(outcome, null, null);
    }

    Answer(String outcome, Long value, String error) {
      this(outcome, value, null, error);
    }

    static Answer of(long value) {
      return new Answer("ok", value, null);
    }

    /** What came of asking for a permit: its id, or null. */
    static Answer permit(String id) {
      return id == null ? BUSY : new Answer("acquired", null, id, null);
    }

    static Answer of(boolean value) {
      return of(value ? 1 : 0);
    }
  }

  /** What simrun asks for. Times are in milliseconds, leases rounded up. */
  record Request(JsonObject json) {
    String text(String field) {
      return json.has(field) ? json.get(field).getAsString() : "";
    }

    long ms(String field) {
      return json.has(field) ? (json.get(field).getAsLong() + 999_999) / 1_000_000 : 0;
    }

    int number(String field) {
      return json.has(field) ? json.get(field).getAsInt() : 0;
    }

    boolean has(String field) {
      return json.has(field);
    }

    boolean is(String field) {
      return json.has(field) && json.get(field).getAsBoolean();
    }

    boolean forever() {
      return text("kind").equals("lock");
    }

    double timescale() {
      return json.has("timescale") ? json.get("timescale").getAsDouble() : 1;
    }

    /** The server's address, without user, password and database. */
    java.net.URI redis() {
      return java.net.URI.create(json.get("redis").getAsJsonArray().get(0).getAsString());
    }
  }

  private static final Gson GSON = new Gson();

  private final PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);
  private final Map<String, ExecutorService> owners = new ConcurrentHashMap<>();
  private final ExecutorService anybody = Executors.newCachedThreadPool();
  private final Map<Long, Thread> underWay = new ConcurrentHashMap<>();

  /** Connects. {@code threads} has the id of each owner's thread. Returns each owner's name in Redis, or nothing. */
  abstract Map<String, String> start(Request request, Map<String, Long> threads) throws Exception;

  /** Makes a call, in its owner's thread. */
  abstract Answer call(Request request) throws Exception;

  /** Whether an error proves that a call had no effect and will have none. */
  boolean failed(Exception error) {
    return false;
  }

  /** What its hello says besides. */
  Map<String, ?> besides() {
    return Map.of();
  }

  /** Serves standard input until it ends. */
  void serve(String name, String version, String... abilities) throws Exception {
    System.setOut(System.err); // what others print breaks the protocol
    var hello = new java.util.HashMap<String, Object>(Map.of("hello", 2, "name", name, "version", version, "abilities", List.of(abilities)));
    hello.putAll(besides());
    say(hello);
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      var request = new Request(GSON.fromJson(line, JsonObject.class));
      long id = request.json().get("id").getAsLong();
      switch (request.text("kind")) {
        case "start" -> begin(id, request);
        case "cancel" -> {
          var thread = underWay.get(id);
          if (thread != null) {
            thread.interrupt();
          }
        }
        default -> {
          var owner = request.text("owner");
          (owner.isEmpty() ? anybody : owner(owner)).execute(() -> answer(id, request));
        }
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private ExecutorService owner(String name) {
    return owners.computeIfAbsent(name, n -> Executors.newSingleThreadExecutor(r -> new Thread(r, "owner " + n)));
  }

  private void begin(long id, Request request) {
    try {
      var threads = new java.util.HashMap<String, Long>();
      for (var o : request.json().get("owners").getAsJsonArray()) {
        threads.put(o.getAsString(), owner(o.getAsString()).submit(() -> Thread.currentThread().getId()).get());
      }
      say(Map.of("id", id, "outcome", "ok", "owners", start(request, threads)));
    } catch (Exception e) {
      say(Map.of("id", id, "outcome", "failed", "error", e.toString()));
    }
  }

  private void answer(long id, Request request) {
    underWay.put(id, Thread.currentThread());
    Answer answer;
    try {
      answer = call(request);
    } catch (Exception e) { // it may have happened, or not
      answer = new Answer(failed(e) ? "failed" : "unknown", null, e.toString());
    }
    underWay.remove(id);
    Thread.interrupted(); // of a call that had ended by itself
    var message = new java.util.HashMap<String, Object>(Map.of("id", id, "outcome", answer.outcome()));
    if (answer.value() != null) {
      message.put("value", answer.value());
    }
    if (answer.permit() != null) {
      message.put("permit", answer.permit());
    }
    if (answer.error() != null) {
      message.put("error", answer.error());
    }
    say(message);
  }

  /** Tells an owner that its hold is over. */
  void lost(String lock, String owner) {
    say(Map.of("lost", lock, "owner", owner));
  }

  private synchronized void say(Map<String, ?> message) {
    out.println(GSON.toJson(message));
    out.flush();
  }
}
