package checker

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history/formats"
	"github.com/holdfast-sim/holdfast/model"
)

// Histories from elsewhere, as simrun check judges them: both sides, by kind of lock.
func TestForeignHistories(t *testing.T) {
	// Two grants in a row to one process, then two releases.
	const reentrant = `
		{:type :invoke :f :acquire :process 0 :time 1} {:type :ok :f :acquire :process 0 :time 2}
		{:type :invoke :f :acquire :process 0 :time 3} {:type :ok :f :acquire :process 0 :time 4}
		{:type :invoke :f :release :process 0 :time 5} {:type :ok :f :release :process 0 :time 6}
		{:type :invoke :f :release :process 0 :time 7} {:type :ok :f :release :process 0 :time 8}`
	// Process 1 is granted the lock that process 0 has; 2 crashed in its release of nothing.
	const twice = `
		{:type :invoke :f :acquire :process 0 :time 1} {:type :ok :f :acquire :process 0 :time 2}
		{:type :invoke :f :release :process 2 :time 3} {:type :info :f :release :process 2 :time 4}
		{:type :invoke :f :acquire :process 1 :time 5} {:type :ok :f :acquire :process 1 :time 6}`
	// The release of process 0 has no answer: it may have come before the second grant.
	const lost = `
		{:type :invoke :f :acquire :process 0 :time 1} {:type :ok :f :acquire :process 0 :time 2}
		{:type :invoke :f :release :process 0 :time 3} {:type :info :f :release :process 0 :time 4}
		{:type :invoke :f :acquire :process 1 :time 5} {:type :ok :f :acquire :process 1 :time 6}`
	const tokens = `
		{:type :invoke :f :acquire :process 0 :time 1} {:type :ok :f :acquire :process 0 :time 2 :value 7}
		{:type :invoke :f :release :process 0 :time 3} {:type :ok :f :release :process 0 :time 4}
		{:type :invoke :f :acquire :process 1 :time 5} {:type :ok :f :acquire :process 1 :time 6 :value 7}`
	for _, tt := range []struct {
		name, text string
		kind       model.Kind
		object     Status
		rule       contract.Rule
	}{
		{"a reentrant lock is reentrant", reentrant, model.Reentrant, Holds, ""},
		{"a mutex is not", reentrant, model.Mutex, Broken, contract.NoReentry},
		{"granted twice", twice, model.Mutex, Broken, contract.OneHolder},
		{"granted after a release without an answer", lost, model.Mutex, Holds, ""},
		{"one token for two grants", tokens, model.Fenced, Broken, contract.TokensIncrease},
		{"one token for two grants, which a mutex may give", tokens, model.Mutex, Holds, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := formats.LoadAny(t.Context(), strings.NewReader(tt.text), 0)
			if err != nil {
				t.Fatal(err)
			}
			v := Judge(context.Background(), h, Options{Model: tt.kind})
			r := v.Result(contract.Object)
			if len(v.Refused) > 0 || r.Status != tt.object {
				t.Fatalf("%s: %s %v", r.Status, r.Summary, v.Refused)
			}
			if r.Status == Broken && r.Violations[0].Rule != tt.rule {
				t.Errorf("broke %q: %s", r.Violations[0].Rule, r.Violations[0].Text)
			}
			if l := v.Result(contract.Liveness); l.Status != NotClaimed {
				t.Errorf("liveness: %s: %s", l.Status, l.Summary)
			}
		})
	}
}
