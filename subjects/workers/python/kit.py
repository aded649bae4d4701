"""The worker protocol (docs/worker.md) for locks over redis-py.

A lock's own file names an adapter and calls serve. An adapter has three methods, all in seconds:

    new(lock, owner, lease, watchdog)   makes the library's object for one acquire
    acquire(object, wait)               True or False; wait is None for ever, 0 for one attempt
    release(object)                     None, or raises NotHeld

Each request has a thread of its own. An object is kept by (lock, owner) until it is given back.
What the library raises otherwise makes the outcome `unknown`.
"""

import json
import sys
import threading

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

printing = threading.Lock()


class NotHeld(Exception):
    """The library says that the lock is not held, or no longer."""


class Nothing(Exception):
    """The library refused, and certainly did nothing."""


def say(**message):
    with printing:
        print(json.dumps(message), flush=True)


def client(start):
    """redis-py with its defaults: 5 s for an answer, 10 retries. With noRetry it sends nothing again.

    Redis.from_url has other defaults: it retries nothing.
    """
    options = {"retry": Retry(NoBackoff(), 0)} if start.get("noRetry") else {}
    return redis.Redis(**parse_url(start["redis"][0]), **options)


class Worker:
    def __init__(self, start, adapter):
        connection = client(start)
        connection.ping()  # so that no call has to connect
        self.adapter = adapter(connection, start)
        self.holds = {}  # (lock, owner) -> the library's object

    def acquire(self, request, wait):
        key = request["lock"], request["owner"]
        lock = self.adapter.new(*key, -(-request["lease"] // 10**6) / 1000, request.get("watchdog", False))
        try:
            got = self.adapter.acquire(lock, wait)
        except Exception:
            self.holds.setdefault(key, lock)  # its user still has it, and may release it
            raise
        if got:
            self.holds[key] = lock
        return "acquired" if got else "busy"

    def unlock(self, request):
        key = request["lock"], request["owner"]
        lock = self.holds.get(key) or self.adapter.new(*key, 1, False)
        try:
            self.adapter.release(lock)
        except NotHeld:
            self.holds.pop(key, None)
            return "notHeld"
        self.holds.pop(key, None)
        return "released"

    def serve(self, request):
        answer = {}
        try:
            if request["kind"] == "unlock":
                answer["outcome"] = self.unlock(request)
            else:
                wait = None if request["kind"] == "lock" else request.get("wait", 0) / 1e9
                answer["outcome"] = self.acquire(request, wait)
        except Exception as e:
            outcome = "failed" if isinstance(e, Nothing) else "unknown"
            answer = {"outcome": outcome, "error": f"{type(e).__name__}: {e}"}
        say(id=request["id"], **answer)


def serve(adapter, name, version, abilities=(), **more):
    say(hello=2, name=name, version=version, abilities=list(abilities), **more)
    worker = None
    for line in sys.stdin:
        request = json.loads(line)
        if worker:
            threading.Thread(target=worker.serve, args=(request,), daemon=True).start()
            continue
        try:
            worker = Worker(request, adapter)
            say(id=request["id"], outcome="ok")
        except redis.RedisError as e:
            say(id=request["id"], outcome="failed", error=f"{type(e).__name__}: {e}")
