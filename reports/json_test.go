package reports

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

func TestJSONGolden(t *testing.T) {
	_, v := watchdogDeath()
	var buf bytes.Buffer
	if err := JSON(&buf, v); err != nil {
		t.Fatal(err)
	}
	golden(t, "verdict.json", buf.Bytes())
}

func TestJSONReadsBack(t *testing.T) {
	for _, sample := range []func() (v *checker.Verdict){
		func() *checker.Verdict { _, v := watchdogDeath(); return v },
		func() *checker.Verdict { _, v := busy(); return v },
	} {
		v := sample()
		var buf bytes.Buffer
		if err := JSON(&buf, v); err != nil {
			t.Fatal(err)
		}
		var got checker.Verdict
		if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&got, v) {
			t.Errorf("read back as %+v, was %+v", got, v)
		}
		if got.Version != checker.VerdictVersion {
			t.Errorf("version %d", got.Version)
		}
	}
}
