package history

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/history.schema.json anew from the types")

const schemaFile = "../docs/history.schema.json"

// schemaOf is the JSON Schema of a history's lines, made from the types.
func schemaOf() map[string]any {
	var records []any
	for _, r := range []struct {
		name string
		v    any
	}{{headerRecord, Header{}}, {opRecord, Op{}}, {eventRecord, Event{}}, {faultRecord, Fault{}}, {servedRecord, Served{}}, {endRecord, End{}}} {
		s := object(reflect.TypeOf(r.v))
		s["properties"].(map[string]any)["record"] = map[string]any{"const": r.name}
		s["required"] = append([]any{"record"}, s["required"].([]any)...)
		s["title"] = r.name
		records = append(records, s)
	}
	return map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Holdfast history, version " + fmt.Sprint(Version),
		"description": "One line of a history file. Times are integer nanoseconds since the start of the run.",
		"oneOf":       records,
	}
}

func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[name] = property(f.Type)
		if options == "" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func property(t reflect.Type) map[string]any {
	enum := func(names ...any) map[string]any { return map[string]any{"enum": names} }
	switch t {
	case reflect.TypeFor[Kind]():
		var names []string
		for k := range outcomes {
			names = append(names, string(k))
		}
		sort.Strings(names)
		var all []any
		for _, n := range names {
			all = append(all, n)
		}
		return enum(all...)
	case reflect.TypeFor[Outcome]():
		return enum("acquired", "busy", "decremented", "failed", "notHeld", "ok", "rejected", "released", "renewed", "unknown", "unlocked")
	case reflect.TypeFor[Evidence]():
		return enum("notSent", "executed", "sent")
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return property(t.Elem())
	case reflect.Struct:
		return object(t)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": property(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": property(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "integer"}
}

func TestSchemaIsThatOfTheTypes(t *testing.T) {
	want, err := json.MarshalIndent(schemaOf(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say (%v); go test ./history -run Schema -update", schemaFile, err)
	}
}

// obeys checks a value against as much of JSON Schema as the file uses.
func obeys(v any, schema map[string]any) error {
	if c, ok := schema["const"]; ok && v != c {
		return fmt.Errorf("%v is not %v", v, c)
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%v is none of %v", v, enum)
	}
	if one, ok := schema["oneOf"].([]any); ok {
		fits, why := 0, []string{}
		for _, s := range one {
			if err := obeys(v, s.(map[string]any)); err == nil {
				fits++
			} else {
				why = append(why, err.Error())
			}
		}
		if fits != 1 {
			return fmt.Errorf("fits %d of the alternatives: %s", fits, strings.Join(why, "; "))
		}
	}
	switch schema["type"] {
	case "string":
		if _, ok := v.(string); !ok {
			return fmt.Errorf("%v is no string", v)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%v is no boolean", v)
		}
	case "integer":
		n, ok := v.(json.Number)
		if !ok || strings.ContainsAny(n.String(), ".eE") {
			return fmt.Errorf("%v is no integer", v)
		}
	case "array":
		items, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%v is no array", v)
		}
		for _, item := range items {
			if err := obeys(item, schema["items"].(map[string]any)); err != nil {
				return err
			}
		}
	case "object":
		return obeysObject(v, schema)
	}
	return nil
}

func obeysObject(v any, schema map[string]any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no object", v)
	}
	required, _ := schema["required"].([]any)
	for _, r := range required {
		if _, ok := m[r.(string)]; !ok {
			return fmt.Errorf("%s is missing", r)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range m {
		s, known := properties[name].(map[string]any)
		if !known {
			if more, ok := schema["additionalProperties"].(map[string]any); ok {
				s = more
			} else {
				return fmt.Errorf("%s is not a field", name)
			}
		}
		if err := obeys(value, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func lineObeys(line []byte, schema map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	return obeys(v, schema)
}

func schema(t *testing.T) map[string]any {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The example is a history, every line obeys the schema, and so does what the codec writes.
func TestExampleAndCodecObeyTheSchema(t *testing.T) {
	text, err := os.ReadFile("../docs/history.example.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	h, err := Load(bytes.NewReader(text))
	if err != nil || len(h.Ops) == 0 || h.End == nil {
		t.Fatalf("the example cannot be read: %v", err)
	}
	var written bytes.Buffer
	for _, h := range []*History{sample(), h} {
		if err := Save(&written, h); err != nil {
			t.Fatal(err)
		}
		if err := SaveServed(&written, h); err != nil {
			t.Fatal(err)
		}
	}
	s := schema(t)
	for _, lines := range [][]byte{text, written.Bytes()} {
		for line := range bytes.Lines(lines) {
			if err := lineObeys(line, s); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	for _, line := range []string{
		`{"record":"op","id":1,"client":"c","owner":"o","lock":"l","kind":"lick","call":1}`,
		`{"record":"op","id":1,"client":"c","owner":"o","lock":"l","kind":"lock"}`,
		`{"record":"op","id":1,"client":"c","owner":"o","lock":"l","kind":"lock","call":1.5}`,
		`{"record":"op","id":1,"client":"c","owner":"o","lock":"l","kind":"lock","call":1,"colour":"red"}`,
		`{"record":"foo"}`, `[]`,
	} {
		if err := lineObeys([]byte(line), s); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}

// The page names every field of every record, every operation with its outcomes, and every event.
func TestPageNamesEverything(t *testing.T) {
	text, err := os.ReadFile("../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	need := func(what string) {
		if !strings.Contains(page, "`"+what+"`") {
			t.Errorf("docs/history.md does not name `%s`", what)
		}
	}
	for _, v := range []any{Header{}, Op{}, Event{}, Fault{}, Served{}, End{}, KeyState{}, Holding{}} {
		for i := range reflect.TypeOf(v).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
			need(name)
		}
	}
	for kind, outs := range outcomes {
		need(string(kind))
		for _, out := range outs {
			need(string(out))
		}
	}
	for _, e := range []EventKind{Expire, Delete, ForceTTL, Restore, Lost, Died, Finished, Leftover, Restart, Failover, ClockJump, Healed, LostGiving, Residue, Listening, Unseen} {
		need(string(e))
	}
	for _, s := range []Step{StepAcquire, StepRelease, StepForce, StepRenew, StepQuery, StepSubscribe, StepCleanup, StepSession, StepAdmin} {
		need(string(s))
	}
	for _, e := range []Evidence{NotSent, Executed, Sent} {
		need(string(e))
	}
	for _, o := range []Outcome{Failed, Unknown} {
		need(string(o))
	}
}
