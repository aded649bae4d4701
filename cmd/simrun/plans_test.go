package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/sim"
	"github.com/holdfast-sim/holdfast/sim/bubble"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
	"github.com/holdfast-sim/holdfast/subjects"
)

const planSchemaFile = "../../docs/plan.schema.json"

func TestThePlanSchemaIsCurrent(t *testing.T) {
	want := plan.Schema(fault.Names())
	if os.Getenv("HOLDFAST_UPDATE") != "" {
		if err := os.WriteFile(planSchemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(planSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say; HOLDFAST_UPDATE=1 go test -run PlanSchema ./cmd/simrun writes it", planSchemaFile)
	}
}

func planSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(plan.Schema(fault.Names())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestTheExamplePlansRun(t *testing.T) {
	files, err := filepath.Glob("../../examples/plans/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	schema := planSchema(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
			p, err := plan.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range subjects.All() {
				h, err := sim.Run(bubble.In(t), p, s, sim.Options{Seed: 1, Scenario: p.Name})
				if err != nil {
					t.Fatal(err)
				}
				v := checker.Judge(context.Background(), h, checker.Options{})
				if len(v.Missed) > 0 || len(v.Refused) > 0 || v.Result(contract.Object).Status == checker.Undecided {
					t.Errorf("%s: %v %v", s.Name, v.Missed, v.Refused)
				}
			}
		})
	}
}

func TestTheSchemaRefusesWhatDecodeRefuses(t *testing.T) {
	schema := planSchema(t)
	for _, text := range []string{
		`{"version":2,"clients":[]}`,
		`{"version":1,"clients":[],"seeds":3}`,
		`{"version":1,"clients":[{"name":"c1","treads":[]}]}`,
		`{"version":1,"clients":[],"timings":{"limit":5}}`,
		`{"version":1,"clients":[],"timings":{"limit":"soon"}}`,
		`{"version":1}`,
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}
