package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// What a probe learned is not learned twice, but by another program or on another server. What failed, or was not
// understood, is tried again.
func TestALayoutIsLearnedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "layout.json")
	probes := 0
	keep := func(server string, l history.Layout, err error) string {
		t.Helper()
		got, gotErr := keepLayout(file, server, func() (history.Layout, error) { probes++; return l, err })
		if !errors.Is(gotErr, err) {
			t.Errorf("error %v, want %v", gotErr, err)
		}
		return got.Key
	}
	keep("", history.Layout{}, os.ErrClosed)
	keep("", history.Layout{Unknown: "dark"}, nil)
	if probes != 2 {
		t.Fatalf("%d probes, want 2: what is not known is not kept", probes)
	}
	for range 2 {
		if key := keep("", history.Layout{Key: "a"}, nil); key != "a" || probes != 3 {
			t.Errorf("key %q after %d probes, want a after 3", key, probes)
		}
	}
	if key := keep("valkey-server", history.Layout{Key: "b"}, nil); key != "b" || probes != 4 {
		t.Errorf("on another server: key %q after %d probes", key, probes)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, broken := range map[string][]byte{"another program's": []byte(`{"program":"another"}`), "cut": text[:len(text)/2]} {
		before := probes
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if key := keep("valkey-server", history.Layout{Key: "c"}, nil); key != "c" || probes != before+1 {
			t.Errorf("%s: key %q after %d probes more", what, key, probes-before)
		}
	}
	if left, _ := filepath.Glob(file + ".*"); left != nil {
		t.Errorf("it leaves %q", left)
	}
}
