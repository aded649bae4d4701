// Package windows cuts a history into parts that can be judged by themselves, while it is recorded: memory does not grow
// with the history. A window ends where nobody calls the lock, holds it, or may yet do either: what comes then cannot
// depend on what was, except that tokens go on rising.
//
// It must not know how a window is judged.
package windows
