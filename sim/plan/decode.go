package plan

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// MaxSize is how long a plan's JSON may be, in bytes. Larger ones are refused unread.
const MaxSize = 16 << 20

// ErrTooLarge says that a plan is larger than [MaxSize].
var ErrTooLarge = fmt.Errorf("plan: longer than %d MiB", MaxSize>>20)

// Read reads a plan, but no more than [MaxSize] of it.
func Read(r io.Reader) (*Plan, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return Decode(b)
}

// Decode reads a plan. An unknown field, a value of another type and another version are errors,
// which give the place as a JSON path. Lines that begin with two slashes are comments. It does not check the plan's
// sense, which is [Plan.Check]'s.
func Decode(b []byte) (*Plan, error) {
	if len(b) > MaxSize {
		return nil, ErrTooLarge
	}
	b = comment.ReplaceAll(b, nil)
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, notJSON(b, err)
	}
	if rest := bytes.TrimLeft(b[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("plan: line %d: %.20q follows the plan; there must be one plan and nothing else", lineAt(b, len(b)-len(rest)), rest)
	}
	if err := version(value); err != nil {
		return nil, err
	}
	p := &Plan{}
	if err := fill(reflect.ValueOf(p).Elem(), value, "$"); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}

// comment is a line of a plan for people. No string of JSON goes on in another line, so that none is taken for one.
var comment = regexp.MustCompile(`(?m)^[ \t]*//.*$`)

// version comes first: a plan from the future has fields that this program does not know.
func version(value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("plan: $: must be an object, not %s", describe(value))
	}
	if v, ok := object["version"]; !ok {
		return fmt.Errorf("plan: $.version: missing; this program reads version %d", Version)
	} else if n, ok := v.(json.Number); !ok || n.String() != fmt.Sprint(Version) {
		return fmt.Errorf("plan: $.version: %v, but this program reads version %d", v, Version)
	}
	return nil
}

// lineAt is the line, from 1, of an offset in b.
func lineAt(b []byte, offset int) int { return bytes.Count(b[:offset], []byte("\n")) + 1 }

// notJSON says where the JSON goes wrong.
func notJSON(b []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("plan: line %d: %w", lineAt(b, int(min(syntax.Offset, int64(len(b))))), err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("plan: the JSON ends too early")
	}
	return fmt.Errorf("plan: %w", err)
}

// fill sets target, which is at a path, to a decoded JSON value. It does what encoding/json does,
// but says where.
func fill(target reflect.Value, value any, at string) error {
	if text, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, isString := value.(string)
		if !isString {
			return mismatch(at, "a text like \"1m30s\"", value)
		}
		if err := text.UnmarshalText([]byte(s)); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		return nil
	}
	if value == nil && (target.Kind() == reflect.Slice || target.Kind() == reflect.Pointer) {
		return nil
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		return fill(target.Elem(), value, at)
	case reflect.Struct:
		return fillStruct(target, value, at)
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			return mismatch(at, "a list", value)
		}
		target.Set(reflect.MakeSlice(target.Type(), len(list), len(list)))
		for i, v := range list {
			if err := fill(target.Index(i), v, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.String:
		s, ok := value.(string)
		if !ok {
			return mismatch(at, "a text", value)
		}
		target.SetString(s)
	case reflect.Bool:
		b, ok := value.(bool)
		if !ok {
			return mismatch(at, "true or false", value)
		}
		target.SetBool(b)
	case reflect.Uint64: // a seed
		n, ok := value.(json.Number)
		if !ok {
			return mismatch(at, "a number", value)
		}
		i, err := strconv.ParseUint(n.String(), 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %v must be a whole number from 0 to %d", at, n, uint64(math.MaxUint64))
		}
		target.SetUint(i)
	default: // the integers
		n, ok := value.(json.Number)
		if !ok {
			return mismatch(at, "a number", value)
		}
		i, err := n.Int64()
		if err != nil || target.OverflowInt(i) {
			return fmt.Errorf("%s: %v must be a whole number from %d to %d", at, n, math.MinInt64, math.MaxInt64)
		}
		target.SetInt(i)
	}
	return nil
}

func fillStruct(target reflect.Value, value any, at string) error {
	object, ok := value.(map[string]any)
	if !ok {
		return mismatch(at, "an object", value)
	}
	known := 0
	for i := range target.NumField() {
		v, ok := object[fieldName(target.Type().Field(i))]
		if !ok {
			continue
		}
		known++
		if err := fill(target.Field(i), v, at+"."+fieldName(target.Type().Field(i))); err != nil {
			return err
		}
	}
	if known == len(object) {
		return nil
	}
	var names []string
	for i := range target.NumField() {
		names = append(names, fieldName(target.Type().Field(i)))
	}
	stray := ""
	for name := range object {
		if !contains(names, name) && (stray == "" || name < stray) {
			stray = name
		}
	}
	return fmt.Errorf("%s.%s: unknown field; there are %s", at, stray, strings.Join(names, ", "))
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// fieldName is the name of a struct's field in JSON.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func mismatch(at, want string, got any) error {
	return fmt.Errorf("%s: must be %s, not %s", at, want, describe(got))
}

func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the text %.40q", v)
	}
	return fmt.Sprint(value)
}
