package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/history"
)

// troubled is the watchdog's death with a request and two replies that were lost, and a request that was copied.
func troubled() (*history.History, *checker.Verdict) {
	h, v := watchdogDeath()
	renew := history.Served{At: sec(50.425), Sent: sec(50.422), Client: "c2", Conn: "c2#1", Step: history.StepRenew, Owner: "c2:1", Lock: lockName,
		Text: "EVALSHA de9d7dd1 1 order:42 30000 c2:1", Before: held("c2:1", 1, 70), After: held("c2:1", 1, 80.425), Reply: "1", Got: sec(50.428), Request: 90}
	again := renew
	again.At, again.Got, again.Conn = sec(52), 0, "c2#1+1"
	unanswered := renew
	unanswered.At, unanswered.Sent, unanswered.Got, unanswered.Request = sec(55.003), sec(55), 0, 91
	h.Served = append(h.Served, renew, again, unanswered)
	sortServed(h)
	lose := func(on, client string, at float64) history.Fault {
		return history.Fault{Index: len(h.Faults), Kind: "drop-message", Effects: []history.Effect{history.MessageLost}, Client: client, From: sec(at), To: sec(at), Hits: 1, On: on}
	}
	h.Faults = append(h.Faults, lose("request renew", "c2", 54))
	h.Faults = append(h.Faults, lose("reply renew", "c2", 55.006))
	h.Faults = append(h.Faults, lose("reply publish", "c1", 56))
	missed := lose("request renew", "c2", 57)
	missed.Missed, missed.Hits = true, 0
	h.Faults = append(h.Faults, missed)
	return h, v
}

func sortServed(h *history.History) {
	for i := range h.Served {
		for j := i; j > 0 && h.Served[j].At < h.Served[j-1].At; j-- {
			h.Served[j], h.Served[j-1] = h.Served[j-1], h.Served[j]
		}
	}
}

func TestLostAndCopiedMessagesAreInTheSequence(t *testing.T) {
	h, v := troubled()
	p := draw(h, v)
	var peers []string
	for _, c := range p.Columns {
		peers = append(peers, c.Kind+" "+c.Name)
	}
	if got := strings.Join(peers, ", "); got != "client c1, client c2, server server" {
		t.Errorf("columns: %s", got)
	}
	var got []string
	for _, m := range p.Messages {
		if m.Lost != "" || m.CopyOf != 0 {
			got = append(got, fmt.Sprintf("%s %s of %s at %v, row %t, copy %t", m.Lost, m.Label, p.Columns[m.From].Name, m.LostAt, m.Row > 0, m.CopyOf > 0))
		}
	}
	want := []string{
		"reply renew of c2 at 0s, row true, copy true", // whoever copied it gets the answer
		"request renew of c2 at 54s, row false, copy false",
		"reply renew of c2 at 55.006s, row true, copy false",
		"reply publish of c1 at 56s, row false, copy false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, m := range p.Messages {
		if m.CopyOf != 0 && (h.Served[m.CopyOf-1].Sent != m.Sent || m.CopyOf == m.Row) {
			t.Errorf("row %d is no copy of row %d", m.Row, m.CopyOf)
		}
	}
}

// Whoever sends a request again sends it later: that is no copy.
func TestARequestThatIsSentAgainIsNoCopy(t *testing.T) {
	log := []history.Served{{Client: "c1", Request: 3, Sent: 1}, {Client: "c1", Request: 3, Sent: 2}, {Client: "c1", Request: 3, Sent: 1}, {Client: "c1", Sent: 1}, {Client: "c1", Sent: 1}, {Client: "c2", Request: 3, Sent: 1}}
	if got := fmt.Sprint(copiesIn(log)); got != "[0 1 0 3 4 5]" {
		t.Errorf("first rows %s", got)
	}
}

