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

//go:embed scripts/rw_state.lua
var rwStateSource string

//go:embed scripts/rw_store.lua
var rwStoreSource string

//go:embed scripts/rw_read.lua
var rwReadSource string

//go:embed scripts/rw_read_unlock.lua
var rwReadUnlockSource string

//go:embed scripts/rw_read_renew.lua
var rwReadRenewSource string

//go:embed scripts/rw_write.lua
var rwWriteSource string

//go:embed scripts/rw_write_unlock.lua
var rwWriteUnlockSource string

//go:embed scripts/rw_force.lua
var rwForceSource string

//go:embed scripts/rw_ask.lua
var rwAskSource string

//go:embed scripts/rw_acquire_hardened.lua
var rwAcquireHardenedSource string

//go:embed scripts/rw_release_hardened.lua
var rwReleaseHardenedSource string

//go:embed scripts/rw_renew_hardened.lua
var rwRenewHardenedSource string

//go:embed scripts/rw_force_hardened.lua
var rwForceHardenedSource string

//go:embed scripts/rw_ask_hardened.lua
var rwAskHardenedSource string

//go:embed scripts/fair_queue.lua
var fairQueueSource string

//go:embed scripts/fair_line.lua
var fairLineSource string

//go:embed scripts/fair_acquire.lua
var fairAcquireSource string

//go:embed scripts/fair_unlock.lua
var fairUnlockSource string

//go:embed scripts/fair_force.lua
var fairForceSource string

//go:embed scripts/fair_failed.lua
var fairFailedSource string

//go:embed scripts/fair_acquire_hardened.lua
var fairAcquireHardenedSource string

//go:embed scripts/fair_release_hardened.lua
var fairReleaseHardenedSource string

//go:embed scripts/fair_force_hardened.lua
var fairForceHardenedSource string

//go:embed scripts/fair_leave_hardened.lua
var fairLeaveHardenedSource string

//go:embed scripts/permits_reclaim.lua
var permitsReclaimSource string

//go:embed scripts/permits_state.lua
var permitsStateSource string

//go:embed scripts/permits_free_hardened.lua
var permitsFreeHardenedSource string

//go:embed scripts/permits_acquire.lua
var permitsAcquireSource string

//go:embed scripts/permits_release.lua
var permitsReleaseSource string

//go:embed scripts/permits_update.lua
var permitsUpdateSource string

//go:embed scripts/permits_free.lua
var permitsFreeSource string

//go:embed scripts/permits_acquire_hardened.lua
var permitsAcquireHardenedSource string

//go:embed scripts/permits_release_hardened.lua
var permitsReleaseHardenedSource string

//go:embed scripts/permits_update_hardened.lua
var permitsUpdateHardenedSource string

//go:embed scripts/permits_set_hardened.lua
var permitsSetHardenedSource string

//go:embed scripts/spin_unlock.lua
var spinUnlockSource string

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
	rwRead                   = newScript(rwReadSource)
	rwReadUnlock             = newScript(rwReadUnlockSource)
	rwReadRenew              = newScript(rwReadRenewSource)
	rwWrite                  = newScript(rwWriteSource)
	rwWriteUnlock            = newScript(rwWriteUnlockSource)
	rwForce                  = newScript(rwForceSource)
	rwAsk                    = newScript(rwAskSource)
	rwAcquireHardened        = newScript(rwStateSource + rwStoreSource + rwAcquireHardenedSource)
	rwReleaseHardened        = newScript(rwStateSource + rwStoreSource + rwReleaseHardenedSource)
	rwRenewHardened          = newScript(rwStateSource + rwStoreSource + rwRenewHardenedSource)
	rwForceHardened          = newScript(rwStateSource + rwStoreSource + rwForceHardenedSource)
	rwAskHardened            = newScript(rwStateSource + rwAskHardenedSource)
	fairAcquire              = newScript(fairQueueSource + fairAcquireSource)
	fairUnlock               = newScript(fairQueueSource + fairUnlockSource)
	fairForce                = newScript(fairQueueSource + fairForceSource)
	fairFailed               = newScript(fairFailedSource)
	fairAcquireHardened      = newScript(fairLineSource + fairAcquireHardenedSource)
	fairReleaseHardened      = newScript(fairLineSource + fairReleaseHardenedSource)
	fairForceHardened        = newScript(fairLineSource + fairForceHardenedSource)
	fairLeaveHardened        = newScript(fairLineSource + fairLeaveHardenedSource)
	permitsAcquire           = newScript(permitsReclaimSource + permitsAcquireSource)
	permitsRelease           = newScript(permitsReclaimSource + permitsReleaseSource)
	permitsUpdate            = newScript(permitsReclaimSource + permitsUpdateSource)
	permitsFree              = newScript(permitsReclaimSource + permitsFreeSource)
	permitsAcquireHardened   = newScript(onceSource + permitsStateSource + permitsAcquireHardenedSource)
	permitsReleaseHardened   = newScript(onceSource + permitsStateSource + permitsReleaseHardenedSource)
	permitsUpdateHardened    = newScript(onceSource + permitsStateSource + permitsUpdateHardenedSource)
	permitsSetHardened       = newScript(onceSource + permitsStateSource + permitsSetHardenedSource)
	permitsFreeHardened      = newScript(permitsStateSource + permitsFreeHardenedSource)
	spinUnlock               = newScript(spinUnlockSource)
)
