// Package lockimpl is a distributed lock in Redis: Redisson's RLock family for Go, over
// github.com/redis/go-redis/v9. It shares keys, channels and messages with Redisson, so Go and
// Java programs can use one lock. docs/lock.md says what each [Generation] promises.
//
// It knows nothing of the harness that tests it: no faults, no histories, no virtual clock. It
// uses package time as any program does; its one seam is [Scheduler].
//
// The files: client.go (the client and its life), lock.go (queries), acquire.go and unlock.go (the
// calls), faithful.go, current.go and hardened.go (what the generations do on the server), script.go and
// scripts/ (Lua), holds.go (what the client knows of its holds), watchdog.go (renewal), renewaltask.go
// (the same of generation current), lost.go (telling of losses), hub.go (waiting for releases); and the locks made of locks: multi.go,
// fenced.go, redlock.go. Other locks are RLocks with scripts of their own: rwlock.go, fair.go, spin.go.
// What has no owners has its requests from requests.go: semaphore.go, permits.go, countdown.go.
//
// To add a generation: copy faithful.go, whose type protocol says what a generation is, write the
// scripts that differ, embed them in script.go, and choose the new one in [New].
package lockimpl
