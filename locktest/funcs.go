package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Funcs is a [Lock] in the functions that most libraries have. What else the lock can do is said by methods of a type that
// embeds it.
type Funcs struct {
	// Try makes one attempt; Wait waits until it has the lock or its context ends. Either may be nil. A lock without Wait tries once
	// where it is asked to wait, and fails if that is too little. One without Try fails where one attempt is asked for.
	Try, Wait func(ctx context.Context, lease time.Duration) error
	Unlock    func(ctx context.Context) error

	Lease time.Duration // what is asked for where the plan asks for none; 0 is handed on
	// Busy is what the errors of Try and Wait are, or wrap, when somebody else holds the lock, and NotHeld those of Unlock when the
	// caller does not. [ErrBusy], [ErrNotHeld] and [ErrFailed] say so without them.
	Busy, NotHeld error
}

// Acquire implements [Lock].
func (f Funcs) Acquire(ctx context.Context, r Request) error {
	call, waits := f.Try, r.Forever || r.Wait > 0
	if waits && f.Wait != nil {
		if call = f.Wait; r.Wait > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, r.Wait)
			defer cancel()
		}
	}
	if call == nil {
		return fmt.Errorf("%w: it cannot but wait", ErrFailed)
	}
	err := call(ctx, cmp.Or(r.Lease, f.Lease))
	switch {
	case !says(err, f.Busy, ErrBusy):
		return err
	case waits && ctx.Err() == nil:
		return fmt.Errorf("%w: it does not wait for so long: %v", ErrFailed, err) // %v: nor is it known to be busy
	}
	return errors.Join(ErrBusy, err)
}

// Release implements [Lock].
func (f Funcs) Release(ctx context.Context) error {
	err := f.Unlock(ctx)
	if says(err, f.NotHeld, ErrNotHeld) {
		return errors.Join(ErrNotHeld, err)
	}
	return err
}

// says reports whether an error is one of two, the first of which may be nil.
func says(err, own, ours error) bool {
	return err != nil && (own != nil && errors.Is(err, own) || errors.Is(err, ours))
}
