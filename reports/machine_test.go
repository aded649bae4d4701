package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// sampleBatch has a run of every fate.
func sampleBatch() Batch {
	reproduced := func() Summary {
		h, v := watchdogDeath()
		s := Summarize(h, v, false)
		s.Wall, s.Command = 3*time.Millisecond, "simrun -scenario watchdog-death -seed 1"
		s.Faults = append(s.Faults, history.Fault{Kind: "expire-key", Missed: true})
		return s
	}
	_, odd := busy()
	undecided := &checker.Verdict{Version: checker.VerdictVersion, Scenario: "baseline", Subject: "rlock-classic", World: "sim", Seed: 2}
	silent := &checker.Verdict{Version: checker.VerdictVersion, Scenario: "baseline", Subject: "rlock-classic", World: "sim", Seed: 3}
	for _, g := range contract.Guarantees() {
		undecided.Results = append(undecided.Results, checker.Result{Guarantee: g, Status: checker.Holds, Summary: "It held."})
		silent.Results = append(silent.Results, checker.Result{Guarantee: g, Status: checker.NotClaimed, Summary: "Nothing is claimed."})
	}
	undecided.Results[0].Status, undecided.Results[0].Summary = checker.Undecided, "The budget was spent."
	odd.Results[4].Status = checker.Holds // leave the undecided to its own case
	hostileHistory, hostileVerdict := hostile()
	b := Batch{Command: "simrun -scenario all", Faults: []string{"pause-watchdog", "expire-key"}, Runs: []Summary{
		reproduced(),
		{Verdict: odd, Wall: 12 * time.Millisecond, Command: "simrun -plan explored.json"},
		{Verdict: undecided, Command: "simrun -scenario baseline -subject rlock-classic -seed 2"},
		{Verdict: silent},
		Failed("baseline", "rlock-classic", 4, "the worker process died: exit status 2"),
		Summarize(hostileHistory, hostileVerdict, false),
	}}
	return b
}

func write(t *testing.T, f func(io.Writer, Batch) error, b Batch) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := f(&buf, b); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// fates are what becomes of each run of sampleBatch, in the words of JUnit.
var fates = []string{"pass", "failure violation", "failure undecided", "skipped", "error harness", "failure violation"}

func TestJUnitGolden(t *testing.T) {
	got := write(t, JUnit, sampleBatch())
	golden(t, "junit.xml", got)
	for _, err := range junitErrors(got) {
		t.Error(err)
	}
}

func TestJUnitSaysWhatTheExitCodeSays(t *testing.T) {
	b := sampleBatch()
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type string `xml:"type,attr"`
			} `xml:"failure"`
			Error *struct {
				Type string `xml:"type,attr"`
			} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(write(t, JUnit, b), &suites); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range suites.Cases {
		fate := "pass"
		switch {
		case c.Failure != nil:
			fate = "failure " + c.Failure.Type
		case c.Error != nil:
			fate = "error " + c.Error.Type
		case c.Skipped != nil:
			fate = "skipped"
		}
		got = append(got, fate)
	}
	if !slices.Equal(got, fates) {
		t.Errorf("fates %q, want %q", got, fates)
	}
	if suites.Tests != 6 || suites.Failures != 3 || suites.Errors != 1 || suites.Skipped != 1 {
		t.Errorf("counted %d tests, %d failures, %d errors, %d skipped", suites.Tests, suites.Failures, suites.Errors, suites.Skipped)
	}
}

