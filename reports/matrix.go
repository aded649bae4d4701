package reports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
	"github.com/holdfast-sim/holdfast/history"
)

// Matrix is how other people's locks fared in the scenarios: docs/matrix.json. The pages are made of it alone.
type Matrix struct {
	Version   int          `json:"version"` // of this form: 1
	Scenarios []string     `json:"scenarios"`
	Locks     []MatrixLock `json:"locks"`
}

// MatrixVersion is the version of [Matrix] that this package writes and reads.
const MatrixVersion = 1

// MatrixLock is a column.
type MatrixLock struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	// Object is what it is, if it is no lock.
	Object  history.Object `json:"object,omitzero"`
	Package string         `json:"package"` // as its registry has it
	Version string         `json:"version"`
	About   string         `json:"about"`
	Date    string         `json:"date,omitzero"` // of the runs, as 2006-01-02; empty: they come again to the byte
	Claims  []MatrixClaim  `json:"claims,omitempty"`
	Cells   []MatrixCell   `json:"cells"` // in the order of the scenarios that suit the lock
}

// MatrixClaim is what a lock's documentation says that concerns a guarantee, in our words.
type MatrixClaim struct {
	Guarantee string `json:"guarantee"`
	Text      string `json:"text"`
	Source    string `json:"source"`
}

// MatrixCell is a scenario with a lock.
type MatrixCell struct {
	Scenario string        `json:"scenario"`
	Broke    []MatrixBreak `json:"broke,omitempty"`
	Spared   bool          `json:"spared,omitzero"`  // the faults of the story touched nothing that the lock did
	Story    string        `json:"story"`            // what the program says of the run, or only its explanation if nothing broke
	Trouble  string        `json:"trouble,omitzero"` // why the run came to no verdict
	Command  string        `json:"command"`          // runs it again
	Runs     int           `json:"runs"`             // how often it was run
	Same     int           `json:"same"`             // and how often the same broke, with the same rulings
}

// MatrixBreak is a guarantee that broke in a cell.
type MatrixBreak struct {
	Guarantee contract.Guarantee `json:"guarantee"`
	Defect    bool               `json:"defect,omitzero"`
	Text      string             `json:"text"`
	Sources   []string           `json:"sources,omitempty"` // of the limitations by which it is none
}

// NewMatrixCell puts a run's summary into a cell. text is what the program says of it.
func NewMatrixCell(scenario string, run Summary, text string) MatrixCell {
	c := MatrixCell{Scenario: scenario, Story: run.Verdict.Explanation, Command: run.Command, Runs: 1, Same: 1, Spared: len(run.Faults) > 0}
	for _, f := range run.Faults {
		c.Spared = c.Spared && !f.Struck()
	}
	for _, r := range run.Verdict.Results {
		if r.Status != checker.Broken {
			continue
		}
		b := MatrixBreak{Guarantee: r.Guarantee, Text: r.Violations[0].Text}
		if defects := r.Defects(); len(defects) > 0 {
			b.Defect, b.Text = true, defects[0].Text
		}
		for _, v := range r.Violations {
			if v.Ruling.Kind == checker.KnownLimitation && !slices.Contains(b.Sources, v.Ruling.Source) {
				b.Sources = append(b.Sources, v.Ruling.Source)
			}
		}
		c.Broke = append(c.Broke, b)
	}
	if c.Broke != nil {
		c.Story = text
	}
	return c
}

// Guilty reports whether the lock has to answer for something.
func (c MatrixCell) Guilty() bool {
	return slices.ContainsFunc(c.Broke, func(b MatrixBreak) bool { return b.Defect })
}

// Agrees reports whether another run of the cell broke the same, with the same rulings.
func (c MatrixCell) Agrees(other MatrixCell) bool {
	return c.Trouble == other.Trouble && slices.EqualFunc(c.Broke, other.Broke, func(a, b MatrixBreak) bool { return a.Guarantee == b.Guarantee && a.Defect == b.Defect })
}

// Words say what broke, as Markdown.
func (c MatrixCell) Words() string {
	var words []string
	for _, b := range c.Broke {
		mark := "*"
		if b.Defect {
			mark = "**"
		}
		words = append(words, mark+string(b.Guarantee)+mark)
	}
	switch {
	case c.Trouble != "":
		return "?"
	case words != nil:
		return strings.Join(words, ", ")
	case c.Spared:
		return "(✓)"
	}
	return "✓"
}

