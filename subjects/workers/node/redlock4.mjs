// A worker for redlock 4 (npm), with one server.
//
// Documented in its README: https://github.com/mike-marcacci/node-redlock/tree/v4.2.0
//
// Defaults: a lock gives up after 11 attempts, some 200 ms apart. So `lock` answers busy after about 2 s.
// tryLock says with retryCount and retryDelay how long it waits: the delay is the default's, without jitter.
// A LockError does not say why. The event clientError does, so each call listens on a Redlock of its own.
// Nobody extends a lock by itself.

import Redlock from "redlock4";
import { serve, versionOf } from "./kit.mjs";
import { within } from "./redlock.mjs";

serve("redlock", versionOf("redlock4"), [], (redis) => {
  // outcome is what the library answers, or null if it refuses; an error of the client is thrown.
  async function outcome(redlock, call) {
    let broken;
    const note = (e) => (broken = e);
    redlock.on("clientError", note);
    try {
      return await call();
    } catch (e) {
      if (broken || !(e instanceof Redlock.LockError)) throw broken ?? e;
      return null;
    } finally {
      redlock.off("clientError", note);
    }
  }
  return {
    acquire: (lock, owner, lease, wait) => within(wait, (settings) => {
      const redlock = new Redlock([redis], settings);
      return outcome(redlock, () => redlock.lock(lock, lease));
    }),
    release: async (hold) => (await outcome(hold.redlock, () => hold.unlock())) !== null,
  };
});
