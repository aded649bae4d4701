// A worker (docs/worker.md) in Node, without any package: a lock with a watchdog, and the client that it uses.
//
//     simrun worker-check node examples/workers/node/worker.mjs
//
// The key's value names the owner. A script looks at it before the key is deleted, or lives on.

import net from "node:net";
import readline from "node:readline";

const MS = 1e6; // nanoseconds
const unlockScript = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
const renewScript = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

// Redis sends each command once, and in order.
class Redis {
  constructor(url, timeout) {
    Object.assign(this, { url: new URL(url), timeout, waiting: [], rest: Buffer.alloc(0) });
  }

  async command(...args) {
    if (!this.socket) {
      this.socket = net.connect(+this.url.port, this.url.hostname);
      this.socket.setNoDelay();
      this.socket.on("data", (bytes) => this.take(bytes));
      this.socket.on("error", (e) => this.fail(e));
      this.socket.on("close", () => this.fail(new Error("the connection was closed")));
      const { username, password, pathname } = this.url;
      if (password) this.command("AUTH", ...[username, password].filter(Boolean).map(decodeURIComponent)).catch(() => {});
      if (pathname.length > 1) this.command("SELECT", pathname.slice(1)).catch(() => {});
    }
    const words = args.map((a) => `$${Buffer.byteLength(`${a}`)}\r\n${a}\r\n`);
    const socket = this.socket;
    return new Promise((resolve, reject) => {
      const patience = setTimeout(() => this.socket === socket && this.fail(new Error("no answer in time")), this.timeout);
      this.waiting.push({ resolve, reject, patience });
      socket.write(`*${args.length}\r\n${words.join("")}`);
    });
  }

  // take takes replies, which are all of one line or a string.
  take(bytes) {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (let end; (end = this.rest.indexOf("\r\n")) >= 0; ) {
      const kind = String.fromCharCode(this.rest[0]);
      let value = this.rest.toString("utf8", 1, end);
      let size = end + 2;
      if (kind === "$" && value !== "-1") {
        size += +value + 2;
        if (this.rest.length < size) return;
        value = this.rest.toString("utf8", end + 2, size - 2);
      } else if (kind === "$") {
        value = null;
      }
      this.rest = this.rest.subarray(size);
      const { resolve, reject, patience } = this.waiting.shift();
      clearTimeout(patience);
      if (kind === "-") reject(new Error(value));
      else resolve(kind === ":" ? +value : value);
    }
  }

  // fail ends the connection. The next command opens another.
  fail(error) {
    const { socket, waiting } = this;
    Object.assign(this, { socket: null, waiting: [], rest: Buffer.alloc(0) });
    socket?.removeAllListeners().on("error", () => {}).destroy();
    for (const { reject, patience } of waiting) {
      clearTimeout(patience);
      reject(error);
    }
  }
}

let redis, timescale, watchdogTimeout;
const watchdogs = new Map(); // by lock and owner

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

async function acquire({ kind, lock, owner, wait = 0, lease, watchdog }) {
  const until = kind === "lock" ? Infinity : performance.now() + wait / MS;
  for (;;) {
    if (await redis.command("SET", lock, owner, "NX", "PX", Math.ceil(lease / MS))) break;
    const left = until - performance.now();
    if (left <= 0) return { outcome: "busy" };
    await sleep(Math.min(left, 100 * timescale));
  }
  if (watchdog) guard(lock, owner);
  return { outcome: "acquired" };
}

// guard renews the lease until the lock is given back, or is somebody else's.
function guard(lock, owner) {
  const key = `${lock} ${owner}`;
  stop(key);
  const lease = watchdogTimeout / MS;
  const timer = setInterval(async () => {
    try {
      const renewed = await redis.command("EVAL", renewScript, 1, lock, owner, Math.ceil(lease));
      if (!renewed && watchdogs.get(key) === timer) stop(key);
    } catch {} // the next one may be in time
  }, lease / 3);
  watchdogs.set(key, timer);
}

function stop(key) {
  clearInterval(watchdogs.get(key));
  watchdogs.delete(key);
}

async function unlock({ lock, owner }) {
  stop(`${lock} ${owner}`);
  return { outcome: (await redis.command("EVAL", unlockScript, 1, lock, owner)) ? "released" : "notHeld" };
}

async function start(request) {
  ({ timescale, watchdogTimeout } = request);
  redis = new Redis(request.redis[0], 5000);
  await redis.command("PING"); // so that no call has to connect
  redis.timeout = 3000 * timescale;
  return { outcome: "ok" };
}

const operations = { lock: acquire, tryLock: acquire, unlock, start };

say({ hello: 2, name: "SET NX in Node", version: "1", abilities: ["watchdog"] });
readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = await operations[request.kind](request);
  } catch (e) {
    answer = { outcome: request.kind === "start" ? "failed" : "unknown", error: e.message };
  }
  say({ id: request.id, ...answer });
}).on("close", () => process.exit());
