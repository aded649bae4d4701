package lockimpl

import _ "embed"

// The scripts of what is not a lock: see script.go.

//go:embed scripts/once.lua
var onceSource string

//go:embed scripts/semaphore_acquire.lua
var semaphoreAcquireSource string

//go:embed scripts/semaphore_release.lua
var semaphoreReleaseSource string

//go:embed scripts/semaphore_set.lua
var semaphoreSetSource string

//go:embed scripts/semaphore_add.lua
var semaphoreAddSource string

//go:embed scripts/semaphore_drain.lua
var semaphoreDrainSource string

//go:embed scripts/latch_set.lua
var latchSetSource string

//go:embed scripts/latch_down.lua
var latchDownSource string

//go:embed scripts/latch_delete.lua
var latchDeleteSource string

//go:embed scripts/latch_await_hardened.lua
var latchAwaitHardenedSource string

//go:embed scripts/semaphore_acquire_hardened.lua
var semaphoreAcquireHardenedSource string

//go:embed scripts/semaphore_cancel_hardened.lua
var semaphoreCancelHardenedSource string

//go:embed scripts/semaphore_release_hardened.lua
var semaphoreReleaseHardenedSource string

//go:embed scripts/semaphore_set_hardened.lua
var semaphoreSetHardenedSource string

//go:embed scripts/semaphore_add_hardened.lua
var semaphoreAddHardenedSource string

//go:embed scripts/semaphore_drain_hardened.lua
var semaphoreDrainHardenedSource string

//go:embed scripts/latch_set_hardened.lua
var latchSetHardenedSource string

//go:embed scripts/latch_down_hardened.lua
var latchDownHardenedSource string

//go:embed scripts/latch_delete_hardened.lua
var latchDeleteHardenedSource string

var (
	semaphoreAcquire         = newScript(semaphoreAcquireSource)
	semaphoreRelease         = newScript(semaphoreReleaseSource)
	semaphoreSet             = newScript(semaphoreSetSource)
	semaphoreAdd             = newScript(semaphoreAddSource)
	semaphoreDrain           = newScript(semaphoreDrainSource)
	latchSet                 = newScript(latchSetSource)
	latchDown                = newScript(latchDownSource)
	latchDelete              = newScript(latchDeleteSource)
	latchAwaitHardened       = newScript(latchAwaitHardenedSource)
	semaphoreAcquireHardened = newScript(onceSource + semaphoreAcquireHardenedSource)
	semaphoreCancelHardened  = newScript(onceSource + semaphoreCancelHardenedSource)
	semaphoreReleaseHardened = newScript(onceSource + semaphoreReleaseHardenedSource)
	semaphoreSetHardened     = newScript(onceSource + semaphoreSetHardenedSource)
	semaphoreAddHardened     = newScript(onceSource + semaphoreAddHardenedSource)
	semaphoreDrainHardened   = newScript(onceSource + semaphoreDrainHardenedSource)
	latchSetHardened         = newScript(onceSource + latchSetHardenedSource)
	latchDownHardened        = newScript(onceSource + latchDownHardenedSource)
	latchDeleteHardened      = newScript(onceSource + latchDeleteHardenedSource)
)
