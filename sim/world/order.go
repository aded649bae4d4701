package world

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/network"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// An Orderer decides what happens first of all that could happen at one moment, where otherwise
// latencies do: then a message takes no time, a program's step follows at once on the one before,
// and time passes only when nothing else can happen. It is called from the world's goroutine.
type Orderer interface {
	// Choose returns which of the steps happens next. They are sorted by name. -1 abandons the run.
	Choose(steps []Step) int
	// Done says what the step that was chosen last has touched.
	Done(t Touched)
}

// Step is something that could happen now: the arrival of the message that is first in a queue, or
// the next step of a program. Its name is that of the queue or the program, so that of two steps of
// one name the first has to happen before the second can.
type Step struct {
	Name  string
	Born  int // how many steps had happened when it was written, or when the program began to wait
	Epoch int // how often time had passed
}

// Touched is what a step has read or changed. What it changed of a client's or a server's state is
// known by where it happened; two steps that touch nothing in common could have happened in the
// other order.
type Touched struct {
	Client string   // in whose process it happened
	Keys   []string // keys, channels and scripts at servers, and what faults count
	Reads  []string // the same, of which the order in which they were touched so makes no difference
	Marks  []Mark   // what programs did that can be seen from outside
	Broke  string   // a connection with all that was under way on it
	All    bool     // a fault struck that may have touched anything
	Place  Place    // what a fault could strike
}

// Mark is the beginning or the end of a program's call on a lock, or an access to its resource.
type Mark struct{ What, Lock string }

// What a mark can say.
const (
	Called   = "call"
	Returned = "return"
	Read     = "read"
	Wrote    = "write"
)

// Place is a message as a trigger names it. The zero value is none.
type Place struct {
	Client  string
	Request bool
	Kind    plan.MessageKind
}

// ordering is a world whose events an Orderer puts in order.
type ordering struct {
	by      Orderer
	count   int // steps so far
	epoch   int
	last    time.Duration              // when the last one happened
	pending bool                       // it has still to be told what the last one touched
	touched Touched                    // by the last one; w.mu guards Marks
	hears   map[*network.Link][]string // the channels that it was ever asked to listen to
}

// Order has o decide. It is to be called before Run.
func (w *World) Order(o Orderer) {
	w.order = &ordering{by: o, last: -tick, hears: map[*network.Link][]string{}}
}

// ErrAbandoned is a run's error when its orderer abandoned it.
var ErrAbandoned = errors.New("world: the run was abandoned")

// tick is between any two steps, so that no two things happen at once. It is so short that a run's
// steps together take less than any timer.
const tick = time.Microsecond

// Mark notes what a program does. Programs may call it.
func (w *World) Mark(what, lock string) {
	if w.order == nil {
		return
	}
	w.mu.Lock()
	w.order.touched.Marks = append(w.order.touched.Marks, Mark{what, lock})
	w.mu.Unlock()
}

// stepNumber is how many steps there were; w.mu need not be held.
func (w *World) stepNumber() int {
	if w.order == nil {
		return 0
	}
	return w.order.count
}

// struckSome notes that a fault struck in this step.
func (w *World) struckSome() {
	if w.order != nil {
		w.order.touched.All = true
	}
}

// told tells the orderer what the last step has touched.
func (w *World) told() {
	o := w.order
	if o == nil || !o.pending {
		return
	}
	o.pending = false
	w.mu.Lock()
	t := o.touched
	o.touched = Touched{}
	w.mu.Unlock()
	o.by.Done(t)
}

// choice is a step, and how to take it.
type choice struct {
	Step
	call int64 // breaks ties
	take func()
}

// ordered returns the step that the orderer chooses, or what is due when there is none.
func (w *World) ordered(now time.Duration) event {
	o := w.order
	w.told()
	if due := w.timed(); due.happen != nil && due.at <= now {
		return due
	}
	steps := w.steps(now)
	if len(steps) == 0 {
		next := w.next()
		if next.happen != nil && next.at > now {
			o.epoch++
		}
		return next
	}
	if now < o.last+tick {
		return event{o.last + tick, func() {}}
	}
	names := make([]Step, len(steps))
	for i := range steps {
		names[i] = steps[i].Step
	}
	i := o.by.Choose(names)
	if i < 0 {
		w.Fail(ErrAbandoned)
		return event{now, func() {}}
	}
	return event{now, func() {
		o.count++
		o.last, o.pending = now, true
		steps[i].take()
	}}
}