func TestWhatMattersOfTheLogIsWhatTheStoryAndTheJudgedCallsSpeakOf(t *testing.T) {
	h, v := troubled()
	var folded, shown []string
	for i, yes := range matter(h, v, h.Served) {
		s := h.Served[i]
		if text := fmt.Sprintf("%s %s", s.Client, s.Step); yes {
			shown = append(shown, text)
		} else {
			folded = append(folded, text)
		}
	}
	t.Logf("folded %q, shown %q", folded, shown)
	if len(folded) == 0 || len(shown) < 6 {
		t.Errorf("folded %q, shown %q", folded, shown)
	}
	for _, text := range folded {
		if strings.HasSuffix(text, "acquire") || strings.HasSuffix(text, "release") {
			t.Errorf("%s is folded", text)
		}
	}
	v.Story, v.Results = nil, nil
	h, _ = watchdogDeath()
	for i, yes := range matter(h, v, h.Served) {
		if yes && h.Served[i].Got != 0 {
			t.Errorf("row %d matters to nobody", i+1)
		}
	}
}

const chosenMessage = `document.getElementById(document.getElementById("sequence").getAttribute("aria-activedescendant"))`

// The sequence view is reached by a button or a key, read by the arrow keys, and leads to the server log and back.
func TestTheSequenceViewInABrowser(t *testing.T) {
	b := browser(t)
	h, v := troubled()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	if eval[bool](tb, `document.getElementById("sequence").checkVisibility()`) {
		t.Error("the sequence is shown before anybody asks for it")
	}
	tb.do(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent("m"))
	tb.wait(`document.getElementById("sequence").checkVisibility() && !document.getElementById("timeline").checkVisibility() && document.activeElement.id === "sequence"`)
	if got := eval[string](tb, `document.getElementById("show-messages").getAttribute("aria-pressed")`); got != "true" {
		t.Errorf("the button is pressed: %s", got)
	}
	if got, want := eval[string](tb, `[...document.querySelectorAll("#sequence .head .name")].map(n => n.firstChild.textContent).join()`), "c1,c2,server"; got != want {
		t.Errorf("columns %s", got)
	}
	label := chosenMessage + `.getAttribute("aria-label")`
	tb.do(chromedp.KeyEvent(kb.End))
	if got := eval[string](tb, label); !strings.HasPrefix(got, "release, c2 to server, EVALSHA") || !strings.Contains(got, "came at 60.506") {
		t.Errorf("the last message is called %q", got)
	}
	tb.do(chromedp.KeyEvent(kb.ArrowUp))
	if got := eval[string](tb, label); !strings.HasPrefix(got, "renew, c2 to server") {
		t.Errorf("the one before is called %q", got)
	}
	tip := `document.getElementById("tip").textContent`
	if got := eval[string](tb, tip); !strings.Contains(got, "EVALSHA") || eval[bool](tb, `document.getElementById("tip").hidden`) {
		t.Errorf("what has the focus is told by %q", got)
	}
	// Enter leads to the row of the log, and its link back to the message.
	tb.do(chromedp.KeyEvent(kb.Enter))
	row := eval[string](tb, `document.querySelector("#log tr.chosen").id`)
	if got := eval[string](tb, `location.hash`); got != "#m="+strings.TrimPrefix(row, "m-") {
		t.Errorf("the address is %s, the row %s", got, row)
	}
	if !eval[bool](tb, `document.querySelector("#log tr.chosen").checkVisibility()`) {
		t.Error("the row is not shown")
	}
	tb.do(chromedp.Click(chromedp.CSS("#show-messages")))
	tb.wait(`document.getElementById("timeline").checkVisibility()`)
	tb.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#log tr.told a").click()`))
	tb.wait(`document.getElementById("sequence").checkVisibility() && ` + chosenMessage + `.classList.contains("chosen")`)
	if got := eval[string](tb, label); !strings.Contains(got, "c1 to server") {
		t.Errorf("the first row leads to %q", got)
	}
	// The story moves it too.
	tb.do(chromedp.Click(chromedp.CSS(`.story li:last-child .at`)))
	tb.wait(`[...document.querySelectorAll("#sequence .told")].some(t => t.getBoundingClientRect().top > 0)`)
	tb.quiet()
}

