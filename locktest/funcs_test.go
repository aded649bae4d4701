package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/locktest"
)

var errTaken, errGone, errNet = errors.New("taken"), errors.New("gone"), errors.New("no network")

// What is asked goes to the function that can do it, and what it says comes back in the harness's words.
func TestFuncsSayWhatTheLockSaid(t *testing.T) {
	said := func(call string, err error, asked *string) func(context.Context, time.Duration) error {
		return func(ctx context.Context, lease time.Duration) error {
			_, ends := ctx.Deadline()
			*asked = fmt.Sprint(call, " ", lease, " ", ends)
			if err == context.DeadlineExceeded { // it has waited for as long as it was to
				<-ctx.Done()
				return errTaken
			}
			return err
		}
	}
	for _, tt := range []struct {
		name      string
		try, wait bool // the lock has it
		r         locktest.Request
		err       error
		asked     string // of whom, for what lease, and whether that ends
		want      error
	}{
		{"one attempt", true, true, locktest.Request{}, nil, "try 30s false", nil},
		{"one attempt for a lease", true, true, locktest.Request{Lease: time.Second}, nil, "try 1s false", nil},
		{"one attempt finds it taken", true, true, locktest.Request{}, fmt.Errorf("it is %w", errTaken), "try 30s false", locktest.ErrBusy},
		{"one attempt says so by itself", true, true, locktest.Request{}, locktest.ErrBusy, "try 30s false", locktest.ErrBusy},
		{"an attempt that nobody knows of", true, true, locktest.Request{}, errNet, "try 30s false", errNet},
		{"for ever", true, true, locktest.Request{Forever: true}, nil, "wait 30s false", nil},
		{"for some time", true, true, locktest.Request{Wait: time.Hour}, nil, "wait 30s true", nil},
		{"it gives up too soon", true, true, locktest.Request{Wait: time.Hour}, errTaken, "wait 30s true", locktest.ErrFailed},
		{"it gives up when its time is over", true, true, locktest.Request{Wait: 1}, context.DeadlineExceeded, "wait 30s true", locktest.ErrBusy},
		{"it cannot wait, and need not", true, false, locktest.Request{Forever: true}, nil, "try 30s false", nil},
		{"it cannot wait, and would have to", true, false, locktest.Request{Forever: true}, errTaken, "try 30s false", locktest.ErrFailed},
		{"it can only wait", false, true, locktest.Request{}, nil, "", locktest.ErrFailed},
	} {
		var asked string
		f := locktest.Funcs{Lease: 30 * time.Second, Busy: errTaken}
		if tt.try {
			f.Try = said("try", tt.err, &asked)
		}
		if tt.wait {
			f.Wait = said("wait", tt.err, &asked)
		}
		err := f.Acquire(t.Context(), tt.r)
		if !errors.Is(err, tt.want) || asked != tt.asked {
			t.Errorf("%s: %v, and %q was asked for", tt.name, err, asked)
		}
		for _, other := range []error{locktest.ErrBusy, locktest.ErrFailed} { // it says no more than that
			if other != tt.want && errors.Is(err, other) {
				t.Errorf("%s: it says %q, too", tt.name, other)
			}
		}
	}
}

func TestFuncsSayWhatTheUnlockSaid(t *testing.T) {
	for _, tt := range []struct{ said, own, want error }{
		{nil, errGone, nil},
		{fmt.Errorf("it is %w", errGone), errGone, locktest.ErrNotHeld},
		{locktest.ErrNotHeld, nil, locktest.ErrNotHeld},
		{errNet, errGone, errNet},
		{errGone, nil, errGone},
	} {
		err := locktest.Funcs{Unlock: func(context.Context) error { return tt.said }, NotHeld: tt.own}.Release(t.Context())
		if !errors.Is(err, tt.want) || tt.want != locktest.ErrNotHeld && errors.Is(err, locktest.ErrNotHeld) {
			t.Errorf("%v, which may be %v: %v", tt.said, tt.own, err)
		}
	}
}
