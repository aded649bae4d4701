// The worker protocol (docs/worker.md) for locks over ioredis.
//
// A lock's own file calls serve with its name, version and abilities, and with open(redis, lost).
// open returns
//
//     acquire(lock, owner, lease, wait, watchdog)   times in ms: the hold, or null for a refusal;
//                                                   wait is Infinity for `lock`
//     release(hold)                                 true, or false if the library says that it is not held;
//                                                   undefined if the library does not say which
//
// A hold is what the library hands out. It is kept by lock and owner until it is given back.
// renewPart is the part of the watchdog timeout after which it renews, if that is not a third.
// lost(lock, owner) tells its holder that it is over, if the lock claims `lost`.
// What is thrown otherwise makes the outcome `unknown`.

import { createRequire } from "node:module";
import readline from "node:readline";
import Redis from "ioredis";

const MS = 1e6; // nanoseconds
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// versionOf returns the version of a package as it is installed.
const load = createRequire(import.meta.url);
export const versionOf = (name) => load(`./node_modules/${name}/package.json`).version;

// connect uses ioredis with its defaults: it sends again up to 20 times. With noRetry it sends nothing again.
async function connect({ redis: [url], noRetry }) {
  const once = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
  const redis = new Redis(url, noRetry ? once : {});
  redis.on("error", () => {}); // of the connection: ioredis connects again by itself
  const refused = new Promise((_, reject) => redis.once("error", reject));
  await Promise.race([redis.ping(), refused]); // so that no call has to connect
  return redis;
}

export function serve(name, version, abilities, open, renewPart) {
  const holds = new Map(); // by lock and owner
  const keyOf = (lock, owner) => JSON.stringify([lock, owner]);
  const lost = (lock, owner) => abilities.includes("lost") && say({ lost: lock, owner });
  let library;

  const acquire = async ({ kind, lock, owner, lease, wait = 0, watchdog = false }) => {
    const patience = kind === "lock" ? Infinity : wait / MS;
    const hold = await library.acquire(lock, owner, Math.ceil(lease / MS), patience, watchdog);
    if (hold) holds.set(keyOf(lock, owner), hold);
    return hold ? "acquired" : "busy";
  };
  const operations = {
    lock: acquire,
    tryLock: acquire,
    async unlock({ lock, owner }) {
      const key = keyOf(lock, owner);
      if (!holds.has(key)) return "notHeld"; // its user has nothing to release
      const hold = holds.get(key);
      const released = await library.release(hold);
      if (holds.get(key) === hold) holds.delete(key);
      return released === undefined ? "ok" : released ? "released" : "notHeld";
    },
    async start(request) {
      library = open(await connect(request), lost, request);
      return "ok";
    },
  };

  say({ hello: 2, name, version, abilities, renewPart });
  readline.createInterface({ input: process.stdin }).on("line", async (line) => {
    const request = JSON.parse(line);
    let answer;
    try {
      answer = { outcome: await operations[request.kind](request) };
    } catch (e) {
      answer = { outcome: request.kind === "start" ? "failed" : "unknown", error: `${e.name}: ${e.message}` };
    }
    say({ id: request.id, ...answer });
  }).on("close", () => process.exit());
}