// ReadMatrix reads what [Matrix.JSON] wrote.
func ReadMatrix(text []byte) (Matrix, error) {
	var m Matrix
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	if m.Version != MatrixVersion {
		return m, fmt.Errorf("it is of version %d, and this program knows %d", m.Version, MatrixVersion)
	}
	return m, nil
}

// JSON writes it for machines.
func (m Matrix) JSON() []byte {
	text, _ := json.MarshalIndent(m, "", " ") // strings and numbers, always encodable
	return append(VisibleJSON(text), '\n')
}

// Lock is a column by its name, or nil.
func (m *Matrix) Lock(name string) *MatrixLock {
	for i := range m.Locks {
		if m.Locks[i].Name == name {
			return &m.Locks[i]
		}
	}
	return nil
}

// Cell is the cell of a scenario, or nil.
func (l *MatrixLock) Cell(scenario string) *MatrixCell {
	for i := range l.Cells {
		if l.Cells[i].Scenario == scenario {
			return &l.Cells[i]
		}
	}
	return nil
}

// Markdown writes it as a page between a head and a tail.
func (m Matrix) Markdown(w io.Writer, head, tail string) error {
	var b bytes.Buffer
	b.WriteString(head)
	for name := range named(m.Locks, MatrixLock.table) {
		m.writeTable(&b, name)
	}
	m.guilty(&b)
	m.limits(&b)
	fmt.Fprint(&b, "\n## What they claim, and where\n\nIn our words. Effect is asked of whoever claims exclusion; watchdog and fencing of nobody who does not offer them.\n\n"+
		"| lock | guarantee | what its documentation says | where |\n|---|---|---|---|\n")
	for i, l := range m.Locks {
		for _, c := range l.Claims {
			if i == 0 || !slices.Equal(l.Claims, m.Locks[i-1].Claims) {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.Name, c.Guarantee, c.Text, c.Source)
			}
		}
	}
	b.WriteString(tail)
	_, err := w.Write(b.Bytes())
	return err
}

// kind is the name of the table in which its column stands, where there is one for each kind of object.
func (l MatrixLock) kind() string { return cmp.Or(l.Object, history.ALock).Plural() }

// table is the same, where locks have one for each language: all in one would be too wide to read.
func (l MatrixLock) table() string {
	if l.Object == "" {
		return l.Language
	}
	return l.kind()
}

// named yields each name once, in the order of the locks.
func named(locks []MatrixLock, by func(MatrixLock) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, l := range locks {
			if slices.IndexFunc(locks, func(o MatrixLock) bool { return by(o) == by(l) }) == i && !yield(by(l)) {
				return
			}
		}
	}
}

// of are the columns of a table.
func (m Matrix) of(name string, by func(MatrixLock) string) (locks []*MatrixLock) {
	for i := range m.Locks {
		if l := &m.Locks[i]; by(*l) == name {
			locks = append(locks, l)
		}
	}
	return locks
}

// plays reports whether one of some locks can play a story.
func plays(scenario string, locks []*MatrixLock) bool {
	return slices.ContainsFunc(locks, func(l *MatrixLock) bool { return l.Cell(scenario) != nil })
}

// writeTable writes a table, with the stories that one of its locks can play.
func (m Matrix) writeTable(b *bytes.Buffer, name string) {
	fmt.Fprintf(b, "\n## %s\n\n", strings.ToUpper(name[:1])+name[1:])
	locks := m.of(name, MatrixLock.table)
	for _, l := range locks {
		from := strings.TrimSpace(l.Package + " " + l.Version)
		if l.Date != "" {
			from += ", run on " + l.Date
		}
		fmt.Fprintf(b, "* `%s` (%s): %s\n", l.Name, from, l.About)
	}
	b.WriteString("\n| scenario |")
	for _, l := range locks {
		fmt.Fprintf(b, " %s |", l.Name)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(locks)))
	for _, s := range m.Scenarios {
		if !plays(s, locks) {
			continue
		}
		fmt.Fprintf(b, "| [%s](scenarios.md#%s) |", s, s)
		for _, l := range locks {
			words := "–"
			if c := l.Cell(s); c != nil {
				words = c.Words()
			}
			fmt.Fprintf(b, " %s |", words)
		}
		b.WriteByte('\n')
	}
}

// cells yields each cell with the name of its lock, scenario by scenario.
func (m Matrix) cells() iter.Seq2[string, *MatrixCell] {
	return func(yield func(string, *MatrixCell) bool) {
		for _, s := range m.Scenarios {
			for i := range m.Locks {
				if c := m.Locks[i].Cell(s); c != nil && !yield(m.Locks[i].Name, c) {
					return
				}
			}
		}
	}
}

