package sim_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
	"github.com/holdfast-sim/holdfast/subjects/libraries"
)

// A print is what must be the same whenever a run is repeated: the trace over all messages, and
// every byte of the files it leaves, the order in which its records became known included.
type print struct {
	Trace    string `json:"trace"`
	Messages int    `json:"messages"`
	Files    string `json:"files"` // hash of history, server log, and the stream of records
}

// repeatable is one run of the tests below.
type repeatable struct {
	scenario scenarios.Scenario
	subject  subjects.Subject
	seed     uint64
}

func (r repeatable) String() string {
	return fmt.Sprintf("%s/%s/%d", r.scenario.Name, r.subject.Name, r.seed)
}

func (r repeatable) run(t *testing.T) (print, *history.History, []byte) {
	t.Helper()
	var stream, files bytes.Buffer
	h, err := sim.Run(bubble.In(t), r.scenario.Plan(r.seed), r.subject, sim.Options{
		Seed: r.seed, Scenario: r.scenario.Name,
		Sink: func(record any) {
			if err := history.Encode(&stream, record); err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	if err := history.Save(&files, h); err != nil {
		t.Fatal(err)
	}
	if err := history.SaveServed(&files, h); err != nil {
		t.Fatal(err)
	}
	files.Write(stream.Bytes())
	sum := sha256.Sum256(files.Bytes())
	return print{h.End.Trace, h.End.Messages, hex.EncodeToString(sum[:])}, h, files.Bytes()
}

func subject(t *testing.T, name string) subjects.Subject {
	t.Helper()
	s, ok := libraries.Find(name)
	if !ok {
		t.Fatalf("no subject %q", name)
	}
	return s
}

func scenario(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	s, ok := scenarios.Find(name)
	if !ok {
		t.Fatalf("no scenario %q", name)
	}
	return s
}

// drawnPlans is how many drawn plans are repeated: HOLDFAST_PLANS=500 is the full measurement.
func drawnPlans(t *testing.T) uint64 {
	if text := os.Getenv("HOLDFAST_PLANS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatalf("HOLDFAST_PLANS=%q must be a number", text)
		}
		return n
	}
	return 60
}

// determined lists every scenario with seeds 1 to 5, for the lock that is run by default and the
// one that differs from it most; and drawn plans, for our own locks in turn.
func determined(t *testing.T) []repeatable {
	var all []repeatable
	seeds := uint64(5)
	if testing.Short() {
		seeds = 1
	}
	for _, sc := range append(scenarios.All(), crowd) {
		names := []string{"rlock-latch", "rlock-hardened"}
		if sc.Name == crowd.Name {
			names = append(names, "rlock-classic")
		}
		for _, name := range names {
			for s := uint64(1); s <= seeds; s++ {
				all = append(all, repeatable{sc, subject(t, name), s})
			}
		}
	}
	for _, sc := range slices.Concat(scenarios.AllSemaphores(), scenarios.AllLatches(), scenarios.AllPermits()) {
		for _, s := range subjects.Of(history.Object(sc.Plan(1).Needs()[0])) {
			all = append(all, repeatable{sc, s, 1}, repeatable{sc, s, 2})
		}
	}
	locks := subjects.All()
	for s := range drawnPlans(t) {
		drawn := scenarios.Scenario{Name: "drawn", Plan: func(seed uint64) *plan.Plan { return scenarios.DrawnBy(seed, scenarios.Whole()) }}
		all = append(all, repeatable{drawn, locks[s%uint64(len(locks))], s})
	}
	return all
}

// crowd is a plan in which much happens at one instant in one client: its threads are woken
// together by one confirmed subscription, and lose several locks together.
var crowd = scenarios.Scenario{Name: "crowd", Plan: func(uint64) *plan.Plan {
	const locks = 3
	second := plan.Duration(time.Second)
	p := &plan.Plan{Version: plan.Version, Faults: []plan.Fault{
		{Kind: "partition", Client: "c1", From: 20 * second, To: 65 * second},
		{Kind: "expire-key", Lock: "lock-0", From: 90 * second},
		{Kind: "expire-key", Lock: "lock-1", From: 90 * second},
	}}
	for i := range 2 {
		c := plan.Client{Name: fmt.Sprintf("c%d", i+1)}
		for j := range 2 * locks {
			name := fmt.Sprintf("lock-%d", j%locks)
			c.Threads = append(c.Threads, plan.Thread{ID: int64(j + 1), Steps: []plan.Step{
				{Do: plan.Lock, Lock: name}, {Do: plan.Work, Lock: name, For: 12 * second}, {Do: plan.Unlock, Lock: name},
				{Do: plan.TryLock, Lock: name, Wait: 40 * second}, {Do: plan.Lock, Lock: name},
				{Do: plan.Work, Lock: name, For: 30 * second}, {Do: plan.Unlock, Lock: name}, {Do: plan.Unlock, Lock: name},
			}})
		}
		p.Clients = append(p.Clients, c)
	}
	return p
}}

// repetitions is how often each run is repeated: HOLDFAST_REPEAT=100 is the full measurement.
func repetitions(t *testing.T) int {
	if text := os.Getenv("HOLDFAST_REPEAT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 {
			t.Fatalf("HOLDFAST_REPEAT=%q must be a number of at least 2", text)
		}
		return n
	}
	if testing.Short() {
		return 2
	}
	return 3
}

func TestRepeatedRunsAreTheSame(t *testing.T) {
	n := repetitions(t)
	runs := determined(t)
	for _, s := range libraries.Unforetold() { // with their own ways to wait, and to draw tokens
		for _, name := range []string{"baseline", "partition-holder", "slow-server"} {
			sc := scenario(t, name)
			fitted := scenarios.Scenario{Name: name, Plan: func(seed uint64) *plan.Plan {
				p, _ := sc.For(seed, s.Can)
				return p
			}}
			runs = append(runs, repeatable{fitted, s, 1})
		}
	}
	for _, r := range runs {
		t.Run(r.String(), func(t *testing.T) {
			first, _, firstFiles := r.run(t)
			if first.Messages == 0 || first.Trace == "" {
				t.Fatalf("no messages: %+v", first)
			}
			for i := 2; i <= n; i++ {
				again, _, files := r.run(t)
				if again != first {
					t.Fatalf("repetition %d of %d: %+v, the first was %+v\n%s", i, n, again, first, difference(firstFiles, files))
				}
			}
		})
	}
}

// difference shows the first line in which two files differ.
func difference(a, b []byte) string {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return fmt.Sprintf("line %d\n first: %s\n again: %s", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(as), len(bs))
}

func TestDifferentSeedsGiveDifferentTraces(t *testing.T) {
	seen := map[string]uint64{}
	for s := uint64(1); s <= 100; s++ {
		p, _, _ := repeatable{scenario(t, "watchdog-death"), subject(t, "rlock-latch"), s}.run(t)
		if other, ok := seen[p.Trace]; ok {
			t.Errorf("seeds %d and %d have the same trace", other, s)
		}
		seen[p.Trace] = s
	}
}

const inFreshProcess = "HOLDFAST_FRESH_PROCESS"

// linePrefix marks the lines in which a fresh process tells its prints.
const linePrefix = "print "

func TestFreshProcessesRepeatTheSameRuns(t *testing.T) {
	if os.Getenv(inFreshProcess) != "" {
		for _, r := range determined(t) {
			p, _, _ := r.run(t)
			line, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s%v %s\n", linePrefix, r, line)
		}
		return
	}

	want := map[string]print{}
	for _, r := range determined(t) {
		want[r.String()], _, _ = r.run(t)
	}
	for _, processors := range []string{"1", "2"} {
		t.Run("GOMAXPROCS="+processors, func(t *testing.T) {
			got := inAnotherProcess(t, processors)
			if len(got) != len(want) {
				t.Fatalf("%d runs there, %d here", len(got), len(want))
			}
			for name, p := range want {
				if got[name] != p {
					t.Errorf("%s: %+v there, %+v here", name, got[name], p)
				}
			}
		})
	}
}

// inAnotherProcess has this test run in a process of its own.
func inAnotherProcess(t *testing.T, processors string) map[string]print {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestFreshProcessesRepeatTheSameRuns$", "-test.count=1", fmt.Sprintf("-test.short=%v", testing.Short()))
	child.Env = append(os.Environ(), inFreshProcess+"=1", "GOMAXPROCS="+processors)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	prints := map[string]print{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line, ok := strings.CutPrefix(lines.Text(), linePrefix)
		if !ok {
			continue
		}
		name, text, _ := strings.Cut(line, " ")
		var p print
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		prints[name] = p
	}
	return prints
}