// Lost and copied messages are drawn where they were lost or copied, and a pointer over them tells what they were.
func TestTheSequenceDrawsLossesAndCopies(t *testing.T) {
	b := browser(t)
	h, v := troubled()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 2600))
	tb.do(chromedp.Click(chromedp.CSS("#show-messages")))
	tb.wait(`document.getElementById("sequence").checkVisibility()`)
	tb.wait(`document.querySelectorAll("#sequence .message").length === JSON.parse(document.getElementById("data").textContent).messages.length`)
	if lost, forks := eval[int](tb, `document.querySelectorAll("#sequence .cross").length`), eval[int](tb, `document.querySelectorAll("#sequence .fork").length`); lost != 4 || forks != 1 {
		t.Errorf("%d messages are lost and %d copied, want 4 and 1", lost, forks)
	}
	// The copy begins where the original is on its way, and ends where the server executed it, 1.575 s later.
	if !eval[bool](tb, `(() => { const f = document.querySelector("#sequence .fork"), g = f.closest("g"), y = Number(f.getAttribute("cy")), line = g.querySelector(".copy line:last-of-type");
		return Number(line.getAttribute("y1")) === y && Number(line.getAttribute("y2")) > y + 20; })()`) {
		t.Error("the copy is not drawn from where it was copied")
	}
	// What stands between two rows is cut to one, however long nothing was sent.
	if got := eval[int](tb, `document.querySelector("#sequence svg").height.baseVal.value`); got > 1500 {
		t.Errorf("75 seconds with 20 messages are %d pixels tall", got)
	}
	if got := eval[string](tb, `[...document.querySelectorAll("#sequence .idle-text")].map(t => t.textContent).join()`); !strings.Contains(got, "nothing for 25.4 s") {
		t.Errorf("idle stretches: %s", got)
	}
	spot := eval[[]float64](tb, `(() => { const r = document.querySelector("#sequence .sent.lost .cross").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`)
	tb.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#sequence .sent.lost .hit").dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: %f, clientY: %f}))`, spot[0], spot[1])))
	tb.wait(`!document.getElementById("tip").hidden`)
	if got := eval[string](tb, `document.getElementById("tip").textContent`); !strings.Contains(got, "lost on its way") || !strings.Contains(got, "drop-message") {
		t.Errorf("the lost request is told by %q", got)
	}
	if got := eval[string](tb, overlaps); got != "" {
		t.Errorf("words lie on each other: %s", got)
	}
	tb.quiet()
}

// The log shows what matters; the rest opens on a click, and all of it is there without scripts.
func TestTheLogIsFolded(t *testing.T) {
	b := browser(t)
	h, v := troubled()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	rows := `[...document.querySelectorAll("#log tbody tr:not(.fold)")]`
	all, shown := eval[int](tb, rows+`.length`), eval[int](tb, rows+`.filter(r => !r.hidden).length`)
	if all != len(h.Served) || shown == 0 || shown >= all {
		t.Fatalf("%d of %d rows are shown", shown, all)
	}
	if got := eval[int](tb, rows+`.filter(r => r.hidden !== !r.classList.contains("told")).length`); got != 0 {
		t.Errorf("%d rows are shown or folded by mistake", got)
	}
	tb.do(chromedp.Click(chromedp.CSS("#log summary")), chromedp.Click(chromedp.CSS("#log .fold button")))
	tb.wait(fmt.Sprintf(rows+`.filter(r => !r.hidden).length > %d && document.querySelector("#log .fold button").getAttribute("aria-expanded") === "true"`, shown))
	tb.do(chromedp.Click(chromedp.CSS("#log .fold button")))
	tb.wait(fmt.Sprintf(rows+`.filter(r => !r.hidden).length === %d`, shown))
	tb.quiet()
}