// steps lists what could happen now, sorted by name.
func (w *World) steps(now time.Duration) []choice {
	o := w.order
	var all []choice
	w.mu.Lock()
	for _, s := range w.sleepers {
		if w.frozen[s.client] > 0 || w.dead[s.client] || s.at > now && !s.cut {
			continue
		}
		all = append(all, choice{Step{Name: s.step(), Born: s.born, Epoch: o.epoch}, s.call, func() {
			w.touch(Touched{Client: s.client})
			w.rouse(s)
		}})
	}
	w.mu.Unlock()
	for _, s := range w.servers {
		for _, m := range s.net.Heads() {
			if m.Due.Sub(w.began) > now {
				continue
			}
			name := m.Link.Name + map[network.Direction]string{network.ToServer: ">", network.ToClient: "<"}[m.Dir]
			all = append(all, choice{Step{Name: name, Born: m.Born, Epoch: o.epoch}, 0, func() {
				w.touch(w.touchedBy(s, m))
				w.deliver(s, m)
			}})
		}
	}
	slices.SortFunc(all, func(a, b choice) int { return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.call, b.call)) })
	return all
}

func (w *World) touch(t Touched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Marks = append(t.Marks, w.order.touched.Marks...)
	w.order.touched = t
}

// touchedBy says what the arrival of a message touches: at a client its process, at a server the keys
// and channels that a command names, and the script that it runs, which the server then knows. Who
// else listens to a channel makes no difference to one who begins or ceases to.
func (w *World) touchedBy(s *server, m *network.Message) Touched {
	var t Touched
	n := noteOf(m)
	switch {
	case m.Dir == network.ToClient:
		if !m.Link.Copy {
			t.Client = m.Link.Client
		}
		if n != nil && !n.idle {
			t.Place = Place{m.Link.Client, false, plan.MessageKind(n.step)}
		}
		return w.counted(t)
	case n == nil || len(m.Args) == 0:
		t.Reads = w.order.hears[m.Link] // it may be the end of the connection
		return t
	}
	switch digest := scriptDigest(m.Args); {
	case digest == "":
	case strings.EqualFold(m.Args[0], "evalsha"):
		t.Reads = append(t.Reads, s.name+" script "+digest)
		if !s.knows[digest] {
			return t // the answer is that the script is not known
		}
	default:
		t.Keys = append(t.Keys, s.name+" script "+digest)
	}
	if n.step == history.StepSession {
		return t
	}
	t.Place = Place{m.Link.Client, true, plan.MessageKind(n.step)}
	var keys []string
	for _, a := range m.Args[1:] {
		if len(w.locksIn(s, []string{a})) > 0 && len(a) < 200 {
			keys = append(keys, s.name+" key "+a)
		}
	}
	if strings.HasSuffix(strings.ToLower(m.Args[0]), "subscribe") {
		t.Reads = append(t.Reads, keys...)
		w.order.hears[m.Link] = append(w.order.hears[m.Link], keys...)
	} else {
		t.Keys = append(t.Keys, keys...)
	}
	return w.counted(t)
}

// counted adds that faults count the messages at a place to strike the n-th.
func (w *World) counted(t Touched) Touched {
	for _, f := range w.watching {
		at := f.trigger
		if f.fault.When == nil || at.Client != "" && at.Client != t.Place.Client {
			continue
		}
		if at.Between != nil || t.Place.Request && at.Request == t.Place.Kind || !t.Place.Request && at.Reply == t.Place.Kind {
			t.Keys = append(t.Keys, "place "+strconv.Itoa(f.index))
		}
	}
	return t
}

// vanished says that the message of this step was lost, of which nobody heard.
func (w *World) vanished() {
	if w.order != nil {
		t := &w.order.touched
		t.Client, t.Reads = "", nil
		t.Keys = slices.DeleteFunc(t.Keys, func(key string) bool { return !strings.HasPrefix(key, "place ") })
	}
}

// snapped says that a connection broke in this step: its client knows, and the server, which sends it
// no more of what it listened to.
func (w *World) snapped(l *network.Link) {
	if w.order != nil {
		w.vanished()
		t := &w.order.touched
		t.Client, t.Broke, t.Reads = l.Client, l.Name, w.order.hears[l]
	}
}

// step is a sleeper's name as a step.
func (s *sleeper) step() string {
	if !s.sends() {
		return "wake " + s.name
	}
	sum := sha256.Sum256([]byte(s.name))
	return "send " + s.client + " " + hex.EncodeToString(sum[:4])
}

// listed takes the steps of a list in their order, each as soon as it can be taken, and those that
// are in no list by name.
type listed struct{ left []string }

// Follow returns an orderer that takes steps in the order of a list of names.
func Follow(names []string) Orderer { return &listed{slices.Clone(names)} }

func (f *listed) Choose(steps []Step) int {
	for i, name := range f.left {
		at := slices.IndexFunc(steps, func(s Step) bool { return s.Name == name })
		if at >= 0 {
			f.left = slices.Delete(f.left, i, i+1)
			return at
		}
	}
	return 0
}

func (f *listed) Done(Touched) {}
