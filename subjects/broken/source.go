package broken

import (
	"fmt"
	"slices"
	"strings"
)

// SourceMutant is the reference lock with one small mistake in its own source. It is compiled, not
// wrapped, so that the mistake can be anywhere in the lock: see "simrun mutants -source".
//
// Its author had not read how locks are judged. To add one: a line in one of the lists of
// source*.go; whoever adds it says which promise it breaks, and not what will catch it.
type SourceMutant struct {
	Name  string
	About string // what the mistake is
	Sound string // the subject that it shows in
	Claim string // the promise that it breaks
	Edits []Edit

	Unseen string // why no run can show it; "": it must be caught
}

// Edit replaces Old, which occurs exactly once in File (a path below lockimpl), by New.
type Edit struct{ File, Old, New string }

// SourceMutants returns the mistakes, by promise.
func SourceMutants() []SourceMutant {
	return slices.Concat(inCounts(), inLeases(), inWatchdog(), inLost(), inRequests(), inGhosts(), inTokens(),
		inForce(), inAnswers(), inWakeUps(), inWaits(), inErrors(), inMulti(), inRed(), inClose(), planted(), plantedLater(), ownMistakes(), plantedAfresh(), plantedUnseen(), plantedOnceMore(),
		inSpins(), inQueues(), plantedReaders(), inPermits(), plantedThirty(), plantedThirtyFirst(), plantedThirtySecond(), plantedThirtyThird(), plantedFortySixth(), plantedFortySeventh(), plantedTold(), plantedLate())
}

// FindSourceMutant returns the mistake of that name.
func FindSourceMutant(name string) (SourceMutant, bool) {
	for _, m := range SourceMutants() {
		if m.Name == name {
			return m, true
		}
	}
	return SourceMutant{}, false
}

// Apply returns the files of lockimpl that the mistake changes, as they are with it, by their paths
// below lockimpl. It is an error if an edit does not fit the source that read returns.
func (m SourceMutant) Apply(read func(file string) ([]byte, error)) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.Edits {
		source, edited := files[e.File]
		if !edited {
			b, err := read(e.File)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			source = string(b)
		}
		if n := strings.Count(source, e.Old); n != 1 {
			return nil, fmt.Errorf("%s: %q occurs %d times in lockimpl/%s, not once", m.Name, e.Old, n, e.File)
		}
		files[e.File] = strings.Replace(source, e.Old, e.New, 1)
	}
	return files, nil
}

// source is a mistake of one edit.
func source(name, sound, claim, about, file, old, new string) SourceMutant {
	return SourceMutant{Name: name, About: about, Sound: sound, Claim: claim, Edits: []Edit{{file, old, new}}}
}

// unseen is a mistake that no run can show, and why.
func unseen(m SourceMutant, why string) SourceMutant {
	m.Unseen = why
	return m
}

// The subjects that mistakes show in.
const (
	classic  = "rlock-classic"
	combined = "rlock-combined"
	latch    = "rlock-latch"
	hardened = "rlock-hardened"
	fenced   = "rlock-fenced"
)

// The promises.
const (
	counts    = "whoever locks twice as one owner is let in twice, and must unlock twice"
	longest   = "a re-entry with a shorter lease does not cut the lease short"
	partial   = "after a partial unlock the lease is set anew to that of the hold that remains"
	leased    = "a lock with a lease ends by itself after it, and is not renewed"
	renews    = "the watchdog renews every hold without a lease every third of its timeout"
	retries   = "a failed renewal is tried again soon, and a later round tries again"
	stops     = "a renewal that is refused ends that hold's renewal and no other, and an unlock ends it"
	told      = "Lost is closed when the hold is lost, before anybody else can have the lock"
	untold    = "Lost is closed neither by an unlock nor while the hold stands"
	context_  = "HoldContext ends when its parent does, and when the hold is lost or unlocked for the last time"
	once      = "a request that is sent again takes effect once, and gets the first answer"
	overtakes = "a delayed copy of a request does nothing after a later request of its owner"
	ghosts    = "what a call that failed or was given up got is given back"
	tokens    = "tokens increase from grant to grant, and a re-entry has that of its grant"
	eternal   = "FencedLock counts from 1, for ever, on Redisson's key"
	forces    = "ForceUnlock frees the lock at once whoever holds it, and says whether anybody did"
	tells     = "inspections answer what the server knows"
	woken     = "a release wakes a waiter promptly"
	quiet     = "there is no polling: a waiter sends nothing without a reason"
	budget    = "TryLock waits as long as Wait says, and not much longer"
	canceled  = "a call ends at once when its context does"
	lingers   = "a subscription is kept for a second after its last waiter, and then dropped"
	outcome   = "an error says whether the call may have taken effect"
	refusal   = "an owner that does not hold the lock gets ErrNotHeld"
	elapsed   = "a grant whose answer comes when its lease is over is none, and is given back"
	all       = "a MultiLock holds all of its locks or none"
	each      = "MultiLock.Unlock tries every member, whatever becomes of the others"
	quorum    = "a RedLock is held by whoever holds it on more than half of its servers"
	validity  = "a RedLock subtracts the time spent and the clocks' drift from the lease"
	returns   = "a RedLock that got no quorum gives back what it got"
	closes    = "Close returns when all calls and goroutines have ended, and tells whoever waits"
)
