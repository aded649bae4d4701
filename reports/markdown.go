package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/template"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/contract"
)

// Markdown writes a summary for a place where Markdown is shown, such as GitHub's job summary: for
// one run its answers, its story and its command; for many a line for each scenario and subject,
// and that of the first failures.
func Markdown(w io.Writer, b Batch) error {
	t, err := markdownTemplate()
	if err != nil {
		return err
	}
	var buf bytes.Buffer // so that a failing template leaves no half text behind
	if err := t.Execute(&buf, newMarkdown(b)); err != nil {
		return fmt.Errorf("rendering the summary: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

//go:embed web/summary.md.txt
var markdownSource string

var markdownTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.New("summary").Funcs(template.FuncMap{"md": mdText, "name": name, "brief": brief, "code": mdCode, "stamp": checker.Stamp, "thousands": Thousands}).Parse(markdownSource)
})

// GitHub takes up to 1 MiB of summary; a person takes less.
const markdownFailures = 10

type markdown struct {
	Answer  Answer
	Command string
	Groups  []markdownGroup
	Told    []markdownRun // the only run, or the first that failed
	Left    int           // failures not told
}

type markdownGroup struct {
	Mark, Scenario, Subject, Outcome string
	Runs                             int
}

type markdownRun struct {
	Title, Command, Explanation string
	Answer                      Answer
	Results                     []markdownResult
	Story                       []checker.Moment
	StoryLeft                   int
}

type markdownResult struct{ Mark, Name, Status, Summary string }

func newMarkdown(b Batch) markdown {
	if len(b.Runs) == 1 {
		return markdown{Told: []markdownRun{newMarkdownRun(&b.Runs[0])}}
	}
	m := markdown{Answer: batchAnswer(b), Command: b.Command}
	for _, g := range b.groups() {
		n, parts, mark := codes(g.Runs), []string{}, Tone("")
		for _, o := range outcomes {
			if n[o.code] > 0 {
				parts = append(parts, Thousands(n[o.code])+" "+o.says)
				if mark == "" {
					mark = o.tone
				}
			}
		}
		m.Groups = append(m.Groups, markdownGroup{marks[mark], junitName(g.Scenario), junitName(g.Subject), list(parts), len(g.Runs)})
		worst := g.Runs[0]
		for _, s := range g.Runs { // one of each group tells enough
			if code := worst.Verdict.Code(); checker.Worst(code, s.Verdict.Code()) != code {
				worst = s
			}
		}
		switch {
		case worst.Verdict.Code() == checker.ExitExpected:
		case len(m.Told) < markdownFailures:
			m.Told = append(m.Told, newMarkdownRun(worst))
		default:
			m.Left++
		}
	}
	return m
}

func newMarkdownRun(s *Summary) markdownRun {
	v := s.Verdict
	r := markdownRun{Title: fmt.Sprintf("%s, %s, seed %d", junitName(v.Scenario), junitName(v.Subject), v.Seed),
		Command: s.Command, Explanation: strings.Join(strings.Fields(v.Explanation), " "), Answer: answer(v)}
	for _, g := range contract.Guarantees() {
		if len(v.Results) == 0 {
			break // it never came to that
		}
		x := v.Result(g)
		says := strings.Join(append([]string{summary(x)}, rulings(x)...), " – ")
		r.Results = append(r.Results, markdownResult{marks[tone(x)], string(g), strings.TrimSuffix(statusWord(x)+", "+expectation(x), ", "), says})
	}
	r.Story, r.StoryLeft = weightiest(v.Story, storyLines)
	return r
}

// mdText writes a text so that Markdown shows it as it is: no markup, no link, no mention.
func mdText(s string) string {
	var b strings.Builder
	for _, r := range Visible(s) {
		if strings.ContainsRune("\\`*_{}[]<>#|~&@!$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.NewReplacer("://", `:\//`, "www.", `www\.`).Replace(b.String())
}

// brief cuts a text that is too long for a summary.
func brief(s string) string { return shorten(s, 2000) }

// mdCode writes a text as code: within a fence of more backticks than it has itself.
func mdCode(s string) string {
	s = Visible(s)
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "sh\n" + s + "\n" + fence
}