// guilty writes what locks have to answer for.
func (m Matrix) guilty(b *bytes.Buffer) {
	b.WriteString("\n## What they have to answer for\n\n")
	none := true
	for lock, c := range m.cells() {
		for _, broke := range c.Broke {
			if !broke.Defect {
				continue
			}
			none = false
			again := ""
			if c.Runs > 1 {
				again = fmt.Sprintf(" So it went in %d of %d runs.", c.Same, c.Runs)
			}
			fmt.Fprintf(b, "* **%s** in %s, %s: %s.%s\n\n      go run ./cmd/%s\n", broke.Guarantee, c.Scenario, lock, strings.TrimSuffix(broke.Text, "."), again, c.Command)
		}
	}
	if none {
		b.WriteString("Nothing that these stories show.\n")
	}
}

// limits writes what they are documented not to promise.
func (m Matrix) limits(b *bytes.Buffer) {
	head := "\n## What they are documented not to promise\n\n| lock | scenario | what broke | where it is documented |\n|---|---|---|---|\n"
	for lock, c := range m.cells() {
		for _, broke := range c.Broke {
			for _, source := range broke.Sources {
				fmt.Fprintf(b, "%s| %s | %s | %s | %s |\n", head, lock, c.Scenario, broke.Guarantee, source)
				head = ""
			}
		}
	}
}

// HTML writes it as a page that stands alone: locks are chosen by language and name, rows by what broke, and each cell
// opens its story.
func (m Matrix) HTML(w io.Writer) error {
	assets, err := loadAssets()
	if err != nil {
		return err
	}
	script, err := web.ReadFile("web/matrix.js")
	if err != nil {
		return err
	}
	p := matrixPage{Style: assets.ManyStyle, Script: template.JS(script), ScriptHash: scriptHash(script), Guarantees: contract.Guarantees()}
	p.Languages = slices.Collect(named(m.Locks, func(l MatrixLock) string { return l.Language }))
	for kind := range named(m.Locks, MatrixLock.kind) {
		p.Tables = append(p.Tables, m.tableOf(kind))
	}
	var b bytes.Buffer
	if err := assets.tmpl.ExecuteTemplate(&b, "matrix.tmpl", p); err != nil {
		return fmt.Errorf("rendering the matrix: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

type matrixPage struct {
	Style      template.CSS
	Script     template.JS
	ScriptHash string
	Languages  []string
	Guarantees []contract.Guarantee
	Tables     []matrixTable
}

// matrixTable has the objects of a kind.
type matrixTable struct {
	Kind  string
	Locks []matrixColumn
	Rows  []matrixLine
}

func (m Matrix) tableOf(kind string) matrixTable {
	t, locks := matrixTable{Kind: kind}, m.of(kind, MatrixLock.kind)
	for _, l := range locks {
		about := strings.TrimSpace(l.Package+" "+l.Version) + ": " + l.About
		t.Locks = append(t.Locks, matrixColumn{l.Name, l.Language, about, cmp.Or(l.Date, "any day")})
	}
	for _, s := range m.Scenarios {
		if !plays(s, locks) {
			continue
		}
		row := matrixLine{Scenario: s}
		for _, l := range locks {
			entry := matrixEntry{Lock: l.Name, Language: l.Language}
			if c := l.Cell(s); c != nil {
				entry.show(c, "cell-"+s+"-"+l.Name)
			}
			row.Entries = append(row.Entries, entry)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// show puts a cell into an entry.
func (e *matrixEntry) show(c *MatrixCell, id string) {
	e.Cell, e.ID, e.Mark, e.Tone = c, id, "✓", "good"
	if c.Spared {
		e.Mark, e.Tone = "(✓)", "quiet"
	}
	var words []string
	for _, b := range c.Broke {
		words = append(words, string(b.Guarantee))
	}
	if e.Broke = strings.Join(words, " "); words != nil {
		e.Mark, e.Tone = "", "reproduced"
	}
	if c.Guilty() {
		e.Tone = "bad"
	}
	if c.Trouble != "" {
		e.Mark, e.Tone = "?", "unsure"
	}
}

type matrixColumn struct{ Name, Language, About, Date string }

type matrixLine struct {
	Scenario string
	Entries  []matrixEntry
}

type matrixEntry struct {
	Lock, Language, ID, Tone, Broke string
	Mark                            string      // empty: what broke
	Cell                            *MatrixCell // nil: the story is about something that the lock does not offer
}