// junitSchema is what readers of JUnit reports agree on: the XSD of Jenkins' xUnit plugin, as far
// as we use it. Each element has its required and its other attributes, and its children.
var junitSchema = map[string]struct{ required, optional, children []string }{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors", "skipped", "disabled"}, []string{"testsuite"}},
	"testsuite": {[]string{"name", "tests", "failures", "errors"}, []string{"id", "time", "skipped", "disabled", "timestamp", "hostname", "package", "file"},
		[]string{"properties", "testcase", "system-out", "system-err"}},
	"testcase":   {[]string{"name", "classname"}, []string{"time", "status", "file", "line"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"failure":    {nil, []string{"type", "message"}, nil},
	"error":      {nil, []string{"type", "message"}, nil},
	"skipped":    {nil, []string{"type", "message"}, nil},
	"system-out": {}, "system-err": {},
}

// junitErrors says where a document departs from junitSchema.
func junitErrors(doc []byte) (errs []error) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return errs
		} else if err != nil {
			return append(errs, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			schema, known := junitSchema[e.Name.Local]
			switch {
			case !known:
				errs = append(errs, fmt.Errorf("unknown element %s", e.Name.Local))
			case len(open) == 0 && e.Name.Local != "testsuites":
				errs = append(errs, fmt.Errorf("the root is %s", e.Name.Local))
			case len(open) > 0 && !slices.Contains(junitSchema[open[len(open)-1]].children, e.Name.Local):
				errs = append(errs, fmt.Errorf("%s within %s", e.Name.Local, open[len(open)-1]))
			}
			has := map[string]bool{}
			for _, a := range e.Attr {
				has[a.Name.Local] = true
				if !slices.Contains(schema.required, a.Name.Local) && !slices.Contains(schema.optional, a.Name.Local) {
					errs = append(errs, fmt.Errorf("%s has an attribute %s", e.Name.Local, a.Name.Local))
				}
			}
			for _, name := range schema.required {
				if !has[name] {
					errs = append(errs, fmt.Errorf("%s has no %s", e.Name.Local, name))
				}
			}
			open = append(open, e.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && len(junitSchema[open[len(open)-1]].children) > 0 && len(bytes.TrimSpace(e)) > 0 {
				errs = append(errs, fmt.Errorf("text in %s: %.40q", open[len(open)-1], e))
			}
		}
	}
}

func TestTheJUnitCheckCanFail(t *testing.T) {
	for _, bad := range []string{
		`<testsuite name="a" tests="0" failures="0" errors="0"/>`,
		`<testsuites><testcase name="a" classname="b"/></testsuites>`,
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="a"/></testsuite></testsuites>`,
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0" color="red"/></testsuites>`,
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0">words</testsuite></testsuites>`,
		`<testsuites><verdict/></testsuites>`, `<testsuites>`, "<testsuites name=\"\x01\"/>",
	} {
		if len(junitErrors([]byte(bad))) == 0 {
			t.Errorf("accepted: %s", bad)
		}
	}
}

func TestMarkdownGolden(t *testing.T) {
	golden(t, "summary.md", write(t, Markdown, Batch{Runs: sampleBatch().Runs[1:2]}))
	golden(t, "summary-batch.md", write(t, Markdown, sampleBatch()))
}

func TestMarkdownOfHostileText(t *testing.T) {
	h, v := hostile()
	v.Explanation = "``` @everyone [x](javascript:y) https://evil.example | # <b>" + v.Explanation
	s := Summarize(h, v, true)
	s.Command = "simrun ``` \x1b[31m"
	got := string(write(t, Markdown, Batch{Runs: []Summary{s}}))
	for _, bad := range []string{" <b>", " @every", "https://", "[x](", "\x1b", "\u202e", "\n``` @"} {
		if strings.Contains(got, bad) {
			t.Errorf("the summary contains %q:\n%s", bad, got)
		}
	}
	if plain := strings.ReplaceAll(got, `\<`, ""); strings.Count(plain, "<") != 4 {
		t.Errorf("tags besides the four of details and summary:\n%s", got)
	}
	if len(got) > 8<<10 {
		t.Errorf("long names make a summary of %d bytes", len(got))
	}
	if !strings.Contains(got, "````sh\nsimrun ```") {
		t.Errorf("the command gets out of its fence:\n%s", got)
	}
}

func TestMarkdownIsShort(t *testing.T) {
	var b Batch
	for i := range 3000 {
		_, v := busy()
		v.Scenario, v.Seed = fmt.Sprintf("s%d", i%60), uint64(i)
		b.Runs = append(b.Runs, Summarize(nil, v, false))
	}
	got := write(t, Markdown, b)
	if len(got) > 64<<10 {
		t.Errorf("%d bytes", len(got))
	}
	if !bytes.Contains(got, []byte("And 50 more that were not as expected.")) {
		t.Errorf("it does not say how much it leaves out")
	}
}

func verdictSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(VerdictSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("verdict.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("verdict.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The schema has each field of a verdict and of what it consists of, and no other.
func TestTheSchemaHasEveryField(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(VerdictSchema, &schema); err != nil {
		t.Fatal(err)
	}
	properties := map[string]map[string]any{"verdict": schema.Properties}
	for name, def := range schema.Defs {
		properties[name] = def.Properties
	}
	for name, of := range map[string]any{"verdict": checker.Verdict{}, "result": checker.Result{}, "violation": checker.Violation{}, "cause": checker.Cause{},
		"ruling": checker.Ruling{}, "proof": checker.Proof{}, "moment": checker.Moment{}} {
		var fields []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if field, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && field != "-" {
				fields = append(fields, field)
			}
		}
		slices.Sort(fields)
		if has := slices.Sorted(maps.Keys(properties[name])); !slices.Equal(fields, has) {
			t.Errorf("a %s has %q, and the schema %q", name, fields, has)
		}
	}
	enum, _ := schema.Defs["ruling"].Properties["object"].(map[string]any)["enum"].([]any)
	for _, o := range history.Objects() {
		if o != history.ALock && !slices.Contains(enum, any(string(o))) {
			t.Errorf("the schema does not know that a %s may be judged", o)
		}
	}
}

func TestVerdictsFitTheirSchema(t *testing.T) {
	schema := verdictSchema(t)
	runs := append(sampleBatch().Runs, Failed("", "x", 1<<64-1, "no Redis at that address"))
	h, v := quiet(100)
	runs = append(runs, Summarize(h, v, true), Summarize(h, checker.Judge(t.Context(), h, checker.Options{}), true),
		Summarize(h, checker.Judge(t.Context(), h, checker.Options{Unpredicted: true}), true))
	for i, s := range runs {
		var pretty, line bytes.Buffer
		if err := errors.Join(JSON(&pretty, s.Verdict), JSONLine(&line, s.Verdict)); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(line.Bytes(), []byte("\n")); n != 1 {
			t.Errorf("run %d: %d lines", i, n)
		}
		for _, text := range [][]byte{pretty.Bytes(), line.Bytes()} {
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		}
	}
}

func TestTheSchemaRefusesWhatIsNoVerdict(t *testing.T) {
	schema := verdictSchema(t)
	for _, tt := range []struct {
		name  string
		spoil func(v map[string]any)
	}{
		{"an older version", func(v map[string]any) { v["version"] = 1 }},
		{"a newer version", func(v map[string]any) { v["version"] = 3 }},
		{"no subject", func(v map[string]any) { delete(v, "subject") }},
		{"an unknown field", func(v map[string]any) { v["colour"] = "red" }},
		{"a status that nobody set", func(v map[string]any) { first(v, "results")["status"] = "" }},
		{"an unknown guarantee", func(v map[string]any) { first(v, "results")["guarantee"] = "luck" }},
		{"broken without a violation", func(v map[string]any) { first(v, "results")["status"] = "broken" }},
		{"a violation that nobody ruled on", func(v map[string]any) { delete(violation(v), "ruling") }},
		{"an unknown ruling", func(v map[string]any) { ruling(v)["kind"] = "bad luck" }},
		{"an assumption that no row names", func(v map[string]any) { delete(ruling(v), "row") }},
		{"an assumption without a source", func(v map[string]any) { delete(ruling(v), "source") }},
		{"a defect that a row exempts", func(v map[string]any) { ruling(v)["kind"] = "defect" }},
		{"a limitation that is documented nowhere", func(v map[string]any) { violation(v)["ruling"] = map[string]any{"kind": "known limitation"} }},
		{"a proof without faults", func(v map[string]any) { delete(proof(v), "faults") }},
		{"a proof by nothing left out", func(v map[string]any) { proof(v)["outcome"] = "by itself" }},
		{"an unknown proof", func(v map[string]any) { proof(v)["outcome"] = "certain" }},
		{"a proof that is not told", func(v map[string]any) { delete(proof(v), "text") }},
		{"effects that are no list", func(v map[string]any) { violation(v)["cause"].(map[string]any)["effects"] = "timers-stopped" }},
		{"a time that is text", func(v map[string]any) { first(v, "story")["at"] = "30 s" }},
		{"an unknown weight", func(v map[string]any) { first(v, "story")["weight"] = "huge" }},
		{"no list of results", func(v map[string]any) { v["results"] = nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, v := watchdogDeath()
			var buf bytes.Buffer
			if err := JSON(&buf, v); err != nil {
				t.Fatal(err)
			}
			var doc map[string]any
			if err := json.Unmarshal(buf.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Fatalf("spoilt before: %v", err)
			}
			if tt.spoil(doc); schema.Validate(doc) == nil {
				t.Error("accepted")
			}
		})
	}
}

// violation is the first that the sample has, of exclusion.
func violation(v map[string]any) map[string]any {
	return first(v["results"].([]any)[1].(map[string]any), "violations")
}

func ruling(v map[string]any) map[string]any { return violation(v)["ruling"].(map[string]any) }

func proof(v map[string]any) map[string]any { return violation(v)["proof"].(map[string]any) }

func first(doc map[string]any, list string) map[string]any {
	return doc[list].([]any)[0].(map[string]any)
}

func TestEveryBatchFormatReportsAFailedWrite(t *testing.T) {
	for _, f := range BatchFormats() {
		if f.Name == "" || f.About == "" {
			t.Errorf("format %+v has no name or help", f)
		}
		if err := f.Write(full{}, sampleBatch()); !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", f.Name, err)
		}
		if err := f.Write(io.Discard, Batch{}); err != nil {
			t.Errorf("%s of nothing: %v", f.Name, err)
		}
	}
}
