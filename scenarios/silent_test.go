package scenarios_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

// stubborn is a lock whose client has one connection, and waits a second for an answer. Then it goes on with that connection, or closes
// it. One that gives up fails each call by itself. It sleeps in the world's time, which is virtual.
type stubborn struct {
	env             subjects.Env
	name            string
	conn            *net.Conn
	closes, givesUp bool
}

func (c stubborn) Owner(thread int64) string      { return fmt.Sprintf("%s:%d", c.env.ID, thread) }
func (c stubborn) Close() error                   { c.hangUp(); return nil }
func (c stubborn) Lock(name string) subjects.Lock { c.name = name; return c }
func failed(out history.Outcome, err error) subjects.Answer {
	return subjects.Answer{Outcome: out, Err: err}
}

func (c stubborn) hangUp() {
	if *c.conn != nil {
		_ = (*c.conn).Close()
		*c.conn = nil
	}
}

// ask sends a command, and returns the first line of the answer.
func (c stubborn) ask(ctx context.Context, args ...string) (line string, err error) {
	if *c.conn == nil {
		if *c.conn, err = c.env.Dial(ctx); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err = (*c.conn).Write([]byte(b.String())); err == nil {
		if err = (*c.conn).SetReadDeadline(time.Now().Add(time.Second)); err == nil {
			line, err = bufio.NewReader(*c.conn).ReadString('\n')
		}
	}
	if err != nil && c.closes {
		c.hangUp()
	}
	return strings.TrimSpace(line), err
}

func (c stubborn) Acquire(ctx context.Context, owner string, r subjects.Request) subjects.Answer {
	if c.givesUp {
		time.Sleep(time.Second)
		return failed(history.Unknown, errors.New("it gives up"))
	}
	for end := time.Now().Add(r.Wait); ; time.Sleep(100 * time.Millisecond) {
		switch line, err := c.ask(ctx, "SET", c.name, owner, "NX", "PX", strconv.FormatInt(r.Lease.Milliseconds(), 10)); {
		case err != nil:
			return failed(history.Unknown, err)
		case line == "+OK":
			return subjects.Answer{Outcome: history.Acquired}
		case !r.Forever && time.Now().After(end):
			return subjects.Answer{Outcome: history.Busy}
		}
	}
}

func (c stubborn) Release(ctx context.Context, owner string) subjects.Answer {
	const script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	switch line, err := c.ask(ctx, "EVAL", script, "1", c.name, owner); {
	case err != nil:
		return failed(history.Unknown, err)
	case line == ":1":
		return subjects.Answer{Outcome: history.Released}
	}
	return subjects.Answer{Outcome: history.NotHeld}
}

// A client that goes on with a connection on which a message was lost fails by that fault, however late. One that has another
// connection, and fails, does so by itself.
func TestACallOnASilentConnectionFailsByTheFaultThatSilencedIt(t *testing.T) {
	tries := func(steps ...plan.Step) []plan.Step {
		for range 5 {
			steps = append(steps, plan.Step{Do: plan.TryLock, Lock: "a", Lease: plan.Duration(30 * time.Second)}, plan.Step{Do: plan.Sleep, For: plan.Duration(3 * time.Second)})
		}
		return steps
	}
	for _, tt := range []struct {
		name            string
		closes, givesUp bool
		trigger         plan.Trigger
		unseen, defect  bool
	}{
		{name: "a request was lost, and its connection is used again", trigger: plan.Trigger{Request: plan.Acquire}, unseen: true},
		{name: "a reply was lost, and its connection is used again", trigger: plan.Trigger{Reply: plan.Acquire}},
		{name: "a request was lost, and its connection is closed", trigger: plan.Trigger{Request: plan.Acquire}, closes: true},
		{name: "it fails by itself", trigger: plan.Trigger{Request: plan.Acquire}, givesUp: true, defect: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := subjects.Subject{Name: "stubborn", Abilities: []string{"mutex"}, Lease: 30 * time.Second, Polls: true}
			s.Open = func(e subjects.Env) (subjects.Client, error) {
				return stubborn{env: e, conn: new(net.Conn), closes: tt.closes, givesUp: tt.givesUp && e.ID == "c1"}, nil
			}
			p := &plan.Plan{Version: 1, Name: "silent", Clients: []plan.Client{
				{Name: "c1", NoRetry: true, Threads: []plan.Thread{{ID: 1, Steps: tries()}}},
				{Name: "c2", Threads: []plan.Thread{{ID: 1, Steps: []plan.Step{{Do: plan.TryLock, Lock: "b", Lease: plan.Duration(30 * time.Second)}}}}},
			}, Faults: []plan.Fault{{Kind: "drop-message", Client: "c1", When: &tt.trigger}}}
			if tt.givesUp {
				p.Faults[0].Client, p.Faults[0].When.Client = "c2", "c2"
			}
			h, v := judged(t, p, s, 1)
			var unseen, failures bool
			for _, e := range h.Events {
				unseen = unseen || e.Kind == history.Unseen && e.Client == "c1" && e.Lock == "a" && e.Since > h.Faults[0].From
			}
			for _, op := range h.Ops {
				failures = failures || op.Outcome == history.Unknown && op.Call > h.Faults[0].From+10*time.Second
			}
			r := v.Result(contract.Liveness)
			if unseen != tt.unseen || failures == tt.closes || (len(r.Defects()) > 0) != tt.defect {
				t.Errorf("seen to be unseen: %v; failed late: %v; %d defects: %v\n%+v\n%+v", unseen, failures, len(r.Defects()), r.Violations, h.Ops, h.Events)
			}
		})
	}
}
