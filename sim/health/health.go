package health

import (
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"
	"time"
)

// Shortage says of what there is too little, in one line.
type Shortage struct {
	text string
	left uint64
}

func (s *Shortage) Error() string { return s.text }

// shortage words a supply of bytes that is too small.
func shortage(what string, left uint64, of string, need uint64) *Shortage {
	if of != "" {
		of = " of " + of
	}
	return &Shortage{fmt.Sprintf("%s has %s left%s, and %s are needed", what, Size(left), of, Size(need)), left}
}

// Short is the shortage among the causes of err, or nil.
func Short(err error) *Shortage {
	var s *Shortage
	errors.As(err, &s)
	return s
}

// Told is a *[Shortage] of another process, by its text.
func Told(text string) error { return &Shortage{text: text} }

// Exhausted reports whether an error says that this machine has nothing left, or no more for this process: that is
// nobody's fault who is tried on it.
func Exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL,
		syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return Short(err) != nil
}

// supply is how much there is of something.
type supply struct {
	left, most uint64
	of         string
	spare      uint64 // how much of left cannot be counted on
}

// reserve is how much memory is left to end with, if the limit is not small.
const reserve = 64 << 20

// floor is how much must be left.
func (s supply) floor() uint64 { return min(reserve, s.most/8) + s.spare }

// Memory returns how many bytes this process may yet use, by the tightest limit there is: of the machine, its cgroups, its
// resource limits, and GOMEMLIMIT. More is a *[Shortage].
func Memory(need uint64) error {
	var tightest error
	for _, s := range memory() {
		if need := need + s.floor(); s.left < need {
			if t := Short(tightest); t == nil || s.left < t.left {
				tightest = shortage("the memory of this process", s.left, s.of, need)
			}
		}
	}
	return tightest
}

// MemoryLeft is how many bytes [Memory] grants, or most if that is less.
func MemoryLeft(most uint64) uint64 {
	for _, s := range memory() {
		most = min(most, s.left-min(s.left, s.floor()))
	}
	return most
}

// lookEvery is how often [Watch] looks. A look takes less than a hundredth of it.
const lookEvery = 50 * time.Millisecond

// Watch looks at the memory that is left, until stop is closed, and calls short whenever what is left would not last until
// a look after the next. What garbage takes does not count.
func Watch(stop <-chan struct{}, short func(error)) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	before := map[int]uint64{}
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		low := false
		for i, s := range memory() {
			was, known := before[i]
			before[i] = s.left
			low = low || s.left < s.floor() || known && s.left < was && s.left-min(s.left, s.floor()) < 2*(was-s.left)
		}
		if !low {
			continue
		}
		debug.FreeOSMemory()
		if err := Memory(0); err != nil {
			short(err)
		}
	}
}

// Files returns a *[Shortage] if this process may not have so many files open.
func Files(need uint64) error {
	if may := descriptors(); may < need {
		return &Shortage{fmt.Sprintf("%d open files are needed, and this process may have %d (ulimit -n)", need, may), may}
	}
	return nil
}

// Disk returns a *[Shortage] if the disk of a folder, or the limit on the length of a file of which so many bytes are
// written, has less than need bytes left. Quotas show only when something is written.
func Disk(dir string, written, need uint64) error {
	left, of := room(dir)
	if most := fileSize(); most-min(most, written) < left {
		left, of = most-min(most, written), "the "+Size(most)+" that a file may have (ulimit -f)"
	}
	if left < need {
		return shortage("the disk of "+dir, left, of, need)
	}
	return nil
}

// Late calls each with when a goroutine of this process began to sleep for nap, and when it went on, again and again until stop is
// closed. What it is later than due is for want of a processor.
func Late(stop <-chan struct{}, nap time.Duration, each func(begun, now time.Time)) {
	t := time.NewTimer(nap)
	defer t.Stop()
	for {
		begun := time.Now()
		t.Reset(nap)
		select {
		case <-stop:
			return
		case <-t.C:
		}
		each(begun, time.Now())
	}
}

// Lateness looks from now on how late this process is for want of a processor. What it returns ends that, and says how much it was
// at the worst.
func Lateness() func() time.Duration {
	const nap = 5 * time.Millisecond
	stop, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		most := time.Duration(0)
		Late(stop, nap, func(begun, now time.Time) { most = max(most, now.Sub(begun)-nap) })
		worst <- most
	}()
	return func() time.Duration {
		close(stop)
		return <-worst
	}
}

// Size words a number of bytes for people.
func Size(n uint64) string {
	for i, unit := range []string{"bytes", "KiB", "MiB"} {
		if n>>(10*i) < 10<<10 {
			return fmt.Sprintf("%d %s", n>>(10*i), unit)
		}
	}
	return fmt.Sprintf("%d GiB", n>>30)
}
