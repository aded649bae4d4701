package reports

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// HTMLOptions says what the page cannot know from the run itself.
type HTMLOptions struct {
	Command string // reproduces the run; empty: not shown
	Picture string // file name of porcupine's own picture, relative to the page; empty: no link
	Long    *Long  // of a long run, of which the history is a part or missing; nil: it is whole
	Shrunk  *Run   // a smaller run that breaks in the same way, to be told beside this one; nil: none
}

// What the page shows in full; the files of the run have the rest.
const (
	opsShown   = 2000
	logShown   = 400
	planShown  = 64 << 10 // bytes
	opsPrinted = 200      // of more operations, paper has those that the story or a violation speaks of
)

// HTML writes the report: one page that needs no network and no other file, readable without
// scripts. The history may be nil; the page then has no picture and no operations.
func HTML(w io.Writer, h *history.History, v *checker.Verdict, o HTMLOptions) error {
	assets, err := loadAssets()
	if err != nil {
		return err
	}
	p := newPage(h, v, o)
	p.Assets = assets
	if h != nil && o.Long == nil {
		p.Whole = p.whole(h, v, newCast(h))
	}
	var buf bytes.Buffer // so that a failing template leaves no half page behind
	if err := assets.tmpl.ExecuteTemplate(&buf, "page.tmpl", p); err != nil {
		return fmt.Errorf("rendering the report: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

func writeHTML(w io.Writer, r Run) error {
	return HTML(w, r.History, r.Verdict, HTMLOptions{Command: r.Command, Picture: r.Picture, Shrunk: r.Shrunk, Long: r.Long})
}

//go:embed web
var web embed.FS

// assets are the embedded parts of the page. They are ours and therefore trusted; nothing else is.
type assets struct {
	tmpl      *template.Template
	Style     template.CSS
	ManyStyle template.CSS // of pages about many runs
	Script    template.JS
	// ScriptHash admits our script, and no other, to run in the page (Content-Security-Policy).
	ScriptHash string

	// The script of a comparison.
	ShelfScript       template.JS // of the list of stored runs
	ShelfScriptHash   string
	CompareScript     template.JS
	CompareScriptHash string
	BatchScript       template.JS // of a page about many runs
	BatchScriptHash   string
}

var loadAssets = sync.OnceValues(func() (*assets, error) {
	tmpl, err := template.New("").Funcs(template.FuncMap{"stamp": checker.Stamp, "seconds": seconds, "thousands": Thousands, "colors": colorNumbers,
		"split": func(command string) []string { return strings.Split(command, " ") }}).
		ParseFS(web, "web/*.tmpl")
	if err != nil {
		return nil, err
	}
	style, err := joined("web/style.css")
	if err != nil {
		return nil, err
	}
	many, err := joined("web/style.css", "web/many.css")
	if err != nil {
		return nil, err
	}
	script, err := joined("web/timeline.js", "web/sequence.js", "web/serverlog.js", "web/panels.js", "web/page.js")
	if err != nil {
		return nil, err
	}
	compare, err := joined("web/compare.js")
	if err != nil {
		return nil, err
	}
	shelf, err := joined("web/shelf.js")
	if err != nil {
		return nil, err
	}
	batch, err := joined("web/batch.js", "web/panels.js")
	if err != nil {
		return nil, err
	}
	return &assets{
		BatchScript: template.JS(batch), BatchScriptHash: scriptHash(batch),
		ShelfScript: template.JS(shelf), ShelfScriptHash: scriptHash(shelf),
		CompareScript: template.JS(compare), CompareScriptHash: scriptHash(compare),
		tmpl: tmpl, Style: template.CSS(style), ManyStyle: template.CSS(many), Script: template.JS(script),
		ScriptHash: scriptHash(script),
	}, nil
})

// ScriptHash names the one script of the page that [HTML] writes, as a Content-Security-Policy does.
func ScriptHash() string {
	assets, err := loadAssets()
	if err != nil {
		return scriptHash(nil)
	}
	return assets.ScriptHash
}

// CompareScriptHash names the one script of the page that [Compare] writes, as a Content-Security-Policy does.
func CompareScriptHash() string {
	assets, err := loadAssets()
	if err != nil {
		return scriptHash(nil)
	}
	return assets.CompareScriptHash
}

// ShelfScriptHash names the one script of the page that [Shelf.HTML] writes, as a Content-Security-Policy does.
func ShelfScriptHash() string {
	assets, err := loadAssets()
	if err != nil {
		return scriptHash(nil)
	}
	return assets.ShelfScriptHash
}

// BatchScriptHash names the one script of the page that [BatchHTML] writes, as a Content-Security-Policy does.
func BatchScriptHash() string {
	assets, err := loadAssets()
	if err != nil {
		return scriptHash(nil)
	}
	return assets.BatchScriptHash
}

// joined is embedded files in one.
func joined(names ...string) ([]byte, error) {
	var all []byte
	for _, name := range names {
		part, err := web.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// seconds writes a time for a link to a moment, with all its digits.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func colorNumbers() []int {
	ns := make([]int, colors)
	for i := range ns {
		ns[i] = i
	}
	return ns
}

// page is what the template sees.
type page struct {
	Assets      *assets
	Scenario    string
	Object      string // what was judged: a lock, if nobody says otherwise
	Subject     string
	Seed        uint64
	Answer      Answer
	Facts       []fact
	Refused     []string
	Explanation []string
	Results     []resultView
	Picture     *picture
	Sketch      *sketch
	Story       []momentView
	Whole       int // how many moments the story has if those of less weight are told, too; 0: there are none
	Ops         []opView
	OpsLeft     int
	OpsScreen   int // how many of them paper does not have
	Log         []logView
	LogLeft     int
	Servers     bool // the log is of several
	Plan        string
	PlanLeft    int // bytes
	Provenance  []fact
	Command     string
	PictureLink string
	Shrunk      *shrunk
	Long        *longView
}

// shrunk is a smaller run that breaks in the same way.
type shrunk struct {
	Size    string
	Sketch  *sketch
	Story   []momentView
	Command string
}

func newShrunk(r *Run, full *checker.Verdict) *shrunk {
	p := newPage(r.History, r.Verdict, HTMLOptions{Command: r.Command})
	return &shrunk{Sketch: p.Sketch, Story: p.Story, Command: p.Command,
		Size: fmt.Sprintf("Its run has %s and takes %s. The run above has %s and takes %s.", count(r.Verdict.Ops, "operation", "operations"),
			checker.Stamp(r.Verdict.Virtual), count(full.Ops, "operation", "operations"), checker.Stamp(full.Virtual))}
}

type fact struct{ Name, Value string }

type resultView struct {
	Name, Question, Status, Expectation, By, Summary string
	Tone                                             Tone
	Violations                                       []violationView
	Left                                             int
}

type violationView struct {
	Rule, Text, Span, Class, Cause string
	Ruling                         rulingView
	Proof                          string // what runs without faults show; empty: nothing, or it is told before
	SameAs                         string // the guarantee whose cause this is too
	From, To                       time.Duration
}

type momentView struct {
	N         int
	At        time.Duration
	Who, Text string
	Color     int
	Weight    string
	Less      bool // the verdict leaves it out
	Rest      bool // it says how many those are
}

type opView struct {
	ID                 int64
	Call               time.Duration
	Called, Returned   string
	Owner, Lock        string
	Color              int
	Asked, Told, Class string
	Steps              []stepView // of a group's members
	Servers            string     // theirs
}

type logView struct {
	At, Sent, Got, Client, Server, Step, Text, Reply, Key string
	Lock                                                  string
	Lost                                                  bool
	Copied                                                bool
	Told                                                  bool // it matters; the rest is folded away
	N                                                     int
}

func newPage(h *history.History, v *checker.Verdict, o HTMLOptions) *page {
	p := &page{
		Scenario: name(v.Scenario), Subject: name(v.Subject), Seed: v.Seed, Object: object(v),
		Answer: answer(v), Command: Visible(o.Command), PictureLink: o.Picture,
	}
	if v.Scenario == "" {
		p.Scenario = "this run"
	}
	p.Facts = []fact{{"ran for", clockLength(v)}, {"operations", Thousands(v.Ops)}}
	if v.Messages > 0 {
		p.Facts = append(p.Facts, fact{"messages", Thousands(v.Messages)})
	}
	p.Facts = append(p.Facts, fact{"world", name(v.World)}, fact{"seed", fmt.Sprint(v.Seed)})
	for _, r := range troubles(v) {
		p.Refused = append(p.Refused, Visible(r))
	}
	for _, par := range strings.Split(v.Explanation, "\n") {
		if par = strings.TrimSpace(par); par != "" {
			p.Explanation = append(p.Explanation, unbroken(Visible(par)))
		}
	}
	for _, g := range contract.Guarantees() {
		p.Results = append(p.Results, viewResult(v.Result(g), object(v)))
	}
	shareCauses(p.Results)
	part := v // of the history
	if o.Long != nil {
		p.Long = o.Long.view()
		if o.Long.Window != nil {
			part = o.Long.Window
		}
	}
	c := &cast{}
	if h != nil {
		c = newCast(h)
		p.Picture = draw(h, part)
		if o.Long != nil {
			p.Picture.Begin = runBegin(h, p.Picture.End)
		}
		p.Sketch = newSketch(p.Picture)
		p.addOps(h, part, c)
		p.addLog(h, part)
		p.Plan, p.PlanLeft = prettyPlan(h.Header.Plan)
	}
	for i, m := range v.Story {
		view := viewMoment(m, c)
		view.N = i + 1
		p.Story = append(p.Story, view)
	}
	p.Provenance = provenance(h, v)
	if w := firstWindow(windows(v)); w != nil && p.PictureLink != "" {
		p.PictureLink += "#t=" + seconds(w.From) + "s"
	}
	if o.Shrunk != nil {
		p.Shrunk = newShrunk(o.Shrunk, v)
	}
	return p
}

// violationsShown is how many violations of one guarantee the page tells one by one.
const violationsShown = 20

func viewResult(r checker.Result, object string) resultView {
	rv := resultView{
		Name: string(r.Guarantee), Question: question(r.Guarantee, object), Status: statusWord(r), Tone: tone(r),
		Expectation: expectation(r), By: Visible(r.By), Summary: unbroken(summary(r)),
	}
	for _, x := range r.Violations {
		if len(rv.Violations) == violationsShown {
			rv.Left = len(r.Violations) - violationsShown
			break
		}
		vv := violationView{Rule: Visible(string(x.Rule)), Text: unbroken(flat(x.Text)), From: x.From, To: x.To,
			Span: checker.Stamp(x.From), Class: Visible(string(x.Cause.Class)), Cause: unbroken(flat(x.Cause.Text))}
		if x.To > x.From {
			vv.Span += " – " + checker.Stamp(x.To) + ", " + length(x.To-x.From)
		}
		vv.Ruling = viewRuling(x.Ruling)
		if x.Proof != nil {
			vv.Proof = unbroken(flat(x.Proof.Text))
		}
		rv.Violations = append(rv.Violations, vv)
	}
	return rv
}

// shareCauses tells a cause once, and what was tried: one fault often breaks several guarantees.
func shareCauses(rs []resultView) {
	told, tried := make(map[string]string), make(map[string]bool)
	for _, r := range rs {
		for i := range r.Violations {
			x := &r.Violations[i]
			if tried[x.Proof] {
				x.Proof = ""
			}
			tried[x.Proof] = true
			if by, ok := told[x.Cause]; ok && x.Cause != "" {
				x.Cause, x.SameAs = "", by
				if by == r.Name {
					x.SameAs = "the one before"
				}
			} else {
				told[x.Cause] = r.Name
			}
		}
	}
}

func (p *page) addOps(h *history.History, v *checker.Verdict, c *cast) {
	ops := around(h.Ops, opsShown, func(op history.Op) time.Duration { return op.Call }, v)
	steps := groupSteps(h, ops)
	p.OpsLeft = len(h.Ops) - len(ops)
	judged, _ := judgedOps(h, v)
	for _, op := range ops {
		ov := opView{ID: op.ID, Call: op.Call, Called: checker.Stamp(op.Call), Returned: "–", Owner: name(op.Owner),
			Lock: name(op.Lock), Color: c.color(op.Owner), Asked: asked(op), Told: told(op)}
		ov.Steps = steps[op.ID]
		ov.Servers = serversOf(ov.Steps)
		if !op.Pending() {
			ov.Returned = checker.Stamp(op.Return)
		}
		switch {
		case op.Uncertain():
			ov.Class = "unsure"
		case op.Outcome == history.NotHeld, op.Outcome == history.Failed, op.Outcome == history.Rejected:
			ov.Class = "bad"
		}
		switch {
		case len(ops) <= opsPrinted, judged[op.ID]:
		default:
			p.OpsScreen++
			ov.Class = strings.TrimSpace(ov.Class + " screen")
		}
		p.Ops = append(p.Ops, ov)
	}
}

// around takes n records, which are in the order of their times: those around the first violation,
// or else the first.
func around[T any](records []T, n int, at func(T) time.Duration, v *checker.Verdict) []T {
	if len(records) <= n {
		return records
	}
	from := 0
	if w := firstWindow(windows(v)); w != nil {
		from = sort.Search(len(records), func(i int) bool { return at(records[i]) >= w.From }) - n/2
	}
	from = max(0, min(from, len(records)-n))
	return records[from : from+n]
}

func logAround(h *history.History, v *checker.Verdict) []history.Served {
	return around(h.Served, logShown, func(s history.Served) time.Duration { return s.At }, v)
}

func (p *page) addLog(h *history.History, v *checker.Verdict) {
	log := logAround(h, v)
	p.LogLeft = len(h.Served) - len(log)
	p.Servers = slices.ContainsFunc(h.Served, func(s history.Served) bool { return s.Server != h.Served[0].Server })
	matters, first := matter(h, v, log), copiesIn(log)
	for i, s := range log {
		lv := logView{N: i + 1, Told: matters[i], Copied: first[i] != i, At: checker.Stamp(s.At), Server: name(s.Server), Sent: length(s.At - s.Sent), Client: name(s.Client), Step: Visible(string(s.Step)),
			Lock: name(s.Lock), Text: shorten(Visible(s.Text), 300), Reply: shorten(Visible(s.Reply), 120), Lost: s.Got == 0 && s.Step != history.StepAdmin}
		if s.Got > 0 {
			lv.Got = length(s.Got - s.At)
		}
		if s.After != nil {
			lv.Key = keyText(*s.After, s.At)
		}
		p.Log = append(p.Log, lv)
	}
}

// firstWindow is the violation that the page is about: the first of exclusion, or else the first.
func firstWindow(ws []window) *window {
	for i := range ws {
		if ws[i].Through {
			return &ws[i]
		}
	}
	if len(ws) > 0 {
		return &ws[0]
	}
	return nil
}

// keyText says what a lock's key held at a time.
func keyText(k history.KeyState, at time.Duration) string {
	switch {
	case k.Permits != nil:
		return fmt.Sprintf("%s permits free", checker.Thousands(k.Number()))
	case k.Left != nil:
		return fmt.Sprintf("count %s", checker.Thousands(k.Number()))
	}
	if len(k.Holdings) == 0 {
		return "free"
	}
	var names []string
	for _, x := range k.Holdings {
		names = append(names, fmt.Sprintf("%s ×%d", name(x.Owner), x.Count))
	}
	if k.Deadline == 0 {
		return strings.Join(names, " + ") + ", no expiry"
	}
	return strings.Join(names, " + ") + ", TTL " + length(k.Deadline-at)
}

// prettyPlan indents the plan, as far as it is shown; a plan that is not JSON is shown as it is.
// It also returns how many bytes are not shown.
func prettyPlan(plan json.RawMessage) (text string, left int) {
	var buf bytes.Buffer
	text = string(plan)
	if len(plan) > 0 && json.Indent(&buf, plan, "", "  ") == nil {
		text = buf.String()
	}
	if left = len(text) - planShown; left > 0 {
		text = text[:planShown]
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	return VisibleLines(text), max(left, 0)
}

// provenance says with what the run was made.
func provenance(h *history.History, v *checker.Verdict) []fact {
	var fs []fact
	add := func(name, value string) {
		if value != "" {
			fs = append(fs, fact{name, Visible(value)})
		}
	}
	add("subject", v.Subject)
	add("seed", fmt.Sprint(v.Seed))
	add("world", v.World)
	if h != nil {
		add("clock", h.Header.Clock)
		if s := h.Header.Timescale; s != 0 {
			add("time scale", fmt.Sprintf("a second here took %v", time.Duration(s*float64(time.Second)).Round(time.Microsecond)))
		}
		if h.End != nil && h.End.Late > 0 {
			add("machine late by at most", length(h.End.Late))
		}
		add("claims", strings.Join(h.Header.Abilities, ", "))
		if h.Header.WatchdogTimeout > 0 {
			add("watchdog timeout", length(h.Header.WatchdogTimeout))
		}
		if h.Header.RenewEvery > 0 {
			add("renews every", length(h.Header.RenewEvery))
		}
		if h.Header.LatencyMax > 0 {
			add("slowest message", length(h.Header.LatencyMax))
		}
		names := make([]string, 0, len(h.Header.Versions))
		for n := range h.Header.Versions {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			add(Visible(n), h.Header.Versions[n])
		}
	}
	add("trace hash", v.Trace)
	return fs
}
