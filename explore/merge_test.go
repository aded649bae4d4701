package explore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/explore"
)

// counts is an executor whose reports say which seeds were run.
type counts struct{}

func (counts) Slots() int { return 3 }
func (counts) Run(_ context.Context, s explore.Shard) (explore.Report, error) {
	return explore.Report{Runs: s.Runs, Messages: int(s.From) + s.Runs}, nil
}

// state has a part of a search done, and returns its state file.
func state(t *testing.T, c explore.Config, first uint64, runs int, part explore.Part) string {
	name := filepath.Join(t.TempDir(), "state.jsonl")
	s, err := explore.OpenState(name, c, false)
	if err != nil {
		t.Fatal(err)
	}
	search := explore.Search{Config: c, Executor: counts{}, First: first, Runs: runs, Part: part, State: s}
	if _, err := search.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

var merged = explore.Config{Version: explore.Version, Subject: "x", Strategy: "uniform"}

// However a search is divided, its parts come together to the whole, be they named once or more, and in whatever order.
func TestPartsComeTogetherToTheWhole(t *testing.T) {
	const runs = 10_310
	whole, err := explore.ReadState(state(t, merged, 7, runs, explore.Part{}), merged)
	if err != nil {
		t.Fatal(err)
	}
	for of := range 5 {
		var parts []string
		for i := range max(of, 1) {
			parts = append([]string{state(t, merged, 7, runs, explore.Part{Index: i, Of: of})}, parts...)
		}
		to := filepath.Join(t.TempDir(), "state.jsonl")
		for again := range 2 {
			_, reports, err := explore.Merge(to, merged, append(parts, parts[0])...)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := explore.Sum(reports).Whole(), explore.Sum(whole).Whole(); got.Runs != runs || !reflect.DeepEqual(got, want) {
				t.Errorf("%d parts, merged %d times: %+v, want %+v", of, again+1, got, want)
			}
		}
	}
}

// What is not of one search, or begins with another seed, is refused, and nothing is changed.
func TestStatesThatDoNotBelongTogether(t *testing.T) {
	other := merged
	other.Subject = "y"
	broken := filepath.Join(t.TempDir(), "state.jsonl")
	if err := os.WriteFile(broken, []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	to := state(t, merged, 0, 100, explore.Part{})
	before, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want error
	}{
		{state(t, other, 0, 100, explore.Part{}), explore.ErrOther},
		{state(t, merged, 90, 100, explore.Part{}), explore.ErrOverlap},
		{broken, explore.ErrOther},
		{"nowhere.jsonl", os.ErrNotExist},
	} {
		if _, _, err := explore.Merge(to, merged, tt.name); !errors.Is(err, tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	after, err := os.ReadFile(to)
	if err != nil || string(after) != string(before) {
		t.Errorf("it was changed: %v", err)
	}
	if _, err := explore.ConfigOf(broken); err == nil {
		t.Error("what has no configuration has one")
	}
	if c, err := explore.ConfigOf(to); err != nil || c.Key() != merged.Key() {
		t.Errorf("%+v, %v", c, err)
	}
}
