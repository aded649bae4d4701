package plan_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// kinds are one fault of each sort.
var kinds = map[string]plan.FaultNeeds{
	"stop":  {Client: plan.Must, Lasts: true},
	"cut":   {Client: plan.Must, Lasts: true, Direction: true},
	"erase": {Lock: plan.Must},
}

const second = plan.Duration(time.Second)

// good is a plan in which every field is used.
func good() *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Name: "name", Story: "story",
		Timings: plan.Timings{Watchdog: 6 * second, LatencyMin: 1, LatencyMax: second, Limit: 60 * second},
		Seeds:   []plan.Span{{Seed: 1 << 63, Until: second}, {Until: 2 * second}},
		Clients: []plan.Client{
			{Name: "c1", Threads: []plan.Thread{
				{ID: 1, Steps: []plan.Step{
					{Do: plan.Lock, Lock: "a", Lease: second},
					{Do: plan.TryLock, Lock: "a", Wait: second, Lease: second},
					{Do: plan.Work, Lock: "a", For: second},
					{Do: plan.IsLocked, Lock: "a"}, {Do: plan.IsHeldBy, Lock: "a"}, {Do: plan.HoldCount, Lock: "a"}, {Do: plan.RemainingTTL, Lock: "b"},
					{Do: plan.Unlock, Lock: "a", Regardless: true}, {Do: plan.ForceUnlock, Lock: "a"},
				}},
				{ID: 7, Start: second, Steps: []plan.Step{{Do: plan.Sleep, For: second}}},
			}},
			{Name: "c2", Threads: []plan.Thread{{ID: 1}}},
		},
		Faults: []plan.Fault{
			{Kind: "stop", Client: "c1", From: second, To: 2 * second},
			{Kind: "cut", Client: "c2", From: 0, Direction: "replies"},
			{Kind: "erase", Lock: "b", From: second},
		},
	}
}

func TestAGoodPlanIsAccepted(t *testing.T) {
	if err := good().Check(kinds); err != nil {
		t.Error(err)
	}
}

