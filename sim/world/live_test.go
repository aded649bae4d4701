package world

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/plan"
)

// A server that counts times to live down tells a deadline a little differently each time; whoever took
// that for a change would take any command that names the key for one that set its time to live.
func TestADeadlineThatNobodySetsStandsStill(t *testing.T) {
	w := &World{ground: Miniredis(1)}
	w.Begin(nil)
	b, err := w.ground.open(w, plan.Server{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	l := b.(*live)
	if err := l.admin.Set(t.Context(), "k", "v", 20*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	first, err := b.read("k")
	if err != nil || first.deadline == 0 {
		t.Fatalf("%v, %v", first, err)
	}
	raw := map[time.Duration]int{}
	for range 500 {
		v, err := l.admin.read("k")
		if err != nil {
			t.Fatal(err)
		}
		raw[v.deadline]++
		if v, err = b.read("k"); err != nil || v.deadline != first.deadline {
			t.Fatalf("%v and then %v (%v); as it is told: %v", first.deadline, v.deadline, err, raw)
		}
	}
	t.Log(raw)
	if err := l.admin.PExpire(t.Context(), "k", 25*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	if v, err := b.read("k"); err != nil || v.deadline < first.deadline+4*time.Second {
		t.Errorf("set anew, it is %v after %v (%v)", v.deadline, first.deadline, err)
	}
}
