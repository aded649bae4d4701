package bubble

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Goroutine is a goroutine of the code under test, as its stack shows it.
type Goroutine struct {
	Name    string // of its function
	State   string // as Go has it, such as "sync.Mutex.Lock"
	At      string // file and line, of the innermost call that is not the standard library's
	Started string // file and line of the go statement, or of the function that a timer called
	durable bool
	id      int64
	parent  int64 // of a goroutine of no bubble, whose go statement it was; 0: nobody's, as a timer's, -1: it began the program
}

func (g Goroutine) String() string {
	doing := "is in " + g.State
	switch {
	case g.waitsForMutex():
		doing = "waits for a mutex"
	case g.State == "IO wait" || g.State == "syscall":
		doing = "waits for something outside of the run, such as the network,"
	case g.State == "running" || g.State == "runnable":
		doing = "does not come to rest"
	}
	return fmt.Sprintf("the goroutine %s, started at %s, %s at %s", g.Name, g.Started, doing, g.At)
}

func (g Goroutine) waitsForMutex() bool {
	return strings.HasPrefix(g.State, "sync.Mutex") || strings.HasPrefix(g.State, "sync.RWMutex")
}

// busy reports whether a goroutine can go on by itself, or waits for the runtime.
func (g Goroutine) busy() bool {
	return slices.Contains([]string{"running", "runnable", "preempted", "semacquire", "stopping the world"}, g.State) || strings.Contains(g.State, "GC")
}

// StallError says that a bubble could not go on, and who is in its way.
type StallError struct{ Stall }

func (e *StallError) Error() string {
	why := fmt.Sprintf("a run in virtual time came to a stop for %v of real time: ", Patience)
	if e.Mutex {
		why = "virtual time stands still while anybody waits for a mutex, and its holder sleeps: "
	}
	return why + listed(e.Goroutines)
}

// LeftError says that goroutines were left behind.
type LeftError struct{ Goroutines []Goroutine }

func (e *LeftError) Error() string {
	if len(e.Goroutines) == 0 {
		return "goroutines were left behind"
	}
	return "left behind after Close: " + listed(e.Goroutines)
}

func listed(all []Goroutine) string {
	text := all[0].String()
	if more := len(all) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Caller is the calling goroutine.
func Caller() Goroutine {
	buf := make([]byte, 1<<16)
	head, stack, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "\n")
	_, state, _ := strings.Cut(head, " [")
	state, _, _ = strings.Cut(state, ",")
	g := Goroutine{State: strings.TrimSuffix(state, "]:"), id: numberOf(head)}
	g.trace(strings.Split(strings.TrimSuffix(stack, "\n"), "\n"))
	return g
}

// Number is the calling goroutine's, by which [Goroutine.Is] knows it.
func Number() int64 {
	var b [64]byte
	return numberOf(string(b[:runtime.Stack(b[:], false)]))
}

