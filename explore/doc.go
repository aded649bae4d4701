// Package explore hunts for plans under which a lock breaks what it claims: it draws plans by seed
// (or takes one and has everything happen in every order), runs and judges them, and says what of
// the verdict is the lock's own fault.
//
// It knows no processes, files of reports or flags: who runs a shard of seeds stands behind
// [Executor]. It uses package checker's verdicts and adds none of its own.
//
// To add a strategy: copy uniform in strategy.go, and add one line to [Strategies].
package explore
