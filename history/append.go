package history

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Append adds one record ([Header], [Op], [Event], [Fault], [Served] or [End], by value) to b as one
// line, and returns it as append does. On an error b is as it was.
//
// A long run records nothing but operations and events, tens of thousands a second, so that these are
// written by hand: to the byte as encoding/json does, without its reflection.
func Append(b []byte, record any) ([]byte, error) {
	var line any
	switch r := record.(type) {
	case Op:
		return append(appendOp(b, &r), '\n'), nil
	case Event:
		return append(appendEvent(b, &r), '\n'), nil
	case Header:
		line = struct {
			Record string `json:"record"`
			Header
		}{headerRecord, r}
	case Fault:
		line = struct {
			Record string `json:"record"`
			Fault
		}{faultRecord, r}
	case Served:
		line = struct {
			Record string `json:"record"`
			Served
		}{servedRecord, r}
	case End:
		line = struct {
			Record string `json:"record"`
			End
		}{endRecord, r}
	default:
		return b, fmt.Errorf("history: %T is no record", record)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return b, fmt.Errorf("history: %w", err)
	}
	return append(append(b, text...), '\n'), nil
}

func appendOp(b []byte, o *Op) []byte {
	b = append(b, `{"record":"`+opRecord+`","id":`...)
	b = strconv.AppendInt(b, o.ID, 10)
	b = appendString(append(b, `,"client":`...), o.Client)
	b = appendString(append(b, `,"owner":`...), o.Owner)
	b = appendString(append(b, `,"lock":`...), o.Lock)
	b = appendString(append(b, `,"kind":`...), o.Kind)
	b = addInt(b, `,"wait":`, o.Wait)
	b = addInt(b, `,"cancel":`, o.Cancel)
	b = addInt(b, `,"lease":`, o.Lease)
	b = addTrue(b, `,"watchdog":true`, o.Watchdog)
	b = addTrue(b, `,"ownLease":true`, o.OwnLease)
	b = addInt(b, `,"asked":`, o.Asked)
	b = addInt(b, `,"fresh":`, o.Fresh)
	b = addTrue(b, `,"freshWatchdog":true`, o.FreshWatchdog)
	b = addTrue(b, `,"aside":true`, o.Aside)
	b = strconv.AppendInt(append(b, `,"call":`...), int64(o.Call), 10)
	b = addInt(b, `,"return":`, o.Return)
	b = addString(b, `,"outcome":`, o.Outcome)
	b = addInt(b, `,"value":`, o.Value)
	b = addInt(b, `,"token":`, o.Token)
	b = addString(b, `,"error":`, o.Error)
	b = addString(b, `,"evidence":`, o.Evidence)
	b = addInt(b, `,"executed":`, o.Executed)
	b = addInt(b, `,"within":`, o.Within)
	b = addString(b, `,"answer":`, o.Answer)
	b = addInt(b, `,"repeats":`, o.Repeats)
	b = addInt(b, `,"until":`, o.Until)
	return append(b, '}')
}

func appendEvent(b []byte, e *Event) []byte {
	b = append(b, `{"record":"`+eventRecord+`","at":`...)
	b = strconv.AppendInt(b, int64(e.At), 10)
	b = addInt(b, `,"since":`, e.Since)
	b = appendString(append(b, `,"kind":`...), e.Kind)
	b = addString(b, `,"lock":`, e.Lock)
	b = addString(b, `,"client":`, e.Client)
	b = addString(b, `,"owner":`, e.Owner)
	b = addInt(b, `,"count":`, e.Count)
	b = addInt(b, `,"by":`, e.By)
	b = addInt(b, `,"deadline":`, e.Deadline)
	b = addInt(b, `,"within":`, e.Within)
	b = addString(b, `,"note":`, e.Note)
	b = addTrue(b, `,"concluded":true`, e.Concluded)
	return append(b, '}')
}

// addInt adds a field that is left out at 0.
func addInt[T ~int | ~int64](b []byte, name string, v T) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), int64(v), 10)
}

// addString adds a field that is left out when it is empty.
func addString[T ~string](b []byte, name string, v T) []byte {
	if v == "" {
		return b
	}
	return appendString(append(b, name...), v)
}

// addTrue adds a field that is left out when it is false.
func addTrue(b []byte, field string, v bool) []byte {
	if v {
		b = append(b, field...)
	}
	return b
}

// appendString adds a JSON string. What is not plain is left to those who know how to escape it.
func appendString[T ~string](b []byte, v T) []byte {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(string(v)) // a string always can be
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, v...)
	return append(b, '"')
}