// numberOf is the number in the first line of a stack.
func numberOf(head string) int64 {
	number, _, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

// Is reports whether a goroutine has a number.
func (g Goroutine) Is(number int64) bool { return g.id != 0 && g.id == number }

// ownBubble is the bubble of the caller, as stacks name it.
func ownBubble() string {
	var b [128]byte
	head, _, _ := bytes.Cut(b[:runtime.Stack(b[:], false)], []byte("\n"))
	i := bytes.Index(head, []byte("synctest bubble "))
	if i < 0 {
		return ""
	}
	id, _, _ := bytes.Cut(head[i:], []byte("]"))
	return string(id)
}

// restless returns the goroutines of a bubble that are not durably blocked, and whether all of them wait for mutexes. sure says
// that no other goroutine can be of the bubble, and able to go on. known are the goroutines that were ever seen in it.
//
// The runtime takes a goroutine out of its bubble while it starts the garbage collector or helps it, whatever mutex it has. It is
// in none then. What gives it away is that it was in the bubble before, or its creator was, or that its creator is gone.
func restless(bubble string, known map[int64]bool) (mutex, sure bool, all []Goroutine) {
	all, others := goroutines(bubble)
	for _, g := range all {
		known[g.id] = true
	}
	there := map[int64]bool{}
	for _, g := range others {
		there[g.id] = true
	}
	sure = !slices.ContainsFunc(others, func(g Goroutine) bool {
		return known[g.id] || known[g.parent] || g.busy() && g.parent >= 0 && !there[g.parent]
	})
	all = slices.DeleteFunc(all, func(g Goroutine) bool { return g.durable })
	mutex = !slices.ContainsFunc(all, func(g Goroutine) bool { return !g.waitsForMutex() })
	// The bubble's own goroutine, which asks, may wait for a processor for long, while others keep all busy.
	if named := slices.DeleteFunc(slices.Clone(all), func(g Goroutine) bool { return strings.HasPrefix(g.At, "bubble/stall.go:") }); len(named) > 0 {
		all = named
	}
	return mutex, sure, all
}

// goroutines returns those of a bubble, and those of none.
func goroutines(bubble string) (all, others []Goroutine) {
	buf := make([]byte, 1<<18)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 1<<26 {
		buf = make([]byte, 2*n)
		n = runtime.Stack(buf, true)
	}
	for text := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		head, stack, _ := strings.Cut(text, "\n")
		_, state, _ := strings.Cut(head, " [")
		state, _, _ = strings.Cut(state, ",")
		g := Goroutine{State: strings.TrimSuffix(state, "]:"), parent: -1, id: numberOf(head)}
		g.State, g.durable = strings.CutSuffix(g.State, " (durable)")
		switch {
		case strings.HasSuffix(head, bubble+"]:"):
			g.trace(strings.Split(strings.TrimSuffix(stack, "\n"), "\n"))
			all = append(all, g)
		case !strings.Contains(head, "synctest bubble"):
			if _, made, ok := strings.Cut(stack, "\ncreated by "); ok {
				made, _, _ = strings.Cut(made, "\n")
				_, made, _ = strings.Cut(made, " in goroutine ")
				g.parent, _ = strconv.ParseInt(made, 10, 64)
			}
			others = append(others, g)
		}
	}
	return all, others
}

// trace reads what a stack says: pairs of lines, a call and where it is. What the harness does is left out, if there is
// anything else.
func (g *Goroutine) trace(lines []string) {
	own := false // what it does is not all the harness's or the standard library's
	for i := 0; i+1 < len(lines); i += 2 {
		call, at := lines[i], place(lines[i+1])
		if from, made := strings.CutPrefix(call, "created by "); made {
			if !standard(from) || !own {
				g.Started = at
			}
			return
		}
		theirs := standard(call) || harness(call)
		if g.Started = at; !own || !theirs {
			g.Name = function(call)
		}
		if !theirs && !own || g.At == "" && !standard(call) {
			g.At = at // of the harness, unless there is more
		}
		own = own || !theirs
	}
}

// function is the name of the function that is called, without the folders of its package.
func function(call string) string {
	if i := strings.LastIndex(call, "("); i > 0 {
		call = call[:i]
	}
	return path.Base(call)
}

// place is a file with its folder, and the line.
func place(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	dir, file := path.Split(strings.ReplaceAll(text, `\`, "/"))
	return path.Join(path.Base(dir), file)
}

// harness reports whether a function is of the packages that call locks.
func harness(call string) bool {
	dir, name := path.Split(call)
	pkg, _, _ := strings.Cut(name, ".")
	return slices.Contains([]string{"sim", "sim/world", "sim/network", "sim/fault", "locktest"}, strings.TrimPrefix(dir+pkg, "github.com/holdfast-sim/holdfast/"))
}

// standard reports whether a function is of the standard library, as far as those go that block.
func standard(call string) bool {
	pkg, _, _ := strings.Cut(call, ".")
	pkg, _, _ = strings.Cut(pkg, "/")
	return slices.Contains([]string{"bufio", "context", "internal", "io", "iter", "net", "os", "runtime", "sync", "syscall", "testing", "time"}, pkg)
}
