package lockimpl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Every error of an operation is an [*Error] around one of these, around the context's error, or
// around what go-redis returned. Recognise them with [errors.Is] and [errors.As].
var (
	ErrNotHeld          = errors.New("not held by this owner")
	ErrClosed           = errors.New("lock client is closed")
	ErrLost             = errors.New("the hold was lost: its lease ended, or it was released by force")
	ErrSuperseded       = errors.New("a later request of this owner was executed first: is the client id in use twice?")
	ErrNoReply          = errors.New("the server did not answer within the wait")
	ErrElapsed          = errors.New("acquiring took longer than the lease; everything was released")
	ErrGeneration       = errors.New("needs generation hardened")
	ErrUpgrade          = errors.New("this owner holds the read lock, and who reads cannot take the write lock")
	ErrSubscribeTimeout = errors.New("subscription was not confirmed in time")
	ErrNotSet           = errors.New("there is no such semaphore: nobody has set its permits, or its time is over")

	ErrBadName  = errors.New("bad lock name: must not be empty, and braces must enclose a hash tag")
	ErrBadOwner = errors.New("bad owner: must not be empty")
	ErrBadLease = errors.New("bad lease: must be at least 1ms")
	ErrBadWait  = errors.New("bad wait: must not be negative, and only TryLock takes one")

	ErrBadPermits = errors.New("bad number of permits, or count: out of range")
	ErrBadOption  = errors.New("bad option: this operation does not take it, or it is empty")
)

// Error says which operation on which lock failed, and why.
type Error struct {
	Op    string // the method: "Lock", "TryLock", "Unlock", ...
	Lock  string // the lock's name
	Owner Owner  // empty where the operation has none
	Err   error
}

func (e *Error) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s %q: %v", e.Op, e.Lock, e.Err)
	}
	return fmt.Sprintf("%s %q by %s: %v", e.Op, e.Lock, e.Owner, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether the failed operation may have taken effect on the server all the
// same: its reply was lost, late, or not waited for, which may also be when the server refused a copy
// that go-redis sent again, for the first copy may have run. It is false for nil, for refused
// arguments, for a closed client, and for any other answer of the server.
func OutcomeUnknown(err error) bool {
	var again *resent
	var answered redis.Error
	var members *memberErrors
	switch {
	case err == nil:
		return false
	case errors.As(err, &members):
		return slices.ContainsFunc(members.errs, OutcomeUnknown)
	case errors.As(err, &again):
		return true
	case errors.As(err, &answered):
		return false
	case errors.Is(err, errNotSent):
		return false
	}
	for _, known := range []error{ErrNotHeld, ErrClosed, ErrLost, ErrSuperseded, ErrElapsed, ErrNoQuorum, ErrGeneration, ErrSubscribeTimeout,
		ErrBadName, ErrBadOwner, ErrBadLease, ErrBadWait, ErrNotSet, ErrUpgrade, ErrBadPermits, ErrBadOption} {
		if errors.Is(err, known) {
			return false
		}
	}
	return true
}

// memberErrors joins the errors of a lock's members, as [errors.Join] does. What became of one of them may be
// unknown though that of another is not.
type memberErrors struct{ errs []error }

// joinMembers returns the errors that are not nil as one, nil if there is none.
func joinMembers(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return &memberErrors{errs}
}

func (e *memberErrors) Error() string   { return errors.Join(e.errs...).Error() }
func (e *memberErrors) Unwrap() []error { return e.errs }

// errNotSent marks a context's error that came before anything was sent, or while nothing was
// under way.
var errNotSent = errors.New("nothing was sent")

// notSent is ctx's error with that mark.
func notSent(ctx context.Context) error { return &idleError{ctx.Err()} }

type idleError struct{ error }

func (e *idleError) Unwrap() []error { return []error{e.error, errNotSent} }
