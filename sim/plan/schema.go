package plan

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of plans, made from the types that [Decode] fills.
// It knows names, types and the words that a field can be; what makes sense together is
// [Plan.Check]'s. kinds are the names of the kinds of faults.
func Schema(kinds []string) []byte {
	words := map[string][]string{
		"Fault.kind": kinds, "Fault.error": Errors(), "Fault.data": {"none", "all"}, "Fault.direction": {"both", "requests", "replies"},
		"Group.kind": {string(Multi), string(Red)},
	}
	for _, a := range actions() {
		words["Step.do"] = append(words["Step.do"], string(a))
	}
	words["Trigger.return"] = words["Step.do"]
	for _, k := range MessageKinds() {
		words["MessageKind"] = append(words["MessageKind"], string(k))
	}
	defs := map[string]any{}
	schema := schemaOf(reflect.TypeFor[Plan](), defs, words)
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Holdfast plan, version 1",
		"$ref": schema["$ref"], "$defs": defs,
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps, slices and strings always encode
	}
	return append(b, '\n')
}

func schemaOf(t reflect.Type, defs map[string]any, words map[string][]string) map[string]any {
	switch {
	case t == reflect.TypeFor[Duration]():
		return map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$|^0$`}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), defs, words)
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem(), defs, words)}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.String:
		s := map[string]any{"type": "string"}
		if w := words[t.Name()]; w != nil {
			s["enum"] = w
		}
		return s
	case t.Kind() != reflect.Struct:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	ref := map[string]any{"$ref": "#/$defs/" + t.Name()}
	if defs[t.Name()] != nil {
		return ref
	}
	properties := map[string]any{}
	object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	defs[t.Name()] = object
	required := []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		s := schemaOf(f.Type, defs, words)
		if w := words[t.Name()+"."+fieldName(f)]; w != nil {
			s["enum"] = w
		}
		properties[fieldName(f)] = s
		if !strings.Contains(f.Tag.Get("json"), ",omit") {
			required = append(required, fieldName(f))
		}
	}
	if t == reflect.TypeFor[Plan]() {
		properties["version"] = map[string]any{"const": Version}
	}
	object["required"] = required
	return ref
}
