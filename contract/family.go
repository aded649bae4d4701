package contract

// The rules of the sequential specifications of the rest of the lock family; see package model. Only those of a
// semaphore, of a permit semaphore, of a latch and of a read-write lock, but for queries, are in [Rules]: no judge applies the others yet.
const (
	PermitsAreFree    Rule = "permits are granted only while as many are free"
	PermitsAreFew     Rule = "permits are refused only while fewer are free"
	SemaphoreSetOnce  Rule = "a semaphore's permits are set only while there is none"
	SemaphoreIsThere  Rule = "who gives permits is told whether there is a semaphore"
	PermitsAreCounted Rule = "a query of permits answers how many are free"
	DrainsAll         Rule = "a drain takes all permits that are free, and tells how many"

	PermitIsHeld     Rule = "only a permit that is taken, and whose lease is not over, is given back or prolonged"
	PermitNotRefused Rule = "the holder of a permit is not refused before its lease is over"
	PermitIsNew      Rule = "a permit is granted once"

	LatchSetAtZero Rule = "a latch is set only while its count is 0"
	ReturnsAtZero  Rule = "who waits for a latch returns only while its count is 0"
	TimeIsUpAbove  Rule = "who waits for a latch gives up only while its count is above 0"
	LatchDeleted   Rule = "who deletes a latch is told whether there was one"
	LatchIsCounted Rule = "a query of a latch answers its count"

	WritersAlone       Rule = "a write lock is granted only while nobody else reads or writes"
	ReadersWithReaders Rule = "a read lock is granted only while nobody else writes"
	SharedIsBusy       Rule = "a read-write lock is refused only while another is in the way"
	UpgradeOfAReader   Rule = "only who reads and does not write is told that it cannot take the write lock"
	UpgradeIsRefused   Rule = "who reads and asks for the write lock is told at once that it cannot have it"
	SharedIsReleased   Rule = "an unlock of a read-write lock answers what is left of the owner's holds"
	SharedIsHeld       Rule = "only a holder of a read-write lock gives it back or renews it"
	SharedNotRefused   Rule = "the holder of a read-write lock is not refused its unlock or its renewal"
	QueueOrder         Rule = "a fair lock that is waited for is granted to who has waited longest"
	QueueBusy          Rule = "a fair lock is refused only while another holds it or waits before"
	QueuePlace         Rule = "only who waits has a place in the queue"

	SharedTellsTruth Rule = "a query of a read-write lock answers how often its owner holds it"
)
