"""A worker for python-redis-lock: redis_lock.Lock, which waits with BLPOP for a signal.

Documented in its README: https://python-redis-lock.readthedocs.io/en/latest/readme.html

Defaults: a signal lives for 1000 ms. With auto_renewal a thread renews every two thirds of expire.
id is the owner, as the README's example has it, so that Redis shows who holds the lock.
expire and timeout are whole seconds. A timeout is at most expire, unless there is auto_renewal.
So a lease is rounded up. A wait is split into timeouts. What is left of it ends with one more attempt.
Who waits asks again when its own expire is over, or when the lock is released.
"""

import math
import time

import redis_lock

import kit


class Adapter:
    def __init__(self, client, start):
        self.client = client

    def new(self, lock, owner, lease, watchdog):
        return redis_lock.Lock(self.client, lock, expire=math.ceil(lease), id=owner, auto_renewal=watchdog)

    def acquire(self, lock, wait):
        try:
            if wait is None:
                return lock.acquire()
            end = time.monotonic() + wait
            while (left := end - time.monotonic()) >= 1:
                if lock.acquire(timeout=min(int(left), lock._expire)):
                    return True
            time.sleep(max(left, 0))
            return lock.acquire(blocking=False)
        except redis_lock.AlreadyAcquired as e:
            raise kit.Nothing(str(e)) from e

    def release(self, lock):
        try:
            lock.release()
        except redis_lock.NotAcquired as e:
            raise kit.NotHeld from e


kit.serve(Adapter, "python-redis-lock", redis_lock.__version__, ["watchdog"], renewPart=2 / 3)