func TestEveryBadPlanIsOneLineWithItsPath(t *testing.T) {
	step := func(i int) func(p *plan.Plan) *plan.Step {
		return func(p *plan.Plan) *plan.Step { return &p.Clients[0].Threads[0].Steps[i] }
	}
	lock, try, work, ask, unlock := step(0), step(1), step(2), step(3), step(7)
	tests := []struct {
		path  string
		spoil func(p *plan.Plan)
	}{
		{"$.clients:", func(p *plan.Plan) { p.Clients = nil }},
		{"$.clients[1].name:", func(p *plan.Plan) { p.Clients[1].Name = "" }},
		{"$.clients[1].name:", func(p *plan.Plan) { p.Clients[1].Name = "c1" }},
		{"$.clients[1].name:", func(p *plan.Plan) { p.Clients[1].Name = "c:1" }},
		{"$.clients[1].name:", func(p *plan.Plan) { p.Clients[1].Name = history.Fresh }},
		{"$.clients[1].name:", func(p *plan.Plan) { p.Clients[1].Name = "c#1" }},
		{"$.clients[1].threads:", func(p *plan.Plan) { p.Clients[1].Threads = nil }},
		{"$.clients[0].threads[1].id:", func(p *plan.Plan) { p.Clients[0].Threads[1].ID = 0 }},
		{"$.clients[0].threads[1].id:", func(p *plan.Plan) { p.Clients[0].Threads[1].ID = 1 }},
		{"$.clients[0].threads[1].start:", func(p *plan.Plan) { p.Clients[0].Threads[1].Start = -1 }},
		{"$.clients[0].threads[0].steps[0].do:", func(p *plan.Plan) { lock(p).Do = "" }},
		{"$.clients[0].threads[0].steps[0].do:", func(p *plan.Plan) { lock(p).Do = "Lock" }},
		{"$.clients[0].threads[0].steps[0].lock:", func(p *plan.Plan) { lock(p).Lock = "" }},
		{"$.clients[0].threads[0].steps[0].wait:", func(p *plan.Plan) { lock(p).Wait = second }},
		{"$.clients[0].threads[0].steps[0].lease:", func(p *plan.Plan) { lock(p).Lease = -1 }},
		{"$.clients[0].threads[0].steps[0].for:", func(p *plan.Plan) { lock(p).For = second }},
		{"$.clients[0].threads[0].steps[0].regardless:", func(p *plan.Plan) { lock(p).Regardless = true }},
		{"$.clients[0].threads[0].steps[1].wait:", func(p *plan.Plan) { try(p).Wait = -1 }},
		{"$.clients[0].threads[0].steps[2].for:", func(p *plan.Plan) { work(p).For = -1 }},
		{"$.clients[0].threads[0].steps[2].lease:", func(p *plan.Plan) { work(p).Lease = second }},
		{"$.clients[0].threads[0].steps[3].wait:", func(p *plan.Plan) { ask(p).Wait = second }},
		{"$.clients[0].threads[0].steps[7].lease:", func(p *plan.Plan) { unlock(p).Lease = second }},
		{"$.clients[0].threads[1].steps[0].lock:", func(p *plan.Plan) { p.Clients[0].Threads[1].Steps[0].Lock = "a" }},
		{"$.timings.watchdog:", func(p *plan.Plan) { p.Timings.Watchdog = -1 }},
		{"$.timings.limit:", func(p *plan.Plan) { p.Timings.Limit = -1 }},
		{"$.timings.latencyMin:", func(p *plan.Plan) { p.Timings.LatencyMin = 2 * second }},
		{"$.timings.latencyMin:", func(p *plan.Plan) { p.Timings = plan.Timings{LatencyMax: 1} }}, // less than the default least
		{"$.faults[0].kind:", func(p *plan.Plan) { p.Faults[0].Kind = "" }},
		{"$.faults[0].kind:", func(p *plan.Plan) { p.Faults[0].Kind = "meteor" }},
		{"$.faults[0].client:", func(p *plan.Plan) { p.Faults[0].Client = "" }},
		{"$.faults[0].client:", func(p *plan.Plan) { p.Faults[0].Client = "c3" }},
		{"$.faults[0].lock:", func(p *plan.Plan) { p.Faults[0].Lock = "a" }},
		{"$.faults[0].from:", func(p *plan.Plan) { p.Faults[0].From = -1 }},
		{"$.faults[0].to:", func(p *plan.Plan) { p.Faults[0].To = p.Faults[0].From }},
		{"$.faults[0].direction:", func(p *plan.Plan) { p.Faults[0].Direction = "both" }},
		{"$.faults[1].direction:", func(p *plan.Plan) { p.Faults[1].Direction = "up" }},
		{"$.faults[2].client:", func(p *plan.Plan) { p.Faults[2].Client = "c1" }},
		{"$.faults[2].lock:", func(p *plan.Plan) { p.Faults[2].Lock = "" }},
		{"$.faults[2].lock:", func(p *plan.Plan) { p.Faults[2].Lock = "c" }},
		{"$.faults[2].to:", func(p *plan.Plan) { p.Faults[2].To = 2 * second }},
	}
	for _, tt := range tests {
		p := good()
		tt.spoil(p)
		err := p.Check(kinds)
		if err == nil {
			t.Errorf("%s was accepted: %s", tt.path, p.JSON())
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "plan: "+tt.path+" ") || strings.Contains(text, "\n") {
			t.Errorf("%q does not begin with plan: %s", text, tt.path)
		}
	}
}

func TestPlansSurviveJSON(t *testing.T) {
	p := good()
	decoded, err := plan.Decode(p.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(decoded, p) {
		t.Errorf("%s\nbecame %s", p.JSON(), decoded.JSON())
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := plan.Duration(rapid.Int64Min(0).Draw(rt, "duration"))
		p := good()
		p.Timings.Limit, p.Name, p.Clients[0].Name = d, rapid.String().Draw(rt, "name"), rapid.String().Draw(rt, "client")
		decoded, err := plan.Decode(p.JSON())
		if err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(decoded, p) {
			rt.Fatalf("%+v became %+v", p, decoded)
		}
	})
}

