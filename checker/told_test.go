package checker

import (
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

func TestNamesKey(t *testing.T) {
	for text, want := range map[string]bool{
		"subscribe channel:{job}-1": true, "subscribe channel:{{job}-1}": true, "subscribe a {job}-1 b": true, "{job}-1": true,
		"subscribe channel:{job}-10": false, "subscribe channel:x{job}-1": false, "subscribe {job}-10 c:{job}-1": true, "": false,
	} {
		if namesKey(text, "{job}-1") != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// A lock that claims to heed the message of a forced release tells a holder at once, whose client has subscribed to it.
func TestAForcedReleaseIsToldAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name       string
		claims     []contract.Claim
		subscribed time.Duration // when the subscription was confirmed; 0: never
		told       time.Duration
		late       bool
	}{
		{"at once", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(5.05), false},
		{"by the next renewal only", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(0.5), at(10.003), true},
		{"which is enough without the claim", []contract.Claim{contract.TellsLoss}, at(0.5), at(10.003), false},
		{"and without a subscription", []contract.Claim{contract.TellsLoss, contract.HearsForce}, 0, at(10.003), false},
		{"or before it was confirmed", []contract.Claim{contract.TellsLoss, contract.HearsForce}, at(5.01), at(10.003), false},
	} {
		s := newScript()
		for _, c := range tt.claims {
			claiming(s, c)
		}
		op := s.take("c1:1", at(0), at(0.002), 0)
		s.h.Served = append(s.h.Served, history.Served{At: at(0.001), Sent: at(0), Got: at(0.002), Client: "c1", Owner: "c1:1", Op: op.ID, Lock: job,
			Before: key("", 0, 0), After: key("c1:1", 1, at(30.001))})
		if tt.subscribed > 0 {
			s.h.Served = append(s.h.Served, history.Served{At: tt.subscribed - ms, Sent: tt.subscribed - 2*ms, Got: tt.subscribed, Client: "c1",
				Step: history.StepSubscribe, Text: "subscribe channel:" + job})
		}
		s.op("c9:1", history.ForceUnlock, at(5), at(5.002), history.Released)
		s.renew("c1:1", at(10), history.NotHeld)
		s.event(history.Lost, tt.told).Owner = "c1:1"
		found := false
		for _, x := range verdict(t, s).Result(contract.Exclusion).Violations {
			found = found || x.Rule == contract.ToldInTime
		}
		if found != tt.late {
			t.Errorf("%s: told too late: %v", tt.name, found)
		}
	}
}
