package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// sorts are a kind of fault of each sort that triggers and parameters distinguish.
var sorts = map[string]plan.FaultNeeds{
	"strike":  {Client: plan.May, Lock: plan.May, Lasts: true},
	"message": {Client: plan.May, Lock: plan.May, By: plan.May, Messages: true},
	"request": {Client: plan.May, Error: true, Messages: true, Requests: true},
	"jump":    {By: plan.Must},
	"replica": {Replica: true},
}

func when(t plan.Trigger) *plan.Trigger { return &t }

func TestGoodFaultsAreAccepted(t *testing.T) {
	for _, f := range []plan.Fault{
		{Kind: "strike", When: when(plan.Trigger{Return: plan.Lock}), For: second},
		{Kind: "strike", Client: "c1", When: when(plan.Trigger{Return: plan.TryLock, Nth: 1}), To: 9 * second},
		{Kind: "strike", When: when(plan.Trigger{Client: "c1", Between: []plan.MessageKind{plan.Acquire, plan.Subscribe}})},
		{Kind: "message", When: when(plan.Trigger{Reply: plan.Publish}), Count: 3},
		{Kind: "message", From: second, To: 2 * second},
		{Kind: "request", Error: "BUSY", When: when(plan.Trigger{Request: plan.Force, Lock: "a"})},
		{Kind: "jump", By: second},
	} {
		p := good()
		p.Faults = []plan.Fault{f}
		if err := p.Check(sorts); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestBadFaultsAreOneLineWithTheirPath(t *testing.T) {
	for _, tt := range []struct {
		path  string
		fault plan.Fault
	}{
		{"by:", plan.Fault{Kind: "jump"}},
		{"by:", plan.Fault{Kind: "jump", By: -1}},
		{"by:", plan.Fault{Kind: "strike", By: 1}},
		{"for:", plan.Fault{Kind: "jump", By: 1, For: 1}},
		{"for:", plan.Fault{Kind: "strike", For: -1}},
		{"for:", plan.Fault{Kind: "strike", For: 1, To: 2}},
		{"count:", plan.Fault{Kind: "strike", Count: 1}},
		{"count:", plan.Fault{Kind: "message", Count: -1, When: when(plan.Trigger{Reply: plan.Acquire})}},
		{"count:", plan.Fault{Kind: "message", Count: 2, To: 1}},
		{"error:", plan.Fault{Kind: "request", To: 1}},
		{"error:", plan.Fault{Kind: "request", To: 1, Error: "ERR"}},
		{"server:", plan.Fault{Kind: "strike", Server: "s9"}},
		{"when.client:", plan.Fault{Kind: "message", Client: "c1", When: when(plan.Trigger{Client: "c2", Reply: plan.Acquire})}},
		{"replica:", plan.Fault{Kind: "replica"}},
		{"replica:", plan.Fault{Kind: "replica", Replica: 1}},
		{"reset:", plan.Fault{Kind: "strike", Reset: true}},
		{"data:", plan.Fault{Kind: "strike", Data: "all"}},
		{"when:", plan.Fault{Kind: "message"}},
		{"when:", plan.Fault{Kind: "strike", When: when(plan.Trigger{})}},
		{"when:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: plan.Lock, Reply: plan.Acquire})}},
		{"when.nth:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: plan.Lock, Nth: -1})}},
		{"when.client:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: plan.Lock, Client: "c9"})}},
		{"when.lock:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: plan.Lock, Lock: "z"})}},
		{"when.return:", plan.Fault{Kind: "message", When: when(plan.Trigger{Return: plan.Lock})}},
		{"when.return:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: plan.Work})}},
		{"when.return:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: "locked"})}},
		{"when.return:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Return: plan.Lock, Nth: 2})}},       // there is one lock
		{"when.return:", plan.Fault{Kind: "strike", Client: "c2", When: when(plan.Trigger{Return: plan.Lock})}}, // c2 does nothing
		{"when.return:", plan.Fault{Kind: "strike", Lock: "b", When: when(plan.Trigger{Return: plan.Lock})}},
		{"when.request:", plan.Fault{Kind: "message", When: when(plan.Trigger{Request: plan.Publish})}},
		{"when.request:", plan.Fault{Kind: "message", When: when(plan.Trigger{Request: "aquire"})}},
		{"when.request:", plan.Fault{Kind: "message", Client: "c2", When: when(plan.Trigger{Request: plan.Release})}},
		{"when.reply:", plan.Fault{Kind: "request", Error: "OOM", When: when(plan.Trigger{Reply: plan.Acquire})}},
		{"when.reply:", plan.Fault{Kind: "message", Lock: "b", When: when(plan.Trigger{Reply: plan.Renewal})}},
		{"when.between:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Between: []plan.MessageKind{plan.Acquire}})}},
		{"when.between[0]:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Between: []plan.MessageKind{"", plan.Acquire}})}},
		{"when.between[1]:", plan.Fault{Kind: "strike", When: when(plan.Trigger{Between: []plan.MessageKind{plan.Acquire, plan.Publish}})}},
	} {
		p := good()
		p.Faults = []plan.Fault{tt.fault}
		err := p.Check(sorts)
		if err == nil {
			t.Errorf("%s was accepted: %+v", tt.path, tt.fault)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "plan: $.faults[0]."+tt.path+" ") || strings.Contains(text, "\n") {
			t.Errorf("%q does not begin with plan: $.faults[0].%s", text, tt.path)
		}
	}
}

func TestBadServersAndGroupsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		path  string
		spoil func(p *plan.Plan)
	}{
		{"$.servers[0].name:", func(p *plan.Plan) { p.Servers = []plan.Server{{}} }},
		{"$.servers[1].name:", func(p *plan.Plan) { p.Servers = []plan.Server{{Name: "s1"}, {Name: "s1"}} }},
		{"$.servers[0].replicas:", func(p *plan.Plan) { p.Servers = []plan.Server{{Name: "s1", Replicas: -1}} }},
		{"$.servers[0].lag:", func(p *plan.Plan) { p.Servers = []plan.Server{{Name: "s1", Lag: 1}} }},
		{"$.groups[0].kind:", func(p *plan.Plan) { p.Groups = []plan.Group{{Name: "g", Kind: "blue"}} }},
		{"$.groups[0].members:", func(p *plan.Plan) { p.Groups = []plan.Group{{Name: "g", Kind: plan.Red}} }},
		{"$.groups[0].members[0].server:", func(p *plan.Plan) {
			p.Groups = []plan.Group{{Name: "g", Kind: plan.Red, Members: []plan.Member{{Lock: "x", Server: "s9"}}}}
		}},
	} {
		p := good()
		tt.spoil(p)
		if err := p.Check(kinds); err == nil || !strings.HasPrefix(err.Error(), "plan: "+tt.path+" ") {
			t.Errorf("%s: %v", tt.path, err)
		}
	}
}

// endless is a reader of a plan without end.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.read += int64(len(b))
	return len(b), nil
}

func TestAHugePlanIsRefusedBeforeItIsRead(t *testing.T) {
	e := &endless{}
	if _, err := plan.Read(e); !errors.Is(err, plan.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if e.read > 2*plan.MaxSize {
		t.Errorf("%d bytes were read of a plan that may have %d", e.read, plan.MaxSize)
	}
}

func TestAMillionStepsAreRefused(t *testing.T) {
	p := good()
	p.Clients[1].Threads[0].Steps = make([]plan.Step, 1_000_000)
	if err := p.Check(kinds); err == nil || !strings.Contains(err.Error(), fmt.Sprint(plan.MaxSteps)) {
		t.Errorf("%v", err)
	}
}
