package goals

// Rows is what exemptions need of a lock.
var Rows = rows
