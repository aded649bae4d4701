package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/checker"
)

func TestProgressCountsFailuresOnceItIsTime(t *testing.T) {
	var out bytes.Buffer
	early := true
	p := newBar(&out, 10, 0, func() bool { return early })
	p.done(checker.ExitExpected)
	p.done(checker.ExitUnexpected)
	p.clear()
	if out.Len() > 0 {
		t.Errorf("in the first second: %q", out.String())
	}
	early = false
	p.done(checker.ExitUnexpected)
	for _, want := range []string{"2 not as expected", "3/10"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %q", want, out.String())
		}
	}
}

func TestProgressIsOnlyForTerminals(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, 10)
	p.done(checker.ExitUnexpected)
	p.clear()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