// crowd is a quiet run of a hundred clients.
func crowd() (*history.History, *checker.Verdict) {
	h, v := quiet(400)
	of := func(op int64) string { return fmt.Sprintf("c%d", (op-1)/2%100+1) }
	for i := range h.Served {
		s := &h.Served[i]
		s.Client, s.Owner = of(s.Op), of(s.Op)+":1"
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		op.Client, op.Owner = of(op.ID), of(op.ID)+":1"
	}
	return h, v
}

// Of many clients those columns are drawn that can be seen, and the filter leaves the messages that have its words.
func TestTheSequenceOfManyClients(t *testing.T) {
	b := browser(t)
	h, v := crowd()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(390, 844))
	tb.do(chromedp.Click(chromedp.CSS("#show-messages")))
	tb.wait(`document.getElementById("sequence").checkVisibility()`)
	if lives, drawn := eval[int](tb, `document.querySelectorAll("#sequence .life").length`), eval[int](tb, `document.querySelectorAll("#sequence .message").length`); lives == 0 || lives > 20 || drawn == 0 || drawn > 60 {
		t.Errorf("%d columns and %d messages are drawn", lives, drawn)
	}
	if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page is wider than the window")
	}
	tb.do(chromedp.SendKeys(chromedp.CSS("#lanes"), "c77"))
	tb.wait(`document.getElementById("announce").textContent === "4 messages"`)
	tb.wait(`document.querySelectorAll("#sequence .head .name").length === 2`) // who sends none of them takes no room
	tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("lanes").select()`), chromedp.SendKeys(chromedp.CSS("#lanes"), "c77:1"))
	tb.wait(`document.getElementById("announce").textContent === "4 messages"`) // a lane has the name of its owner
	tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("lanes").select()`), chromedp.SendKeys(chromedp.CSS("#lanes"), "nobody"))
	tb.wait(`document.getElementById("announce").textContent === "0 messages"`)
	if got := eval[string](tb, `[...document.querySelectorAll("#sequence .head .name, #sequence .says")].map(n => n.firstChild.textContent).join()`); got != "no message on this page has these words,server" {
		t.Errorf("with no message the view has %q", got)
	}
	tb.quiet()
}

