// What the workers for redlock 5 and for its derivative @sesamecare-oss/redlock have in common.
//
// Documented in their READMEs, under "Usage": acquire, release, and using, which extends the lock by itself.
//
// Defaults: an acquire gives up after 11 attempts, some 200 ms apart. So `lock` answers busy after about 2 s.
// tryLock says with retryCount and retryDelay how long it waits: the delay is the default's, without jitter.
// A hold with a watchdog is a call of using, which tells by its signal that it could not extend the lock.
// Other holds have no signal. So `lost`, which is for all of them, is not claimed.

export const abilities = ["watchdog"];

// using extends 500 ms before the end: of a lease of 30 s, this part of it.
export const renewPart = 29.5 / 30;

// within calls the library with its settings until it has the lock, or until a wait in ms is over.
// Each call makes at most 11 attempts, as by default. README: retryCount 0 attempts once.
export async function within(wait, acquire) {
  if (wait === Infinity) return acquire({});
  const end = performance.now() + wait;
  for (;;) {
    const left = Math.max(0, Math.min(end - performance.now(), 2000));
    const retryCount = Math.ceil(left / 200);
    const retryDelay = retryCount && Math.round(left / retryCount);
    const hold = await acquire({ retryCount, retryDelay, retryJitter: 0 });
    if (hold || performance.now() >= end) return hold;
  }
}

// open returns what kit.mjs asks for.
export const open = (Redlock, ResourceLockedError) => (redis, lost) => {
  const redlock = new Redlock([redis]);

  // refused returns if all attempts found the key of another, or none. Otherwise it throws.
  const refused = async (error) => {
    const attempts = await Promise.all(error.attempts ?? []);
    const votes = attempts.flatMap((stats) => [...stats.votesAgainst.values()]);
    const other = votes.find((e) => !(e instanceof ResourceLockedError));
    if (votes.length === 0 || other) throw other ?? error;
  };

  return {
    acquire: (lock, owner, lease, wait, watchdog) => within(wait, async (settings) => {
      try {
        if (!watchdog) return await redlock.acquire([lock], lease, settings);
        settings.automaticExtensionThreshold = Math.min(500, Math.floor(lease / 3));
        return await new Promise((acquired, failed) => {
          const using = redlock.using([lock], lease, settings, (signal) => new Promise((finish) => {
            signal.addEventListener("abort", () => lost(lock, owner));
            acquired({ release: () => (finish(), using) });
          }));
          using.catch(failed); // after it was acquired, release tells
        });
      } catch (e) {
        await refused(e);
        return null;
      }
    }),
    async release(hold) {
      try {
        await hold.release();
        return true;
      } catch (e) {
        await refused(e);
        return false;
      }
    },
  };
};
