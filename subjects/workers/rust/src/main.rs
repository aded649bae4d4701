//! A worker (docs/worker.md) for the crate rslock, with one server.
//!
//! Documented in its README and on <https://docs.rs/rslock>.
//!
//! Defaults: `LockManager::lock` gives up with `Unavailable` after 3 attempts, up to 200 ms apart.
//! `acquire` tries until it has the lock: that is `lock` here.
//! `tryLock` calls `LockManager::lock` until its wait is over. Without a wait it has one attempt.
//! `using` renews a lock while a routine runs, but it waits for the lock without end.
//! So no watchdog is claimed.
//! `release` returns nothing, whether the lock was held or not.
//! The client sends no command again. The crate does: each attempt is a new one.

use rslock::{Lock, LockError, LockManager};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{stdin, AsyncBufReadExt, BufReader};

type Holds = Arc<Mutex<HashMap<(String, String), Lock>>>;

async fn serve(manager: LockManager, holds: Holds, request: Value) -> Result<&'static str, LockError> {
    let text = |field: &str| request[field].as_str().unwrap_or("").to_string();
    let nanoseconds = |field: &str| Duration::from_nanos(request[field].as_u64().unwrap_or(0));
    let (lock, kind) = (text("lock"), text("kind"));
    let key = (lock.clone(), text("owner"));
    if kind == "unlock" {
        let hold = holds.lock().unwrap().remove(&key);
        let Some(hold) = hold else {
            return Ok("notHeld"); // its user has nothing to release
        };
        hold.release().await;
        return Ok("ok");
    }
    let lease = Duration::from_millis(nanoseconds("lease").as_nanos().div_ceil(1_000_000) as u64);
    let hold = if kind == "lock" {
        manager.acquire(lock.as_str(), lease).await?.lock
    } else {
        let end = Instant::now() + nanoseconds("wait");
        let mut once = manager.clone();
        if nanoseconds("wait").is_zero() {
            once.set_retry(1, Duration::from_millis(200));
        }
        loop {
            match once.lock(lock.as_str(), lease).await {
                Ok(lock) => break lock,
                Err(LockError::Unavailable) if Instant::now() >= end => return Ok("busy"),
                Err(LockError::Unavailable) => {}
                Err(e) => return Err(e),
            }
        }
    };
    holds.lock().unwrap().insert(key, hold);
    Ok("acquired")
}

/// Opens the lock manager, and has Redis asked once, so that it is connected.
async fn start(request: &Value) -> Result<LockManager, redis::RedisError> {
    let client = redis::Client::open(request["redis"][0].as_str().unwrap_or(""))?;
    client.get_multiplexed_async_connection().await?;
    Ok(LockManager::from_clients(vec![client]))
}

#[tokio::main]
async fn main() {
    println!("{}", json!({"hello": 2, "name": "rslock", "version": "0.10.0", "abilities": []}));
    let holds = Holds::default();
    let mut manager: Option<LockManager> = None;
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).expect("a line is JSON");
        let id = request["id"].clone();
        if let Some(manager) = manager.clone() {
            let holds = holds.clone();
            tokio::spawn(async move {
                match serve(manager, holds, request).await {
                    Ok(outcome) => println!("{}", json!({"id": id, "outcome": outcome})),
                    Err(e) => println!("{}", json!({"id": id, "outcome": "unknown", "error": e.to_string()})),
                }
            });
            continue;
        }
        match start(&request).await {
            Ok(m) => {
                manager = Some(m);
                println!("{}", json!({"id": id, "outcome": "ok"}));
            }
            Err(e) => println!("{}", json!({"id": id, "outcome": "failed", "error": e.to_string()})),
        }
    }
    std::process::exit(0); // tokio's reader of standard input would be waited for
}
