package health

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestSizesAreWordedForPeople(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 10239: "10239 bytes", 10240: "10 KiB", 12 << 20: "12 MiB", 9 << 20: "9216 KiB", 300 << 30: "300 GiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %s, not %s", n, got, want)
		}
	}
}

func TestWhatIsExhausted(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOSPC: true, syscall.EMFILE: true, syscall.EFBIG: true, syscall.ENOENT: false, syscall.ECONNREFUSED: false,
		Told("there is too little of it"): true, errors.New("there is too little of it"): false,
	} {
		if got := Exhausted(fmt.Errorf("so: %w", err)); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

// What nobody has is refused, and nobody is refused nothing.
func TestNeedsThatNoMachineMeets(t *testing.T) {
	const huge = 1 << 61
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"disk", Disk(dir, 0, huge), "the disk of " + dir + " has "},
		{"memory", Memory(huge), "the memory of this process has "},
		{"files", Files(huge), "2305843009213693952 open files are needed, and this process may have "},
	} {
		if Short(tt.err) == nil || !strings.HasPrefix(tt.err.Error(), tt.want) || strings.Contains(tt.err.Error(), "\n") {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
	if err := errors.Join(Disk(dir, 0, 0), Files(0)); err != nil {
		t.Error(err)
	}
	if err := Disk(dir+"/not/there", 0, 1); err != nil { // who knows; a write will tell
		t.Error(err)
	}
	if left := MemoryLeft(1); left > 1 {
		t.Errorf("of 1 byte %d are left", left)
	}
}

func TestLateTellsOfEachNap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		var naps []time.Duration
		done := make(chan struct{})
		go func() {
			Late(stop, time.Second, func(begun, now time.Time) {
				if naps = append(naps, now.Sub(begun)); len(naps) == 2 {
					time.Sleep(time.Minute) // what is done meanwhile is not late
				}
			})
			close(done)
		}()
		time.Sleep(63*time.Second + time.Millisecond)
		close(stop)
		<-done
		if fmt.Sprint(naps) != "[1s 1s 1s]" {
			t.Errorf("naps of %v", naps)
		}
	})
}

// The limit that is set for want of one is no limit of the user's; that which the user set stands.
func TestSpareSetsALimitOfItsOwn(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	debug.SetMemoryLimit(math.MaxInt64)
	Spare()
	set := debug.SetMemoryLimit(-1)
	if known := MemoryLeft(unlimited) < unlimited; known != (set < math.MaxInt64) {
		t.Errorf("it is known how much there is: %t; the limit is %d", known, set)
	}
	if got := goLimit(); got != nil {
		t.Errorf("it counts as GOMEMLIMIT: %+v", got)
	}
	debug.SetMemoryLimit(1 << 40)
	Spare()
	if got := goLimit(); debug.SetMemoryLimit(-1) != 1<<40 || len(got) != 1 || got[0].most != 1<<40 {
		t.Errorf("GOMEMLIMIT is %d: %+v", debug.SetMemoryLimit(-1), got)
	}
}

// In virtual time nobody is late.
func TestLatenessOfATimelyMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since := Lateness()
		time.Sleep(time.Second)
		if late := since(); late != 0 {
			t.Errorf("%v late", late)
		}
	})
}
