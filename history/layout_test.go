package history_test

import (
	"slices"
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// Only where the layout says so does @ stand for the holder: a name may have one of its own.
func TestPlacesThatNameTheirHolder(t *testing.T) {
	own := history.Layout{Count: history.Place{Key: "*:count:@", Owned: true}}
	named := history.Layout{Count: history.Place{Key: "app@*:count"}}
	for _, tt := range []struct {
		l      history.Layout
		holder string
		want   []string
	}{
		{own, "c1:1", []string{"job", "job:count:c1:1"}}, {own, "", []string{"job"}},
		{named, "c1:1", []string{"job", "app@job:count"}}, {named, "", []string{"job", "app@job:count"}},
	} {
		if got := tt.l.KeysOf("job", tt.holder); !slices.Equal(got, tt.want) {
			t.Errorf("%+v, held by %q: %q, want %q", tt.l.Count, tt.holder, got, tt.want)
		}
	}
}