func TestDecodeRefusesWhatItDoesNotUnderstand(t *testing.T) {
	tests := []struct {
		name, text string
		mentions   string
	}{
		{"nothing", ``, "ends too early"},
		{"no JSON", `plan`, "invalid character"},
		{"no object", `[]`, "$: must be an object, not a list"},
		{"no version", `{"clients":[]}`, "$.version: missing"},
		{"another version", `{"version":2,"clients":[]}`, "$.version: 2, but"},
		{"an unknown field", `{"version":1,"clients":[],"seed":3}`, "$.seed: unknown field"},
		{"an unknown field below", `{"version":1,"clients":[{"name":"c1","treads":[]}]}`, "$.clients[0].treads: unknown field"},
		{"a number for a duration", `{"version":1,"clients":[],"timings":{"limit":5}}`, "$.timings.limit: must be a text"},
		{"a seed below 0", `{"version":1,"clients":[],"seeds":[{"seed":-1,"until":"1s"}]}`, "$.seeds[0].seed: -1 must be a whole number from 0"},
		{"no duration", `{"version":1,"clients":[],"timings":{"limit":"5"}}`, `"5"`},
		{"another plan behind it", "{\"version\":1,\"clients\":[]}\n{\"version\":1}", "line 2: \"{\\\"version\\\":1}\" follows the plan"},
		{"half of one behind it", `{"version":1,"clients":[]} {"version"`, "line 1: "},
		{"a brace too many", "{\"version\":1,\"clients\":[]}\n\n}", "line 3: \"}\" follows the plan"},
		{"no text behind it", "{\"version\":1,\"clients\":[]}\x00", `"\x00" follows the plan`},
		{"cut off", `{"version":1,"clients":[`, "ends too early"},
		{"below comments", "// one\n{\n  // two\n  \"version\":1,]}", "line 4: "},
		{"a comment beside something", "{\"version\":1, // one\n\"clients\":[]}", "line 1: "},
	}
	for _, tt := range tests {
		_, err := plan.Decode([]byte(tt.text))
		if err == nil {
			t.Errorf("%s was accepted", tt.name)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "plan: ") || !strings.Contains(text, tt.mentions) || strings.Contains(text, "\n") {
			t.Errorf("%s: %q should mention %q", tt.name, text, tt.mentions)
		}
	}
}

func TestLinesWithTwoSlashesAreComments(t *testing.T) {
	p, err := plan.Decode([]byte("// {\n{\"version\":1, \"name\": \"// one\",\r\n\t// \"story\": \"two\"\r\n\"clients\":[]}\n//"))
	if err != nil || p.Name != "// one" || p.Story != "" {
		t.Errorf("%v %+v", err, p)
	}
}

func TestDefaultsAreRedissons(t *testing.T) {
	want := plan.Timings{Watchdog: 30 * second, LatencyMin: second / 5000, LatencyMax: second / 1000, Limit: 600 * second}
	if got := (plan.Timings{}).WithDefaults(); got != want {
		t.Errorf("%+v", got)
	}
	if own := good().Timings; own.WithDefaults() != own {
		t.Error("a default replaced what was set")
	}
}

func TestLocksAreInOrderOfFirstMention(t *testing.T) {
	p := good()
	p.Clients[1].Threads[0].Steps = []plan.Step{{Do: plan.Lock, Lock: "c"}, {Do: plan.Lock, Lock: "a"}}
	if got := p.Locks(); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
}

func TestSpansOfSeedsFollowEachOther(t *testing.T) {
	p := good()
	p.Faults = nil
	p.Seeds = []plan.Span{{Seed: 1, Until: 5}, {Seed: 2, Until: 6}}
	if err := p.Check(nil); err != nil {
		t.Error(err)
	}
	for _, wrong := range [][]plan.Span{{{Seed: 1}}, {{Seed: 1, Until: -1}}, {{Seed: 1, Until: 5}, {Seed: 2, Until: 5}}, make([]plan.Span, plan.MaxSeeds+1)} {
		p.Seeds = wrong
		if err := p.Check(nil); err == nil || !strings.Contains(err.Error(), "$.seeds") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
