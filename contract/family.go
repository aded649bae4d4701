package contract

// The rules of the sequential specifications of the rest of the lock family; see package model. They are not in [Rules] before
// there are judges that apply them.
const (
	PermitsAreFree    Rule = "permits are granted only while as many are free"
	PermitsAreFew     Rule = "permits are refused only while fewer are free"
	SemaphoreSetOnce  Rule = "a semaphore's permits are set only while there is none"
	SemaphoreIsThere  Rule = "who gives permits is told whether there is a semaphore"
	PermitsAreCounted Rule = "a query of permits answers how many are free"

	LatchSetAtZero Rule = "a latch is set only while its count is 0"
	ReturnsAtZero  Rule = "who waits for a latch returns only while its count is 0"
	TimeIsUpAbove  Rule = "who waits for a latch gives up only while its count is above 0"
	LatchDeleted   Rule = "who deletes a latch is told whether there was one"
	LatchIsCounted Rule = "a query of a latch answers its count"
)
