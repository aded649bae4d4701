// Package lockimpl is a distributed lock in Redis: Redisson's RLock family for Go, over
// github.com/redis/go-redis/v9. It shares keys, channels and messages with Redisson, so Go and
// Java programs can use one lock.
//
// It knows nothing of the harness that tests it: no faults, no histories, no virtual clock. It
// uses package time as any program does; its one seam is [Scheduler].
//
// The files: client.go (the client and its life), lock.go (queries), acquire.go and unlock.go (the
// two halves of the protocol), hub.go (waiting for releases), watchdog.go (renewal), script.go and
// scripts/ (Lua). To add a generation: write the scripts that differ, embed them in script.go, and
// choose them in attempt and release.
package lockimpl
