"""A worker for pottery's Redlock, with one master.

Documented in its README: https://github.com/brainix/pottery#redlock

Defaults: a new attempt after up to 0.2 s, three extensions at most, which nobody makes by itself, and
raise_on_redis_errors=False. So acquire tells an error of Redis as a refusal.
release raises ReleaseUnlockedLock for an error as well, and lists it in redis_errors: that proves nothing.
"""

from importlib.metadata import version

from pottery import Redlock, ReleaseUnlockedLock

import kit


class Adapter:
    def __init__(self, client, start):
        self.client = client

    def new(self, lock, owner, lease, watchdog):
        return Redlock(key=lock, masters={self.client}, auto_release_time=lease)

    def acquire(self, lock, wait):
        if wait == 0:
            return lock.acquire(blocking=False)
        return lock.acquire(timeout=-1 if wait is None else wait)

    def release(self, lock):
        try:
            lock.release()
        except ReleaseUnlockedLock as e:
            if e.redis_errors:
                raise
            raise kit.NotHeld from e


kit.serve(Adapter, "pottery Redlock", version("pottery"))
