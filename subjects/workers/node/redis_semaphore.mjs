// A worker for the Mutex of redis-semaphore (npm).
//
// Documented in its README: https://github.com/swarthy/redis-semaphore#mutex
//
// Defaults: an attempt every 10 ms; acquire gives up after 10 s, so that `lock` answers busy then.
// It refreshes every 0.8 of lockTimeout, which is the watchdog here.
// It calls onLockLost when a refresh finds the lock gone.
// Without a watchdog refreshInterval is 0, as the README says for no refresh. Then nobody notices a loss.
// So `lost`, which is for all holds, is not claimed.
// A refresh that fails with an error is an unhandled rejection, which ends a Node process by default.
// Here it is written to standard error, and the next refresh comes in its time.
// release returns nothing, whether the lock was held or not. isAcquired says if a refresh has found it lost.

import { Mutex } from "redis-semaphore";
import { serve, versionOf } from "./kit.mjs";

process.on("unhandledRejection", (e) => console.error(`refresh: ${e}`));

serve("redis-semaphore Mutex", versionOf("redis-semaphore"), ["watchdog"], (redis, lost) => ({
  async acquire(lock, owner, lease, wait, watchdog) {
    const mutex = new Mutex(redis, lock, {
      lockTimeout: lease,
      ...(watchdog ? {} : { refreshInterval: 0 }),
      ...(wait === Infinity ? {} : wait > 0 ? { acquireTimeout: wait } : { acquireAttemptsLimit: 1 }),
      onLockLost: () => lost(lock, owner),
    });
    return (await mutex.tryAcquire()) ? mutex : null;
  },
  async release(mutex) {
    if (!mutex.isAcquired) return false;
    await mutex.release();
  },
}), 0.8);
