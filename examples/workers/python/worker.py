#!/usr/bin/env python3
"""A worker (docs/worker.md) for redis-py's own Lock.

    simrun worker-check 'python3 examples/workers/python/worker.py'

Needs redis-py (Debian: python3-redis, PyPI: redis). The lock has no owners of its own, so each owner
gets a Lock object of its own; each request is served in a thread of its own, since some of them wait.
"""

import json
import sys
import threading

import redis
from redis.exceptions import LockError

NANOSECONDS = 1e9
printing = threading.Lock()
locks = {}  # (lock, owner) -> redis.lock.Lock


def say(**message):
    with printing:
        print(json.dumps(message), flush=True)


def serve(client, request):
    try:
        answer = do(client, request)
    except redis.RedisError as e:  # it may have happened, or not
        answer = {"outcome": "unknown", "error": f"{type(e).__name__}: {e}"}
    say(id=request["id"], **answer)


def do(client, request):
    kind, key = request["kind"], (request["lock"], request.get("owner"))
    if kind in ("lock", "tryLock"):
        lock = locks.setdefault(key, client.lock(request["lock"], thread_local=False))
        lock.timeout = request["lease"] / NANOSECONDS
        wait = request.get("wait", 0) / NANOSECONDS
        got = lock.acquire(blocking=kind == "lock" or wait > 0, blocking_timeout=None if kind == "lock" else wait)
        return {"outcome": "acquired" if got else "busy"}
    if kind == "unlock":
        try:
            locks[key].release()
        except (KeyError, LockError):  # never locked; not locked, or no longer owned
            return {"outcome": "notHeld"}
        return {"outcome": "released"}
    return {"outcome": "failed", "error": f"redis-py's Lock has no {kind}"}


def main():
    say(hello=1, name="redis-py Lock", version=redis.__version__, abilities=[])
    client = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["kind"] == "start":
            client = redis.Redis.from_url(request["redis"][0])
            say(id=request["id"], outcome="ok")
        else:
            threading.Thread(target=serve, args=(client, request), daemon=True).start()


main()
