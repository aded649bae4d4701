package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheCataloguePageIsCurrent(t *testing.T) {
	const page = "../../docs/scenarios.md"
	var want bytes.Buffer
	catalogue(&want)
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the registry says; make it anew: go run ./cmd/simrun list -markdown > docs/scenarios.md", page)
	}
}

func TestTheLibraryPageIsCurrent(t *testing.T) {
	t.Parallel()
	const page = "../../docs/matrix.md"
	want, stderr, code := run(t, t.TempDir(), "list", "-matrix")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the runs say; make it anew: go run ./cmd/simrun list -matrix > docs/matrix.md", page)
	}
}
