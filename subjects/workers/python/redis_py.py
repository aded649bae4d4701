"""A worker for redis-py's own lock, redis.Redis(...).lock().

Documented in the docstrings of redis.lock.Lock: https://redis.readthedocs.io/en/stable/lock.html

Defaults: a random token for each grant, a new attempt every 0.1 s, no renewal.
A call that waits cannot be given up. It ends up to 0.1 s before its blocking_timeout.
thread_local=False is what its documentation advises where one thread acquires and another releases.
"""

import redis
from redis.exceptions import LockError

import kit


class Adapter:
    def __init__(self, client, start):
        self.client, self.sleep = client, 0.1 * start["timescale"]

    def new(self, lock, owner, lease, watchdog):
        return self.client.lock(lock, timeout=lease, sleep=self.sleep, thread_local=False)

    def acquire(self, lock, wait):
        return lock.acquire(blocking=wait != 0, blocking_timeout=wait)

    def release(self, lock):
        try:
            lock.release()
        except LockError as e:  # never acquired, or LockNotOwnedError
            raise kit.NotHeld from e


kit.serve(Adapter, "redis-py Lock", redis.__version__)