// The view begins where the picture was, with the client in sight that sends there. The servers of a crowd stay beside it, so that
// there are arrows wherever the reader looks.
func TestTheMessagesOfACrowdAreInSight(t *testing.T) {
	b := browser(t)
	h, v := crowd()
	s := h.Served[160]
	arrows := `(() => { const b = document.getElementById("sequence").getBoundingClientRect(), in_ = r => r.left >= b.left && r.right <= b.right && r.top >= b.top && r.bottom <= b.bottom;
		return [...document.querySelectorAll("#sequence .sent .tip-of")].filter(a => in_(a.getBoundingClientRect())).length; })()`
	heads := `[...document.querySelectorAll("#sequence .head .name")].map(n => n.firstChild.textContent)`
	tb := open(t, b, h, v, fmt.Sprintf("#t=%.6fs", s.Sent.Seconds()), chromedp.EmulateViewport(1280, 800))
	tb.do(chromedp.Click(chromedp.CSS("#show-messages")))
	tb.wait(heads + fmt.Sprintf(`.includes(%q) && `, s.Client) + heads + `.at(-1) === "server"`)
	tb.wait(arrows + ` > 3`)
	for _, place := range []int{0, 2000, 100000} {
		tb.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.getElementById("sequence").scrollLeft = %d`, place)))
		tb.wait(`document.querySelector("#sequence .head").getBoundingClientRect().left <= document.getElementById("sequence").getBoundingClientRect().left && ` + arrows + ` > 3 && ` + heads + `.at(-1) === "server"`)
		if got := eval[string](tb, overlaps); got != "" {
			t.Errorf("at %d words lie on each other: %s", place, got)
		}
	}
	tb.quiet()
}

// Of many operations paper has those that are told of, and says so; the screen has all.
func TestPaperHasTheOperationsThatAreToldOf(t *testing.T) {
	b := browser(t)
	h, v := quiet(400)
	v.Story = []checker.Moment{{At: h.Ops[300].Call, Who: h.Ops[300].Owner, Text: "asks", Weight: checker.Plain}}
	rows, note := `[...document.querySelectorAll("#ops tbody tr")].filter(r => r.checkVisibility()).length`, `document.querySelector(".on-paper").checkVisibility()`
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(794, 1000))
	if n := eval[int](tb, rows); n != 400 || eval[bool](tb, note) {
		t.Errorf("the screen has %d operations", n)
	}
	tb.do(printed())
	if n := eval[int](tb, rows); n != 1 || !eval[bool](tb, note) || !strings.Contains(eval[string](tb, `document.querySelector(".on-paper").textContent`), "399 more are on the page") {
		t.Errorf("paper has %d operations: %s", n, eval[string](tb, `document.querySelector(".on-paper").textContent`))
	}
	tb.quiet()
	h, v = quiet(200)
	tb = open(t, b, h, v, "", chromedp.EmulateViewport(794, 1000))
	tb.do(printed())
	if n := eval[int](tb, rows); n != 200 || eval[bool](tb, `document.querySelector(".on-paper") !== null`) {
		t.Errorf("of 200 operations paper has %d", n)
	}
}

// Paper has all messages below the picture if they are shown, on sheets that each name the columns; else it has none of them.
func TestPaperHasTheMessagesIfTheyAreShown(t *testing.T) {
	b := browser(t)
	h, v := busy()
	tb := open(t, b, h, v, "", chromedp.EmulateViewport(1280, 800))
	sheets := func() int { return eval[int](tb, `document.querySelectorAll("#sheets svg").length`) }
	tb.do(printed())
	if n := sheets(); n != 0 {
		t.Errorf("%d sheets of messages that nobody asked for", n)
	}
	tb.do(scheme("light"), chromedp.Click(chromedp.CSS("#show-messages")))
	tb.wait(`document.querySelectorAll("#sequence .message").length > 0`)
	if eval[bool](tb, `document.getElementById("sheets").checkVisibility()`) {
		t.Error("the screen has the sheets, too")
	}
	tb.do(printed())
	tb.wait(`document.querySelectorAll("#sheets svg").length > 0`)
	for what, holds := range map[string]string{
		"the picture":                `document.querySelector(".paper svg").checkVisibility() && document.getElementById("h-picture").textContent === "What happened, to scale"`,
		"every message":              `new Set([...document.querySelectorAll("#sheets .message")].map(m => m.dataset.m)).size === JSON.parse(document.getElementById("data").textContent).messages.length`,
		"names on each":              `[...document.querySelectorAll("#sheets svg")].every(s => s.querySelectorAll(".head .name").length === document.querySelectorAll("#sequence .head .name").length)`,
		"sheets as large as a page":  `[...document.querySelectorAll("#sheets svg")].every(s => s.viewBox.baseVal.height / s.viewBox.baseVal.width < 1.35)`,
		"all of the time in between": `[...document.querySelectorAll("#sheets svg")].every((s, i, all) => i === 0 || s.viewBox.baseVal.y < all[i - 1].viewBox.baseVal.y + all[i - 1].viewBox.baseVal.height)`,
		"no name twice":              `new Set([...document.querySelectorAll("[id]")].map(e => e.id)).size === document.querySelectorAll("[id]").length`,
	} {
		if !eval[bool](tb, holds) {
			t.Errorf("paper has not %s", what)
		}
	}
	tb.do(scheme("light"))
	tb.wait(`document.querySelectorAll("#sheets svg").length === 0 && document.getElementById("h-picture").textContent === "Who sent whom what"`)
	tb.quiet()
}
