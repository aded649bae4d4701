package reports

import (
	"cmp"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Tone is what an answer or a result means for the reader. It chooses colours and marks.
type Tone string

const (
	Good       Tone = "good"       // it holds, as it should
	Reproduced Tone = "reproduced" // it broke, as the scenario said it would
	Bad        Tone = "bad"        // it is not what the scenario expects
	Unsure     Tone = "unsure"     // the checkers could not decide
	Quiet      Tone = "quiet"      // nothing was claimed, nothing is said
)

// Answer is the whole verdict in a word and a sentence.
type Answer struct {
	Tone Tone
	Word string // REPRODUCED
	Text string // exclusion and watchdog are broken, as this scenario expects
}

// answer sums a verdict up. It follows [checker.Verdict.Code], so that the words and the exit code
// cannot disagree.
func answer(v *checker.Verdict) Answer {
	switch {
	case v.Error != "":
		return Answer{Bad, "HARNESS ERROR", Visible(v.Error)}
	case len(v.Refused) > 0:
		return Answer{Bad, "NOT JUDGED", "the history does not meet the checkers' assumptions"}
	case v.Disagreement != "":
		return Answer{Bad, "THE CHECKERS DISAGREE", "one of them is wrong, which is a bug of the harness, not of the " + object(v)}
	}
	var broken, surprising, undecided clauses
	for _, g := range contract.Guarantees() {
		r := v.Result(g)
		switch {
		case r.AsExpected() && r.Status == checker.Broken:
			broken.add("is broken", string(g))
		case r.AsExpected():
		case r.Status == checker.Undecided:
			undecided.add("could not be decided", string(g))
		default:
			surprising.add(statusPhrase(r, object(v)), string(g))
		}
	}
	switch v.Code() {
	case checker.ExitUnexpected:
		if len(surprising) == 0 { // nothing but that a fault missed
			return Answer{Bad, "UNEXPECTED", Visible(strings.Join(v.Missed, "; "))}
		}
		return Answer{Bad, "UNEXPECTED", surprising.String()}
	case checker.ExitUndecided:
		return Answer{Unsure, "UNDECIDED", undecided.String()}
	}
	if len(broken) > 0 {
		why := ", as this scenario expects"
		if v.Scenario == "" || v.Unpredicted {
			why = ", by nothing that the " + object(v) + " answers for"
		}
		return Answer{Reproduced, "REPRODUCED", broken.String() + why}
	}
	return Answer{Good, "HOLDS", "every guarantee that the " + object(v) + " claims held"}
}

// object is what was judged, in a word.
func object(v *checker.Verdict) string { return cmp.Or(v.Object, string(history.ALock)) }

// clauses are sentences' parts of what holds of whom: "object and effect are broken".
type clauses []clause

type clause struct {
	says string
	of   []string
}

func (cs *clauses) add(says, of string) {
	for i := range *cs {
		if c := &(*cs)[i]; c.says == says {
			c.of = append(c.of, of)
			return
		}
	}
	*cs = append(*cs, clause{says, []string{of}})
}

func (cs clauses) String() string {
	var parts []string
	for _, c := range cs {
		says := c.says
		if len(c.of) > 1 { // "is broken" of several is "are broken"
			verb, rest, _ := strings.Cut(says, " ")
			if plural := map[string]string{"is": "are", "was": "were", "holds": "hold"}[verb]; plural != "" {
				says = strings.TrimSpace(plural + " " + rest)
			}
		}
		parts = append(parts, list(c.of)+" "+says)
	}
	return strings.Join(parts, "; ")
}

// statusPhrase says what a result is and what it was expected to be.
func statusPhrase(r checker.Result, object string) string {
	phrase := "is " + string(r.Status)
	switch {
	case !r.Status.Valid():
		return "was never judged"
	case r.Status == checker.Holds:
		phrase = "holds"
	}
	switch r.Expected {
	case "":
		return phrase
	case r.Status: // expected, but not by the lock itself
		return phrase + " by a defect of this " + object
	}
	return phrase + " (expected: " + string(r.Expected) + ")"
}

// tone of one result.
func tone(r checker.Result) Tone {
	switch {
	case r.Status == checker.Undecided:
		return Unsure
	case !r.AsExpected():
		return Bad
	case r.Status == checker.Broken:
		return Reproduced
	case r.Status == checker.NotClaimed:
		return Quiet
	}
	return Good
}

// statusWord is the status as shown; a guarantee without one counts as a failure.
func statusWord(r checker.Result) string {
	if !r.Status.Valid() {
		return "never judged"
	}
	return string(r.Status)
}

// expectation says how a result stands to the scenario's expectation; empty when nothing needs
// saying.
func expectation(r checker.Result) string {
	switch {
	case r.AsExpected() && r.Status == checker.Broken:
		return "as expected"
	case r.AsExpected() || !r.Status.Valid():
		return ""
	case r.Expected == "":
		return "not expected"
	case r.Expected == r.Status:
		return "by a defect, which is not expected"
	}
	return "expected: " + string(r.Expected)
}

// summary is a result's sentence; a guarantee that nobody judged counts as a failure.
func summary(r checker.Result) string {
	if !r.Status.Valid() {
		return "No checker judged it, which counts as a failure."
	}
	return Visible(r.Summary)
}

// question is what a guarantee asks of an object, for somebody who has never heard of it.
func question(g contract.Guarantee, object string) string {
	if q := questionsOfOthers[history.Object(object)][g]; q != "" {
		return q
	}
	switch g {
	case contract.Object:
		return "Did every answer of the lock fit a correct lock with leases?"
	case contract.Exclusion:
		return "Did two owners ever believe at once that they held the lock?"
	case contract.Effect:
		return "Did the critical section protect the data?"
	case contract.Fencing:
		return "Did tokens increase, and were stale writers refused?"
	case contract.Watchdog:
		return "Was a living holder's lease renewed in time, and never after its end?"
	case contract.Liveness:
		return "Did waiters get the free lock promptly, and did everything end?"
	case contract.Fairness:
		return "Was it granted to who was first in the queue?"
	}
	return ""
}

// questionsOfOthers are asked in other words of what is no lock.
var questionsOfOthers = map[history.Object]map[contract.Guarantee]string{
	history.ASemaphore: {
		contract.Object:    "Did every answer of the semaphore fit a correct semaphore?",
		contract.Exclusion: "Were more permits ever out at once than there are?",
		contract.Liveness:  "Did waiters get free permits promptly, and did everything end?",
	},
	history.APermitSemaphore: {
		contract.Object:    "Did every answer of the semaphore fit a correct semaphore of permits with leases?",
		contract.Exclusion: "Were more permits ever out at once than there are?",
		contract.Liveness:  "Did waiters get free permits promptly, and did everything end?",
	},
	history.ALatch: {
		contract.Object:    "Did every answer of the latch fit a correct latch?",
		contract.Exclusion: "Did anybody pass before it was counted down often enough?",
		contract.Liveness:  "Did waiters go on promptly at zero, and did each count-down count?",
	},
}
