#!/usr/bin/env python3
"""A worker (docs/worker.md) for a reentrant lock as Redisson has it, over redis-py.

    simrun worker-check 'python3 examples/workers/python/reentrant.py'

Needs redis-py (Debian: python3-redis, PyPI: redis). The lock is a hash. Its one field is the owner, as a random name of
the process and a thread's number, and its value is how often that owner holds the lock.
"""

import json
import random
import sys
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

MS = 1_000_000  # nanoseconds
ACQUIRE = """
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
return redis.call('pexpire', KEYS[1], ARGV[2])
"""
RELEASE = """
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return -1
end
local left = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if left == 0 then
  redis.call('del', KEYS[1])
end
return left
"""

printing = threading.Lock()


def say(**message):
    with printing:
        print(json.dumps(message), flush=True)


class Worker:
    def __init__(self, start):
        self.timescale = start["timescale"]
        self.redis = redis.Redis.from_url(
            start["redis"][0],
            socket_timeout=3 * self.timescale,
            retry=Retry(NoBackoff(), 0),  # a request is sent once
        )
        self.acquire_script = self.redis.register_script(ACQUIRE)
        self.release_script = self.redis.register_script(RELEASE)
        name = random.Random(start["seed"]).randbytes(4).hex()
        self.names = {owner: f"{name}:{n}" for n, owner in enumerate(start.get("owners", []), 1)}
        self.redis.script_load(ACQUIRE)  # so that no call has to connect
        self.redis.script_load(RELEASE)

    def serve(self, request):
        try:
            answer = getattr(self, request["kind"])(request)
        except redis.RedisError as e:  # it may have happened, or not
            answer = {"outcome": "unknown", "error": f"{type(e).__name__}: {e}"}
        say(id=request["id"], **answer)

    def lock(self, request, until=float("inf")):
        lease = -(-request["lease"] // MS)
        while not self.acquire_script([request["lock"]], [self.names[request["owner"]], lease]):
            left = until - time.monotonic()
            if left <= 0:
                return {"outcome": "busy"}
            time.sleep(min(left, 0.1 * self.timescale))
        return {"outcome": "acquired"}

    def tryLock(self, request):
        return self.lock(request, time.monotonic() + request.get("wait", 0) / MS / 1000)

    def unlock(self, request):
        left = self.release_script([request["lock"]], [self.names[request["owner"]]])
        return {"outcome": "notHeld" if left < 0 else "decremented" if left else "released"}


def main():
    say(hello=2, name="reentrant hash in Python", version="1", abilities=["reentrant"])
    worker = None
    for line in sys.stdin:
        request = json.loads(line)
        if worker:
            threading.Thread(target=worker.serve, args=(request,), daemon=True).start()
            continue
        try:
            worker = Worker(request)
            say(id=request["id"], outcome="ok", owners=worker.names)
        except redis.RedisError as e:
            say(id=request["id"], outcome="failed", error=f"{type(e).__name__}: {e}")


main()
