package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// betweenReads is a reader that works on after its lease is over, and reads once more what a writer wrote meanwhile.
func betweenReads() *script {
	s := newRW()
	s.held("c1:1", history.ReadLock, 1, 1.004, history.Acquired, 5*time.Second)
	s.read("c1:1", at(2), 0)
	s.event(history.Expire, at(6.003)).Owner = "c1:1"
	s.held(writer2, history.WriteLock, 7, 7.004, history.Acquired, 10*time.Minute)
	s.read(writer2, at(8), 0)
	s.write(writer2, at(9), 1)
	s.held(writer2, history.WriteUnlock, 10, 10.004, history.Released, 0)
	s.read("c1:1", at(11), 1)
	s.held("c1:1", history.ReadUnlock, 12, 12.004, history.NotHeld, 0)
	return s
}

// A reader that reads two values loses no update.
func TestReadsThatDifferAreCountedAsSuch(t *testing.T) {
	r := verdict(t, betweenReads()).Result(contract.Effect)
	if r.Status != Broken || r.Summary != "1 update between two reads under one hold" {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
}

// A fault that never struck is no part of the story.
func TestAFaultThatNeverStruckIsNotTold(t *testing.T) {
	for _, missed := range []bool{false, true} {
		s := betweenReads()
		s.fault("partition", "c1", at(3), at(4)).Missed = missed
		told := false
		for _, m := range verdict(t, s).Story {
			told = told || m.Who == "fault" && strings.Contains(m.Text, "c1")
		}
		if told == missed {
			t.Errorf("it never struck: %v; it is told: %v", missed, told)
		}
	}
}
