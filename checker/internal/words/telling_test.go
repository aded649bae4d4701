package words

import (
	"testing"

	"github.com/holdfast-sim/holdfast/history"
)

// Each fault is told as who does what to whom, and a server or client that is named by its name.
func TestFaultsAreToldInSentences(t *testing.T) {
	for _, tt := range []struct {
		fault             history.Fault
		was, begins, ends string
	}{
		{history.Fault{Kind: "restart", Server: "s4"},
			"server s4 was down and lost its data", "server s4 goes down and loses its data", "server s4 serves again, without its data"},
		{history.Fault{Effects: []history.Effect{history.ServerDown}}, "the server was down", "the server goes down", "the server serves again"},
		{history.Fault{Kind: "failover", On: "return lock", Hits: 1}, "the server failed over to a replica", "the server dies; a replica takes its place", ""},
		{history.Fault{Kind: "clock-jump", Server: "s3"}, "the clock of server s3 jumped", "the clock of server s3 jumps", ""},
		{history.Fault{Kind: "partition", Client: "c1", Server: "s2"},
			"c1 was cut off from server s2", "c1 is cut off from server s2", "c1 can talk to server s2 again"},
		{history.Fault{Kind: "drop-message", Client: "c1", On: "reply acquire", Hits: 1},
			"the network lost the reply to c1's acquire", "the network loses the reply to c1's acquire", ""},
		{history.Fault{Kind: "drop-message", On: "reply acquire", Hits: 3},
			"the network lost the reply to an acquire and 2 other messages", "the network loses the reply to an acquire and 2 other messages", ""},
		{history.Fault{Kind: "drop-message", Client: "c2", On: "reply publish", Hits: 1},
			"the network lost the news of a release for c2", "the network loses the news of a release for c2", ""},
		{history.Fault{Kind: "delay-message", Client: "c1", On: "request release", Hits: 1},
			"the network held up the request of c1's release", "the network holds up the request of c1's release", "the network lets the request of c1's release through"},
		{history.Fault{Kind: "duplicate-message", On: "request", Hits: 1}, "the network delivered a request twice", "the network delivers a request twice", ""},
		{history.Fault{Kind: "server-error", Server: "s1", Client: "c1", On: "request renew", Hits: 1},
			"server s1 refused the request of c1's renew", "server s1 refuses the request of c1's renew", ""},
		{history.Fault{Kind: "pause-client", Client: "c1"}, "c1 was paused", "c1 is paused", "c1 goes on"},
		{history.Fault{Kind: "force-unlock", Lock: "a"}, "an operator forced a free", "an operator forces a free", ""},
		{history.Fault{Effects: []history.Effect{history.ReplicationStopped}, Server: "s1"}, "a replica of server s1 received nothing",
			"a replica of server s1 receives nothing any more", "a replica of server s1 receives what it missed"},
		{history.Fault{Kind: "kill-client", Client: "c1", On: "request acquire", Hits: 1}, "c1 died", "c1 dies", ""},
		{history.Fault{Kind: "nobody-knows", Client: "c1"}, "the fault nobody-knows struck c1", "the fault nobody-knows struck c1", ""},
	} {
		f := tt.fault
		if len(f.Effects) == 0 {
			f.Effects = history.EffectsOf(f.Kind, f.Step)
		}
		if got := Was(&f); got != tt.was {
			t.Errorf("%s was: %q, want %q", f.Kind, got, tt.was)
		}
		if got := Begins(&f); got != tt.begins {
			t.Errorf("%s begins: %q, want %q", f.Kind, got, tt.begins)
		}
		if got := Ends(&f); tt.ends != "" && got != tt.ends {
			t.Errorf("%s ends: %q, want %q", f.Kind, got, tt.ends)
		}
	}
}
